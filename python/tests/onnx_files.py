"""ONNX files for tests, written byte by byte, so that no test needs the package onnx."""



def size(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + size(n >> 7)


def field(n, v):
    """A number, or a text or message with its length."""
    v = v.encode() if isinstance(v, str) else v
    return bytes([n << 3]) + size(v) if isinstance(v, int) else bytes([n << 3 | 2]) + size(len(v)) + v


def value(name, *dims, kind=1):
    shape = b"".join(field(1, field(1 if isinstance(d, int) else 2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def node(op, ins, outs):
    return b"".join(field(1, i) for i in ins) + b"".join(field(2, o) for o in outs) + field(4, op)


def tensor(name, array):
    kinds = {"float32": 1, "int64": 7}
    return (b"".join(field(1, d) for d in array.shape) + field(2, kinds[array.dtype.name]) + field(8, name)
            + field(9, array.tobytes()))


def model(nodes, inputs, outputs, weights=()):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "graph") + b"".join(field(5, w) for w in weights)
             + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    meta = field(14, field(1, "author") + field(2, "nobody"))
    return field(1, 8) + field(2, "tests") + field(7, graph) + field(8, field(2, 17)) + meta


def layer(weight):
    """relu(x @ w) with an open batch size."""
    return model([node("MatMul", ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])],
                 [value("x", "batch", weight.shape[0])], [value("y", "batch", weight.shape[1])], [tensor("w", weight)])
