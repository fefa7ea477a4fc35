#!/usr/bin/env python3
"""Command line usage: help, short options with attached values, suggestions for misspelt words. See cli.py."""

import sys

from cli import LINEAR, check, equal, fails, main, rlx, rlx_json, test, write


def commands():
    """The names that rlx --help lists."""
    lines = rlx("--help", expect=0).out.split("COMMAND [ARGS]\n\n")[1].split("\n\n")[0].splitlines()
    names = [line.split()[0] for line in lines]
    check("ops" in names and "run" in names, f"{names}")
    return names


@test
def help_of_all_and_of_one():
    equal(rlx("help", expect=0).out, rlx("--help", expect=0).out, "rlx help")
    equal(rlx("help", "--help", expect=0).out, rlx("--help", expect=0).out, "rlx help --help")
    for name in commands():
        told = rlx("help", name, expect=0).out
        equal(told, rlx(name, "--help", expect=0).out, f"rlx help {name}")
        check(f"usage: rlx {name}" in told and "example: " in told, told)
    fails("help", "evla", code=2, says=["there is no command 'evla'", "did you mean 'eval'?"], lines=1)
    fails("help", "run", "eval", code=2, says="help takes one command", lines=1)


@test
def values_attached_to_short_options():
    write("g.rlx", LINEAR)
    rows = rlx_json("bench", "g.rlx", "-r2", "-t1,2", "-ojson")["rows"]
    equal([row["threads"] for row in rows], [1, 2], "-t1,2")
    equal(rlx("bench", "g.rlx", "-r1", "-ocsv", expect=0).out.splitlines()[0].split(",")[0], "name", "-ocsv")
    fails("bench", "g.rlx", "-r0", code=2, says="-r takes a whole number from 1", lines=1)
    fails("bench", "g.rlx", "-rx", code=2, says="got 'x'", lines=1)
    fails("bench", "g.rlx", "-q2", code=2, says="there is no option '-q2'", lines=1)  # -q takes no value
    fails("bench", "g.rlx", "-z2", code=2, says="there is no option '-z2'", lines=1)


@test
def words_that_are_nearly_right():
    for wrong, right in (("opss", "ops"), ("grpah", "graph"), ("evl", "eval"), ("comapre", "compare"), ("confrom", "conform"),
                         ("device", "devices"), ("onnx_test", "onnx-test"), ("comp", "compare")):
        fails(wrong, code=2, says=f"there is no command '{wrong}' (did you mean '{right}'?)", lines=1)
    for wrong, right in (("--jsn", "--json"), ("--devcie", "--device"), ("--thread", "--threads"), ("--withot", "--without"),
                         ("--rand", "--random"), ("--dmi=3", "--dim"), ("--help-me", None), ("--xyzzy", None)):
        said = fails("eval", "g.rlx", wrong, code=2, says=f"there is no option '{wrong.split('=')[0]}'", lines=1).err
        equal("did you mean" in said, right is not None, said)
        check(right is None or f"(did you mean '{right}'?)" in said, said)
    fails("ops", "sofmax", says="there is no op 'sofmax' (did you mean 'softmax'?)", lines=1)
    fails("ops", "matmull", "zzzzzz", says=["(did you mean 'matmul'?)", "no op 'zzzzzz';"], lines=2)


@test
def choices_are_listed():
    write("g.rlx", LINEAR)
    fails("run", "g.rlx", "--random", "1", "--device", "gpu", says=["there are: 0 is cpu:0"], lines=1)
    for option in ("--pass", "--without"):
        fails("graph", "g.rlx", option, "foldd", says=["no pass 'foldd'", "there are: fold, "], lines=1)
    fails("bench", "ops", "matmull", says="there are: matmul_512, ", lines=1)
    fails("bench", "g.rlx", "-o", "xml", code=2, says="md, json or csv", lines=1)
    if "convert" in commands():
        fails("convert", "a.gguf", "b.gguf", "--type", "q4", code=2, says=["f32, f16, bf16", "q4_k", "got 'q4'"], lines=1)


if __name__ == "__main__":
    sys.exit(main())
