"""ONNX models.

    model = rlx.onnx.load("model.onnx")
    outputs = model.run({"x": array})            # a dictionary by name

InferenceSession has the names of onnxruntime's class of that name, for programs that were written for it.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import report as reports
from ._core import (NUMPY_OF, Error, Handle, Info, Limits, Watch, as_array, bindings_of, c_path, c_text,
                    copy_tensor, done, error_of, ffi, info, keep, lib, named_tensors, sized, switches, take_tensor, text)
from .enums import DType, ReportKind, Status
from .graph import Graph
from .session import Session, Weights, default_session

__all__ = ["InferenceSession", "Model", "NodeArg", "Value", "load", "read_tensor"]

Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]


class Value:
    """An input or output as the file declares it. A size that inputs decide is the name of its symbol, or None."""

    __slots__ = ("name", "type", "dtype", "shape", "has_default")

    def __init__(self, c: Any):
        self.name, self.type, self.dtype = text(c.name), text(c.type), DType(c.dtype)
        self.has_default = bool(c.has_default)
        self.shape: Optional[Tuple[Union[int, str, None], ...]] = None if c.rank < 0 else tuple(
            int(d.size) if d.size >= 0 else text(d.symbol) if d.symbol != ffi.NULL else None
            for d in (c.dim[i] for i in range(c.rank)))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.type} {self.shape}>"


class _File(Handle):
    """The file; the memory of a model that is not in a file must live as long."""

    __slots__ = ("_memory",)

    def __init__(self, source: Source, watch: Any):
        out = ffi.new("rlx_onnx **")
        self._memory = None
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._memory = ffi.from_buffer(source)
            done(lib.rlx_onnx_open_memory(self._memory, len(self._memory), watch, out))
        else:
            done(lib.rlx_onnx_open(c_path(source), watch, out), is_file=True)
        super().__init__(out[0], lib.rlx_onnx_close)


class Model(Handle):
    """An ONNX model that runs on a session's device. One thread at a time may run it; ``clone()`` makes another runner
    of the same file for a second thread."""

    __slots__ = ("_file", "_session", "_options", "_watch", "_alive", "inputs", "outputs", "_codes", "_names")

    def __init__(self, source: Union[Source, _File], session: Optional[Session] = None,
                 bindings: Optional[Dict[str, int]] = None, switches: Any = 0, without: Optional[str] = None,
                 max_trips: int = 0, progress: Optional[Callable[[str, int, int], Any]] = None,
                 cancel: Optional[Callable[[], Any]] = None, limits: Optional[Limits] = None):
        watch = Watch(progress, cancel, limits)
        options = sized("rlx_onnx_options")
        watch.fill(options.watch)
        self._file = source if isinstance(source, _File) else _File(source, ffi.addressof(options, "watch"))
        array, options.n_bindings, alive = bindings_of(bindings)
        options.bindings = array
        self._alive = [array, *alive]
        if without is not None:
            self._alive.append(ffi.new("char[]", c_text(without)))
            options.without = self._alive[-1]
        options.switches, options.max_trips = _switches(switches), max_trips
        self._session, self._options, self._watch = session or default_session(), options, watch
        out = ffi.new("rlx_onnx_runner **")
        done(lib.rlx_onnx_runner_create(self._session.c, self._file.c, options, out))
        super().__init__(out[0], lib.rlx_onnx_runner_destroy)
        self.inputs = [_value(lib.rlx_onnx_input_at, self._file.c, i)
                       for i in range(lib.rlx_onnx_input_count(self._file.c))]
        self.outputs = [_value(lib.rlx_onnx_output_at, self._file.c, i)
                        for i in range(lib.rlx_onnx_output_count(self._file.c))]
        self._codes = {v.name: int(v.dtype) for v in self.inputs}
        self._names = [v.name for v in self.outputs]

    def clone(self) -> "Model":
        """Another runner of the same file, for another thread."""
        made = Model.__new__(Model)
        w = self._watch
        Model.__init__(made, self._file, self._session, switches=int(self._options.switches),
                       max_trips=int(self._options.max_trips), progress=w.progress, cancel=w.cancel, limits=w.limits)
        return made

    def run(self, inputs: Dict[str, Any], outputs: Optional[Sequence[str]] = None
            ) -> Dict[str, "np.ndarray[Any, Any]"]:
        """Runs and returns the outputs by name, all or those that are named."""
        c_in, alive = named_tensors(inputs, self._codes)
        done(lib.rlx_onnx_run(self.c, c_in, len(inputs)))
        del alive
        name, view, results = ffi.new("char const **"), ffi.new("rlx_tensor *"), {}
        for wanted in (outputs if outputs is not None else self._names):
            try:
                at = self._names.index(wanted)
            except ValueError:
                raise error_of(Status.NOT_FOUND, f"the model has no output '{wanted}'") from None
            done(lib.rlx_onnx_runner_output(self.c, at, name, view))
            results[wanted] = _own(view)
        return results

    __call__ = run

    # ---- looking inside ----

    @property
    def info(self) -> Info:
        """Producer, sizes, counts, opsets and metadata."""
        out = sized("rlx_onnx_info")
        done(lib.rlx_onnx_describe(self._file.c, out))
        found, version, value = info(out), ffi.new("int64_t *"), ffi.new("char const **")
        opsets = {}
        for i in range(out.n_opsets):
            domain = text(lib.rlx_onnx_opset_at(self._file.c, i, version))
            opsets[domain] = int(version[0])
        metadata = {}
        for i in range(out.n_metadata):
            key = text(lib.rlx_onnx_metadata_at(self._file.c, i, value))
            metadata[key] = text(value[0])
        return Info({**found, "opsets": opsets, "metadata": metadata})

    @property
    def ops(self) -> List[Info]:
        """The ops it uses, and how often."""
        found = []
        for i in range(lib.rlx_onnx_op_count(self._file.c)):
            out = sized("rlx_onnx_op_use")
            done(lib.rlx_onnx_op_at(self._file.c, i, out))
            found.append(info(out))
        return found

    @property
    def weights(self) -> "Initializers":
        """The initializers, read from the file when they are asked for."""
        return Initializers(self._file)

    def check(self) -> List[Tuple[bool, str]]:
        """Reads every weight. Returns (is_remark, text) of each finding: NaNs, ops that cannot run; remarks."""
        found: List[Tuple[bool, str]] = []
        handle = ffi.new_handle(found)
        status = lib.rlx_onnx_check(self._file.c, lib.rlx_py_found, handle)
        try:
            done(status)
        except Error:
            if not any(not is_remark for is_remark, _ in found):
                raise
        return found

    def graph(self, inputs: Optional[Dict[str, Any]] = None) -> Graph:
        """The model as a graph for inputs of these shapes. A model whose sizes depend on computed values has none:
        UnsupportedError names the node."""
        c_in, alive = named_tensors({k: as_array(v, self._codes.get(k)) for k, v in (inputs or {}).items()}, self._codes)
        out, cut = ffi.new("rlx_graph **"), ffi.new("char **")
        done(lib.rlx_onnx_graph(self._file.c, self._options, c_in, len(inputs or {}), out, cut))
        del alive
        graph = Graph(out[0])
        if cut[0] != ffi.NULL:
            why = text(cut[0])
            lib.rlx_free(cut[0])
            graph.close()
            raise error_of(Status.UNSUPPORTED, why)
        return graph

    def load_weights(self, graph: Graph, weights: Weights) -> Weights:
        """Puts the weights that a graph of this model reads into a store."""
        done(lib.rlx_onnx_load(self._file.c, graph.c, weights.c, ffi.addressof(self._options, "watch")))
        return weights

    def _parts(self) -> Iterator[Tuple[Any, str]]:
        part = sized("rlx_onnx_runner_part")
        for i in range(lib.rlx_onnx_runner_part_count(self.c)):
            done(lib.rlx_onnx_runner_part_at(self.c, i, part))
            yield part.executable, text(part.why)

    @property
    def parts(self) -> List[Tuple[bool, str]]:
        """The parts of the last run: whether it is a graph on the device, and why the next part is apart."""
        return [(executable != ffi.NULL, why) for executable, why in self._parts()]

    def _executable(self) -> Any:
        for executable, _ in self._parts():
            if executable != ffi.NULL:
                return executable
        raise error_of(Status.INVALID, "the model has not run yet, so there is nothing compiled to look at")

    @property
    def plan(self) -> reports.Plan:
        """The memory plan of the last run's first part."""
        return reports.plan_of(self._executable())

    def report(self, kind: Union[str, ReportKind] = ReportKind.DISPATCH) -> reports.Report:
        """What ran where, and why (of the last run's first part)."""
        from ._core import enum_value
        return reports.report_of(self._executable(), ReportKind(enum_value(ReportKind, kind)))

    @property
    def compile_count(self) -> int:
        """Graphs compiled so far."""
        return int(lib.rlx_onnx_runner_compile_count(self.c))

    def __repr__(self) -> str:
        return "<closed Model>" if self.closed else \
            f"<ONNX model: {', '.join(v.name for v in self.inputs)} -> {', '.join(self._names)}>"


_switches = switches


def _value(at: Any, file: Any, i: int) -> Value:
    out = sized("rlx_onnx_value")
    done(at(file, i, out))
    return Value(out)


def _own(view: Any) -> Any:
    """A copy of an output, whose memory is the library's until the next run."""
    if view.dtype in NUMPY_OF:
        made = np.empty(tuple(view.shape.v[0:view.shape.n]), NUMPY_OF[view.dtype])
        if view.bytes:
            ffi.memmove(ffi.from_buffer(made), view.data, view.bytes)
        return made
    value = copy_tensor(view)
    return value.numpy() if value.dtype == DType.BF16 else value


class Initializers:
    """The weights of a model, by name."""

    def __init__(self, file: _File):
        self._file = file

    def describe(self) -> List[Info]:
        """Name, type, shape and bytes of each."""
        out, found = sized("rlx_onnx_info"), []
        done(lib.rlx_onnx_describe(self._file.c, out))
        for i in range(out.n_initializers):
            one = sized("rlx_onnx_weight")
            done(lib.rlx_onnx_weight_at(self._file.c, i, one))
            found.append(info(one))
        return found

    def __iter__(self) -> Iterator[str]:
        return (w.name for w in self.describe())

    def __len__(self) -> int:
        return len(self.describe())

    def __getitem__(self, name: str) -> Any:
        out = ffi.new("rlx_tensor *")
        done(lib.rlx_onnx_weight_read(self._file.c, c_text(name), out))
        return take_tensor(out)


@ffi.def_extern(onerror=keep)
def rlx_py_found(user: Any, is_remark: bool, message: Any) -> None:
    ffi.from_handle(user).append((bool(is_remark), text(message)))


def load(source: Source, **options: Any) -> Model:
    """Opens a model: a path, or the bytes of one.

    session: where it runs; default: the best device
    bindings: sizes of symbols that inputs do not determine
    switches, without, progress, cancel, limits: as of rlx.Program
    max_trips: the most trips of a loop; 0: a million
    """
    return Model(source, **options)


def read_tensor(path: Union[str, "os.PathLike[str]"]) -> Tuple[str, Any]:
    """A tensor in ONNX's protobuf form (a .pb file): its name and its value."""
    name, out = ffi.new("char[256]"), ffi.new("rlx_tensor *")
    done(lib.rlx_onnx_tensor_read(c_path(path), name, 256, out), is_file=True)
    value = take_tensor(out)
    return text(name), value


# ---- the look-alike ----------------------------------------------------------------------------------------------

class NodeArg:
    """An input or output: name, type ("tensor(float)") and shape."""

    def __init__(self, value: Value):
        self.name, self.type = value.name, f"tensor({value.type})"
        self.shape = list(value.shape) if value.shape is not None else None

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class InferenceSession:
    """The calls of onnxruntime's InferenceSession that a program usually makes, on an RLX model.

    providers: the first is the device: "CPUExecutionProvider", "CUDAExecutionProvider", or a name of RLX's own
    """

    _DEVICES = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda", "VulkanExecutionProvider": "vulkan",
                "WebGpuExecutionProvider": "webgpu"}

    def __init__(self, path_or_bytes: Source, sess_options: Any = None, providers: Optional[Sequence[Any]] = None,
                 provider_options: Any = None):
        names = [p if isinstance(p, str) else p[0] for p in providers or ()]
        threads = int(getattr(sess_options, "intra_op_num_threads", 0) or 0)
        session, failure = None, None
        for name in names:
            try:
                session = Session(self._DEVICES.get(name, name), threads)
                break
            except Error as error:  # the next provider may do
                failure = failure or error
        if session is None:
            if failure:
                raise failure
            session = Session(threads=threads) if threads else default_session()
        self.model = Model(path_or_bytes, session=session)

    def run(self, output_names: Optional[Sequence[str]], input_feed: Dict[str, Any], run_options: Any = None
            ) -> List["np.ndarray[Any, Any]"]:
        names = list(output_names) if output_names else self.model._names
        found = self.model.run(input_feed, names)
        return [found[name] for name in names]

    def get_inputs(self) -> List[NodeArg]:
        return [NodeArg(v) for v in self.model.inputs if not v.has_default]

    def get_outputs(self) -> List[NodeArg]:
        return [NodeArg(v) for v in self.model.outputs]

    def get_providers(self) -> List[str]:
        backend = self.model._session.device.backend
        return [next((p for p, d in self._DEVICES.items() if d == backend), backend)]

    def get_modelmeta(self) -> Info:
        found = self.model.info
        return Info({"producer_name": found.producer, "graph_name": found.graph, "domain": found.domain,
                     "description": found.doc, "version": found.model_version,
                     "custom_metadata_map": found.metadata})
