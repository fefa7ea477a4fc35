#!/usr/bin/env python3
"""rlx devices, run, plan, compare, conform, bench and trace: graphs on devices, and placement problems. See cli.py."""

import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from cli import (ENDLESS, LINEAR, LINEAR_RESULT, OPEN, RLX, SECONDS, check, close, equal, fails, linear_inputs, load, main,
                 npy, random_bytes, rlx, rlx_json, test, wait_for_handler, write)

DEVICES = ("cpu", "null")
BLOCK = """graph {
  %1 = input "x" : f32[B,64]
  %2 = param "w1" : f32[64,96]
  %3 = matmul(%1, %2)
  %4 = gelu(%3)
  %5 = param "w2" : q8_0[32,96]
  %6 = matmul(%4, %5) {trans_b=true}
  %7 = softmax(%6)
  output "y" = %7
}
"""


@test
def devices():
    listed = rlx_json("devices")["devices"]
    equal([d["backend"] for d in listed][:1], ["cpu"], "the first device of a machine without a GPU")
    check("emu" not in [d["backend"] for d in listed], "the emulated GPU, which is for tests, is in the command")
    for d in listed:
        check(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", d["uuid"]), f"uuid {d['uuid']}")
        check(d["kind"] in ("discrete", "integrated", "cpu", "software", "null"), d["kind"])
        check(d["name"] in rlx("devices", expect=0).out, d["name"])
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for d in listed:  # by index, UUID and name
        for name in (str(d["index"]), d["uuid"], d["backend"]):
            close(rlx_json("run", "g.rlx", *given, "--device", name)["outputs"][0]["values"], LINEAR_RESULT, name)
    fails("devices", "all", says="expected no words", code=2)


@test
def results_by_hand():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for device in DEVICES:
        out = rlx("run", "g.rlx", *given, "--out", "out", "--device", device, expect=0).out
        equal(out, "y: f32[2,2] -> out/y.npy\n", "what is said")
        equal(load("out/y.npy"), ("f32", [2, 2], LINEAR_RESULT), device)
        for options in (["--without", "fuse"], ["--without", "hoist,fold"], ["--threads", "1"], ["--threads", "4"]):
            close(rlx_json("run", "g.rlx", *given, "--device", device, *options)["outputs"][0]["values"], LINEAR_RESULT,
                  f"{device} {options}")
    said = rlx("run", "g.rlx", *given, "-v", expect=0).err
    check("steps on the device" in said and "scratch" in said, said)


@test
def symbols_come_from_inputs_or_options():
    write("g.rlx", OPEN)
    npy("x.npy", "f32", (2, 3), [1, 2, 3, 4, 5, 6])
    npy("m.npy", "f32", (3,), [1, 10, 100])
    close(rlx_json("run", "g.rlx", "--input", "x=x.npy", "--input", "m=m.npy")["outputs"][0]["values"], [321, 654])
    fails("run", "g.rlx", "--random", "1", says=["B, S", "--dim"], lines=1)
    equal(len(rlx_json("run", "g.rlx", "--random", "1", "--dim", "B=5", "--dim", "S=2")["outputs"][0]["values"]), 5)


@test
def run_and_eval_agree():
    write("g.rlx", BLOCK)
    given = ["--random", "3", "--dim", "B=7"]
    expected = rlx_json("eval", "g.rlx", *given)["outputs"][0]["values"]
    for device in DEVICES:
        close(rlx_json("run", "g.rlx", *given, "--device", device, "--exact")["outputs"][0]["values"], expected, device,
              1e-5)
    close(rlx_json("run", "g.rlx", *given)["outputs"][0]["values"], expected, "8-bit activations", 5e-2)


@test
def intermediate_values():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for device in DEVICES:
        rlx("run", "g.rlx", *given, "--dump", device, "--out", "out", "--without", "fuse", "--device", device, expect=0)
        names = sorted(p.name.split("_", 1)[1] for p in pathlib.Path(device).iterdir())
        check("matmul.npy" in names and len(names) >= 3, f"{names}")
        product = next(p for p in pathlib.Path(device).iterdir() if p.name.endswith("_matmul.npy"))
        close(load(product)[2], [7, 5, 16, 11], f"{device}: x w")
        equal(load("out/y.npy")[2], LINEAR_RESULT, "the result")
    write("file", "")
    fails("run", "g.rlx", *given, "--dump", "file", says="file")
    fails("run", "g.rlx", *given, "--dump", "no/folder", says="no/folder", lines=1)


@test
def wrong_runs():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    fails("run", "g.rlx", says=["'x' has no value", "'w' has no value"], lines=2)
    fails("run", "missing.rlx", says="missing.rlx", lines=1)
    fails("run", says="expected one file", code=2)
    fails("run", "g.rlx", *given, "--device", "nothing", says=["nothing", "cpu"], lines=1)
    fails("run", "g.rlx", *given, "--device", "null", "--no-host", says=["matmul"])
    npy("x.npy", "f32", (2, 2), [1, 2, 3, 4])
    fails("run", "g.rlx", *given, says=["'x'", "[2,2]", "[2,3]"], lines=1)
    npy("x.npy", "i32", (2, 3), [1, 2, 3, 4, 5, 6])  # written as f32: converted
    close(rlx_json("run", "g.rlx", *given)["outputs"][0]["values"], LINEAR_RESULT, "integers")


@test
def a_plan():
    write("g.rlx", BLOCK)
    plan = rlx_json("plan", "g.rlx", "--dim", "B=8", "--svg", "plan.svg")
    check(plan["peak"] >= plan["lower_bound"] > 0 and plan["seconds"] >= 0, f"{plan}"[:300])
    check(all(isinstance(v, int) and v % 256 == 0 for v in plan["offsets"].values()), f"{plan['offsets']}")
    picture = pathlib.Path("plan.svg").read_text()
    check(picture.startswith("<?xml") or picture.startswith("<svg"), picture[:100])
    check("</svg>" in picture, "the picture ends")
    text = rlx("plan", "g.rlx", "--dim", "B=8", "--dispatch", expect=0).out
    check("lower bound" in text and "native" in text and "MiB" in text or "KiB" in text, text)
    # The planner's parts can be left out, and cost memory then.
    least = rlx_json("plan", "g.rlx", "--dim", "B=64")["peak"]
    for option in ("--no-views", "--no-in-place", "--no-reorder", "--no-search"):
        check(rlx_json("plan", "g.rlx", "--dim", "B=64", option)["peak"] >= least, option)
    fails("plan", "g.rlx", says=["B", "--dim"], lines=1)
    fails("plan", says="expected one file", code=2)
    fails("plan", "g.rlx", "--csv", "p.csv", says="expected one of them", code=2)
    for option in (["--out", "o"], ["--capacity", "9"], ["--budget", "9"]):
        fails("plan", "g.rlx", *option, says=[option[0], "--csv"], code=2)
    # A plan takes no memory: weights of 4 TiB.
    write("huge.rlx", 'graph { %1 = input "x" : f32[1,1048576]\n %2 = param "w" : f32[1048576,1048576]\n'
                      ' %3 = matmul(%1, %2)\n output "y" = %3 }')
    equal(rlx_json("plan", "huge.rlx")["segments"]["weights"], 2**42, "weights")


def overlaps(rows, offsets):
    """Pairs that live at one time and share bytes."""
    found = []
    for i, (a, a_low, a_up, a_size) in enumerate(rows):
        for b, b_low, b_up, b_size in rows[:i]:
            if a_low < b_up and b_low < a_up and offsets[a] < offsets[b] + b_size and offsets[b] < offsets[a] + a_size:
                found.append((a, b))
    return found


@test
def a_bare_problem():
    draw = random.Random(1)
    rows = []
    for i in range(150):
        low = draw.randrange(100)
        rows.append((f"b{i}", low, low + draw.randrange(1, 30), draw.randrange(1, 1000)))
    text = "id,lower,upper,size\n" + "".join(f"{i},{a},{b},{s}\n" for i, a, b, s in rows)
    write("p.csv", text)
    result = rlx_json("plan", "--csv", "p.csv")
    equal(overlaps(rows, result["offsets"]), [], "overlaps")
    equal(result["peak"], max(result["offsets"][i] + s for i, _, _, s in rows), "peak")
    equal(result["lower_bound"], max(sum(s for _, a, b, s in rows if a <= t < b) for t in range(130)), "lower bound")
    equal(rlx_json("plan", "--csv", "p.csv")["offsets"], result["offsets"], "the same again")
    equal(rlx_json("plan", "--csv", "-", stdin=text.encode())["offsets"], result["offsets"], "from standard input")
    rlx("plan", "--csv", "p.csv", "--capacity", result["peak"], expect=0)
    done = fails("plan", "--csv", "p.csv", "--capacity", result["lower_bound"] - 1, "--json", says="capacity", lines=1)
    check(json.loads(done.out)["peak"] >= result["lower_bound"], "the best found is told")
    rlx("plan", "--csv", "p.csv", "--out", "placed.csv", "-q", expect=0)
    placed = pathlib.Path("placed.csv").read_text().splitlines()
    equal(placed[0], "id,lower,upper,size,offset")
    equal({line.split(",")[0]: int(line.split(",")[4]) for line in placed[1:]}, result["offsets"], "--out")
    # Columns in another order, spaces, CRLF, no last newline, a column of somebody else's.
    other = "size, upper ,note,id,lower\r\n" + "\r\n".join(f"{s}, {b},x,{i},{a}" for i, a, b, s in rows)
    write("q.csv", other)
    equal(rlx_json("plan", "--csv", "q.csv")["offsets"], result["offsets"], "columns in another order")
    write("none.csv", "id,lower,upper,size\n")
    equal(rlx_json("plan", "--csv", "none.csv")["peak"], 0, "no rows")


@test
def wrong_problems():
    head = "id,lower,upper,size\n"
    for text, says in (("", "empty"), ("id,lower,upper\n", "'size'"), (head + "a,0,1\n", "line 2"),
                       (head + "a,0,1,-1\n", "line 2"), (head + "a,0,1,x\n", "'x'"), (head + "a,2,1,5\n", "line 2"),
                       (head + "a,0,1,5\na,0,1,5\n", "'a' is there twice"), (head + "a,0,1,1e9\n", "1e9"),
                       (head + f"a,0,1,{2**63}\n", "line 2"), (head + f"a,0,1,{2**63 - 1}\n" * 1 + f"b,0,1,{2**63 - 1}\nc,0,1,9\n", "csv")):
        write("p.csv", text)
        fails("plan", "--csv", "p.csv", says=says, lines=1)
    pathlib.Path("nul.csv").write_bytes(b"id,lower\0upper")
    fails("plan", "--csv", "nul.csv", says="zero byte", lines=1)
    fails("plan", "--csv", "missing.csv", says="missing.csv", lines=1)
    fails("plan", "--csv", ".", says="regular file", lines=1)
    fails("plan", "--csv", "p.csv", "--capacity", "-1", says="--capacity", code=2)


@test
def comparing():
    write("g.rlx", BLOCK)
    for device in DEVICES:
        result = rlx_json("compare", "g.rlx", "--dim", "B=5", "--device", device)
        equal((result["differ"], result["first"]), (0, 0), device)
        check(result["nodes"], "nodes")
        check(all(n["host"] == (device == "null") for n in result["nodes"]), f"{device}: {result['nodes']}")
        check("0 differ" in rlx("compare", "g.rlx", "--dim", "B=5", "--device", device, expect=0).out, device)
    check("gelu" in rlx("compare", "g.rlx", "--dim", "B=5", "-v", "--without", "fuse", expect=0).out, "compare -v")
    fails("compare", "g.rlx", says="--dim", lines=1)


@test
def conformance():
    for device in DEVICES:
        result = rlx_json("conform", "--op", "softmax", "--device", device)
        check(len(result["cases"]) >= 5, "cases")
        for case in result["cases"]:
            check(case["op"] == "softmax" and case["result"] in ("PASS", "HOST") and case["error"] <= 1, f"{case}")
        out = rlx("conform", "--op", "reduce_*", "--device", device, expect=0).out
        check(re.search(r"^\d+ passed, 0 failed, 0 skipped$", out.splitlines()[-1]), out)
    fails("conform", "--op", "nothing*", says="nothing*", lines=1)


@test
def benchmarks():
    write("g.rlx", BLOCK)
    result = rlx_json("bench", "g.rlx", "--dim", "B=2", "-r", "3", "-t", "1,2", "--device", "cpu,null")
    equal([(r["device"], r["threads"]) for r in result["rows"]], [("cpu", 1), ("cpu", 2), ("null", 1), ("null", 2)])
    check(all(r["best"] <= r["mean"] and r["spread"] >= 0 and r["ratio"] > 0 for r in result["rows"]), f"{result}")
    equal(rlx("bench", "g.rlx", "--dim", "B=2", "-r", "1", "-o", "csv", expect=0).out.count("\n"), 2, "CSV")
    check("| matmul_512 |" in rlx("bench", "ops", "matmul_512", "-r", "1", expect=0).out, "bench ops")
    fails("bench", "ops", "nothing", says=["nothing", "matmul_512"], lines=1)
    fails("bench", "g.rlx", "--dim", "B=2", "-t", "x", says="-t", code=2)
    fails("bench", "g.rlx", "-o", "xml", says="xml", code=2)
    fails("bench", says="expected a file", code=2)
    for threads in ("", ",1", "1,", "1,,2", "0", "1025", ",".join("1" * 33)):
        fails("bench", "g.rlx", "--dim", "B=2", "-r", "1", "-t", threads, code=2)
    for device in (",", "cpu,", ",cpu"):
        fails("bench", "g.rlx", "--dim", "B=2", "-r", "1", "--device", device, says="--device", code=2)


@test
def traces():
    write("g.rlx", BLOCK)
    for device in DEVICES:
        said = rlx("trace", "g.rlx", "--dim", "B=2", "-o", "t.json", "--device", device, expect=0)
        check("matmul" in said.out, said.out)
        trace = json.loads(pathlib.Path("t.json").read_text())
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        check(len(events) >= 3 and all(e["dur"] >= 0 and "ts" in e and "pid" in e and "tid" in e for e in events), "events")
        check(any("matmul" in e["name"] for e in events), f"{[e['name'] for e in events]}")
    fails("trace", "g.rlx", "--dim", "B=2", says="-o", code=2)
    fails("trace", "g.rlx", "--dim", "B=2", "-o", "no/such/folder/t.json", says="no/such/folder", lines=1)
    check(not pathlib.Path("t.json.part").exists(), "nothing partial is left")
    fails("trace", "g.rlx", "--dim", "B=2", "-o", "/dev/full", says="/dev/full", lines=1)


@test
def interrupts():
    write("g.rlx", ENDLESS)
    npy("n.npy", "i64", (), [1])
    child = subprocess.Popen([RLX, "run", "g.rlx", "--input", "n=n.npy", "--out", "out"], stderr=subprocess.PIPE)
    wait_for_handler(child, signal.SIGINT)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=SECONDS)
    equal(child.returncode, 130, "interrupted")
    check(not os.path.exists("out"), "nothing is left behind")


CONV_NET = """graph {
  %1 = input "x" : f32[1,3,32,32]
  %2 = param "a" : f32[32,3,3,3]
  %3 = conv(%1, %2) {stride=[2,2], pad_lo=[1,1], pad_hi=[1,1]}
  %4 = relu(%3)
  %5 = param "b" : f32[64,32,3,3]
  %6 = conv(%4, %5) {pad_lo=[1,1], pad_hi=[1,1]}
  %7 = relu(%6)
  %8 = param "c" : f32[64,64,3,3]
  %9 = conv(%7, %8) {pad_lo=[1,1], pad_hi=[1,1]}
  %10 = param "d" : f32[64,8,2,2]
  %11 = conv_transpose(%9, %10) {stride=[2,2]}
  output "y" = %11
}
"""


@test
def a_conv_net_is_compared_without_false_alarms():
    """Pictures of 0 .. 255 make values of thousands: what happens to be near 0 among them is off by a share of those."""
    write("net.rlx", CONV_NET)
    npy("x.npy", "f32", (1, 3, 32, 32), [value * 1.0 for value in random_bytes(3 * 32 * 32)])
    for device in ("cpu", "cpu:base"):
        for options in ([], ["--without", "fuse"], ["--fast-conv"]):
            found = rlx_json("compare", "net.rlx", "--input", "x=x.npy", "--random", "3", "--device", device, *options)
            equal(found["differ"], 0, f"{device} {options}")
            check(any("conv" in row["op"] and not row["host"] for row in found["nodes"]), f"{found}")


if __name__ == "__main__":
    sys.exit(main())
