"""What tools/test and tools/soak share: steps with logs, builds by preset, test programs and their closing lines.

The one idea: everything that is checked ends as three counts (passed, failed, skipped) in one place, Report, whose last
line a person or a script reads. A step says on the screen what went wrong or was left out; the whole of its output is
in build/logs/. A program that dies, hangs, or says nothing at its end counts as one failure, never as nothing.

Steps may run side by side (run_steps): each has a page of its own for what it says, and all share the cores, which go to
the earliest step that waits. So the machine has work while a step waits for its last program or its linker.
"""

import collections
import concurrent.futures
import contextlib
import datetime
import heapq
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
NOTABLE = re.compile(r"\b(FAIL|SKIP)\b|ERROR: |runtime error: |WARNING: ThreadSanitizer|SUMMARY: ")
SHOWN_LINES = 20
# What guards against hangs, never a measure; a machine slower than any known sets RLX_TEST_TIME to a factor.
HANG_SECONDS = int(600 * float(os.environ.get("RLX_TEST_TIME") or 1))

# Programs that repeat on another driver, compiler or processor what others check run in part: a part drawn anew every day, or by
# RLX_TEST_SEED. RLX_TEST_ALL=1 runs all of them; tests in C and Python read it as well.
EVERYTHING = bool(os.environ.get("RLX_TEST_ALL"))
SEED = os.environ.get("RLX_TEST_SEED") or datetime.date.today().strftime("%Y%m%d")

SANITIZER_ENV = {
    # Sizes that no machine has must come back as NULL, as they do without the sanitizer: tests ask for them.
    "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={ROOT / 'tests/support/tsan.supp'}",
}


class Report:
    """The sum of everything, what to read first when it is not clean, and what took the cores longest."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures, self.skips, self.parts = [], [], []  # each with the number of its step
        self.broken = set()  # build trees that did not build: what lies in them is old
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def add(self, name, passed=0, failed=0, skipped=0, why=""):
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped
            if failed:
                self.failures.append((here().rank, f"{name}: {why or f'{failed} failed'}"))
            if skipped:
                self.skips.append((here().rank, f"{name}: {why if not failed and why else f'{skipped} skipped'}"))

    def close(self):
        costs = sorted(spent, reverse=True)
        total = f"{sum(c[1] for c in costs):.0f} s and {sum(c[2] for c in costs):.0f} s in the kernel"
        print(f"\n== most time on the cores, of {total}; all of it: build/logs/times.tsv")
        for _, user, kernel, seconds, log in costs[:10]:
            print(f"   {user:6.1f} s and {kernel:5.1f} s in the kernel, {seconds:5.1f} s by the clock: {log.removesuffix('.log')}")
        print(f"\n== summary, after {time.monotonic() - self.start:.0f} s")
        if self.parts:
            print(f"   in part: RLX_TEST_SEED={SEED} draws the same again, RLX_TEST_ALL=1 runs all")
        for title, lines in (("part   ", self.parts), ("skipped", self.skips), ("FAILED", self.failures)):
            for _, line in sorted(lines, key=lambda told: told[0]):
                print(f"   {title}  {line}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0


def draw(report, what, names, number):
    """So many of the names, in their order: a part that the seed picks, or all of them with RLX_TEST_ALL."""
    names = list(names)
    if EVERYTHING or number >= len(names):
        return names
    chosen = set(random.Random(f"{SEED} {what}").sample(names, number))
    told = f"{what}: {number} of {len(names)}"
    with report.lock:
        report.parts.append((here().rank, told))
    say(f"part  {told}, drawn by RLX_TEST_SEED={SEED}")
    return [name for name in names if name in chosen]


def deal(report, what, names, kinds):
    """Each name goes to one of the kinds, {kind: names}: in even shares that the seed deals, or all to each with RLX_TEST_ALL."""
    names, kinds = list(names), list(kinds)
    if EVERYTHING:
        return {kind: names for kind in kinds}
    dealt = random.Random(f"{SEED} {what}").sample(names, len(names))
    told = f"{what}: each on one of {', '.join(kinds)}"
    with report.lock:
        report.parts.append((here().rank, told))
    say(f"part  {told}, dealt by RLX_TEST_SEED={SEED}")
    return {kind: sorted(dealt[i::len(kinds)]) for i, kind in enumerate(kinds)}


class Page:
    """What a step says: shown at once where all steps before it have ended, kept until then otherwise."""

    lock = threading.Lock()

    def __init__(self, rank=0, live=True):
        self.rank, self.live, self.lines = rank, live, []

    def write(self, line):
        with self.lock:
            if self.live:
                print(line, flush=True)
            else:
                self.lines.append(line)

    def show(self):
        with self.lock:
            self.live = True
            if self.lines:
                print("\n".join(self.lines), flush=True)


PAGE = Page()  # where no steps run side by side
local = threading.local()


def here():
    return getattr(local, "page", PAGE)


def enter(page):
    local.page = page


def heading(text):
    here().write(f"\n== {text}")


def say(text):
    here().write(f"   {text}")


class Cores:
    """The cores that all steps share. Where several wait, what others wait for (`soon`) comes first, then the earliest step."""

    def __init__(self):
        self.all = self.free = None  # no limit but what each step sets itself
        self.changed = threading.Condition()
        self.waiting, self.count = [], itertools.count()

    def share(self, number):
        self.all = self.free = number

    @contextlib.contextmanager
    def take(self, number, soon=False):
        if not self.all or not number:
            yield
            return
        number = min(number, self.all)
        with self.changed:
            me = (not soon, here().rank, next(self.count))
            heapq.heappush(self.waiting, me)
            self.changed.wait_for(lambda: self.waiting[0] == me and self.free >= number)
            heapq.heappop(self.waiting)
            self.free -= number
            self.changed.notify_all()
        try:
            yield
        finally:
            with self.changed:
                self.free += number
                self.changed.notify_all()


cores = Cores()
spent = []  # (all seconds on the cores, those outside and in the kernel, by the clock, log) of each command


def note_time(used, seconds, log):
    with cores.changed, open(LOGS / "times.tsv", "a" if spent else "w") as out:
        spent.append((used.ru_utime + used.ru_stime, used.ru_utime, used.ru_stime, seconds, log))
        out.write(f"{used.ru_utime:.2f}\t{used.ru_stime:.2f}\t{seconds:.2f}\t{log.removesuffix('.log')}\n")


def wait(process, timeout):
    """Waits for a process, for so long at most. Returns (exit code or None, what it and its children used)."""
    late = threading.Event()

    def end():
        late.set()
        os.kill(process.pid, signal.SIGKILL)
    timer = threading.Timer(timeout, end) if timeout else None
    if timer:
        timer.daemon = True
        timer.start()
    _, status, used = os.wait4(process.pid, 0)
    if timer:
        timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if late.is_set() else process.returncode, used


def call(command, log, env=None, timeout=None, cwd=ROOT, takes=1, soon=False):
    """Runs a command into a log file, when so many cores are free. Returns (exit code, its text, seconds); the code is
    None where time ran out."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with cores.take(takes, soon), open(LOGS / log, "wb") as out:
        begin = time.monotonic()
        out.write((" ".join(map(str, command)) + "\n").encode())
        out.flush()
        try:
            code, used = wait(subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out,
                                               stderr=subprocess.STDOUT, cwd=cwd, env={**os.environ, **(env or {})}), timeout)
            note_time(used, time.monotonic() - begin, log)
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


def halved(jobs):
    """How many cores one command that can use them all takes: half, since each of them ends with what only one core can do."""
    return max(1, jobs // 2) if cores.all else jobs


trees = {}  # build trees that a step of this run makes for others too: an event each, set when it is made


def await_tree(report, name):
    """Waits for a build tree that another step of this run makes. Returns whether one did, just now."""
    if name in trees:
        trees[name].wait()
    return name in trees and name not in report.broken


def build(report, preset, jobs, compiler=None, directory=None, options=(), targets=(), soon=False):
    """Configures and builds a preset with this compiler; both must succeed. `soon`: before what else waits for cores."""
    directory = BUILD / (directory or preset)
    done = build_tree(report, preset, jobs, compiler, directory, options, targets, soon or directory.name in trees)
    if not done:
        report.broken.add(directory.name)
    if directory.name in trees:
        trees[directory.name].set()
    return done


def build_tree(report, preset, jobs, compiler, directory, options, targets, soon):
    cache = directory / "CMakeCache.txt"
    had = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    if had and compiler and not same_program(had[1], compiler):
        shutil.rmtree(directory)  # CMake cannot change the compiler of a build tree
        had = None
    if compiler and not had:
        options = [f"-DCMAKE_C_COMPILER={compiler}", *options]
    takes = halved(jobs)
    return (step(report, f"{directory.name}: configure", ["cmake", "--preset", preset, "-B", directory, *options],
                 soon=soon)
            and step(report, f"{directory.name}: build", ["cmake", "--build", directory, "-j", str(takes),
                                                          *(["--target", *targets] if targets else [])], takes=takes, soon=soon))


# They wait for a browser most of their time, so they run beside what takes the cores.
BROWSERS = re.compile(r"test_(web_browser|web_faults|webgpu_browser|serve_page)$")

# A program and its twin of another build never run at once: they may use one folder or fetch one package.
running = collections.defaultdict(threading.Lock)


def run_program(report, label, command, env, timeout):
    """One test program: its closing line is its result."""
    log = label.replace("/", "-") + ".log"
    name = label.rpartition("/")[2]
    with running[name]:
        code, text, seconds = call(command, log, env=env, timeout=timeout, takes=0 if BROWSERS.match(name) else 1)
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
LONGEST = re.compile(r"test_(serve_page|web_|webgpu_browser|vulkan_faults|cuda|special|quant_every|gpu_|conform|lm_engine|lm_hostile|"
                     r"lm_pack|lm_draft|lm_jinja|json_schema|scale|cli_lm_)")


def run_programs(report, group, commands, jobs, env=None, timeout=6 * HANG_SECONDS):
    """Test programs side by side. `commands` is a list of (name, command)."""
    commands = sorted(commands, key=lambda c: not LONGEST.match(c[0]))
    cache = {"XDG_CACHE_HOME": str(BUILD / "cache")}  # of compiled pipelines: not the user's own
    env = {**SANITIZER_ENV, **cache, **(env or {})}
    at_once = jobs + (sum(bool(BROWSERS.match(name)) for name, _ in commands) if cores.all else 0)
    with concurrent.futures.ThreadPoolExecutor(at_once, initializer=enter, initargs=(here(),)) as pool:
        for done in [pool.submit(run_program, report, f"{group}/{name}", command, env, timeout)
                     for name, command in commands]:
            done.result()


def test_sources(pattern="test_*.c"):
    return sorted((ROOT / "tests").glob(f"*/{pattern}"), key=lambda p: p.name)


def left_out(source, system):
    """Whether a test cannot be for this system: uses_more_than_system of cmake/programs.cmake, whose text has the pattern."""
    text = (ROOT / "cmake/programs.cmake").read_text()
    pattern = re.search(rf'STREQUAL {system}\)\n\s*set\(more "(.*)"\)', text)[1]
    is_server = source.stem.startswith("test_lm_serve")
    return is_server and system == "wasm" or re.search(pattern.replace('\\"', '"').replace("\\\\", "\\"), source.read_text()) is not None


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
    with concurrent.futures.ThreadPoolExecutor(jobs, initializer=enter, initargs=(here(),)) as pool:
        list(pool.map(one, test_sources("fuzz_*.c")))


def run_steps(report, steps, jobs, makes):
    """Steps side by side: {name: function}, told about in this order. `makes` has the build tree, by the step's name, that
    other steps wait for (await_tree)."""
    cores.share(jobs)
    pages = [Page(rank, False) for rank in range(len(steps))]
    trees.update({makes[name]: threading.Event() for name in steps if name in makes})

    def one(page, name, function):
        enter(page)
        heading(f"{name}: {function.__doc__}")
        try:
            function(report, jobs)
        except Exception as error:  # the other steps are still worth their answer
            report.add(name, failed=1, why=f"{type(error).__name__}: {error}")
            say(traceback.format_exc())
        if makes.get(name) in trees:
            trees[makes[name]].set()
    threads = [threading.Thread(target=one, args=(page, *named), daemon=True) for page, named in zip(pages, steps.items())]
    for thread in threads:
        thread.start()
    for page, thread in zip(pages, threads):
        page.show()
        thread.join()


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
