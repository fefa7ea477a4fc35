"""The numbers of types for GPU kernels, made from the type table: src/gpu/gen/types.kh, which elements.kh includes.

tools/kernels writes and checks it with the rest. A kernel's T is a specialisation constant with the value of
rlx_dtype, so the preprocessor must know the numbers; a kernel is no C and cannot include rlx.h."""

import re

ROW = re.compile(r"^ *TYPE\((\w+), (\d+), (\w+), (\w+), (\d+), (\d+),", re.MULTILINE)


def rows(root):
    """(ID, number, name, class, elements, bytes) of each type."""
    found = ROW.findall((root / "src/ir/types.def").read_text())
    return [(i, int(n), name, c, int(e), int(b)) for i, n, name, c, e, b in found]


def files(root):
    lines = ["/* Made by tools/kernels from src/ir/types.def. */"]
    lines += [f"#define T_{identifier} {number}u" for identifier, number, *_ in rows(root)]
    # log2 of the elements in a word, two bits per type, of those that kernels load (elements.kh)
    packed = sum((4 // min(size, 4)).bit_length() - 1 << 2 * number
                 for _, number, _, kind, _, size in rows(root) if kind != "BLOCK" and number < 16)
    lines += ["/* log2 of the elements in a word, two bits per type. */", f"#define K_SHIFTS {packed}u", ""]
    shift = "8u"
    for elements in (64, 32):  # of a block; most have 256
        few = " || ".join(f"(T) == T_{i}" for i, _, _, kind, n, _ in rows(root) if kind == "BLOCK" and n == elements)
        shift = f"SELECT({few}, {elements.bit_length() - 1}u, {shift})"
    lines[-1:] = ["/* log2 of the elements in a block. */", f"#define K_BLOCK_SHIFT(T) {shift}", ""]
    return {"src/gpu/gen/types.kh": "\n".join(lines)}
