"""Devices and sessions: where programs run, and with how many threads and how much memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from ._core import Handle, Info, Limits, c_text, done, ffi, fill_tensor, info, lib, sized, text

if TYPE_CHECKING:
    from .graph import Graph
    from .program import Program

__all__ = ["Session", "States", "Weights", "absent_backends", "default_session", "devices"]


def devices() -> List[Info]:
    """The devices that there are."""
    found = []
    for i in range(lib.rlx_device_count()):
        out = sized("rlx_device_info")
        done(lib.rlx_device_describe(i, out))
        found.append(info(out))
    return found


def absent_backends() -> Dict[str, str]:
    """Backends of this library that have no device here, and why."""
    found, i, why = {}, 0, ffi.new("char const **")
    while True:
        name = lib.rlx_backend_name(i, why)
        if name == ffi.NULL:
            return found
        if why[0] != ffi.NULL:
            found[text(name)] = text(why[0])
        i += 1


class Session(Handle):
    """A device with threads of the host. Any number of threads may use one.

    device: a name ("cpu", "cuda", "vulkan"), an index or a UUID; None: the best one
    threads: threads of the host; 0: one per core
    limits: of every call that uses the session
    cache_bytes: budget of compiled programs kept for reuse
    pool_bytes: limit of idle device memory kept for reuse; None: the default
    """

    __slots__ = ()

    def __init__(self, device: Optional[str] = None, threads: int = 0, limits: Optional[Limits] = None,
                 cache_bytes: int = 0, pool_bytes: Optional[int] = None):
        desc = sized("rlx_session_desc")
        name = ffi.new("char[]", c_text(str(device))) if device is not None else ffi.NULL
        desc.device, desc.n_threads, desc.cache_bytes = name, threads, cache_bytes
        if pool_bytes is not None:
            desc.pool_bytes, desc.no_pool = pool_bytes, pool_bytes == 0
        if limits:
            limits.fill(desc.limits)
        out = ffi.new("rlx_session **")
        done(lib.rlx_session_create(desc, out))
        super().__init__(out[0], lib.rlx_session_destroy)

    def compile(self, graph: "Graph", weights: Union["Weights", Dict[str, Any], None] = None, **options: Any
                ) -> "Program":
        """A program of the graph for this device; the options are those of Program."""
        from .program import Program
        return Program(graph, session=self, weights=weights, **options)

    @property
    def device(self) -> Info:
        out = sized("rlx_device_info")
        done(lib.rlx_session_device(self.c, out))
        return info(out)

    @property
    def stats(self) -> Info:
        """Memory in use and kept, graphs compiled and found in the cache."""
        out = sized("rlx_session_stats")
        done(lib.rlx_session_stats_get(self.c, out))
        return info(out)

    def trim(self, keep_bytes: int = 0) -> None:
        """Returns idle device memory to the system."""
        lib.rlx_session_trim(self.c, keep_bytes)

    def __repr__(self) -> str:
        return "<closed Session>" if self.closed else f"<Session on {self.device.name}>"


_default: Optional[Session] = None
_lock = threading.Lock()


def default_session() -> Session:
    """The session of calls that name none: the best device, made when it is first needed."""
    global _default
    with _lock:
        if _default is None or _default.closed:
            _default = Session()
        return _default


class Weights(Handle):
    """Weights that several programs share: ``Weights(session, {"w": array})``. Bytes are copied, and packed for the
    device."""

    __slots__ = ()

    def __init__(self, session: Optional[Session] = None, values: Optional[Dict[str, Any]] = None):
        out = ffi.new("rlx_weights **")
        done(lib.rlx_weights_create((session or default_session()).c, out))
        super().__init__(out[0], lib.rlx_weights_destroy)
        for name, value in (values or {}).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        tensor = ffi.new("rlx_tensor *")
        alive = fill_tensor(tensor, value)
        done(lib.rlx_weights_set(self.c, c_text(name), tensor))
        del alive

    def __contains__(self, name: str) -> bool:
        return bool(lib.rlx_weights_has(self.c, c_text(name)))

    @property
    def nbytes(self) -> int:
        """On the device, as stored."""
        return int(lib.rlx_weights_bytes(self.c))


class States(Handle):
    """Named buffers that several programs share, as a K/V cache."""

    __slots__ = ()

    def __init__(self, session: Optional[Session] = None):
        out = ffi.new("rlx_states **")
        done(lib.rlx_states_create((session or default_session()).c, out))
        super().__init__(out[0], lib.rlx_states_destroy)

    def zero(self) -> None:
        """All of them, as at creation."""
        done(lib.rlx_states_zero(self.c))
