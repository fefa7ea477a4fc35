"""What all of the package uses: the compiled module, statuses as exceptions, handles, callbacks, tensors.

Three ideas. A call that fails raises the library's own message (`done`). An object of the library is a Handle: closed by
close(), by the end of a with-block, or when it is collected, whichever comes first. An exception in a callback ends the
call and is raised by it: the callback keeps it for its thread (`_kept`), and `done` finds it there. That is how Ctrl-C
works too, because Python runs its signal handler in the main thread's next Python code, which is the library's question
whether to go on.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import enums
from ._native import ffi, lib
from .enums import DType, Status

__all__ = ["ffi", "lib"]

HAS_LM = hasattr(lib, "rlx_lm_load")
NULL = ffi.NULL


def text(pointer: Any, size: int = -1) -> str:
    """A C string; bytes that are no UTF-8 (names come from files) are replaced."""
    if pointer == NULL:
        return ""
    return (ffi.string(pointer) if size < 0 else ffi.buffer(pointer, size)[:]).decode("utf-8", "replace")


def c_text(value: Union[str, bytes]) -> bytes:
    """A text for C, which ends at a NUL: one inside would cut it silently."""
    data = value if isinstance(value, bytes) else value.encode()
    if b"\0" in data:
        raise ValueError("a NUL in a name or path")
    return data


def c_path(path: Any) -> bytes:
    import os
    return c_text(os.fsencode(path))


# ---- errors ------------------------------------------------------------------------------------------------------

class Error(Exception):
    """A call of the library that failed: its status, and its message, which says what was expected, found and where."""

    status: Status
    message: str

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = Status(status)
        self.message = message

    def __reduce__(self) -> Any:
        return type(self), (int(self.status), self.message)


class InvalidError(Error, ValueError):
    """An argument, graph or file content is wrong."""


class NoMemoryError(Error, MemoryError):
    """An allocation failed."""


class NotFoundError(Error, LookupError):
    """A name or device that does not exist."""


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file that does not exist."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not possible with this library or device."""


class IoError(Error, OSError):
    """The system refused a read or write."""


class BusyError(Error, RuntimeError):
    """The object is in use by another thread, or by the call whose callback this is."""


class CancelledError(Error):
    """A cancel function returned true."""


class DeviceLostError(Error, RuntimeError):
    """The device failed; the process can continue."""


class LimitError(Error):
    """A budget would be exceeded."""


class MemoryLimitError(LimitError, MemoryError):
    """More memory than the limit allows."""


class TimeLimitError(LimitError, TimeoutError):
    """The call took longer than its limit."""


_CLASSES: Dict[int, Any] = {Status.INVALID: InvalidError, Status.NO_MEMORY: NoMemoryError, Status.NOT_FOUND: NotFoundError,
            Status.UNSUPPORTED: UnsupportedError, Status.IO: IoError, Status.BUSY: BusyError,
            Status.CANCELLED: CancelledError, Status.DEVICE_LOST: DeviceLostError, Status.LIMIT: LimitError}
_kept: Dict[int, BaseException] = {}  # by thread: what a callback raised during the thread's current call


def error_of(status: int, message: Optional[str] = None, is_file: bool = False) -> Error:
    """The exception for a status, with this thread's last message."""
    if message is None:
        message = text(lib.rlx_message()) or text(lib.rlx_status_name(status))
    kind = _CLASSES.get(status, Error)
    if is_file and status == Status.NOT_FOUND:
        kind = MissingFileError
    elif status == Status.LIMIT:  # one status for all budgets; only the message says which
        kind = TimeLimitError if "time limit" in message else LimitError if "visits" in message else MemoryLimitError
    return kind(status, message)


def done(status: int, is_file: bool = False) -> None:
    """Ends a call: raises what a callback raised, or the error that the status says."""
    if _kept:
        kept = _kept.pop(threading.get_ident(), None)
        if kept is not None:
            raise kept
    if status:
        raise error_of(status, None, is_file)


def keep(_type: Any, value: BaseException, _traceback: Any) -> None:
    """onerror of every callback."""
    _kept.setdefault(threading.get_ident(), value)


def has_kept() -> bool:
    return bool(_kept) and threading.get_ident() in _kept


# ---- handles -----------------------------------------------------------------------------------------------------

class Handle:
    """An object of the library. close() frees it, and so does the end of a with-block."""

    __slots__ = ("_c", "__weakref__")

    def __init__(self, pointer: Any, destroy: Any):
        self._c = ffi.gc(pointer, destroy)

    @property
    def c(self) -> Any:
        """The pointer, while it is open."""
        if self._c is None:
            raise InvalidError(Status.INVALID, f"this {type(self).__name__} is closed")
        return self._c

    @property
    def closed(self) -> bool:
        return self._c is None

    def close(self) -> None:
        """Frees it. A second call does nothing."""
        pointer, self._c = self._c, None
        if pointer is not None:
            ffi.release(pointer)

    def __enter__(self) -> Any:
        self.c
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def owned_text(pointer: Any) -> str:
    """A text that the library allocated, which is freed."""
    result = text(pointer)
    lib.rlx_free(pointer)
    return result


def sized(kind: str) -> Any:
    """A struct that begins with its own size."""
    made = ffi.new(f"{kind} *")
    made.struct_bytes = ffi.sizeof(kind)
    return made


class Info:
    """Facts that the library reports about something, as attributes; dict(info) has them as a dictionary.

    The names are those of the struct in the C header."""

    def __init__(self, fields: Dict[str, Any]):
        self.__dict__.update(fields)

    def keys(self) -> Iterable[str]:
        return self.__dict__.keys()

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __getattr__(self, name: str) -> Any:  # for type checkers, which cannot see the fields
        raise AttributeError(name)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Info) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Info({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

    def _repr_html_(self) -> str:
        import html
        rows = "".join(f"<tr><td>{html.escape(k)}</td><td>{html.escape(str(v))}</td></tr>"
                       for k, v in self.__dict__.items())
        return f"<table>{rows}</table>"


def info(struct: Any) -> Info:
    """A struct that the library filled, field by field, whatever fields it has."""
    fields: Dict[str, Any] = {}
    kind = ffi.typeof(struct)
    for name, field in (kind.item if kind.kind == "pointer" else kind).fields:
        if name in ("struct_bytes", "reserved"):
            continue
        value, field = getattr(struct, name), field.type
        if field.cname in ("char *", "char const *", "const char *"):
            value = text(value)
        elif field.kind == "array" and field.item.cname == "char":
            value = text(value)
        elif field.kind == "enum":
            members = getattr(enums, ENUM_CLASSES.get(field.cname.replace("enum ", ""), ""), None)
            value = members(value) if members else value
        elif field.cname.endswith("rlx_dims"):
            value = tuple(value.v[0:max(value.n, 0)])
        fields[name] = value
    return Info(fields)


ENUM_CLASSES: Dict[int, Any] = {f"rlx_{c.__doc__}".replace("rlx_rlx_", "rlx_"): c.__name__
                for c in (getattr(enums, n) for n in enums.__all__)}


def enum_value(members: Any, value: Any) -> int:
    """A member, its name in any case, or its number."""
    if isinstance(value, str):
        try:
            return int(members[value.upper()])
        except KeyError:
            names = ", ".join(m.lower() for m in members.__members__)
            raise InvalidError(Status.INVALID, f"'{value}': expected one of {names}") from None
    return int(value)


def switches(value: Any) -> int:
    """Switches of a compilation: a Switch, or names."""
    from .enums import Switch
    if isinstance(value, str):
        value = [value]
    if isinstance(value, int):
        return int(value)
    total = 0
    for one in value or ():
        total |= enum_value(Switch, one)
    return total


# ---- limits, progress, cancelling --------------------------------------------------------------------------------

class Limits:
    """What one call may take; a zero is the default. See rlx_limits in the C header."""

    __slots__ = ("host_bytes", "device_bytes", "work", "seconds")

    def __init__(self, host_bytes: int = 0, device_bytes: int = 0, work: int = 0, seconds: float = 0.0):
        self.host_bytes, self.device_bytes, self.work, self.seconds = host_bytes, device_bytes, work, seconds

    def fill(self, c: Any) -> None:
        c.host_bytes, c.device_bytes, c.work, c.seconds = self.host_bytes, self.device_bytes, self.work, self.seconds

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{n}={getattr(self, n)}' for n in self.__slots__ if getattr(self, n))})"


class Watch:
    """Progress, cancelling and limits of a call, and Ctrl-C, which every watch notices."""

    __slots__ = ("progress", "cancel", "limits", "_handle")

    def __init__(self, progress: Optional[Callable[[str, int, int], Any]] = None,
                 cancel: Optional[Callable[[], Any]] = None, limits: Optional[Limits] = None):
        self.progress, self.cancel, self.limits = progress, cancel, limits
        self._handle = ffi.new_handle(self) if progress or cancel else NULL

    def fill(self, c: Any) -> None:
        """Writes it to an rlx_watch, which is valid as long as this object."""
        c.cancel = lib.rlx_py_cancel
        c.user = self._handle
        if self.progress:
            c.progress = lib.rlx_py_progress
        if self.limits:
            self.limits.fill(c.limits)


@ffi.def_extern(error=True, onerror=keep)
def rlx_py_cancel(user: Any) -> bool:
    if _kept and threading.get_ident() in _kept:
        return True
    if user == NULL:
        return False
    watch = ffi.from_handle(user)
    return bool(watch.cancel()) if watch.cancel else False


@ffi.def_extern(onerror=keep)
def rlx_py_progress(user: Any, stage: Any, part: int, total: int) -> None:
    ffi.from_handle(user).progress(text(stage), part, total)


_log: Optional[Callable[[enums.LogLevel, str], Any]] = None


@ffi.def_extern(onerror=lambda *_: None)  # a log may come from any thread: nobody is there to raise to
def rlx_py_log(_user: Any, level: int, message: Any) -> None:
    log = _log
    if log:
        log(enums.LogLevel(level), text(message))


def set_log(fn: Optional[Callable[[enums.LogLevel, str], Any]]) -> None:
    """Calls fn(level, text) with what the library logs, from whatever thread logs it; None: no log."""
    global _log
    _log = fn
    lib.rlx_set_log(lib.rlx_py_log if fn else NULL, NULL)


# ---- types -------------------------------------------------------------------------------------------------------

DTypeLike = Union[DType, str, type, "np.dtype[Any]"]

_NUMPY = {DType.F32: "float32", DType.F16: "float16", DType.F64: "float64", DType.I8: "int8", DType.U8: "uint8",
          DType.I16: "int16", DType.I32: "int32", DType.U32: "uint32", DType.I64: "int64", DType.BOOL: "bool",
          DType.C64: "complex64", DType.U16: "uint16", DType.U64: "uint64"}
NUMPY_OF = {int(d): np.dtype(n) for d, n in _NUMPY.items()}
DTYPE_OF = {n: d for d, n in NUMPY_OF.items()}
# Types that NumPy gets from a package (ml_dtypes), which is not needed to use them by these names.
_EXTRA = {"bfloat16": DType.BF16, "float8_e4m3fn": DType.F8E4M3, "float8_e5m2": DType.F8E5M2}


def dtype_value(value: Any) -> int:
    """The number of a type given by name ("f32", "float32", "q4_k"), as a DType, or as NumPy's."""
    if isinstance(value, (DType, int)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        code = int(lib.rlx_dtype_from_name(c_text(value)))
        if code != DType.DTYPE_UNKNOWN:
            return code
        if value in _EXTRA:
            return int(_EXTRA[value])
    try:
        found = np.dtype(value)
    except TypeError:
        raise InvalidError(Status.INVALID, f"{value!r}: expected a type, as \"f32\" or numpy.float32") from None
    code = DTYPE_OF.get(found.newbyteorder("="), _EXTRA.get(found.name))  # type: ignore[arg-type]
    if code is None:
        raise UnsupportedError(Status.UNSUPPORTED, f"NumPy's {found}: the library has no such type")
    return int(code)


def read_type(code: int) -> "np.dtype[Any]":
    """NumPy's type for values of a type; those that NumPy lacks (bf16, the 8-bit floats) are read as f32."""
    found = NUMPY_OF.get(code)
    if found is None:
        if code in (DType.BF16, DType.F8E4M3, DType.F8E5M2):
            return NUMPY_OF[DType.F32]
        raise UnsupportedError(Status.UNSUPPORTED, f"{dtype_name(code)}: NumPy has no such type")
    return found


def dtype_name(code: int) -> str:
    found = lib.rlx_dtype_describe(code)
    return text(found.name) if found != NULL else f"type {int(code)}"


def dims_of(c: Any) -> Tuple[int, ...]:
    return tuple(c.v[0:c.n]) if c.n > 0 else ()


def c_dims(shape: Sequence[int]) -> Dict[str, Any]:
    """An rlx_dims by value. More than eight sizes are the library's to refuse, with its words."""
    if len(shape) > 8:
        raise InvalidError(Status.INVALID, f"a shape of {len(shape)} axes: at most 8 are possible")
    return {"v": [int(s) for s in shape], "n": len(shape)}


class Tensor:
    """Bytes with a type and a shape: for types that NumPy does not have, as block types and bf16.

    `data` is any object with a buffer; it is not copied."""

    __slots__ = ("dtype", "shape", "data")

    def __init__(self, dtype: DTypeLike, shape: Sequence[int], data: Any):
        self.dtype, self.shape, self.data = DType(dtype_value(dtype)), tuple(shape), data

    @classmethod
    def encode(cls, values: Any, dtype: DTypeLike) -> "Tensor":
        """Floats in a block type ("q4_k"), with the smallest squared error; the last axis must be whole blocks."""
        code = dtype_value(dtype)
        array = np.ascontiguousarray(values, dtype=np.float32)
        size = ffi.new("size_t *")
        done(lib.rlx_tensor_bytes(code, c_dims(array.shape), size))
        blocks = np.empty(size[0], np.uint8)
        done(lib.rlx_quant_encode(code, ffi.from_buffer("float[]", array), ffi.from_buffer(blocks), array.size))
        return cls(DType(code), array.shape, blocks)

    def numpy(self) -> "np.ndarray[Any, Any]":
        """The values: a block type and bf16 as f32, others without a copy."""
        if self.dtype in NUMPY_OF:
            return np.frombuffer(self.data, NUMPY_OF[self.dtype]).reshape(self.shape)
        if self.dtype == DType.BF16:
            return (np.frombuffer(self.data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(self.shape)
        values = np.empty(self.shape, np.float32)
        done(lib.rlx_quant_decode(int(self.dtype), ffi.from_buffer(self.data), ffi.from_buffer("float[]", values),
                                  values.size))
        return values

    def __repr__(self) -> str:
        return f"Tensor({self.dtype.name.lower()}, {self.shape})"


def as_array(value: Any, code: Optional[int] = None) -> Any:
    """An array of whatever holds numbers: NumPy's as it is, DLPack's without a copy, lists in the type `code`.

    The result is an ndarray, or a Tensor for a type that NumPy lacks."""
    if isinstance(value, (np.ndarray, Tensor)):
        return value
    if isinstance(value, np.generic):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        from ._dlpack import from_dlpack
        return from_dlpack(value)
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return np.asarray(value, dtype=NUMPY_OF.get(code) if code is not None else None)


def fill_tensor(c: Any, value: Any, code: Optional[int] = None) -> Any:
    """Fills an rlx_tensor with a view of the value. Returns what must live as long as the view."""
    value = as_array(value, code)
    if isinstance(value, Tensor):
        kind, shape, buffer = int(value.dtype), value.shape, ffi.from_buffer(value.data)
        count = buffer and len(buffer)
    else:
        kind = DTYPE_OF.get(value.dtype)
        if kind is None:
            kind = dtype_value(value.dtype)
            if kind in NUMPY_OF:  # of another byte order
                value = value.astype(NUMPY_OF[kind])
            else:  # the buffer protocol does not know it
                value = np.ascontiguousarray(value).view(np.uint8 if value.itemsize == 1 else np.uint16)
        shape = value.shape
        if not value.flags.c_contiguous:
            value = np.ascontiguousarray(value).reshape(shape)
        buffer, count = ffi.from_buffer(value), value.nbytes
    if len(shape) > 8:
        raise InvalidError(Status.INVALID, f"an array of {len(shape)} axes: at most 8 are possible")
    c.dtype = kind
    c.shape.n = len(shape)
    for i, size in enumerate(shape):
        c.shape.v[i] = size
    c.data = buffer
    c.bytes = count
    return buffer


def take_tensor(c: Any) -> Any:
    """A tensor that the library allocated, as an array (or Tensor) of its own; the library's memory is freed."""
    try:
        return copy_tensor(c)
    finally:
        lib.rlx_free(c.data)


def copy_tensor(c: Any) -> Any:
    data, shape = ffi.buffer(c.data, c.bytes)[:] if c.bytes else b"", dims_of(c.shape)
    if c.dtype in NUMPY_OF:
        return np.frombuffer(bytearray(data), NUMPY_OF[c.dtype]).reshape(shape)
    return Tensor(DType(c.dtype), shape, data)


def named_tensors(values: Dict[str, Any], codes: Dict[str, int]) -> Tuple[Any, List[Any]]:
    """An rlx_named_tensor[] for a dictionary, and what must live as long as it."""
    array, alive = ffi.new("rlx_named_tensor[]", max(len(values), 1)), []
    for i, (name, value) in enumerate(values.items()):
        c_name = ffi.new("char[]", c_text(name))
        array[i].name = c_name
        alive += [c_name, fill_tensor(array[i].tensor, value, codes.get(name))]
    return array, alive


def bindings_of(values: Optional[Dict[str, int]]) -> Tuple[Any, int, List[Any]]:
    """An rlx_binding[], its length, and what must live as long as it."""
    items = list((values or {}).items())
    array, alive = ffi.new("rlx_binding[]", max(len(items), 1)), []
    for i, (name, size) in enumerate(items):
        alive.append(ffi.new("char[]", c_text(name)))
        array[i].symbol, array[i].size = alive[-1], size
    return array, len(items), alive
