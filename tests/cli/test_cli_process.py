#!/usr/bin/env python3
"""rlx as a process: outputs that cannot be written, closed pipes, interrupts, scarce resources. See cli.py."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

from cli import (ENDLESS, LINEAR, LINEAR_RESULT, RLX, SANITIZER, SECONDS, Skip, check, equal, fails, linear_inputs,
                 main, npy, npy_bytes, rlx, rlx_json, test,
                 wait_for_handler, write)


# ---- Outputs that cannot be written


def outputs_graph(*names):
    return write("o.rlx", 'graph { %1 = input "x" : f32[2]\n' + "".join(f' output "{n}" = %1\n' for n in names) + "}")


@test
def output_names_stay_in_the_folder():
    outputs_graph("a/b", "../up", "/etc/x", "..", "c")
    rlx("eval", "o.rlx", "--random", "1", "--out", "deep", expect=0)
    equal(sorted(os.listdir("deep")), ["...npy", ".._up.npy", "_etc_x.npy", "a_b.npy", "c.npy"], "files")
    equal(sorted(os.listdir(".")), ["deep", "o.rlx"], "nothing outside")
    outputs_graph("a/b", "c", "a_b", "d/e_f", "d_e/f")
    clash = ["'a/b'", "'a_b'", "'d/e_f'", "one file"]
    result = fails("eval", "o.rlx", "--random", "1", "--out", "new", says=clash, lines=2)
    check(not os.path.exists("new"), result.err)
    outputs_graph("n" * 300)
    fails("eval", "o.rlx", "--random", "1", "--out", "new", says=["output 'nnn", "too long"], lines=1)
    check(not os.path.exists("new"), "an empty folder is left behind")
    outputs_graph("n" * 300, "ok")  # known before the run, so nothing is run or written
    fails("eval", "o.rlx", "--random", "1", "--out", "new", "--json", lines=1)
    check(not os.path.exists("new"), "a folder is left behind")


@test
def places_are_judged_before_the_work():
    """The graph never ends: who looks at the place after the run does not come back."""
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    os.mkdir("folder")
    os.makedirs("out/y.npy")
    os.mkfifo("fifo")
    given = ["g.rlx", "--input", "n=n.npy"]
    before = sorted(os.listdir("."))
    for place, says in (("folder", "directory"), ("absent/t", "absent"), ("", "''"), ("g.rlx/t", "Not a directory"),
                        ("x" * 300, "too long")):
        fails("trace", *given, "-o", place, says=["-o", says], lines=1)
        fails("plan", "g.rlx", "--svg", place, says=["--svg", says], lines=1)
    for command in ("eval", "run"):
        fails(command, *given, "--out", "absent/sub", says=["--out", "absent"], lines=1)
        fails(command, *given, "--out", "fifo", says=["--out", "is none"], lines=1)
        fails(command, *given, "--out", "out", says=["output 'y'", "out/y.npy", "directory"], lines=1)
    fails("run", *given, "--dump", "absent/sub", says=["--dump", "absent"], lines=1)
    fails("run", *given, "--dump", "g.rlx", says=["--dump", "is none"], lines=1)
    equal(sorted(os.listdir(".")), before, "files")


@test
def what_is_read_is_not_written_over():
    write("g.rlx", LINEAR)
    write("p.csv", "id,lower,upper,size\na,0,2,100\n")
    linear_inputs()
    os.mkdir("out")
    os.rename("x.npy", "out/y.npy")  # the graph's output is y
    os.symlink("g.rlx", "link")
    os.link("g.rlx", "hard")
    given = ["g.rlx", "--input", "x=out/y.npy", "--input", "w=w.npy"]
    kept = {name: pathlib.Path(name).read_bytes() for name in ("g.rlx", "p.csv", "out/y.npy", "w.npy")}
    for place in ("g.rlx", "./g.rlx", "link", "hard", "w.npy"):
        fails("trace", *given, "-o", place, says=[place, "which is read; expected another file"], lines=1)
    for place in ("g.rlx", "link", "hard"):
        fails("plan", "g.rlx", "--svg", place, says=["which is read"], lines=1)
    fails("plan", "--csv", "p.csv", "--out", "p.csv", says=["which is read"], lines=1)
    for command in ("eval", "run"):
        fails(command, *given, "--out", "out", says=["output 'y'", "out/y.npy", "which is read"], lines=1)
    for name, content in kept.items():
        equal(pathlib.Path(name).read_bytes(), content, name)
    check(os.path.islink("link"), "the link is still one")


@test
def output_folders_that_cannot_be():
    outputs_graph("y")
    write("file", "old")
    before = sorted(os.listdir("."))
    for out, part in (("file", "is none"), ("file/sub", "Not a directory"), ("absent/sub", "No such file"), ("", "''"),
                      ("x" * 300, "too long"), ("/proc/nonexistent", "/proc")):
        fails("eval", "o.rlx", "--random", "1", "--out", out, says=["--out", part], lines=1)
    equal(sorted(os.listdir(".")), before, "files")
    equal(pathlib.Path("file").read_text(), "old", "the file")
    os.mkdir("out")
    os.mkdir("out/y.npy")
    fails("eval", "o.rlx", "--random", "1", "--out", "out", says=["output 'y'", "out/y.npy", "directory"], lines=1)
    equal(os.listdir("out"), ["y.npy"], "files")
    rlx("eval", "o.rlx", "--random", "1", "--out", "made/", expect=0)
    rlx("eval", "o.rlx", "--random", "1", "--out", "./made2", expect=0)
    rlx("eval", "o.rlx", "--random", "1", "--out", ".", expect=0)


@test
def output_folders_without_permission():
    if os.geteuid() == 0:
        raise Skip("root may write anywhere")
    outputs_graph("y")
    os.mkdir("locked", 0o500)
    fails("eval", "o.rlx", "--random", "1", "--out", "locked", says=["locked", "denied"], lines=1)
    fails("eval", "o.rlx", "--random", "1", "--out", "locked/sub", says=["locked", "denied"], lines=1)


@test
def a_full_disk_leaves_nothing_half_written():
    """A limit on the size of files stands in for a full disk. It comes with a signal, SIGXFSZ, which must not end rlx."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    write("g.rlx", 'graph { %1 = input "x" : f32[10000]\n output "y" = %1\n'
                   ' %2 = reduce_sum(%1)\n output "small" = %2 }')
    os.mkdir("out")
    old = npy("out/y.npy", "f32", (1,), [1]).read_bytes()
    fails("eval", "g.rlx", "--random", "1", "--out", "out", says=["output 'y'", "out/y.npy"], lines=1, preexec_fn=limit)
    equal(sorted(os.listdir("out")), ["small.npy", "y.npy"], "files")
    equal(pathlib.Path("out/y.npy").read_bytes(), old, "the old file")
    for command in (["trace", "g.rlx", "--random", "1", "-o", "t.json"], ["plan", "g.rlx", "--svg", "p.svg"],
                    ["run", "g.rlx", "--random", "1", "--dump", "dump"]):
        tiny = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        fails(*command, says="File too large", lines=1, preexec_fn=tiny)
    equal(sorted(os.listdir(".")), ["dump", "g.rlx", "out"], "nothing is left")
    equal(os.listdir("dump"), [], "nor there")
    with open("full", "wb") as full:
        done = subprocess.run([RLX, "ops"], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS, preexec_fn=limit)
    equal((done.returncode, done.stderr), (1, b"rlx: cannot write standard output: File too large\n"), "what is printed")


@test
def standard_output_that_fails():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    commands = (["ops"], ["ops", "--json"], ["ops", "add"], ["graph", "g.rlx"], ["graph", "g.rlx", "--dot"], ["--help"],
                ["graph", "g.rlx", "--json"], ["eval", "g.rlx", *given], ["eval", "g.rlx", *given, "--json"],
                ["ops", "-h"], ["devices"], ["plan", "g.rlx"], ["plan", "g.rlx", "--json"], ["run", "g.rlx", *given],
                ["compare", "g.rlx", *given, "--json"], ["bench", "g.rlx", *given, "-r", "1"],
                ["conform", "--op", "a*", "--json"])
    said = lambda why: f"rlx: cannot write standard output: {why}\n".encode()
    for command in commands:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RLX, *command], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS)
        equal((done.returncode, done.stderr), (1, said("No space left on device")), command)
        done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", RLX, *command], stderr=subprocess.PIPE, timeout=SECONDS)
        equal((done.returncode, done.stderr), (1, said("Bad file descriptor")), command)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([RLX, *command], stdout=writer, stderr=subprocess.PIPE, timeout=SECONDS)
        os.close(writer)
        equal((done.returncode, done.stderr), (1, said("Broken pipe")), command)
    done = subprocess.run(["sh", "-c", f'"{RLX}" ops | head -n 1'], capture_output=True, timeout=SECONDS, text=True)
    check(done.returncode == 0 and done.stdout.startswith("input ") and not SANITIZER.search(done.stderr), f"{done}")
    # A closed descriptor must not become the file that is written, with what is printed in it.
    for closed in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", RLX, "eval", "g.rlx", *given, "--out", "out"],
                              timeout=SECONDS, capture_output=True)
        equal(done.returncode, 1 if ">&-" in closed.replace("2>&-", "") else 0, closed)
        equal(pathlib.Path("out/y.npy").read_bytes(), npy_bytes("f32", (2, 2), LINEAR_RESULT), f"with {closed}")
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", RLX, "eval", "-q", "g.rlx", *given, "--out", "out"],
                          timeout=SECONDS)
    equal(done.returncode, 0, "nothing to print, nothing to fail")
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", RLX, "graph", "-"], timeout=SECONDS, capture_output=True)
    equal((done.returncode, done.stderr), (1, b"rlx: cannot read standard input: Bad file descriptor\n"), "no input")


# ---- Interrupts


def interrupt(*args, number=signal.SIGINT, after=1.0, **how):
    """Starts rlx, sends it a signal, and gives (exit code, stdout, stderr)."""
    process = subprocess.Popen([str(RLX), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               **how)
    wait_for_handler(process, number)
    time.sleep(after)
    if process.poll() is not None:
        raise AssertionError(f"rlx ended by itself: {process.returncode} {process.communicate()}")
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("an interrupt does not end rlx")
    return process.returncode, out, err


@test
def an_interrupt_ends_a_run():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    for options in ([], ["--json"], ["--pass", "all"], ["-v"]):
        result = interrupt("eval", "g.rlx", "--input", "n=n.npy", "--out", "out", *options)
        equal(result, (130, "", ""), f"eval {options}")
        equal(sorted(os.listdir(".")), ["g.rlx", "n.npy"], "files")


@test
def an_interrupt_ends_what_runs_on_a_device():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    given = ["g.rlx", "--input", "n=n.npy"]
    for command in (["run", *given, "--out", "out"], ["run", *given, "--device", "null", "--json"], ["compare", *given],
                    ["bench", *given, "--json"], ["trace", *given, "-o", "trace.json"], ["bench", "ops", "-r", "1000000"]):
        equal(interrupt(*command), (130, "", ""), f"{command}")
        equal(sorted(os.listdir(".")), ["g.rlx", "n.npy"], "files")


@test
def an_interrupt_waits_for_files_that_are_being_written():
    names = [f"y{i}" for i in range(150)]
    outputs_graph(*names)
    process = subprocess.Popen([RLX, "eval", "-q", "o.rlx", "--random", "1", "--out", "out"])
    while not os.path.exists("out/y0.npy") and process.poll() is None:
        pass
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=SECONDS)
    equal(sorted(os.listdir("out")), sorted(f"{name}.npy" for name in names), "files")
    if code == 0:
        raise Skip("the files were written before the interrupt came")
    equal(code, 130, "exit code")


@test
def an_interrupt_ends_reading():
    reader, writer = os.pipe()
    try:
        equal(interrupt("graph", "-", stdin=reader), (130, "", ""), "graph -")
    finally:
        os.close(reader)
        os.close(writer)


@test
def other_signals_end_it_too():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    for number in (signal.SIGTERM, signal.SIGHUP):
        result = interrupt("eval", "g.rlx", "--input", "n=n.npy", "--out", "out", "--json", number=number)
        equal(result, (128 + number, "", ""), f"signal {number}")
    equal(sorted(os.listdir(".")), ["g.rlx", "n.npy"], "files")


@test
def stopped_and_continued():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    process = subprocess.Popen([RLX, "run", "g.rlx", "--input", "n=n.npy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.3)
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.1)
    out, err = process.communicate(timeout=SECONDS)
    equal((process.returncode, out, err), (130, b"", b""), "stopped, continued, interrupted")


@test
def files_that_are_being_written_are_finished_whatever_comes():
    names = [f"y{i}" for i in range(150)]
    outputs_graph(*names)
    for numbers in ([signal.SIGTERM], [signal.SIGHUP], [signal.SIGINT, signal.SIGINT]):
        process = subprocess.Popen([RLX, "eval", "-q", "o.rlx", "--random", "1", "--out", "out"])
        while not os.path.exists("out/y0.npy") and process.poll() is None:
            pass
        for number in numbers:
            process.send_signal(number)
        code = process.wait(timeout=SECONDS)
        check(code in (0, 128 + numbers[0]), f"exit code {code}")  # 0: all were written before it came
        equal(sorted(os.listdir("out")), sorted(f"{name}.npy" for name in names), "files, and no temporary one")
        for name in names:
            os.remove(f"out/{name}.npy")


@test
def who_asked_not_to_be_interrupted_is_not():
    """As under nohup, or in the background of a shell."""
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    process = subprocess.Popen([RLX, "eval", "g.rlx", "--input", "n=n.npy"], stdout=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    running = process.poll() is None
    process.kill()
    process.wait()
    check(running, "SIGINT was ignored when rlx began, and yet ended it")


# ---- Standard input that cannot be read


@test
def read_errors_are_errors():
    for command in (["graph", "-"], ["plan", "--csv", "-"], ["eval", "-", "--random", "1"], ["info", "-"]):
        folder = os.open(".", os.O_RDONLY)
        done = subprocess.run([RLX, *command, "--json"], stdin=folder, capture_output=True, timeout=SECONDS, text=True)
        os.close(folder)
        equal((done.returncode, done.stderr), (1, "rlx: cannot read standard input: Is a directory\n"), f"{command}")
        check("Is a directory" in json.loads(done.stdout)["error"]["message"], f"{command}: {done.stdout}")
        if os.path.exists("/proc/self/mem"):  # there is nothing at address 0
            with open("/proc/self/mem", "rb") as broken:
                done = subprocess.run([RLX, *command], stdin=broken, capture_output=True, timeout=SECONDS, text=True)
            equal((done.returncode, done.stderr), (1, "rlx: cannot read standard input: Input/output error\n"), f"{command}")


# ---- Little of everything


@test
def few_descriptors():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))
    rlx("eval", "g.rlx", *given, "--out", "out", expect=0, preexec_fn=few)


@test
def little_memory():
    if b"__asan_init" in RLX.read_bytes():
        raise Skip("a sanitizer needs more address space than the limit to be tried")
    write("big.rlx", 'graph { %1 = input "x" : f32[1000000000]\n output "y" = %1 }')
    little = lambda: resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
    fails("eval", "big.rlx", "--random", "1", says="memory", lines=1, preexec_fn=little)


@test
def odd_paths():
    folder = b"b\xff \"q\"\n"
    os.mkdir(folder)
    name = os.fsdecode(folder + b"/g.rlx")
    pathlib.Path(name).write_text(LINEAR)
    given = linear_inputs()
    equal(rlx("graph", name, expect=0).out, LINEAR, "a path that is not UTF-8")
    result = rlx_json("eval", name, *given, "--out", os.fsdecode(folder))
    equal(result["outputs"][0]["file"], "b\u00ff \"q\"\n/y.npy", "the path in JSON")
    check(os.path.exists(folder + b"/y.npy"), "the file")
    fails("graph", name + "x", lines=1)


if __name__ == "__main__":
    sys.exit(main())
