"""Graphs: nodes that are built with operators, by name, or from text.

    g = rlx.Graph()
    x = g.input("x", "f32", ("B", 3))
    w = g.param("w", "f32", (3, 2))
    g.output("y", (x @ w).softmax(-1))

A size that is a text is a symbol, whose number each run gives. A call that cannot be built raises at once; the
graph keeps that error and takes no further op. A graph is finished (verified, and unchangeable) when it is first compiled, printed or bound.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._build import Builder, Dims, DTypeLike, Operand, Size
from ._core import (NUMPY_OF, Error, Handle, Tensor, as_array, bindings_of, c_dims, c_path, c_text, dims_of, done,
                    dtype_value, error_of, ffi, fill_tensor, lib, owned_text, text)
from .enums import DType, Status
from .ops import NodeOps, add, div, matmul, mod, mul, sub
from .ops import pow as pow_

Shape = Tuple[Optional[Size], ...]


class Node(NodeOps):
    """A value of a graph. Operators and methods append ops: ``x @ w + 1``, ``x.softmax(-1)``, ``x[:, 1:3]``.

    ``==`` compares identity, as for any object: the ops are ``x.eq(y)``, ``x.ne(y)``."""

    __slots__ = ("graph", "id")

    def __init__(self, graph: "Graph", number: int):
        self.graph, self.id = graph, number

    @property
    def op(self) -> str:
        """The name of its op."""
        return text(lib.rlx_node_op(self.graph.c, self.id))

    @property
    def name(self) -> Optional[str]:
        """The name of an input, param or state; else None."""
        found = lib.rlx_node_name(self.graph.c, self.id)
        return text(found) if found != ffi.NULL else None

    @property
    def dtype(self) -> DType:
        return DType(lib.rlx_node_dtype(self.graph.c, self.id))

    @property
    def shape(self) -> Shape:
        """Its sizes: numbers, names of symbols, None for what only the symbols' numbers will say."""
        return self.graph._shape(lib.rlx_node_shape(self.graph.c, self.id))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def inputs(self) -> Tuple[Optional["Node"], ...]:
        """What it is computed from; None for an optional input that is absent."""
        count = lib.rlx_node_input_count(self.graph.c, self.id)
        ids = [lib.rlx_node_input_at(self.graph.c, self.id, i) for i in range(count)]
        return tuple(Node(self.graph, i) if i else None for i in ids)

    def __repr__(self) -> str:
        try:
            name = f' "{self.name}"' if self.name else ""
            sizes = ", ".join("?" if s is None else str(s) for s in self.shape)
            return f"<{self.op}{name}: {self.dtype.name.lower()}[{sizes}]>"
        except Error:
            return "<node of a closed graph>"

    def __bool__(self) -> bool:
        raise TypeError("a node has no truth value: it is computed when the graph runs (ops.where, ops.if_)")

    def __iter__(self) -> Any:
        raise TypeError("a node cannot be iterated over")

    # ---- operators ----

    def __add__(self, other: Operand) -> "Node":
        return self.add(other)

    def __radd__(self, other: Operand) -> "Node":
        return add(other, self)

    def __sub__(self, other: Operand) -> "Node":
        return self.sub(other)

    def __rsub__(self, other: Operand) -> "Node":
        return sub(other, self)

    def __mul__(self, other: Operand) -> "Node":
        return self.mul(other)

    def __rmul__(self, other: Operand) -> "Node":
        return mul(other, self)

    def __truediv__(self, other: Operand) -> "Node":
        return self.div(other)

    def __rtruediv__(self, other: Operand) -> "Node":
        return div(other, self)

    def __mod__(self, other: Operand) -> "Node":
        return self.mod(other)

    def __rmod__(self, other: Operand) -> "Node":
        return mod(other, self)

    def __pow__(self, other: Operand) -> "Node":
        return self.pow(other)

    def __rpow__(self, other: Operand) -> "Node":
        return pow_(other, self)

    def __matmul__(self, other: Operand) -> "Node":
        return self.matmul(other)

    def __rmatmul__(self, other: Operand) -> "Node":
        return matmul(other, self)

    def __neg__(self) -> "Node":
        return self.neg()

    def __abs__(self) -> "Node":
        return self.abs()

    def __lt__(self, other: Operand) -> "Node":
        return self.lt(other)

    def __le__(self, other: Operand) -> "Node":
        return self.le(other)

    def __gt__(self, other: Operand) -> "Node":
        return self.gt(other)

    def __ge__(self, other: Operand) -> "Node":
        return self.ge(other)

    def __invert__(self) -> "Node":
        return self.not_()

    def __and__(self, other: Operand) -> "Node":
        return self.and_(other) if self.dtype == DType.BOOL else self.bit_and(other)

    def __or__(self, other: Operand) -> "Node":
        return self.or_(other) if self.dtype == DType.BOOL else self.bit_or(other)

    def __xor__(self, other: Operand) -> "Node":
        return self.xor(other) if self.dtype == DType.BOOL else self.bit_xor(other)

    def __lshift__(self, other: Operand) -> "Node":
        return self.shl(other)

    def __rshift__(self, other: Operand) -> "Node":
        return self.shr(other)

    # NumPy leaves `array + node` to the node.
    __array_ufunc__ = None

    def __getitem__(self, key: Any) -> "Node":
        """Slices, numbers, ``...`` and None as in NumPy; other nodes are the op gather."""
        keys = list(key if isinstance(key, tuple) else (key,))
        taken = sum(1 for k in keys if k is not None and k is not Ellipsis)
        if taken > self.ndim:
            raise error_of(Status.INVALID, f"{taken} indices of a value with {self.ndim} axes")
        if Ellipsis in keys:
            at = keys.index(Ellipsis)
            keys[at:at + 1] = [slice(None)] * (self.ndim - taken)
        axes: List[int] = []
        start: List[Size] = []
        stop: List[Size] = []
        step: List[Size] = []
        axis, reshaped = 0, False
        for k in keys:
            if k is None:
                reshaped = True
                continue
            if isinstance(k, slice):
                if k != slice(None):
                    by = 1 if k.step is None else int(k.step)
                    axes.append(axis)
                    start.append((0 if by > 0 else _FAR) if k.start is None else k.start)
                    stop.append((_FAR if by > 0 else -_FAR) if k.stop is None else k.stop)
                    step.append(by)
            elif isinstance(k, (int, np.integer)):
                size = self.shape[axis]
                if isinstance(size, int) and not -size <= k < size:
                    raise IndexError(f"index {k} of an axis with {size} elements")
                axes.append(axis)
                start.append(int(k))
                stop.append(_FAR if k == -1 else int(k) + 1)
                step.append(1)
                reshaped = True
            else:
                raise TypeError(f"{type(k).__name__} as an index: expected numbers, slices, ... or None; "
                                "x.gather(indices, axis) takes computed ones")
            axis += 1
        result = self.slice(axes=axes, start=start, stop=stop, step=step) if axes else self
        return result.reshape(_new_shape(result.shape, keys, axis)) if reshaped else result


_FAR = 2 ** 62  # past the end of any axis; slices are clamped


def _new_shape(sizes: Sequence[Optional[Size]], keys: Sequence[Any], taken: int) -> List[Size]:
    """Sizes after slicing, without the axes that a number took and with those that None added."""
    shape: List[Optional[Size]] = []
    axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        if isinstance(k, slice):
            shape.append(sizes[axis])
        axis += 1
    shape += sizes[taken:]
    if shape.count(None) > 1:
        raise error_of(Status.UNSUPPORTED, "an index that removes or adds an axis, beside several unknown sizes")
    return [-1 if s is None else s for s in shape]


class Graph(Handle):
    """A graph of ops. See the module's text; ``rlx.Graph.parse(text)`` and ``rlx.Graph.read(path)`` read one."""

    __slots__ = ("_is_finished",)

    def __init__(self, _pointer: Any = None):
        finished = _pointer is not None
        if _pointer is None:
            out = ffi.new("rlx_graph **")
            done(lib.rlx_graph_create(out))
            _pointer = out[0]
        super().__init__(_pointer, lib.rlx_graph_destroy)
        self._is_finished = finished

    @classmethod
    def parse(cls, source: str) -> "Graph":
        """A graph in text form (docs/text-form.md)."""
        data, out = source.encode(), ffi.new("rlx_graph **")
        done(lib.rlx_graph_parse(data, len(data), out))
        return cls(out[0])

    @classmethod
    def read(cls, path: Union[str, "os.PathLike[str]"]) -> "Graph":
        """A graph in text form from a file."""
        out = ffi.new("rlx_graph **")
        done(lib.rlx_graph_read(c_path(path), out), is_file=True)
        return cls(out[0])

    # ---- building ----

    def input(self, name: str, dtype: DTypeLike, shape: Dims = ()) -> Node:
        """A value that is given to each run."""
        return self._leaf(lib.rlx_op_input, name, dtype, shape)

    def param(self, name: str, dtype: DTypeLike, shape: Dims = ()) -> Node:
        """A weight: the same for every run."""
        return self._leaf(lib.rlx_op_param, name, dtype, shape)

    def state(self, name: str, dtype: DTypeLike, shape: Dims = ()) -> Node:
        """A buffer that lives from run to run, zero at first."""
        return self._leaf(lib.rlx_op_state, name, dtype, shape)

    def _leaf(self, function: Any, name: str, dtype: DTypeLike, shape: Dims) -> Node:
        b = Builder(self)
        return b.one(function(self.c, c_text(name), dtype_value(dtype), b.dims(shape)))

    def constant(self, value: Any, dtype: Optional[DTypeLike] = None) -> Node:
        """A value that is known now: a number, an array, a Tensor. Its bytes are copied into the graph."""
        value = as_array(value)
        if dtype is not None and not isinstance(value, Tensor):
            code = dtype_value(dtype)
            value = value.astype(NUMPY_OF[code]) if code in NUMPY_OF else Tensor.encode(value, DType(code))
        c = ffi.new("rlx_tensor *")
        alive = fill_tensor(c, value)
        node = lib.rlx_op_constant(self.c, c.dtype, c.shape, c.data, c.bytes)
        del alive
        return Builder(self).one(node)

    def scalar(self, dtype: DTypeLike, value: float) -> Node:
        """A constant of rank 0."""
        return Builder(self).one(lib.rlx_op_scalar(self.c, dtype_value(dtype), value))

    def output(self, name: str, node: Node) -> None:
        """Names a value that runs give back."""
        lib.rlx_graph_add_output(self.c, c_text(name), node.id)
        if lib.rlx_graph_status(self.c):
            raise self.failure()

    def symbol(self, name: str) -> int:
        """The number that stands for a symbolic size in the C interface; the same name gives the same."""
        return int(lib.rlx_graph_add_symbol(self.c, c_text(name)))

    def failure(self) -> Error:
        """The error of the first call that could not be built. The graph keeps it and takes no further op."""
        return error_of(lib.rlx_graph_status(self.c) or Status.INVALID)

    def finish(self) -> "Graph":
        """Ends building and verifies the graph; a second call does nothing."""
        if not self._is_finished:
            done(lib.rlx_graph_finish(self.c))
            self._is_finished = True
        return self

    # ---- looking ----

    def _shape(self, dims: Any) -> Shape:
        return tuple(int(s) if s >= 0 else self._symbol_name(s) for s in dims_of(dims))

    def _symbol_name(self, size: int) -> Optional[str]:
        found = lib.rlx_graph_symbol_name(self.c, size)
        return text(found) if found != ffi.NULL else None

    def __len__(self) -> int:
        return int(lib.rlx_graph_size(self.c))

    @property
    def nodes(self) -> List[Node]:
        """All nodes, in the order in which they were made."""
        return [Node(self, i) for i in range(1, len(self) + 1)]

    def find(self, name: str) -> Optional[Node]:
        """An input, param or state by name."""
        found = lib.rlx_graph_find(self.c, c_text(name))
        return Node(self, found) if found else None

    def _named(self, op: str) -> Dict[str, Node]:
        return {n.name: n for n in self.nodes if n.op == op}  # type: ignore[misc]

    @property
    def inputs(self) -> Dict[str, Node]:
        return self._named("input")

    @property
    def params(self) -> Dict[str, Node]:
        return self._named("param")

    @property
    def states(self) -> Dict[str, Node]:
        return self._named("state")

    @property
    def outputs(self) -> Dict[str, Node]:
        name, found = ffi.new("char const **"), {}
        for i in range(lib.rlx_graph_output_count(self.c)):
            node = lib.rlx_graph_output_at(self.c, i, name)
            found[text(name[0])] = Node(self, node)
        return found

    @property
    def symbols(self) -> List[str]:
        return [text(lib.rlx_graph_symbol_at(self.c, i)) for i in range(lib.rlx_graph_symbol_count(self.c))]

    def bind(self, **sizes: int) -> "Graph":
        """A copy with numbers for all its symbols."""
        array, n, _alive = bindings_of(sizes)
        out = ffi.new("rlx_graph **")
        done(lib.rlx_graph_bind(self.finish().c, array, n, out))
        return Graph(out[0])

    def bind_inputs(self, shapes: Dict[str, Sequence[int]]) -> "Graph":
        """A copy with the numbers that these shapes of inputs imply."""
        array, alive = ffi.new("rlx_named_shape[]", max(len(shapes), 1)), []
        for i, (name, shape) in enumerate(shapes.items()):
            alive.append(ffi.new("char[]", c_text(name)))
            array[i].name, array[i].shape = alive[-1], c_dims(shape)
        out = ffi.new("rlx_graph **")
        done(lib.rlx_graph_bind_inputs(self.finish().c, array, len(shapes), out))
        return Graph(out[0])

    def same(self, other: "Graph") -> bool:
        """Identical nodes, names, attributes and outputs."""
        return bool(lib.rlx_graph_same(self.c, other.c))

    @property
    def text(self) -> str:
        """The text form, which Graph.parse reads back to the same graph."""
        out = ffi.new("char **")
        done(lib.rlx_graph_print(self.finish().c, out))
        return owned_text(out[0])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Graph of {len(self)} nodes>" if not self.closed else "<closed Graph>"

    def _repr_html_(self) -> str:
        import html
        return f"<pre>{html.escape(self.text)}</pre>"

    def evaluate(self, values: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """The outputs by the reference, slow and exact; `values` are inputs, params and states by name."""
        out = ffi.new("rlx_evaluator **")
        done(lib.rlx_evaluator_create(self.finish().c, out))
        evaluator = ffi.gc(out[0], lib.rlx_evaluator_destroy)
        tensor = ffi.new("rlx_tensor *")
        try:
            lib.rlx_evaluator_set_cancel(evaluator, lib.rlx_py_cancel, ffi.NULL)
            for name, value in (values or {}).items():
                node = self.find(name)
                code = int(node.dtype) if node is not None else None
                value, kind = as_array(value, code), NUMPY_OF.get(code)  # type: ignore[arg-type]
                if isinstance(value, np.ndarray) and kind and np.can_cast(value.dtype, kind, "same_kind"):
                    value = value.astype(kind, copy=False)  # the evaluator, unlike a program, converts nothing
                alive = fill_tensor(tensor, value)
                done(lib.rlx_evaluator_set(evaluator, c_text(name), tensor))
                del alive
            done(lib.rlx_evaluator_run(evaluator))
            results = {}
            for name in self.outputs:
                done(lib.rlx_evaluator_get(evaluator, c_text(name), tensor))
                results[name] = _view_copy(tensor)
            return results
        finally:
            ffi.release(evaluator)


def _view_copy(tensor: Any) -> Any:
    from ._core import copy_tensor
    value = copy_tensor(tensor)
    return value.numpy() if isinstance(value, Tensor) and value.dtype == DType.BF16 else value


__all__ = ["Graph", "Node"]
