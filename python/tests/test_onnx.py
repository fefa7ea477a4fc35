"""ONNX models: run, look, errors, and the look-alike of onnxruntime's class."""

import numpy as np
import pytest

import onnx_files
import rlx

W = np.array([[1, -1], [2, 0], [0, 1]], np.float32)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "layer.onnx").write_bytes(onnx_files.layer(W))
    return tmp_path / "layer.onnx"


def relu(x):
    return np.maximum(x @ W, 0)


@pytest.mark.parametrize("as_bytes", [False, True])
def test_run(path, session, rng, as_bytes):
    with rlx.onnx.load(path.read_bytes() if as_bytes else path, session=session) as model:
        for rows in (1, 4, 4, 2):
            x = rng.standard_normal((rows, 3)).astype(np.float32)
            assert np.allclose(model.run({"x": x})["y"], relu(x), atol=1e-6)
        assert model.compile_count >= 1
        kept = model.run({"x": [[1, 2, 3]]})["y"]
        model.run({"x": [[9, 9, 9]]})
        assert np.allclose(kept, relu(np.array([[1, 2, 3]])))  # a copy, not the runner's memory
        assert model.run({"x": np.ones((1, 3), np.float64)}, ["y"]).keys() == {"y"}
        with pytest.raises(rlx.NotFoundError, match="'z'"):
            model.run({"x": [[1, 2, 3]]}, ["z"])


def test_what_the_file_says(path, session):
    with rlx.onnx.load(path, session=session) as model:
        (x,), (y,) = model.inputs, model.outputs
        assert (x.name, x.type, x.dtype, x.shape) == ("x", "float", rlx.DType.F32, ("batch", 3)) and y.shape[1] == 2
        assert model.info.n_nodes == 2 and model.info.opsets == {"ai.onnx": 17}
        assert model.info.metadata == {"author": "nobody"} and model.info.producer == "tests"
        assert [(o.op, o.n_uses, o.supported) for o in model.ops] == [("MatMul", 1, True), ("Relu", 1, True)]
        assert list(model.weights) == ["w"] and np.array_equal(model.weights["w"], W)
        assert model.weights.describe()[0].shape == (3, 2)
        with pytest.raises(rlx.NotFoundError):
            model.weights["v"]
        assert model.check() == []
        assert "x -> y" in repr(model)


def test_nan_weights_are_found(session):
    bad = W.copy()
    bad[0, 0] = np.nan
    with rlx.onnx.load(onnx_files.layer(bad), session=session) as model:
        assert any(not is_remark and "w" in text for is_remark, text in model.check())


def test_plan_and_parts(path, session):
    with rlx.onnx.load(path, session=session) as model:
        with pytest.raises(rlx.InvalidError, match="not run yet"):
            model.plan
        model.run({"x": np.ones((2, 3), np.float32)})
        assert model.plan.svg.startswith("<svg") and "matmul" in str(model.report())
        assert model.parts == [(True, "")]


def test_as_a_graph(path, session):
    with rlx.onnx.load(path, session=session) as model:
        graph = model.graph({"x": np.zeros((2, 3), np.float32)})
        weights = model.load_weights(graph, rlx.Weights(session))
        with session.compile(graph, weights) as program:
            x = np.ones((2, 3), np.float32)
            assert np.allclose(program.run({"x": x})["y"], relu(x))


def test_wrong_files_and_inputs(tmp_path, path, session):
    with pytest.raises(rlx.MissingFileError, match="absent.onnx") as caught:
        rlx.onnx.load(tmp_path / "absent.onnx", session=session)
    assert isinstance(caught.value, FileNotFoundError) and isinstance(caught.value, OSError)
    with pytest.raises(rlx.Error):
        rlx.onnx.load(b"no model", session=session)
    whole = path.read_bytes()
    for n in range(0, len(whole), 7):
        try:
            rlx.onnx.load(whole[:n], session=session).close()
        except rlx.Error as error:
            assert error.message
    unknown = onnx_files.model([onnx_files.node("NoSuchOp", ["x"], ["y"])], [onnx_files.value("x", 2)],
                               [onnx_files.value("y", 2)])
    with pytest.raises(rlx.UnsupportedError, match="NoSuchOp"):
        rlx.onnx.load(unknown, session=session)
    with rlx.onnx.load(path, session=session) as model:
        for inputs in ({}, {"z": [[1, 2, 3]]}, {"x": [[1, 2]]}, {"x": [1, 2, 3]}, {"x": np.zeros((1, 3), complex)}):
            with pytest.raises(rlx.Error) as caught:
                model.run(inputs)
            assert caught.value.message
        assert model.run({"x": [[1, 2, 3]]})["y"].tolist() == [[5, 2]]
    with pytest.raises(rlx.InvalidError, match="Model is closed"):
        model.run({"x": [[1, 2, 3]]})


def test_clones_run_in_two_threads(path, session):
    import threading
    with rlx.onnx.load(path, session=session) as one, one.clone() as two:
        found = []

        def work(model, scale):
            x = np.full((3, 3), scale, np.float32)
            found.append(all(np.allclose(model.run({"x": x})["y"], relu(x)) for _ in range(200)))

        threads = [threading.Thread(target=work, args=a) for a in ((one, 1), (two, 2))]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert found == [True, True]


def test_inference_session(path):
    session = rlx.onnx.InferenceSession(str(path), providers=["NoSuchProvider", "CPUExecutionProvider"])
    (x,), (y,) = session.get_inputs(), session.get_outputs()
    assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["batch", 3]) and y.name == "y"
    (found,) = session.run(None, {"x": np.array([[1, 2, 3]], np.float32)})
    assert found.tolist() == [[5, 2]]
    assert session.run(["y"], {"x": np.array([[1, 2, 3]], np.float32)})[0].tolist() == [[5, 2]]
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_modelmeta().custom_metadata_map == {"author": "nobody"}
    with pytest.raises(rlx.NotFoundError):
        rlx.onnx.InferenceSession(str(path), providers=["NoSuchProvider"])


def test_tensors_in_protobuf_form(tmp_path):
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    (tmp_path / "t.pb").write_bytes(onnx_files.tensor("t", values))
    name, found = rlx.onnx.read_tensor(tmp_path / "t.pb")
    assert name == "t" and np.array_equal(found, values)
