"""What tools/test and tools/soak share: steps with logs, builds by preset, test programs and their closing lines.

The one idea: everything that is checked ends as three counts (passed, failed, skipped) in one place, Report, whose last
line a person or a script reads. A step says on the screen what went wrong or was left out; the whole of its output is
in build/logs/. A program that dies, hangs, or says nothing at its end counts as one failure, never as nothing.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
NOTABLE = re.compile(r"\b(FAIL|SKIP)\b|ERROR: |runtime error: |WARNING: ThreadSanitizer|SUMMARY: ")
SHOWN_LINES = 20
# What guards against hangs, never a measure; a machine slower than any known sets RLX_TEST_TIME to a factor.
HANG_SECONDS = int(600 * float(os.environ.get("RLX_TEST_TIME") or 1))

SANITIZER_ENV = {
    # Sizes that no machine has must come back as NULL, as they do without the sanitizer: tests ask for them.
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={ROOT / 'tests/support/tsan.supp'}",
}


class Report:
    """The sum of everything, and what to read first when it is not clean."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures, self.skips = [], []
        self.broken = set()  # build trees that did not build: what lies in them is old
        self.start = time.monotonic()

    def add(self, name, passed=0, failed=0, skipped=0, why=""):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if failed:
            self.failures.append(f"{name}: {why or f'{failed} failed'}")
        if skipped:
            self.skips.append(f"{name}: {why if not failed and why else f'{skipped} skipped'}")

    def close(self):
        print(f"\n== summary, after {time.monotonic() - self.start:.0f} s")
        for title, lines in (("skipped", self.skips), ("FAILED", self.failures)):
            for line in lines:
                print(f"   {title}  {line}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0


def heading(text):
    print(f"\n== {text}", flush=True)


def say(text):
    print(f"   {text}", flush=True)


def call(command, log, env=None, timeout=None, cwd=ROOT):
    """Runs a command into a log file. Returns (exit code, its text, seconds); the code is None where time ran out."""
    LOGS.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    with open(LOGS / log, "wb") as out:
        out.write((" ".join(map(str, command)) + "\n").encode())
        out.flush()
        try:
            code = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT, cwd=cwd, env={**os.environ, **(env or {})},
                                  timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            code = None
        except OSError as error:
            out.write(f"cannot run: {error}\n".encode())
            code = 127
    text = (LOGS / log).read_text(encoding="utf-8", errors="replace")
    return code, text.split("\n", 1)[1], time.monotonic() - begin


def show(lines, log):
    lines = list(lines)
    for line in lines[:SHOWN_LINES]:
        say("  " + line)
    if len(lines) > SHOWN_LINES:
        say(f"  ... {len(lines) - SHOWN_LINES} more in {(LOGS / log).relative_to(ROOT)}")


def step(report, name, command, **how):
    """A command that must succeed: one passed or one failed. Returns whether it did."""
    log = re.sub(r"[^a-z0-9]+", "-", name.lower()) + ".log"
    code, text, seconds = call(command, log, **how)
    if code == 0:
        report.add(name, passed=1)
        say(f"ok    {name} ({seconds:.1f} s)")
        return True
    why = "out of time" if code is None else f"exit code {code}"
    report.add(name, failed=1, why=f"{why}, see {(LOGS / log).relative_to(ROOT)}")
    say(f"FAIL  {name}: {why}")
    lines = text.splitlines()
    errors = [line for line in lines if re.search(r"\berror: |undefined reference", line)]
    show(errors or lines[-SHOWN_LINES:], log)
    return False


def skip(report, name, why):
    report.add(name, skipped=1, why=why)
    say(f"SKIP  {name}: {why}")


def same_program(a, b):
    """Whether two names of a compiler (cc, gcc) lead to one file."""
    a, b = shutil.which(a), shutil.which(b)
    return bool(a and b) and os.path.realpath(a) == os.path.realpath(b)


def build(report, preset, jobs, compiler=None, directory=None, options=(), targets=()):
    """Configures and builds a preset with this compiler; both must succeed."""
    directory = BUILD / (directory or preset)
    cache = directory / "CMakeCache.txt"
    had = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    if had and compiler and not same_program(had[1], compiler):
        shutil.rmtree(directory)  # CMake cannot change the compiler of a build tree
        had = None
    if compiler and not had:
        options = [f"-DCMAKE_C_COMPILER={compiler}", *options]
    if (step(report, f"{directory.name}: configure", ["cmake", "--preset", preset, "-B", directory, *options])
            and step(report, f"{directory.name}: build", ["cmake", "--build", directory, "-j", str(jobs),
                                                          *(["--target", *targets] if targets else [])])):
        return True
    report.broken.add(directory.name)
    return False


def run_program(report, label, command, env, timeout):
    """One test program: its closing line is its result."""
    log = label.replace("/", "-") + ".log"
    code, text, seconds = call(command, log, env=env, timeout=timeout)
    closings = CLOSING.findall(text)
    notable = [line for line in text.splitlines() if NOTABLE.search(line)]
    if not closings:
        why = f"no result after {timeout} s" if code is None else f"no closing line, exit code {code}"
        report.add(label, failed=1, why=why)
        say(f"FAIL  {label}: {why}")
        show(notable or text.splitlines()[-SHOWN_LINES:], log)
        return
    passed, failed, skipped = map(int, closings[-1])
    why = ""
    if code != 0 and not failed:  # a leak or a race is found after the closing line
        failed, why = 1, f"exit code {code} after a clean closing line"
    elif not passed and not failed and not skipped:
        failed, why = 1, "the test ran nothing"
    report.add(label, passed, failed, skipped, why)
    counts = f"{passed} passed, {failed} failed, {skipped} skipped"
    say(f"{'FAIL ' if failed else 'ok   '} {label}: {counts} ({seconds:.1f} s)")
    if failed and not notable:
        notable = text.splitlines()[-SHOWN_LINES:]
    show(notable, log)


# These take longest, so they begin first: otherwise a core waits at the end while another runs one of them.
LONGEST = re.compile(r"test_(vulkan_faults|cuda|special|quant_every|gpu_|conform|lm_engine|lm_hostile|scale|cli_lm_)")


def run_programs(report, group, commands, jobs, env=None, timeout=6 * HANG_SECONDS):
    """Test programs side by side. `commands` is a list of (name, command)."""
    commands = sorted(commands, key=lambda c: not LONGEST.match(c[0]))
    cache = {"XDG_CACHE_HOME": str(BUILD / "cache")}  # of compiled pipelines: not the user's own
    env = {**SANITIZER_ENV, **cache, **(env or {})}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(run_program, report, f"{group}/{name}", command, env, timeout)
                     for name, command in commands]:
            done.result()


def test_sources(pattern="test_*.c"):
    return sorted((ROOT / "tests").glob(f"*/{pattern}"), key=lambda p: p.name)


def clang_sanitizes():
    """Whether clang is here with its run-time libraries."""
    LOGS.mkdir(parents=True, exist_ok=True)
    probe = LOGS / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    return shutil.which("clang") is not None and call(
        ["clang", "-fsanitize=fuzzer-no-link,address,undefined", probe, "-o", LOGS / "probe"], "probe.log")[0] == 0


def seeds_of(name):
    """The checked-in seeds of a fuzz target: its own, or those of the target whose name it extends."""
    while name and not (ROOT / "tests" / "corpus" / name).is_dir():
        name = name.rpartition("_")[0]
    return [ROOT / "tests" / "corpus" / name] if name else []


def fuzz_command(directory, name, corpus, *options):
    corpus.mkdir(parents=True, exist_ok=True)
    return [BUILD / directory / "tests" / name, "-rss_limit_mb=4096", f"-timeout={HANG_SECONDS}", f"-artifact_prefix={LOGS}/{name}-",
            *options, corpus, *seeds_of(name)]


def fuzz(report, directory, jobs, seconds, runs=None):
    """Each fuzz target for a bounded time, from its seeds in tests/corpus/<name> where there are any."""
    def one(source):
        name = source.stem
        step(report, f"{directory}/{name}", fuzz_command(
            directory, name, LOGS / f"corpus-{name}", f"-max_total_time={seconds}", *([f"-runs={runs}"] if runs else []), "-seed=1"),
            env=SANITIZER_ENV, timeout=seconds + HANG_SECONDS)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, test_sources("fuzz_*.c")))


def jobs_argument(parser):
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2, help="how many things at once")


if __name__ == "__main__":
    sys.exit("this is a part of tools/test and tools/soak; run those")


# Machines that differ in what their processors have: all of isa.def's sets, no SMMLA, no products of bytes either.
AARCH64_PROCESSORS = ("max", "neoverse-n1", "cortex-a53")
AARCH64_ROOT = "/usr/aarch64-linux-gnu"


def aarch64_missing():
    """What keeps 64-bit Arm from being tried here; None where it can be."""
    for tool, package in (("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross"), ("qemu-aarch64", "qemu-user")):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian: {package})"
    return None


def aarch64_emulator(processor):
    return ["qemu-aarch64", "-L", AARCH64_ROOT, "-cpu", processor]


def aarch64_program(program, processor):
    """A script that runs a program of the tree on an emulated processor, for scripts that want one program."""
    wrapper = LOGS / f"aarch64-{processor}-{pathlib.Path(program).name}"
    LOGS.mkdir(parents=True, exist_ok=True)
    wrapper.write_text("#!/bin/sh\nexec " + " ".join(aarch64_emulator(processor)) + f" '{program}' \"$@\"\n")
    wrapper.chmod(0o755)
    return wrapper
