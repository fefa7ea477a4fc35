"""Oracles of the shape and indexing ops: reshape to view_as_complex, gather to update.

PyTorch where it has the op, NumPy where it has not or where its rule is the one that counts (slice, pad, roll, take,
repeated indices in an assignment). Only space_to_depth, depth_to_space in dcr order, gather_nd, one_hot, range and
update are spelled out here, by slicing and indexing, since neither library has them.
"""
import numpy as np
import torch
from core import golden

INTS = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "u32": np.uint32, "i64": np.int64}


def wide(x):
    """The same values as float64, complex128, int64 or bool: exact, and all that the libraries need."""
    if x.dtype.is_floating_point:
        return x.to(torch.float64)
    if x.dtype.is_complex:
        return x.to(torch.complex128)
    return x if x.dtype == torch.bool else x.to(torch.int64)


def array(x):
    return wide(x).numpy()


def wrap(values, dtype):
    """Integers modulo the width of the type; anything else as it is."""
    values = np.asarray(values)
    return values.astype(INTS[dtype]) if dtype in INTS else values


def cast(value, dtype):
    """A Python number under the rules of the op `cast`."""
    if dtype == "bool":
        return value != 0
    if dtype not in INTS:
        return value
    limits = np.iinfo(INTS[dtype])
    return min(max(int(value), int(limits.min)), int(limits.max))


# ---- moved by position ----


@golden("reshape")
def reshape(attrs, ins, out):
    x, shape = wide(ins[0]), attrs["shape"]
    if 0 in shape and -1 in shape:  # ambiguous to PyTorch; RLX lets equal sizes cancel, so 0 behaves like any batch
        sized = torch.zeros([d or 1 for d in x.shape]).reshape([d or 1 for d in shape]).shape
        return torch.zeros([0 if want == 0 else d for want, d in zip(shape, sized)], dtype=x.dtype)
    return x.reshape(shape)


@golden("transpose")
def transpose(attrs, ins, out):
    return wide(ins[0]).permute(attrs["perm"] or list(reversed(range(ins[0].dim()))))


@golden("slice")
def slice_(attrs, ins, out):
    where = [slice(None)] * ins[0].dim()
    for i, (start, stop) in enumerate(zip(attrs["start"], attrs["stop"])):
        axis = attrs["axes"][i] if attrs["axes"] else i
        where[axis] = slice(start, stop, attrs["step"][i] if attrs["step"] else 1)
    return array(ins[0])[tuple(where)]


@golden("concat")
def concat(attrs, ins, out):
    return torch.cat([wide(x) for x in ins], attrs["axis"])


@golden("expand")
def expand(attrs, ins, out):
    return wide(ins[0]).expand(attrs["shape"])


@golden("tile")
def tile(attrs, ins, out):
    return wide(ins[0]).repeat(attrs["reps"])


@golden("pad")
def pad(attrs, ins, out):
    x, widths = array(ins[0]), list(zip(attrs["lo"], attrs["hi"]))
    if not widths:  # NumPy takes no scalar
        return x
    if attrs["mode"] == "constant":
        return np.pad(x, widths, constant_values=cast(attrs["value"], out["dtype"]))
    return np.pad(x, widths, mode=attrs["mode"])


@golden("reverse")
def reverse(attrs, ins, out):
    return torch.flip(wide(ins[0]), attrs["axes"] or list(range(ins[0].dim())))


@golden("roll")
def roll(attrs, ins, out):
    x = array(ins[0])
    return np.roll(x, tuple(attrs["shifts"]), axis=tuple(attrs["axes"])) if attrs["axes"] else x  # NumPy wants an axis


@golden("trilu")
def trilu(attrs, ins, out):
    x = wide(ins[0])
    k = min(max(attrs["k"], -1000), 1000)  # a diagonal outside the matrix, as PyTorch can take it
    return torch.triu(x, k) if attrs["upper"] else torch.tril(x, k)


@golden("space_to_depth")
def space_to_depth(attrs, ins, out):
    x, b = array(ins[0]), attrs["block"]
    return np.concatenate([x[:, :, i::b, j::b] for i in range(b) for j in range(b)], axis=1)


@golden("depth_to_space")
def depth_to_space(attrs, ins, out):
    x, b = wide(ins[0]), attrs["block"]
    if attrs["mode"] == "crd":
        return torch.pixel_shuffle(x, b)
    n, c, h, w = x.shape
    y = torch.empty((n, c // (b * b), h * b, w * b), dtype=x.dtype)
    for i in range(b):
        for j in range(b):
            y[:, :, i::b, j::b] = x.reshape(n, b, b, c // (b * b), h, w)[:, i, j]
    return y


@golden("view_as_real")
def view_as_real(attrs, ins, out):
    return torch.view_as_real(wide(ins[0]))


@golden("view_as_complex")
def view_as_complex(attrs, ins, out):
    x = wide(ins[0])  # torch.view_as_complex refuses some empty tensors
    return torch.complex(x[..., 0], x[..., 1])


# ---- read by index ----


@golden("gather")
def gather(attrs, ins, out):
    return np.take(array(ins[0]), array(ins[1]), axis=attrs["axis"])


@golden("gather_elements")
def gather_elements(attrs, ins, out):
    x, axis = wide(ins[0]), attrs["axis"]
    return torch.gather(x, axis, wide(ins[1]) % x.shape[axis])


@golden("gather_nd")
def gather_nd(attrs, ins, out):
    x, idx, batch = array(ins[0]), array(ins[1]), attrs["batch_dims"]
    y = np.empty(idx.shape[:-1] + x.shape[batch + idx.shape[-1]:], x.dtype)
    for b in np.ndindex(x.shape[:batch]):
        y[b] = x[b][tuple(np.moveaxis(idx[b], -1, 0))]
    return y


# ---- written by index ----

AT = {"add": np.add.at, "mul": np.multiply.at, "max": np.maximum.at, "min": np.minimum.at}


def scatter(x, where, updates, reduction, dtype):
    """NumPy's indexed assignment keeps the last of several values; its ufunc.at applies them all."""
    y = array(x).astype(np.int64) if dtype == "bool" else array(x).copy()
    u = array(updates).astype(y.dtype)
    with np.errstate(all="ignore"):  # infinities and integers that wrap are part of the cases
        if reduction == "none":
            y[where] = u
        else:
            AT[reduction](y, where, u)
    return y != 0 if dtype == "bool" else wrap(y, dtype)


@golden("scatter_elements")
def scatter_elements(attrs, ins, out):
    idx = array(ins[1])
    where = list(np.indices(idx.shape))
    where[attrs["axis"]] = idx
    return scatter(ins[0], tuple(where), ins[2], attrs["reduction"], out["dtype"])


@golden("scatter_nd")
def scatter_nd(attrs, ins, out):
    return scatter(ins[0], tuple(np.moveaxis(array(ins[1]), -1, 0)), ins[2], attrs["reduction"], out["dtype"])


@golden("scatter_add")
def scatter_add(attrs, ins, out):
    x, axis = wide(ins[0]), attrs["axis"]
    y = torch.scatter_add(x, axis, wide(ins[1]) % x.shape[axis], wide(ins[2]))
    return wrap(y.numpy(), out["dtype"])


# ---- made from indices or numbers ----


@golden("one_hot")
def one_hot(attrs, ins, out):
    idx, depth = array(ins[0]), attrs["depth"]
    hit = np.where(idx < 0, idx + depth, idx)[..., None] == np.arange(depth)
    y = np.where(hit, cast(attrs["on"], out["dtype"]), cast(attrs["off"], out["dtype"]))
    return np.moveaxis(y, -1, attrs["axis"])


@golden("range")
def range_(attrs, ins, out):
    start, step, dtype = attrs["start"], attrs["step"], out["dtype"]
    if dtype in INTS and float(start).is_integer() and float(step).is_integer():
        start, step = int(start), int(step)  # exact, of any size
    values = [cast(start + i * step, dtype) for i in range(attrs["count"][0])]
    return np.array(values, INTS.get(dtype, np.float64))


@golden("fused_rope_update")
def fused_rope_update(attrs, ins, out):
    import ops_matmul
    positions, factors, gamma = (list(ins[3:]) + [None] * 3)[:3]
    if positions is None:
        first = ins[2].reshape(-1, 1).expand(ins[1].shape[0], 1)
        positions = first + torch.arange(ins[1].shape[1])
    how = {name: attrs[name] for name in attrs if name != "eps" or attrs["norm"]}
    rows = ops_matmul.rope({**how, "layout": "bshd"}, [ins[1], positions, None, factors, None, None, gamma], out)
    return update({"axis": 1}, [ins[0], rows, ins[2]], out)


def as_blocks(rows, dtype):
    """What rows are after they were rounded to a block type, by the gguf package."""
    import gguf
    kind = gguf.GGMLQuantizationType[dtype.upper()]
    return gguf.quants.dequantize(gguf.quants.quantize(rows.astype(np.float32), kind), kind).astype(np.float64)


@golden("update")
def update(attrs, ins, out):
    state, rows, at = array(ins[0]).copy(), array(ins[1]), array(ins[2])
    axis = attrs["axis"] % state.ndim
    if out["dtype"] in ("q8_0", "q4_0"):
        rows = as_blocks(rows, out["dtype"])
    if rows.ndim < state.ndim:  # packed: a place per row, through all axes up to the indexed one
        flat = state.reshape((int(np.prod(state.shape[:axis + 1])),) + state.shape[axis + 1:])
        for row, place in zip(rows, at):
            if 0 <= place < len(flat):
                flat[place] = row
        return state
    n = rows.shape[axis]
    if axis == 0 or at.size == 1:
        first = int(at.reshape(()))
        state[(slice(None),) * axis + (slice(first, first + n),)] = rows
        return state
    for i, first in enumerate(at):
        state[i][(slice(None),) * (axis - 1) + (slice(first, first + n),)] = rows[i]
    return state
