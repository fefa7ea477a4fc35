"""Oracles of the vision and signal ops: PyTorch in double where it has the operation, NumPy for the transforms.

PyTorch pads evenly and has no dilated mean, so those cases are put together from other PyTorch operations (an explicit
border, a convolution with ones); resize falls back to the formulas of the ONNX operator as dense matrices where
interpolate lacks the mode. Each such place says so.
"""

import warnings

import numpy as np
import torch
import torch.nn.functional as F
from core import golden
from ops_matmul import ACTIVATIONS

warnings.filterwarnings("ignore", category=UserWarning)  # stft without a window, grid_sample's changed default


def per_axis(values, n, fallback):
    return list(values) if len(values) else [fallback] * n


def bordered(x, lo, hi, value=0.0):
    """x with a border on its spatial axes; F.pad wants the last axis first."""
    pads = [p for pair in reversed(list(zip(lo, hi))) for p in pair]
    return F.pad(x, pads, value=value)


def window(attrs, x):
    n = x.dim() - 2
    return (per_axis(attrs["stride"], n, 1), per_axis(attrs["dilation"], n, 1),
            per_axis(attrs["pad_lo"], n, 0), per_axis(attrs["pad_hi"], n, 0))


def doubles(ins, n=3):
    return [None if t is None else t.double() for t in ins] + [None] * (n - len(ins))


# ---- convolutions ----


@golden("conv")
def conv(attrs, ins, out):
    x, w, bias = doubles(ins)
    stride, dilation, lo, hi = window(attrs, x)
    f = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    return f(bordered(x, lo, hi), w, bias, stride=stride, dilation=dilation, groups=attrs["groups"])


@golden("fused_conv_bias_act")
def fused_conv_bias_act(attrs, ins, out):
    x, w, bias, residual = doubles(ins, 4)
    y = conv(attrs, [x, w, bias], out)
    return ACTIVATIONS[attrs["act"]](y if residual is None else y + residual)


@golden("conv_transpose")
def conv_transpose(attrs, ins, out):
    x, w, bias = doubles(ins)
    stride, dilation, lo, hi = window(attrs, x)
    extra = per_axis(attrs["output_pad"], x.dim() - 2, 0)
    f = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}[x.dim()]
    y = f(x, w, bias, stride=stride, dilation=dilation, groups=attrs["groups"], output_padding=extra)
    for i, (a, b) in enumerate(zip(lo, hi)):  # PyTorch's padding is even; cutting afterwards is the definition
        y = y.narrow(2 + i, a, y.shape[2 + i] - a - b)
    return y


@golden("im2col")
def im2col(attrs, ins, out):
    x = ins[0]
    stride, dilation, lo, hi = window(attrs, x)
    if x.numel() == 0:
        return torch.zeros(out["shape"], dtype=torch.float64)
    parts = [x.real, x.imag] if x.is_complex() else [x]  # F.unfold drops imaginary parts
    y = [F.unfold(bordered(p.double(), lo, hi), attrs["kernel"], dilation=dilation, stride=stride) for p in parts]
    if x.is_complex():
        return torch.complex(*y)
    return y[0] if x.is_floating_point() else y[0].to(x.dtype)  # integers here are small, so doubles hold them


# ---- pools ----


def torch_can_pool(kernel, dilation, lo, hi):
    return lo == hi and all(2 * p <= d * (k - 1) + 1 and 2 * p <= k for p, k, d in zip(lo, kernel, dilation))


def places(x, kernel, stride, dilation, lo, hi, ceil):
    """Output sizes, by PyTorch's documented rule: round up, but no window starts past the input and near border."""
    result = []
    for i, k in enumerate(kernel):
        size = x.shape[2 + i]
        room = size + lo[i] + hi[i] - dilation[i] * (k - 1) - 1
        n = (-(-room // stride[i]) if ceil else room // stride[i]) + 1
        if ceil and (n - 1) * stride[i] >= size + lo[i]:
            n -= 1
        result.append(n)
    return result


def far_border(x, n, kernel, stride, dilation, lo):
    """How much to add after the axis so that the last of n windows ends exactly there."""
    return [(n[i] - 1) * stride[i] + dilation[i] * (k - 1) + 1 - lo[i] - x.shape[2 + i] for i, k in enumerate(kernel)]


def pool_attrs(attrs, x):
    stride, dilation, lo, hi = window(attrs, x)
    kernel = list(attrs["kernel"])
    return kernel, stride if len(attrs["stride"]) else kernel, dilation, lo, hi


@golden("pool_max")
def pool_max(attrs, ins, out):
    x = ins[0].double()
    kernel, stride, dilation, lo, hi = pool_attrs(attrs, x)
    if not kernel:
        return x.amax(dim=tuple(range(2, x.dim())), keepdim=True)
    f = {3: F.max_pool1d, 4: F.max_pool2d, 5: F.max_pool3d}[x.dim()]
    if torch_can_pool(kernel, dilation, lo, hi):
        return f(x, kernel, stride, lo, dilation, attrs["ceil"])
    n = places(x, kernel, stride, dilation, lo, hi, attrs["ceil"])
    far = far_border(x, n, kernel, stride, dilation, lo)
    return f(bordered(x, lo, far, -float("inf")), kernel, stride, 0, dilation)


@golden("pool_avg")
def pool_avg(attrs, ins, out):
    x = ins[0].double()
    kernel, stride, dilation, lo, hi = pool_attrs(attrs, x)
    if not kernel:
        return x.mean(dim=tuple(range(2, x.dim())), keepdim=True)
    if torch_can_pool(kernel, dilation, lo, hi) and dilation == [1] * len(kernel):
        f = {3: F.avg_pool1d, 4: F.avg_pool2d, 5: F.avg_pool3d}[x.dim()]
        return f(x, kernel, stride, lo, attrs["ceil"], attrs["count_pad"])
    # Sums and counts as convolutions with ones; the counted region is the input, or the input and its border.
    n = places(x, kernel, stride, dilation, lo, hi, attrs["ceil"])
    far = far_border(x, n, kernel, stride, dilation, lo)
    conv_n = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.dim()]
    ones = torch.ones([1, 1] + kernel, dtype=torch.float64)
    planes = x.reshape([-1, 1] + list(x.shape[2:]))
    counted = torch.ones_like(planes)
    if attrs["count_pad"]:
        counted = bordered(counted, lo, hi, 1.0)
        counted = bordered(counted, [0] * len(lo), [a - b for a, b in zip(far, hi)])
    else:
        counted = bordered(counted, lo, far)
    total = conv_n(bordered(planes, lo, far), ones, stride=stride, dilation=dilation)
    count = conv_n(counted, ones, stride=stride, dilation=dilation)
    return torch.where(count > 0, total / count, torch.zeros(())).reshape(list(x.shape[:2]) + n)


# ---- resize ----


def torch_resize(attrs, x, size):
    """The result where interpolate has the mode, else None."""
    if x.dim() not in (3, 4, 5) or list(x.shape[:2]) != size[:2] or 0 in size:
        return None
    linear = {3: "linear", 4: "bilinear", 5: "trilinear"}[x.dim()]
    coords, nearest = attrs["coords"], attrs["nearest"]
    plain = all(n > 1 for n in size[2:]) and coords == "pytorch_half_pixel"
    if attrs["mode"] == "linear" and (coords in ("half_pixel", "align_corners") or plain):
        how = dict(mode=linear, align_corners=coords == "align_corners")
    elif attrs["mode"] == "nearest" and (coords, nearest) == ("asymmetric", "floor"):
        how = dict(mode="nearest")
    elif attrs["mode"] == "nearest" and (coords, nearest) == ("half_pixel", "round_prefer_ceil"):
        how = dict(mode="nearest-exact")
    else:
        return None
    if not len(attrs["scale"]):
        return F.interpolate(x, size=size[2:], **how)
    if list(attrs["scale"][:2]) != [1, 1] or coords == "align_corners":
        return None
    y = F.interpolate(x, scale_factor=list(attrs["scale"][2:]), recompute_scale_factor=False, **how)
    return y if list(y.shape) == size else None


def axis_weights(attrs, axis, n_in, n_out):
    """The ONNX formulas for one axis, as a matrix [n_out, n_in]."""
    scale = attrs["scale"][axis] if len(attrs["scale"]) else n_out / n_in
    i = np.arange(n_out, dtype=np.float64)
    half = (i + 0.5) / scale - 0.5
    x = {
        "half_pixel": half,
        "align_corners": np.linspace(0, n_in - 1, n_out) if n_out > 1 else i,
        "asymmetric": i / scale,
        "pytorch_half_pixel": half if n_out > 1 else i,
        "half_pixel_symmetric": n_in / 2 * (1 - n_out / (scale * n_in)) + half,
    }[attrs["coords"]]
    weights = np.zeros((n_out, n_in))
    if attrs["mode"] == "nearest":
        x = np.round(x, 9)  # 4.4999999 and 4.5 are the same place
        pick = {
            "round_prefer_floor": np.ceil(x - 0.5),
            "round_prefer_ceil": np.floor(x + 0.5),
            "floor": np.floor(x),
            "ceil": np.ceil(x),
        }[attrs["nearest"]]
        weights[np.arange(n_out), np.clip(pick, 0, n_in - 1).astype(int)] = 1
    else:
        low = np.floor(x)
        for k, w in ((low, 1 - (x - low)), (low + 1, x - low)):
            np.add.at(weights, (np.arange(n_out), np.clip(k, 0, n_in - 1).astype(int)), w)
    return weights


@golden("resize")
def resize(attrs, ins, out):
    x, size = ins[0].double(), list(attrs["size"])
    if 0 in size:
        return torch.zeros(size, dtype=torch.float64)
    y = torch_resize(attrs, x, size)
    if y is not None:
        return y
    y = x.numpy()
    for axis in range(x.dim()):
        w = axis_weights(attrs, axis, y.shape[axis], size[axis])
        y = np.moveaxis(np.tensordot(w, y, axes=(1, axis)), 0, axis)
    return y


# ---- grid_sample ----


@golden("grid_sample")
def grid_sample(attrs, ins, out):
    x, grid = ins[0].double(), ins[1].double()
    align = attrs["align_corners"]
    # PyTorch's paths disagree about coordinates that are not finite. RLX: they lie outside; `zeros` reads 0, `border`
    # the element at that end (NaN: the first), `reflection` the first.
    finite = torch.isfinite(grid)
    if attrs["padding"] == "border":
        grid = torch.nan_to_num(grid, nan=-1e4, posinf=1e4, neginf=-1e4)
    else:
        sizes = torch.tensor(list(reversed(x.shape[2:])), dtype=torch.float64)
        first = -torch.ones_like(sizes) if align else 1 / sizes - 1
        grid = torch.where(finite, grid, first.expand_as(grid))
    mode = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}[attrs["mode"]]
    y = F.grid_sample(x, grid, mode, attrs["padding"], align)
    if attrs["padding"] == "zeros":
        y = torch.where(finite.all(-1).unsqueeze(1), y, torch.zeros((), dtype=torch.float64))
    return y


# ---- signal ----


def transform(f, attrs, x):
    n = attrs["n"] or None
    return f(x.numpy().astype(np.complex128 if x.is_complex() else np.float64), n, attrs["axis"], attrs["norm"])


@golden("fft")
def fft(attrs, ins, out):
    return transform(np.fft.fft, attrs, ins[0])


@golden("ifft")
def ifft(attrs, ins, out):
    return transform(np.fft.ifft, attrs, ins[0])


@golden("rfft")
def rfft(attrs, ins, out):
    return transform(np.fft.rfft, attrs, ins[0])


@golden("irfft")
def irfft(attrs, ins, out):
    return transform(np.fft.irfft, attrs, ins[0])


@golden("stft")
def stft(attrs, ins, out):
    x, n = ins[0].double(), attrs["n_fft"]
    if x.numel() == 0:
        return np.zeros(out["shape"], dtype=np.complex128)
    win = ins[1].double() if len(ins) > 1 and ins[1] is not None else None
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}[attrs["pad"]]
    return torch.stft(x, n, attrs["hop"] or n // 4, len(win) if win is not None else n, win, attrs["center"], mode,
                      attrs["normalized"], attrs["onesided"], return_complex=True)
