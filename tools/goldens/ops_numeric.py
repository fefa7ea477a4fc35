"""Oracles of the element-wise ops, norms, reductions and the ops that order."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from core import golden

FLOATS = ("f32", "f16", "bf16", "f64")
RANGES = {"i8": (-2**7, 2**7 - 1), "u8": (0, 2**8 - 1), "i16": (-2**15, 2**15 - 1), "i32": (-2**31, 2**31 - 1),
          "u32": (0, 2**32 - 1), "i64": (-2**63, 2**63 - 1)}
BITS = {"i8": 8, "u8": 8, "i16": 16, "i32": 32, "u32": 32, "i64": 64}


def wide(x):
    """Floats as double, integers as int64 (core wraps them to the width of the type when it stores them)."""
    if x is None or x.dtype in (torch.bool, torch.complex64):
        return x
    return x.double() if x.dtype.is_floating_point else x.long()


def python_ints(fn, *tensors):
    """fn on Python's unbounded integers, element by element, wrapped to 64 bits."""
    tensors = torch.broadcast_tensors(*tensors)
    flat = [fn(*(int(v) for v in vs)) for vs in zip(*(t.reshape(-1).tolist() for t in tensors))]
    wrapped = [(v + 2**63) % 2**64 - 2**63 for v in flat]
    return torch.tensor(wrapped, dtype=torch.int64).reshape(tensors[0].shape)


def saturate(value, dtype):
    lo, hi = RANGES[dtype]
    return max(lo, min(hi, value))


# ---- unary ----

UNARY = {
    "gelu": lambda x, a: F.gelu(x),
    "gelu_approx": lambda x, a: F.gelu(x, approximate="tanh"),
    "silu": lambda x, a: F.silu(x),
    "relu": lambda x, a: F.relu(x) + 0.0,  # of -0 it is 0, as the larger of the two
    "sigmoid": lambda x, a: torch.sigmoid(x),
    "tanh": lambda x, a: torch.tanh(x),
    "exp": lambda x, a: torch.exp(x),
    "log": lambda x, a: torch.log(x),
    "sqrt": lambda x, a: torch.sqrt(x),
    "rsqrt": lambda x, a: torch.rsqrt(x),
    "neg": lambda x, a: torch.neg(x),
    "abs": lambda x, a: torch.abs(x),
    "sin": lambda x, a: torch.sin(x),
    "cos": lambda x, a: torch.cos(x),
    "tan": lambda x, a: torch.tan(x),
    "atan": lambda x, a: torch.atan(x),
    "round": lambda x, a: torch.round(x),
    "floor": lambda x, a: torch.floor(x),
    "ceil": lambda x, a: torch.ceil(x),
    "sign": lambda x, a: torch.sign(x),
    "erf": lambda x, a: torch.erf(x),
    "reciprocal": lambda x, a: torch.reciprocal(x),
    "softplus": lambda x, a: torch.logaddexp(x, torch.zeros_like(x)),  # PyTorch's becomes x above a threshold
    "elu": lambda x, a: F.elu(x, a["alpha"]),
    "leaky_relu": lambda x, a: F.leaky_relu(x, a["alpha"]),
    "hard_sigmoid": lambda x, a: torch.clamp(a["alpha"] * x + a["beta"], 0.0, 1.0),  # PyTorch's has a fixed slope
    "hard_swish": lambda x, a: F.hardswish(x),
    "mish": lambda x, a: F.mish(x),
    "selu": lambda x, a: a["beta"] * F.elu(x, a["alpha"]),  # PyTorch's has fixed constants
}
for name, fn in UNARY.items():
    golden(name)(lambda attrs, ins, out, fn=fn: fn(wide(ins[0]), attrs))

# ---- binary ----


def int_div(i, j):
    if j == 0:
        return 0
    q = abs(i) // abs(j)
    return q if (i < 0) == (j < 0) else -q


def int_pow(i, j):
    if j >= 0:
        return pow(i, j, 2**64)
    return {1: 1, -1: (-1) ** (j % 2)}.get(i, 0)


def larger(a, b):
    """PyTorch leaves open which of 0 and -0 is the larger; here it is 0. Their sum is that, too."""
    y = torch.maximum(a, b)
    return torch.where((a == b) & (y == 0), a + b, y)


BINARY = {
    "add": (torch.add, torch.add),
    "sub": (torch.sub, torch.sub),
    "mul": (torch.mul, torch.mul),
    "div": (torch.div, lambda a, b: python_ints(int_div, a, b)),
    "max": (larger, torch.maximum),
    "min": (lambda a, b: -larger(-a, -b), torch.minimum),
    "pow": (torch.pow, lambda a, b: python_ints(int_pow, a, b)),
    "mod": (torch.remainder, lambda a, b: python_ints(lambda i, j: i % j if j else 0, a, b)),
    "atan2": (torch.atan2, None),
    "bit_and": (None, torch.bitwise_and),
    "bit_or": (None, torch.bitwise_or),
    "bit_xor": (None, torch.bitwise_xor),
}
for name, (on_floats, on_ints) in BINARY.items():
    def binary(attrs, ins, out, on_floats=on_floats, on_ints=on_ints):
        return (on_floats if out["dtype"] in FLOATS else on_ints)(wide(ins[0]), wide(ins[1]))
    golden(name)(binary)


@golden("shl")
def shl(attrs, ins, out):
    bits = BITS[out["dtype"]]
    return python_ints(lambda i, j: i << j if 0 <= j < bits else 0, wide(ins[0]), wide(ins[1]))


@golden("shr")
def shr(attrs, ins, out):
    bits = BITS[out["dtype"]]
    return python_ints(lambda i, j: i >> j if 0 <= j < bits else -(i < 0), wide(ins[0]), wide(ins[1]))


for name, fn in {"and": torch.logical_and, "or": torch.logical_or, "xor": torch.logical_xor, "eq": torch.eq,
                 "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge}.items():
    golden(name)(lambda attrs, ins, out, fn=fn: fn(wide(ins[0]), wide(ins[1])))

# ---- other element-wise ----


@golden("not")
def logical_not(attrs, ins, out):
    return torch.logical_not(ins[0])


@golden("fma")
def fma(attrs, ins, out):
    a, b, c = (wide(x).numpy().astype(np.longdouble) for x in ins)
    with np.errstate(all="ignore"):
        return np.asarray(a * b + c).astype(np.float64)


@golden("where")
def where(attrs, ins, out):
    return torch.where(ins[0], ins[1], ins[2])


@golden("clamp")
def clamp(attrs, ins, out):
    lo, hi = attrs["lo"], attrs["hi"]
    if out["dtype"] in FLOATS:
        return torch.clamp(ins[0].double(), lo, hi)
    least, largest = RANGES[out["dtype"]]
    lo = least if lo < least else largest if lo > largest else math.ceil(lo)
    hi = least if hi < least else largest if hi > largest else math.floor(hi)
    return python_ints(lambda i: min(max(i, lo), hi), wide(ins[0]))


def round_int(v, digits):
    """An integer rounded to so many binary digits, halves to even."""
    drop = max(abs(v).bit_length() - digits, 0)
    kept, rest = abs(v) >> drop, abs(v) & ((1 << drop) - 1)
    half = 1 << drop >> 1
    kept += rest > half or (drop > 0 and rest == half and kept & 1)
    return math.copysign(float(kept << drop), v)


@golden("cast")
def cast(attrs, ins, out):
    x, to = ins[0], out["dtype"]
    if to == "bool":
        return x != 0
    if x.dtype == torch.complex64:
        return x
    from_float = x.dtype.is_floating_point
    values = wide(x).reshape(-1).tolist() if x.dtype != torch.bool else x.long().reshape(-1).tolist()
    if to in FLOATS:
        if from_float:
            return x.double()
        digits = {"f32": 24, "f16": 11, "bf16": 8, "f64": 53}[to]
        return np.array([round_int(v, digits) for v in values], np.float64).reshape(x.shape)

    def to_int(v):
        if v != v:
            return 0
        if v in (math.inf, -math.inf):
            return RANGES[to][v > 0]
        return saturate(math.trunc(v), to)
    return np.array([to_int(v) for v in values], np.int64).reshape(x.shape)


def along(vector, axis, like):
    """A scalar, or a vector laid along an axis."""
    if vector is None:
        return torch.zeros((), dtype=torch.int64)
    if vector.dim() == 0:
        return wide(vector)
    shape = [1] * like.dim()
    shape[axis] = -1
    return wide(vector).reshape(shape)


@golden("quantize")
def quantize(attrs, ins, out):
    x, scale = wide(ins[0]), along(ins[1], attrs["axis"], ins[0])
    zero = along(ins[2] if len(ins) > 2 else None, attrs["axis"], ins[0]).numpy()
    with np.errstate(all="ignore"):
        if ins[0].dtype == torch.float64:
            quotient = x.numpy() / scale.numpy()
        else:
            quotient = np.divide(x.numpy().astype(np.float32), scale.numpy().astype(np.float32)).astype(np.float64)
        code = np.nan_to_num(np.rint(quotient), nan=0.0, posinf=1e30, neginf=-1e30)
    lo, hi = RANGES[out["dtype"]]
    return np.clip(code + zero, lo, hi).astype(np.int64)


@golden("dequantize")
def dequantize(attrs, ins, out):
    zero = along(ins[2] if len(ins) > 2 else None, attrs["axis"], ins[0])
    return (wide(ins[0]) - zero).double() * along(ins[1], attrs["axis"], ins[0])

# ---- norms ----


def optional(ins, i):
    return wide(ins[i]) if len(ins) > i else None


@golden("layer_norm")
def layer_norm(attrs, ins, out):
    x = wide(ins[0])
    shape = x.shape[attrs["axis"]:]
    return x if x.numel() == 0 else F.layer_norm(x, shape, optional(ins, 1), optional(ins, 2), attrs["eps"])


@golden("rms_norm")
def rms_norm(attrs, ins, out):
    x, beta = wide(ins[0]), optional(ins, 2)
    if x.numel() == 0:
        return x
    y = F.rms_norm(x, x.shape[attrs["axis"]:], optional(ins, 1), attrs["eps"])
    return y if beta is None else y + beta


@golden("layer_norm_2d")
def layer_norm_2d(attrs, ins, out):
    x = wide(ins[0])
    if x.numel() == 0:
        return x
    y = F.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2], optional(ins, 1), optional(ins, 2), attrs["eps"])
    return y.permute(0, 3, 1, 2)


def per_channel(x, gamma, beta):
    shape = [1, -1] + [1] * (x.dim() - 2)
    x = x if gamma is None else x * gamma.reshape(shape)
    return x if beta is None else x + beta.reshape(shape)


@golden("group_norm")
def group_norm(attrs, ins, out):
    x = wide(ins[0])
    if x.numel() == 0:
        return x
    grouped = x.reshape(x.shape[0], attrs["groups"], -1)  # torch.group_norm loses digits about a large mean
    y = F.layer_norm(grouped, grouped.shape[2:], eps=attrs["eps"]).reshape(x.shape)
    return per_channel(y, optional(ins, 1), optional(ins, 2))


@golden("instance_norm")
def instance_norm(attrs, ins, out):
    x = wide(ins[0])
    if x.numel() == 0:
        return x
    if math.prod(x.shape[2:]) > 1:
        y = F.instance_norm(x, eps=attrs["eps"])
    else:  # PyTorch refuses to normalise a single element; it is its own mean
        y = x - x  # 0, but NaN of what is not finite
    return per_channel(y, optional(ins, 1), optional(ins, 2))


@golden("batch_norm_inference")
def batch_norm_inference(attrs, ins, out):
    y = F.batch_norm(wide(ins[0]), wide(ins[1]), wide(ins[2]), training=False, eps=attrs["eps"])
    return per_channel(y, optional(ins, 3), optional(ins, 4))


@golden("softmax")
def softmax(attrs, ins, out):
    return torch.softmax(wide(ins[0]), attrs["axis"])


@golden("log_softmax")
def log_softmax(attrs, ins, out):
    return torch.log_softmax(wide(ins[0]), attrs["axis"])

# ---- reductions ----


def reduction(attrs):
    return {"axis": tuple(attrs["axes"]) or None, "keepdims": attrs["keep"]}


@golden("reduce_sum")
def reduce_sum(attrs, ins, out):
    x = wide(ins[0])
    return torch.sum(x, dim=attrs["axes"] or list(range(x.dim())), keepdim=attrs["keep"])


@golden("reduce_mean")
def reduce_mean(attrs, ins, out):
    x = wide(ins[0])
    return torch.mean(x, dim=attrs["axes"] or list(range(x.dim())), keepdim=attrs["keep"])


def bound(dtype, largest):
    if dtype in FLOATS:
        return math.inf if largest else -math.inf
    return RANGES[dtype][largest]


# PyTorch has neither an extreme nor (over several axes) a product of nothing, so these are NumPy's.


@golden("reduce_max")
def reduce_max(attrs, ins, out):
    return np.max(wide(ins[0]).numpy(), initial=bound(out["dtype"], False), **reduction(attrs))


@golden("reduce_min")
def reduce_min(attrs, ins, out):
    return np.min(wide(ins[0]).numpy(), initial=bound(out["dtype"], True), **reduction(attrs))


@golden("reduce_prod")
def reduce_prod(attrs, ins, out):
    with np.errstate(all="ignore"):
        return np.prod(wide(ins[0]).numpy(), **reduction(attrs))


def scan(attrs, ins, first, run):
    """A running reduction: exclusive is inclusive moved on by one, reverse is forward of the reversed."""
    x, axis = wide(ins[0]), attrs["axis"]
    x = x.flip(axis) if attrs["reverse"] else x
    if attrs["exclusive"] and x.shape[axis] > 0:
        head = torch.full_like(x.narrow(axis, 0, 1), first)
        x = torch.cat([head, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    y = run(x, axis)
    return y.flip(axis) if attrs["reverse"] else y


@golden("cumsum")
def cumsum(attrs, ins, out):
    return scan(attrs, ins, 0, torch.cumsum)


@golden("cumprod")
def cumprod(attrs, ins, out):
    return scan(attrs, ins, 1, torch.cumprod)


@golden("cummax")
def cummax(attrs, ins, out):
    def run(x, axis):
        return torch.cummax(x, axis).values
    return scan(attrs, ins, bound(out["dtype"], False), run)

# ---- order ----


def arg(attrs, ins, fn):
    y = fn(wide(ins[0]).numpy(), axis=attrs["axis"])  # the first wins, NaN beats all
    return np.expand_dims(y, attrs["axis"]) if attrs["keep"] else y


@golden("argmax")
def argmax(attrs, ins, out):
    return arg(attrs, ins, np.argmax)


@golden("argmin")
def argmin(attrs, ins, out):
    return arg(attrs, ins, np.argmin)


def sorted_along(attrs, ins, descending):
    return torch.sort(wide(ins[0]), dim=attrs["axis"], descending=descending, stable=True)


# torch.topk does not say which of equal elements it takes, so top-k is the head of a stable sort.


@golden("top_k_values")
def top_k_values(attrs, ins, out):
    return sorted_along(attrs, ins, attrs["largest"]).values.narrow(attrs["axis"], 0, attrs["k"])


@golden("top_k_indices")
def top_k_indices(attrs, ins, out):
    return sorted_along(attrs, ins, attrs["largest"]).indices.narrow(attrs["axis"], 0, attrs["k"])


@golden("sort")
def sort(attrs, ins, out):
    return sorted_along(attrs, ins, attrs["descending"]).values


@golden("argsort")
def argsort(attrs, ins, out):
    return sorted_along(attrs, ins, attrs["descending"]).indices
