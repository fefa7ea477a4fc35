#!/usr/bin/env python3
"""Resource limits of a command: --memory, --time-limit, and the defaults without them. See cli.py."""

import os
import subprocess
import sys

from cli import ENDLESS, RLX, ROOT, SECONDS, check, equal, fails, main, npy, rlx, rlx_json, strict_json, test, write

BOMB = """graph {
  %1 = constant : f32[] = [0.5]
  %2 = expand(%1) {shape=[1073741824]}
  %3 = cos(%2)
  %4 = reduce_sum(%3) {axes=[0]}
  output "y" = %4
}
"""
MODEL = ROOT / "models/shakespeare/shakespeare.gguf"
HAS_LM = "generate" in rlx("--help", expect=0).out


@test
def sizes_of_memory():
    for text in ("", "x", "12x", "1.5G", "-1", "0", "99999999999999999999", "9999999T", "1GG"):
        fails("ops", "--memory", text, says="--memory takes bytes, such as 500000000, 512M or 2G", code=2)
    for text in ("1000000", "512K", "64M", "2G", "1T"):
        rlx("ops", "--memory", text, expect=0)


@test
def memory_of_a_graph():
    write("g.rlx", BOMB)
    told = rlx_json("plan", "g.rlx", "--device", "cpu")
    check(told["peak"] >= 1 << 32, f"the plan of a large value: {told['peak']}")
    for command in (["run"], ["compare"], ["bench"]):
        fails(*command, "g.rlx", "--device", "cpu", "--memory", "1G", says=("scratch of 4.0 GiB", "the limit is 1.0 GiB"))
    fails("eval", "g.rlx", "--memory", "64M", says=("the limit of this call is 64.0 MiB",))
    error = strict_json(rlx("run", "g.rlx", "--device", "cpu", "--memory", "1G", "--json", expect=1).out, "run")["error"]
    equal(error["status"], "over a limit", "status")


@test
def time_of_a_loop_without_an_end():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [0])
    for command in ("run", "eval"):
        fails(command, "g.rlx", "--input", "n=n.npy", "--out", "out", "--time-limit", "0.2", lines=1,
              says="the time limit of 0.2 s is over")
        equal(sorted(os.listdir(".")), ["g.rlx", "n.npy"], "files")
    result = rlx("run", "g.rlx", "--input", "n=n.npy", "--time-limit", "0.2", "--json", expect=1)
    equal(strict_json(result.out, "run")["error"]["message"], "the time limit of 0.2 s is over", "message")
    fails("run", "g.rlx", "--time-limit", "x", says="--time-limit", code=2)


@test
def a_context_that_does_not_fit():
    """Loading says what a dry run says, before it takes anything."""
    if not HAS_LM:
        return
    asked = [MODEL, "--context", 16000000, "--device", "cpu", "--memory", "1G"]
    dry = strict_json(rlx("generate", *asked, "-p", "a", "--dry-run", "--json", expect=1).out, "dry run")
    equal((dry["fits"], dry["room"]), (False, 1 << 30), "a dry run")
    fails("generate", *asked, "-p", "a", "-q", says=("states of 45.8 GiB", "the limit is 1.0 GiB"))
    rlx("generate", MODEL, "-p", "a", "-n", 2, "--device", "cpu", "--memory", "1G", "-q", expect=0)
    fails("generate", MODEL, "-p", "a", "-n", 2, "--device", "cpu", "--memory", "4M", says="the limit")


@test
def time_of_a_generation():
    if not HAS_LM:
        return
    result = fails("generate", MODEL, "-p", "ROMEO:", "-n", 10000000, "--ignore-end", "--shift", "--device", "cpu",
                   "--time-limit", "1", says="the time limit of 1 s is over")
    check(result.out.startswith("ROMEO:"), "what was written before stays")


@test
def a_line_without_an_end():
    if not HAS_LM:
        return
    feed = subprocess.Popen(["sh", "-c", "yes | tr -d '\\n'"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    done = subprocess.run([RLX, "chat", MODEL, "--device", "cpu", "--template", "chatml"], stdin=feed.stdout, capture_output=True,
                          text=True, timeout=SECONDS)
    feed.kill()
    feed.wait()
    equal(done.returncode, 1, done.stderr)
    check("a line of more than 64 MiB" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(main())
