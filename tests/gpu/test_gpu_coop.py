#!/usr/bin/env python3
"""Runs the kernels of attention, convolutions and products on matrix units as C++ on the host: tests/gpu/coop/. Each is run with
matrices as Vulkan has them, whose elements may lie in any order, and as CUDA has them (src/gpu/kernels/matrices.h);
kernels for Hopper alone with tests/gpu/coop/k_hopper.h.

  tests/gpu/test_gpu_coop.py [KERNEL]      (RLX_TEST_SEED: repeats the cases of an earlier run; CXX: g++ unless set)

Cases are random in each run, and so is the half of the kernels that is run (RLX_TEST_ALL: all are); a failure prints the command that
repeats it. The last line is 'N passed, N failed, N skipped'.
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
CXX = os.environ.get("CXX") or "g++"
SECONDS = 600 * float(os.environ.get("RLX_TEST_TIME") or 1)  # a guard against hangs, never a measure
KERNELS = {"attention": ["attention_coop64", "attention_coop64_bf16", "attention_coop128", "attention_coop128_bf16"],
           "attention_wide": ["attention_wide64", "attention_wide128", "attention_wide64_bf16", "attention_wide128_bf16"],
           "rows": ["rows_coop1", "rows_coop1_bf16", "rows_coop2", "rows_coop4", "rows_coop4_bf16", "rows_full1",
                    "rows_full4", "rows_direct1", "rows_direct_f32", "rows_direct2", "rows_direct_blocks",
                    "rows_direct2_blocks"],
           "rows_wide": ["quant_few8", "quant_few16", "quant_few32", "quant_wide32", "quant_wide64", "quant_wide128"],
           "stages_wide": ["quant_stages"],
           "groups_wide": ["quant_groups"],
           "conv_wide": ["conv_wide", "conv_wide_bf16"],
           "conv": ["conv_coop", "conv_coop_bf16"],
           "matmul_wide": ["matmul_wide128", "matmul_wide256", "matmul_wide128_bf16", "matmul_wide256_bf16"],
           "matmul": ["matmul_coop2", "matmul_coop2_bf16", "matmul_coop4", "matmul_coop4_bf16"]}
# Each runs up to a few hundred thousand invocations as coroutines.
CASES = {"attention": 8, "attention_wide": 12, "matmul_wide": 40, "conv_wide": 16, "conv": 24, "rows": 12, "rows_wide": 12,
         "stages_wide": 20, "groups_wide": 20, "matmul": 60}


def check(program_name, kernel, seed, folder, target):
    """How many cases passed and failed."""
    program = pathlib.Path(folder) / kernel
    cuda = ["-DCOOP_CUDA", "-Wno-maybe-uninitialized"] if target == "cuda" else []
    kind, source = "matrix", program_name.removesuffix("_wide")
    if source != program_name:
        kind, cuda = "hopper", cuda + ["-DCOOP_HOPPER"] + (["-DCOOP_FEW"] if "few" in kernel else [])
    made = subprocess.run([CXX, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/src/gpu/kernels",
                           *(["-DCOOP_BF16"] if "bf16" in kernel or "full" in kernel or "f32" in kernel else []),
                           f'-DKERNEL_FILE="{kernel}.{kind}.k"', *cuda,
                           ROOT / f"tests/gpu/coop/{source}.cpp", "-o", program], capture_output=True, text=True)
    if made.returncode:
        print(f"FAIL {kernel} for {target} does not compile:\n{made.stderr}")
        return 0, 1
    print(f"{kernel} for {target}: RLX_TEST_SEED={seed}", flush=True)
    try:
        done = subprocess.run([program, str(CASES[program_name] // 2), str(seed)], capture_output=True, text=True,
                              timeout=SECONDS)
        out, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        out, code = "an invocation waits for one that does not come", None
    counts = re.search(r"(\d+) passed, (\d+) failed, 0 skipped$", out.strip())
    if code == 0 and counts:
        return int(counts[1]), int(counts[2])
    print(f"FAIL {kernel} for {target}: ended with {code}\n{out}  repeat: RLX_TEST_SEED={seed} tests/gpu/test_gpu_coop.py {kernel}")
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def has_half():
    """Whether the compiler knows f16: not all do, for all machines."""
    done = subprocess.run([CXX, "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], input="_Float16 x;", text=True,
                          capture_output=True)
    return done.returncode == 0


def main():
    kernels = [(name, k) for name, of in KERNELS.items() for k in of if len(sys.argv) < 2 or k == sys.argv[1]]
    if not shutil.which(CXX) or not has_half():
        print(f"SKIP: there is no C++ compiler {CXX} that knows _Float16\n0 passed, 0 failed, {len(kernels)} skipped")
        return 0
    seed = int(os.environ.get("RLX_TEST_SEED") or time.time_ns() // 1000 % 1000000000)
    if len(sys.argv) < 2 and not os.environ.get("RLX_TEST_ALL"):
        drawn = random.Random(seed)
        kernels = [(name, k) for name, of in KERNELS.items() for k in sorted(drawn.sample(of, -(-len(of) // 2)))]
        print(f"{len(kernels)} of {sum(map(len, KERNELS.values()))} kernels, drawn by RLX_TEST_SEED={seed}; RLX_TEST_ALL=1 runs all")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kernel in kernels:
            for target in ("cuda",) if name.endswith("_wide") else ("vulkan", "cuda"):
                good, bad = check(name, kernel, seed, folder, target)
                passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
