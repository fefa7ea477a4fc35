#!/usr/bin/env python3
"""Writes the grids of the iq1, iq2 and iq3 block types: src/quant/grids.c.

    pip install gguf numpy && python3 tools/make_quant_grids.py

A grid is a fact of the format: the list of the points, of 8 or 4 elements, that an index in a block names. An entry
here is 16 bits, the codes of its elements from the lowest bits on: two bits each where there are 8, four where there
are 4. What level a code stands for is at the decoders (src/quant/decode_iq.c). The output is the same on every run.
"""
import pathlib

import numpy as np
from gguf import quants

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRIDS = {"iq1": quants.IQ1_S, "iq2_xxs": quants.IQ2_XXS, "iq2_xs": quants.IQ2_XS, "iq2_s": quants.IQ2_S,
         "iq3_xxs": quants.IQ3_XXS, "iq3_s": quants.IQ3_S}


def entries(kind):
    kind.init_grid()
    values = np.array(kind.grid).reshape(kind.grid_shape)
    codes = np.searchsorted(np.array(kind.grid_map), values).astype(np.uint32)
    bits = 16 // kind.grid_shape[1]
    return (codes << (bits * np.arange(kind.grid_shape[1], dtype=np.uint32))).sum(axis=1)


def lines(numbers, form, per_line):
    rows = [numbers[i:i + per_line] for i in range(0, len(numbers), per_line)]
    return ["  " + ", ".join(form.format(n) for n in row) + "," for row in rows]


def main():
    c = ["/* Made by tools/make_quant_grids.py: the grids of the iq types (blocks.h). */",
         '#include "quant/blocks.h"', ""]
    for name, kind in GRIDS.items():
        e = entries(kind)
        c += [f"const uint16_t rlx_{name}_grid[{len(e)}] = {{", *lines(e, "0x{:04x}", 14), "};"]
    (ROOT / "src/quant/grids.c").write_text("\n".join(c) + "\n")


if __name__ == "__main__":
    main()
