"""Arrays from other packages through DLPack, without a copy.

NumPy takes what it has a type for. bf16 it does not have: then this module reads the capsule itself and gives a Tensor on
the same memory. What runs return are NumPy arrays, which offer DLPack themselves: torch.from_dlpack(result).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._core import Tensor, error_of
from .enums import DType, Status

_CPU_LIKE = {1, 3, 11}  # DLPack's CPU, and the host's memory that is pinned for a GPU (CUDA, ROCm)
_BFLOAT = 4


class _DLDevice(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _DLDevice), ("ndim", ctypes.c_int32), ("dtype", _DLDataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


def _peek(capsule: Any) -> _DLTensor:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return _DLTensor.from_address(get(capsule, b"dltensor"))


def from_dlpack(value: Any) -> Any:
    """An ndarray (or a Tensor of bf16) on the memory of an object with __dlpack__."""
    kind = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else 1
    if kind not in _CPU_LIKE:
        raise error_of(Status.UNSUPPORTED, f"a tensor in the memory of DLPack's device {int(kind)}: expected one in the "
                                           "host's memory")
    capsule = value.__dlpack__()
    tensor = _peek(capsule)
    if tensor.dtype.code != _BFLOAT:
        return np.from_dlpack(_Holder(capsule, value))
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.strides:
        expected = 1
        for size, stride in zip(reversed(shape), [tensor.strides[i] for i in reversed(range(tensor.ndim))]):
            if size != 1 and stride != expected:
                raise error_of(Status.INVALID, "a bf16 tensor that is not contiguous: make it so first")
            expected *= size
    raw = (ctypes.c_uint16 * count).from_address(tensor.data + tensor.byte_offset)
    raw.owner = capsule  # type: ignore[attr-defined]  # which frees the tensor when it is collected
    return Tensor(DType.BF16, shape, np.frombuffer(raw, np.uint16))


class _Holder:
    """A capsule that was taken already, for NumPy."""

    def __init__(self, capsule: Any, value: Any):
        self.capsule, self.value = capsule, value

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__() if hasattr(self.value, "__dlpack_device__") else (1, 0)
