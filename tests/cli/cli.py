"""Shared by the tests of the rlx command: calling it, files for it, and a folder to run in.

A test is a function marked @test; it runs in an empty folder and fails by raising. Every call of the program is also
checked for what must always hold: no signal, no sanitizer report, no hang, one line per error, nothing on standard
output but the result. A script ends with `sys.exit(main())` and takes

  RLX_BUILD_DIR=build/release tests/cli/test_cli_graph.py      or: tests/cli/test_cli_graph.py PROGRAM [PATTERN]

where PATTERN picks tests by a part of their names. The last line is 'N passed, N failed, N skipped'.
"""

import ast
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

# A shell may have started this with signals ignored (nohup, a job in the background), which the command would inherit and keep.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RLX_BUILD_DIR") or ROOT / "build/release").resolve()
RLX = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else BUILD / "rlx"
# A guard against hangs, not a measure: far above what anything here takes, also under a sanitizer on a busy machine. A machine
# that is slower still sets RLX_TEST_TIME to a factor.
SECONDS = 600 * float(os.environ.get("RLX_TEST_TIME") or 1)
# What a script does in part is drawn anew every day, or by RLX_TEST_SEED; RLX_TEST_ALL=1 does all of it.
EVERYTHING = bool(os.environ.get("RLX_TEST_ALL"))
SEED = os.environ.get("RLX_TEST_SEED") or time.strftime("%Y%m%d")
IS_SANITIZED = RLX.is_file() and b"__asan_init" in RLX.read_bytes()
SANITIZER = re.compile(r"ERROR: |runtime error: |SUMMARY: |WARNING: ThreadSanitizer")
# Once per process that switches stacks, as the emulated GPU does: a remark, not a finding.
ASAN_NOTE = re.compile(r"==\d+==WARNING: ASan doesn't fully support makecontext/swapcontext[^\n]*\n")

TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Skip(Exception):
    pass


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(found, expected, what=""):
    check(found == expected, f"{what}: expected {expected!r}, got {found!r}"[:2000])


PARTS = {}


def part(values, number, what):
    """So many of the values, in their order, drawn by SEED."""
    values = list(values)
    if EVERYTHING or number >= len(values):
        return values
    PARTS[what] = f"{number} of {len(values)}"
    chosen = set(random.Random(f"{SEED} {what}").sample(range(len(values)), number))
    return [value for i, value in enumerate(values) if i in chosen]


# ---- Calling the program


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def strict_json(text, what):
    """Parses one document; refuses NaN and Infinity, which JSON does not have."""
    def refuse(constant):
        raise AssertionError(f"{what}: a bare {constant} in JSON")
    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise AssertionError(f"{what}: no JSON: {error}: {text[:500]!r}")


def judge(args, code, out, err):
    """Checks what must hold for every call."""
    what = f"rlx {' '.join(map(str, args))}"
    check(code is not None and code >= 0, f"{what}: ended by signal {-code if code else code}\n{err}")
    check(not SANITIZER.search(err), f"{what}: {err}")
    check("\r" not in err and "\x1b" not in err, f"{what}: progress goes to what is no terminal: {err!r}")
    if code == 2:
        equal(out, "", f"{what}: standard output of wrong usage")
        check(err, f"{what}: wrong usage is not told")
    if code == 1:
        check(err, f"{what}: a failure is not told")
    if code == 1 and "--json" in args and not re.search("cannot write standard output", err):
        error = strict_json(out, what).get("error")
        check(error and error["status"] and error["message"] and error["message"] in error["messages"],
              f"{what}: the document of a failure is {out[:500]!r}")
    if code in (1, 2) and args:
        for line in err.splitlines():
            check(line.startswith("rlx: ") and len(line) < 4000, f"{what}: a line of error is {line!r}")


def rlx(*args, stdin=None, expect=None, cwd=None, seconds=SECONDS, **how):
    """Runs rlx; `expect` is the exit code that must come. Text in, text out."""
    done = subprocess.run([str(RLX), *map(str, args)], input=stdin, capture_output=True, timeout=seconds, cwd=cwd,
                          **({} if stdin is not None else {"stdin": subprocess.DEVNULL}), **how)
    err = ASAN_NOTE.sub("", done.stderr.decode("utf-8", "replace"))
    result = Result(done.returncode, done.stdout.decode("utf-8", "replace"), err)
    judge(args, result.code, result.out, result.err)
    if expect is not None:
        equal(result.code, expect, f"rlx {' '.join(map(str, args))}: exit code ({result.err.strip()})")
    return result


def fails(*args, says=(), code=1, lines=None, **how):
    """Runs rlx, which must fail with a message that contains each of `says`."""
    result = rlx(*args, expect=code, **how)
    for part in [says] if isinstance(says, str) else says:
        check(part in result.err, f"rlx {' '.join(map(str, args))}: expected {part!r} in {result.err!r}")
    if lines:
        equal(len(result.err.splitlines()), lines, f"rlx {' '.join(map(str, args))}: lines of error ({result.err!r})")
    return result


def rlx_json(*args, **how):
    """Runs rlx --json: one document, and nothing on standard error."""
    result = rlx(*args, "--json", expect=0, **how)
    equal(result.err, "", f"rlx {' '.join(map(str, args))} --json: standard error")
    return strict_json(result.out, f"rlx {' '.join(map(str, args))} --json")


def file_json(*args, **how):
    """The same for a command that takes files: the entry of the only file."""
    found = rlx_json(*args, **how)
    equal(list(found), ["files"], f"rlx {' '.join(map(str, args))} --json: members")
    equal(len(found["files"]), 1, f"rlx {' '.join(map(str, args))} --json: files")
    return found["files"][0]


def first_values(*args):
    """The values of the first output of `rlx eval`."""
    return rlx_json("eval", *args)["outputs"][0]["values"]


def pass_names():
    return [line.split()[0] for line in rlx("graph", "--passes", expect=0).out.splitlines()]


def wait_for_handler(process, number):
    """Waits until rlx has a handler for this signal, or has ended: before that, the default action would end it."""
    status = pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None and status.exists():
        caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", status.read_text(), re.MULTILINE)
        if caught and int(caught[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.01)


# ---- Files

DESCR = {"f32": ("<f4", "f"), "f16": ("<f2", "e"), "f64": ("<f8", "d"), "i8": ("|i1", "b"), "u8": ("|u1", "B"),
         "i16": ("<i2", "h"), "i32": ("<i4", "i"), "u32": ("<u4", "I"), "i64": ("<i8", "q"), "bool": ("|b1", "B"),
         "bf16": ("<V2", "H"), "c64": ("<c8", "f")}


def npy_bytes(dtype, shape, values, descr=None, order="False", version=1):
    code = DESCR[dtype][1]
    head = f"{{'descr': '{descr or DESCR[dtype][0]}', 'fortran_order': {order}, 'shape': {tuple(shape)}, }}".encode()
    length_bytes = 2 if version == 1 else 4
    head += b" " * (-(8 + length_bytes + len(head) + 1) % 64) + b"\n"
    return (b"\x93NUMPY" + bytes([version, 0]) + len(head).to_bytes(length_bytes, "little") + head
            + struct.pack(f"<{len(values)}{code}", *values))


def npy(path, dtype, shape, values, **how):
    path = pathlib.Path(path)
    path.write_bytes(npy_bytes(dtype, shape, values, **how))
    return path


def load(path):
    """(type, shape, values) of a .npy file of version 1 in C order."""
    data = pathlib.Path(path).read_bytes()
    check(data[:8] == b"\x93NUMPY\x01\x00", f"{path} is no .npy file")
    at = 10 + int.from_bytes(data[8:10], "little")
    equal(at % 64, 0, f"{path}: where the data begins")
    head = ast.literal_eval(data[10:at].decode())
    dtype = next(name for name, (descr, _) in DESCR.items() if descr == head["descr"])
    code = DESCR[dtype][1]
    count = (len(data) - at) // struct.calcsize(code)
    return dtype, list(head["shape"]), list(struct.unpack(f"<{count}{code}", data[at:]))


def write(name, text):
    pathlib.Path(name).write_text(text)
    return name


def close(found, expected, what="", tolerance=1e-6):
    equal(len(found), len(expected), f"{what}: count")
    check(all(abs(a - b) <= tolerance for a, b in zip(found, expected)), f"{what}: expected {expected}, got {found}")


LINEAR = """graph {
  %1 = input "x" : f32[2,3]
  %2 = param "w" : f32[3,2]
  %3 = matmul(%1, %2) : f32[2,2]
  %4 = constant : f32[2] = [0.5, -1]
  %5 = add(%3, %4) : f32[2,2]
  %6 = relu(%5) : f32[2,2]
  output "y" = %6
}
"""
OPEN = """graph {
  symbols B, S
  %1 = input "x" : f32[B,S]
  %2 = input "m" : f32[S]
  %3 = mul(%1, %2) : f32[B,S]
  %4 = reduce_sum(%3) {axes=[1]} : f32[B]
  output "y" = %4
}
"""
ENDLESS = """graph {
  %1 = input "n" : i64[]
  %2 = while(%1) {cond=graph { %a = input "a" : i64[]
      %z = constant : i64[] = [0]
      %c = ge(%a, %z)
      output "c" = %c
    }, body=graph { %a = input "a" : i64[]
      %z = constant : i64[] = [0]
      %b = mul(%a, %z)
      output "b" = %b
    }}
  output "y" = %2
}
"""


def linear_inputs():
    """x w + b = [[7.5, 4], [16.5, 10]] with these; returned as the options that give them."""
    npy("x.npy", "f32", (2, 3), [1, 2, 3, 4, 5, 6])
    npy("w.npy", "f32", (3, 2), [1, 0, 0, 1, 2, 1])
    return ["--input", "x=x.npy", "--input", "w=w.npy"]


LINEAR_RESULT = [7.5, 4, 16.5, 10]


def random_bytes(n):
    """Reproducible random bytes."""
    x, out = 1, bytearray()
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(x >> 56)
    return bytes(out)


# ---- Running tests


def run(function, scratch):
    """'passed', 'skipped' or 'failed', and why."""
    folder = tempfile.mkdtemp(dir=scratch)
    os.chdir(folder)
    try:
        function()
        return "passed", ""
    except Skip as skip:
        return "skipped", str(skip)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


def main():
    if not RLX.is_file():
        print(f"FAIL there is no program {RLX}\n0 passed, 1 failed, 0 skipped")
        return 1
    signal.signal(signal.SIGINT, signal.default_int_handler)  # where it was ignored, our children would ignore it too
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="rlx-cli-") as scratch:
        for function in TESTS:
            if len(sys.argv) > 2 and sys.argv[2] not in function.__name__:
                continue
            result, why = run(function, scratch)
            count[result] += 1
            if result != "passed":
                print(f"{'FAIL' if result == 'failed' else 'SKIP'} {function.__name__}: {why}", flush=True)
    for what, told in PARTS.items():
        print(f"part {what}: {told}, drawn by RLX_TEST_SEED={SEED}; RLX_TEST_ALL=1 takes all")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0
