"""Weight files for the tests of the command, made byte by byte, and whether this build reads them."""

import json
import pathlib
import struct

from cli import Skip, rlx

GGUF_TYPES = {"u8": (0, "<B"), "i8": (1, "<b"), "u16": (2, "<H"), "i16": (3, "<h"), "u32": (4, "<I"), "i32": (5, "<i"),
              "f32": (6, "<f"), "bool": (7, "<?"), "u64": (10, "<Q"), "i64": (11, "<q"), "f64": (12, "<d")}


def need_lm():
    """Skips a test where rlx was built without language models."""
    if " convert " not in rlx("--help", expect=0).out:
        raise Skip("rlx was built without language models")


def gguf_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(kind, value):
    """A value with its type before it; a list's kind is [kind]."""
    if isinstance(kind, list):
        inner = [gguf_value(kind[0], v) for v in value]
        code = 8 if kind[0] == "string" else GGUF_TYPES[kind[0]][0]
        return struct.pack("<IIQ", 9, code, len(value)) + b"".join(v[4:] for v in inner)
    if kind == "string":
        return struct.pack("<I", 8) + gguf_text(value)
    code, layout = GGUF_TYPES[kind]
    return struct.pack("<I", code) + struct.pack(layout, value)


def gguf(path, metas=(), tensors=()):
    """metas: (key, kind, value); tensors: (name, sizes as the file has them, type's number, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metas))
    for key, kind, value in metas:
        head += gguf_text(key) + gguf_value(kind, value)
    data = b""
    for name, sizes, code, content in tensors:
        head += gguf_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, code, len(data))
        data += content + b"\0" * (-len(content) % 32)
    pathlib.Path(path).write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


def safetensors(path, tensors, metadata=None):
    """tensors: name -> (dtype, shape, bytes)."""
    head, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, shape, content) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(head).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path
