"""How to draw the nodes of models: products, attention, vision, sequences, signal, random. See fuzz_ops.py."""
import numpy as np
from fuzz_draws import ALL, BLOCK_SIZES, BLOCKS, FLOATS
from fuzz_ops import drawn, maybe

# ---- weights ----


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
    return d.plain(kind, stored)


def block_dim(d):
    """A size that some or all block types can have, or any."""
    return d.pick([32, 64, 256]) if d.coin(0.35) else d.size()


# ---- products ----


@drawn("matmul", "fused_matmul_bias_act", "fused_gate_up")
def matmul(d, row):
    dtype, trans = d.pick(FLOATS), d.coin()
    m, k, n = d.size(), block_dim(d), d.size()
    if not trans:
        k, n = n, block_dim(d)
    batch_a, batch_b = d.broadcast(2, 3)
    attrs = {"trans_b": trans}
    a, b = d.leaf(dtype, batch_a + [m, k], d.usual()), weight(d, dtype, batch_b + [k, n], trans)
    if row["name"] == "matmul":
        return [a, b], attrs
    attrs["act"] = d.pick(row["attributes"][1]["names"])
    if row["name"] == "fused_matmul_bias_act":
        return [a, b, maybe(d, d.plain(dtype, [n]))], attrs
    return [a, b, d.plain(b.dtype, b.shape)], attrs


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
    shape_a, shape_b = [parts_a[i] for i in order_a], [parts_b[i] for i in order_b]
    return [d.leaf(dtype, shape_a, d.usual()), d.plain(dtype, shape_b)], attrs


@drawn("lora_matmul")
def lora_matmul(d, row):
    dtype, trans = d.pick(FLOATS), d.coin()
    k, n, rank = block_dim(d), block_dim(d), d.size()
    x = d.plain(dtype, d.shape(0, 2) + [d.size(), k])
    return [x, weight(d, dtype, [k, n], trans), d.plain(dtype, [k, rank]), d.plain(dtype, [rank, n])], \
        {"scale": d.real(), "trans_b": trans}


@drawn("grouped_matmul")
def grouped_matmul(d, row):
    dtype, trans, (m, k, n, e) = d.pick(FLOATS), d.coin(), (d.size(), d.size(), d.size(), d.int(1, 5))
    w = weight(d, dtype, [e, k, n], trans, blocks=False)
    return [d.leaf(dtype, [m, k], d.usual()), w, d.index([m], e, False)], {"trans_b": trans}


@drawn("dequant_grouped_matmul")
def dequant_grouped_matmul(d, row):
    block, trans, e, m, other = d.pick(BLOCKS), d.coin(), d.int(1, 4), d.size(), d.size()
    inner = BLOCK_SIZES[block][0] * d.int(1, 2)
    k = inner if trans else other
    return [d.plain("f32", [m, k]), d.leaf(block, [e, other, inner]), d.index([m], e, False)], {"trans_b": trans}


@drawn("dequant_moe_weights")
def dequant_moe_weights(d, row):
    block, e = d.pick(BLOCKS), d.int(1, 4)
    shape = [e] + d.shape(0, 2) + [BLOCK_SIZES[block][0] * d.int(0, 2)]
    return [d.leaf(block, shape), maybe(d, d.index([d.size()], e, False))], {"to": d.pick(["f32", "f16", "bf16"])}


@drawn("dequant_matmul")
def dequant_matmul(d, row):
    scheme = d.pick(row["attributes"][0]["names"])
    k, n = d.size() if d.coin() else d.int(1, 50), d.size()
    x, attrs = d.plain("f32", d.shape(0, 2) + [d.size(), k]), {"scheme": scheme}
    half = (k + 1) // 2
    if scheme.startswith("int"):
        block = d.pick([0, 0, 1, 2, 3, 8, 16, 64, 1000])
        attrs["block"] = block
        parts = [-(-k // block) if block else 1, n]
        codes = d.leaf("u8", [half, n], "full") if scheme == "int4" else d.leaf("i8", [k, n], "full")
        zero = {"int8": None, "int8_asym": d.leaf("i8", parts, "full"),
                "int4": maybe(d, d.of("u8", parts, d.r.integers(0, 16, parts)))}
        return [x, codes, d.plain("f32", parts), zero[scheme]], attrs
    if scheme.startswith("fp8"):
        return [x, d.leaf("u8", [k, n], d.pick(["full", "plain"])), maybe(d, d.plain("f32", [n]))], attrs
    scale = d.of("u8", [-(-k // 16), n], d.r.integers(20, 90, [-(-k // 16), n]))
    return [x, d.leaf("u8", [half, n], "full"), scale, None, d.plain("f32", d.pick([[], [1]]))], attrs


def quantised(d, a, b, n, k):
    """The parts that q_matmul and q_conv2d share, with scales that use the range of the result."""
    to, per = d.pick(["i8", "u8"]), d.pick([[], [1], [n], [n]])
    one = [[], [1]]
    reach = 60.0 * max(k, 1) ** 0.5
    scales = [d.of("f32", d.pick(one), d.r.uniform(0.5, 1.5, 1)),
              d.of("f32", per, d.r.uniform(0.5, 1.5, int(np.prod(per)))),
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
    return [d.of(dtype, batch_a + [n, n], matrices), d.plain(dtype, batch_b + [n, k])], {}


# ---- attention and positions ----


@drawn("attention")
def attention(d, row):
    dtype, layout, batch = d.pick(FLOATS), d.pick(["bshd", "bhsd"]), 0 if d.coin(0.03) else d.int(1, 3)
    kv_heads, group = d.int(1, 3), d.int(1, 3)
    n_q, n_k, size, v_size = d.size(), d.size(), d.int(1, 9), d.int(0, 9)
    heads = kv_heads * group

    def laid(places, n, width):
        return [batch, places, n, width] if layout == "bshd" else [batch, n, places, width]
    style = d.pick(["plain", "plain", "wide"])
    cache = weight_type(d, dtype, blocks=False)
    ins = [d.leaf(dtype, laid(n_q, heads, size), style), d.leaf(cache, laid(n_k, kv_heads, size), style),
           d.plain(cache if d.coin(0.8) else weight_type(d, dtype, False), laid(n_k, kv_heads, v_size))]
    bias = d.plain(dtype, d.narrowed([batch, heads, n_q, n_k]))
    if d.coin(0.3):
        count = int(np.prod(bias.shape))
        bias = d.of(dtype, bias.shape, np.where(d.r.random(count) < 0.4, -np.inf, d.r.uniform(-2, 2, count)))
    per = d.pick([[], [1], [batch]])
    n = int(np.prod(per))
    ins += [maybe(d, d.leaf("bool", [batch, n_k]), 0.3), maybe(d, bias, 0.4),
            maybe(d, d.plain(dtype, [heads]), 0.3),
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
    batch, places, heads, size = d.int(0, 3) or 1, d.size(), d.int(1, 3), d.int(1, 6) * 2 + d.coin(0.3)
    n_rot = d.int(1, size // 2) * 2 if size % 2 or d.coin(0.4) else 0
    pairs = (n_rot or size) // 2
    x = d.plain(dtype, [batch, places, heads, size] if layout == "bshd" else [batch, heads, places, size])
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
        cos, sin = d.plain("f32", [rows, pairs]), d.plain("f32", [rows, pairs])
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
    return [d.plain(d.pick(FLOATS), shape)], \
        {"layout": layout, "style": d.pick(["neox", "gptj"]), "width": d.int(1, 9), "theta": d.pick([10000.0, 100.0])}


@drawn("fused_attention_block")
def fused_attention_block(d, row):
    dtype, trans, kv_heads, group = d.pick(FLOATS), d.coin(), d.int(1, 2), d.int(1, 3)
    heads = kv_heads * group
    size = d.int(1, 6)
    width = heads * size if d.coin() else d.pick([5, 8, 32])
    whole = (heads + 2 * kv_heads) * size
    x = d.plain(dtype, [d.int(0, 3), d.size(), width])
    ins = [x, weight(d, dtype, [width, whole], trans), weight(d, dtype, [heads * size, width], trans),
           maybe(d, d.plain(dtype, [whole])), maybe(d, d.plain(dtype, [width]))]
    attrs = {"heads": heads, "kv_heads": 0 if group == 1 and d.coin() else kv_heads, "trans_b": trans,
             "causal": d.coin(), "head_dim": 0 if width == heads * size and d.coin() else size}
    if d.coin(0.3):
        attrs["scale"] = d.real() or 1.0
    return ins, attrs


# ---- vision ----


def window(d, axes, far=2):
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
    x = [d.int(0 if d.coin(0.05) else 1, 2), groups * each_in] + [d.int(1, 8 if axes < 3 else 5) for _ in range(axes)]
    w, attrs = [groups * each_out, each_in] + kernel, {"groups": groups, **window(d, axes)}
    if integer:
        ins, more = quantised(d, d.leaf(d.pick(["i8", "u8"]), x, "full"), d.leaf(d.pick(["i8", "u8"]), w, "full"), w[0],
                              each_in * int(np.prod(kernel)))
        return ins, {**attrs, **more}
    dtype = d.pick(FLOATS)
    bias = maybe(d, d.plain(dtype, w[:1]))
    return [d.leaf(dtype, x, d.usual()), d.plain(weight_type(d, dtype, False), w), bias], attrs


@drawn("conv_transpose")
def conv_transpose(d, row):
    axes, groups, dtype = d.int(1, 3), d.pick([1, 1, 2, 3]), d.pick(FLOATS)
    each_in, each_out, kernel = d.int(1, 3), d.int(1, 3), [d.int(1, 4) for _ in range(axes)]
    x = [d.int(0 if d.coin(0.05) else 1, 2), groups * each_in] + [d.int(1, 6 if axes < 3 else 4) for _ in range(axes)]
    attrs = {"groups": groups, **window(d, axes)}
    if d.coin(0.4):
        stride = attrs.get("stride", [1] * axes)
        dilation = attrs.get("dilation", [1] * axes)
        attrs["output_pad"] = [d.int(0, max(s, l) - 1) for s, l in zip(stride, dilation)]
    return [d.plain(dtype, x), d.plain(weight_type(d, dtype, False), [x[1], each_out] + kernel),
            maybe(d, d.plain(dtype, [groups * each_out]))], attrs


@drawn("pool_max", "pool_avg")
def pool(d, row):
    axes = d.int(1, 3)
    x = [d.int(0 if d.coin(0.05) else 1, 2), d.int(1, 3)] + [d.int(1, 9 if axes < 3 else 6) for _ in range(axes)]
    attrs = {}
    if d.coin(0.9):
        kernel = [d.int(1, 4) for _ in range(axes)]
        attrs = {"kernel": kernel, **window(d, axes), "ceil": d.coin()}
        reach = [dl * (k - 1) for k, dl in zip(kernel, attrs.get("dilation", [1] * axes))]
        for name in ("pad_lo", "pad_hi"):
            if name in attrs:
                attrs[name] = [d.int(0, r) for r in reach]
    if row["name"] == "pool_avg" and d.coin():
        attrs["count_pad"] = True
    return [d.leaf(d.pick(FLOATS), x, d.pick(["plain", "short", "special"]))], attrs


@drawn("im2col")
def im2col(d, row):
    kernel = [d.int(1, 3), d.int(1, 3)]
    x = [d.int(0, 2), d.int(0, 3), d.int(1, 7), d.int(1, 7)]
    return [d.plain(d.pick(ALL), x)], {"kernel": kernel, **window(d, 2)}


@drawn("resize")
def resize(d, row):
    rank = d.int(1, 5)
    shape = [d.int(1, 7) for _ in range(rank)]

    def resized(s):
        return d.int(0, 12) if d.coin(0.1) else d.int(1, 12) if d.coin() else s * d.int(1, 3)
    size = [s if i < 2 and d.coin(0.8) else resized(s) for i, s in enumerate(shape)]
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
    return [d.plain(dtype, x), values], \
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
            weights += [d.plain(dtype, s) for s in shapes]
    states = [maybe(d, d.plain(dtype, [layers * directions, batch, hidden])) for _ in range(n_states)]
    x = d.plain(dtype, [batch, steps, n_in] if batch_first else [steps, batch, n_in])
    return [x, *states, *weights], attrs


@drawn("selective_scan")
def selective_scan(d, row):
    dtype, (b, l, c, n) = d.pick(FLOATS), (d.int(1, 2), d.size(), d.int(1, 4), d.int(1, 4))
    return [d.plain(dtype, [b, l, c]), d.plain(dtype, [b, l, c]), d.plain(dtype, [c, n]),
            d.plain(dtype, [b, l, n]), d.plain(dtype, [b, l, n]), maybe(d, d.plain(dtype, [c])),
            maybe(d, d.plain(dtype, [b, c, n]))], {"out": d.pick(["y", "h"])}


@drawn("mamba2")
def mamba2(d, row):
    dtype, (b, l, g, p, n) = d.pick(FLOATS), (d.int(1, 2), d.size(), d.int(1, 2), d.int(1, 4), d.int(1, 4))
    h = g * d.int(1, 3)
    return [d.plain(dtype, [b, l, h, p]), d.plain(dtype, [b, l, h]), d.of(dtype, [h], d.r.uniform(-2, 0.2, h)),
            d.plain(dtype, [b, l, g, n]), d.plain(dtype, [b, l, g, n]), maybe(d, d.plain(dtype, [h])),
            maybe(d, d.plain(dtype, [b, h, p, n]))], {"out": d.pick(["y", "h"])}


@drawn("gated_delta_net")
def gated_delta_net(d, row):
    dtype, (b, l, h, n, v) = d.pick(FLOATS), (d.int(1, 2), d.size(large=0.02), d.int(1, 3), d.int(1, 4), d.int(1, 4))
    return [d.plain(dtype, [b, l, h, n]), d.of(dtype, [b, l, h, n], d.r.uniform(-0.7, 0.7, [b, l, h, n])),
            d.plain(dtype, [b, l, h, v]), d.of(dtype, [b, l, h], d.r.uniform(-2, 0, [b, l, h])),
            d.of(dtype, [b, l, h], d.r.uniform(0, 1, [b, l, h])), maybe(d, d.plain(dtype, [b, h, n, v]))], \
        {"out": d.pick(["y", "h"])}


@drawn("causal_conv")
def causal_conv(d, row):
    dtype, (b, c, l, k) = d.pick(FLOATS), (d.int(1, 2), d.int(1, 4), d.size(), d.int(1, 5))
    return [d.plain(dtype, [b, c, l]), d.plain(dtype, [c, k]), maybe(d, d.plain(dtype, [c])),
            maybe(d, d.plain(dtype, [b, c, k - 1]))], {"out": d.pick(["y", "state"])}


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
    return [d.plain(dtype, shape)], attrs


@drawn("stft")
def stft(d, row):
    n_fft = d.pick([1, 2, 3, 4, 7, 8, 16, 21])
    attrs = {"n_fft": n_fft, "center": d.coin(), "pad": d.pick(["constant", "reflect", "edge", "wrap"]),
             "onesided": d.coin(), "normalized": d.coin(), "hop": d.int(1, 9) if n_fft < 4 or d.coin() else 0}
    x = d.plain("f32", d.shape(0, 1) + [d.int(1, 60)])
    return [x, maybe(d, d.plain("f32", [d.int(1, n_fft)]))], attrs


@drawn("rng_uniform", "rng_normal")
def rng(d, row):
    seed = d.pick([0, 1, -1, 2 ** 62 + 12345, d.int(0, 10 ** 9)])
    attrs = {"shape": d.shape(0, 3), "to": d.pick(FLOATS), "seed": seed}
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
