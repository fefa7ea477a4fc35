#!/usr/bin/env python3
"""A model of 1 GiB with random weights loads in Node without the process passing twice the file's size.

What counts is the most memory of the process that was ever resident, from the kernel (VmHWM). The file is written anew
each time. Where less than 4 GiB of memory or 2 GiB of disk are free the test is skipped with that reason.
"""

import json
import os
import pathlib
import shutil
import struct
import sys

from web import js, node, skip_all_without
from cli import Skip, check, main, test
from gguf_file import _text, _value, tiny_llama_parts

skip_all_without(node)
GIB = 1 << 30
NEEDED_MEMORY, NEEDED_DISK = 4 * GIB, 2 * GIB
WIDTH, FFN, HEADS, LAYERS = 2048, 8192, 16, 16
F32, Q8_0 = 0, 8
BLOCK = struct.pack("<e", 2.0 ** -10)  # the scale of 32 weights


def shapes(n_tokens):
    """name -> (sizes, type), in the order of the file."""
    all_of = {"token_embd.weight": ((n_tokens, WIDTH), Q8_0), "output_norm.weight": ((WIDTH,), F32)}
    layer = {"attn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH),
             "attn_output": (WIDTH, WIDTH), "ffn_norm": (WIDTH,), "ffn_gate": (FFN, WIDTH), "ffn_up": (FFN, WIDTH),
             "ffn_down": (WIDTH, FFN)}
    for i in range(LAYERS):
        for name, shape in layer.items():
            all_of[f"blk.{i}.{name}.weight"] = (shape, Q8_0 if len(shape) == 2 else F32)
    return all_of


def write_model(path):
    metadata, _ = tiny_llama_parts()
    metadata |= {"llama.block_count": ("u32", LAYERS), "llama.embedding_length": ("u32", WIDTH),
                 "llama.feed_forward_length": ("u32", FFN), "llama.attention.head_count": ("u32", HEADS),
                 "llama.attention.head_count_kv": ("u32", HEADS), "llama.rope.dimension_count": ("u32", WIDTH // HEADS)}
    tensors = shapes(len(metadata["tokenizer.ggml.tokens"]))
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    piece = b"".join(BLOCK + os.urandom(32) for _ in range(WIDTH * 64 // 32))  # 64 rows, over and over
    bodies, at = [], 0
    for name, (shape, kind) in tensors.items():
        n = shape[0] * (shape[1] if len(shape) == 2 else 1)
        size = n * 4 if kind == F32 else n // 32 * 34
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, at)
        bodies.append((kind, size))
        at += size + -size % 32
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32))
        for kind, size in bodies:
            if kind == F32:
                f.write(struct.pack("<f", 1.0) * (size // 4))
            for done in range(0, size if kind == Q8_0 else 0, len(piece)):
                f.write(piece[:size - done])
            f.write(b"\0" * (-size % 32))
    return path.stat().st_size


def large_model():
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    free = int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    if free * 1024 < NEEDED_MEMORY or shutil.disk_usage(".").free < NEEDED_DISK:
        raise Skip(f"{free >> 10} MiB of memory and {shutil.disk_usage('.').free >> 20} MiB of disk are free")
    path = pathlib.Path("large.gguf").resolve()
    size = write_model(path)
    check(GIB <= size < 1.2 * GIB, f"the file has {size} bytes")
    return path, size


@test
def in_node():
    path, size = large_model()
    told = js("large", path)
    peak, module = told["peak"] >> 20, told["module"] >> 20
    print(f"file {size >> 20} MiB, peak {peak} MiB, module {module} MiB, {told['seconds']:.1f} s")
    check(told["tokens"] == 2, json.dumps(told))
    check(told["peak"] <= 2 * size, f"a peak of {told['peak']} bytes for a file of {size}")


if __name__ == "__main__":
    sys.exit(main())
