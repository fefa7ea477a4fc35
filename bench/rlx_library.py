"""RLX for benchmarks in Python: the structs of its public header and its shared library, by ctypes. Needs nothing beside Python."""

import ctypes
import os
import sys


class Dims(ctypes.Structure):
    _fields_ = [("v", ctypes.c_int64 * 8), ("n", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("shape", Dims), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


class SessionDesc(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_size_t), ("device", ctypes.c_char_p), ("threads", ctypes.c_uint32),
                ("pool_bytes", ctypes.c_uint64), ("no_pool", ctypes.c_bool), ("cache_bytes", ctypes.c_uint64)]


SWITCH_EXACT, SWITCH_FAST_CONV = 2, 4  # of rlx_switch


class CompileOptions(ctypes.Structure):
    _fields_ = ([("struct_bytes", ctypes.c_size_t)] +
                [(name, ctypes.c_size_t) for name in ("bindings", "n_bindings", "weights", "states", "passes", "without")] +
                [("switches", ctypes.c_uint32), ("plan_only", ctypes.c_bool), ("no_cache", ctypes.c_bool)] +
                [("watch", ctypes.c_size_t * 3)])


def f32_view(shape, address):
    """A view of contiguous f32 elements."""
    dims, count = Dims(n=len(shape)), 1
    for i, size in enumerate(shape):
        dims.v[i] = size
        count *= size
    return Tensor(0, dims, address, 4 * count)


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(os.path.abspath(path))
        self.c.rlx_message.restype = ctypes.c_char_p

    def call(self, name, *args):
        if getattr(self.c, name)(*args) != 0:
            sys.exit(f"{name}: {self.c.rlx_message().decode()}")

    def make(self, name, *args):
        out = ctypes.c_void_p()
        self.call(name, *args, ctypes.byref(out))
        return out
