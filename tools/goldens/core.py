"""Goldens: what independent libraries say each conformance case gives.

dump_cases (C) writes every case: its graph as JSON and its inputs as raw bytes. This module reads them, evaluates the
graph node by node with the oracle functions that the ops_*.py modules register (PyTorch first, NumPy/SciPy where it
lacks the op), and writes the results to tests/golden/ops/<op>.bin.

An oracle:   @golden("softmax")
             def softmax(attrs, ins, out): return torch.softmax(ins[0].double(), attrs["axis"])
attrs is a dict of all attributes; ins are torch tensors (None where absent); out has the "dtype" and "shape" that RLX
inferred. It returns a tensor or array: float64 for floats, complex128 for c64, integers for integers.
An oracle that runs sub-graphs has a fourth parameter called run: run(graph, inputs) -> outputs.
"""
import inspect
import json
import os

import numpy as np
import torch

ORACLES = {}

TORCH = {
    "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i8": torch.int8,
    "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "u32": torch.int64, "i64": torch.int64,
    "bool": torch.bool, "c64": torch.complex64,
}
NUMPY = {"f32": "<f4", "f16": "<f2", "f64": "<f8", "i8": "i1", "u8": "u1", "i16": "<i2", "i32": "<i4", "u32": "<u4",
         "i64": "<i8", "bool": "?", "c64": "<c8"}


def golden(*names):
    def register(fn):
        for name in names:
            ORACLES[name] = fn
        return fn
    return register


def decode_blocks(dtype, shape, raw):
    """Block types through the gguf package (q8_k, which it lacks, by its layout: f32 scale, 256 signed bytes)."""
    import gguf
    if dtype == "q8_k":
        blocks = np.frombuffer(raw, np.uint8).reshape(-1, 292)
        scale = blocks[:, :4].copy().view("<f4")
        return torch.from_numpy((scale * blocks[:, 4:260].view(np.int8).astype(np.float32)).reshape(shape).copy())
    kind = gguf.GGMLQuantizationType[dtype.upper()]
    if int(np.prod(shape)) == 0:
        return torch.zeros(shape)
    data = np.frombuffer(raw, np.uint8).reshape(*shape[:-1], -1)
    return torch.from_numpy(gguf.quants.dequantize(data, kind).astype(np.float32).reshape(shape).copy())


def from_bytes(dtype, shape, raw):
    if dtype == "bf16":
        bits = np.frombuffer(raw, "<u2").astype(np.int32) << 16
        return torch.from_numpy(bits.view(np.float32).reshape(shape).copy()).to(torch.bfloat16)
    if dtype not in NUMPY:
        return decode_blocks(dtype, shape, raw)
    array = np.frombuffer(raw, NUMPY[dtype]).reshape(shape).copy()
    if dtype == "u32":
        array = array.astype(np.int64)
    return torch.from_numpy(array)


def round_bf16(values):
    """float64 -> bf16 bits, rounded once (through f32 it would round twice)."""
    v = np.asarray(values, np.float64)
    with np.errstate(over="ignore"):
        f = v.astype(np.float32)
    bits = f.view(np.uint32).astype(np.int64)
    low, high = (bits >> 16) << 16, ((bits >> 16) + 1) << 16

    def value(b):
        return (b & 0xFFFFFFFF).astype(np.uint32).view(np.float32).astype(np.float64)
    # The f32 rounding may have crossed the midpoint: decide between the two neighbours by the true value.
    with np.errstate(all="ignore"):
        middle = (value(low) + np.where(np.isinf(value(high)), np.copysign(2.0 ** 128, v), value(high))) / 2
        above = np.abs(v) > np.abs(middle)
        tie = np.abs(v) == np.abs(middle)
    up = above | (tie & (((bits >> 16) & 1) == 1))
    out = np.where(np.isfinite(f), np.where(up, high, low), bits) >> 16
    return np.where(np.isnan(v), 0x7FC0, out).astype("<u2")


def to_bytes(result, dtype, shape):
    if isinstance(result, torch.Tensor):
        result = result.resolve_conj().detach()
        result = result.to(torch.float64).numpy() if result.dtype == torch.bfloat16 else result.numpy()
    result = np.asarray(result)
    assert list(result.shape) == list(shape), f"oracle gives {list(result.shape)}, RLX infers {list(shape)}"
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            return round_bf16(result.astype(np.float64)).tobytes()
        return np.ascontiguousarray(result).astype(NUMPY[dtype]).tobytes()


def call_oracle(name, attrs, ins, out, run):
    if name not in ORACLES:
        raise KeyError(f"no oracle for {name}")
    fn = ORACLES[name]
    return fn(attrs, ins, out, run) if "run" in inspect.signature(fn).parameters else fn(attrs, ins, out)


def run_graph(graph, leaves):
    """leaves: function(node) -> tensor for input, param and state nodes. Intermediate results are rounded to their type."""
    values = {0: None}
    for node in graph["nodes"]:
        op = node["op"]
        if op in ("input", "param", "state"):
            values[node["id"]] = leaves(node)
        elif op == "constant":
            values[node["id"]] = from_bytes(node["dtype"], node["shape"], bytes.fromhex(node["attrs"]["data"]))
        else:
            out = {"dtype": node["dtype"], "shape": node["shape"]}
            ins = [values[i] for i in node["inputs"]]
            result = call_oracle(op, node["attrs"], ins, out, run_subgraph)
            if node["dtype"] in NUMPY or node["dtype"] == "bf16":
                values[node["id"]] = from_bytes(node["dtype"], node["shape"], to_bytes(result, node["dtype"], node["shape"]))
            else:  # blocks are moved and not computed
                values[node["id"]] = torch.from_numpy(np.ascontiguousarray(result))
    return [values[i] for i in graph["outputs"]]


def run_subgraph(graph, inputs):
    queue = iter(inputs)
    return run_graph(graph, lambda node: next(queue))


def make(folder, target):
    """Writes the goldens of all cases in folder/cases.json; returns (written, failures)."""
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)["cases"]
    files, failures = {}, []
    for case in cases:
        def leaf(node):
            with open(os.path.join(folder, case["values"][node["attrs"]["name"]]), "rb") as f:
                return from_bytes(node["dtype"], node["shape"], f.read())
        label = f"{case['op']}/{case['case']}"
        try:
            output = case["graph"]["nodes"][case["graph"]["outputs"][0] - 1]
            result = run_graph(case["graph"], leaf)[0]
            raw = to_bytes(result, output["dtype"], output["shape"])
        except Exception as e:  # each failure is told, none stops the rest
            failures.append(f"{label}: {type(e).__name__}: {e}")
            continue
        sizes = ",".join(map(str, output["shape"])) or "-"
        header = f"case {case['case']} {case['inputs_hash']} {output['dtype']} {sizes}\n"
        files.setdefault(case["op"], []).append(header.encode() + raw + b"\n")
    for op, records in files.items():
        with open(os.path.join(target, op + ".bin"), "wb") as f:
            f.write(b"".join(records))
    return sum(map(len, files.values())), failures
