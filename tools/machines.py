"""The step `machines` of tools/test, and more of it for tools/soak: machines that are not this one, on this one.

    i686      32-bit x86, which x86-64 runs itself
    riscv64   under QEMU
    musl      this machine with another C library, linked statically

One of them, drawn every day, gets the command for the CPU, every conformance case, the model that ships and ONNX models:
WebAssembly has sizes of 32 bits as well, and 64-bit Arm another compiler. `make soak` builds everything for all of them
and runs the tests of the CPU, of encoders, files, sizes and texts as well. 64-bit Arm and Windows have steps of their
own, for their kernels and their system.
"""

import pathlib
import platform
import re
import shutil

from runner import BUILD, LOGS, ROOT, build, call, draw, run_programs, skip, test_sources

ONNX = pathlib.Path("/usr/share/libonnx-testdata/data/pytorch-operator")
# Optimised as far as a compiler does it fast; the compiler's full optimisation is tried by `make soak`.
CPU_ALONE = ["-DRLX_TESTS=OFF", "-DRLX_CUDA=OFF", "-DRLX_WEBGPU=OFF", "-DCMAKE_C_FLAGS_RELEASE=-O1"]
# What depends on how wide a size is, on how floats are rounded, or on the C library.
TESTS = re.compile("test_(cpu_|quant|base$|half|float8|alloc|arena|limits|eval|special|cast_every|numeric|text|npy|"
                   "file|paths|str|thread|pool|plan_check|onnx|lm_(gguf|json|files|safetensors|text|token|models|engine))")


def emulator(machine):
    """The words before a program, and what is missing for it."""
    if machine == "musl":
        return [], "" if shutil.which("musl-gcc") else "musl-gcc is not installed (Debian: musl-tools)"
    debian, root = {"i686": "i386", "riscv64": "riscv64"}[machine], pathlib.Path(f"/usr/{machine}-linux-gnu")
    if not shutil.which(f"{machine}-linux-gnu-gcc") or not (root / "lib/libc.so.6").is_file():
        return [], f"{machine}-linux-gnu-gcc is not installed (Debian: gcc-{machine}-linux-gnu libc6-dev-{debian}-cross)"
    if machine == "i686" and platform.machine() == "x86_64":
        return [root / "lib/ld-linux.so.2", "--library-path", root / "lib"], ""
    return [f"qemu-{debian}", "-L", root], "" if shutil.which(f"qemu-{debian}") else "qemu-user is not installed"


def as_program(machine, words, program):
    """A script that runs a program of that machine, for scripts that want one program."""
    if not words:
        return program
    LOGS.mkdir(parents=True, exist_ok=True)
    wrapper = LOGS / f"{machine}-{program.name}"
    wrapper.write_text("#!/bin/sh\nexec " + " ".join(map(str, words)) + f" '{program}' \"$@\"\n")
    wrapper.chmod(0o755)
    return wrapper


def check_one(report, machine, jobs, everything, tests):
    words, missing = emulator(machine)
    if missing:
        return skip(report, machine, missing)
    needs = call([ROOT / "tools/needs", machine], f"{machine}-needs.log")
    if needs[0] != 0:  # the library builds without them
        skip(report, f"{machine}: language models", (needs[1].strip() or f"tools/needs {machine} failed").splitlines()[-1])
        tests = [t for t in tests if not t.startswith("test_lm_")]
    directory = machine if everything else f"{machine}-cpu"
    if not build(report, machine, jobs, directory=directory, options=[] if everything else CPU_ALONE,
                 targets=["rlx_cli", *(f"tests_{t}" for t in tests)]):
        return
    rlx = BUILD / directory / "rlx"
    programs = [("conform", [*words, rlx, "conform", "--device", "cpu"])]
    programs += [(t, [*words, BUILD / directory / "tests" / t]) for t in tests]
    if needs[0] == 0:
        script = ["python3", ROOT / "tests/cli/test_cli_lm_shakespeare.py", as_program(machine, words, rlx)]
        programs.append(("model", script if everything else [*script, "any_number_of_threads"]))
    if ONNX.is_dir():
        programs.append(("onnx", [*words, rlx, "onnx-test", ONNX, "-q"]))
    else:
        skip(report, f"{machine}: ONNX models", "libonnx-testdata is not installed")
    run_programs(report, machine, programs, jobs, {"RLX_TEST_TIME": "10"})


def check(report, jobs, everything):
    tests = [s.stem for s in test_sources() if TESTS.match(s.stem)] if everything else []
    machines = ("i686", "riscv64", "musl")
    for machine in machines if everything else draw(report, "machines", machines, 1):
        check_one(report, machine, jobs, everything, tests)


if __name__ == "__main__":
    import sys
    sys.exit("this is a part of tools/test and tools/soak; run those")
