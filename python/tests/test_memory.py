"""What is shared and what is freed: DLPack, no copies, threads, 10,000 calls without a leak."""

import asyncio
import gc
import threading

import numpy as np
import pytest

import onnx_files
import rlx
from conftest import ROOT, endless, layer, softmax

W = np.array([[0.3, 0.1], [0.2, 0.4], [-0.5, 0.6]], np.float32)


# ---- DLPack ----

class Foreign:
    """An array of another package: it offers DLPack and nothing else."""

    def __init__(self, array, device=None):
        self.array, self.device, self.taken = array, device, 0

    def __dlpack__(self, **options):
        self.taken += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()


def test_dlpack_in(session):
    x = np.ones((2, 3), np.float32)
    foreign = Foreign(x)
    with session.compile(layer(), {"w": Foreign(W)}) as program:
        for _ in range(2):
            assert np.allclose(program.run({"x": foreign})["y"], softmax(x @ W), atol=1e-6)
    assert foreign.taken == 2
    assert np.shares_memory(rlx._core.as_array(foreign), x)  # no copy
    with pytest.raises(rlx.UnsupportedError, match="device 2"):
        rlx._core.as_array(Foreign(x, (2, 0)))


def test_dlpack_out(session):
    with session.compile(layer(), {"w": W}) as program:
        y = program.run({"x": np.ones((2, 3), np.float32)})["y"]
    assert np.shares_memory(np.from_dlpack(y), y)


def test_dlpack_of_bf16():
    """NumPy has no bf16, so the capsule is made here as other packages make theirs."""
    import ctypes
    from rlx import _dlpack

    bits = np.array([0x3F80, 0xC000, 0x4049], np.uint16)
    freed = []

    class Managed(ctypes.Structure):
        _fields_ = [("tensor", _dlpack._DLTensor), ("context", ctypes.c_void_p),
                    ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]

    shape = (ctypes.c_int64 * 1)(3)
    managed = Managed(_dlpack._DLTensor(bits.ctypes.data, _dlpack._DLDevice(1, 0), 1,
                                        _dlpack._DLDataType(4, 16, 1), shape, None, 0), None)
    destructor_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    destructor = destructor_type(lambda _: freed.append(1))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, destructor_type]

    class Offers:
        def __dlpack__(self, **_):
            return make(ctypes.addressof(managed), b"dltensor", destructor)

        def __dlpack_device__(self):
            return 1, 0

    tensor = rlx._core.as_array(Offers())
    assert tensor.dtype == rlx.DType.BF16 and tensor.shape == (3,) and np.shares_memory(tensor.data, bits)
    assert tensor.numpy().tolist() == [1, -2, 3.140625] and not freed
    del tensor
    gc.collect()
    assert freed == [1]


# ---- no copies ----

def test_an_array_goes_in_at_its_own_address(session):
    """The struct that the library reads points to the array itself, on the long and the short path."""
    x = np.ones((4, 3), np.float32)
    address = x.__array_interface__["data"][0]
    c = rlx._core.ffi.new("rlx_tensor *")
    alive = rlx._core.fill_tensor(c, x)
    assert int(rlx._core.ffi.cast("uintptr_t", c.data)) == address and alive
    with session.compile(layer(), {"w": W}) as program:
        for _ in range(2):
            y = program.run({"x": x})["y"]
        assert int(rlx._core.ffi.cast("uintptr_t", program._in[0].tensor.data)) == address
        assert int(rlx._core.ffi.cast("uintptr_t", program._out[0].tensor.data)) == \
            y.__array_interface__["data"][0]


def test_an_array_that_is_bound_stays_alive(session):
    with session.compile(layer(2), {"w": W}) as program:
        x = np.full((2, 3), 2, np.float32)
        program.bind_input("x", x)
        expected = softmax(x @ W)
        del x
        gc.collect()
        np.full((2, 3), 9, np.float32)  # would take its place
        assert np.allclose(program.run()["y"], expected, atol=1e-6)


# ---- threads ----

def test_two_programs_run_at_once():
    """Each waits inside its run until the other is inside its own: if one held the lock of the interpreter or of the
    library meanwhile, both would wait for ever, which the limit of the wait turns into a failure."""
    barrier, met = threading.Barrier(2), []

    def work():
        waits = []

        def cancel():
            if running:
                if not waits:
                    waits.append(1)
                    barrier.wait(timeout=600)
                    met.append(1)
                return True
            return False

        running = []
        with rlx.Session("cpu", threads=1).compile(endless(), cancel=cancel) as program:
            running.append(1)
            with pytest.raises(rlx.CancelledError):
                program.run({"start": 0})

    threads = [threading.Thread(target=work) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert met == [1, 1]


def test_the_interpreter_runs_while_a_program_computes(session):
    """A thread in Python counts while another is inside a run that only that count ends."""
    counted = []
    running = []
    with session.compile(endless(), cancel=lambda: len(counted) > 1000) as program:
        def count():
            running.append(1)
            while running:
                counted.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        with pytest.raises(rlx.CancelledError):
            program.run({"start": 0})
        running.clear()
        thread.join()
    assert len(counted) > 1000


def test_one_program_in_many_threads(session):
    """Every call gives its own right answer or says that the program is busy; nothing is mixed up."""
    program = session.compile(layer(), {"w": W})
    wrong, busy = [], []

    def work(seed):
        draw = np.random.default_rng(seed)
        for _ in range(300):
            x = draw.standard_normal((1 + seed % 3, 3)).astype(np.float32)
            try:
                if not np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-5):
                    wrong.append(x)
            except rlx.BusyError:
                busy.append(1)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong and len(busy) < 1200
    program.close()


def test_clones_share_weights(session):
    with session.compile(layer(), {"w": W}) as one, one.clone() as two:
        x = np.ones((1, 3), np.float32)
        one.write("w", 2 * W)
        assert np.allclose(two.run({"x": x})["y"], softmax(x @ (2 * W)), atol=1e-6)


# ---- without waiting ----

def test_runs_in_flight(session):
    with session.compile(layer(), {"w": W}) as program:
        x = np.ones((2, 3), np.float32)
        completion = program.run_async({"x": x})
        assert np.allclose(completion.result()["y"], softmax(x @ W), atol=1e-6) and completion.done()
        assert np.allclose(completion.result()["y"], softmax(x @ W), atol=1e-6)
        assert np.allclose(program.run({"x": x})["y"], softmax(x @ W), atol=1e-6)  # and Ctrl-C is watched again
        assert program._is_watched
        with pytest.raises(rlx.InvalidError):
            program.run_async({"x": np.ones((2, 4), np.float32)})
        with pytest.raises(rlx.Error):
            program.run_async({"z": x})


def test_await(session):
    programs = [session.compile(layer(), {"w": W * i}) for i in range(1, 4)]
    x = np.ones((2, 3), np.float32)

    async def main():
        async def one(program):
            return [(await program.run_async({"x": x * k}))["y"] for k in range(5)]
        return await asyncio.gather(*(one(p) for p in programs))

    for i, results in enumerate(asyncio.run(main()), 1):
        for k, y in enumerate(results):
            assert np.allclose(y, softmax(x * k @ (W * i)), atol=1e-5)
    assert not rlx.program._in_flight


def test_an_error_in_flight_is_raised_by_who_waits(session):
    with session.compile(endless(), limits=rlx.Limits(work=10_000)) as program:
        with pytest.raises(rlx.LimitError):
            program.run_async({"start": 0}).result()

        async def main():
            await program.run_async({"start": 0})

        with pytest.raises(rlx.LimitError):
            asyncio.run(main())


# ---- leaks ----

def resident():
    import os
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def kept(state, make):
    """What the calls of one test have in common, made by the first."""
    if "it" not in state:
        state["it"] = make()
    return state["it"]


def run_program(session, state):
    kept(state, lambda: session.compile(layer(), {"w": W})).run({"x": np.ones((2, 3), np.float32)})


def run_with_an_error(session, state):
    program = kept(state, lambda: session.compile(layer(), {"w": W}))
    for bad in ({"x": np.ones((2, 4), np.float32)}, {"z": W}, {"x": W.astype(complex)}):
        with pytest.raises(rlx.Error):
            program.run(bad)


def build_a_graph(session, state):
    layer().text


def compile_a_graph(session, state):
    session.compile(layer(), {"w": W}).run({"x": np.ones((1, 3), np.float32)})


def fail_to_build(session, state):
    with pytest.raises(rlx.InvalidError):
        graph = rlx.Graph()
        graph.input("x", "f32", (2, 3)) @ graph.input("y", "f32", (2, 3))


def open_no_file(session, state):
    with pytest.raises(rlx.MissingFileError):
        rlx.onnx.load("absent.onnx", session=session)
    with pytest.raises(rlx.Error):
        rlx.onnx.load(b"no model", session=session)


def run_onnx(session, state):
    model = kept(state, lambda: rlx.onnx.load(onnx_files.layer(W), session=session))
    model.run({"x": np.ones((2, 3), np.float32)})


def run_in_flight(session, state):
    program = kept(state, lambda: session.compile(layer(), {"w": W}))
    program.run_async({"x": np.ones((2, 3), np.float32)}).result()


def bind_and_run(session, state):
    program = kept(state, lambda: session.compile(layer(2), {"w": W}))
    program.bind_input("x", np.ones((2, 3), np.float32))
    program.bind_output("y", np.empty((2, 2), np.float32))
    program.execute()


def take_a_report(session, state):
    program = kept(state, lambda: session.compile(layer(2), {"w": W}))
    assert program.plan.svg and program.report()


def share_memory(session, state):
    rlx._core.as_array(Foreign(kept(state, lambda: np.ones(1000, np.float32))))


def generate(session, state):
    lm = kept(state, lambda: rlx.lm.load(ROOT / "models/shakespeare/shakespeare.gguf", session=session))
    for _ in lm.generate("O", ignore_end=True, shift=True):
        break


@pytest.mark.parametrize("what,times", [
    (run_program, 10_000), (run_with_an_error, 10_000), (build_a_graph, 10_000), (compile_a_graph, 1_000),
    (fail_to_build, 10_000), (open_no_file, 10_000), (run_onnx, 10_000), (run_in_flight, 10_000), (bind_and_run, 10_000),
    (take_a_report, 500), (share_memory, 10_000),
    pytest.param(generate, 200, marks=pytest.mark.skipif(not rlx.HAS_LM, reason="built without language models")),
], ids=lambda v: getattr(v, "__name__", str(v)))
def test_nothing_is_leaked(what, times):
    """Memory does not grow with the number of calls: a byte per call that stays would be seen as times bytes; what a
    call takes is hundreds."""
    with rlx.Session("cpu", threads=1) as session:
        state = {}
        for _ in range(max(times // 5, 50)):  # caches fill
            what(session, state)
        gc.collect()
        before, objects, used = resident(), len(gc.get_objects()), session.stats.used_bytes
        for _ in range(times):
            what(session, state)
        gc.collect()
        assert len(gc.get_objects()) - objects < 200
        assert session.stats.used_bytes <= used
        assert resident() - before < max(times * 60, 3 << 20), "resident memory grew"
        for value in state.values():
            if hasattr(value, "close"):
                value.close()
