"""How to draw a random node: input values and attributes, mostly valid, for each op.

An op whose inputs are x (and perhaps tensors like it) is drawn from its row alone: the row says the types, and an
attribute is drawn by its name (axis, axes, keep ..) or kind. Where sizes depend on each other, a function registered with
@drawn("op") says how. It returns (inputs, attributes): a list of Leaf, None for an absent input, and a dict of what
differs from the defaults. Values are drawn in styles, so that ties, zeros, NaN, infinities, extremes and wrap-around all
come up; sizes are small, with 0 and 1 among them.
"""
import gguf
import numpy as np

import core

FLOATS = ["f32", "f16", "bf16", "f64"]
INTS = ["i8", "u8", "i16", "i32", "u32", "i64"]
BLOCKS = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq4_nl", "iq4_xs",
          "mxfp4", "tq1_0", "tq2_0"]
ALL = FLOATS + INTS + ["bool", "c64"]
DRAWS = {}


def drawn(*names):
    def register(fn):
        for name in names:
            DRAWS[name] = fn
        return fn
    return register


class Leaf:
    """A leaf and its value: bytes as RLX holds them."""

    def __init__(self, dtype, shape, raw, kind="input"):
        self.dtype, self.shape, self.raw, self.kind = dtype, [int(d) for d in shape], raw, kind

    def tensor(self):
        return core.from_bytes(self.dtype, self.shape, self.raw)

    def array(self):
        """What np.save takes: bf16 as two void bytes, a block type as its bytes."""
        if self.dtype in BLOCKS:
            return np.frombuffer(self.raw, np.uint8)
        return np.frombuffer(self.raw, "V2" if self.dtype == "bf16" else core.NUMPY[self.dtype]).reshape(self.shape)


class Draws:
    """The random source, and the drawing of sizes and values."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def int(self, lo, hi):
        """lo .. hi, both included."""
        return int(self.r.integers(lo, hi + 1))

    def coin(self, p=0.5):
        return bool(self.r.random() < p)

    def pick(self, items):
        return items[self.int(0, len(items) - 1)]

    def real(self, lo=-2.0, hi=2.0):
        """Short numbers as well as long ones: sums of the former are exact and tie."""
        x = self.r.uniform(lo, hi)
        return float(round(x * 4) / 4 if self.coin(0.4) else x)

    # ---- sizes ----

    def size(self, empty=0.04, large=0.05):
        u = self.r.random()
        return 0 if u < empty else self.pick([17, 33, 70]) if u < empty + large else self.int(1, 6)

    def shape(self, lo=0, hi=4, empty=0.04):
        rank = self.int(lo, hi)
        large = 0.08 if rank < 3 else 0.01
        return [self.size(empty, large) for _ in range(rank)]

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def axes(self, rank, least=0):
        n = self.int(min(least, rank), rank)
        return [int(a) - rank * self.coin(0.3) for a in self.r.permutation(rank)[:n]]

    def narrowed(self, shape):
        """A shape that broadcasts to this one."""
        return [1 if self.coin(0.3) else d for d in shape[self.int(0, len(shape)) if self.coin(0.4) else 0:]]

    def broadcast(self, n, rank=4):
        full = self.shape(0, rank)
        shapes = [self.narrowed(full) for _ in range(n)]
        return shapes

    # ---- values ----

    def floats(self, count, style):
        r = self.r
        if style == "mixed":
            style = self.pick(["plain", "plain", "short", "wide", "special"])
        if style == "plain":
            return r.uniform(-2, 2, count)
        if style == "short":  # few distinct numbers, halves among them
            return r.integers(-8, 9, count) / 2.0
        if style == "positive":
            return r.uniform(0.05, 3, count)
        if style == "wide":
            return r.normal(size=count) * 10.0 ** r.uniform(-6, 4, count)
        values = r.uniform(-3, 3, count)  # special
        odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 6e4, -6e4, 1e-30, 2.0 ** -16, -1e-6, 1.0, 0.5, -0.5, 88.0, -88.0])
        return np.where(r.random(count) < 0.35, r.choice(odd, count), values)

    def whole(self, dtype, count, style):
        lo, hi = (0, 1) if dtype == "bool" else (np.iinfo(core.NUMPY[dtype]).min, np.iinfo(core.NUMPY[dtype]).max)
        if style in ("mixed", "special"):
            style = self.pick(["plain", "plain", "full", "ends"])
        if style == "full":
            return self.r.integers(lo, hi, count, dtype=np.int64, endpoint=True)
        if style == "ends":
            return self.r.choice(np.array([lo, lo + 1, hi, hi - 1, 0, 1, 2, max(lo, -1)], np.int64), count)
        return self.r.integers(max(lo, -8), min(hi, 8), count, endpoint=True)

    def leaf(self, dtype, shape, style="mixed", kind="input"):
        count = int(np.prod(shape, dtype=np.int64))
        if dtype in BLOCKS:
            return self.blocks(dtype, shape)
        if dtype == "c64":
            values = self.floats(2 * count, style).astype("<f4").view("<c8").reshape(shape)
        elif dtype in FLOATS:
            values = self.floats(count, style).reshape(shape)
        else:
            values = self.whole(dtype, count, style).reshape(shape)
        return Leaf(dtype, shape, core.to_bytes(values, dtype, list(shape)), kind)

    def of(self, dtype, shape, values, kind="input"):
        values = np.asarray(values, np.float64 if dtype in FLOATS else np.int64).reshape(shape)
        return Leaf(dtype, shape, core.to_bytes(values, dtype, list(shape)), kind)

    def index(self, shape, n, negative=True):
        """Indices into n elements, of either index type."""
        dtype, count = self.pick(["i32", "i64"]), int(np.prod(shape, dtype=np.int64))
        if n == 0 and count:
            raise Skip("no element to index")
        values = self.r.integers(-n if negative and self.coin(0.4) else 0, max(n, 1), count)
        return self.of(dtype, shape, values)

    def blocks(self, dtype, shape):
        """Random blocks: any codes, with scales set to sane numbers."""
        elements, size = BLOCK_SIZES[dtype]
        n = int(np.prod(shape, dtype=np.int64)) // elements
        data = self.r.integers(0, 256, (n, size), dtype=np.uint8)
        for at in SCALES_AT.get(dtype, [0]):
            scale = self.r.uniform(0.002, 0.05, (n, 1)) * self.r.choice([-1, 1], (n, 1))
            raw = scale.astype("<f4" if dtype == "q8_k" else "<f2").view(np.uint8)
            data[:, at:at + raw.shape[1]] = raw
        if dtype == "mxfp4":  # its scale is one byte, a power of two
            data[:, 0] = self.r.integers(118, 130, n)
        return Leaf(dtype, shape, data.tobytes(), "param")


class Skip(Exception):
    """This draw came to nothing; another will."""


BLOCK_SIZES = {name: gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name.upper()]] for name in BLOCKS}
SCALES_AT = {"q4_1": [0, 2], "q5_1": [0, 2], "q2_k": [80, 82], "q3_k": [108], "q4_k": [0, 2], "q5_k": [0, 2],
             "q6_k": [208], "mxfp4": [], "tq1_0": [52], "tq2_0": [64]}

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


def weight_type(d, dtype, blocks=True):
    if dtype != "f32" or d.coin(0.4):
        return dtype
    return d.pick(["f16", "bf16"] + (BLOCKS if blocks else []))


def weight(d, dtype, shape, trans, blocks=True):
    """A weight [.., k, n], or [.., n, k] with trans; a block type where its last axis can be whole blocks."""
    stored = list(shape[:-2]) + ([shape[-1], shape[-2]] if trans else list(shape[-2:]))
    kind = weight_type(d, dtype, blocks)
    if kind in BLOCKS and stored[-1] % BLOCK_SIZES[kind][0]:
        kind = dtype
    return d.leaf(kind, stored, "plain")


def block_dim(d):
    """A size that some or all block types can have, or any."""
    return d.pick([32, 64, 256]) if d.coin(0.35) else d.size()


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
        ends = np.array([127.5, 128, -128.9, -129, 255.9, 256, 32768, -32769, 2.0 ** 31, 2.0 ** 32, 2.0 ** 63, -2.0 ** 63, 0.5, -0.99])
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
    dtype, to, shape = d.pick(FLOATS), d.pick(["i8", "u8", "i16", "i32"]), d.shape(0, 4)
    axis, per = channels(d, shape)
    scale = d.leaf(dtype, per, d.pick(["positive", "positive", "short"]))
    zero = maybe(d, d.leaf(to, per, "plain"))
    return [d.leaf(dtype, shape), scale, zero], {"to": to, "axis": axis}


@drawn("dequantize")
def dequantize(d, row):
    dtype, shape = d.pick(["i8", "u8", "i16", "i32"]), d.shape(0, 4)
    axis, per = channels(d, shape)
    return [d.leaf(dtype, shape), d.leaf(d.pick(FLOATS), per, "plain"), maybe(d, d.leaf(dtype, per))], {"axis": axis}


# ---- products ----


@drawn("matmul", "fused_matmul_bias_act", "fused_gate_up")
def matmul(d, row):
    dtype, trans = d.pick(FLOATS), d.coin()
    m, k, n = d.size(), block_dim(d), d.size()
    if not trans:
        k, n = n, block_dim(d)
    batch_a, batch_b = d.broadcast(2, 3)
    attrs = {"trans_b": trans}
    a, b = d.leaf(dtype, batch_a + [m, k], "plain"), weight(d, dtype, batch_b + [k, n], trans)
    if row["name"] == "matmul":
        return [a, b], attrs
    attrs["act"] = d.pick(row["attributes"][1]["names"])
    if row["name"] == "fused_matmul_bias_act":
        return [a, b, maybe(d, d.leaf(dtype, [n], "plain"))], attrs
    return [a, b, d.leaf(b.dtype, b.shape, "plain")], attrs


@drawn("dot_general")
def dot_general(d, row):
    batch, summed, free_a, free_b = (d.shape(0, 2) for _ in range(4))
    parts_a, parts_b = [*batch, *summed, *free_a], [*batch, *summed, *free_b]
    order_a, order_b = d.r.permutation(len(parts_a)), d.r.permutation(len(parts_b))

    def places(order, lo, hi):
        return [int(np.where(order == i)[0][0]) - len(order) * d.coin(0.2) for i in range(lo, hi)]
    nb, ns = len(batch), len(summed)
    attrs = {"batch_a": places(order_a, 0, nb), "batch_b": places(order_b, 0, nb),
             "contract_a": places(order_a, nb, nb + ns), "contract_b": places(order_b, nb, nb + ns)}
    dtype = d.pick(FLOATS)
    return [d.leaf(dtype, [parts_a[i] for i in order_a], "plain"), d.leaf(dtype, [parts_b[i] for i in order_b], "plain")], attrs


@drawn("lora_matmul")
def lora_matmul(d, row):
    dtype, trans = d.pick(FLOATS), d.coin()
    k, n, rank = block_dim(d), block_dim(d), d.size()
    x = d.leaf(dtype, d.shape(0, 2) + [d.size(), k], "plain")
    return [x, weight(d, dtype, [k, n], trans), d.leaf(dtype, [k, rank], "plain"), d.leaf(dtype, [rank, n], "plain")], \
        {"scale": d.real(), "trans_b": trans}


@drawn("grouped_matmul")
def grouped_matmul(d, row):
    dtype, trans, (m, k, n, e) = d.pick(FLOATS), d.coin(), (d.size(), d.size(), d.size(), d.int(1, 5))
    return [d.leaf(dtype, [m, k], "plain"), weight(d, dtype, [e, k, n], trans, blocks=False), d.index([m], e, False)], \
        {"trans_b": trans}


@drawn("dequant_grouped_matmul")
def dequant_grouped_matmul(d, row):
    block, trans, e, m, other = d.pick(BLOCKS), d.coin(), d.int(1, 4), d.size(), d.size()
    inner = BLOCK_SIZES[block][0] * d.int(1, 2)
    k = inner if trans else other
    return [d.leaf("f32", [m, k], "plain"), d.leaf(block, [e, other, inner]), d.index([m], e, False)], {"trans_b": trans}


@drawn("dequant_moe_weights")
def dequant_moe_weights(d, row):
    block, e = d.pick(BLOCKS), d.int(1, 4)
    shape = [e] + d.shape(0, 2) + [BLOCK_SIZES[block][0] * d.int(0, 2)]
    return [d.leaf(block, shape), maybe(d, d.index([d.size()], e, False))], {"to": d.pick(["f32", "f16", "bf16"])}


@drawn("dequant_matmul")
def dequant_matmul(d, row):
    scheme = d.pick(row["attributes"][0]["names"])
    k, n = d.size() if d.coin() else d.int(1, 50), d.size()
    x, attrs = d.leaf("f32", d.shape(0, 2) + [d.size(), k], "plain"), {"scheme": scheme}
    half = (k + 1) // 2
    if scheme.startswith("int"):
        block = d.pick([0, 0, 1, 2, 3, 8, 16, 64, 1000])
        attrs["block"] = block
        parts = [-(-k // block) if block else 1, n]
        codes = d.leaf("u8", [half, n], "full") if scheme == "int4" else d.leaf("i8", [k, n], "full")
        zero = {"int8": None, "int8_asym": d.leaf("i8", parts, "full"), "int4": maybe(d, d.of("u8", parts, d.r.integers(0, 16, parts)))}
        return [x, codes, d.leaf("f32", parts, "plain"), zero[scheme]], attrs
    if scheme.startswith("fp8"):
        return [x, d.leaf("u8", [k, n], d.pick(["full", "plain"])), maybe(d, d.leaf("f32", [n], "plain"))], attrs
    scale = d.of("u8", [-(-k // 16), n], d.r.integers(20, 90, [-(-k // 16), n]))
    return [x, d.leaf("u8", [half, n], "full"), scale, None, d.leaf("f32", d.pick([[], [1]]), "plain")], attrs


def quantised(d, a, b, n, k):
    """The parts that q_matmul and q_conv2d share, with scales that use the range of the result."""
    to, per = d.pick(["i8", "u8"]), d.pick([[], [1], [n], [n]])
    one = [[], [1]]
    reach = 60.0 * max(k, 1) ** 0.5
    scales = [d.of("f32", d.pick(one), d.r.uniform(0.5, 1.5, 1)), d.of("f32", per, d.r.uniform(0.5, 1.5, int(np.prod(per)))),
              d.of("f32", d.pick(one), d.r.uniform(0.2, 2, 1) * reach)]
    if d.coin(0.2):
        scales = [d.of("f32", s.shape, d.r.choice([0.25, 0.5, 1.0], int(np.prod(s.shape)))) for s in scales]  # ties
    zeros = [maybe(d, d.leaf(a.dtype, d.pick(one), "full")), maybe(d, d.leaf(b.dtype, d.pick([[], [n]]), "full")),
             maybe(d, d.leaf(to, d.pick(one), "full"))]
    bias = maybe(d, d.of("i32", [n], d.r.integers(-3000, 3000, n)))
    return [a, b, *scales, *zeros, bias], {"to": to}


@drawn("q_matmul")
def q_matmul(d, row):
    m, k, n = d.size(), d.size(), d.size()
    batch_a, batch_b = d.broadcast(2, 2)
    return quantised(d, d.leaf(d.pick(["i8", "u8"]), batch_a + [m, k], "full"),
                     d.leaf(d.pick(["i8", "u8"]), batch_b + [k, n], "full"), n, k)


@drawn("dense_solve")
def dense_solve(d, row):
    dtype, n, k = d.pick(FLOATS), d.size(), d.size()
    batch_a, batch_b = d.broadcast(2, 2)
    matrices = d.r.uniform(-1, 1, batch_a + [n, n]) + 3 * np.eye(n) * d.r.choice([-1, 1])
    matrices = matrices[..., d.r.permutation(n), :]  # the pivots are not on the diagonal
    return [d.of(dtype, batch_a + [n, n], matrices), d.leaf(dtype, batch_b + [n, k], "plain")], {}


# ---- attention and positions ----


@drawn("attention")
def attention(d, row):
    dtype, layout, batch = d.pick(FLOATS), d.pick(["bshd", "bhsd"]), d.int(0, 3) or d.int(0, 1)
    kv_heads, group = d.int(1, 3), d.int(1, 3)
    n_q, n_k, size, v_size = d.size(), d.size(), d.int(1, 9), d.int(0, 9)
    heads = kv_heads * group

    def laid(places, n, width):
        return [batch, places, n, width] if layout == "bshd" else [batch, n, places, width]
    style = d.pick(["plain", "plain", "wide"])
    cache = weight_type(d, dtype, blocks=False)
    ins = [d.leaf(dtype, laid(n_q, heads, size), style), d.leaf(cache, laid(n_k, kv_heads, size), style),
           d.leaf(cache if d.coin(0.8) else weight_type(d, dtype, False), laid(n_k, kv_heads, v_size), "plain")]
    bias = d.leaf(dtype, d.narrowed([batch, heads, n_q, n_k]), "plain")
    if d.coin(0.3):
        count = int(np.prod(bias.shape))
        bias = d.of(dtype, bias.shape, np.where(d.r.random(count) < 0.4, -np.inf, d.r.uniform(-2, 2, count)))
    per = d.pick([[], [1], [batch]])
    n = int(np.prod(per))
    ins += [maybe(d, d.leaf("bool", [batch, n_k]), 0.3), maybe(d, bias, 0.4),
            maybe(d, d.leaf(dtype, [heads], "plain"), 0.3),
            maybe(d, d.of("i32", per, d.r.integers(0, n_k + 1, n)), 0.3),
            maybe(d, d.of("i32", per, d.r.integers(-n_q - 1, n_k + 3, n)), 0.3)]
    attrs = {"layout": layout, "causal": d.coin()}
    if attrs["causal"] and d.coin():
        attrs["window"] = d.int(1, n_k + 2)
    if d.coin(0.4):
        attrs["scale"] = d.real() or 1.0
    if d.coin(0.3):
        attrs["softcap"] = d.pick([0.5, 1.0, 3.0, 30.0])
    return ins, attrs


@drawn("rope")
def rope(d, row):
    dtype, layout = d.pick(FLOATS), d.pick(["bshd", "bhsd"])
    batch, places, heads, size = d.int(0, 3), d.size(), d.int(1, 3), d.int(1, 6) * 2 + d.coin(0.3)
    n_rot = d.int(1, size // 2) * 2 if size % 2 or d.coin(0.4) else 0
    pairs = (n_rot or size) // 2
    x = d.leaf(dtype, [batch, places, heads, size] if layout == "bshd" else [batch, heads, places, size], "plain")
    tables, rows = d.coin(0.3), places + d.int(1, 5)
    positions = offset = factors = None
    how = d.int(0, 2)
    if how == 1:
        shape = d.pick([[places], [batch, places]])
        lo, hi = (0, rows) if tables else (-5, d.pick([20, 5000]))
        positions = d.of(d.pick(["i32", "i64"]), shape, d.r.integers(lo, hi, int(np.prod(shape))))
    if how == 2:
        offset = d.of("i32", d.pick([[], [1]]), [d.int(0, rows - places) if tables else d.int(-3, 3000)])
    cos = sin = None
    if tables:
        cos, sin = d.leaf("f32", [rows, pairs], "plain"), d.leaf("f32", [rows, pairs], "plain")
    elif d.coin(0.3):
        factors = d.leaf("f32", [pairs], "positive")
    attrs = {"layout": layout, "style": d.pick(["neox", "gptj"]), "n_rot": n_rot}
    if d.coin(0.4):
        attrs["theta"] = d.pick([100.0, 500000.0, 1.0, 0.5])
    return [x, positions, offset, factors, cos, sin], attrs


@drawn("axial_rope_2d")
def axial_rope_2d(d, row):
    layout, places, heads, size = d.pick(["bshd", "bhsd"]), d.size(), d.int(1, 3), 4 * d.int(1, 4)
    batch = d.int(0, 3)
    shape = [batch, places, heads, size] if layout == "bshd" else [batch, heads, places, size]
    return [d.leaf(d.pick(FLOATS), shape, "plain")], \
        {"layout": layout, "style": d.pick(["neox", "gptj"]), "width": d.int(1, 9), "theta": d.pick([10000.0, 100.0])}


@drawn("fused_attention_block")
def fused_attention_block(d, row):
    dtype, trans, kv_heads, group = d.pick(FLOATS), d.coin(), d.int(1, 2), d.int(1, 3)
    heads = kv_heads * group
    size = d.int(1, 6)
    width = heads * size if d.coin() else d.pick([5, 8, 32])
    whole = (heads + 2 * kv_heads) * size
    x = d.leaf(dtype, [d.int(0, 3), d.size(), width], "plain")
    ins = [x, weight(d, dtype, [width, whole], trans), weight(d, dtype, [heads * size, width], trans),
           maybe(d, d.leaf(dtype, [whole], "plain")), maybe(d, d.leaf(dtype, [width], "plain"))]
    attrs = {"heads": heads, "kv_heads": 0 if group == 1 and d.coin() else kv_heads, "trans_b": trans, "causal": d.coin(),
             "head_dim": 0 if width == heads * size and d.coin() else size}
    if d.coin(0.3):
        attrs["scale"] = d.real() or 1.0
    return ins, attrs


# ---- norms ----


@drawn("layer_norm", "rms_norm")
def norm_last(d, row):
    dtype, shape = d.pick(FLOATS), d.shape(1, 4)
    axis = d.axis(len(shape))
    inner = shape[axis:]
    style = d.pick(["plain", "wide", "short"])
    return [d.leaf(dtype, shape, style), maybe(d, d.leaf(dtype, inner, "plain")), maybe(d, d.leaf(dtype, inner, "plain"))], \
        {"axis": axis, "eps": d.pick([1e-5, 1e-6, 0.1, 1.0])}


@drawn("fused_residual_norm")
def residual_norm(d, row):
    dtype, shape = d.pick(FLOATS), d.shape(1, 4)
    ins = [d.leaf(dtype, shape, "plain"), d.leaf(dtype, shape, "plain")]
    return ins + [maybe(d, d.leaf(dtype, shape[-1:], "plain")) for _ in range(2)], \
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
    statistics = [d.leaf(dtype, [c], "plain"), d.leaf(dtype, [c], "positive")] if name == "batch_norm_inference" else []
    return [d.leaf(dtype, shape, d.pick(["plain", "wide", "short"])), *statistics,
            maybe(d, d.leaf(dtype, [c], "plain")), maybe(d, d.leaf(dtype, [c], "plain"))], attrs


@drawn("top_k_values", "top_k_indices")
def top_k(d, row):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    attrs = {"k": d.int(0, shape[axis]), "axis": axis, "largest": d.coin()}
    if row["name"] == "top_k_indices":
        attrs["to"] = d.pick(["i32", "i64"])
    return [d.leaf(d.pick(row["types"]), shape, d.pick(["mixed", "short", "special"]))], attrs


# ---- shape and indexing ----


@drawn("reshape")
def reshape(d, row):
    shape = d.shape(0, 4)
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
    shape = d.shape(1, 4)
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
    shape, dtype = d.shape(1, 4), d.pick(ALL)
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
    return [d.leaf(d.pick(ALL), x)], {"shape": [-1 if i >= lead and x[i - lead] == to[i] and d.coin(0.3) else s for i, s in enumerate(to)]}


@drawn("tile")
def tile(d, row):
    shape = d.shape(0, 4)
    return [d.leaf(d.pick(ALL), shape)], {"reps": [d.int(0, 3) for _ in shape]}


@drawn("pad")
def pad(d, row):
    shape, mode, dtype = d.shape(0, 4), d.pick(["constant", "reflect", "edge", "wrap"]), d.pick(ALL)
    most = 3 if d.coin(0.8) else 9
    attrs = {"lo": [d.int(0, most) for _ in shape], "hi": [d.int(0, most) for _ in shape], "mode": mode}
    if mode == "constant" and d.coin(0.7):
        attrs["value"] = d.pick([1.0, -1.5, 3.75, 300.0, -1e10, np.inf, np.nan])
        if dtype in INTS and not np.isfinite(attrs["value"]):
            attrs["value"] = 7.0
    return [d.leaf(dtype, shape)], attrs


@drawn("roll")
def roll(d, row):
    shape = d.shape(0, 4)
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
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    return [d.leaf(d.pick(ALL), shape), d.index(smaller(d, shape, axis), shape[axis])], {"axis": axis}


@drawn("scatter_elements", "scatter_add")
def scatter_elements(d, row):
    shape, dtype = d.shape(1, 4), d.pick(row["types"])
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
    shape = d.shape(1, 4)
    batch = d.int(0, len(shape) - 1)
    depth = d.int(1, len(shape) - batch)
    idx = coordinates(d, shape[batch:], shape[:batch] + d.shape(0, 2), depth)
    return [d.leaf(d.pick(ALL), shape), idx], {"batch_dims": batch}


@drawn("scatter_nd")
def scatter_nd(d, row):
    shape, dtype = d.shape(1, 4), d.pick(row["types"])
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
        attrs.update(start=d.pick([0.0, -3.0, 0.5, 250.0, 1e10, d.real()]), step=d.pick([1.0, -1.0, 2.5, 0.1, 0.0, 1e9, d.real()]))
    return [], attrs


@drawn("update")
def update(d, row):
    shape, dtype = d.shape(1, 4), d.pick(ALL)
    axis = d.axis(len(shape))
    place = axis % len(shape)
    rows = list(shape)
    rows[place] = d.int(0, shape[place])
    per = [shape[0]] if place > 0 and d.coin() else d.pick([[], [1]])
    at = d.of(d.pick(["i32", "i64"]), per, d.r.integers(0, shape[place] - rows[place] + 1, int(np.prod(per))))
    return [d.leaf(dtype, shape, kind="state"), d.leaf(dtype, rows), at], {"axis": axis}


# ---- vision ----


def window(d, axes, kernel, far=2):
    """stride, dilation and padding; each list sometimes left empty."""
    attrs = {}
    for name, lo, hi in (("stride", 1, 3), ("dilation", 1, 2), ("pad_lo", 0, far), ("pad_hi", 0, far)):
        if d.coin(0.6):
            attrs[name] = [d.int(lo, hi) for _ in range(axes)]
    return attrs


@drawn("conv", "q_conv2d")
def conv(d, row):
    integer = row["name"] == "q_conv2d"
    axes = 2 if integer else d.int(1, 3)
    groups = d.pick([1, 1, 2, 3])
    each_in, each_out, kernel = d.int(1, 3), d.int(1, 3), [d.int(1, 3) for _ in range(axes)]
    x = [d.int(0, 2) or 1, groups * each_in] + [d.int(1, 8 if axes < 3 else 5) for _ in range(axes)]
    w, attrs = [groups * each_out, each_in] + kernel, {"groups": groups, **window(d, axes, kernel)}
    if integer:
        ins, more = quantised(d, d.leaf(d.pick(["i8", "u8"]), x, "full"), d.leaf(d.pick(["i8", "u8"]), w, "full"), w[0],
                              each_in * int(np.prod(kernel)))
        return ins, {**attrs, **more}
    dtype = d.pick(FLOATS)
    return [d.leaf(dtype, x, "plain"), d.leaf(weight_type(d, dtype, False), w, "plain"), maybe(d, d.leaf(dtype, w[:1], "plain"))], attrs


@drawn("conv_transpose")
def conv_transpose(d, row):
    axes, groups, dtype = d.int(1, 3), d.pick([1, 1, 2, 3]), d.pick(FLOATS)
    each_in, each_out, kernel = d.int(1, 3), d.int(1, 3), [d.int(1, 4) for _ in range(axes)]
    x = [d.int(1, 2), groups * each_in] + [d.int(1, 6 if axes < 3 else 4) for _ in range(axes)]
    attrs = {"groups": groups, **window(d, axes, kernel)}
    if d.coin(0.4):
        stride = attrs.get("stride", [1] * axes)
        dilation = attrs.get("dilation", [1] * axes)
        attrs["output_pad"] = [d.int(0, max(s, l) - 1) for s, l in zip(stride, dilation)]
    return [d.leaf(dtype, x, "plain"), d.leaf(weight_type(d, dtype, False), [x[1], each_out] + kernel, "plain"),
            maybe(d, d.leaf(dtype, [groups * each_out], "plain"))], attrs


@drawn("pool_max", "pool_avg")
def pool(d, row):
    axes = d.int(1, 3)
    x = [d.int(0, 2) or 1, d.int(1, 3)] + [d.int(1, 9 if axes < 3 else 6) for _ in range(axes)]
    attrs = {}
    if d.coin(0.9):
        kernel = [d.int(1, 4) for _ in range(axes)]
        attrs = {"kernel": kernel, **window(d, axes, kernel), "ceil": d.coin()}
        reach = [dl * (k - 1) for k, dl in zip(kernel, attrs.get("dilation", [1] * axes))]
        for name in ("pad_lo", "pad_hi"):
            if name in attrs:
                attrs[name] = [d.int(0, r) for r in reach]
    if row["name"] == "pool_avg" and d.coin():
        attrs["count_pad"] = True
    return [d.leaf(d.pick(FLOATS), x, d.pick(["plain", "short"] + ["special"] * (row["name"] == "pool_max")))], attrs


@drawn("im2col")
def im2col(d, row):
    kernel = [d.int(1, 3), d.int(1, 3)]
    x = [d.int(0, 2), d.int(0, 3), d.int(1, 7), d.int(1, 7)]
    return [d.leaf(d.pick(ALL), x, "plain")], {"kernel": kernel, **window(d, 2, kernel)}


@drawn("resize")
def resize(d, row):
    rank = d.int(1, 5)
    shape = [d.int(1, 7) for _ in range(rank)]
    size = [s if i < 2 and d.coin(0.8) else d.int(0, 12) if d.coin(0.1) else d.int(1, 12) if d.coin() else s * d.int(1, 3)
            for i, s in enumerate(shape)]
    attrs = {"size": size, "mode": d.pick(["nearest", "linear"])}
    for a in row["attributes"][3:]:
        attrs[a["name"]] = d.pick(a["names"])
    if d.coin(0.3):  # the scale that ONNX would have cut to this size, or any other
        attrs["scale"] = [(o + d.pick([0.0, 0.25, 0.5, 0.75])) / i if o != i else 1.0 for i, o in zip(shape, size)]
        attrs["scale"] = [s if s > 0 else 1.0 for s in attrs["scale"]]
    return [d.leaf(d.pick(FLOATS), shape, d.pick(["plain", "short"]))], attrs


@drawn("grid_sample")
def grid_sample(d, row):
    axes, dtype = d.pick([2, 2, 3]), d.pick(FLOATS)
    n, places = d.int(1, 2), [d.int(1, 4) for _ in range(axes)]
    x = [n, d.int(1, 3)] + [d.int(1, 6) for _ in range(axes)]
    grid = [n] + places + [axes]
    if d.coin(0.3):  # multiples of an eighth: element centres, edges and ties
        values = d.of(dtype, grid, d.r.integers(-12, 13, grid) / 8)
    else:
        values = d.of(dtype, grid, d.r.uniform(-1.5, 1.5, grid) * d.pick([1.0, 1.0, 4.0]))
    mode = d.pick(["linear", "nearest"] + ["cubic"] * (axes == 2))
    return [d.leaf(dtype, x, "plain"), values], \
        {"mode": mode, "padding": d.pick(["zeros", "border", "reflection"]), "align_corners": d.coin()}


# ---- sequences ----


@drawn("rnn", "gru", "lstm")
def recurrent(d, row):
    name, dtype = row["name"], d.pick(FLOATS)
    gates, n_states = {"rnn": (1, 1), "gru": (3, 1), "lstm": (4, 2)}[name]
    direction, layers, bias, batch_first = d.pick(["forward", "reverse", "both"]), d.int(1, 3), d.coin(0.7), d.coin()
    attrs = {"direction": direction, "bias": bias, "out": d.pick(row["attributes"][-1]["names"])}
    if name == "gru" and d.coin(0.3):
        attrs["reset_after"], layers, batch_first = False, 1, False  # what the oracle can do
    if direction == "reverse":
        layers = 1
    directions = 2 if direction == "both" else 1
    hidden, n_in, batch, steps = d.int(1, 5), d.int(1, 5), d.int(0, 3) or 1, d.size(large=0.02)
    attrs.update(hidden=hidden, layers=layers, batch_first=batch_first)
    if name == "rnn":
        attrs["act"] = d.pick(["tanh", "relu"])
    weights = []
    for layer in range(layers):
        for _ in range(directions):
            width = n_in if layer == 0 else directions * hidden
            shapes = [[gates * hidden, width], [gates * hidden, hidden]] + [[gates * hidden]] * (2 * bias)
            weights += [d.leaf(dtype, s, "plain") for s in shapes]
    states = [maybe(d, d.leaf(dtype, [layers * directions, batch, hidden], "plain")) for _ in range(n_states)]
    x = d.leaf(dtype, [batch, steps, n_in] if batch_first else [steps, batch, n_in], "plain")
    return [x, *states, *weights], attrs


@drawn("selective_scan")
def selective_scan(d, row):
    dtype, (b, l, c, n) = d.pick(FLOATS), (d.int(1, 2), d.size(), d.int(1, 4), d.int(1, 4))
    return [d.leaf(dtype, [b, l, c], "plain"), d.leaf(dtype, [b, l, c], "plain"), d.leaf(dtype, [c, n], "plain"),
            d.leaf(dtype, [b, l, n], "plain"), d.leaf(dtype, [b, l, n], "plain"), maybe(d, d.leaf(dtype, [c], "plain")),
            maybe(d, d.leaf(dtype, [b, c, n], "plain"))], {"out": d.pick(["y", "h"])}


@drawn("mamba2")
def mamba2(d, row):
    dtype, (b, l, g, p, n) = d.pick(FLOATS), (d.int(1, 2), d.size(), d.int(1, 2), d.int(1, 4), d.int(1, 4))
    h = g * d.int(1, 3)
    return [d.leaf(dtype, [b, l, h, p], "plain"), d.leaf(dtype, [b, l, h], "plain"), d.of(dtype, [h], d.r.uniform(-2, 0.2, h)),
            d.leaf(dtype, [b, l, g, n], "plain"), d.leaf(dtype, [b, l, g, n], "plain"), maybe(d, d.leaf(dtype, [h], "plain")),
            maybe(d, d.leaf(dtype, [b, h, p, n], "plain"))], {"out": d.pick(["y", "h"])}


@drawn("gated_delta_net")
def gated_delta_net(d, row):
    dtype, (b, l, h, n, v) = d.pick(FLOATS), (d.int(1, 2), d.size(large=0.02), d.int(1, 3), d.int(1, 4), d.int(1, 4))
    return [d.leaf(dtype, [b, l, h, n], "plain"), d.of(dtype, [b, l, h, n], d.r.uniform(-0.7, 0.7, [b, l, h, n])),
            d.leaf(dtype, [b, l, h, v], "plain"), d.of(dtype, [b, l, h], d.r.uniform(-2, 0, [b, l, h])),
            d.of(dtype, [b, l, h], d.r.uniform(0, 1, [b, l, h])), maybe(d, d.leaf(dtype, [b, h, n, v], "plain"))], \
        {"out": d.pick(["y", "h"])}


@drawn("causal_conv")
def causal_conv(d, row):
    dtype, (b, c, l, k) = d.pick(FLOATS), (d.int(1, 2), d.int(1, 4), d.size(), d.int(1, 5))
    return [d.leaf(dtype, [b, c, l], "plain"), d.leaf(dtype, [c, k], "plain"), maybe(d, d.leaf(dtype, [c], "plain")),
            maybe(d, d.leaf(dtype, [b, c, k - 1], "plain"))], {"out": d.pick(["y", "state"])}


# ---- signal and random ----


@drawn("fft", "ifft", "rfft", "irfft")
def fourier(d, row):
    dtype = "f32" if row["name"] == "rfft" else d.pick(row["types"])
    shape = d.shape(1, 3, empty=0.02)
    axis = d.axis(len(shape))
    if d.coin(0.4):
        shape[axis] = d.pick([8, 16, 31, 64, 65, 97, 100, 128])
    attrs = {"axis": axis, "norm": d.pick(["backward", "forward", "ortho"])}
    if d.coin(0.4):
        attrs["n"] = d.int(1, 20) if d.coin(0.8) else d.int(60, 130)
    return [d.leaf(dtype, shape, "plain")], attrs


@drawn("stft")
def stft(d, row):
    n_fft = d.pick([1, 2, 3, 4, 7, 8, 16, 21])
    attrs = {"n_fft": n_fft, "center": d.coin(), "pad": d.pick(["constant", "reflect", "edge", "wrap"]),
             "onesided": d.coin(), "normalized": d.coin(), "hop": d.int(1, 9) if n_fft < 4 or d.coin() else 0}
    x = d.leaf("f32", d.shape(0, 1) + [d.int(1, 60)], "plain")
    return [x, maybe(d, d.leaf("f32", [d.int(1, n_fft)], "plain"))], attrs


@drawn("rng_uniform", "rng_normal")
def rng(d, row):
    attrs = {"shape": d.shape(0, 3), "to": d.pick(FLOATS), "seed": d.pick([0, 1, -1, 2 ** 62 + 12345, d.int(0, 10 ** 9)])}
    if row["name"] == "rng_uniform" and d.coin():
        attrs.update(lo=-1.5, hi=d.pick([-1.5, 2.0, 100.0]))
    if row["name"] == "rng_normal" and d.coin():
        attrs.update(mean=d.real(), std=d.pick([0.0, 0.3, 10.0]))
    return [maybe(d, d.of("i64", [], d.pick([0, 3, 2 ** 40 + 7, -2])))], attrs


@drawn("sample")
def sample(d, row):
    shape = d.shape(0, 2) + [d.int(1, 40)]
    attrs = {"seed": d.int(0, 10 ** 6), "temperature": d.pick([0.0, 1.0, 0.3, 2.5])}
    if d.coin():
        attrs["top_k"] = d.int(1, 45)
    if d.coin():
        attrs["top_p"] = d.pick([0.0, 0.1, 0.5, 0.9, 0.99])
    if d.coin(0.4):
        attrs["min_p"] = d.pick([0.01, 0.1, 0.5, 1.0])
    style = d.pick(["plain", "wide", "short", "special"])
    return [d.leaf(d.pick(FLOATS), shape, style), maybe(d, d.of("i32", [], d.int(0, 1000)))], attrs


# ---- sub-graphs ----


class Body:
    """A sub-graph, as text and as what core.run_graph takes."""

    def __init__(self):
        self.nodes, self.lines, self.outputs = [], [], []

    def add(self, op, dtype, shape, inputs=(), attrs=None, text=None):
        node = {"id": len(self.nodes) + 1, "op": op, "dtype": dtype, "shape": list(shape), "inputs": list(inputs), "attrs": attrs or {}}
        self.nodes.append(node)
        args = ", ".join(f"%{i}" for i in inputs)
        self.lines.append(f"%{node['id']} = " + (text or f"{op}({args})"))
        return node["id"]

    def input(self, dtype, shape):
        name = f"i{len(self.nodes)}"
        return self.add("input", dtype, shape, attrs={"name": name}, text=f'input "{name}" : {dtype}{list(shape)}')

    def constant(self, dtype, value):
        raw = core.to_bytes(np.asarray(value), dtype, [])
        return self.add("constant", dtype, [], attrs={"data": raw.hex()}, text=f'constant : {dtype}[] = hex "{raw.hex()}"')

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
                node = self.add(d.pick(UNARY if a["dtype"] in FLOATS else ["neg", "abs", "sign"]), a["dtype"], a["shape"], [node])
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
    return [d.leaf(dtype, s, "plain") for s in shapes], {"body": body}


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
    return [d.leaf("bool", [])] + [d.leaf(dtype, shape, "plain") for _ in range(2)], attrs


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
    ins = [d.leaf(dtype, shape, "plain") for _ in range(carried)] + [d.of("i32", [], 0), d.of("i32", [], trips), d.leaf(dtype, [], "plain")]
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
    ins = [d.leaf(dtype, shape, "plain") for _ in before] + [d.leaf(dtype, [steps] + shape, "plain") for _ in slices]
    return ins + [d.leaf(dtype, [], "plain")], \
        {"body": body, "carried": carried, "scanned": scanned, "reverse": d.coin(), "index": d.int(0, len(body.outputs) - 1)}
