#!/usr/bin/env python3
"""--json: exactly one valid document on standard output, in success and failure, of one shape for one file or many.

cli.py checks this for every call in every script as well: a failure with --json has one document with "error" in it.
"""

import json
import os
import pathlib
import sys

from cli import (LINEAR, Skip, check, equal, fails, file_json, linear_inputs, main, npy, rlx, rlx_json, strict_json, test,
                 write)
from gguf_file import tiny_llama


def error_of(*args, **how):
    return strict_json(fails(*args, "--json", **how).out, args)["error"]


@test
def a_failure_is_a_document():
    write("bad.rlx", "graph {")
    write("g.rlx", LINEAR)
    for command in (["graph", "absent"], ["eval", "absent", "--random", "1"], ["run", "absent", "--random", "1"],
                    ["plan", "absent"], ["compare", "absent"], ["bench", "absent"], ["trace", "absent", "-o", "t.json"],
                    ["info", "absent.rlx"], ["check", "absent.rlx"], ["info", "absent.onnx"], ["run", "absent.onnx"],
                    ["check", "absent.onnx"], ["plan", "absent.onnx"]):
        error = error_of(*command)
        equal((error["status"], error["messages"]), ("not found", [error["message"]]), f"{command}")
        check("absent" in error["message"], f"{command}: {error}")
    for command in (["graph"], ["eval", "--random", "1"], ["run", "--random", "1"], ["plan"], ["compare"], ["bench"]):
        error = error_of(*command, "bad.rlx")
        equal(error["status"], "invalid", f"{command}")
    for command in (["plan", "--csv", "absent.csv"], ["ops", "nope"], ["onnx-test", "absent"], ["conform", "--op", "nope"],
                    ["run", "g.rlx", "--random", "1", "--device", "gpu"], ["devices", "--device", "gpu"],
                    ["run", "g.rlx"], ["run", "g.rlx", "--random", "1", "--out", "no/where"]):
        check(error_of(*command)["message"], f"{command}")


@test
def what_fails_in_part_says_so_in_the_same_document():
    write("p.csv", "id,lower,upper,size\na,0,2,100\nb,1,3,50\n")
    found = json.loads(fails("plan", "--csv", "p.csv", "--capacity", "149", "--json", lines=1).out)
    equal(found["peak"], 150, "the plan is there all the same")
    check("above the capacity" in found["error"]["message"], f"{found}")
    write("g.rlx", LINEAR)
    found = json.loads(fails("bench", "g.rlx", "absent.rlx", "-r", "1", "--json", lines=1).out)
    equal([row["name"] for row in found["rows"]], ["g.rlx"], "the one that ran")
    check("absent.rlx" in found["error"]["message"], f"{found}")
    found = json.loads(fails("bench", "absent.rlx", "-r", "1", "-o", "json", lines=1).out)
    equal((found["rows"], found["error"]["status"]), ([], "not found"), "-o json is the same")
    os.mkdir("case")
    found = json.loads(fails("onnx-test", "case", "--json").out)
    check(found["cases"] == [] and "model.onnx" in found["error"]["message"], f"{found}")
    found = json.loads(fails("conform", "--op", "nope", "--json").out)
    check(found["cases"] == [] and "no op matches" in found["error"]["message"], f"{found}")


@test
def all_that_is_wrong_is_in_messages():
    error = error_of("ops", "nope", "add", "never", lines=2)
    equal(len(error["messages"]), 2, "messages")
    check("'nope'" in error["messages"][0] and "'never'" in error["messages"][1], f"{error}")


@test
def wrong_usage_prints_no_document():
    for command in (["graph"], ["graph", "--nonsense"], ["plan", "a", "b"], ["bench"], ["run", "a", "b"], ["trace", "a"]):
        fails(*command, "--json", code=2, lines=1)  # cli.py holds that standard output is empty


@test
def one_shape_for_one_and_many():
    write("a.rlx", LINEAR)
    write("b.rlx", LINEAR)
    for command in ("info", "check", "graph"):
        one = file_json(command, "a.rlx")
        two = rlx_json(command, "a.rlx", "b.rlx")["files"]
        equal(two[0], one, f"{command}: the first of two is as it is alone")
        equal([f["file"] for f in two], ["a.rlx", "b.rlx"], command)
        found = json.loads(fails(command, "absent.rlx", "b.rlx", "--json", lines=1).out)
        equal(found["files"][1], two[1], f"{command}: beside one that fails")
        equal(found["files"][0]["file"], "absent.rlx", command)
        equal(found["error"]["status"], "not found", command)
        found = json.loads(fails(command, "absent.rlx", "--json", lines=1).out)
        equal(([f["file"] for f in found["files"]], found["error"]["status"]), (["absent.rlx"], "not found"), command)


@test
def numbers_that_are_not_finite_are_strings():
    write("g.rlx", 'graph { %1 = input "x" : f32[4]\n output "y" = %1 }')
    npy("x.npy", "f32", (4,), [float("nan"), float("inf"), -float("inf"), 1.5])
    for command in ("eval", "run"):
        values = rlx_json(command, "g.rlx", "--input", "x=x.npy")["outputs"][0]["values"]
        equal(values, ["NaN", "Infinity", "-Infinity", 1.5], command)
    rlx_json("compare", "g.rlx", "--input", "x=x.npy")


@test
def documents_of_results_have_no_error():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for command in (["ops"], ["devices"], ["graph", "g.rlx"], ["eval", "g.rlx", *given], ["run", "g.rlx", *given],
                    ["plan", "g.rlx"], ["plan", "g.rlx", "--dispatch"], ["compare", "g.rlx", *given], ["bench", "g.rlx", "-r1"],
                    ["trace", "g.rlx", "-o", "t.json"], ["info", "g.rlx"], ["check", "g.rlx"], ["conform", "--op", "relu"],
                    ["graph", "--passes"], ["eval", "g.rlx", *given, "--out", "out"]):
        check("error" not in rlx_json(*command), f"{command}")
    strict_json(pathlib.Path("t.json").read_text(), "the trace")


@test
def language_models():
    if "generate" not in rlx("--help", expect=0).out:
        raise Skip("this rlx was built without language models")
    tiny_llama("m.gguf")
    write("t.txt", "the cab is here")
    on = ["--device", "cpu"]
    for command in (["generate", "m.gguf", "-p", "a", "-n3"], ["generate", "m.gguf", "--dry-run"], ["chat", "--templates"],
                    ["perplexity", "m.gguf", "t.txt"], ["logits", "m.gguf", "--tokens", "1,2", "--out", "l.npy"],
                    ["info", "m.gguf"], ["info", "m.gguf", "--key", "llama.block_count"], ["check", "m.gguf"], ["plan", "m.gguf"],
                    ["convert", "m.gguf", "c.gguf"], ["bench", "m.gguf", "-p4", "-n4", "-r1"]):
        found = strict_json(rlx(*command, *on, "--json", expect=0).out, command)
        check(found and "error" not in found, f"{command}: {found}")
    for command in (["generate", "absent", "-p", "a"], ["chat", "absent"], ["embed", "absent", "a"], ["tokenize", "absent"],
                    ["logits", "absent", "--tokens", "1", "--out", "l.npy"], ["perplexity", "absent", "t.txt"],
                    ["info", "absent.gguf"], ["check", "absent.gguf"], ["plan", "absent.gguf"], ["bench", "absent.gguf"],
                    ["convert", "absent", "c.gguf"], ["generate", "m.gguf", "-p", "a", "--restore", "absent"]):
        equal(error_of(*command, *on, lines=1)["status"], "not found", f"{command}")
    equal(error_of("embed", "m.gguf", "a", *on)["status"], "unsupported", "it does not embed")
    equal(error_of("logits", "m.gguf", "--tokens", "1000000", "--out", "l.npy", *on)["status"], "invalid", "no such token")


if __name__ == "__main__":
    sys.exit(main())
