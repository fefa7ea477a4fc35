#!/usr/bin/env python3
"""rlx ops and rlx graph: usage, the op table, reading, printing and rewriting graphs. See cli.py."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from cli import (ENDLESS, LINEAR, OPEN, ROOT, Skip, check, equal, fails, file_json, linear_inputs, main, npy_bytes,
                 pass_names, random_bytes, rlx, rlx_json, test, write)


# ---- Usage


@test
def no_arguments_show_the_commands():
    result = rlx(expect=2)
    for word in ("usage: rlx COMMAND", "ops", "graph", "eval"):
        check(word in result.err, f"{word!r} is not in {result.err!r}")


@test
def help_and_version():
    for word in ("-h", "--help"):
        check("usage: rlx COMMAND" in rlx(word, expect=0).out, "no usage")
        for command in ("ops", "graph", "eval"):
            result = rlx(command, "extra", word, expect=0)
            for part in (f"usage: rlx {command}", "--json", "--device", "--threads", "-q", "-v", "example: rlx "):
                check(part in result.out, f"rlx {command} {word}: {part!r} is not in {result.out!r}")
            equal(result.err, "", "standard error of help")
    check(re.fullmatch(r"rlx \d+\.\d+\.\d+\n", rlx("--version", expect=0).out), "the version")


@test
def unknown_commands_and_options():
    for word in ("opps", "", "-x", "--json", "graph "):
        fails(word, code=2, says=[f"no command '{word}'", "rlx --help"], lines=1)
    for command in ("ops", "graph", "eval"):
        for option in ("--nonsense", "-z", "--jsonx", "--js", "--nonsense=3", "---", "-vv"):
            fails(command, option, code=2, says=["no option", f"rlx {command} --help"], lines=1)
        fails(command, "--json=yes", code=2, says="--json takes no value", lines=1)
        for option in ("--device", "--threads"):
            fails(command, option, code=2, says=f"{option} needs a value", lines=1)
    for option in ("--input", "--dim", "--out", "--pass", "--random"):
        fails("eval", "f", option, code=2, says=f"{option} needs a value", lines=1)
    for option in ("--pass", "--without", "--dim"):
        fails("graph", "f", option, code=2, says=f"{option} needs a value", lines=1)


@test
def numbers_out_of_range():
    for value in ("0", "-1", "x", "", "1.5", "1025", "2147483648", "99999999999999999999", "+1", " 1", "1 ", "0x1"):
        fails("ops", "--threads", value, code=2, says="--threads takes a whole number from 1 to 1024", lines=1)
    for value in ("-1", "x", "", "1e3", "9223372036854775808"):
        fails("eval", "f", f"--random={value}", code=2, says="--random takes a whole number", lines=1)
    write("g.rlx", OPEN)
    for value in ("B=-1", "B=x", "B=", "=3", "B", "", "B=1.5", "B=9223372036854775808", "B= 1"):
        fails("graph", "g.rlx", "--dim", value, code=2, says="--dim takes NAME=SIZE", lines=1)
    rlx("ops", "--threads", "4", expect=0)


@test
def devices():
    equal(rlx("ops", "--device", "cpu", expect=0).out, rlx("ops", expect=0).out, "--device cpu")
    for name in ("gpu", "", "cuda:0", "99", "cpu:sse9", "cpu:7", "9" * 10000):
        fails("ops", "--device", name, says=["--device", "cpu"], lines=1)


@test
def garbage_in_the_environment():
    env = {**os.environ, "RLX_LOG": "\x01\xff", "RLX_DEVICE": "nonsense", "LC_ALL": "xx_YY", "TMPDIR": "/nonexistent",
           "COLUMNS": "-1", "HOME": ""}
    equal(rlx("ops", env=env, expect=0).out, rlx("ops", expect=0).out, "with garbage in the environment")
    rlx("ops", env={"PATH": "/nonexistent"}, expect=0)


# ---- ops


@test
def ops_has_every_name_of_the_specification():
    wanted = (ROOT / "tests/golden/ops.txt").read_text().split()
    check(len(wanted) > 140, "tests/golden/ops.txt is not whole")
    ops = rlx_json("ops")["ops"]
    names = [op["name"] for op in ops]
    equal(sorted(set(wanted) - set(names)), [], "names of ops.txt that are missing")
    equal(len(names), len(set(names)), "names, each once")
    for op in ops:
        keys = {"name", "arity", "inputs", "attributes", "types", "result", "traits", "doc"}
        equal(set(op), keys, f"keys of {op['name']}")
        check(op["doc"], f"{op['name']} has no documentation")
        check(op["arity"]["max"] is None or op["arity"]["min"] <= op["arity"]["max"], f"{op['name']}: {op['arity']}")
        for attribute in op["attributes"]:
            check(attribute["doc"] and attribute["kind"], f"{op['name']}: {attribute}")
            equal("names" in attribute, attribute["kind"] == "enum", f"{op['name']}: {attribute}")
    equal(rlx("ops", "-q", expect=0).out.split(), names, "ops -q")
    equal([line.split()[0] for line in rlx("ops", expect=0).out.splitlines()], names, "ops")


@test
def ops_in_detail():
    out = rlx("ops", "softmax", expect=0).out
    for part in ("softmax: ", "axis", "f32", "required"):
        check(part in out, f"{part!r} is not in {out!r}")
    both = rlx("ops", "add", "matmul", expect=0).out
    equal(both, rlx("ops", "add", expect=0).out + "\n" + rlx("ops", "matmul", expect=0).out, "two ops")
    equal([op["name"] for op in rlx_json("ops", "matmul", "add")["ops"]], ["matmul", "add"], "as JSON")
    fails("ops", "nope", says=["there is no op 'nope'", "rlx ops"], lines=1)
    fails("ops", "nope", "add", "", "invalid", says=["'nope'", "''", "'invalid'"], lines=3)
    check(r"a\u001b[31mb\u000ac" in fails("ops", "a\x1b[31mb\nc", lines=1).err, "control characters must not reach the terminal")


# ---- Files that are no graphs


@test
def graph_files_that_cannot_be_read():
    pathlib.Path("folder").mkdir()
    os.mkfifo("fifo")
    pathlib.Path("gone").symlink_to("nowhere")
    for command in (["graph"], ["eval", "--random", "1"], ["graph", "--json"], ["graph", "--pass", "all"]):
        fails(*command, "absent.rlx", says=["absent.rlx", "No such file"], lines=1)
        fails(*command, "gone", says="gone", lines=1)
        fails(*command, "folder", says=["folder", "directory"], lines=1)
        fails(*command, "fifo", says=["fifo", "FIFO"], lines=1)  # and does not wait for a writer
        fails(*command, "/dev/zero", says=["/dev/zero", "device"], lines=1)
        fails(*command, "", says="''", lines=1)
        fails(*command, "x" * 300, says="too long", lines=1)
        fails(*command, "x" * 100000, lines=1)


@test
def files_without_permission():
    if os.geteuid() == 0:
        raise Skip("root may read any file")
    write("g.rlx", LINEAR)
    linear_inputs()
    os.chmod("x.npy", 0)
    fails("eval", "g.rlx", "--input", "x=x.npy", "--input", "w=w.npy", says=["x.npy", "denied"], lines=1)
    os.chmod("g.rlx", 0)
    fails("graph", "g.rlx", says=["g.rlx", "denied"], lines=1)


@test
def graph_files_that_hold_no_graph():
    noise = random_bytes(1000)
    contents = {"empty": b"", "blank": b" \n\t\n", "noise": noise, "nul": b"\0" * 100, "text": b"hello\n",
                "npy": npy_bytes("f32", (1,), [1]), "gguf": b"GGUF\3\0\0\0" + noise[:64],
                "onnx": b"\x08\x07\x12\x07pytorch", "zip": b"PK\3\4" + noise[:64],
                "html": b"<!DOCTYPE html><html></html>",
                "lfs": b"version https://git-lfs.github.com/spec/v1\n", "long line": b"a" * 1000000,
                "no outputs": b"graph { }", "open": b"graph {", "half a string": b'graph { %1 = input "x',
                "two graphs": LINEAR.encode() * 2, "nul inside": LINEAR.replace("relu", "re\0lu").encode(),
                "bad utf-8": LINEAR.replace('"x"', '"\x80"').encode("latin-1"),
                "deep": b"graph { %1 = while() {body=" * 100000,
                "huge constant": b'graph { %1 = constant : f32[1099511627776] = hex "00"\n output "y" = %1 }',
                "overflow": b'graph { %1 = input "x" : f32[4294967296,4294967296,4294967296]\n output "y" = %1 }'}
    for name, content in contents.items():
        pathlib.Path("file").write_bytes(content)
        begin = time.monotonic()
        result = fails("graph", "file", says="file: ", lines=1)
        equal(result.out, "", f"{name}: standard output")
        check(time.monotonic() - begin < 20, f"{name}: took {time.monotonic() - begin:.1f} s")
        fails("eval", "file", "--random", "1", says="file: ", lines=1)


@test
def truncated_graphs():
    whole = LINEAR.rstrip()
    for n in range(0, len(whole), 5):
        write("g.rlx", whole[:n])
        fails("graph", "g.rlx", says="g.rlx: line ", lines=1)


@test
def errors_name_line_and_column():
    write("g.rlx", LINEAR.replace("relu", "nonsense"))
    fails("graph", "g.rlx", says=["g.rlx: line 7, column 8", "got 'nonsense"], lines=1)
    write("g.rlx", LINEAR.replace("f32[3,2]", "f32[4,2]"))
    fails("graph", "g.rlx", says=["matmul", "[2,3]", "[4,2]"], lines=1)


# ---- graph


@test
def text_round_trip():
    for text in (LINEAR, OPEN, ENDLESS, "# a comment\n" + LINEAR.replace("\n", ";\n")):
        write("g.rlx", text)
        once = rlx("graph", "g.rlx", expect=0).out
        write("again.rlx", once)
        equal(rlx("graph", "again.rlx", expect=0).out, once, "printed, parsed and printed")
        equal(rlx("graph", "-", stdin=text.encode(), expect=0).out, once, "from standard input")
        equal(rlx("graph", "-q", "g.rlx", expect=0).out, "", "graph -q")
        equal(file_json("graph", "g.rlx")["text"], once, "the text in JSON")
    write("g.rlx", LINEAR)
    equal(rlx("graph", "g.rlx", expect=0).out, LINEAR, "a text as the printer writes it")


@test
def round_trip_of_everything_the_passes_make():
    write("g.rlx", LINEAR)
    out = rlx("graph", "g.rlx", "--pass", "all", "--before", "--each", "--report", expect=0).out
    first = rlx("graph", "-", stdin=out.encode(), expect=0).out  # comments and all
    check(first.startswith("graph {"), "no graph comes back")
    check("# before: 6 nodes" in out and "# result: " in out and "# dispatch report:" in out, out)


@test
def several_files():
    write("a.rlx", LINEAR)
    write("b.rlx", OPEN)
    both = rlx("graph", "a.rlx", "b.rlx", expect=0).out
    equal(both, rlx("graph", "a.rlx").out + rlx("graph", "b.rlx").out, "two graphs")
    result = fails("graph", "absent1", "a.rlx", "absent2", says=["absent1", "absent2"], lines=2)
    equal(result.out, LINEAR, "the one that is there")
    found = rlx_json("graph", "a.rlx", "b.rlx")["files"]
    equal([(f["file"], f["text"]) for f in found], [("a.rlx", LINEAR), ("b.rlx", OPEN)], "two graphs in one document")
    found = json.loads(fails("graph", "absent1", "a.rlx", "--json", says="absent1", lines=1).out)
    equal([f["file"] for f in found["files"]], ["absent1", "a.rlx"], "one that fails has its entry")
    equal(found["files"][0]["error"]["status"], "not found", "and says why")
    check("error" in found and "error" not in found["files"][1], "the other one is there as ever")
    fails("graph", code=2, says="which file?", lines=1)
    rlx("graph", "--", "a.rlx", expect=0)
    shutil.copy("a.rlx", "-q")
    equal(rlx("graph", "--", "-q", expect=0).out, LINEAR, "a file named -q")
    check("a.rlx: 6 nodes, valid" in rlx("graph", "-v", "a.rlx", expect=0).err, "graph -v")


@test
def symbols_and_sizes():
    write("g.rlx", OPEN)
    out = rlx("graph", "g.rlx", "--dim", "B=2", "--dim=S=3", expect=0).out
    check("symbols" not in out and "f32[2,3]" in out, out)
    fails("graph", "g.rlx", "--dim", "B=2", says=["g.rlx", "no size is given for S", "--dim S=SIZE"], lines=1)
    fails("graph", "g.rlx", "--pass", "all", says=["no size is given for B, S", "--dim B=SIZE"], lines=1)
    fails("graph", "g.rlx", "--dim", "B=2", "--dim", "S=1", "--dim", "Z=1", says=["g.rlx", "Z"], lines=1)
    fails("graph", "g.rlx", "--dim", "B=2", "--dim", "B=2", code=2, says="--dim gives 'B' twice", lines=1)
    fails("graph", "g.rlx", "--dim", "B=4611686018427387904", "--dim", "S=4", says=["g.rlx", "overflow"], lines=1)
    check("f32[0,3]" in rlx("graph", "g.rlx", "--dim", "B=0", "--dim", "S=3", expect=0).out, "size 0")
    write("h.rlx", LINEAR)
    fails("graph", "h.rlx", "--dim", "B=2", says=["h.rlx", "B"], lines=1)


@test
def graph_as_json():
    write("g.rlx", OPEN)
    graph = file_json("graph", "g.rlx")
    equal(graph["nodes"], 4, "nodes")
    equal(graph["symbols"], ["B", "S"], "symbols")
    equal(graph["leaves"], [{"kind": "input", "name": "x", "dtype": "f32", "shape": ["B", "S"]},
                            {"kind": "input", "name": "m", "dtype": "f32", "shape": ["S"]}], "leaves")
    equal(graph["outputs"], [{"name": "y", "dtype": "f32", "shape": ["B"]}], "outputs")
    check("report" not in graph and "before" not in graph, "nothing about passes")
    graph = file_json("graph", "g.rlx", "--dim", "B=2", "--dim", "S=3", "--pass", "all", "--before")
    check("symbols" not in graph["before"] and graph["report"]["host"] == 0, str(graph))
    fails("graph", "g.rlx", "--json", "--dot", code=2, says="--json goes without", lines=1)
    fails("graph", "g.rlx", "--json", "--each", code=2, says="--json goes without", lines=1)


# As they stand between the quotes of the text form, which are JSON's.
NAMES = ['a\\"b', "a\\\\b", "a/b", "tab\\t", "line\\nend", "ü€😀", "%1 -> %2", "<b>&amp;", "\\u0001",
         "x" * 200, ".", ".."]


@test
def odd_names():
    write("g.rlx", "graph {\n" + "".join(f'  %{i} = input "{n}" : f32[1]\n  output "{n}" = %{i}\n'
                                         for i, n in enumerate(NAMES, 1)) + "}\n")
    graph = file_json("graph", "g.rlx")
    expected = [json.loads(f'"{n}"') for n in NAMES]
    equal([leaf["name"] for leaf in graph["leaves"]], expected, "names of leaves")
    equal([output["name"] for output in graph["outputs"]], expected, "names of outputs")
    write("again.rlx", graph["text"])
    equal(rlx("graph", "again.rlx", expect=0).out, graph["text"], "round trip")
    dot_accepts(rlx("graph", "g.rlx", "--dot", expect=0).out, required=False)
    result = rlx_json("eval", "g.rlx", "--random", "1", "--out", "out")
    equal([o["name"] for o in result["outputs"]], expected, "names of outputs")
    equal(sorted(p.name for p in pathlib.Path("out").iterdir()),
          sorted(name.replace("/", "_") + ".npy" for name in expected), "files")


def dot_accepts(text, required=True):
    """Graphviz where it is installed; its quoting rules always."""
    check(text.startswith("digraph ") and text.rstrip().endswith("}"), text)
    for line in text.splitlines()[1:-1]:
        statement = r'  (\w+ -> \w+|\w+ \[(\w+=(\w+|"([^"\\]|\\.)*")(, )?)+\]);'
        check(re.fullmatch(statement, line), f"not DOT: {line!r}")
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text.encode(), check=True, stdout=subprocess.DEVNULL)
    elif required:
        raise Skip("Graphviz is not installed; only the form of its input was checked")


@test
def graph_for_graphviz():
    write("g.rlx", LINEAR)
    write("o.rlx", OPEN)
    text = rlx("graph", "g.rlx", "--dot", expect=0).out
    equal(len(re.findall(r"^  n\d+ -> n\d+;$", text, re.MULTILINE)), 5, "edges")
    equal(len(re.findall(r"^  n\d+ \[", text, re.MULTILINE)), 6, "nodes")
    dot_accepts(rlx("graph", "o.rlx", "--dot", expect=0).out, required=False)
    dot_accepts(rlx("graph", "g.rlx", "--dot", "--pass", "all", expect=0).out, required=False)
    for option in ("--each", "--before", "--report"):
        fails("graph", "g.rlx", "--dot", option, code=2, says="--dot goes without", lines=1)
    dot_accepts(text)


# ---- Passes


@test
def passes_are_listed():
    names = pass_names()
    for name in ("fold", "dedupe", "dead", "simplify", "idiom", "fuse", "legalise", "hoist"):
        check(name in names, f"{name} is not in {names}")
    listed = rlx_json("graph", "--passes")["passes"]
    equal([p["name"] for p in listed], names, "as JSON")
    check(all(p["doc"] for p in listed), "a pass has no documentation")
    fails("graph", "--passes", "g.rlx", code=2, says="--passes takes no file", lines=1)


@test
def passes_do_their_work():
    write("g.rlx", """graph {
      %1 = input "x" : f32[2]
      %2 = constant : f32[] = [2]
      %3 = mul(%2, %2) : f32[]
      %4 = mul(%1, %3) : f32[2]
      %5 = exp(%1) : f32[2]
      output "y" = %4
    }""")
    check("exp" in rlx("graph", "g.rlx", "--pass", "fold", expect=0).out, "fold drops no dead node")
    folded = rlx("graph", "g.rlx", "--pass", "fold,dead", expect=0).out
    check("exp" not in folded and "[4]" in folded and folded.count("mul") == 1, folded)
    kept = rlx("graph", "g.rlx", "--pass", "fold,dead", "--without", "dead", expect=0).out
    equal(kept, rlx("graph", "g.rlx", "--pass", "fold", expect=0).out, "--pass fold,dead --without dead")
    equal(rlx("graph", "g.rlx", "--without", "fold", expect=0).out,
          rlx("graph", "g.rlx", "--pass", "all", "--without", "fold", expect=0).out, "--without alone means all others")
    each = rlx("graph", "g.rlx", "--each", expect=0).out
    equal(re.findall(r"^# after (\w+): \d+ nodes", each, re.MULTILINE), pass_names(), "--each")
    equal(rlx("graph", "g.rlx", "--each", "--pass", "dead,fold", expect=0).out.count("# after "), 2, "--each of two")
    report = rlx("graph", "g.rlx", "--report", expect=0).out
    check("# native " in report and " native, " in report, report)


@test
def passes_that_do_not_exist():
    write("g.rlx", LINEAR)
    for command in (["graph"], ["eval", "--random", "1"]):
        fails(*command, "g.rlx", "--pass", "nonsense", says=["nonsense", "fold"], lines=1)
        fails(*command, "g.rlx", "--pass", "fold,nonsense", says="nonsense", lines=1)
        fails(*command, "g.rlx", "--without", "nonsense", says="nonsense", lines=1)
        fails(*command, "g.rlx", "--pass", "FOLD", says="FOLD", lines=1)


if __name__ == "__main__":
    sys.exit(main())
