#!/usr/bin/env python3
"""Writes tests/golden/quant: blocks with the values `gguf` decodes from them, and the errors of the usual encoders.

    pip install gguf numpy && python3 tools/make_quant_goldens.py [--ggml LIBRARY]

<type>.bin is a u32 count of blocks, the blocks, and their values as f32, all little endian. Blocks are random bytes
under scales that a file could hold, then blocks with odd scales: zero, sub-normal, largest, infinite, NaN. gguf has no
decoder for q8_k; its three lines are written here.

every.txt has one line per type: the hashes of what is decoded from the three sets of tests/support/quant_every.h, which together hold every
value of every field. `--only every` writes no other file.

errors.txt has one line per type: the RMS error on the Gaussian numbers of tests/support/quant_data.h, divided by their RMS, of
gguf's encoder and of ggml's C encoder ("-" where there is none). The second column needs ggml as a shared library with
ggml_quantize_chunk (--ggml); without it the column of the existing file is kept. The output is the same on every run.
"""
import argparse
import ctypes
import pathlib

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "quant"
# name: (offsets of f16 scales, blocks with ordinary scales)
TYPES = {
    "q4_0": ([0], 12), "q4_1": ([0, 2], 12), "q5_0": ([0], 12), "q5_1": ([0, 2], 12), "q8_0": ([0], 12),
    "iq4_nl": ([0], 12), "mxfp4": ([], 12), "q2_k": ([80, 82], 3), "q3_k": ([108], 3), "q4_k": ([0, 2], 3),
    "q5_k": ([0, 2], 3), "q6_k": ([208], 3), "q8_k": ([], 3), "iq4_xs": ([0], 3), "tq1_0": ([52], 5),
    "tq2_0": ([64], 3), "iq1_s": ([0], 3), "iq1_m": ([], 3), "iq2_xxs": ([0], 3), "iq2_xs": ([0], 3), "iq2_s": ([0], 3),
    "iq3_xxs": ([0], 3), "iq3_s": ([0], 3), "nvfp4": ([], 8),
}
# zero, minus zero, the least sub-normal, the largest, infinity, NaN
ODD_F16 = [0x0000, 0x8000, 0x0001, 0x7BFF, 0xFC00, 0x7E00]
ODD_F32 = [0x00000000, 0x80000000, 0x00000001, 0x7F7FFFFF, 0xFF800000, 0x7FC00000]
ODD_E8M0 = [0, 1, 2, 127, 254, 255]
COUNT = 65536  # numbers the encoders are measured on


def qtype(name):
    return gguf.GGMLQuantizationType[name.upper()]


def decode(name, blocks):
    if name != "q8_k":
        return dequantize(blocks.reshape(-1), qtype(name))
    d = blocks[:, 0:4].copy().view("<f4")
    return (d * blocks[:, 4:260].copy().view(np.int8).astype(np.float32)).reshape(-1)


def make_blocks(name, rng):
    offsets, ordinary = TYPES[name]
    size = gguf.GGML_QUANT_SIZES[qtype(name)][1]
    blocks = rng.integers(0, 256, (ordinary + len(ODD_F16), size), dtype=np.uint8)
    if name == "tq1_0":  # every byte that a file can hold, and those it cannot
        blocks[:5, :52] = np.arange(260, dtype=np.uint8).reshape(5, 52)
    for i, block in enumerate(blocks):
        odd = i - ordinary
        for at in offsets:
            scale = np.float16(rng.standard_normal() * 2.0 ** rng.integers(-14, 6))
            block[at:at + 2] = np.array([scale], "<f2").view(np.uint8)
        if odd < 0 and name == "q8_k":
            block[0:4] = np.array([rng.standard_normal()], "<f4").view(np.uint8)
        elif odd < 0 and name == "mxfp4":
            block[0] = rng.integers(100, 140)
        elif odd < 0 and name == "iq1_m":
            put_pieces(block[None], int(np.array([rng.standard_normal()], "<f2").view("<u2")[0]))
        elif odd >= 0 and name == "iq1_m":
            put_pieces(block[None], ODD_F16[odd])
        elif odd >= 0 and name == "nvfp4":
            block[0:4] = [[0, 1, 7, 8], [126, 127, 128, 129], [255, 254, 120, 56], [64, 32, 16, 4], [2, 3, 5, 6],
                          [9, 200, 250, 100]][odd]
        elif odd >= 0 and name == "q8_k":
            block[0:4] = np.array([ODD_F32[odd]], "<u4").view(np.uint8)
        elif odd >= 0 and name == "mxfp4":
            block[0] = ODD_E8M0[odd]
        elif odd >= 0:
            at = offsets[odd % len(offsets)]  # where there are two, they take turns
            block[at:at + 2] = np.array([ODD_F16[odd]], "<u2").view(np.uint8)
    return blocks


# first and last of the bytes that hold small scales
SMALL = {"mxfp4": (0, 1), "q2_k": (0, 16), "q3_k": (96, 108), "q4_k": (4, 16), "q5_k": (4, 16), "q6_k": (192, 208),
         "iq4_xs": (2, 8), "iq1_s": (34, 50), "iq1_m": (32, 56), "iq2_xxs": (2, 66), "iq2_xs": (66, 74),
         "iq2_s": (66, 82), "iq3_xxs": (66, 98), "iq3_s": (66, 74), "nvfp4": (0, 4)}


def mix(z):
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def every_random(kind, blocks, at):
    z = np.uint64(kind << 60) | (blocks.astype(np.uint64) << np.uint64(16)) | np.uint64(at)
    return (mix(z) >> np.uint64(32)).astype(np.uint32)


def put16(blocks, at, values):
    blocks[:, at] = values & 255
    blocks[:, at + 1] = values >> 8


def put_pieces(blocks, values):
    """The f16 of iq1_m, which lies in the top nibbles of four words."""
    for i in range(4):
        at = 49 + 2 * i
        blocks[:, at] = (blocks[:, at] & 15) | (values >> 4 * i & 15) << 4


def every_blocks(name, kind, b):
    """Blocks number b of set `kind` of tests/support/quant_every.h."""
    offsets = TYPES[name][0]
    size = gguf.GGML_QUANT_SIZES[qtype(name)][1]
    blocks = np.empty((len(b), size), np.uint8)
    for i in range(size):
        blocks[:, i] = b & 255 if kind == 2 else every_random(kind, b, i) & 255
    for i, at in enumerate(offsets):
        r = every_random(kind, b, 1000 + i)
        put16(blocks, at, (r & 0x83FF) | ((10 + (r >> 16 & 7)) << 10))
    r = every_random(kind, b, 1002)
    if name == "mxfp4":
        blocks[:, 0] = 120 + (r & 15)
    if name == "q8_k":
        put16(blocks, 0, r & 0xFFFF)
        put16(blocks, 2, (r >> 16 & 0x807F) | ((122 + (r & 7)) << 7))
    if kind == 2 and name in SMALL:
        blocks[:, SMALL[name][0]:SMALL[name][1]] = (b >> 8)[:, None]
    if name == "iq1_m":
        put_pieces(blocks, (r & 0x83FF) | ((10 + (r >> 16 & 7)) << 10))
    if kind == 0:
        blocks[np.arange(len(b)), b // 256] = b & 255
    if kind == 1:
        if name == "q8_k":
            put16(blocks, 2, b)
        if name == "iq1_m":
            put_pieces(blocks, b)
        for at, values in zip(offsets, (b, b * 40503 & 0xFFFF)):
            put16(blocks, at, values)
    return blocks


def every_hash(name, kind):
    elements, size = gguf.GGML_QUANT_SIZES[qtype(name)]
    has_scale = bool(TYPES[name][0]) or name in ("q8_k", "iq1_m")
    count = [size * 256, 65536 if has_scale else 0, 65536 if name in SMALL else 256][kind]
    total = 0
    for first in range(0, count, 4096):
        b = np.arange(first, min(first + 4096, count), dtype=np.int64)
        with np.errstate(all="ignore"):
            bits = decode(name, every_blocks(name, kind, b)).reshape(-1).astype("<f4").view(np.uint32)
            bits = np.where((bits & 0x7FFFFFFF) > 0x7F800000, np.uint32(0x7FC00000), bits).astype(np.uint64)
            at = np.arange(first * elements, first * elements + bits.size, dtype=np.uint64) << np.uint64(32)
            total += int(np.sum(mix(at | bits), dtype=np.uint64))
    return total % 2**64


def gaussian(count):
    """quant_gaussian of tests/support/quant_data.h: SplitMix64 in counter form, Box-Muller."""
    def uniform(i):
        z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    i = np.arange(count, dtype=np.uint64) * np.uint64(2)
    return (np.sqrt(-2 * np.log(uniform(i))) * np.cos(2 * np.pi * uniform(i + np.uint64(1)))).astype(np.float32)


def error_of(x, encoded, name):
    wide = x.astype(np.float64)
    miss = wide - dequantize(encoded, qtype(name))
    return f"{np.sqrt(np.mean(miss**2) / np.mean(wide**2)):.6f}"


def gguf_error(x, name):
    try:
        return error_of(x, quantize(x, qtype(name)), name)
    except NotImplementedError:
        return "-"


def ggml_error(x, name, library):
    if name == "q8_k":  # a type for activations; gguf cannot decode it
        return "-"
    elements, size = gguf.GGML_QUANT_SIZES[qtype(name)]
    out = np.zeros(x.size // elements * size, np.uint8)
    call = library.ggml_quantize_chunk
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p] + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
    call(int(qtype(name)), x.ctypes.data, out.ctypes.data, 0, 1, x.size, None)
    return error_of(x, out, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ggml", help="ggml's shared library, for the second column of errors.txt")
    parser.add_argument("--only", choices=["every"], help="write this file alone")
    args = parser.parse_args()
    library = args.ggml
    library = ctypes.CDLL(library) if library else None
    OUT.mkdir(parents=True, exist_ok=True)
    np.seterr(over="ignore")  # hashes wrap
    every = [f"{name} " + " ".join(f"{every_hash(name, kind):016x}" for kind in range(3)) for name in TYPES]
    (OUT / "every.txt").write_text("\n".join(every) + "\n")
    if args.only:
        return
    old = {}
    if (OUT / "errors.txt").exists():
        old = {line.split()[0]: line.split()[2] for line in (OUT / "errors.txt").read_text().splitlines()}
    x = gaussian(COUNT)
    lines = []
    for seed, name in enumerate(TYPES):
        blocks = make_blocks(name, np.random.Generator(np.random.PCG64(seed)))
        with np.errstate(all="ignore"):
            values = decode(name, blocks).astype("<f4")
        count = np.array([len(blocks)], "<u4")
        (OUT / f"{name}.bin").write_bytes(count.tobytes() + blocks.tobytes() + values.tobytes())
        ggml = ggml_error(x, name, library) if library else old.get(name, "-")
        lines.append(f"{name} {gguf_error(x, name)} {ggml}")
    (OUT / "errors.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
