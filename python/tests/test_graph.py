"""Graphs: operators, every op by its name, text form, indices, errors."""

import math

import numpy as np
import pytest

import rlx
from conftest import layer, softmax


def value_of(build, **inputs):
    """What the reference computes for a graph of one output."""
    graph = rlx.Graph()
    nodes = {n: graph.input(n, np.asarray(v).dtype, np.asarray(v).shape) for n, v in inputs.items()}
    graph.output("y", build(**nodes))
    return graph.evaluate(inputs)["y"]


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
Y = np.linspace(0.5, 2, 4).astype(np.float32)


@pytest.mark.parametrize("build", [
    lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x % y,
    lambda x, y: 2 * x + 1, lambda x, y: 1 - x, lambda x, y: 1 / y, lambda x, y: -x, lambda x, y: abs(x),
    lambda x, y: y ** 2.0, lambda x, y: 2.0 ** y, lambda x, y: 5.0 % y, lambda x, y: Y * x, lambda x, y: x + [1, 2, 3, 4],
], ids=str)
def test_operators_are_numpys(build):
    assert np.allclose(value_of(build, x=X, y=Y), build(X, Y), rtol=1e-6)


@pytest.mark.parametrize("build", [lambda x: x < 0, lambda x: x <= 0, lambda x: x > 1, lambda x: x >= 1,
                                   lambda x: ~(x < 0), lambda x: (x < 3) & (x > -3), lambda x: (x < -3) | (x > 3),
                                   lambda x: (x < 3) ^ (x > -3)])
def test_comparisons_are_numpys(build):
    found = value_of(build, x=X)
    assert found.dtype == np.bool_ and np.array_equal(found, build(X))


@pytest.mark.parametrize("build", [lambda x: x & 6, lambda x: x | 6, lambda x: x ^ 6, lambda x: x << 2, lambda x: x >> 1])
def test_bits_are_numpys(build):
    x = np.arange(-8, 8, dtype=np.int32)
    assert np.array_equal(value_of(build, x=x), build(x))


@pytest.mark.parametrize("key", [
    np.s_[0], np.s_[-1], np.s_[:, 1], np.s_[..., 2], np.s_[:, :, 1:3], np.s_[::-1], np.s_[:, ::-2], np.s_[1, 2, 3],
    np.s_[None], np.s_[:, None, 1], np.s_[-1:], np.s_[:, -2:, ::2], np.s_[..., None], np.s_[1:1], np.s_[:, 5:1:-1],
], ids=str)
def test_indices_are_numpys(key):
    found = value_of(lambda x: x[key] if x[key].shape else x[key].reshape((1,)), x=X)
    assert np.array_equal(found.reshape(X[key].shape), X[key])


def test_an_index_past_the_end_is_an_error():
    x = rlx.Graph().input("x", "f32", (2, 3))
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(rlx.InvalidError, match="3 indices"):
        x[0, 0, 0]
    with pytest.raises(TypeError, match="gather"):
        x[[0, 1]]


def test_every_op_of_the_table_is_a_function():
    names = {rlx._core.text(info.name) for info in table()}
    assert len(names) > 150
    built = {"input", "param", "state", "constant"}  # methods of Graph
    for name in names:
        if name in built:
            assert hasattr(rlx.Graph, name)
        else:
            assert any(callable(getattr(rlx.ops, n, None)) for n in (name, name + "_")), name


def table():
    from rlx._core import ffi, lib, sized
    for i in range(lib.rlx_op_table_size()):
        info = sized("rlx_op_table_info")
        assert lib.rlx_op_table_describe(i, info) == 0
        yield info


def test_ops_with_structs_lists_and_enums(rng):
    x = rng.standard_normal((1, 2, 5, 5)).astype(np.float32)
    w = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    found = value_of(lambda x, w: x.conv(w, stride=(2, 2), pad_lo=(1, 1), pad_hi=(1, 1)), x=x, w=w)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    assert np.allclose(found, np.einsum("nchwij,ocij->nohw", windows, w), atol=1e-5)

    q = rng.standard_normal((1, 2, 3, 4)).astype(np.float32)  # [B, H, S, D]
    found = value_of(lambda q: q.attention(q, q, layout="bhsd", causal=True), q=q)
    scores = q @ q.transpose(0, 1, 3, 2) / 2 + np.triu(np.full((3, 3), -np.inf), 1)
    assert np.allclose(found, softmax(scores) @ q, atol=1e-5)

    joined = value_of(lambda a, b: rlx.ops.concat([a, b, a], axis=1), a=X, b=X)
    assert np.array_equal(joined, np.concatenate([X, X, X], 1))
    padded = value_of(lambda x: x.pad((0, 0, 1), (0, 0, 2), mode="reflect"), x=X)
    assert np.array_equal(padded, np.pad(X, ((0, 0), (0, 0), (1, 2)), mode="reflect"))
    with pytest.raises(rlx.InvalidError, match="expected one of constant, reflect"):
        value_of(lambda x: x.pad((0, 0, 1), (0, 0, 2), mode="mirror"), x=X)


def test_an_op_without_nodes_names_its_graph():
    graph = rlx.Graph()
    graph.output("y", rlx.ops.range(5, 1.0, 0.5, "f32", graph=graph))
    assert np.array_equal(graph.evaluate()["y"], np.arange(5, dtype=np.float32) / 2 + 1)
    with pytest.raises(rlx.InvalidError, match="no graph"):
        rlx.ops.add(1, 2)


def test_control_flow():
    then, other, graph = rlx.Graph(), rlx.Graph(), rlx.Graph()
    then.output("r", then.input("v", "f32", (2,)) * 2)
    other.output("r", other.input("v", "f32", (2,)) - 1)
    x = graph.input("x", "f32", (2,))
    (r,) = rlx.ops.if_(x.reduce_sum() > 0, then, other, [x])
    graph.output("y", r)
    assert graph.evaluate({"x": [1, 2]})["y"].tolist() == [2, 4]
    assert graph.evaluate({"x": [-1, -2]})["y"].tolist() == [-2, -3]

    body, graph = rlx.Graph(), rlx.Graph()
    total, item = body.input("total", "f32"), body.input("item", "f32")
    body.output("next", total + item)
    body.output("seen", total * item)
    xs = graph.input("xs", "f32", (4,))
    last, seen = rlx.ops.scan(body, [graph.scalar("f32", 0), xs], carried=1, scanned=1)
    graph.output("last", last)
    graph.output("seen", seen)
    found = graph.evaluate({"xs": [1, 2, 3, 4]})
    assert found["last"] == 10 and found["seen"].tolist() == [0, 2, 9, 24]


def test_a_number_takes_the_type_beside_it():
    graph = rlx.Graph()
    x, i, c = graph.input("x", "f16", (2,)), graph.input("i", "i32", (2,)), graph.input("c", "bool", (2,))
    assert (x + 1).dtype == rlx.DType.F16
    assert (i * 3.0).dtype == rlx.DType.I32
    assert c.where(x, 0.0).dtype == rlx.DType.F16
    with pytest.raises(rlx.InvalidError, match="0.5 beside i32"):
        i * 0.5
    big = 2 ** 60 + 1
    assert value_of(lambda v: v + big, v=np.zeros(1, np.int64))[0] == big


def test_shapes_have_names():
    graph = rlx.Graph()
    x = graph.input("x", "f32", ("B", "T", 4))
    assert x.shape == ("B", "T", 4) and graph.symbols == ["B", "T"] and x.ndim == 3
    graph.output("y", x.reduce_sum(axes=(-1,)))
    bound = graph.bind(B=2, T=3)
    assert bound.inputs["x"].shape == (2, 3, 4) and bound.outputs["y"].shape == (2, 3)
    assert graph.bind_inputs({"x": (5, 6, 4)}).outputs["y"].shape == (5, 6)
    with pytest.raises(rlx.InvalidError, match="T"):
        graph.bind(B=2)


def test_text_form_reads_back(tmp_path):
    graph = layer()
    again = rlx.Graph.parse(graph.text)
    assert again.same(graph) and str(again) == str(graph) and "matmul" in graph._repr_html_()
    (tmp_path / "g.rlx").write_text(graph.text)
    assert rlx.Graph.read(tmp_path / "g.rlx").same(graph)
    with pytest.raises(rlx.MissingFileError, match="absent.rlx") as caught:
        rlx.Graph.read(tmp_path / "absent.rlx")
    assert isinstance(caught.value, FileNotFoundError) and caught.value.status == rlx.Status.NOT_FOUND
    with pytest.raises(rlx.InvalidError):
        rlx.Graph.parse("graph {")


def test_nodes_can_be_looked_at():
    graph = layer()
    y = graph.outputs["y"]
    assert y.op == "softmax" and [i.op for i in y.inputs] == ["matmul"]
    assert graph.find("w").name == "w" and graph.find("none") is None and y.name is None
    assert list(graph.params) == ["w"] and list(graph.inputs) == ["x"] and not graph.states
    assert "softmax" in repr(y) and "f32[B, 2]" in repr(y) and len(graph) == 4
    with pytest.raises(TypeError, match="truth value"):
        bool(y)
    with pytest.raises(TypeError):
        list(y)


def test_a_wrong_op_raises_with_the_librarys_words():
    graph = rlx.Graph()
    x = graph.input("x", "f32", (2, 3))
    with pytest.raises(rlx.InvalidError, match="matmul") as caught:
        x @ graph.input("z", "f32", (4, 5))
    assert isinstance(caught.value, ValueError) and caught.value.status == rlx.Status.INVALID
    assert caught.value.message == str(caught.value)
    with pytest.raises(rlx.InvalidError, match="matmul"):  # and it stays
        graph.finish()
    other = rlx.Graph().input("x", "f32", (2, 3))
    with pytest.raises(rlx.Error):
        rlx.Graph().input("x", "f32", (2, 3)) + other
    with pytest.raises(rlx.InvalidError):
        rlx.Graph().input("x", "no type", (2,))
    with pytest.raises(rlx.InvalidError, match="at most 8"):
        rlx.Graph().input("x", "f32", (1,) * 9)


def test_constants_keep_their_type():
    graph = rlx.Graph()
    assert graph.constant(np.zeros((2, 3), np.int16)).dtype == rlx.DType.I16
    assert graph.constant(1.5).dtype == rlx.DType.F64
    assert graph.constant([1.5], "f32").dtype == rlx.DType.F32
    assert graph.constant(np.zeros(3, ">f4")).dtype == rlx.DType.F32
    assert graph.constant(np.arange(6.0).reshape(2, 3).T).shape == (3, 2)
    assert math.isclose(value_of(lambda x: x + np.float64(0.25), x=np.zeros(1, np.float32))[0], 0.25)


def test_block_types(rng):
    values = rng.standard_normal((4, 64)).astype(np.float32)
    packed = rlx.Tensor.encode(values, "q8_0")
    assert packed.dtype == rlx.DType.Q8_0 and packed.data.nbytes == 4 * 2 * 34
    assert np.abs(packed.numpy() - values).max() < 0.03
    with pytest.raises(rlx.InvalidError):
        rlx.Tensor.encode(values[:, :33], "q8_0")
    x = rng.standard_normal((2, 64)).astype(np.float32)
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "f32", (2, 64)).matmul_t(graph.param("w", "q8_0", (4, 64))))
    with rlx.compile(graph, {"w": packed}, session=rlx.Session("cpu"), switches="exact") as program:
        assert np.allclose(program.run({"x": x})["y"], x @ packed.numpy().T, atol=1e-4)
