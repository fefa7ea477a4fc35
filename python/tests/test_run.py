"""Programs: NumPy in and out, weights and states, binding, watches, looking inside."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import rlx
from conftest import endless, layer, softmax

W = np.array([[0.3, 0.1], [0.2, 0.4], [-0.5, 0.6]], np.float32)


@pytest.fixture
def program(session):
    with session.compile(layer(), {"w": W}) as made:
        yield made


@pytest.mark.parametrize("rows", [1, 2, 7, 2, 1])
def test_open_sizes(program, rng, rows):
    for _ in range(3):  # the second and third take the short path
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)


def test_results_are_new_arrays(program):
    x = np.ones((2, 3), np.float32)
    first, second = program.run({"x": x})["y"], program.run({"x": 2 * x})["y"]
    assert first is not second and np.allclose(first, softmax(x @ W), atol=1e-6)
    assert np.allclose(second, softmax(2 * x @ W), atol=1e-6)


@pytest.mark.parametrize("change", [
    lambda x: x.astype(np.float64), lambda x: x.astype(np.float16), lambda x: x.tolist(), lambda x: np.asfortranarray(x),
    lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: x.astype(">f4"), lambda x: x[::-1][::-1],
], ids=["f64", "f16", "list", "fortran", "strided", "big-endian", "reversed"])
def test_inputs_of_other_layouts_and_types(program, change):
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    for _ in range(2):
        assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)
        assert np.allclose(program.run({"x": change(x)})["y"], softmax(x @ W), atol=1e-3)


def test_a_read_only_array_is_an_input(program):
    x = np.ones((2, 3), np.float32)
    x.flags.writeable = False
    for _ in range(2):
        assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)


def test_wrong_inputs_raise_with_the_librarys_words(program):
    good = np.ones((2, 3), np.float32)
    for _ in range(2):
        with pytest.raises(rlx.InvalidError, match="axis 1 is 4 but must be 3"):
            program.run({"x": np.ones((2, 4), np.float32)})
        with pytest.raises(rlx.NotFoundError, match="'z'"):
            program.run({"z": good})
        with pytest.raises(rlx.UnsupportedError, match="complex128"):
            program.run({"x": good.astype(complex)})
        with pytest.raises(rlx.Error):
            program.run({"x": good.astype(np.complex64)})
        with pytest.raises(rlx.UnsupportedError):
            program.run({"x": np.full((2, 3), "a")})
        with pytest.raises(rlx.InvalidError, match="axes"):
            program.run({"x": np.ones((1,) * 9, np.float32)})
        assert np.allclose(program.run({"x": good})["y"], softmax(good @ W), atol=1e-6)


def test_an_input_that_is_not_given_keeps_its_value(session):
    graph = rlx.Graph()
    a, b = graph.input("a", "f32", (2,)), graph.input("b", "f32", (2,))
    graph.output("sum", a + b)
    with session.compile(graph) as program:
        assert program.run({"a": [1, 2], "b": [10, 20]})["sum"].tolist() == [11, 22]
        assert program.run({"a": [5, 5]})["sum"].tolist() == [15, 25]
        assert program.run()["sum"].tolist() == [15, 25]
        assert program({"b": [0, 0]})["sum"].tolist() == [5, 5]


def test_out_receives_the_outputs(program):
    x, y = np.ones((2, 3), np.float32), np.zeros((2, 2), np.float64)
    found = program.run({"x": x}, out={"y": y})
    assert found["y"] is y and np.allclose(y, softmax(x @ W), atol=1e-6)
    with pytest.raises(rlx.InvalidError, match="bytes"):
        program.run({"x": x}, out={"y": np.zeros(1, np.float32)})
    with pytest.raises(rlx.InvalidError, match="contiguous"):
        program.run({"x": x}, out={"y": np.zeros((2, 4), np.float32)[:, ::2]})
    with pytest.raises(rlx.NotFoundError, match="'z'"):
        program.run({"x": x}, out={"z": y})


def test_bound_memory_is_read_and_written_in_place(session):
    with session.compile(layer(2), {"w": W}) as program:
        x, y = np.ones((2, 3), np.float32), np.zeros((2, 2), np.float32)
        program.bind_input("x", x)
        program.bind_output("y", y)
        for scale in (1, 3):
            x[:] = scale
            program.execute()
            assert np.allclose(y, softmax(x @ W), atol=1e-6)
        assert program.run()["y"] is y
        with pytest.raises(rlx.InvalidError, match="float64"):
            program.bind_input("x", x.astype(np.float64))
        with pytest.raises(rlx.InvalidError):
            program.bind_input("x", np.ones((3, 3), np.float32))
        with pytest.raises(rlx.InvalidError, match="contiguous"):
            program.bind_input("x", np.ones((3, 2), np.float32).T)
        program.bind_output("y", None)
        program.bind_input("x", None)
        assert program.run({"x": x})["y"] is not y


def test_weights_are_shared(session):
    with rlx.Weights(session, {"w": W}) as weights:
        assert "w" in weights and "v" not in weights and weights.nbytes >= W.nbytes
        one, two = session.compile(layer(), weights), session.compile(layer(), weights)
        x = np.ones((1, 3), np.float32)
        for program in (one, two):
            assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)
        weights["w"] = 2 * W
        assert np.allclose(two.run({"x": x})["y"], softmax(x @ (2 * W)), atol=1e-6)


def test_states_live_from_run_to_run(session):
    graph = rlx.Graph()
    count = graph.state("count", "f32", (1,))
    new = count.update(count + graph.input("by", "f32", (1,)), graph.scalar("i32", 0), 0)
    graph.output("now", new)
    with rlx.States(session) as states, session.compile(graph, states=states) as program:
        assert [program.run({"by": [2]})["now"][0] for _ in range(3)] == [2, 4, 6]
        assert program.read("count")[0] == 6
        states.zero()
        assert program.run({"by": [2]})["now"][0] == 2


def test_feeds_and_repeats(session):
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "f32", (2,)) * 2)
    with session.compile(graph) as program:
        program.write("x", [1, 3])
        program.feed("y", "x")
        assert program.repeat(3)["y"].tolist() == [[2, 6], [4, 12], [8, 24]]
        assert program.read("y", "f64").dtype == np.float64


def test_describe_and_read(program):
    x = np.ones((4, 3), np.float32)
    program.run({"x": x})
    assert program.describe("y") == (rlx.DType.F32, (4, 2)) and program.describe("w")[1] == (3, 2)
    assert np.array_equal(program.read("x"), x) and np.array_equal(program.read("w", "f64"), W.astype(np.float64))
    with pytest.raises(rlx.NotFoundError, match="'q'"):
        program.read("q")


def test_bindings_and_plan_only(session):
    with session.compile(layer(), bindings={"B": 5}, plan_only=True) as program:
        assert program.describe("y")[1] == (5, 2) and program.memory["weights"] >= W.nbytes
    with pytest.raises(rlx.Error, match="'?C'?"):
        session.compile(layer(), bindings={"C": 5})


def test_bf16_outputs_are_read_as_f32(session):
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "f32", (3,)).cast("bf16"))
    with session.compile(graph) as program:
        found = program.run({"x": [1, 2, 3.1415927]})["y"]
        assert found.dtype == np.float32 and found.tolist() == [1, 2, 3.140625]
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "bf16", (2,)).cast("f32"))
    with session.compile(graph) as program:
        raw = rlx.Tensor("bf16", (2,), np.array([0x3F80, 0xC000], np.uint16))
        assert program.run({"x": raw})["y"].tolist() == [1, -2]


def test_switches_and_passes(session):
    with pytest.raises(rlx.InvalidError, match="expected one of forbid_host"):
        session.compile(layer(), switches="no such")
    with session.compile(layer(), {"w": W}, switches=["exact", "no_views"], without="fuse") as program:
        x = np.ones((1, 3), np.float32)
        assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)
    with session.compile(layer(), {"w": W}, switches=rlx.Switch.EXACT | rlx.Switch.NO_SEARCH) as program:
        program.run({"x": x})


# ---- objects and their end ----

def test_close_frees_and_says_so(session):
    program = session.compile(layer(), {"w": W})
    with program:
        pass
    assert program.closed and "closed" in repr(program)
    program.close()
    with pytest.raises(rlx.InvalidError, match="Program is closed"):
        program.run({"x": np.ones((1, 3), np.float32)})
    with pytest.raises(rlx.InvalidError, match="Program is closed"):
        program.plan
    with pytest.raises(rlx.InvalidError, match="Session is closed"):
        closed = rlx.Session("cpu")
        closed.close()
        closed.compile(layer())


def test_objects_outlive_their_session():
    session = rlx.Session("cpu")
    program = session.compile(layer(), {"w": W})
    session.close()
    assert program.run({"x": np.ones((1, 3), np.float32)})["y"].shape == (1, 2)


def test_sessions_and_devices():
    found = rlx.devices()
    assert any(d.backend == "cpu" and d.kind.name == "CPU" for d in found)
    with rlx.Session("cpu") as session:
        assert session.device.backend == "cpu" and session.device.n_units >= 1
        assert session.stats.n_compiled == 0
        assert "backend" in dict(session.device) and "<table>" in session.device._repr_html_()
        session.trim()
    with pytest.raises(rlx.NotFoundError, match="no such device"):
        rlx.Session("no such device")
    assert all(isinstance(why, str) for why in rlx.absent_backends().values())


# ---- progress, cancelling, limits ----

def test_progress_is_reported(session):
    seen = []
    with session.compile(layer(), {"w": W}, cache=False, progress=lambda *what: seen.append(what)) as program:
        program.run({"x": np.ones((1, 3), np.float32)})
    assert seen and all(isinstance(stage, str) and 0 <= part <= total for stage, part, total in seen)


def test_cancel_ends_a_run(session):
    asked, runs = [], []

    def cancel():
        if runs:
            asked.append(1)
        return len(asked) > 3

    with session.compile(endless(), cancel=cancel) as program:
        runs.append(1)
        with pytest.raises(rlx.CancelledError) as caught:
            program.run({"start": 0})
        assert caught.value.status == rlx.Status.CANCELLED and len(asked) == 4


def test_an_exception_in_a_callback_is_the_runs(session):
    runs = []

    def refuse():
        if runs:
            raise KeyError("mine")

    with session.compile(endless(), cancel=refuse) as program:
        runs.append(1)
        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                program.run({"start": 0})

    def bad(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        session.compile(layer(), cache=False, progress=bad).run({"x": np.ones((1, 3), np.float32)})


def test_limits_are_errors_of_their_kind(session):
    with session.compile(endless(), limits=rlx.Limits(seconds=0.05)) as program:
        with pytest.raises(rlx.TimeLimitError) as caught:
            program.run({"start": 0})
        assert isinstance(caught.value, TimeoutError) and caught.value.status == rlx.Status.LIMIT
    with session.compile(endless(), limits=rlx.Limits(work=10_000)) as program:
        with pytest.raises(rlx.LimitError, match="visits"):
            program.run({"start": 0})
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "f32", ("N",)) + 1)
    small = rlx.Session("cpu", limits=rlx.Limits(device_bytes=1 << 20))
    with pytest.raises(rlx.MemoryLimitError) as caught:
        small.compile(graph).run({"x": np.zeros(1 << 20, np.float32)})
    assert isinstance(caught.value, MemoryError)


def test_ctrl_c_ends_a_run():
    """In a process of its own: the signal arrives while the run computes, and the run, which has no end, ends."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import os, signal, sys, threading, time
        sys.path.insert(0, sys.argv[1])
        import rlx
        from conftest import endless
        program = rlx.Session("cpu").compile(endless())
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            program.run({"start": 0})
        except KeyboardInterrupt:
            print("stopped")
        with rlx.Session("cpu").compile(endless(), limits=rlx.Limits(work=1000)) as again:
            try:
                again.run({"start": 0})
            except rlx.LimitError:
                print("works")
        """), str(__file__.rsplit("/", 1)[0])], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["stopped", "works"], done.stderr


# ---- looking inside ----

def test_plan_and_reports(program):
    program.run({"x": np.ones((2, 3), np.float32)})
    plan = program.plan
    assert plan.svg.startswith("<svg") and plan.svg in plan._repr_html_() and "scratch" in str(plan)
    assert plan.memory["scratch"] > 0 and str(plan.memory["scratch"]) in repr(plan) and len(plan) and plan.keys()
    report = program.report("dispatch")
    assert "matmul" in str(report) and "matmul" in report.json and "<pre>" in report._repr_html_()
    with program.profile():
        program.run({"x": np.ones((2, 3), np.float32)})
        assert "matmul" in str(program.report("profile"))
        assert "traceEvents" in program.report("trace").json or program.report("trace").data
    with pytest.raises(rlx.InvalidError, match="expected one of plan"):
        program.report("no such report")
    assert program.segment_bytes() >= program.segment_bytes("weights") >= 24


def test_observe_and_compare(program):
    program.run({"x": np.ones((2, 3), np.float32)})
    seen = {}
    program.observe(lambda op, value: seen.__setitem__(op, value))
    result = program.run({"x": np.ones((2, 3), np.float32)})["y"]
    program.observe(None)
    assert np.array_equal(seen["softmax"], result)
    rows = program.compare()
    assert {r.op for r in rows} >= {"matmul", "softmax"} and all(r.ok or r.host for r in rows)


def test_an_exception_in_an_observer_is_the_runs(program):
    def fail(op, value):
        raise LookupError(op)
    program.observe(fail)
    with pytest.raises(LookupError):
        program.run({"x": np.ones((2, 3), np.float32)})
    program.observe(None)
    program.run({"x": np.ones((2, 3), np.float32)})


def test_log():
    seen = []
    rlx.set_log(lambda level, text: seen.append((level, text)))
    try:
        with rlx.Session("cpu") as session:
            session.compile(layer(), cache=False)
    finally:
        rlx.set_log(None)
    assert all(isinstance(level, rlx.LogLevel) and text for level, text in seen)
