"""What the functions of ops.py use to turn Python's values into arguments of a builder function.

The one idea: an operand is a node, or something that becomes a constant of the graph. A plain Python number takes the
type of the nodes beside it, as in NumPy; an array keeps its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._core import DTypeLike, Tensor, c_text, dtype_name, dtype_value, enum_value, error_of, ffi, lib
from .enums import DType, Status

if TYPE_CHECKING:
    from .graph import Graph, Node

Size = Union[int, str]  # a text is the name of a symbol
Dims = Union[int, str, Sequence[Size]]
Operand = Union["Node", int, float, bool, np.ndarray, np.generic, Tensor, Sequence[Any]]

__all__ = ["Builder", "DTypeLike", "Dims", "Operand", "Size"]

_FLOATS = {DType.F32, DType.F16, DType.BF16, DType.F64, DType.C64}


def _nodes_in(operands: Sequence[Any]) -> Any:
    from .graph import Node
    for operand in operands:
        if isinstance(operand, Node):
            yield operand
        elif isinstance(operand, (list, tuple)):
            yield from _nodes_in(operand)


class Builder:
    """One call of a builder function."""

    __slots__ = ("graph", "c", "like")

    def __init__(self, graph: Optional["Graph"], *operands: Any):
        nodes = list(_nodes_in(operands))
        if graph is None:
            if not nodes:
                raise error_of(Status.INVALID, "none of the operands is a node, so there is no graph to build in")
            graph = nodes[0].graph
        self.graph = graph
        self.c = graph.c
        types = [lib.rlx_node_dtype(n.graph.c, n.id) for n in nodes]
        # A condition beside values says nothing about their type.
        self.like = next((t for t in types if t != DType.BOOL), types[0] if types else None)

    # ---- arguments ----

    def node(self, value: Any) -> int:
        from .graph import Node
        if isinstance(value, Node):
            return value.id
        if value is None:
            return 0
        if isinstance(value, (bool, int, float)):
            return self._number(value)
        if isinstance(value, (list, tuple)) and self.like is not None:
            from ._core import NUMPY_OF
            value = np.asarray(value, NUMPY_OF.get(self.like))
        return self.graph.constant(value).id

    def _number(self, value: Any) -> int:
        like = self.like
        if like is None:
            like = DType.BOOL if isinstance(value, bool) else DType.I64 if isinstance(value, int) else DType.F32
        if isinstance(value, float) and like not in _FLOATS and not value.is_integer():
            raise error_of(Status.INVALID, f"{value} beside {dtype_name(like)}: cast the node, or give a whole number")
        if isinstance(value, int) and abs(value) > 2 ** 53 and like not in _FLOATS:
            from ._core import NUMPY_OF
            return self.graph.constant(np.asarray(value, NUMPY_OF[like])).id
        return self.one(lib.rlx_op_scalar(self.c, like, float(value))).id

    def nodes(self, values: Sequence[Any]) -> Any:
        return ffi.new("rlx_node[]", [self.node(v) for v in values])

    def graph_of(self, graph: "Graph") -> Any:
        graph.finish()
        return graph.c

    def size(self, value: Size) -> int:
        return self.graph.symbol(value) if isinstance(value, str) else int(value)

    def dims(self, values: Dims) -> Dict[str, Any]:
        from ._core import c_dims
        if isinstance(values, (int, str, np.integer)):
            values = (values,)  # type: ignore[assignment]
        return c_dims([self.size(v) for v in values])  # type: ignore[union-attr]

    def floats(self, values: Sequence[float]) -> Dict[str, Any]:
        if len(values) > 8:
            raise error_of(Status.INVALID, f"a list of {len(values)} numbers: at most 8 are possible")
        return {"v": [float(v) for v in values], "n": len(values)}

    def flag(self, value: Any) -> bool:
        return bool(value)

    def dtype(self, value: DTypeLike) -> int:
        return dtype_value(value)

    def enum(self, members: Any, value: Any) -> int:
        return enum_value(members, value)

    def text(self, value: str) -> bytes:
        return c_text(value)

    def outs(self, graph: "Graph") -> Any:
        graph.finish()
        return ffi.new("rlx_node[]", max(lib.rlx_graph_output_count(graph.c), 1))

    # ---- results ----

    def one(self, result: int) -> "Node":
        from .graph import Node
        if not result:
            raise self.graph.failure()
        return Node(self.graph, result)

    def many(self, result: int, outs: Any) -> Tuple["Node", ...]:
        from .graph import Node
        if not result:
            raise self.graph.failure()
        return tuple(Node(self.graph, n) for n in outs)
