"""GGUF files for tests, written byte by byte, and a tiny language model whose vocabulary represents any text."""

import pathlib
import random
import struct

TYPES = {"u8": (0, "B"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"), "u64": (10, "Q")}


def _text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    """A value with its type: text, bool, ("u32", 3), or a list of one of these."""
    if isinstance(value, str):
        return 8, _text(value)
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, list):
        kind = _value(value[0])[0]
        return 9, struct.pack("<IQ", kind, len(value)) + b"".join(_value(v)[1] for v in value)
    number, code = TYPES[value[0]]
    return number, struct.pack(f"<{code}", value[1])


def write_gguf(path, metadata, tensors):
    """tensors: name -> (sizes as RLX has them, f32 values)."""
    head = struct.pack("<IIQQ", 0x46554747, 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, (shape, values) in tensors.items():
        body += b"\0" * (-len(body) % 32)
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), 0, len(body))
        body += struct.pack(f"<{len(values)}f", *values)
    head += b"\0" * (-len(head) % 32)
    pathlib.Path(path).write_bytes(head + body)
    return path


WIDTH, HEADS, KV_HEADS, LAYERS, FFN, CONTEXT = 32, 4, 2, 2, 48, 96
WORDS = ["▁a", "▁the", "ab", "▁ab", "<|im_start|>", "<|im_end|>"]


def tiny_llama(path, seed=1, more=None):
    """A llama of random weights: its text is nonsense but reproducible. more: other metadata."""
    metadata, tensors = tiny_llama_parts(seed)
    return write_gguf(path, {**metadata, **(more or {})}, tensors)


def tiny_llama_parts(seed=1):
    """Its metadata and tensors, for tests that change them."""
    draw = random.Random(seed)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *WORDS, "▁", *"abcdefghijklmnopqrstuvwxyz,.!\n"]
    kinds = [2, 3, 3, *[6] * 256, *[1] * 4, 4, 4, *[1] * (len(tokens) - 259 - len(WORDS))]
    metadata = {
        "general.architecture": "llama", "general.name": "tiny", "llama.block_count": ("u32", LAYERS),
        "llama.context_length": ("u32", CONTEXT), "llama.embedding_length": ("u32", WIDTH),
        "llama.feed_forward_length": ("u32", FFN), "llama.attention.head_count": ("u32", HEADS),
        "llama.attention.head_count_kv": ("u32", KV_HEADS), "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5),
        "llama.rope.dimension_count": ("u32", WIDTH // HEADS), "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": [("f32", -float(i)) for i in range(len(tokens))],
        "tokenizer.ggml.token_type": [("i32", k) for k in kinds], "tokenizer.ggml.bos_token_id": ("u32", 1),
        "tokenizer.ggml.eos_token_id": ("u32", 2), "tokenizer.ggml.unknown_token_id": ("u32", 0)}

    def weight(*shape):
        count = 1
        for n in shape:
            count *= n
        return shape, [draw.gauss(0, 0.6) for _ in range(count)]

    kv = KV_HEADS * WIDTH // HEADS
    tensors = {"token_embd.weight": weight(len(tokens), WIDTH), "output_norm.weight": ((WIDTH,), [1.0] * WIDTH)}
    for i in range(LAYERS):
        layer = {"attn_norm": None, "attn_q": (WIDTH, WIDTH), "attn_k": (kv, WIDTH), "attn_v": (kv, WIDTH),
                 "attn_output": (WIDTH, WIDTH), "ffn_norm": None, "ffn_gate": (FFN, WIDTH), "ffn_up": (FFN, WIDTH),
                 "ffn_down": (WIDTH, FFN)}
        for name, shape in layer.items():
            tensors[f"blk.{i}.{name}.weight"] = weight(*shape) if shape else ((WIDTH,), [1.0] * WIDTH)
    return metadata, tensors


def tiny_adapter(path, seed=2, rank=2, alpha=4.0, size=0.5):
    """An adapter (LoRA) of that llama, as llama.cpp's converter writes it."""
    draw = random.Random(seed)
    tensors = {}
    for i in range(LAYERS):
        for name, out, into in (("attn_q", WIDTH, WIDTH), ("ffn_down", WIDTH, FFN)):
            tensors[f"blk.{i}.{name}.weight.lora_a"] = ((rank, into), [draw.gauss(0, size) for _ in range(rank * into)])
            tensors[f"blk.{i}.{name}.weight.lora_b"] = ((out, rank), [draw.gauss(0, size) for _ in range(out * rank)])
    return write_gguf(path, {"general.type": "adapter", "general.architecture": "llama", "adapter.type": "lora",
                             "adapter.lora.alpha": ("f32", alpha)}, tensors)


def merged_llama(path, adapter_seed=2, scale=1.0, rank=2, alpha=4.0, size=0.5):
    """The llama with that adapter added to its weights."""
    metadata, tensors = tiny_llama_parts()
    draw = random.Random(adapter_seed)
    for i in range(LAYERS):
        for name, out, into in (("attn_q", WIDTH, WIDTH), ("ffn_down", WIDTH, FFN)):
            a = [draw.gauss(0, size) for _ in range(rank * into)]
            b = [draw.gauss(0, size) for _ in range(out * rank)]
            shape, w = tensors[f"blk.{i}.{name}.weight"]
            by = scale * alpha / rank
            tensors[f"blk.{i}.{name}.weight"] = shape, [
                w[r * into + c] + by * sum(b[r * rank + k] * a[k * into + c] for k in range(rank))
                for r in range(out) for c in range(into)]
    return write_gguf(path, metadata, tensors)
