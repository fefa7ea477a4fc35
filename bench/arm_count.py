#!/usr/bin/env python3
"""Counts the instructions of the CPU's inner loops under qemu-aarch64, per element.

    cmake --preset aarch64 && cmake --build build/aarch64 --target bench_kernel_count
    bench/arm_count.py                          every loop with every instruction set
    bench/arm_count.py --build OLD --build NEW  before and after
    bench/arm_count.py dot1/q8_0 gemm           loops whose names begin so

The one idea: qemu can write which blocks of code it runs, and what instructions each block has. Two runs of bench/kernel_count
that differ by a few passes differ by the instructions of these passes alone. This is a count, not a time: it says nothing of
how many instructions a processor runs at once.

--program FILE counts in another program of the same kind: FILE LOOP SET PASSES prints the elements of a pass.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETS = ["neon", "neon_dot", "neon_i8mm"]
TRACE = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/")
CODE = re.compile(r"^0x([0-9a-f]+):\s+[0-9a-f]{8}\s")


def count_log(path):
    """Instructions that a log of -d in_asm,exec,nochain says were run."""
    block, length, runs = None, {}, collections.Counter()
    with open(path, errors="replace") as log:
        for line in log:
            if line.startswith("Trace"):
                found = TRACE.match(line)
                runs[int(found[1], 16)] += 1
            elif line.startswith("IN:"):
                block = -1
            elif block is not None and (found := CODE.match(line)):
                if block < 0:
                    block = int(found[1], 16)
                    length[block] = 0
                length[block] += 1
    return sum(n * length.get(at, 0) for at, n in runs.items())


def run(program, loop, name, passes, log, emulator):
    command = [*emulator, "-d", "in_asm,exec,nochain", "-D", log, program, loop, name, passes]
    told = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if told.returncode:
        return None, None
    return int(told.stdout.split()[0]), count_log(log)


def per_element(program, loop, name, emulator):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        elements, few = run(program, loop, name, 1, log, emulator)
        if elements is None:
            return None
        return (run(program, loop, name, 3, log, emulator)[1] - few) / (2 * elements)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", action="append", type=pathlib.Path, help="a build folder (default build/aarch64)")
    parser.add_argument("--program", action="append", type=pathlib.Path, default=[], help="another program of the same kind")
    parser.add_argument("--sets", nargs="+", default=SETS, help="instruction sets")
    parser.add_argument("--root", default="/usr/aarch64-linux-gnu", help="where the target's libraries are")
    parser.add_argument("loops", nargs="*", help="beginnings of names (default: all)")
    args = parser.parse_args()
    qemu = shutil.which("qemu-aarch64")
    if not qemu:
        sys.exit("arm_count: expected qemu-aarch64, did not find it (Debian: qemu-user)")
    emulator = [qemu, "-L", args.root, "-cpu", "max"]
    programs = [folder / "bench/kernel_count" for folder in args.build or ([] if args.program else [ROOT / "build/aarch64"])]
    programs += args.program
    for program in programs:
        names = subprocess.run([*emulator, str(program)], capture_output=True, text=True).stdout.split()
        names = [n for n in names if not args.loops or any(n.startswith(b) for b in args.loops)]
        print(f"{str(program):30} {''.join(f'{s:>11}' for s in args.sets)}   instructions per element")
        for loop in names:
            counts = [per_element(program, loop, s, emulator) for s in args.sets]
            print(f"{loop:30} {''.join('          -' if c is None else f'{c:11.3f}' for c in counts)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
