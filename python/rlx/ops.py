"""Every op by its name. Made by tools/make_python from the public headers and the op table; not edited by hand.

A function takes nodes, numbers or arrays, and appends one op to the graph of its nodes. Most are also methods of a
node: ``ops.softmax(x, axis=-1)`` is ``x.softmax(axis=-1)``. Names that are Python's own end in an underscore: ``and_``,
``not_``, ``if_``. Where an op takes no node, the graph is named: ``ops.range(8, graph=g)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence, Tuple, Union

from ._build import Builder, Dims, DTypeLike, Operand, Size
from ._core import ffi, lib
from .enums import (
    Act, DepthOrder, Direction, FftNorm, GridMode, GridPadding, Layout, NormKind, Out, PadMode, QuantScheme,
    ResizeCoords, ResizeMode, ResizeNearest, RnnAct, RopeStyle, Scatter,
)

if TYPE_CHECKING:
    from .graph import Graph, Node

TABLE = (
    "input", "param", "state", "constant", "gelu", "gelu_approx", "silu", "relu", "sigmoid", "tanh", "exp", "log",
    "sqrt", "rsqrt", "neg", "abs", "sin", "cos", "tan", "atan", "round", "floor", "ceil", "sign", "erf", "reciprocal",
    "softplus", "elu", "leaky_relu", "hard_sigmoid", "hard_swish", "mish", "selu", "add", "sub", "mul", "div", "max",
    "min", "pow", "mod", "atan2", "bit_and", "bit_or", "bit_xor", "shl", "shr", "and", "or", "xor", "eq", "ne", "lt",
    "le", "gt", "ge", "not", "fma", "where", "clamp", "cast", "quantize", "dequantize", "region", "matmul",
    "dot_general", "lora_matmul", "grouped_matmul", "dequant_matmul", "dequant_grouped_matmul", "dequant_moe_weights",
    "q_matmul", "q_conv2d", "dense_solve", "attention", "paged_attention", "rope", "axial_rope_2d", "layer_norm",
    "rms_norm", "layer_norm_2d", "group_norm", "instance_norm", "batch_norm_inference", "softmax", "log_softmax",
    "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "cumsum", "cumprod", "cummax", "argmax",
    "argmin", "top_k_values", "top_k_indices", "sort", "argsort", "reshape", "transpose", "slice", "concat", "expand",
    "tile", "pad", "reverse", "roll", "gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd",
    "scatter_add", "one_hot", "range", "trilu", "space_to_depth", "depth_to_space", "update", "view_as_real",
    "view_as_complex", "conv", "conv_transpose", "pool_max", "pool_avg", "im2col", "resize", "grid_sample", "rnn",
    "gru", "lstm", "selective_scan", "mamba2", "gated_delta_net", "causal_conv", "fft", "ifft", "rfft", "irfft",
    "stft", "rng_uniform", "rng_normal", "sample", "if", "while", "scan", "custom", "fused_matmul_bias_act",
    "fused_norm_matmul", "fused_conv_bias_act", "fused_residual_norm", "fused_swiglu", "fused_gate_up",
    "fused_norm_gate_up", "fused_norm_rope", "fused_rope_update", "fused_rope_attention", "fused_attention_block"
)


def gelu(x: Operand) -> Node:
    """x * Phi(x), exact (erf) form."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_gelu(_b.c, _b.node(x)))


def gelu_approx(x: Operand) -> Node:
    """gelu, tanh form."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_gelu_approx(_b.c, _b.node(x)))


def silu(x: Operand) -> Node:
    """x * sigmoid(x)."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_silu(_b.c, _b.node(x)))


def relu(x: Operand) -> Node:
    """max(x, 0); NaN stays NaN."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_relu(_b.c, _b.node(x)))


def sigmoid(x: Operand) -> Node:
    """1 / (1 + e^-x)."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_sigmoid(_b.c, _b.node(x)))


def tanh(x: Operand) -> Node:
    """hyperbolic tangent."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_tanh(_b.c, _b.node(x)))


def exp(x: Operand) -> Node:
    """e^x."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_exp(_b.c, _b.node(x)))


def log(x: Operand) -> Node:
    """natural logarithm; 0 gives -inf, negative NaN."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_log(_b.c, _b.node(x)))


def sqrt(x: Operand) -> Node:
    """square root."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_sqrt(_b.c, _b.node(x)))


def rsqrt(x: Operand) -> Node:
    """1 / sqrt(x)."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_rsqrt(_b.c, _b.node(x)))


def neg(x: Operand) -> Node:
    """-x; integers wrap."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_neg(_b.c, _b.node(x)))


def abs(x: Operand) -> Node:
    """|x|; the smallest integer wraps to itself."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_abs(_b.c, _b.node(x)))


def sin(x: Operand) -> Node:
    """sine."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_sin(_b.c, _b.node(x)))


def cos(x: Operand) -> Node:
    """cosine."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_cos(_b.c, _b.node(x)))


def tan(x: Operand) -> Node:
    """tangent."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_tan(_b.c, _b.node(x)))


def atan(x: Operand) -> Node:
    """arc tangent."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_atan(_b.c, _b.node(x)))


def round(x: Operand) -> Node:
    """to the nearest integer, ties to even."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_round(_b.c, _b.node(x)))


def floor(x: Operand) -> Node:
    """largest integer not above x."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_floor(_b.c, _b.node(x)))


def ceil(x: Operand) -> Node:
    """smallest integer not below x."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_ceil(_b.c, _b.node(x)))


def sign(x: Operand) -> Node:
    """-1, 0 or 1; 0 for NaN, as PyTorch."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_sign(_b.c, _b.node(x)))


def erf(x: Operand) -> Node:
    """error function."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_erf(_b.c, _b.node(x)))


def reciprocal(x: Operand) -> Node:
    """1 / x."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reciprocal(_b.c, _b.node(x)))


def softplus(x: Operand) -> Node:
    """log(1 + e^x)."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_softplus(_b.c, _b.node(x)))


def hard_swish(x: Operand) -> Node:
    """x clamp(x + 3, 0, 6) / 6."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_hard_swish(_b.c, _b.node(x)))


def mish(x: Operand) -> Node:
    """x tanh(softplus(x))."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_mish(_b.c, _b.node(x)))


def elu(x: Operand, alpha: float = 1) -> Node:
    """x if x > 0, else alpha (e^x - 1).

    alpha: scale of the negative side
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_elu(_b.c, _b.node(x), alpha))


def leaky_relu(x: Operand, alpha: float = 0.01) -> Node:
    """x if x >= 0, else alpha x.

    alpha: slope of the negative side
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_leaky_relu(_b.c, _b.node(x), alpha))


def hard_sigmoid(x: Operand, alpha: float = 0.16666666666666666, beta: float = 0.5) -> Node:
    """clamp(alpha x + beta, 0, 1).

    alpha: slope
    beta: offset
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_hard_sigmoid(_b.c, _b.node(x), alpha, beta))


def selu(x: Operand) -> Node:
    """beta (x if x > 0, else alpha (e^x - 1))."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_selu(_b.c, _b.node(x)))


def selu_with(x: Operand, alpha: float, beta: float) -> Node:
    """rlx_op_selu_with of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_selu_with(_b.c, _b.node(x), alpha, beta))


def add(a: Operand, b: Operand) -> Node:
    """a + b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_add(_b.c, _b.node(a), _b.node(b)))


def sub(a: Operand, b: Operand) -> Node:
    """a - b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_sub(_b.c, _b.node(a), _b.node(b)))


def mul(a: Operand, b: Operand) -> Node:
    """a * b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_mul(_b.c, _b.node(a), _b.node(b)))


def div(a: Operand, b: Operand) -> Node:
    """a / b; integers truncate toward zero, x/0 is 0, the smallest value / -1 wraps."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_div(_b.c, _b.node(a), _b.node(b)))


def max(a: Operand, b: Operand) -> Node:
    """the larger; NaN propagates; max(-0, 0) is 0."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_max(_b.c, _b.node(a), _b.node(b)))


def min(a: Operand, b: Operand) -> Node:
    """the smaller; NaN propagates; min(-0, 0) is -0."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_min(_b.c, _b.node(a), _b.node(b)))


def pow(a: Operand, b: Operand) -> Node:
    """a to the b; integers wrap, a negative integer exponent gives 0 unless |a| is 1."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_pow(_b.c, _b.node(a), _b.node(b)))


def mod(a: Operand, b: Operand) -> Node:
    """a - floor(a / b) b: the sign of b, as PyTorch's remainder; integer x mod 0 is 0."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_mod(_b.c, _b.node(a), _b.node(b)))


def atan2(a: Operand, b: Operand) -> Node:
    """angle of the point (b, a)."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_atan2(_b.c, _b.node(a), _b.node(b)))


def bit_and(a: Operand, b: Operand) -> Node:
    """bits set in both."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_bit_and(_b.c, _b.node(a), _b.node(b)))


def bit_or(a: Operand, b: Operand) -> Node:
    """bits set in either."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_bit_or(_b.c, _b.node(a), _b.node(b)))


def bit_xor(a: Operand, b: Operand) -> Node:
    """bits set in exactly one."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_bit_xor(_b.c, _b.node(a), _b.node(b)))


def shl(a: Operand, b: Operand) -> Node:
    """a << b; a count outside 0 .. width-1 gives 0."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_shl(_b.c, _b.node(a), _b.node(b)))


def shr(a: Operand, b: Operand) -> Node:
    """a >> b, keeping the sign of signed types; a count outside 0 .. width-1 gives 0 or -1."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_shr(_b.c, _b.node(a), _b.node(b)))


def and_(a: Operand, b: Operand) -> Node:
    """logical and."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_and(_b.c, _b.node(a), _b.node(b)))


def or_(a: Operand, b: Operand) -> Node:
    """logical or."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_or(_b.c, _b.node(a), _b.node(b)))


def xor(a: Operand, b: Operand) -> Node:
    """logical exclusive or."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_xor(_b.c, _b.node(a), _b.node(b)))


def eq(a: Operand, b: Operand) -> Node:
    """a == b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_eq(_b.c, _b.node(a), _b.node(b)))


def ne(a: Operand, b: Operand) -> Node:
    """a != b; true where either is NaN."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_ne(_b.c, _b.node(a), _b.node(b)))


def lt(a: Operand, b: Operand) -> Node:
    """a < b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_lt(_b.c, _b.node(a), _b.node(b)))


def le(a: Operand, b: Operand) -> Node:
    """a <= b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_le(_b.c, _b.node(a), _b.node(b)))


def gt(a: Operand, b: Operand) -> Node:
    """a > b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_gt(_b.c, _b.node(a), _b.node(b)))


def ge(a: Operand, b: Operand) -> Node:
    """a >= b."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_ge(_b.c, _b.node(a), _b.node(b)))


def not_(x: Operand) -> Node:
    """logical not."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_not(_b.c, _b.node(x)))


def fma(a: Operand, b: Operand, c: Operand) -> Node:
    """a * b + c, rounded once where the device can."""
    _b = Builder(None, a, b, c)
    return _b.one(lib.rlx_op_fma(_b.c, _b.node(a), _b.node(b), _b.node(c)))


def where(c: Operand, t: Operand, f: Operand) -> Node:
    """t where c holds, else f; all three broadcast."""
    _b = Builder(None, c, t, f)
    return _b.one(lib.rlx_op_where(_b.c, _b.node(c), _b.node(t), _b.node(f)))


def clamp(x: Operand, lo: float = float("-inf"), hi: float = float("inf")) -> Node:
    """min(max(x, lo), hi); NaN stays NaN; of 0 and -0 either may count as the larger; for integers the bounds are
    rounded inward.

    lo: lower bound
    hi: upper bound
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_clamp(_b.c, _b.node(x), lo, hi))


def cast(x: Operand, to: DTypeLike = "f32") -> Node:
    """converts values: float to int truncates and saturates, NaN gives 0, to bool is != 0, int to int saturates, to an
    8-bit float rounds and saturates; a block type decodes to a float type.

    to: the result's type
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_cast(_b.c, _b.node(x), _b.dtype(to)))


def quantize(
    x: Operand, scale: Operand, zero: Optional[Operand] = None, to: DTypeLike = "i8", axis: Size = -1,
) -> Node:
    """saturate(round(x / scale) + zero), the quotient in f32 (f64 for f64), ties to even, NaN gives zero; per tensor
    or per channel; zero has the type `to`.

    to: i8, u8, i16 or i32
    axis: the channel axis if scale has rank 1
    """
    _b = Builder(None, x, scale, zero)
    return _b.one(lib.rlx_op_quantize(_b.c, _b.node(x), _b.node(scale), _b.node(zero), _b.dtype(to), _b.size(axis)))


def dequantize(x: Operand, scale: Operand, zero: Optional[Operand] = None, axis: Size = -1) -> Node:
    """(x - zero) * scale, in scale's float type; per tensor or per channel.

    axis: the channel axis if scale has rank 1
    """
    _b = Builder(None, x, scale, zero)
    return _b.one(lib.rlx_op_dequantize(_b.c, _b.node(x), _b.node(scale), _b.node(zero), _b.size(axis)))


def matmul(a: Operand, b: Operand) -> Node:
    """[.., M, K] x [.., K, N], batch dimensions broadcast."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_matmul(_b.c, _b.node(a), _b.node(b)))


def matmul_t(a: Operand, b: Operand) -> Node:
    """rlx_op_matmul_t of rlx.h: made of several ops.."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_matmul_t(_b.c, _b.node(a), _b.node(b)))


def dot_general(
    a: Operand, b: Operand, batch_a: Dims = (), batch_b: Dims = (), contract_a: Dims = (), contract_b: Dims = (),
) -> Node:
    """general product; result axes: batch, free of a, free of b.

    batch_a: batch axes of a
    batch_b: batch axes of b, pairwise
    contract_a: contracted axes of a
    contract_b: contracted axes of b, pairwise
    """
    _b = Builder(None, a, b)
    desc = ffi.new("rlx_op_dot_general_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_dot_general_desc")
    desc.batch_a = _b.dims(batch_a)
    desc.batch_b = _b.dims(batch_b)
    desc.contract_a = _b.dims(contract_a)
    desc.contract_b = _b.dims(contract_b)
    return _b.one(lib.rlx_op_dot_general(_b.c, _b.node(a), _b.node(b), desc))


def lora_matmul(x: Operand, w: Operand, a: Operand, b: Operand, scale: float = 1, trans_b: bool = False) -> Node:
    """x w + scale (x a) b, a [K, R], b [R, N].

    scale: weight of the low-rank part
    trans_b: w is [N, K]
    """
    _b = Builder(None, x, w, a, b)
    return _b.one(lib.rlx_op_lora_matmul(_b.c, _b.node(x), _b.node(w), _b.node(a), _b.node(b), scale, _b.flag(trans_b)))


def grouped_matmul(x: Operand, w: Operand, idx: Operand, trans_b: bool = False) -> Node:
    """row i of x [M, K] times expert idx[i] of w [E, K, N]; an expert out of range gives a zero row on a device.

    trans_b: w is [E, N, K]
    """
    _b = Builder(None, x, w, idx)
    return _b.one(lib.rlx_op_grouped_matmul(_b.c, _b.node(x), _b.node(w), _b.node(idx), _b.flag(trans_b)))


def dequant_grouped_matmul(x: Operand, w: Operand, idx: Operand, trans_b: bool = True) -> Node:
    """grouped_matmul with experts of a block type.

    trans_b: w is [E, N, K], the layout of block types in files
    """
    _b = Builder(None, x, w, idx)
    return _b.one(lib.rlx_op_dequant_grouped_matmul(_b.c, _b.node(x), _b.node(w), _b.node(idx), _b.flag(trans_b)))


def dequant_moe_weights(w: Operand, idx: Optional[Operand] = None, to: DTypeLike = "f32") -> Node:
    """decodes block-type experts [E, ..]; with idx [n] only those, in that order: [n, ..].

    to: f32, f16 or bf16
    """
    _b = Builder(None, w, idx)
    return _b.one(lib.rlx_op_dequant_moe_weights(_b.c, _b.node(w), _b.node(idx), _b.dtype(to)))


def dequant_matmul(
    x: Operand, w: Operand, scheme: Union[QuantScheme, str] = "int8", scale: Optional[Operand] = None,
    zero: Optional[Operand] = None, global_: Optional[Operand] = None, block: Size = 0,
) -> Node:
    """x [.., M, K] times a packed weight [K, N] (4-bit codes: [ceil(K/2), N], the low nibble first). int8: i8 codes,
    f32 scale [ceil(K/block), N]; int8_asym: also i8 zero like scale; int4: u8 codes minus 8 (or minus u8 zero like
    scale); fp8: u8 codes, optional f32 scale [N]; nvfp4: e2m1 codes, e4m3 scale u8 [ceil(K/16), N], f32 global
    scale.

    scheme: the encoding of w, scale and zero
    block: int8, int4: elements along k that share a scale; 0: all
    """
    _b = Builder(None, x, w, scale, zero, global_)
    desc = ffi.new("rlx_op_dequant_matmul_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_dequant_matmul_desc")
    desc.scheme = _b.enum(QuantScheme, scheme)
    desc.scale = _b.node(scale)
    desc.zero = _b.node(zero)
    setattr(desc, "global", _b.node(global_))
    desc.block = _b.size(block)
    return _b.one(lib.rlx_op_dequant_matmul(_b.c, _b.node(x), _b.node(w), desc))


def q_matmul(
    a: Operand, b: Operand, a_scale: Operand, b_scale: Operand, y_scale: Operand, to: DTypeLike = "i8",
    a_zero: Optional[Operand] = None, b_zero: Optional[Operand] = None, y_zero: Optional[Operand] = None,
    bias: Optional[Operand] = None,
) -> Node:
    """8-bit [.., M, K] x [K, N] or [.., K, N]: i32 sums of (a - a_zero)(b - b_zero) + bias, times a_scale b_scale /
    y_scale, rounded half to even, plus y_zero, saturated; b_scale and b_zero scalar or [N].

    to: i8 or u8
    """
    _b = Builder(None, a, b, a_scale, b_scale, y_scale, a_zero, b_zero, y_zero, bias)
    desc = ffi.new("rlx_op_q_matmul_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_q_matmul_desc")
    desc.to = _b.dtype(to)
    desc.a_scale = _b.node(a_scale)
    desc.b_scale = _b.node(b_scale)
    desc.y_scale = _b.node(y_scale)
    desc.a_zero = _b.node(a_zero)
    desc.b_zero = _b.node(b_zero)
    desc.y_zero = _b.node(y_zero)
    desc.bias = _b.node(bias)
    return _b.one(lib.rlx_op_q_matmul(_b.c, _b.node(a), _b.node(b), desc))


def q_conv2d(
    x: Operand, w: Operand, x_scale: Operand, w_scale: Operand, y_scale: Operand, to: DTypeLike = "i8",
    x_zero: Optional[Operand] = None, w_zero: Optional[Operand] = None, y_zero: Optional[Operand] = None,
    bias: Optional[Operand] = None, stride: Dims = (), dilation: Dims = (), pad_lo: Dims = (), pad_hi: Dims = (),
    groups: Size = 0,
) -> Node:
    """8-bit conv [N, C, H, W] with w [O, C/groups, KH, KW]; numbers as q_matmul; padding is x_zero; w_scale and w_zero
    scalar or [O].

    to: i8 or u8
    stride: per spatial axis, default 1
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    groups: divides both channel counts
    """
    _b = Builder(None, x, w, x_scale, w_scale, y_scale, x_zero, w_zero, y_zero, bias)
    desc = ffi.new("rlx_op_q_conv2d_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_q_conv2d_desc")
    desc.to = _b.dtype(to)
    desc.x_scale = _b.node(x_scale)
    desc.w_scale = _b.node(w_scale)
    desc.y_scale = _b.node(y_scale)
    desc.x_zero = _b.node(x_zero)
    desc.w_zero = _b.node(w_zero)
    desc.y_zero = _b.node(y_zero)
    desc.bias = _b.node(bias)
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    desc.groups = _b.size(groups)
    return _b.one(lib.rlx_op_q_conv2d(_b.c, _b.node(x), _b.node(w), desc))


def dense_solve(a: Operand, b: Operand) -> Node:
    """x of a x = b, a [.., N, N], b [.., N, K]: LU with partial pivoting; a zero pivot divides by zero and gives inf
    or NaN."""
    _b = Builder(None, a, b)
    return _b.one(lib.rlx_op_dense_solve(_b.c, _b.node(a), _b.node(b)))


def attention(
    q: Operand, k: Operand, v: Operand, layout: Union[Layout, str] = "bshd", causal: bool = False,
    key_mask: Optional[Operand] = None, bias: Optional[Operand] = None, sinks: Optional[Operand] = None,
    kv_len: Optional[Operand] = None, kv_offset: Optional[Operand] = None, window: Size = 0, scale: float = 0.0,
    softcap: float = 0.0,
) -> Node:
    """softmax(q k^T scale [soft cap, mask]) v; grouped queries (Hkv divides H); v may have its own head size; sinks
    [H] join the softmax with no value; kv_len (scalar or [B]) limits the keys read; kv_offset (scalar or [B])
    defaults to keys - Sq; bias broadcasts to [B, H, Sq, Sk]; a row with no visible key gives zeros.

    layout: axes of q, k, v and the result
    causal: key j is visible to query i iff j <= i + kv_offset
    window: with causal: only the last `window` keys, the query's own included; 0: all
    scale: 0: 1/sqrt(D)
    softcap: c of c tanh(s/c), before the mask; 0: none
    """
    _b = Builder(None, q, k, v, key_mask, bias, sinks, kv_len, kv_offset)
    desc = ffi.new("rlx_op_attention_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_attention_desc")
    desc.layout = _b.enum(Layout, layout)
    desc.causal = _b.flag(causal)
    desc.key_mask = _b.node(key_mask)
    desc.bias = _b.node(bias)
    desc.sinks = _b.node(sinks)
    desc.kv_len = _b.node(kv_len)
    desc.kv_offset = _b.node(kv_offset)
    desc.window = _b.size(window)
    desc.scale = scale
    desc.softcap = softcap
    return _b.one(lib.rlx_op_attention(_b.c, _b.node(q), _b.node(k), _b.node(v), desc))


def paged_attention(
    q: Operand, k: Operand, v: Operand, pages: Operand, causal: bool = False, kv_len: Optional[Operand] = None,
    kv_offset: Optional[Operand] = None, sinks: Optional[Operand] = None, window: Size = 0, scale: float = 0.0,
    softcap: float = 0.0,
) -> Node:
    """attention of q [B, Sq, H, D] over keys and values in pages, k and v [P, page, Hkv, D]: key j of batch row b is
    at row j % page of page pages[b][j / page], pages [B, N], so that there are N page keys, and rows may share
    pages; a page out of range counts as the nearest one; the rest as attention.

    causal: as attention
    window: as attention
    scale: as attention
    softcap: as attention
    """
    _b = Builder(None, q, k, v, pages, kv_len, kv_offset, sinks)
    desc = ffi.new("rlx_op_paged_attention_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_paged_attention_desc")
    desc.causal = _b.flag(causal)
    desc.kv_len = _b.node(kv_len)
    desc.kv_offset = _b.node(kv_offset)
    desc.sinks = _b.node(sinks)
    desc.window = _b.size(window)
    desc.scale = scale
    desc.softcap = softcap
    return _b.one(lib.rlx_op_paged_attention(_b.c, _b.node(q), _b.node(k), _b.node(v), _b.node(pages), desc))


def rope(
    x: Operand, layout: Union[Layout, str] = "bshd", style: Union[RopeStyle, str] = "neox",
    positions: Optional[Operand] = None, offset: Optional[Operand] = None, factors: Optional[Operand] = None,
    cos: Optional[Operand] = None, sin: Optional[Operand] = None, n_rot: Size = 0, theta: float = 0.0,
) -> Node:
    """rotary position: positions [S] or [B, S], else 0.. from offset (scalar); factors [n_rot/2] divide the
    frequencies; or cos and sin tables [P, n_rot/2] read at the position.

    layout: axes of x
    style: pairs (i, i + n/2) or (2i, 2i + 1)
    n_rot: leading elements rotated, even; 0: all of D
    theta: base of the frequencies theta^(-2i/n_rot)
    """
    _b = Builder(None, x, positions, offset, factors, cos, sin)
    desc = ffi.new("rlx_op_rope_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_rope_desc")
    desc.layout = _b.enum(Layout, layout)
    desc.style = _b.enum(RopeStyle, style)
    desc.positions = _b.node(positions)
    desc.offset = _b.node(offset)
    desc.factors = _b.node(factors)
    desc.cos = _b.node(cos)
    desc.sin = _b.node(sin)
    desc.n_rot = _b.size(n_rot)
    desc.theta = theta
    return _b.one(lib.rlx_op_rope(_b.c, _b.node(x), desc))


def axial_rope_2d(
    x: Operand, layout: Union[Layout, str] = "bshd", style: Union[RopeStyle, str] = "gptj", width: Size = 1,
    theta: float = 10000,
) -> Node:
    """rotary position on a grid: the first half of D is rotated by the column, the second by the row; 4 divides D.

    layout: axes of x
    style: pairs within each half
    width: tokens per row: token s is at column s mod width, row s / width
    theta: base of the frequencies theta^(-4i/D)
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_axial_rope_2d(
        _b.c, _b.node(x), _b.enum(Layout, layout), _b.enum(RopeStyle, style), _b.size(width), theta,
    ))


def layer_norm(
    x: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None, axis: Size = -1, eps: float = 1e-05,
) -> Node:
    """(x - mean) / sqrt(var + eps) gamma + beta over the axes from `axis`; biased variance in two passes; gamma and
    beta have the shape of those axes.

    axis: first of the normalised axes
    eps: added to the variance
    """
    _b = Builder(None, x, gamma, beta)
    return _b.one(lib.rlx_op_layer_norm(_b.c, _b.node(x), _b.node(gamma), _b.node(beta), _b.size(axis), eps))


def rms_norm(
    x: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None, axis: Size = -1, eps: float = 1e-05,
) -> Node:
    """x / sqrt(mean(x^2) + eps) gamma + beta over the axes from `axis`.

    axis: first of the normalised axes
    eps: added to the mean square
    """
    _b = Builder(None, x, gamma, beta)
    return _b.one(lib.rlx_op_rms_norm(_b.c, _b.node(x), _b.node(gamma), _b.node(beta), _b.size(axis), eps))


def layer_norm_2d(
    x: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None, eps: float = 1e-06,
) -> Node:
    """layer_norm over C at each pixel of [N, C, H, W].

    eps: added to the variance
    """
    _b = Builder(None, x, gamma, beta)
    return _b.one(lib.rlx_op_layer_norm_2d(_b.c, _b.node(x), _b.node(gamma), _b.node(beta), eps))


def group_norm(
    x: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None, groups: Size = 1, eps: float = 1e-05,
) -> Node:
    """normalises each of `groups` groups of channels of [N, C, ..]; gamma, beta [C].

    groups: divides C
    eps: added to the variance
    """
    _b = Builder(None, x, gamma, beta)
    return _b.one(lib.rlx_op_group_norm(_b.c, _b.node(x), _b.node(gamma), _b.node(beta), _b.size(groups), eps))


def instance_norm(
    x: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None, eps: float = 1e-05,
) -> Node:
    """normalises each channel of each sample of [N, C, ..]; gamma, beta [C].

    eps: added to the variance
    """
    _b = Builder(None, x, gamma, beta)
    return _b.one(lib.rlx_op_instance_norm(_b.c, _b.node(x), _b.node(gamma), _b.node(beta), eps))


def batch_norm_inference(
    x: Operand, mean: Operand, var: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None,
    eps: float = 1e-05,
) -> Node:
    """(x - mean) / sqrt(var + eps) gamma + beta, all per channel [C] of [N, C, ..].

    eps: added to the variance
    """
    _b = Builder(None, x, mean, var, gamma, beta)
    return _b.one(lib.rlx_op_batch_norm_inference(
        _b.c, _b.node(x), _b.node(mean), _b.node(var), _b.node(gamma), _b.node(beta), eps,
    ))


def softmax(x: Operand, axis: Size = -1) -> Node:
    """e^(x - max) / sum.

    axis: the axis that sums to 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_softmax(_b.c, _b.node(x), _b.size(axis)))


def log_softmax(x: Operand, axis: Size = -1) -> Node:
    """x - max - log(sum(e^(x - max))).

    axis: the axis normalised
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_log_softmax(_b.c, _b.node(x), _b.size(axis)))


def reduce_sum(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """sum; 0 if empty.

    axes: empty: all
    keep: keep reduced axes with size 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_sum(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_mean(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """mean; NaN if empty.

    axes: empty: all
    keep: keep reduced axes with size 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_mean(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_max(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """largest; NaN propagates; -inf or the smallest integer if empty.

    axes: empty: all
    keep: keep reduced axes with size 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_max(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_min(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """smallest; NaN propagates; inf or the largest integer if empty.

    axes: empty: all
    keep: keep reduced axes with size 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_min(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_prod(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """product; 1 if empty.

    axes: empty: all
    keep: keep reduced axes with size 1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_prod(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_l1(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """rlx_op_reduce_l1 of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_l1(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_l2(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """rlx_op_reduce_l2 of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_l2(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_sum_square(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """rlx_op_reduce_sum_square of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_sum_square(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_log_sum(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """rlx_op_reduce_log_sum of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_log_sum(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def reduce_log_sum_exp(x: Operand, axes: Dims = (), keep: bool = False) -> Node:
    """rlx_op_reduce_log_sum_exp of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reduce_log_sum_exp(_b.c, _b.node(x), _b.dims(axes), _b.flag(keep)))


def cumsum(x: Operand, axis: Size = -1, exclusive: bool = False, reverse: bool = False) -> Node:
    """running sum.

    axis: the axis
    exclusive: excluding the element itself
    reverse: from the end
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_cumsum(_b.c, _b.node(x), _b.size(axis), _b.flag(exclusive), _b.flag(reverse)))


def cumprod(x: Operand, axis: Size = -1, exclusive: bool = False, reverse: bool = False) -> Node:
    """running product.

    axis: the axis
    exclusive: excluding the element itself
    reverse: from the end
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_cumprod(_b.c, _b.node(x), _b.size(axis), _b.flag(exclusive), _b.flag(reverse)))


def cummax(x: Operand, axis: Size = -1, exclusive: bool = False, reverse: bool = False) -> Node:
    """running maximum; NaN propagates; exclusive starts at -inf or the smallest integer.

    axis: the axis
    exclusive: excluding the element itself
    reverse: from the end
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_cummax(_b.c, _b.node(x), _b.size(axis), _b.flag(exclusive), _b.flag(reverse)))


def argmax(x: Operand, axis: Size = -1, keep: bool = False, to: DTypeLike = "i64") -> Node:
    """index of the largest; of equal values the first, NaN before all others.

    axis: the axis searched, not empty
    keep: keep it with size 1
    to: i64 or i32
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_argmax(_b.c, _b.node(x), _b.size(axis), _b.flag(keep), _b.dtype(to)))


def argmin(x: Operand, axis: Size = -1, keep: bool = False, to: DTypeLike = "i64") -> Node:
    """index of the smallest; of equal values the first, NaN before all others.

    axis: the axis searched, not empty
    keep: keep it with size 1
    to: i64 or i32
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_argmin(_b.c, _b.node(x), _b.size(axis), _b.flag(keep), _b.dtype(to)))


def top_k_values(x: Operand, k: Size = 1, axis: Size = -1, largest: bool = True) -> Node:
    """the k largest, descending; ties to the smaller index; NaN counts as largest.

    k: number of results, at most the axis
    axis: the axis searched
    largest: else the smallest, ascending
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_top_k_values(_b.c, _b.node(x), _b.size(k), _b.size(axis), _b.flag(largest)))


def top_k_indices(x: Operand, k: Size = 1, axis: Size = -1, largest: bool = True, to: DTypeLike = "i64") -> Node:
    """the indices of top_k_values.

    k: number of results, at most the axis
    axis: the axis searched
    largest: else the smallest, ascending
    to: i64 or i32
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_top_k_indices(_b.c, _b.node(x), _b.size(k), _b.size(axis), _b.flag(largest), _b.dtype(to)))


def sort(x: Operand, axis: Size = -1, descending: bool = False) -> Node:
    """stable sort; NaN counts as largest.

    axis: the axis sorted
    descending: largest first
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_sort(_b.c, _b.node(x), _b.size(axis), _b.flag(descending)))


def argsort(x: Operand, axis: Size = -1, descending: bool = False, to: DTypeLike = "i64") -> Node:
    """the indices of sort; stable.

    axis: the axis sorted
    descending: largest first
    to: i64 or i32
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_argsort(_b.c, _b.node(x), _b.size(axis), _b.flag(descending), _b.dtype(to)))


def reshape(x: Operand, shape: Dims) -> Node:
    """the same elements in row-major order under another shape; of q8_0 and q4_0 the last axis stays.

    shape: the new sizes; one may be -1
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reshape(_b.c, _b.node(x), _b.dims(shape)))


def transpose(x: Operand, perm: Dims = ()) -> Node:
    """permutes axes.

    perm: axis of x for each axis of the result; empty: reversed
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_transpose(_b.c, _b.node(x), _b.dims(perm)))


def slice(x: Operand, axes: Dims = (), start: Dims = (), stop: Dims = (), step: Dims = ()) -> Node:
    """x[start:stop:step] on some axes, as NumPy; rows of a block type are taken whole.

    axes: the axes, default 0, 1, ..
    start: first index per axis; negative counts from the end
    stop: one past the last; clamped
    step: default 1; negative: backwards
    """
    _b = Builder(None, x)
    desc = ffi.new("rlx_op_slice_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_slice_desc")
    desc.axes = _b.dims(axes)
    desc.start = _b.dims(start)
    desc.stop = _b.dims(stop)
    desc.step = _b.dims(step)
    return _b.one(lib.rlx_op_slice(_b.c, _b.node(x), desc))


def narrow(x: Operand, axis: Size, start: Size, length: Size) -> Node:
    """rlx_op_narrow of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_narrow(_b.c, _b.node(x), _b.size(axis), _b.size(start), _b.size(length)))


def concat(xs: Sequence[Operand], axis: Size = 0) -> Node:
    """joins along an axis; one input or more.

    axis: the axis joined
    """
    _b = Builder(None, xs)
    xs_ = _b.nodes(xs)
    return _b.one(lib.rlx_op_concat(_b.c, xs_, len(xs_), _b.size(axis)))


def expand(x: Operand, shape: Dims) -> Node:
    """broadcasts x to a shape, as NumPy.

    shape: the result's sizes; -1 keeps one
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_expand(_b.c, _b.node(x), _b.dims(shape)))


def tile(x: Operand, reps: Dims) -> Node:
    """repeats the whole tensor along each axis.

    reps: copies per axis
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_tile(_b.c, _b.node(x), _b.dims(reps)))


def pad(x: Operand, lo: Dims, hi: Dims, mode: Union[PadMode, str] = "constant", value: float = 0) -> Node:
    """adds a border; reflect omits the edge element, as NumPy.

    lo: added before, per axis
    hi: added after, per axis
    mode: content of the border
    value: for constant
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_pad(_b.c, _b.node(x), _b.dims(lo), _b.dims(hi), _b.enum(PadMode, mode), value))


def reverse(x: Operand, axes: Dims = ()) -> Node:
    """flips axes.

    axes: empty: all
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_reverse(_b.c, _b.node(x), _b.dims(axes)))


def roll(x: Operand, shifts: Dims, axes: Dims = ()) -> Node:
    """shifts with wrap-around.

    shifts: positions moved toward the end
    axes: pairwise with shifts
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_roll(_b.c, _b.node(x), _b.dims(shifts), _b.dims(axes)))


def gather(x: Operand, idx: Operand, axis: Size = 0) -> Node:
    """idx's shape replaces the axis; negative indices count from the end; rows of a block type come out as f32.

    axis: the axis indexed; 0 for a block type
    """
    _b = Builder(None, x, idx)
    return _b.one(lib.rlx_op_gather(_b.c, _b.node(x), _b.node(idx), _b.size(axis)))


def gather_elements(x: Operand, idx: Operand, axis: Size = 0) -> Node:
    """out[i][j] = x[idx[i][j]][j] for axis 0.

    axis: the axis indexed
    """
    _b = Builder(None, x, idx)
    return _b.one(lib.rlx_op_gather_elements(_b.c, _b.node(x), _b.node(idx), _b.size(axis)))


def gather_nd(x: Operand, idx: Operand, batch_dims: Size = 0) -> Node:
    """idx's last axis holds coordinates into x.

    batch_dims: leading axes in common
    """
    _b = Builder(None, x, idx)
    return _b.one(lib.rlx_op_gather_nd(_b.c, _b.node(x), _b.node(idx), _b.size(batch_dims)))


def scatter_elements(
    x: Operand, idx: Operand, updates: Operand, axis: Size = 0, reduction: Union[Scatter, str] = "none",
) -> Node:
    """x with x[idx[i][j]][j] replaced by or combined with updates[i][j]; with none, the last update wins.

    axis: the axis indexed
    reduction: how an update is combined with the element
    """
    _b = Builder(None, x, idx, updates)
    return _b.one(lib.rlx_op_scatter_elements(
        _b.c, _b.node(x), _b.node(idx), _b.node(updates), _b.size(axis), _b.enum(Scatter, reduction),
    ))


def scatter_nd(x: Operand, idx: Operand, updates: Operand, reduction: Union[Scatter, str] = "none") -> Node:
    """x with the elements at the coordinates in idx's last axis replaced or combined; with none, the last update wins.

    reduction: how an update is combined with the element
    """
    _b = Builder(None, x, idx, updates)
    return _b.one(lib.rlx_op_scatter_nd(_b.c, _b.node(x), _b.node(idx), _b.node(updates), _b.enum(Scatter, reduction)))


def scatter_add(x: Operand, idx: Operand, updates: Operand, axis: Size = 0) -> Node:
    """scatter_elements with add, as PyTorch.

    axis: the axis indexed
    """
    _b = Builder(None, x, idx, updates)
    return _b.one(lib.rlx_op_scatter_add(_b.c, _b.node(x), _b.node(idx), _b.node(updates), _b.size(axis)))


def one_hot(
    idx: Operand, depth: Size = 1, axis: Size = -1, on: float = 1, off: float = 0, to: DTypeLike = "f32",
) -> Node:
    """`on` at idx, `off` elsewhere; negative counts from the end, out of range is all `off`.

    depth: size of the new axis
    axis: its position in the result
    on: value at the index
    off: value elsewhere
    to: the result's type
    """
    _b = Builder(None, idx)
    return _b.one(lib.rlx_op_one_hot(_b.c, _b.node(idx), _b.size(depth), _b.size(axis), on, off, _b.dtype(to)))


def range(count: Size, start: float = 0, step: float = 1, to: DTypeLike = "i32", *, graph: Graph) -> Node:
    """start, start + step, ...

    start: first value
    step: difference
    count: one number or symbol
    to: the result's type
    """
    _b = Builder(graph)
    return _b.one(lib.rlx_op_range(_b.c, start, step, _b.size(count), _b.dtype(to)))


def trilu(x: Operand, upper: bool = False, k: Size = 0) -> Node:
    """one triangle of the last two axes, zero elsewhere.

    upper: keep j >= i + k, else j <= i + k
    k: diagonal
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_trilu(_b.c, _b.node(x), _b.flag(upper), _b.size(k)))


def space_to_depth(x: Operand, block: Size = 2) -> Node:
    """[N, C, H, W] -> [N, C b b, H/b, W/b]; the block position is the slower part of the channel, as ONNX.

    block: divides H and W
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_space_to_depth(_b.c, _b.node(x), _b.size(block)))


def depth_to_space(x: Operand, block: Size = 2, mode: Union[DepthOrder, str] = "dcr") -> Node:
    """[N, C, H, W] -> [N, C/(b b), H b, W b].

    block: its square divides C
    mode: order of the channel's parts; crd is PyTorch's pixel_shuffle
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_depth_to_space(_b.c, _b.node(x), _b.size(block), _b.enum(DepthOrder, mode)))


def update(state: Operand, rows: Operand, at: Operand, axis: Size = 0) -> Node:
    """writes rows into a state at a run-time position; the result is the state; at is a scalar or, with axis > 0, one
    per index of axis 0; f32 rows are rounded to the state's f16, bf16, q8_0 or q4_0 (then not along the last axis);
    rows that would not fit are an error on the host and write nothing on a device; with axis > 0 rows may be
    packed: without the axes before `axis`, [n, ..], and at is [n], the place of each row counted through all axes
    up to `axis`, no two the same; then one out of range writes nothing.

    axis: the axis that `at` indexes
    """
    _b = Builder(None, state, rows, at)
    return _b.one(lib.rlx_op_update(_b.c, _b.node(state), _b.node(rows), _b.node(at), _b.size(axis)))


def view_as_real(x: Operand) -> Node:
    """c64 [..] as f32 [.., 2]."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_view_as_real(_b.c, _b.node(x)))


def view_as_complex(x: Operand) -> Node:
    """f32 [.., 2] as c64 [..]."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_view_as_complex(_b.c, _b.node(x)))


def conv(
    x: Operand, w: Operand, bias: Optional[Operand] = None, stride: Dims = (), dilation: Dims = (), pad_lo: Dims = (),
    pad_hi: Dims = (), groups: Size = 0,
) -> Node:
    """[N, C, ..] with w [O, C/groups, ..], 1 to 3 spatial axes; bias [O]; a non-finite weight may give NaN even where
    it overlaps only padding.

    stride: default 1
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    groups: divides both channel counts
    """
    _b = Builder(None, x, w, bias)
    desc = ffi.new("rlx_op_conv_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_conv_desc")
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    desc.groups = _b.size(groups)
    return _b.one(lib.rlx_op_conv(_b.c, _b.node(x), _b.node(w), _b.node(bias), desc))


def conv_transpose(
    x: Operand, w: Operand, bias: Optional[Operand] = None, stride: Dims = (), dilation: Dims = (), pad_lo: Dims = (),
    pad_hi: Dims = (), output_pad: Dims = (), groups: Size = 0,
) -> Node:
    """the gradient of conv: [N, C, ..] with w [C, O/groups, ..]; a non-finite weight may give NaN even where it
    overlaps no element of x.

    stride: default 1
    dilation: default 1
    pad_lo: cut from the start, default 0
    pad_hi: cut from the end, default 0
    output_pad: added to the end, default 0
    groups: divides both channel counts
    """
    _b = Builder(None, x, w, bias)
    desc = ffi.new("rlx_op_conv_transpose_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_conv_transpose_desc")
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    desc.output_pad = _b.dims(output_pad)
    desc.groups = _b.size(groups)
    return _b.one(lib.rlx_op_conv_transpose(_b.c, _b.node(x), _b.node(w), _b.node(bias), desc))


def pool_max(
    x: Operand, ceil: bool = False, count_pad: bool = False, kernel: Dims = (), stride: Dims = (),
    dilation: Dims = (), pad_lo: Dims = (), pad_hi: Dims = (),
) -> Node:
    """largest of each window of [N, C, ..], 1 to 3 spatial axes; NaN propagates; padding does not count and is at most
    dilation (kernel - 1); a dilated window that overlaps no element gives -inf.

    ceil: round the output size up; no window starts in the far padding
    kernel: empty: the whole plane
    stride: default: kernel
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    """
    _b = Builder(None, x)
    desc = ffi.new("rlx_op_pool_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_pool_desc")
    desc.ceil = _b.flag(ceil)
    desc.count_pad = _b.flag(count_pad)
    desc.kernel = _b.dims(kernel)
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    return _b.one(lib.rlx_op_pool_max(_b.c, _b.node(x), desc))


def pool_avg(
    x: Operand, ceil: bool = False, count_pad: bool = False, kernel: Dims = (), stride: Dims = (),
    dilation: Dims = (), pad_lo: Dims = (), pad_hi: Dims = (),
) -> Node:
    """mean of each window, as pool_max; a window that overlaps no element gives 0.

    ceil: round the output size up; no window starts in the far padding
    count_pad: padding counts as zeros; what ceil adds beyond it never counts
    kernel: empty: the whole plane
    stride: default: kernel
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    """
    _b = Builder(None, x)
    desc = ffi.new("rlx_op_pool_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_pool_desc")
    desc.ceil = _b.flag(ceil)
    desc.count_pad = _b.flag(count_pad)
    desc.kernel = _b.dims(kernel)
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    return _b.one(lib.rlx_op_pool_avg(_b.c, _b.node(x), desc))


def global_pool_max(x: Operand) -> Node:
    """rlx_op_global_pool_max of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_global_pool_max(_b.c, _b.node(x)))


def global_pool_avg(x: Operand) -> Node:
    """rlx_op_global_pool_avg of rlx.h: made of several ops.."""
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_global_pool_avg(_b.c, _b.node(x)))


def im2col(
    x: Operand, kernel: Dims = (), stride: Dims = (), dilation: Dims = (), pad_lo: Dims = (), pad_hi: Dims = (),
) -> Node:
    """[N, C, H, W] -> [N, C KH KW, L], the order of torch.unfold.

    kernel: KH, KW
    stride: default 1
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    """
    _b = Builder(None, x)
    desc = ffi.new("rlx_op_im2col_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_im2col_desc")
    desc.kernel = _b.dims(kernel)
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    return _b.one(lib.rlx_op_im2col(_b.c, _b.node(x), desc))


def resize(
    x: Operand, size: Dims, mode: Union[ResizeMode, str] = "nearest", coords: Union[ResizeCoords, str] = "half_pixel",
    nearest: Union[ResizeNearest, str] = "round_prefer_floor", scale: Sequence[float] = (),
) -> Node:
    """interpolates every axis whose size changes; coordinates are clamped to the edge.

    size: the result's shape, all axes
    mode: interpolation
    coords: how an output position maps to the input
    nearest: which neighbour
    scale: per axis, for the coordinates; empty: size / input size
    """
    _b = Builder(None, x)
    desc = ffi.new("rlx_op_resize_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_resize_desc")
    desc.mode = _b.enum(ResizeMode, mode)
    desc.coords = _b.enum(ResizeCoords, coords)
    desc.nearest = _b.enum(ResizeNearest, nearest)
    desc.scale = _b.floats(scale)
    return _b.one(lib.rlx_op_resize(_b.c, _b.node(x), _b.dims(size), desc))


def grid_sample(
    x: Operand, grid: Operand, mode: Union[GridMode, str] = "linear", padding: Union[GridPadding, str] = "zeros",
    align_corners: bool = False,
) -> Node:
    """[N, C, H, W] read at grid [N, OH, OW, 2] of (x, y) in -1 .. 1; also 3-d with (x, y, z); a non-finite coordinate
    is outside: zeros reads 0, border the element at that end (NaN: the first), reflection the first.

    mode: interpolation; cubic for 2-d only
    padding: outside the input
    align_corners: -1 and 1 are centres of the corner elements, else their outer edges
    """
    _b = Builder(None, x, grid)
    return _b.one(lib.rlx_op_grid_sample(
        _b.c, _b.node(x), _b.node(grid), _b.enum(GridMode, mode), _b.enum(GridPadding, padding),
        _b.flag(align_corners),
    ))


def rnn(
    x: Operand, weights: Sequence[Operand], direction: Union[Direction, str] = "forward",
    act: Union[RnnAct, str] = "tanh", out: Union[Out, str] = "y", batch_first: bool = False, no_bias: bool = False,
    h0: Optional[Operand] = None, hidden: Size = 0, layers: Size = 0,
) -> Node:
    """x [S, B, I]; per layer and direction w_ih [H, I], w_hh [H, H], b_ih [H], b_hh [H]; h0 [L D, B, H]; y [S, B, D
    H], h [L D, B, H]; PyTorch's equations.

    direction: D is 2 for both
    act: the nonlinearity
    out: the result
    batch_first: x is [B, S, I]
    hidden: H
    layers: L
    """
    _b = Builder(None, x, weights, h0)
    weights_ = _b.nodes(weights)
    desc = ffi.new("rlx_op_rnn_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_rnn_desc")
    desc.direction = _b.enum(Direction, direction)
    desc.act = _b.enum(RnnAct, act)
    desc.out = _b.enum(Out, out)
    desc.batch_first = _b.flag(batch_first)
    desc.no_bias = _b.flag(no_bias)
    desc.h0 = _b.node(h0)
    desc.hidden = _b.size(hidden)
    desc.layers = _b.size(layers)
    return _b.one(lib.rlx_op_rnn(_b.c, _b.node(x), weights_, len(weights_), desc))


def gru(
    x: Operand, weights: Sequence[Operand], direction: Union[Direction, str] = "forward", out: Union[Out, str] = "y",
    batch_first: bool = False, no_bias: bool = False, reset_before: bool = False, h0: Optional[Operand] = None,
    hidden: Size = 0, layers: Size = 0,
) -> Node:
    """as rnn with gates r, z, n stacked: w_ih [3H, I] and so on.

    direction: D is 2 for both
    out: the result
    batch_first: x is [B, S, I]
    hidden: H
    layers: L
    """
    _b = Builder(None, x, weights, h0)
    weights_ = _b.nodes(weights)
    desc = ffi.new("rlx_op_gru_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_gru_desc")
    desc.direction = _b.enum(Direction, direction)
    desc.out = _b.enum(Out, out)
    desc.batch_first = _b.flag(batch_first)
    desc.no_bias = _b.flag(no_bias)
    desc.reset_before = _b.flag(reset_before)
    desc.h0 = _b.node(h0)
    desc.hidden = _b.size(hidden)
    desc.layers = _b.size(layers)
    return _b.one(lib.rlx_op_gru(_b.c, _b.node(x), weights_, len(weights_), desc))


def lstm(
    x: Operand, weights: Sequence[Operand], direction: Union[Direction, str] = "forward", out: Union[Out, str] = "y",
    batch_first: bool = False, no_bias: bool = False, h0: Optional[Operand] = None, c0: Optional[Operand] = None,
    hidden: Size = 0, layers: Size = 0,
) -> Node:
    """as rnn with gates i, f, g, o stacked: w_ih [4H, I] and so on; c0 and c like h0 and h.

    direction: D is 2 for both
    out: the result
    batch_first: x is [B, S, I]
    hidden: H
    layers: L
    """
    _b = Builder(None, x, weights, h0, c0)
    weights_ = _b.nodes(weights)
    desc = ffi.new("rlx_op_lstm_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_lstm_desc")
    desc.direction = _b.enum(Direction, direction)
    desc.out = _b.enum(Out, out)
    desc.batch_first = _b.flag(batch_first)
    desc.no_bias = _b.flag(no_bias)
    desc.h0 = _b.node(h0)
    desc.c0 = _b.node(c0)
    desc.hidden = _b.size(hidden)
    desc.layers = _b.size(layers)
    return _b.one(lib.rlx_op_lstm(_b.c, _b.node(x), weights_, len(weights_), desc))


def selective_scan(
    x: Operand, dt: Operand, a: Operand, b: Operand, c: Operand, d: Optional[Operand] = None,
    h0: Optional[Operand] = None, out: Union[Out, str] = "y",
) -> Node:
    """Mamba: h = exp(dt a) h + dt b x, y = c . h + d x; x, dt [B, L, D], a [D, N], b, c [B, L, N], d [D], h [B, D, N].

    out: the result
    """
    _b = Builder(None, x, dt, a, b, c, d, h0)
    return _b.one(lib.rlx_op_selective_scan(
        _b.c, _b.node(x), _b.node(dt), _b.node(a), _b.node(b), _b.node(c), _b.node(d), _b.node(h0), _b.enum(Out, out),
    ))


def mamba2(
    x: Operand, dt: Operand, a: Operand, b: Operand, c: Operand, d: Optional[Operand] = None,
    h0: Optional[Operand] = None, out: Union[Out, str] = "y",
) -> Node:
    """SSD: h = exp(dt a) h + dt x b^T, y = h c + d x; x [B, L, H, P], dt [B, L, H], a [H], b, c [B, L, G, N] (G
    divides H), d [H], h [B, H, P, N].

    out: the result
    """
    _b = Builder(None, x, dt, a, b, c, d, h0)
    return _b.one(lib.rlx_op_mamba2(
        _b.c, _b.node(x), _b.node(dt), _b.node(a), _b.node(b), _b.node(c), _b.node(d), _b.node(h0), _b.enum(Out, out),
    ))


def gated_delta_net(
    q: Operand, k: Operand, v: Operand, decay: Operand, beta: Operand, h0: Optional[Operand] = None,
    out: Union[Out, str] = "y",
) -> Node:
    """s = exp(g) s; s += k (beta (v - s^T k))^T; y = s^T q / sqrt(N); q, k [B, L, H, N], v [B, L, H, V], g, beta [B,
    L, H], s [B, H, N, V].

    out: the result
    """
    _b = Builder(None, q, k, v, decay, beta, h0)
    return _b.one(lib.rlx_op_gated_delta_net(
        _b.c, _b.node(q), _b.node(k), _b.node(v), _b.node(decay), _b.node(beta), _b.node(h0), _b.enum(Out, out),
    ))


def causal_conv(
    x: Operand, w: Operand, bias: Optional[Operand] = None, state: Optional[Operand] = None,
    out: Union[Out, str] = "y",
) -> Node:
    """causal depthwise 1-d conv: x [B, C, L], w [C, K], bias [C], state [B, C, K-1] the elements before x (zero if
    absent); out state: the last K-1 elements of state and x; a non-finite weight may give NaN even where it
    overlaps only such zeros.

    out: the result
    """
    _b = Builder(None, x, w, bias, state)
    return _b.one(lib.rlx_op_causal_conv(
        _b.c, _b.node(x), _b.node(w), _b.node(bias), _b.node(state), _b.enum(Out, out),
    ))


def fft(x: Operand, axis: Size = -1, n: Size = 0, norm: Union[FftNorm, str] = "backward") -> Node:
    """discrete Fourier transform, any length; if a line has non-finite values, which of its results are non-finite is
    unspecified (also for the other transforms).

    axis: the axis transformed
    n: truncate or zero-pad to this length first; 0: the axis
    norm: which direction is scaled by 1/n
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_fft(_b.c, _b.node(x), _b.size(axis), _b.size(n), _b.enum(FftNorm, norm)))


def ifft(x: Operand, axis: Size = -1, n: Size = 0, norm: Union[FftNorm, str] = "backward") -> Node:
    """inverse transform.

    axis: the axis transformed
    n: truncate or zero-pad to this length first; 0: the axis
    norm: which direction is scaled by 1/n
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_ifft(_b.c, _b.node(x), _b.size(axis), _b.size(n), _b.enum(FftNorm, norm)))


def rfft(x: Operand, axis: Size = -1, n: Size = 0, norm: Union[FftNorm, str] = "backward") -> Node:
    """transform of real values: the first n/2 + 1 results.

    axis: the axis transformed
    n: truncate or zero-pad to this length first; 0: the axis
    norm: which direction is scaled by 1/n
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_rfft(_b.c, _b.node(x), _b.size(axis), _b.size(n), _b.enum(FftNorm, norm)))


def irfft(x: Operand, axis: Size = -1, n: Size = 0, norm: Union[FftNorm, str] = "backward") -> Node:
    """inverse of rfft; imaginary parts of the first and (n even) middle element are ignored.

    axis: the axis transformed
    n: the result's length; 0: 2 (m - 1)
    norm: which direction is scaled by 1/n
    """
    _b = Builder(None, x)
    return _b.one(lib.rlx_op_irfft(_b.c, _b.node(x), _b.size(axis), _b.size(n), _b.enum(FftNorm, norm)))


def stft(
    x: Operand, window: Optional[Operand] = None, n_fft: Size = 400, pad: Union[PadMode, str] = "reflect",
    no_center: bool = False, two_sided: bool = False, normalized: bool = False, hop: Size = 0,
) -> Node:
    """x [T] or [B, T] -> [.., bins, frames], as torch.stft; a shorter window is centred in the frame.

    n_fft: length of a frame
    pad: the mode of that padding
    normalized: divide by sqrt(n_fft)
    hop: step between frames; 0: n_fft / 4
    """
    _b = Builder(None, x, window)
    desc = ffi.new("rlx_op_stft_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_stft_desc")
    desc.no_center = _b.flag(no_center)
    desc.two_sided = _b.flag(two_sided)
    desc.normalized = _b.flag(normalized)
    desc.hop = _b.size(hop)
    return _b.one(lib.rlx_op_stft(_b.c, _b.node(x), _b.node(window), _b.size(n_fft), _b.enum(PadMode, pad), desc))


def rng_uniform(
    shape: Dims, draw: Optional[Operand] = None, to: DTypeLike = "f32", seed: Size = 0, lo: float = 0, hi: float = 1,
    *, graph: Graph,
) -> Node:
    """lo + (hi - lo) u, u the top 24 bits of word 0 over 2^24; rounding to f16 or bf16 may give hi.

    shape: the result's shape
    to: a float type
    seed: key
    lo: lower bound
    hi: upper bound
    """
    _b = Builder(graph, draw)
    return _b.one(lib.rlx_op_rng_uniform(_b.c, _b.node(draw), _b.dims(shape), _b.dtype(to), _b.size(seed), lo, hi))


def rng_normal(
    shape: Dims, draw: Optional[Operand] = None, to: DTypeLike = "f32", seed: Size = 0, mean: float = 0,
    std: float = 1, *, graph: Graph,
) -> Node:
    """mean + std sqrt(-2 log u1) cos(2 pi u2), u1 = (top 24 bits of word 0 + 1) / 2^24, u2 of word 1.

    shape: the result's shape
    to: a float type
    seed: key
    mean: mean
    std: standard deviation
    """
    _b = Builder(graph, draw)
    return _b.one(lib.rlx_op_rng_normal(_b.c, _b.node(draw), _b.dims(shape), _b.dtype(to), _b.size(seed), mean, std))


def sample(
    logits: Operand, temperature: float = 1, draw: Optional[Operand] = None, settings: Optional[Operand] = None,
    top_k: Size = 0, top_p: float = 0.0, min_p: float = 0.0, seed: Size = 0,
) -> Node:
    """one token per row of the last axis: temperature, top-k, softmax, top-p, min-p, one draw; -1 for a row with NaN
    or +inf, or with nothing above -inf. settings [4]: temperature, top_k, top_p and min_p of the run, instead of
    the attributes (top_k at most the attribute's, unless that is 0); NaN and values out of range become the nearest
    valid one, a NaN temperature 0.

    temperature: 0: argmax
    top_k: 0: all
    top_p: the smallest set of most likely tokens with this probability mass
    min_p: drop tokens below this fraction of the largest probability
    seed: key
    """
    _b = Builder(None, logits, draw, settings)
    desc = ffi.new("rlx_op_sample_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_sample_desc")
    desc.draw = _b.node(draw)
    desc.settings = _b.node(settings)
    desc.top_k = _b.size(top_k)
    desc.top_p = top_p
    desc.min_p = min_p
    desc.seed = _b.size(seed)
    return _b.one(lib.rlx_op_sample(_b.c, _b.node(logits), temperature, desc))


def if_(cond: Operand, on_true: Graph, on_false: Graph, xs: Sequence[Operand]) -> Tuple[Node, ...]:
    """output `index` of one of two graphs.

    on_true: input i is xs[i]
    on_false: likewise; outputs of the same types
    """
    _b = Builder(None, cond, xs)
    xs_ = _b.nodes(xs)
    outs = _b.outs(on_false)
    return _b.many(lib.rlx_op_if(
        _b.c, _b.node(cond), _b.graph_of(on_true), _b.graph_of(on_false), xs_, len(xs_), outs, len(outs),
    ), outs)


def while_(
    cond: Graph, body: Graph, xs: Sequence[Operand], carried: Size = 1, max_trips: Size = 0,
) -> Tuple[Node, ...]:
    """a carried value after running body while cond holds.

    cond: inputs as body's; one bool scalar
    body: inputs: carried values, then the rest; outputs: the next carried values
    carried: number of carried values in xs
    max_trips: the loop ends then; 0: more than 2^24 trips fail; -n: more than n
    """
    _b = Builder(None, xs)
    xs_ = _b.nodes(xs)
    outs = _b.outs(body)
    return _b.many(lib.rlx_op_while(
        _b.c, _b.graph_of(cond), _b.graph_of(body), _b.size(carried), _b.size(max_trips), xs_, len(xs_), outs,
        len(outs),
    ), outs)


def scan(
    body: Graph, xs: Sequence[Operand], carried: Size = 0, scanned: Size = 1, reverse: bool = False,
) -> Tuple[Node, ...]:
    """runs body over slices of axis 0.

    body: inputs: carried, one slice of each scanned, the rest; outputs: carried, then slices
    carried: number of carried values in xs
    scanned: number of the following that are scanned along axis 0
    reverse: from the end
    """
    _b = Builder(None, xs)
    xs_ = _b.nodes(xs)
    outs = _b.outs(body)
    return _b.many(lib.rlx_op_scan(
        _b.c, _b.graph_of(body), _b.size(carried), _b.size(scanned), _b.flag(reverse), xs_, len(xs_), outs, len(outs),
    ), outs)


def custom(name: str, xs: Sequence[Operand], config: str = "") -> Node:
    """an op registered by the program.

    name: the registered name
    config: passed to its shape rule and kernel
    """
    _b = Builder(None, xs)
    xs_ = _b.nodes(xs)
    return _b.one(lib.rlx_op_custom(_b.c, _b.text(name), _b.text(config), xs_, len(xs_)))


def fused_matmul_bias_act(
    a: Operand, b: Operand, bias: Optional[Operand] = None, trans_b: bool = False, act: Union[Act, str] = "none",
) -> Node:
    """act(a b + bias), bias [N].

    trans_b: b is [.., N, K]
    act: applied last
    """
    _b = Builder(None, a, b, bias)
    return _b.one(lib.rlx_op_fused_matmul_bias_act(
        _b.c, _b.node(a), _b.node(b), _b.node(bias), _b.flag(trans_b), _b.enum(Act, act),
    ))


def fused_conv_bias_act(
    x: Operand, w: Operand, bias: Optional[Operand] = None, residual: Optional[Operand] = None, stride: Dims = (),
    dilation: Dims = (), pad_lo: Dims = (), pad_hi: Dims = (), groups: Size = 0, act: Union[Act, str] = "none",
) -> Node:
    """act(conv(x, w, bias) + residual), the residual of the result's shape.

    stride: default 1
    dilation: default 1
    pad_lo: default 0
    pad_hi: default 0
    groups: divides both channel counts
    act: applied last
    """
    _b = Builder(None, x, w, bias, residual)
    desc = ffi.new("rlx_op_conv_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_conv_desc")
    desc.stride = _b.dims(stride)
    desc.dilation = _b.dims(dilation)
    desc.pad_lo = _b.dims(pad_lo)
    desc.pad_hi = _b.dims(pad_hi)
    desc.groups = _b.size(groups)
    return _b.one(lib.rlx_op_fused_conv_bias_act(
        _b.c, _b.node(x), _b.node(w), _b.node(bias), _b.node(residual), desc, _b.enum(Act, act),
    ))


def fused_residual_norm(
    x: Operand, residual: Operand, gamma: Optional[Operand] = None, beta: Optional[Operand] = None,
    kind: Union[NormKind, str] = "rms", eps: float = 1e-05,
) -> Node:
    """norm(x + residual).

    kind: which norm, over the last axis
    eps: added to the variance
    """
    _b = Builder(None, x, residual, gamma, beta)
    return _b.one(lib.rlx_op_fused_residual_norm(
        _b.c, _b.node(x), _b.node(residual), _b.node(gamma), _b.node(beta), _b.enum(NormKind, kind), eps,
    ))


def fused_swiglu(gate: Operand, up: Operand, act: Union[Act, str] = "silu") -> Node:
    """act(gate) * up.

    act: of the gate
    """
    _b = Builder(None, gate, up)
    return _b.one(lib.rlx_op_fused_swiglu(_b.c, _b.node(gate), _b.node(up), _b.enum(Act, act)))


def fused_gate_up(
    x: Operand, w_gate: Operand, w_up: Operand, trans_b: bool = False, act: Union[Act, str] = "silu",
) -> Node:
    """act(x w_gate) * (x w_up).

    trans_b: the weights are [.., N, K]
    act: of the gate
    """
    _b = Builder(None, x, w_gate, w_up)
    return _b.one(lib.rlx_op_fused_gate_up(
        _b.c, _b.node(x), _b.node(w_gate), _b.node(w_up), _b.flag(trans_b), _b.enum(Act, act),
    ))


def fused_norm_matmul(
    a: Operand, b: Operand, bias: Optional[Operand] = None, gamma: Optional[Operand] = None, trans_b: bool = False,
    act: Union[Act, str] = "none", eps: float = 1e-05,
) -> Node:
    """act(rms_norm(a) gamma b + bias): fused_matmul_bias_act of the normalised rows of a, gamma [K].

    trans_b: b is [.., N, K]
    act: applied last
    eps: of the norm, as rms_norm
    """
    _b = Builder(None, a, b, bias, gamma)
    return _b.one(lib.rlx_op_fused_norm_matmul(
        _b.c, _b.node(a), _b.node(b), _b.node(bias), _b.node(gamma), _b.flag(trans_b), _b.enum(Act, act), eps,
    ))


def fused_norm_gate_up(
    x: Operand, w_gate: Operand, w_up: Operand, gamma: Optional[Operand] = None, trans_b: bool = False,
    act: Union[Act, str] = "silu", eps: float = 1e-05,
) -> Node:
    """fused_gate_up of rms_norm(x) gamma, normalised by row, gamma [K].

    trans_b: the weights are [.., N, K]
    act: of the gate
    eps: of the norm, as rms_norm
    """
    _b = Builder(None, x, w_gate, w_up, gamma)
    return _b.one(lib.rlx_op_fused_norm_gate_up(
        _b.c, _b.node(x), _b.node(w_gate), _b.node(w_up), _b.node(gamma), _b.flag(trans_b), _b.enum(Act, act), eps,
    ))


def fused_norm_rope(
    x: Operand, gamma: Optional[Operand] = None, layout: Union[Layout, str] = "bshd",
    style: Union[RopeStyle, str] = "neox", positions: Optional[Operand] = None, offset: Optional[Operand] = None,
    factors: Optional[Operand] = None, cos: Optional[Operand] = None, sin: Optional[Operand] = None, n_rot: Size = 0,
    theta: float = 0.0, eps: float = 1e-05,
) -> Node:
    """rope of rms_norm(x) gamma, normalised by head, gamma [D].

    layout: axes of x
    style: as rope
    n_rot: as rope
    theta: as rope
    eps: of the norm, as rms_norm
    """
    _b = Builder(None, x, gamma, positions, offset, factors, cos, sin)
    desc = ffi.new("rlx_op_rope_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_rope_desc")
    desc.layout = _b.enum(Layout, layout)
    desc.style = _b.enum(RopeStyle, style)
    desc.positions = _b.node(positions)
    desc.offset = _b.node(offset)
    desc.factors = _b.node(factors)
    desc.cos = _b.node(cos)
    desc.sin = _b.node(sin)
    desc.n_rot = _b.size(n_rot)
    desc.theta = theta
    return _b.one(lib.rlx_op_fused_norm_rope(_b.c, _b.node(x), _b.node(gamma), desc, eps))


def fused_rope_update(
    state: Operand, rows: Operand, at: Operand, layout: Union[Layout, str] = "bshd",
    style: Union[RopeStyle, str] = "neox", positions: Optional[Operand] = None, offset: Optional[Operand] = None,
    factors: Optional[Operand] = None, cos: Optional[Operand] = None, sin: Optional[Operand] = None, n_rot: Size = 0,
    theta: float = 0.0, norm: bool = False, gamma: Optional[Operand] = None, eps: float = 1e-05,
) -> Node:
    """update along axis 1 with rope(rows), rows [B, S, H, D]; without positions, those of the rows in the state; with
    norm, rope of rms_norm(rows) gamma, gamma [D].

    style: as rope
    n_rot: as rope
    theta: as rope
    norm: normalise each head first
    eps: of the norm, as rms_norm
    """
    _b = Builder(None, state, rows, at, positions, offset, factors, cos, sin, gamma)
    desc = ffi.new("rlx_op_rope_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_rope_desc")
    desc.layout = _b.enum(Layout, layout)
    desc.style = _b.enum(RopeStyle, style)
    desc.positions = _b.node(positions)
    desc.offset = _b.node(offset)
    desc.factors = _b.node(factors)
    desc.cos = _b.node(cos)
    desc.sin = _b.node(sin)
    desc.n_rot = _b.size(n_rot)
    desc.theta = theta
    return _b.one(lib.rlx_op_fused_rope_update(
        _b.c, _b.node(state), _b.node(rows), _b.node(at), desc, _b.flag(norm), _b.node(gamma), eps,
    ))


def fused_rope_attention(
    rows: Operand, k: Operand, v: Operand, at: Operand, style: Union[RopeStyle, str] = "neox", norm: bool = False,
    factors: Optional[Operand] = None, gamma_q: Optional[Operand] = None, gamma_k: Optional[Operand] = None,
    n_rot: Size = 0, window: Size = 0, theta: float = 0.0, eps: float = 0.0, scale: float = 0.0, softcap: float = 0.0,
) -> Node:
    """attention of one new position per batch row, before its key and value are in the states: rows [B, 1, H + 2 Hkv,
    D] are its heads of q, k and v; k and v [B, C, Hkv, D] hold the earlier positions, and what they hold from `at`
    (scalar or [B]) on is not read; the result is attention(rope(q), fused_rope_update(k, ..), update(v, ..)) of the
    at + 1 first keys; with norm, rope of rms_norm(q) gamma_q and rms_norm(k) gamma_k, [D].

    style: as rope
    norm: normalise each head of q and k first
    n_rot: as rope
    window: only the last `window` keys, the new one included; 0: all
    theta: as rope
    eps: of the norm, as rms_norm
    scale: as attention
    softcap: as attention
    """
    _b = Builder(None, rows, k, v, at, factors, gamma_q, gamma_k)
    desc = ffi.new("rlx_op_fused_rope_attention_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_fused_rope_attention_desc")
    desc.style = _b.enum(RopeStyle, style)
    desc.norm = _b.flag(norm)
    desc.factors = _b.node(factors)
    desc.gamma_q = _b.node(gamma_q)
    desc.gamma_k = _b.node(gamma_k)
    desc.n_rot = _b.size(n_rot)
    desc.window = _b.size(window)
    desc.theta = theta
    desc.eps = eps
    desc.scale = scale
    desc.softcap = softcap
    return _b.one(lib.rlx_op_fused_rope_attention(_b.c, _b.node(rows), _b.node(k), _b.node(v), _b.node(at), desc))


def fused_attention_block(
    x: Operand, w_qkv: Operand, w_out: Operand, b_qkv: Optional[Operand] = None, b_out: Optional[Operand] = None,
    heads: Size = 0, kv_heads: Size = 0, head_dim: Size = 0, trans_b: bool = False, causal: bool = False,
    scale: float = 0.0,
) -> Node:
    """x [B, S, E]: one product for q, k, v (rows in that order, E x (H + 2 Hkv) D), attention, output product (H D x
    E).

    heads: H
    kv_heads: Hkv; 0: H
    head_dim: D; 0: E / H
    trans_b: the weights are [N, K]
    causal: as attention
    scale: 0: 1/sqrt(D)
    """
    _b = Builder(None, x, w_qkv, w_out, b_qkv, b_out)
    desc = ffi.new("rlx_op_fused_attention_block_desc *")
    desc.struct_bytes = ffi.sizeof("rlx_op_fused_attention_block_desc")
    desc.b_qkv = _b.node(b_qkv)
    desc.b_out = _b.node(b_out)
    desc.heads = _b.size(heads)
    desc.kv_heads = _b.size(kv_heads)
    desc.head_dim = _b.size(head_dim)
    desc.trans_b = _b.flag(trans_b)
    desc.causal = _b.flag(causal)
    desc.scale = scale
    return _b.one(lib.rlx_op_fused_attention_block(_b.c, _b.node(x), _b.node(w_qkv), _b.node(w_out), desc))


def region(body: Graph, xs: Sequence[Operand]) -> Node:
    """an element-wise region: a small graph of element-wise ops executed as one.

    body: element-wise ops; input i of the body is input i of the region; one output
    """
    _b = Builder(None, xs)
    xs_ = _b.nodes(xs)
    return _b.one(lib.rlx_op_region(_b.c, _b.graph_of(body), xs_, len(xs_)))


class NodeOps:
    """The ops whose first input is a node, as methods of it."""

    __slots__ = ()
    gelu = gelu
    gelu_approx = gelu_approx
    silu = silu
    relu = relu
    sigmoid = sigmoid
    tanh = tanh
    exp = exp
    log = log
    sqrt = sqrt
    rsqrt = rsqrt
    neg = neg
    abs = abs
    sin = sin
    cos = cos
    tan = tan
    atan = atan
    round = round
    floor = floor
    ceil = ceil
    sign = sign
    erf = erf
    reciprocal = reciprocal
    softplus = softplus
    hard_swish = hard_swish
    mish = mish
    elu = elu
    leaky_relu = leaky_relu
    hard_sigmoid = hard_sigmoid
    selu = selu
    selu_with = selu_with
    add = add
    sub = sub
    mul = mul
    div = div
    max = max
    min = min
    pow = pow
    mod = mod
    atan2 = atan2
    bit_and = bit_and
    bit_or = bit_or
    bit_xor = bit_xor
    shl = shl
    shr = shr
    and_ = and_
    or_ = or_
    xor = xor
    eq = eq
    ne = ne
    lt = lt
    le = le
    gt = gt
    ge = ge
    not_ = not_
    fma = fma
    where = where
    clamp = clamp
    cast = cast
    quantize = quantize
    dequantize = dequantize
    matmul = matmul
    matmul_t = matmul_t
    dot_general = dot_general
    lora_matmul = lora_matmul
    grouped_matmul = grouped_matmul
    dequant_grouped_matmul = dequant_grouped_matmul
    dequant_moe_weights = dequant_moe_weights
    dequant_matmul = dequant_matmul
    q_matmul = q_matmul
    q_conv2d = q_conv2d
    dense_solve = dense_solve
    attention = attention
    paged_attention = paged_attention
    rope = rope
    axial_rope_2d = axial_rope_2d
    layer_norm = layer_norm
    rms_norm = rms_norm
    layer_norm_2d = layer_norm_2d
    group_norm = group_norm
    instance_norm = instance_norm
    batch_norm_inference = batch_norm_inference
    softmax = softmax
    log_softmax = log_softmax
    reduce_sum = reduce_sum
    reduce_mean = reduce_mean
    reduce_max = reduce_max
    reduce_min = reduce_min
    reduce_prod = reduce_prod
    reduce_l1 = reduce_l1
    reduce_l2 = reduce_l2
    reduce_sum_square = reduce_sum_square
    reduce_log_sum = reduce_log_sum
    reduce_log_sum_exp = reduce_log_sum_exp
    cumsum = cumsum
    cumprod = cumprod
    cummax = cummax
    argmax = argmax
    argmin = argmin
    top_k_values = top_k_values
    top_k_indices = top_k_indices
    sort = sort
    argsort = argsort
    reshape = reshape
    transpose = transpose
    slice = slice
    narrow = narrow
    expand = expand
    tile = tile
    pad = pad
    reverse = reverse
    roll = roll
    gather = gather
    gather_elements = gather_elements
    gather_nd = gather_nd
    scatter_elements = scatter_elements
    scatter_nd = scatter_nd
    scatter_add = scatter_add
    one_hot = one_hot
    trilu = trilu
    space_to_depth = space_to_depth
    depth_to_space = depth_to_space
    update = update
    view_as_real = view_as_real
    view_as_complex = view_as_complex
    conv = conv
    conv_transpose = conv_transpose
    pool_max = pool_max
    pool_avg = pool_avg
    global_pool_max = global_pool_max
    global_pool_avg = global_pool_avg
    im2col = im2col
    resize = resize
    grid_sample = grid_sample
    rnn = rnn
    gru = gru
    lstm = lstm
    selective_scan = selective_scan
    mamba2 = mamba2
    gated_delta_net = gated_delta_net
    causal_conv = causal_conv
    fft = fft
    ifft = ifft
    rfft = rfft
    irfft = irfft
    stft = stft
    sample = sample
    if_ = if_
    fused_matmul_bias_act = fused_matmul_bias_act
    fused_conv_bias_act = fused_conv_bias_act
    fused_residual_norm = fused_residual_norm
    fused_swiglu = fused_swiglu
    fused_gate_up = fused_gate_up
    fused_norm_matmul = fused_norm_matmul
    fused_norm_gate_up = fused_norm_gate_up
    fused_norm_rope = fused_norm_rope
    fused_rope_update = fused_rope_update
    fused_rope_attention = fused_rope_attention
    fused_attention_block = fused_attention_block
