#!/usr/bin/env python3
"""A differential fuzzer: random nodes of every op, through `rlx eval` and through the oracles of the goldens.

  python3 tools/goldens/fuzz.py --rlx build/release/rlx [--ops add,softmax] [--count 200] [--seed 1] [--strict]

For each op it draws inputs and attributes (fuzz_ops.py), writes many independent nodes as one text graph, evaluates it,
and compares every output with the oracle (ops_*.py) under the tolerances of SPEC.md section 8; shapes and types are
compared too. --strict asks for what two computations in double should give: the same number but for its last place.
A mismatch is printed as a graph of one node that holds its inputs. Draws that RLX refuses are counted, and with
--refused their messages are shown. Exit status 1: there was a mismatch.

--pass LIST runs these passes first, with some inputs turned into constants so that there is something to fold.
--symbols writes sizes of inputs as symbols: the node must be accepted, and what is inferred must agree with what comes
out.

For development: needs numpy, scipy, torch (CPU) and gguf, as make_goldens.py does. Not covered: custom, which the
command line cannot register. The same seed, count and op give the same draws, whatever other ops are asked for.
"""
import argparse
import collections
import glob
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import core  # noqa: E402
import fuzz_bodies  # noqa: E402
import fuzz_draws  # noqa: E402
import fuzz_models  # noqa: E402, F401  (registers its ops)
import fuzz_ops  # noqa: E402

LEAVES = ("input", "param", "state", "constant")
BATCH = 60


class Node:
    """One draw: an op with its inputs and attributes, and what became of it."""

    def __init__(self, row, ins, attrs):
        while ins and ins[-1] is None:
            ins.pop()
        self.row, self.ins, self.attrs, self.refused = row, ins, attrs, None
        self.open = set()  # (input, axis) whose size is written as a symbol
        self.claims = None  # the shape inferred with symbols

    def sizes(self, name, i):
        shape = enumerate(self.ins[i].shape)
        return [f"{name}.{i}.{axis}" if (i, axis) in self.open else str(size) for axis, size in shape]

    def statements(self, name, inline=False):
        """(statement, leaf or None) of each line; the last is the node, called %name."""
        lines, args = [], []
        for i, leaf in enumerate(self.ins):
            if leaf is None:
                args.append("_")
                continue
            own = name if self.row["name"] in LEAVES else f"{name}.{i}"
            args.append("%" + own)
            kind = f"{leaf.dtype}[{','.join(self.sizes(name, i))}]"
            if leaf.kind == "constant" or (inline and leaf.kind == "input" and not self.open):
                lines.append((f'%{own} = constant : {kind} = hex "{leaf.raw.hex()}"', None))
            else:
                lines.append((f'%{own} = {leaf.kind} "{own}" : {kind}', leaf))
        if self.row["name"] not in LEAVES:
            attrs = ", ".join(f"{k}={attribute_text(v)}" for k, v in self.attrs.items())
            lines.append((f"%{name} = {self.row['name']}({', '.join(args)}) {{{attrs}}}", None))
        return lines

    def want(self, dtype, shape):
        if self.row["name"] in LEAVES:
            return self.ins[0].tensor()
        attrs = {a["name"]: default_value(a) for a in self.row["attributes"]}
        attrs.update({k: v.graph() if isinstance(v, fuzz_bodies.Body) else v for k, v in self.attrs.items()})
        ins = [None if leaf is None else leaf.tensor() for leaf in self.ins]
        result = core.call_oracle(self.row["name"], attrs, ins, {"dtype": dtype, "shape": shape}, core.run_subgraph)
        return core.from_bytes(dtype, shape, core.to_bytes(result, dtype, shape))

    def result_type(self):
        """The type that the row promises; None where its shape rule says."""
        result = self.row["result"]
        if result == "T":
            types = [i["type"] for i in self.row["inputs"]]
            return self.ins[types.index("T")].dtype
        if result == "TO":
            given = {a["name"]: a["default"] for a in self.row["attributes"]}
            return self.attrs.get("to", given["to"])
        return None if result == "RULE" else result


def attribute_text(v):
    if isinstance(v, fuzz_bodies.Body):
        return v.text()
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, list):
        return "[" + ",".join(map(attribute_text, v)) + "]"
    return repr(v) if isinstance(v, (int, float)) else str(v)


def default_value(a):
    text = a["default"]
    return {"int": lambda: int(text), "float": lambda: float(text), "bool": lambda: text == "true", "dims": list,
            "floats": list}.get(a["kind"], lambda: text)()


# ---- running ----


class Runner:
    def __init__(self, rlx, folder, passes=None):
        self.rlx, self.folder = rlx, folder
        self.more = ["--pass", passes] if passes else []
        self.graph = os.path.join(folder, "graph.rlx")

    def write(self, nodes):
        """The graph; returns the draw that each line, and each node of RLX, belongs to."""
        lines, owner, owner_of_node, given = ["graph {"], [None, None], [None], {}
        for i, node in enumerate(nodes):
            for statement, leaf in node.statements(f"n{i}"):
                lines.append(statement)
                owner.append(node)
                owner_of_node.append(node)
                if leaf:
                    given[statement.split()[0][1:]] = leaf
        for i, node in enumerate(nodes):
            lines.append(f'output "y{i}" = %n{i}')
            owner.append(node)
        with open(self.graph, "w") as f:
            f.write("\n".join(lines + ["}", ""]))
        return owner, owner_of_node, given

    def call(self, *args):
        done = subprocess.run([self.rlx, *args], capture_output=True, text=True)
        self.said = done.stdout
        return None if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"

    def accepted(self, nodes):
        """Drops what RLX refuses, one error at a time, and writes the graph of the rest."""
        while nodes:
            owner, owner_of_node, given = self.write(nodes)
            error = self.call("graph", "--json", self.graph)
            if error is None:
                for i, (node, output) in enumerate(zip(nodes, json.loads(self.said)["files"][0]["outputs"])):
                    known = {f"n{i}.{k}.{axis}": node.ins[k].shape[axis] for k, axis in node.open}
                    node.claims = [known.get(size, size) for size in output["shape"]]
                return nodes, owner_of_node, given
            line = re.search(r"line (\d+)", error)
            if not line or owner[int(line.group(1))] is None:
                raise RuntimeError(f"cannot tell which node is refused: {error}")
            nodes = self.drop(nodes, owner[int(line.group(1))], error)
        return [], [], {}

    def drop(self, nodes, node, error):
        node.refused = error.splitlines()[0]
        return [n for n in nodes if n is not node]

    def run(self, nodes):
        """{node: (dtype, shape, tensor)} of those that ran."""
        while True:
            nodes, owner_of_node, given = self.accepted(nodes)
            if not nodes:
                return {}
            args = []
            for name, leaf in given.items():
                path = os.path.join(self.folder, name + ".npy")
                np.save(path, leaf.array())
                args += ["--input", f"{name}={path}"]
            out = os.path.join(self.folder, "out")
            error = self.call("eval", self.graph, "-q", "--out", out, *self.more, *args)
            if error is None:
                return {node: load(os.path.join(out, f"y{i}.npy")) for i, node in enumerate(nodes)}
            at = re.search(r"node (\d+)", error)
            if not at:
                raise RuntimeError(error)
            nodes = self.drop(nodes, owner_of_node[int(at.group(1))], error)


def load(path):
    array = np.load(path)
    names = {np.dtype(v): k for k, v in core.NUMPY.items()}
    dtype = "bf16" if array.dtype.kind == "V" else names[array.dtype]
    shape = list(array.shape)
    return dtype, shape, core.from_bytes(dtype, shape, array.tobytes())


# ---- comparing ----

DIGITS = {"f32": 24, "f16": 11, "bf16": 8, "f64": 53}
LEAST = {"f32": 2.0 ** -149, "f16": 2.0 ** -24, "bf16": 2.0 ** -133, "f64": 2.0 ** -1074}


def tolerance(node, dtype):
    """rtol (also atol) of SPEC section 8; 0 is exact. Of f64 it does not speak: as far as double arithmetic goes."""
    traits = node.row["traits"]
    if dtype not in (*DIGITS, "c64") or "moves" in traits or "leaf" in traits:
        return 0.0
    if dtype in ("f16", "bf16", "f64"):
        return {"f16": 2e-3, "bf16": 1e-2, "f64": 1e-9}[dtype]
    if node.row["name"] in ("matmul", "fused_matmul_bias_act"):
        return 1e-4 * max(1.0, node.ins[0].shape[-1] ** 0.5)
    return 1e-5 if "pointwise" in traits else 1e-4


def flat(tensor):
    if tensor.dtype == torch.complex64:
        tensor = torch.view_as_real(tensor)
    return tensor.reshape(-1).double().numpy() if tensor.is_floating_point() else tensor.reshape(-1).numpy()


def differs(node, dtype, got, want, strict):
    """Why the two are not equal enough, or None."""
    y, r = flat(got), flat(want)
    rtol = tolerance(node, dtype)
    if rtol == 0:
        same = (y == r) | ((y != y) & (r != r))
    else:
        with np.errstate(all="ignore"):
            room = rtol + rtol * np.abs(r)
            if strict and dtype != "f64":  # one place, and what double sums lose to cancellation
                kind = "f32" if dtype == "c64" else dtype
                finite = np.abs(r[np.isfinite(r)])
                largest = finite.max() if finite.size else 0.0
                room = np.abs(r) * 2.0 ** (1 - DIGITS[kind]) + max(LEAST[kind], 1e-13) + largest * 1e-11
            same = np.where(np.isfinite(r) & np.isfinite(y), np.abs(y - r) <= room, (y == r) | ((y != y) & (r != r)))
    if not same.all():
        at = int(np.argmin(same))
        return f"element {at} of {len(y)} is {y[at]!r} but the oracle says {r[at]!r} ({int((~same).sum())} differ)"
    both = np.isfinite(y.astype(np.float64)) & np.isfinite(r.astype(np.float64))
    if rtol and both.any():
        with np.errstate(all="ignore"):
            error, size = np.linalg.norm(y[both] - r[both]), np.linalg.norm(r[both])
        if error > size * rtol / 10 and error > rtol / 10 * both.sum() ** 0.5:
            return f"the whole tensor is off by {error / size:.3g} of its size"
    return None


def judge(node, result, strict):
    dtype, shape, got = result
    promised = node.result_type()
    if promised and promised != dtype:
        return f"is {dtype} but the row promises {promised}"
    if len(node.claims) != len(shape) or any(c not in ("?", s) for c, s in zip(node.claims, shape)):
        return f"is {shape} but inference said {node.claims}"
    try:
        want = node.want(dtype, shape)
    except Exception as e:  # the oracle refuses what RLX accepts, or has another shape: someone must look
        return f"the oracle fails: {type(e).__name__}: {e}"
    return differs(node, dtype, got, want, strict)


def show(node, why):
    print(f"MISMATCH {node.row['name']}: {why}")
    print("graph {\n" + "\n".join("  " + s for s, _ in node.statements("y", inline=True)) + '\n  output "y" = %y\n}')


# ---- all ops ----


def vary(node, source, args):
    """What the options ask for beside the draw itself."""
    for i, leaf in enumerate(node.ins):
        if leaf is None or leaf.kind == "constant":
            continue
        if args.passes and leaf.kind == "input" and source.coin(0.4):
            leaf.kind = "constant"
        elif args.symbols and leaf.dtype not in fuzz_draws.BLOCKS:
            node.open |= {(i, axis) for axis in range(len(leaf.shape)) if source.coin()}
    if node.row["name"] in ("gather_nd", "scatter_nd"):  # the result's rank follows from this size
        node.open.discard((1, len(node.ins[1].shape) - 1))


def refused_for_symbols(node, runner):
    before, node.open = (node.open, node.refused), set()
    accepted = bool(runner.run([node]))
    node.open, node.refused = before
    return accepted


def gist(message):
    """A message without its place and numbers."""
    return re.sub(r"[-\d.]+(e[-+]\d+)?", "N", re.sub(r".*(line|node) \d+\S*( column \d+:)?", "", message))


def fuzz_op(row, args, runner):
    source = fuzz_draws.Draws([args.seed, zlib.crc32(row["name"].encode())])
    compared, mismatches, refused = 0, 0, collections.Counter()
    drawn = 0

    def report(node, why):
        nonlocal mismatches
        mismatches += 1
        if mismatches <= args.show:
            show(node, why)
    while drawn < args.count:
        nodes = []
        while len(nodes) < BATCH and drawn < args.count:
            drawn += 1
            try:
                nodes.append(Node(row, *fuzz_ops.draw(source, row)))
            except fuzz_draws.Skip:
                continue
            vary(nodes[-1], source, args)
        results = runner.run(nodes)
        for node in nodes:
            if node.refused:
                refused[gist(node.refused)] += 1
                if node.open and refused_for_symbols(node, runner):
                    report(node, f"refused because of symbols: {node.refused}")
                continue
            why = judge(node, results[node], args.strict)
            compared += 1
            if why:
                report(node, why)
    return compared, mismatches, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rlx", default=os.path.join(ROOT, "build", "release", "rlx"), help="the program")
    parser.add_argument("--ops", help="comma-separated; default: all")
    parser.add_argument("--count", type=int, default=200, help="draws per op")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strict", action="store_true", help="equal but for the last place")
    parser.add_argument("--pass", dest="passes", metavar="LIST", help="as of rlx eval")
    parser.add_argument("--symbols", action="store_true", help="sizes of inputs as symbols")
    parser.add_argument("--show", type=int, default=3, help="mismatches printed per op")
    parser.add_argument("--refused", action="store_true", help="print why draws were refused")
    args = parser.parse_args()
    for path in sorted(glob.glob(os.path.join(HERE, "ops_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
    table = subprocess.run([args.rlx, "ops", "--json"], capture_output=True, text=True, check=True).stdout
    rows = json.loads(table)["ops"]
    wanted = args.ops.split(",") if args.ops else [r["name"] for r in rows if r["name"] != "custom"]
    unknown = set(wanted) - {r["name"] for r in rows}
    if unknown:
        parser.error(f"no such op: {', '.join(sorted(unknown))}")
    total, bad, idle = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if row["name"] not in wanted:
                continue
            compared, mismatches, refused = fuzz_op(row, args, Runner(args.rlx, folder, args.passes))
            total, bad = total + compared, bad + mismatches
            if compared < args.count // 4:
                idle.append(row["name"])
            counts = f"{compared} compared, {mismatches} mismatches, {sum(refused.values())} refused"
            print(f"{row['name']}: {counts}", flush=True)
            for message, n in refused.most_common(5 if args.refused else 0):
                print(f"    {n} x {message}")
    print(f"{total} draws compared, {bad} mismatches" + (f"; too few valid draws of {', '.join(idle)}" if idle else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
