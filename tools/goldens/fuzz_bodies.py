"""How to draw the nodes that hold graphs: region, if, while, scan. See fuzz_ops.py."""
import core
import numpy as np
from fuzz_draws import FLOATS
from fuzz_ops import drawn


class Body:
    """A sub-graph, as text and as what core.run_graph takes."""

    def __init__(self):
        self.nodes, self.lines, self.outputs = [], [], []

    def add(self, op, dtype, shape, inputs=(), attrs=None, text=None):
        node = {"id": len(self.nodes) + 1, "op": op, "dtype": dtype, "shape": list(shape), "inputs": list(inputs),
                "attrs": attrs or {}}
        self.nodes.append(node)
        args = ", ".join(f"%{i}" for i in inputs)
        self.lines.append(f"%{node['id']} = " + (text or f"{op}({args})"))
        return node["id"]

    def input(self, dtype, shape):
        name = f"i{len(self.nodes)}"
        return self.add("input", dtype, shape, attrs={"name": name}, text=f'input "{name}" : {dtype}{list(shape)}')

    def constant(self, dtype, value):
        data = core.to_bytes(np.asarray(value), dtype, []).hex()
        return self.add("constant", dtype, [], attrs={"data": data}, text=f'constant : {dtype}[] = hex "{data}"')

    def output(self, node):
        self.outputs.append(node)

    def graph(self):
        return {"nodes": self.nodes, "outputs": self.outputs}

    def text(self):
        return "graph { " + "; ".join(self.lines + [f'output "o{i}" = %{n}' for i, n in enumerate(self.outputs)]) + " }"

    def grow(self, d, pool, steps):
        """A few element-wise nodes of one type over the nodes in pool; the last of them has the full shape."""
        node = pool[0]
        for _ in range(steps):
            a, b = self.nodes[node - 1], self.nodes[d.pick(pool) - 1]
            if d.coin(0.4):
                op = d.pick(UNARY if a["dtype"] in FLOATS else ["neg", "abs", "sign"])
                node = self.add(op, a["dtype"], a["shape"], [node])
            else:
                shape = np.broadcast_shapes(tuple(a["shape"]), tuple(b["shape"]))
                node = self.add(d.pick(["add", "sub", "mul", "max", "min"]), a["dtype"], shape, [node, b["id"]])
        return node


UNARY = ["tanh", "sin", "neg", "abs", "relu", "sigmoid", "exp", "floor", "erf"]


@drawn("region")
def region(d, row):
    dtype, shapes = d.pick(FLOATS + ["i32", "i8"]), d.broadcast(d.int(1, 3))
    body = Body()
    pool = [body.input(dtype, s) for s in shapes]
    body.output(body.grow(d, pool, d.int(1, 6)))
    return [d.plain(dtype, s) for s in shapes], {"body": body}


@drawn("if")
def if_(d, row):
    dtype, shape, n_out = d.pick(FLOATS + ["i32"]), d.shape(0, 3), d.int(1, 3)
    attrs = {"index": d.int(0, n_out - 1)}
    for branch in ("on_true", "on_false"):
        body = Body()
        pool = [body.input(dtype, shape), body.input(dtype, shape)]
        for _ in range(n_out):
            body.output(body.grow(d, pool, d.int(1, 3)))
        attrs[branch] = body
    return [d.leaf("bool", [])] + [d.plain(dtype, shape) for _ in range(2)], attrs


@drawn("while")
def while_(d, row):
    dtype, shape, carried = d.pick(FLOATS), d.shape(0, 2), d.int(1, 3)
    trips = d.int(0, 5)

    def inputs(body):  # the values, a counter, a limit, and one more value that stays
        ids = [body.input(dtype, shape) for _ in range(carried)]
        return ids, body.input("i32", []), body.input("i32", []), body.input(dtype, [])
    cond = Body()
    _, counter, limit, _ = inputs(cond)
    cond.output(cond.add("lt", "bool", [], [counter, limit]))
    body = Body()
    ids, counter, limit, still = inputs(body)
    one = body.constant("i32", 1)
    for i in ids:
        body.output(body.add("tanh", dtype, shape, [body.grow(d, [i] + ids + [still], d.int(0, 2))]))
    body.output(body.add("add", "i32", [], [counter, one]))
    ins = [d.plain(dtype, shape) for _ in range(carried)]
    ins += [d.of("i32", [], 0), d.of("i32", [], trips), d.plain(dtype, [])]
    # The limit comes after the counter, so it is not carried.
    attrs = {"cond": cond, "body": body, "carried": carried + 1, "index": d.int(0, carried)}
    if d.coin():
        attrs["max_trips"] = d.int(1, 6)
    return ins, attrs


@drawn("scan")
def scan(d, row):
    dtype, shape, steps = d.pick(FLOATS), d.shape(0, 2), d.size()
    carried, scanned = d.int(0, 2), d.int(1, 2)
    body = Body()
    before = [body.input(dtype, shape) for _ in range(carried)]
    slices = [body.input(dtype, shape) for _ in range(scanned)]
    rest = body.input(dtype, [])
    pool = before + slices + [rest]
    for b in before:
        body.output(body.add("tanh", dtype, shape, [body.grow(d, [b] + pool, d.int(1, 3))]))
    for _ in range(d.int(1 - min(carried, 1), 2)):
        body.output(body.grow(d, [slices[0]] + pool, d.int(0, 3)))
    ins = [d.plain(dtype, shape) for _ in before] + [d.plain(dtype, [steps] + shape) for _ in slices]
    return ins + [d.plain(dtype, [])], \
        {"body": body, "carried": carried, "scanned": scanned, "reverse": d.coin(),
         "index": d.int(0, len(body.outputs) - 1)}
