"""Oracles of the matrix products, attention, rotary positions and the fused forms: PyTorch in double.

scaled_dot_product_attention covers attention but for soft caps and sinks, where scores, one more column and a softmax are
written out. Keys past kv_len are cut off, not masked. PyTorch has no e2m1 arithmetic and no requantised integer products:
those are the formulas of SPEC.md.
"""
import string

import torch
import torch.nn.functional as F
from core import from_bytes, golden, to_bytes

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: torch.relu(x) + 0.0,  # of -0 it is 0, as the larger of the two
    "gelu": F.gelu,
    "gelu_approx": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def inputs(ins, n):
    """The inputs, with None for those left off at the end."""
    return list(ins) + [None] * (n - len(ins))


def doubles(ins, n=0):
    return [None if t is None else t.double() for t in inputs(ins, n)]


def weight(w, attrs):
    w = w.double()
    return w.transpose(-1, -2) if attrs["trans_b"] else w


# ---- products ----


@golden("matmul")
def matmul(attrs, ins, out):
    return torch.matmul(ins[0].double(), weight(ins[1], attrs))


@golden("dot_general")
def dot_general(attrs, ins, out):
    a, b = doubles(ins)
    letters = iter(string.ascii_letters)
    names_a = [next(letters) for _ in a.shape]
    names_b = [None] * b.dim()
    for i, k in [*zip(attrs["batch_a"], attrs["batch_b"]), *zip(attrs["contract_a"], attrs["contract_b"])]:
        names_b[k] = names_a[i]
    names_b = [n or next(letters) for n in names_b]
    batch = [names_a[i] for i in attrs["batch_a"]]
    free_a = [n for n in names_a if n not in names_b]
    free_b = [n for n in names_b if n not in names_a]
    return torch.einsum(f"{''.join(names_a)},{''.join(names_b)}->{''.join(batch + free_a + free_b)}", a, b)


@golden("lora_matmul")
def lora_matmul(attrs, ins, out):
    x, _, a, b = doubles(ins)
    merged = weight(ins[1], attrs) + attrs["scale"] * (a @ b)
    return x @ merged


@golden("grouped_matmul", "dequant_grouped_matmul")
def grouped_matmul(attrs, ins, out):
    chosen = weight(ins[1], attrs)[ins[2].long()]
    return torch.bmm(ins[0].double()[:, None, :], chosen)[:, 0, :]


@golden("dequant_moe_weights")
def dequant_moe_weights(attrs, ins, out):
    w, idx = inputs(ins, 2)
    return (w if idx is None else w[idx.long()]).double()


@golden("dense_solve")
def dense_solve(attrs, ins, out):
    a, b = doubles(ins)
    n, k = out["shape"][-2:]
    a, b = a.expand(*out["shape"][:-2], n, n), b.expand(*out["shape"][:-2], n, k)
    if n == 1:  # PyTorch refuses a singular system; one equation is a division
        return b / a
    return torch.linalg.solve(a, b)


# ---- packed weights ----


def nibbles(w, k):
    """[ceil(K/2), N] bytes -> [K, N] codes, the low nibble first."""
    return torch.stack([w & 15, w >> 4], dim=1).flatten(0, 1)[:k]


def e2m1(codes):
    """By its definition: sign, two bits of exponent (bias 1), one of fraction; no subnormal but a half."""
    c = codes.long()
    exponent, fraction = (c >> 1) & 3, (c & 1).double()
    magnitude = torch.where(exponent == 0, fraction / 2, (1 + fraction / 2) * 2.0 ** (exponent - 1).double())
    return torch.where(c & 8 != 0, -magnitude, magnitude)


def fp8(codes, dtype):
    return codes.view(dtype).float().double()


def along_k(parts, block, k):
    """One row per block of k -> one row per k."""
    return parts.double().repeat_interleave(block or max(k, 1), dim=0)[:k] if block < 2 ** 31 else parts.double()[:1].expand(k, -1)


@golden("dequant_matmul")
def dequant_matmul(attrs, ins, out):
    x, w, scale, zero, whole = inputs(ins, 5)
    k, scheme, block = x.shape[-1], attrs["scheme"], attrs["block"]
    if scheme.startswith("int"):
        codes = nibbles(w, k).double() if scheme == "int4" else w.double()
        middle = 8.0 if scheme == "int4" else 0.0
        full = (codes - (middle if zero is None else along_k(zero, block, k))) * along_k(scale, block, k)
    elif scheme.startswith("fp8"):
        full = fp8(w, torch.float8_e4m3fn if scheme == "fp8_e4m3" else torch.float8_e5m2)
        if scale is not None:
            full = full * scale.double()
    else:
        full = e2m1(nibbles(w, k)) * along_k(fp8(scale, torch.float8_e4m3fn), 16, k) * whole.double()
    return x.double() @ full


# ---- integers ----


def scalar(t, fallback):
    return fallback if t is None else t.reshape(-1)[0].item()


def requantise(sums, ins, channel_shape, out):
    """Sums (int64) through i32, the scales, half to even, zero point, saturation."""
    _, _, a_scale, b_scale, y_scale, _, _, y_zero, bias = ins
    if bias is not None:
        sums = sums + bias.long().reshape(channel_shape)
    sums = sums.to(torch.int32).double()
    b_scale = b_scale.double().reshape(channel_shape if b_scale.numel() != 1 else [1])
    y = torch.round(sums * (scalar(a_scale, 1) * b_scale / scalar(y_scale, 1))) + scalar(y_zero, 0)
    lo, hi = (-128, 127) if out["dtype"] == "i8" else (0, 255)
    return y.clamp(lo, hi).long()


def less_zero(t, zero, channel_shape):
    zero = torch.zeros(1, dtype=torch.int64) if zero is None else zero.long()
    return t.long() - zero.reshape(channel_shape if zero.numel() != 1 else [1])


@golden("q_matmul")
def q_matmul(attrs, ins, out):
    ins = inputs(ins, 9)
    sums = torch.matmul(less_zero(ins[0], ins[5], [1]), less_zero(ins[1], ins[6], [-1]))
    return requantise(sums, ins, [-1], out)


@golden("q_conv2d")
def q_conv2d(attrs, ins, out):
    ins = inputs(ins, 9)
    x = less_zero(ins[0], ins[5], [1]).double()  # integers of this size are exact in double
    w = less_zero(ins[1], ins[6], [-1, 1, 1, 1]).double()
    (top, left), (bottom, right) = attrs["pad_lo"] or [0, 0], attrs["pad_hi"] or [0, 0]
    sums = F.conv2d(F.pad(x, [left, right, top, bottom]), w, stride=attrs["stride"] or 1,
                    dilation=attrs["dilation"] or 1, groups=attrs["groups"])
    return requantise(sums.round().long(), ins, [1, -1, 1, 1], out)


# ---- attention ----


def attend(q, k, v, visible, bias, scale, softcap=0.0, sinks=None):
    """q [H, Sq, D], k, v [H, Sk, D], visible [Sq, Sk] -> [H, Sq, Dv]; rows that see nothing are zero."""
    hidden = torch.zeros(visible.shape, dtype=torch.float64).masked_fill(~visible, -torch.inf)
    added = (hidden if bias is None else bias + hidden).expand(q.shape[0], *visible.shape)
    if not softcap and sinks is None:
        result = F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
    else:
        scores = torch.einsum("hqd,hkd->hqk", q, k) * scale
        if softcap:
            scores = softcap * torch.tanh(scores / softcap)
        scores = scores + added
        column = torch.full((q.shape[0], 1, 1), -torch.inf) if sinks is None else sinks[:, None, None]
        scores = torch.cat([scores, column.double().expand(-1, q.shape[1], 1)], dim=-1)
        result = torch.einsum("hqk,hkd->hqd", torch.softmax(scores, dim=-1)[..., :-1], v)
    nothing = torch.isneginf(added).all(dim=-1, keepdim=True)
    return torch.where(nothing, torch.zeros((), dtype=torch.float64), result)


def visible_keys(n_q, n_k, causal, offset, window):
    i, j = torch.arange(n_q)[:, None] + offset, torch.arange(n_k)[None, :]
    if not causal:
        return torch.ones(n_q, n_k, dtype=torch.bool)
    return (j <= i) & (j > i - window) if window else j <= i


def of_batch(t, b, fallback):
    return fallback if t is None else t.reshape(-1).expand(max(t.numel(), b + 1))[b].item()


@golden("attention")
def attention(attrs, ins, out):
    q, k, v, key_mask, bias, sinks, kv_len, kv_offset = inputs(ins, 8)
    q, k, v = q.double(), k.double(), v.double()
    if attrs["layout"] == "bshd":
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    batch, heads, n_q, d = q.shape
    if batch == 0:
        return torch.zeros(out["shape"])
    repeats = heads // max(k.shape[1], 1)
    k, v = k.repeat_interleave(repeats, dim=1), v.repeat_interleave(repeats, dim=1)
    if bias is not None:
        bias = bias.double().expand(batch, heads, n_q, k.shape[2])
    results = []
    for b in range(batch):
        n = of_batch(kv_len, b, k.shape[2])
        seen = visible_keys(n_q, n, attrs["causal"], of_batch(kv_offset, b, n - n_q), attrs["window"])
        if key_mask is not None:
            seen = seen & key_mask[b, :n]
        results.append(attend(q[b], k[b, :, :n], v[b, :, :n], seen, None if bias is None else bias[b, :, :, :n],
                              attrs["scale"] or d ** -0.5, attrs["softcap"], sinks))
    result = torch.stack(results)
    return result.transpose(1, 2) if attrs["layout"] == "bshd" else result


# ---- rotary positions ----


def turned(x, factor, style):
    """The last axis of x as complex pairs, times factor."""
    first, second = x.chunk(2, dim=-1) if style == "neox" else (x[..., 0::2], x[..., 1::2])
    z = torch.complex(first.contiguous(), second.contiguous()) * factor
    return torch.cat([z.real, z.imag], dim=-1) if style == "neox" else torch.stack([z.real, z.imag], dim=-1).flatten(-2)


def frequencies(n, theta):
    return theta ** (-torch.arange(0, n, 2, dtype=torch.float64) / n)


def normed(x, gamma, attrs):
    """The rms_norm of the last axis that some ops begin with."""
    if x.numel() == 0:
        return x
    return F.rms_norm(x, [x.shape[-1]], None if gamma is None else gamma.double(), attrs["eps"])


@golden("rope", "fused_norm_rope")
def rope(attrs, ins, out):
    x, positions, offset, factors, cosines, sines, gamma = inputs(ins, 7)
    x = normed(x.double(), gamma, attrs) if "eps" in attrs else x.double()
    x = x if attrs["layout"] == "bshd" else x.transpose(1, 2)
    n = attrs["n_rot"] or x.shape[-1]
    if positions is None:
        positions = torch.arange(x.shape[1]) + scalar(offset, 0)
    positions = positions.long().expand(x.shape[0], x.shape[1])
    if cosines is not None:
        factor = torch.complex(cosines.double(), sines.double())[positions]
    else:
        angle = positions[..., None] * (frequencies(n, attrs["theta"]) / (1.0 if factors is None else factors.double()))
        factor = torch.polar(torch.ones_like(angle), angle)
    y = torch.cat([turned(x[..., :n], factor[:, :, None, :], attrs["style"]), x[..., n:]], dim=-1)
    return y if attrs["layout"] == "bshd" else y.transpose(1, 2)


@golden("fused_rope_attention")
def fused_rope_attention(attrs, ins, out):
    rows, keys, values, at, factors, gamma_q, gamma_k = inputs(ins, 7)
    n_kv, batch = keys.shape[2], rows.shape[0]
    at = at.reshape(-1, 1).expand(batch, 1)
    how = {name: attrs[name] for name in ("style", "n_rot", "theta")} | {"layout": "bshd"}
    how |= {"eps": attrs["eps"]} if attrs["norm"] else {}
    q, k, v = rows.split([rows.shape[2] - 2 * n_kv, n_kv, n_kv], dim=2)
    q = rope(how, [q, at, None, factors, None, None, gamma_q], out)
    k = rope(how, [k, at, None, factors, None, None, gamma_k], out)
    keys, values = keys.clone(), values.clone()
    for b in range(batch):
        keys[b, at[b, 0]], values[b, at[b, 0]] = k[b, 0].to(keys.dtype), v[b, 0].to(values.dtype)
    how = {name: attrs[name] for name in ("scale", "softcap", "window")} | {"layout": "bshd", "causal": True}
    return attention(how, [q, keys, values, None, None, None, at[:, 0] + 1, at[:, 0]], out)


@golden("paged_attention")
def paged_attention(attrs, ins, out):
    q, keys, values, pages, kv_len, kv_offset, sinks = inputs(ins, 7)
    pages = pages.long().clamp(0, keys.shape[0] - 1)
    keys, values = (x[pages].reshape(q.shape[0], -1, *x.shape[2:]) for x in (keys, values))
    return attention(attrs | {"layout": "bshd"}, [q, keys, values, None, None, sinks, kv_len, kv_offset], out)


@golden("axial_rope_2d")
def axial_rope_2d(attrs, ins, out):
    x = ins[0].double() if attrs["layout"] == "bshd" else ins[0].double().transpose(1, 2)
    place = torch.arange(x.shape[1])
    halves = []
    for half, at in zip(x.chunk(2, dim=-1), (place % attrs["width"], place // attrs["width"])):
        angle = at[:, None] * frequencies(half.shape[-1], attrs["theta"])
        halves.append(turned(half, torch.polar(torch.ones_like(angle), angle)[None, :, None, :], attrs["style"]))
    y = torch.cat(halves, dim=-1)
    return y if attrs["layout"] == "bshd" else y.transpose(1, 2)


# ---- fused forms ----


@golden("fused_matmul_bias_act", "fused_norm_matmul")
def fused_matmul_bias_act(attrs, ins, out):
    a, b, bias, gamma = inputs(ins, 4)
    y = torch.matmul(normed(a.double(), gamma, attrs) if "eps" in attrs else a.double(), weight(b, attrs))
    return ACTIVATIONS[attrs["act"]](y if bias is None else y + bias.double())


@golden("fused_swiglu")
def fused_swiglu(attrs, ins, out):
    gate, up = ins
    name = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64"}[gate.dtype]
    activated = ACTIVATIONS[attrs["act"]](gate.double())
    rounded = from_bytes(name, list(gate.shape), to_bytes(activated, name, list(gate.shape)))
    return rounded.double() * up.double()


@golden("fused_gate_up", "fused_norm_gate_up")
def fused_gate_up(attrs, ins, out):
    x = normed(ins[0].double(), inputs(ins, 4)[3], attrs) if "eps" in attrs else ins[0].double()
    return ACTIVATIONS[attrs["act"]](torch.matmul(x, weight(ins[1], attrs))) * torch.matmul(x, weight(ins[2], attrs))


@golden("fused_residual_norm")
def fused_residual_norm(attrs, ins, out):
    x, residual, gamma, beta = doubles(ins, 4)
    y, size = x + residual, [x.shape[-1]]
    if x.numel() == 0:
        return y
    if attrs["kind"] == "layer":
        return F.layer_norm(y, size, gamma, beta, attrs["eps"])
    y = F.rms_norm(y, size, gamma, attrs["eps"])
    return y if beta is None else y + beta


@golden("fused_attention_block")
def fused_attention_block(attrs, ins, out):
    x, _, _, b_qkv, b_out = doubles(ins, 5)
    batch, places, width = x.shape
    heads, kv_heads = attrs["heads"], attrs["kv_heads"] or attrs["heads"]
    d = attrs["head_dim"] or width // heads
    qkv = x @ weight(ins[1], attrs) + (0 if b_qkv is None else b_qkv)
    q, k, v = qkv.split([heads * d, kv_heads * d, kv_heads * d], dim=-1)
    q, k, v = (t.unflatten(-1, (-1, d)).transpose(1, 2) for t in (q, k, v))
    k, v = k.repeat_interleave(heads // kv_heads, dim=1), v.repeat_interleave(heads // kv_heads, dim=1)
    # A mask of its own: with is_causal and a negative scale, PyTorch's hidden keys come out as +inf.
    seen = visible_keys(places, places, attrs["causal"], 0, 0)
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=attrs["scale"] or d ** -0.5)
    return y.transpose(1, 2).flatten(-2) @ weight(ins[2], attrs) + (0 if b_out is None else b_out)
