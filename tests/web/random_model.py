"""A llama of any size with random weights in blocks of q8_0, and the words of a tiny one."""

import os
import struct

from gguf_file import _text, _value, tiny_llama_parts

HEADS = 16
F32, Q8_0 = 0, 8
BLOCK = struct.pack("<e", 2.0 ** -10)  # the scale of 32 weights


def shapes(n_tokens, width, layers):
    """name -> (sizes, type), in the order of the file."""
    all_of = {"token_embd.weight": ((n_tokens, width), Q8_0), "output_norm.weight": ((width,), F32)}
    layer = {"attn_norm": (width,), "attn_q": (width, width), "attn_k": (width, width), "attn_v": (width, width),
             "attn_output": (width, width), "ffn_norm": (width,), "ffn_gate": (4 * width, width),
             "ffn_up": (4 * width, width), "ffn_down": (width, 4 * width)}
    for i in range(layers):
        for name, shape in layer.items():
            all_of[f"blk.{i}.{name}.weight"] = (shape, Q8_0 if len(shape) == 2 else F32)
    return all_of


def write_model(path, width, layers):
    metadata, _ = tiny_llama_parts()
    metadata |= {"llama.block_count": ("u32", layers), "llama.embedding_length": ("u32", width),
                 "llama.feed_forward_length": ("u32", 4 * width), "llama.attention.head_count": ("u32", HEADS),
                 "llama.attention.head_count_kv": ("u32", HEADS), "llama.rope.dimension_count": ("u32", width // HEADS)}
    tensors = shapes(len(metadata["tokenizer.ggml.tokens"]), width, layers)
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    piece = b"".join(BLOCK + os.urandom(32) for _ in range(width * 64 // 32))  # 64 rows, over and over
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
