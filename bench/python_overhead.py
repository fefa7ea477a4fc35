#!/usr/bin/env python3
"""What a small run costs from Python beyond C, with onnxruntime's beside it; and what else is promised with a number.

    bench/python_overhead.py [BUILD]      BUILD: build/release unless given; the package rlx must be importable

It compiles the same small program in C against BUILD/librlx.a, so that both sides have the same library; without a
compiler only Python's side is printed. onnxruntime is measured where it is installed. Each number is the median of
`ROUNDS` rounds, which take turns, so that a machine that gets slower does so for all of them.

Printed: microseconds of one run; the memory that a 1 GiB array takes beyond itself; the speed-up of two threads; how
soon Ctrl-C ends a run.
"""

import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import rlx

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python/tests"))
import onnx_files  # noqa: E402

ROUNDS, CALLS = 9, 20_000

# relu(x @ w) with x [2, 3], by rlx_run with a watch, as Python has one; prints nanoseconds per run.
C_PROGRAM = """
#include <rlx/rlx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static bool never(void *user) { (void)user; return false; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv) {
  int calls = argc > 1 ? atoi(argv[1]) : 1;
  float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[3][2] = {{1, -1}, {2, 0}, {0, 1}}, y[2][2];
  rlx_graph *g; rlx_session *session; rlx_executable *e;
  if (rlx_graph_create(&g)) return 1;
  rlx_node in = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)), p = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(3, 2));
  rlx_graph_add_output(g, "y", rlx_op_relu(g, rlx_op_matmul(g, in, p)));
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1};
  if (rlx_graph_finish(g) || rlx_session_create(&desc, &session) || rlx_compile(session, g, NULL, &e)) return 1;
  if (rlx_executable_write(e, "w", &(rlx_tensor){RLX_F32, RLX_DIMS(3, 2), {w}, sizeof w})) return 1;
  rlx_watch watch = {.cancel = never};
  rlx_executable_set_watch(e, &watch);
  rlx_named_tensor a = {"x", {RLX_F32, RLX_DIMS(2, 3), {x}, sizeof x}}, b = {"y", {.data = y, .bytes = sizeof y}};
  for (int i = 0; i < 1000; i++) if (rlx_run(e, &a, 1, &b, 1)) return 1;
  double begin = now();
  for (int i = 0; i < calls; i++) if (rlx_run(e, &a, 1, &b, 1)) return 1;
  printf("%f\\n", (now() - begin) / calls);
  return 0;
}
"""
W = np.array([[1, -1], [2, 0], [0, 1]], np.float32)
X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def microseconds(call):
    for _ in range(1000):
        call()
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS * 1e6


def c_program(build, folder):
    """The compiled program, or None."""
    source, program = pathlib.Path(folder) / "run.c", pathlib.Path(folder) / "run"
    source.write_text(C_PROGRAM)
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if not compiler or not (build / "librlx.a").is_file():
        return None
    libraries = ["-ljansson", "-lpcre2-8", "-lutf8proc"] if rlx.HAS_LM else []
    done = subprocess.run([compiler, "-O2", "-std=gnu11", f"-I{ROOT}/include", source, build / "librlx.a", *libraries,
                           "-lm", "-lpthread", "-ldl", "-o", program], capture_output=True, text=True)
    return program if done.returncode == 0 else print(done.stderr)


def overhead(build):
    graph = rlx.Graph()
    graph.output("y", (graph.input("x", "f32", (2, 3)) @ graph.param("w", "f32", (3, 2))).relu())
    session = rlx.Session("cpu", threads=1)
    program, bound = session.compile(graph, {"w": W}), session.compile(graph, {"w": W})
    y = np.empty((2, 2), np.float32)
    bound.bind_input("x", X)
    bound.bind_output("y", y)
    feed = {"x": X}
    sides = {"rlx, Python: program.run": lambda: microseconds(lambda: program.run(feed)),
             "rlx, Python: program.execute, all bound": lambda: microseconds(bound.execute)}
    model = rlx.onnx.load(onnx_files.layer(W), session=session)
    sides["rlx, Python: the same as ONNX model"] = lambda: microseconds(lambda: model.run(feed))
    try:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        peer = onnxruntime.InferenceSession(onnx_files.layer(W), options, providers=["CPUExecutionProvider"])
        sides[f"onnxruntime {onnxruntime.__version__}, Python: session.run"] = \
            lambda: microseconds(lambda: peer.run(None, feed))
    except ImportError:
        print("onnxruntime is not installed: not measured")
    with tempfile.TemporaryDirectory() as folder:
        c = c_program(build, folder)
        if c:
            sides["rlx, C: rlx_run"] = lambda: float(
                subprocess.run([c, str(CALLS)], capture_output=True, text=True, check=True).stdout) / 1000
        taken = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, side in sides.items():
                taken[name].append(side())
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, median in medians.items():
        print(f"{name:50} {median:8.2f} us   (lowest {min(taken[name]):.2f})")
    if "rlx, C: rlx_run" in medians:
        beyond = medians["rlx, Python: program.run"] - medians["rlx, C: rlx_run"]
        print(f"{'beyond C: program.run':50} {beyond:8.2f} us")


def resident_mib(field="VmRSS"):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field)) / 1024


def gibibyte():
    """The peak of resident memory while a 1 GiB array goes in, beyond the array: the library's own input memory is
    planned in its arena, which the plan reports; a copy on the way would come on top of it."""
    graph = rlx.Graph()
    graph.output("sum", graph.input("x", "f32", (1 << 28,)).reduce_sum())
    x = np.ones(1 << 28, np.float32)
    with rlx.Session("cpu").compile(graph) as program:
        before = resident_mib()
        with open("/proc/self/clear_refs", "w") as file:  # the peak starts anew
            file.write("5")
        result = program.run({"x": x})["sum"]
        peak = resident_mib("VmHWM") - before
        arena = program.segment_bytes() / 2 ** 20
        assert result == 1 << 28, result
        print(f"{'1 GiB in: resident memory beyond the array':50} {peak:8.1f} MiB, of which the plan has {arena:.1f}")
    raw = rlx._core.ffi.new("rlx_tensor *")
    before = resident_mib()
    alive = rlx._core.fill_tensor(raw, x)
    print(f"{'1 GiB handed to the library: memory for it':50} {resident_mib() - before:8.1f} MiB")
    del alive


def two_threads():
    graph = rlx.Graph()
    graph.output("y", graph.input("x", "f32", (512, 512)) @ graph.param("w", "f32", (512, 512)))
    x = np.ones((512, 512), np.float32)
    programs = [rlx.Session("cpu", threads=1).compile(graph, {"w": x}) for _ in range(2)]

    def work(program):
        for _ in range(100):
            program.run({"x": x})

    ratios = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for program in programs:
            work(program)
        alone = time.perf_counter() - begin
        threads = [threading.Thread(target=work, args=(p,)) for p in programs]
        begin = time.perf_counter()
        [t.start() for t in threads]
        [t.join() for t in threads]
        ratios.append(alone / (time.perf_counter() - begin))
    print(f"{'two threads: speed-up over one after the other':50} {statistics.median(ratios):8.2f}   "
          f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


def ctrl_c():
    from conftest import endless
    times = []
    with rlx.Session("cpu", threads=1).compile(endless()) as program:
        for _ in range(ROUNDS):
            sent = []

            def send():
                sent.append(time.perf_counter())
                os.kill(os.getpid(), signal.SIGINT)

            threading.Timer(0.1, send).start()
            try:
                program.run({"start": 0})
            except KeyboardInterrupt:
                times.append((time.perf_counter() - sent[0]) * 1000)
    print(f"{'Ctrl-C to KeyboardInterrupt, during a run':50} {statistics.median(times):8.2f} ms   "
          f"(largest {max(times):.2f})")


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release"
    print(f"rlx {rlx.__version__}, Python {sys.version.split()[0]}, NumPy {np.__version__}")
    overhead(build)
    two_threads()
    ctrl_c()
    gibibyte()


if __name__ == "__main__":
    main()
