"""Programs: a graph compiled for a device, with NumPy in and out.

    program = rlx.compile(graph, {"w": weights})
    y = program.run({"x": array})["y"]

A run reads the memory of the arrays it is given and writes the memory of those it returns: nothing is copied on the way.
The path of a usual run (every input given, in the types and shapes of the run before) is the short one: only pointers
change from one run to the next. Everything else goes through `_run_any`. The lock guards the structs that the short path
reuses: a second thread takes the long path, where the library tells it RLX_BUSY.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import report as reports
from ._core import (_kept, Handle, Limits, NUMPY_OF, Tensor, Watch, as_array, bindings_of, c_dims, c_text,
                    copy_tensor, dims_of, done, dtype_name, dtype_value, error_of, ffi, fill_tensor, has_kept, info, keep, lib,
                    named_tensors, read_type, sized, switches, text)
from .enums import DType, ReportKind, Segment, Status
from .graph import Graph
from .session import Session, States, Weights, default_session

__all__ = ["Completion", "Program", "compile"]

_from_buffer, _empty, _ndarray = ffi.from_buffer, np.empty, np.ndarray
_run = lib.rlx_run


class _Slot:
    """One input or output of the short path: its place in the array of structs, and what it was in the run before."""

    __slots__ = ("name", "tensor", "dtype", "shape")

    def __init__(self, name: str, tensor: Any):
        self.name, self.tensor, self.dtype, self.shape = name, tensor, None, None


class Program(Handle):
    """A compiled graph. One thread at a time may run it; ``clone()`` makes another for a second thread, which shares
    weights and states.

    weights: arrays by name, set after compiling; or a Weights store, to share them
    bindings: numbers of symbols; the rest is inferred from the inputs of each run
    switches: a Switch, or names as "exact" and "forbid_host"
    passes, without: names of passes to run or to leave out, separated by commas
    plan_only: allocate nothing until the first write or run: to look at the plan
    progress: called with (stage, done, total) while compiling and running
    cancel: a function that returns true to end the call, asked every few milliseconds
    limits: of compiling and of each run
    """

    __slots__ = ("graph", "_watch", "_c_watch", "_is_watched", "_lock", "_in", "_out", "_ins", "_outs", "_n",
                 "_is_open", "_has_bindings", "_codes", "_bound", "_observer", "_specs", "_alive")

    def __init__(self, graph: Graph, session: Optional[Session] = None,
                 weights: Union[Weights, Dict[str, Any], None] = None, states: Optional[States] = None,
                 bindings: Optional[Dict[str, int]] = None, switches: Any = 0, passes: Optional[str] = None,
                 without: Optional[str] = None, plan_only: bool = False, cache: bool = True,
                 progress: Optional[Callable[[str, int, int], Any]] = None,
                 cancel: Optional[Callable[[], Any]] = None, limits: Optional[Limits] = None):
        options, alive = sized("rlx_compile_options"), []
        bound, options.n_bindings, kept = bindings_of(bindings)
        options.bindings = bound
        if isinstance(weights, Weights):
            options.weights = weights.c
        if states is not None:
            options.states = states.c
        for name, value in (("passes", passes), ("without", without)):
            if value is not None:
                alive.append(ffi.new("char[]", c_text(value)))
                setattr(options, name, alive[-1])
        options.switches, options.plan_only, options.no_cache = _switches(switches), plan_only, not cache
        watch = Watch(progress, cancel, limits)
        watch.fill(options.watch)
        out = ffi.new("rlx_executable **")
        done(lib.rlx_compile((session or default_session()).c, graph.finish().c, options, out))
        del kept, bound
        self._begin(graph, out[0], watch, bool(bindings))
        if isinstance(weights, dict):
            for name, value in weights.items():
                self.write(name, value)

    def _begin(self, graph: Graph, pointer: Any, watch: Watch, has_bindings: bool) -> None:
        Handle.__init__(self, pointer, lib.rlx_executable_destroy)
        self.graph, self._watch, self._has_bindings = graph, watch, has_bindings
        self._c_watch = ffi.new("rlx_watch *")
        watch.fill(self._c_watch)
        lib.rlx_executable_set_watch(self._c, self._c_watch)
        self._is_watched = True
        self._lock = threading.Lock()
        self._bound: Dict[str, Any] = {}
        self._observer: Any = None
        self._specs: Dict[Any, Any] = {}
        inputs, outputs = graph.inputs, graph.outputs
        self._codes = {n.name: int(n.dtype) for n in graph.nodes if n.op in ("input", "param", "state")}
        self._codes.update({name: int(n.dtype) for name, n in outputs.items() if name not in self._codes})
        self._is_open = any(not isinstance(s, int) for n in (*inputs.values(), *outputs.values()) for s in n.shape)
        self._n = (len(inputs), len(outputs))
        self._in, self._out = (ffi.new("rlx_named_tensor[]", max(n, 1)) for n in self._n)
        self._ins, self._outs, self._alive = {}, [], []
        for i, name in enumerate(inputs):
            self._alive.append(ffi.new("char[]", c_text(name)))
            self._in[i].name = self._alive[-1]
            self._ins[name] = _Slot(name, self._in[i].tensor)
        for i, name in enumerate(outputs):
            self._alive.append(ffi.new("char[]", c_text(name)))
            self._out[i].name = self._alive[-1]
            self._outs.append(_Slot(name, self._out[i].tensor))

    def close(self) -> None:
        super().close()
        self._bound, self._observer = {}, None

    def clone(self) -> "Program":
        """The same program for another thread: own scratch memory, shared weights and states."""
        out = ffi.new("rlx_executable **")
        done(lib.rlx_executable_clone(self.c, out))
        made = Program.__new__(Program)
        watch = Watch(self._watch.progress, self._watch.cancel, self._watch.limits)
        made._begin(self.graph, out[0], watch, self._has_bindings)
        return made

    # ---- running ----

    def run(self, inputs: Optional[Dict[str, Any]] = None, out: Optional[Dict[str, Any]] = None
            ) -> Dict[str, "np.ndarray[Any, Any]"]:
        """Writes the inputs, runs, and returns the outputs by name.

        inputs: arrays by name; an input that is not given keeps its value. Their types may be other floats (or
            integers) than the graph's, and are converted; lists and numbers take the graph's types.
        out: arrays by name that receive outputs, in their own types
        """
        if out is not None or inputs is None or len(inputs) != self._n[0] or self._bound:
            return self._run_any(inputs or {}, out or {})
        if not self._lock.acquire(False):
            return self._run_any(inputs, {})
        try:
            alive = []
            ins = self._ins
            for name, value in inputs.items():
                slot = ins.get(name)
                if slot is None or type(value) is not _ndarray or value.dtype is not slot.dtype or \
                        value.shape != slot.shape or not self._is_watched:
                    break
                try:
                    buffer = _from_buffer(value)
                except (ValueError, BufferError):  # not contiguous
                    break
                slot.tensor.data = buffer
                alive.append(buffer)
            else:
                pointer = self._c
                if pointer is not None:
                    results = {}
                    for slot in self._outs:
                        results[slot.name] = array = _empty(slot.shape, slot.dtype)
                        slot.tensor.data = buffer = _from_buffer(array)
                        alive.append(buffer)
                    status = _run(pointer, self._in, self._n[0], self._out, self._n[1])
                    if status or _kept:
                        done(status)
                    return results
        finally:
            self._lock.release()
        return self._run_any(inputs, {})

    __call__ = run

    def _run_any(self, inputs: Dict[str, Any], out: Dict[str, Any]) -> Dict[str, Any]:
        self._watch_again()
        arrays = {name: as_array(value, self._codes.get(name)) for name, value in inputs.items()}
        for name in out:
            if not any(slot.name == name for slot in self._outs):
                raise error_of(Status.NOT_FOUND, f"the graph has no output '{name}'")
        specs = self._output_specs(arrays)
        results: Dict[str, Any] = {}
        c_in, alive = named_tensors(arrays, self._codes)
        if specs is None:  # sizes that only a run can determine
            for name, array in arrays.items():
                self.write(name, array)
            done(lib.rlx_executable_run(self.c))
            for slot in self._outs:
                results[slot.name] = self._read_into(slot.name, out.get(slot.name))
            return results
        direct, read = {}, {}  # what the run writes itself, in the graph's types, and what is read and converted
        for name, (code, dtype, shape) in specs.items():
            if name in self._bound:
                results[name] = self._bound[name][0]
                continue
            results[name] = array = out[name] if name in out else _empty(shape, dtype)
            if not array.flags.c_contiguous or not array.flags.writeable:
                raise error_of(Status.INVALID, f"the array for output '{name}' must be contiguous and writeable")
            (direct if _CODES.get(array.dtype) == code else read)[name] = array
        c_out, alive_out = named_tensors(direct, {})
        done(lib.rlx_run(self.c, c_in, len(arrays), c_out, len(direct)))
        for name, array in read.items():
            self._read_into(name, array)
        del alive, alive_out
        if not out and not read and not self._bound and len(arrays) == self._n[0]:
            self._remember(arrays, specs)
        return results

    def _remember(self, arrays: Dict[str, Any], specs: Dict[str, Any]) -> None:
        """The types and shapes of a run that succeeded, for the short path."""
        if not self._lock.acquire(False):
            return
        try:
            for name, array in arrays.items():
                slot = self._ins[name]
                if not isinstance(array, np.ndarray) or array.dtype not in _CODES or not array.flags.c_contiguous:
                    slot.dtype = None
                    continue
                fill_tensor(slot.tensor, array)
                slot.dtype, slot.shape = array.dtype, array.shape
            for slot in self._outs:
                slot.tensor.dtype, slot.dtype, slot.shape = specs[slot.name]
                slot.tensor.shape = c_dims(slot.shape)
                slot.tensor.bytes = int(np.prod(slot.shape, dtype=np.int64)) * slot.dtype.itemsize
        finally:
            self._lock.release()

    def _output_specs(self, arrays: Dict[str, Any]) -> Optional[Dict[str, Any]]:
        """Type and shape of each output for these inputs; None where nothing but the run can say."""
        key: Any = None
        if self._is_open:
            if self._has_bindings or len(arrays) != self._n[0]:
                return None
            key = tuple((name, a.shape) for name, a in sorted(arrays.items(), key=lambda item: item[0]))
        found = self._specs.get(key)
        if found is None:
            graph = self.graph
            if self._is_open:
                if any(name not in self._ins for name in arrays):
                    return None  # the library says it in its own words
                graph = self.graph.bind_inputs({name: a.shape for name, a in arrays.items()})
            found = {name: (int(n.dtype), read_type(n.dtype), n.shape) for name, n in graph.outputs.items()}
            if any(not isinstance(s, int) for _, _, shape in found.values() for s in shape):
                return None
            if len(self._specs) > 256:
                self._specs.clear()
            self._specs[key] = found
        return found

    def _watch_again(self) -> None:
        if not self._is_watched:
            lib.rlx_executable_set_watch(self.c, self._c_watch)
            self._is_watched = True

    # ---- values ----

    def write(self, name: str, value: Any) -> None:
        """Sets an input, param or state. An array of block-typed or bf16 bytes is a Tensor."""
        tensor = ffi.new("rlx_tensor *")
        alive = fill_tensor(tensor, value, self._codes.get(name))
        done(lib.rlx_executable_write(self.c, c_text(name), tensor))
        del alive

    def describe(self, name: str) -> Tuple[DType, Tuple[int, ...]]:
        """Type and shape of an input, param, state or output, with the current sizes."""
        tensor = ffi.new("rlx_tensor *")
        done(lib.rlx_executable_describe(self.c, c_text(name), tensor))
        return DType(tensor.dtype), dims_of(tensor.shape)

    def read(self, name: str, dtype: Any = None) -> "np.ndarray[Any, Any]":
        """The current value of an output, input, param or state, as its own type or another float (or integer) type."""
        return self._read_into(name, None, dtype)

    def _read_into(self, name: str, array: Any, dtype: Any = None) -> Any:
        if array is None:
            code, shape = self.describe(name)
            array = _empty(shape, NUMPY_OF[dtype_value(dtype)] if dtype is not None else read_type(code))
        tensor = ffi.new("rlx_tensor *")
        alive = fill_tensor(tensor, array)
        done(lib.rlx_executable_read(self.c, c_text(name), tensor))
        del alive
        return array

    def bind_input(self, name: str, array: Any) -> None:
        """From now on every run reads this input from the array's memory, which must have the graph's type and shape
        and lie in one piece. None ends it."""
        self._bind(lib.rlx_executable_bind_input, name, array, False)

    def bind_output(self, name: str, array: Any) -> None:
        """From now on every run writes this output to the array's memory. None ends it."""
        self._bind(lib.rlx_executable_bind_output, name, array, True)

    def _bind(self, function: Any, name: str, array: Any, is_written: bool) -> None:
        if array is None:
            done(function(self.c, c_text(name), ffi.NULL, 0))
            self._bound.pop(name, None)
            return
        array = as_array(array)
        code = _CODES.get(array.dtype)
        if code != self._codes.get(name, code):
            raise error_of(Status.INVALID, f"'{name}': an array of {array.dtype} cannot be bound, the graph's type is "
                                           f"{text(lib.rlx_dtype_describe(self._codes[name]).name)}")
        if not array.flags.c_contiguous or (is_written and not array.flags.writeable):
            raise error_of(Status.INVALID, f"'{name}': an array that is bound must be contiguous"
                                           f"{' and writeable' if is_written else ''}")
        buffer = ffi.from_buffer(array)
        done(function(self.c, c_text(name), buffer, array.nbytes))
        self._bound[name] = (array if is_written else None, buffer)

    def execute(self) -> None:
        """Runs with the values that inputs have or are bound to, and reads nothing that is not bound: the least that a
        run can cost."""
        if not self._is_watched:
            self._watch_again()
        status = lib.rlx_executable_run(self.c)
        if status or _kept:
            done(status)

    def feed(self, output: Optional[str], to: str) -> None:
        """After each run, copies an output to an input or state inside the device. output None ends it."""
        name = ffi.NULL if output is None else c_text(output)
        done(lib.rlx_executable_feed(self.c, name, c_text(to)))

    def repeat(self, times: int, outputs: Optional[Sequence[str]] = None) -> Dict[str, "np.ndarray[Any, Any]"]:
        """As `times` runs with the feeds in between. Returns the outputs of all, stacked along a new first axis."""
        results = {}
        for name in (outputs if outputs is not None else [slot.name for slot in self._outs]):
            code, shape = self.describe(name)
            results[name] = _empty((times, *shape), read_type(code))
        c_out, alive = named_tensors(results, {})
        done(lib.rlx_executable_repeat(self.c, times, c_out, len(results)))
        del alive
        return results

    def set_draw(self, draw: int) -> None:
        """The number of the next run, from which random ops draw."""
        done(lib.rlx_executable_set_draw(self.c, draw))

    # ---- without waiting ----

    def run_async(self, inputs: Optional[Dict[str, Any]] = None) -> "Completion":
        """run() that does not wait: ``await program.run_async(..)`` in asyncio, or result() in any thread.

        The inputs are read before this returns. The program is busy until the run is done."""
        arrays = {name: as_array(value, self._codes.get(name)) for name, value in (inputs or {}).items()}
        specs = self._output_specs(arrays)
        if specs is None:
            if self._is_open and (self._has_bindings or len(arrays) != self._n[0]):
                specs = {}
                for slot in self._outs:
                    code, shape = self.describe(slot.name)
                    specs[slot.name] = (int(code), read_type(code), shape)
            else:
                done(lib.rlx_executable_write(self.c, c_text(next(iter(set(arrays) - set(self._ins)), "")), ffi.NULL))
        results = {}
        for name, (code, dtype, shape) in specs.items():  # type: ignore[union-attr]
            if _CODES.get(dtype) != code:
                raise error_of(Status.UNSUPPORTED, f"run_async: output '{name}' is {dtype_name(code)}, which NumPy does "
                                                   "not have: cast it in the graph")
            results[name] = _empty(shape, dtype)
        return Completion(self, arrays, results)

    # ---- looking inside ----

    @property
    def plan(self) -> reports.Plan:
        """The memory plan, with its picture."""
        return reports.plan_of(self.c)

    def report(self, kind: Union[str, ReportKind] = ReportKind.DISPATCH) -> reports.Report:
        """\"plan", "dispatch" (what runs where, and why), "profile" or "trace" (of profiled runs)."""
        from ._core import enum_value
        return reports.report_of(self.c, ReportKind(enum_value(ReportKind, kind)))

    @contextlib.contextmanager
    def profile(self) -> Iterator["Program"]:
        """Measures each step of the runs in the block; report("profile") and report("trace") then have the times."""
        done(lib.rlx_executable_profile(self.c, True))
        try:
            yield self
        finally:
            self._profiled_off()

    def _profiled_off(self) -> None:
        if not self.closed:
            done(lib.rlx_executable_profile(self.c, False))

    def observe(self, fn: Optional[Callable[[str, Any], Any]]) -> None:
        """Calls fn(op, value) with every step's result in the runs from now on, which are slow; None ends it."""
        handle = ffi.new_handle((self, fn)) if fn else ffi.NULL
        done(lib.rlx_executable_observe(self.c, lib.rlx_py_observe if fn else ffi.NULL, handle))
        self._observer = handle if fn else None

    def compare(self) -> List[Any]:
        """Runs once; each step is also computed by the reference on the same inputs. A row per step, with `ok`, the
        `error` as a fraction of the tolerance, and `why`."""
        rows: List[Any] = []
        handle, differ = ffi.new_handle(rows), ffi.new("uint32_t *")
        done(lib.rlx_executable_compare(self.c, lib.rlx_py_compare, handle, differ))
        return rows

    @property
    def memory(self) -> Dict[str, Any]:
        """Bytes by segment, and how many steps run on the device and on the host."""
        return reports.memory_of(self.c)

    def segment_bytes(self, segment: Union[str, Segment] = "none") -> int:
        """Bytes of a segment of the arena on the device; "none": of all together."""
        from ._core import enum_value
        out = ffi.new("rlx_arena **")
        done(lib.rlx_executable_arena(self.c, out))
        return int(lib.rlx_arena_bytes(out[0], enum_value(Segment, segment)))

    def __repr__(self) -> str:
        return "<closed Program>" if self.closed else \
            f"<Program: {', '.join(self._ins)} -> {', '.join(s.name for s in self._outs)}>"


_switches = switches
_CODES: Dict[Any, int] = {dtype: code for code, dtype in NUMPY_OF.items()}


@ffi.def_extern(onerror=keep)
def rlx_py_observe(user: Any, node: int, value: Any) -> None:
    if has_kept():
        return
    program, fn = ffi.from_handle(user)
    graph = lib.rlx_executable_graph(program._c)
    copied = copy_tensor(value)
    fn(text(lib.rlx_node_op(graph, node)) if graph != ffi.NULL else "", copied)


@ffi.def_extern(onerror=keep)
def rlx_py_compare(user: Any, row: Any) -> None:
    ffi.from_handle(user).append(info(row))


def compile(graph: Graph, weights: Union[Weights, Dict[str, Any], None] = None, **options: Any) -> Program:
    """A program of a graph, on the session that the option `session` names, else on the default one."""
    return Program(graph, weights=weights, **options)


# ---- runs in flight ----------------------------------------------------------------------------------------------

class Completion(Handle):
    """A run in flight. ``await`` it, or wait with result(); done() looks without waiting."""

    __slots__ = ("_results", "_program", "_alive", "_handle", "_lock", "_is_done", "_waiting")

    def __init__(self, program: Program, arrays: Dict[str, Any], results: Dict[str, Any]):
        self._results, self._program = results, program
        self._lock, self._is_done, self._waiting = threading.Lock(), False, []  # type: ignore[var-annotated]
        c_in, alive = named_tensors(arrays, program._codes)
        c_out, self._alive = named_tensors(results, {})
        self._alive.append(c_out)
        self._handle = ffi.new_handle(self)
        _in_flight[self._handle] = self
        if not program._watch.progress and not program._watch.cancel and not program._watch.limits \
                and program._is_watched:
            # The watch is there for Ctrl-C, which a run in flight does not need; without it no thread is needed.
            lib.rlx_executable_set_watch(program.c, ffi.NULL)
            program._is_watched = False
        options = sized("rlx_async_options")
        options.done, options.user = lib.rlx_py_done, self._handle
        out = ffi.new("rlx_completion **")
        try:
            done(lib.rlx_run_async(program.c, c_in, len(arrays), c_out, len(results), options, out))
        except BaseException:
            _in_flight.pop(self._handle, None)
            raise
        del alive
        super().__init__(out[0], lib.rlx_completion_destroy)

    def done(self) -> bool:
        """Whether the run is done, successful or not. Does not wait."""
        return bool(lib.rlx_completion_is_done(self.c))

    def result(self) -> Dict[str, "np.ndarray[Any, Any]"]:
        """Waits for the run and returns its outputs by name."""
        done(lib.rlx_completion_wait(self.c))
        return self._results

    def _call_when_done(self, fn: Callable[[], Any]) -> None:
        with self._lock:
            if not self._is_done:
                self._waiting.append(fn)
                return
        fn()

    def __await__(self) -> Any:
        import asyncio
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop may be closed by then
                loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(None))

        self._call_when_done(wake)
        yield from future
        return self.result()


_in_flight: Dict[Any, Completion] = {}  # what the library will call back lives until then


@ffi.def_extern(onerror=lambda *_: None)
def rlx_py_done(user: Any, _status: int) -> None:
    completion = ffi.from_handle(user)
    with completion._lock:
        completion._is_done = True
        waiting, completion._waiting = completion._waiting, []
    for fn in waiting:
        fn()
    _in_flight.pop(user, None)
