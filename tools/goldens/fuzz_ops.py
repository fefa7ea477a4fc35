"""How to draw a random node: inputs and attributes, mostly valid, for each op.

An op whose inputs are x (and perhaps tensors like it) is drawn from its row alone: the row says the types, and an
attribute is drawn by its name (axis, axes, keep ..) or kind. Where sizes depend on each other, a function registered
with @drawn("op") says how. It returns (inputs, attributes): a list of Leaf, None for an absent input, and a dict of
what differs from the defaults. Here: element-wise, norms, order, shape and indexing; the rest in fuzz_models.py and
fuzz_bodies.py.
"""
import core
import numpy as np
from fuzz_draws import ALL, BLOCK_SIZES, BLOCKS, FLOATS, INTS, Skip

DRAWS = {}


def drawn(*names):
    def register(fn):
        for name in names:
            DRAWS[name] = fn
        return fn
    return register


# ---- from the row alone ----


def attribute(d, a, rank):
    """A value for one attribute of an op with one tensor x of this rank; None leaves the default."""
    if a["kind"] == "bool":
        return d.coin()
    if a["kind"] == "enum":
        return d.pick(a["names"])
    if a["kind"] == "float":
        return d.real()
    if a["name"] == "axis":
        if rank == 0:
            raise Skip("a scalar has no axis")
        return d.axis(rank)
    if a["name"] == "axes":
        return d.axes(rank)
    if a["name"] == "to":
        return d.pick(["i32", "i64"])
    return None


def from_row(d, row):
    dtype = d.pick(row["types"])
    if len(row["inputs"]) > 1:
        shapes = d.broadcast(len(row["inputs"]), 5)
    else:
        shapes = [d.shape(0, 5)]
    attrs = {}
    for a in row["attributes"]:
        value = attribute(d, a, len(shapes[0]))
        if value is not None:
            attrs[a["name"]] = value
    names = {"T": dtype, "W": dtype}
    return [d.leaf(names.get(i["type"], i["type"]), s) for i, s in zip(row["inputs"], shapes)], attrs


def draw(d, row):
    fn = DRAWS.get(row["name"])
    return fn(d, row) if fn else from_row(d, row)


def maybe(d, leaf, p=0.5):
    return leaf if d.coin(p) else None


# ---- element-wise ----


@drawn("input", "param", "state")
def named_leaf(d, row):
    return [d.leaf(d.pick(ALL), d.shape(), kind=row["name"])], {}


@drawn("constant")
def constant(d, row):
    return [d.leaf(d.pick(ALL), d.shape(), kind="constant")], {}


@drawn("clamp")
def clamp(d, row):
    ends = [-np.inf, np.inf, -1.5, -0.25, 0.0, 0.5, 3.0, 7.5, 200.0, -1e10, 1e20]
    attrs = {k: float(d.pick(ends)) for k in ("lo", "hi") if d.coin(0.8)}
    return [d.leaf(d.pick(row["types"]), d.shape())], attrs


@drawn("shl", "shr")
def shift(d, row):
    dtype, (a, b) = d.pick(INTS), d.broadcast(2)
    least = 0 if dtype in ("u8", "u32") else -2
    counts = d.r.integers(least, 8 * np.dtype(core.NUMPY[dtype]).itemsize + 3, int(np.prod(b)))
    return [d.leaf(dtype, a), d.of(dtype, b, counts)], {}


@drawn("pow")
def power(d, row):
    dtype, (a, b) = d.pick(row["types"]), d.broadcast(2)
    return [d.leaf(dtype, a), d.leaf(dtype, b, "plain" if d.coin() else "mixed")], {}


@drawn("cast")
def cast(d, row):
    if d.coin(0.2):
        block = d.pick(BLOCKS)
        return [d.leaf(block, d.shape(0, 1) + [BLOCK_SIZES[block][0] * d.int(0, 2)])], {"to": d.pick(FLOATS)}
    to = d.pick(ALL)
    source = "c64" if to == "c64" else d.pick(FLOATS + INTS + ["bool"])
    x = d.leaf(source, d.shape())
    if source in FLOATS and d.coin(0.4):  # near the ends of the integer types, and halves
        ends = np.array([127.5, 128, -128.9, -129, 255.9, 256, 32768, -32769, 2.0 ** 31, 2.0 ** 32, 2.0 ** 63,
                         -2.0 ** 63, 0.5, -0.99])
        x = d.of(source, x.shape, d.r.choice(ends, int(np.prod(x.shape))))
    return [x], {"to": to}


def channels(d, shape):
    """A channel axis and the shape of what is per channel, or neither."""
    if not shape or d.coin(0.4):
        return d.axis(max(len(shape), 1)), []
    axis = d.axis(len(shape))
    return axis, [shape[axis]] if d.coin(0.9) else [1]


@drawn("quantize")
def quantize(d, row):
    dtype, to, shape = d.pick(FLOATS), d.pick(["i8", "u8", "i16", "i32"]), d.shape(0, 5)
    axis, per = channels(d, shape)
    scale = d.leaf(dtype, per, d.pick(["positive", "positive", "short"]))
    zero = maybe(d, d.plain(to, per))
    return [d.leaf(dtype, shape), scale, zero], {"to": to, "axis": axis}


@drawn("dequantize")
def dequantize(d, row):
    dtype, shape = d.pick(["i8", "u8", "i16", "i32"]), d.shape(0, 5)
    axis, per = channels(d, shape)
    return [d.leaf(dtype, shape), d.plain(d.pick(FLOATS), per), maybe(d, d.leaf(dtype, per))], {"axis": axis}


# ---- norms ----


@drawn("layer_norm", "rms_norm")
def norm_last(d, row):
    dtype, shape = d.pick(FLOATS), d.shape(1, 5)
    axis = d.axis(len(shape))
    inner = shape[axis:]
    style = d.pick(["plain", "wide", "short", "special"])
    return [d.leaf(dtype, shape, style), maybe(d, d.plain(dtype, inner)), maybe(d, d.plain(dtype, inner))], \
        {"axis": axis, "eps": d.pick([1e-5, 1e-6, 0.1, 1.0])}


@drawn("fused_residual_norm")
def residual_norm(d, row):
    dtype, shape = d.pick(FLOATS), d.shape(1, 5)
    ins = [d.plain(dtype, shape), d.plain(dtype, shape)]
    return ins + [maybe(d, d.plain(dtype, shape[-1:])) for _ in range(2)], \
        {"kind": d.pick(["rms", "layer"]), "eps": d.pick([1e-5, 0.1])}


@drawn("layer_norm_2d", "group_norm", "instance_norm", "batch_norm_inference")
def norm_channels(d, row):
    name, dtype = row["name"], d.pick(FLOATS)
    rank = 4 if name == "layer_norm_2d" else d.int(2, 5)
    groups = d.int(1, 3)
    c = groups * d.int(1, 4) if name == "group_norm" else d.size(empty=0.02)
    shape = [d.size(large=0), c] + [d.size(large=0.02) for _ in range(rank - 2)]
    attrs = {"eps": d.pick([1e-5, 1e-6, 0.1])}
    if name == "group_norm":
        attrs["groups"] = groups
    statistics = [d.plain(dtype, [c]), d.leaf(dtype, [c], "positive")] if name == "batch_norm_inference" else []
    return [d.leaf(dtype, shape, d.pick(["plain", "wide", "short", "special"])), *statistics,
            maybe(d, d.plain(dtype, [c])), maybe(d, d.plain(dtype, [c]))], attrs


@drawn("top_k_values", "top_k_indices")
def top_k(d, row):
    shape = d.shape(1, 5)
    axis = d.axis(len(shape))
    attrs = {"k": d.int(0, shape[axis]), "axis": axis, "largest": d.coin()}
    if row["name"] == "top_k_indices":
        attrs["to"] = d.pick(["i32", "i64"])
    return [d.leaf(d.pick(row["types"]), shape, d.pick(["mixed", "short", "special"]))], attrs


# ---- shape and indexing ----


@drawn("reshape")
def reshape(d, row):
    shape = d.shape(0, 5)
    to, rest = [], int(np.prod(shape))
    for _ in range(d.int(0, 3)):
        part = d.pick([f for f in range(1, rest + 1) if rest % f == 0] if rest else [0, 1, 2])
        to.append(part)
        rest = rest // part if part else 0
    if rest != 1 or d.coin():
        to.append(rest)
    if to and 0 not in to and d.coin(0.4):
        to[d.int(0, len(to) - 1)] = -1
    elif 0 in shape and d.coin(0.3):  # sizes in common cancel
        to = shape[:-1] + [-1]
    return [d.leaf(d.pick(ALL), shape)], {"shape": to}


@drawn("transpose")
def transpose(d, row):
    shape = d.shape(0, 5)
    perm = [int(i) - len(shape) * d.coin(0.2) for i in d.r.permutation(len(shape))]
    return [d.leaf(d.pick(ALL), shape)], {} if d.coin(0.2) else {"perm": perm}


@drawn("slice")
def slice_(d, row):
    shape = d.shape(1, 5)
    axes = d.axes(len(shape)) if d.coin(0.7) else []
    n = len(axes) or d.int(0, len(shape))
    attrs = {"axes": axes, "start": [d.int(-9, 9) for _ in range(n)], "stop": [d.int(-9, 9) for _ in range(n)]}
    if d.coin(0.7):
        attrs["step"] = [d.pick([-7, -3, -2, -1, 1, 1, 2, 3, 9]) for _ in range(n)]
    if n and d.coin(0.3):
        attrs["stop"][0] = d.pick([2 ** 62, -(2 ** 40), 10 ** 6])
    return [d.leaf(d.pick(ALL), shape)], attrs


@drawn("concat")
def concat(d, row):
    shape, dtype = d.shape(1, 5), d.pick(ALL)
    axis = d.axis(len(shape))
    parts = []
    for _ in range(d.int(1, 4)):
        part = list(shape)
        part[axis] = d.size()
        parts.append(d.leaf(dtype, part))
    return parts, {"axis": axis}


@drawn("expand")
def expand(d, row):
    to = d.shape(0, 5)
    x = d.narrowed(to)
    lead = len(to) - len(x)
    kept = [i >= lead and x[i - lead] == s and d.coin(0.3) for i, s in enumerate(to)]
    return [d.leaf(d.pick(ALL), x)], {"shape": [-1 if k else s for k, s in zip(kept, to)]}


@drawn("tile")
def tile(d, row):
    shape = d.shape(0, 5)
    lo, hi = (0, 3) if len(shape) < 5 else (1, 2)
    return [d.leaf(d.pick(ALL), shape)], {"reps": [d.int(lo, hi) for _ in shape]}


@drawn("pad")
def pad(d, row):
    shape, mode, dtype = d.shape(0, 5), d.pick(["constant", "reflect", "edge", "wrap"]), d.pick(ALL)
    most = 1 if len(shape) > 4 else 3 if d.coin(0.8) else 9
    attrs = {"lo": [d.int(0, most) for _ in shape], "hi": [d.int(0, most) for _ in shape], "mode": mode}
    if mode == "constant" and d.coin(0.7):
        attrs["value"] = d.pick([1.0, -1.5, 3.75, 300.0, -1e10, np.inf, np.nan])
        if dtype in INTS and not np.isfinite(attrs["value"]):
            attrs["value"] = 7.0
    return [d.leaf(dtype, shape)], attrs


@drawn("roll")
def roll(d, row):
    shape = d.shape(0, 5)
    axes = d.axes(len(shape), 1)
    return [d.leaf(d.pick(ALL), shape)], {"axes": axes, "shifts": [d.int(-12, 12) for _ in axes]}


@drawn("trilu")
def trilu(d, row):
    return [d.leaf(d.pick(ALL), d.shape(2, 4))], {"upper": d.coin(), "k": d.int(-5, 5)}


@drawn("space_to_depth", "depth_to_space")
def space_depth(d, row):
    block, (n, c, h, w) = d.int(1, 3), (d.size(), d.int(0, 3) or 1, d.size(), d.size())
    if row["name"] == "space_to_depth":
        return [d.leaf(d.pick(ALL), [n, c, h * block, w * block])], {"block": block}
    return [d.leaf(d.pick(ALL), [n, c * block * block, h, w])], {"block": block, "mode": d.pick(["dcr", "crd"])}


@drawn("view_as_real")
def view_as_real(d, row):
    return [d.leaf("c64", d.shape(0, 4))], {}


@drawn("view_as_complex")
def view_as_complex(d, row):
    return [d.leaf("f32", d.shape(0, 3) + [2])], {}


@drawn("gather")
def gather(d, row):
    shape, idx = d.shape(1, 3), d.shape(0, 3)
    axis = d.axis(len(shape))
    if d.coin(0.15):
        block = d.pick(BLOCKS)
        shape = [d.int(1, 5)] + d.shape(0, 1) + [BLOCK_SIZES[block][0]]
        return [d.leaf(block, shape), d.index(idx, shape[0])], {}
    return [d.leaf(d.pick(ALL), shape), d.index(idx, shape[axis])], {"axis": axis}


def smaller(d, shape, axis):
    """A shape not larger than this one, but on the axis."""
    shape_of = [d.int(min(1, s), s) if d.coin(0.4) else s for s in shape]
    shape_of[axis] = d.size()
    return shape_of


@drawn("gather_elements")
def gather_elements(d, row):
    shape = d.shape(1, 5)
    axis = d.axis(len(shape))
    return [d.leaf(d.pick(ALL), shape), d.index(smaller(d, shape, axis), shape[axis])], {"axis": axis}


@drawn("scatter_elements", "scatter_add")
def scatter_elements(d, row):
    shape, dtype = d.shape(1, 5), d.pick(row["types"])
    axis = d.axis(len(shape))
    idx = d.index(smaller(d, shape, axis), shape[axis])
    attrs = {"axis": axis}
    if row["name"] == "scatter_elements":
        attrs["reduction"] = d.pick(["none", "add", "mul", "max", "min"])
    return [d.leaf(dtype, shape), idx, d.leaf(dtype, idx.shape)], attrs


def coordinates(d, shape, lead, depth):
    """[lead.., depth] coordinates into the axes of shape."""
    count = int(np.prod(lead))
    if count and 0 in shape[:depth]:
        raise Skip("no element to index")
    columns = [d.r.integers(-s if d.coin(0.3) else 0, max(s, 1), count) for s in shape[:depth]]
    return d.of(d.pick(["i32", "i64"]), lead + [depth], np.stack(columns, -1))


@drawn("gather_nd")
def gather_nd(d, row):
    shape = d.shape(1, 5)
    batch = d.int(0, len(shape) - 1)
    depth = d.int(1, len(shape) - batch)
    idx = coordinates(d, shape[batch:], shape[:batch] + d.shape(0, 2), depth)
    return [d.leaf(d.pick(ALL), shape), idx], {"batch_dims": batch}


@drawn("scatter_nd")
def scatter_nd(d, row):
    shape, dtype = d.shape(1, 5), d.pick(row["types"])
    depth, lead = d.int(1, len(shape)), d.shape(0, 2)
    idx = coordinates(d, shape, lead, depth)
    return [d.leaf(dtype, shape), idx, d.leaf(dtype, lead + shape[depth:])], \
        {"reduction": d.pick(["none", "add", "mul", "max", "min"])}


@drawn("one_hot")
def one_hot(d, row):
    shape, depth = d.shape(0, 3), d.int(0, 6)
    idx = d.of(d.pick(["i32", "i64"]), shape, d.r.integers(-depth - 2, depth + 3, int(np.prod(shape))))
    attrs = {"depth": depth, "axis": d.axis(len(shape) + 1), "to": d.pick(FLOATS + INTS + ["bool"])}
    if d.coin():
        attrs.update(on=d.pick([2.0, -1.5, 300.0]), off=d.pick([0.0, 1.0, -7.25]))
    return [idx], attrs


@drawn("range")
def range_(d, row):
    attrs = {"count": [d.size(large=0.2)], "to": d.pick(FLOATS + INTS)}
    if d.coin(0.8):
        attrs.update(start=d.pick([0.0, -3.0, 0.5, 250.0, 1e10, d.real()]),
                     step=d.pick([1.0, -1.0, 2.5, 0.1, 0.0, 1e9, d.real()]))
    return [], attrs


@drawn("update")
def update(d, row):
    shape, dtype = d.shape(1, 5), d.pick(ALL)
    axis = d.axis(len(shape))
    place = axis % len(shape)
    rows = list(shape)
    rows[place] = d.int(0, shape[place])
    if place > 0 and d.coin(0.3):
        places = int(np.prod(shape[:place + 1]))
        at = d.r.permutation(places + 3)[:d.int(0, places)] - 1
        at = d.of(d.pick(["i32", "i64"]), [len(at)], at)
        rows_dtype = "f32" if dtype in ("f16", "bf16") and d.coin() else dtype
        packed = d.leaf(rows_dtype, [*at.shape, *shape[place + 1:]])
        return [d.leaf(dtype, shape, kind="state"), packed, at], {"axis": axis}
    per = [shape[0]] if place > 0 and d.coin() else d.pick([[], [1]])
    at = d.of(d.pick(["i32", "i64"]), per, d.r.integers(0, shape[place] - rows[place] + 1, int(np.prod(per))))
    rows_dtype = "f32" if dtype in ("f16", "bf16") and d.coin() else dtype
    return [d.leaf(dtype, shape, kind="state"), d.leaf(rows_dtype, rows), at], {"axis": axis}
