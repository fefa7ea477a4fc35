#!/usr/bin/env python3
"""RLX against PyTorch on the CPU: element-wise ops, softmax and norms on 4096x1024 f32, in one process and interleaved.

    python3 bench/torch_ratio.py [--lib build/librlx.so] [--rounds 15] [--ops add,gelu] [--device cpu]

Needs a shared librlx (cmake -DBUILD_SHARED_LIBS=ON) and `pip install torch` (the CPU build). Each op is compiled through
the public API; its inputs lie in the executable, and what is timed is rlx_executable_run alone. PyTorch writes into a
preallocated result wherever it can (it has no `out` for the norms). Rounds alternate, a block of calls each. The table gives the
median and the best time of both and the ratio PyTorch / RLX of each: above 1, RLX is faster. On a machine that does other
things at the same time only the best times say something. The last column is the largest difference of the results. """
import argparse
import ctypes
import statistics
import time

import torch
import torch.nn.functional as functional
from rlx_library import Library, SessionDesc, f32_view

ROWS, COLUMNS = 4096, 1024


def as_tensor(t):
    """A view of a contiguous f32 torch tensor."""
    return f32_view(t.shape, t.data_ptr())


class Executable:
    """One op compiled for the CPU, its inputs written."""

    def __init__(self, lib, device, threads, expression, inputs):
        self.lib = lib
        text = "graph {\n"
        for name, value in inputs.items():
            text += f'  %{name} = input "{name}" : f32[{",".join(map(str, value.shape))}]\n'
        text = (text + f'  %out = {expression}\n  output "out" = %out\n}}\n').encode()
        graph = lib.make("rlx_graph_parse", text, ctypes.c_size_t(len(text)))
        desc = SessionDesc(ctypes.sizeof(SessionDesc), device.encode(), threads)
        self.session = lib.make("rlx_session_create", ctypes.byref(desc))
        self.handle = lib.make("rlx_compile", self.session, graph, None)
        lib.c.rlx_graph_destroy(graph)
        for name, value in inputs.items():
            lib.call("rlx_executable_write", self.handle, name.encode(), ctypes.byref(as_tensor(value)))

    def run(self):
        self.lib.call("rlx_executable_run", self.handle)

    def read(self, like):
        result = torch.empty_like(like)
        self.lib.call("rlx_executable_read", self.handle, b"out", ctypes.byref(as_tensor(result)))
        return result

    def close(self):
        self.lib.c.rlx_executable_destroy(self.handle)
        self.lib.c.rlx_session_destroy(self.session)


def make_ops():
    """Name -> (expression, inputs, the same in PyTorch)."""
    x, y = torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)
    g, b, out = torch.randn(COLUMNS), torch.randn(COLUMNS), torch.empty(ROWS, COLUMNS)
    nn = torch._C._nn
    one, two = {"x": x}, {"x": x, "y": y}
    return {
        "add": ("add(%x, %y)", two, lambda: torch.add(x, y, out=out)),
        "mul": ("mul(%x, %y)", two, lambda: torch.mul(x, y, out=out)),
        "exp": ("exp(%x)", one, lambda: torch.exp(x, out=out)),
        "silu": ("silu(%x)", one, lambda: nn.silu(x, out=out)),
        "gelu": ("gelu(%x)", one, lambda: nn.gelu(x, out=out)),
        "gelu_approx": ("gelu_approx(%x)", one, lambda: nn.gelu(x, approximate="tanh", out=out)),
        "tanh": ("tanh(%x)", one, lambda: torch.tanh(x, out=out)),
        "softmax": ("softmax(%x)", one, lambda: torch.softmax(x, -1, out=out)),
        "log_softmax": ("log_softmax(%x)", one, lambda: torch.log_softmax(x, -1, out=out)),
        "layer_norm": ("layer_norm(%x, %g, %b)", {"x": x, "g": g, "b": b},
                       lambda: functional.layer_norm(x, (COLUMNS,), g, b)),
        "rms_norm": ("rms_norm(%x, %g)", {"x": x, "g": g}, lambda: functional.rms_norm(x, (COLUMNS,), g, 1e-5)),
        "sum_rows": ("reduce_sum(%x) {axes=[1]}", one, lambda: torch.sum(x, 1)),
        "sum_columns": ("reduce_sum(%x) {axes=[0]}", one, lambda: torch.sum(x, 0)),
    }


BLOCK = 12  # calls of one side in a row


def time_block(call, times):
    """Threads of a library keep their cores busy for a while after a call: each side waits until the other's sleep, and
    the first calls, which wake its own, do not count."""
    time.sleep(0.03)
    for i in range(BLOCK):
        begin = time.perf_counter()
        call()
        if i >= BLOCK // 3:
            times.append(1e3 * (time.perf_counter() - begin))


def measure(executable, torch_call, rounds):
    theirs, ours = [], []
    for _ in range(rounds):
        time_block(torch_call, theirs)
        time_block(executable.run, ours)
    return theirs, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", default="build/librlx.so")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ops", default="")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    lib = Library(args.lib)
    torch.manual_seed(1)
    ops = make_ops()
    chosen = args.ops.split(",") if args.ops else list(ops)
    print(f"{ROWS}x{COLUMNS} f32, torch {torch.__version__}, device {args.device}, {args.rounds} rounds; times in ms\n")
    print("| op | threads | torch median | rlx median | ratio | torch best | rlx best | ratio | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for name in chosen:
            expression, inputs, torch_call = ops[name]
            executable = Executable(lib, args.device, threads, expression, inputs)
            executable.run()
            want = torch_call()
            difference = (executable.read(want) - want).abs().max().item()
            theirs, ours = measure(executable, torch_call, args.rounds)
            executable.close()
            t, o, tb, ob = statistics.median(theirs), statistics.median(ours), min(theirs), min(ours)
            print(f"| {name} | {threads} | {t:.2f} | {o:.2f} | {t / o:.2f} | {tb:.2f} | {ob:.2f} | {tb / ob:.2f} | "
                  f"{difference:.1e} |", flush=True)


if __name__ == "__main__":
    main()
