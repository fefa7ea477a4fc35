#!/usr/bin/env python3
"""The rlx command, from outside: what it prints, what it writes, how it fails.

  RLX_BUILD_DIR=build/release tests/test_cli.py      or: tests/test_cli.py PROGRAM [SCRATCH_FOLDER [PATTERN]]

A test is a function below; it gets an empty folder to stand in and fails by raising. Every call of the program is also
held to what must hold always: no signal, no report of a sanitizer, no hang, one line of error at most for each thing that
is wrong, nothing on standard output but the result.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parent.parent)
BUILD = pathlib.Path(os.environ.get("RLX_BUILD_DIR") or ROOT / "build/release").resolve()
RLX = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else BUILD / "rlx"
SECONDS = 60  # far above what anything here takes, also under a sanitizer on a busy machine
SANITIZER = re.compile(r"ERROR: |runtime error: |SUMMARY: |WARNING: ThreadSanitizer")

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
    check(found == expected, f"{what}: expected {expected!r}, found {found!r}"[:2000])


# ---- Calling the program


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def judge(args, code, out, err):
    """What holds for every call."""
    what = f"rlx {' '.join(map(str, args))}"
    check(code is not None and code >= 0, f"{what}: ended by signal {-code if code else code}\n{err}")
    check(not SANITIZER.search(err), f"{what}: {err}")
    if code == 2:
        equal(out, "", f"{what}: standard output of wrong usage")
        check(err, f"{what}: wrong usage is not told")
    if code == 1:
        check(err, f"{what}: a failure is not told")
    if code in (1, 2) and args:
        for line in err.splitlines():
            check(line.startswith("rlx: ") and len(line) < 4000, f"{what}: a line of error is {line!r}")


def rlx(*args, stdin=None, expect=None, cwd=None, **how):
    """Runs rlx; `expect` is the exit code that must come. Text in, text out."""
    done = subprocess.run([str(RLX), *map(str, args)], input=stdin, capture_output=True, timeout=SECONDS, cwd=cwd,
                          **({} if stdin is not None else {"stdin": subprocess.DEVNULL}), **how)
    result = Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
    judge(args, result.code, result.out, result.err)
    if expect is not None:
        equal(result.code, expect, f"rlx {' '.join(map(str, args))}: exit code ({result.err.strip()})")
    return result


def fails(*args, says=(), code=1, lines=None, **how):
    """Runs rlx, which must fail with words that hold each of `says`."""
    result = rlx(*args, expect=code, **how)
    for part in [says] if isinstance(says, str) else says:
        check(part in result.err, f"rlx {' '.join(map(str, args))}: expected {part!r} in {result.err!r}")
    if lines:
        equal(len(result.err.splitlines()), lines, f"rlx {' '.join(map(str, args))}: lines of error ({result.err!r})")
    return result


def rlx_json(*args, **how):
    """Runs rlx --json: one document, and nothing said beside it."""
    result = rlx(*args, "--json", expect=0, **how)
    equal(result.err, "", f"rlx {' '.join(map(str, args))} --json: standard error")
    return json.loads(result.out)


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
    head = eval(data[10:at], {"__builtins__": {}})  # the header is a literal, written by the program under test
    dtype = next(name for name, (descr, _) in DESCR.items() if descr == head["descr"])
    code = DESCR[dtype][1]
    count = (len(data) - at) // struct.calcsize(code)
    return dtype, list(head["shape"]), list(struct.unpack(f"<{count}{code}", data[at:]))


def write(name, text):
    pathlib.Path(name).write_text(text)
    return name


def close(found, expected, what="", tolerance=1e-6):
    equal(len(found), len(expected), f"{what}: count")
    check(all(abs(a - b) <= tolerance for a, b in zip(found, expected)), f"{what}: expected {expected}, found {found}")


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
    for name in ("gpu", "", "cuda:0", "CPU", "99", "0" * 10000):
        fails("ops", "--device", name, says=["there is no device", "'cpu'"], lines=1)


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
        equal({"name", "arity", "attributes", "types", "traits", "doc", "inputs", "result"} - set(op), set(), op["name"])
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
    equal(fails("ops", "nope", "--json").out, "", "standard output of a failure")
    check("?[31m" in fails("ops", "a\x1b[31mb\nc").err, "control characters must not reach the terminal")


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
                "npy": npy_bytes("f32", (1,), [1]), "gguf": b"GGUF\3\0\0\0" + noise[:64], "onnx": b"\x08\x07\x12\x07pytorch",
                "zip": b"PK\3\4" + noise[:64], "html": b"<!DOCTYPE html><html></html>",
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
    fails("graph", "g.rlx", says=["g.rlx: line 7, column 8", "found 'nonsense"], lines=1)
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
        equal(rlx_json("graph", "g.rlx")["text"], once, "the text in JSON")
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
    fails("graph", "a.rlx", "b.rlx", "--json", code=2, says="--json takes one file", lines=1)
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
    graph = rlx_json("graph", "g.rlx")
    equal(graph["nodes"], 4, "nodes")
    equal(graph["symbols"], ["B", "S"], "symbols")
    equal(graph["leaves"], [{"kind": "input", "name": "x", "dtype": "f32", "shape": ["B", "S"]},
                            {"kind": "input", "name": "m", "dtype": "f32", "shape": ["S"]}], "leaves")
    equal(graph["outputs"], [{"name": "y", "dtype": "f32", "shape": ["B"]}], "outputs")
    check("report" not in graph and "before" not in graph, "nothing about passes")
    graph = rlx_json("graph", "g.rlx", "--dim", "B=2", "--dim", "S=3", "--pass", "all", "--before")
    check("symbols" not in graph["before"] and graph["report"]["host"] == 0, str(graph))
    fails("graph", "g.rlx", "--json", "--dot", code=2, says="--json goes without", lines=1)
    fails("graph", "g.rlx", "--json", "--each", code=2, says="--json goes without", lines=1)


NAMES = ['a"b', "a\\b", "a/b", "tab\\t", "line\\nend", "ü€😀", "%1 -> %2", "<b>&amp;", "\\u0001", "x" * 200, ".", ".."]


@test
def odd_names():
    quoted = [name if "\\" in name and name != "a\\b" else name.replace("\\", "\\\\").replace('"', '\\"') for name in NAMES]
    write("g.rlx", "graph {\n" + "".join(f'  %{i} = input "{n}" : f32[1]\n  output "{n}" = %{i}\n'
                                         for i, n in enumerate(quoted, 1)) + "}\n")
    graph = rlx_json("graph", "g.rlx")
    expected = [json.loads(f'"{n}"') for n in quoted]
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
    equal(text.count("{"), text.count("{"), "braces")
    check(text.startswith("digraph ") and text.rstrip().endswith("}"), text)
    for line in text.splitlines()[1:-1]:
        check(re.fullmatch(r'  (\w+ -> \w+|(node|\w+) \[(\w+=(\w+|"([^"\\]|\\.)*")(, )?)+\]);', line), f"not DOT: {line!r}")
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


def pass_names():
    return [line.split()[0] for line in rlx("graph", "--passes", expect=0).out.splitlines()]


@test
def passes_are_listed():
    names = pass_names()
    for name in ("fold", "dedupe", "dead", "simplify", "fuse", "legalise", "hoist"):
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
    npy("x.npy", "f32", (1,), [1])
    for command in (["graph"], ["eval", "--random", "1"]):
        fails(*command, "g.rlx", "--pass", "nonsense", says=["nonsense", "fold"], lines=1)
        fails(*command, "g.rlx", "--pass", "fold,nonsense", says="nonsense", lines=1)
        fails(*command, "g.rlx", "--without", "nonsense", says="nonsense", lines=1)
        fails(*command, "g.rlx", "--pass", "FOLD", says="FOLD", lines=1)


# ---- eval


@test
def results_by_hand():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    out = rlx("eval", "g.rlx", *given, "--out", "out", expect=0).out
    equal(out, "y: f32[2,2] -> out/y.npy\n", "what is said")
    equal(load("out/y.npy"), ("f32", [2, 2], LINEAR_RESULT), "y")
    equal([p.name for p in pathlib.Path("out").iterdir()], ["y.npy"], "files")
    equal(rlx("eval", "g.rlx", *given, expect=0).out, "y: f32[2,2] = 7.5 4 16.5 10\n", "without --out")
    equal(rlx("eval", "g.rlx", *given, "-q", "--out", "out", expect=0).out, "", "eval -q")
    equal(rlx("eval", "-", *given, stdin=LINEAR.encode(), expect=0).out, "y: f32[2,2] = 7.5 4 16.5 10\n", "from stdin")
    check("6 nodes in " in rlx("eval", "g.rlx", *given, "-v", expect=0).err, "eval -v")
    result = rlx_json("eval", "g.rlx", *given)
    equal(result["outputs"], [{"name": "y", "dtype": "f32", "shape": [2, 2], "values": LINEAR_RESULT}], "JSON")
    check(result["seconds"] >= 0, "seconds")
    result = rlx_json("eval", "g.rlx", *given, "--out", "out")
    equal(result["outputs"], [{"name": "y", "dtype": "f32", "shape": [2, 2], "file": "out/y.npy"}], "JSON with --out")


@test
def results_do_not_depend_on_passes():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for options in ([], ["--pass", "all"], *(["--pass", name] for name in pass_names()), ["--without", "fuse,hoist"]):
        rlx("eval", "g.rlx", *given, *options, "--out", "out", expect=0)
        close(load("out/y.npy")[2], LINEAR_RESULT, f"{options}")


@test
def weights_that_are_prepared_at_load():
    """w + w depends on weights alone, so that hoisting moves it to a graph that runs first."""
    write("g.rlx", LINEAR.replace("%3 = matmul(%1, %2)", "%7 = add(%2, %2)\n  %3 = matmul(%1, %7)"))
    given = linear_inputs()
    expected = [14.5, 9, 32.5, 21]
    hoisted = rlx_json("graph", "g.rlx", "--pass", "hoist")
    check("load" in hoisted, f"nothing was hoisted: {hoisted}")
    check("# once, when the weights are loaded:\n# graph {" in rlx("graph", "g.rlx", "--pass", "hoist", expect=0).out, "text")
    for options in ([], ["--pass", "hoist"], ["--pass", "all"]):
        close(rlx_json("eval", "g.rlx", *given, *options)["outputs"][0]["values"], expected, f"{options}")
    bad = npy("bad.npy", "f32", (3, 3), [0] * 9)
    fails("eval", "g.rlx", "--input", "x=x.npy", "--input", f"w={bad}", "--pass", "hoist", says=["'w'", "[3,3]"], lines=1)


VALUES = {"f32": [-1.5, 0.25], "f16": [-1.5, 0.25], "f64": [1e300, 0.1], "i8": [-128, 127], "u8": [0, 255],
          "i16": [-32768, 32767], "i32": [-2**31, 2**31 - 1], "u32": [0, 2**32 - 1], "i64": [-2**63, 2**63 - 1],
          "bool": [1, 0], "bf16": [0xbfc0, 0x3e80], "c64": [1, -2, 0.5, 4]}


@test
def every_type_in_and_out():
    for dtype, values in VALUES.items():
        write("g.rlx", f'graph {{ %1 = input "x" : {dtype}[2]\n %2 = reshape(%1) {{shape=[1,2]}}\n output "y" = %2 }}')
        npy("x.npy", dtype, (2,), values)
        rlx("eval", "g.rlx", "--input", "x=x.npy", "--out", "out", expect=0)
        equal(load("out/y.npy"), (dtype, [1, 2], values), dtype)
        equal(pathlib.Path("out/y.npy").read_bytes(), npy_bytes(dtype, (1, 2), values), f"{dtype}: NumPy's own bytes")
        shown = [-1.5, 0.25] if dtype == "bf16" else values
        equal(rlx_json("eval", "g.rlx", "--input", "x=x.npy")["outputs"][0]["values"], shown, f"{dtype} as JSON")
        out = rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out
        close([float(word) for word in out.split("= ")[1].split()], shown, f"{dtype} as text", 1e295 if dtype == "f64" else 1e13)


@test
def special_numbers_in_json():
    write("g.rlx", 'graph { %1 = input "x" : f32[4]\n output "y" = %1 }')
    npy("x.npy", "f32", (4,), [float("nan"), float("inf"), float("-inf"), 1])
    equal(rlx_json("eval", "g.rlx", "--input", "x=x.npy")["outputs"][0]["values"], ["NaN", "Infinity", "-Infinity", 1], "")
    check("nan inf -inf 1" in rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out.replace("-nan", "nan"), "as text")


@test
def sizes_0_and_many():
    write("g.rlx", 'graph { %1 = input "x" : f32[N]\n %2 = add(%1, %1)\n output "y" = %2 }')
    npy("x.npy", "f32", (0,), [])
    rlx("eval", "g.rlx", "--input", "x=x.npy", "--out", "out", expect=0)
    equal(load("out/y.npy"), ("f32", [0], []), "size 0")
    equal(rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out, "y: f32[0] = \n", "size 0 as text")
    npy("x.npy", "f32", (100,), range(100))
    equal(rlx("eval", "g.rlx", "--input", "x=x.npy", expect=0).out, "y: f32[100] = 0 2 4 6 8 10 12 14 .. (100 in all)\n", "")


@test
def fortran_order_and_later_versions():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    npy("x.npy", "f32", (2, 3), [1, 4, 2, 5, 3, 6], order="True")
    npy("w.npy", "f32", (3, 2), [1, 0, 0, 1, 2, 1], version=3)
    close(rlx_json("eval", "g.rlx", *given)["outputs"][0]["values"], LINEAR_RESULT)


@test
def symbols_from_inputs():
    write("g.rlx", OPEN)
    npy("x.npy", "f32", (2, 3), [1, 2, 3, 4, 5, 6])
    npy("m.npy", "f32", (3,), [1, 0, 2])
    x, m = ["--input", "x=x.npy"], ["--input", "m=m.npy"]
    for options in ([], ["--pass", "all"], ["--dim", "B=2"], ["--dim", "S=3"], ["--dim", "S=3", "--dim", "B=2"]):
        equal(rlx_json("eval", "g.rlx", *x, *m, *options)["outputs"][0]["values"], [7, 16], f"{options}")
    # what one input leaves open the others may tell
    equal(len(rlx_json("eval", "g.rlx", *x, "--random", "1")["outputs"][0]["values"]), 2, "m at random")
    fails("eval", "g.rlx", *m, "--random", "1", says=["g.rlx", "for B", "--dim B=SIZE"], lines=1)
    fails("eval", "g.rlx", *x, *m, "--dim", "S=4", says=["'x'", "[2,3]", "[2,4]", "'m'"], lines=2)
    fails("eval", "g.rlx", *x, *m, "--dim", "Z=4", says=["g.rlx", "Z"], lines=1)
    npy("m.npy", "f32", (4,), [1, 0, 2, 0])
    fails("eval", "g.rlx", *x, *m, says=["'m'", "[4]", "[3]"], lines=1)
    npy("m.npy", "f32", (3, 1), [1, 0, 2])
    fails("eval", "g.rlx", *x, *m, says=["'m'", "[3,1]"], lines=1)


@test
def missing_unknown_and_repeated_inputs():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    fails("eval", "g.rlx", says=["input 'x' has no value", "param 'w' has no value", "--input w=FILE.npy"], lines=2)
    fails("eval", "g.rlx", *given[:2], says="param 'w' has no value", lines=1)
    fails("eval", "g.rlx", *given, "--input", "z=x.npy", says=["--input z", "g.rlx", "no input, param or state"], lines=1)
    fails("eval", "g.rlx", *given, "--input", "y=x.npy", says="--input y", lines=1)  # an output is no input
    fails("eval", "g.rlx", *given, "--input", "x=x.npy", code=2, says="--input gives 'x' twice", lines=1)
    for value in ("x", "x=", "=x.npy", "", "="):
        fails("eval", "g.rlx", "--input", value, code=2, says="--input takes NAME=FILE.npy", lines=1)
    result = fails("eval", "g.rlx", "--input", "x=absent.npy", "--input", "z=x.npy",
                   says=["absent.npy", "--input z", "param 'w'"], lines=3)
    check("'x' has no value" not in result.err, "a value that cannot be read is not missing as well")
    fails("eval", code=2, says="expected one file, found 0", lines=1)
    fails("eval", "g.rlx", "g.rlx", code=2, says="expected one file, found 2", lines=1)


@test
def arrays_that_do_not_fit():
    write("g.rlx", LINEAR)
    given = linear_inputs()[2:]
    cases = [("f64", (2, 3), "f64"), ("i32", (2, 3), "i32"), ("f32", (3, 2), "[3,2]"), ("f32", (6,), "[6]"),
             ("f32", (2, 3, 1), "[2,3,1]"), ("f32", (), "[]"), ("f32", (0, 3), "[0,3]")]
    for dtype, shape, part in cases:
        count = 1
        for n in shape:
            count *= n
        npy("x.npy", dtype, shape, [0] * count)
        fails("eval", "g.rlx", "--input", "x=x.npy", *given, says=["'x'", part], lines=1)


@test
def files_that_are_no_arrays():
    write("g.rlx", LINEAR)
    given = linear_inputs()[2:]
    good = npy_bytes("f32", (2, 3), [1, 2, 3, 4, 5, 6])
    f32 = lambda descr, order="False", shape=(2, 3): npy_bytes("f32", shape, [0] * 6, descr=descr, order=order)
    contents = {"empty": b"", "noise": random_bytes(500), "text": LINEAR.encode(), "zip": b"PK\3\4" + good,
                "magic alone": good[:6], "no data": good[:-24], "one byte less": good[:-1], "one byte more": good + b"\0",
                "half": good[:len(good) // 2], "big endian": f32(">f4"), "complex": f32("<c16"), "objects": f32("|O"),
                "strings": f32("<U1"), "long double": f32("<f16"), "dates": f32("<M8[s]"), "u16": f32("<u2"),
                "order": f32("<f4", order="None"), "rank 9": f32("<f4", shape=(1,) * 7 + (2, 3)),
                "version 4": good[:6] + b"\4" + good[7:], "header length": good[:8] + b"\xff\xff" + good[10:],
                "overflow": f32("<f4", shape=(2**62, 2**62)), "negative": f32("<f4", shape=(-2, -3)),
                "1 TB": f32("<f4", shape=(2**38,)), "no header": good[:8] + b"\0\0" + good[10:],
                "structured": npy_bytes("f32", (2, 3), [0] * 6).replace(b"'<f4'", b"[('a', '<f4')]")}
    for name, content in contents.items():
        pathlib.Path("x.npy").write_bytes(content)
        begin = time.monotonic()
        result = fails("eval", "g.rlx", "--input", "x=x.npy", *given, "--out", "out", says="--input x: x.npy: ", lines=1)
        check(time.monotonic() - begin < 20, f"{name}: took too long")
        check(not os.path.exists("out"), f"{name}: --out was made ({result.err})")
    pathlib.Path("folder").mkdir()
    os.mkfifo("fifo")
    for path, part in (("folder", "directory"), ("fifo", "FIFO"), ("/dev/null", "device"), ("absent", "No such file")):
        fails("eval", "g.rlx", "--input", f"x={path}", *given, says=[path, part], lines=1)
    npy("x.npy", "u8", (1,), [2], descr="|b1")
    write("b.rlx", 'graph { %1 = input "x" : bool[1]\n output "y" = %1 }')
    fails("eval", "b.rlx", "--input", "x=x.npy", says="not a bool", lines=1)


@test
def block_types_come_as_bytes():
    """q8_0: a block of 32 is an f16 scale and 32 signed bytes."""
    write("g.rlx", 'graph { %1 = input "x" : f32[1,32]\n %2 = param "w" : q8_0[2,32]\n'
                   ' %3 = matmul(%1, %2) {trans_b=true}\n output "y" = %3 }')
    npy("x.npy", "f32", (1, 32), [1] * 32)
    rows = [struct.pack("<e32b", 0.5, *range(32)), struct.pack("<e32b", 2, *[-1] * 32)]
    npy("w.npy", "u8", (2, 34), list(b"".join(rows)))
    given = ["--input", "x=x.npy", "--input", "w=w.npy"]
    close(rlx_json("eval", "g.rlx", *given)["outputs"][0]["values"], [248, -64])
    npy("w.npy", "u8", (2, 33), [0] * 66)
    fails("eval", "g.rlx", *given, says=["'w'", "u8", "q8_0"], lines=1)
    fails("eval", "g.rlx", *given[:2], "--random", "1", says=["cannot make param 'w'", "q8_0", "u8"], lines=1)


@test
def states_begin_with_zeros_or_a_file():
    write("g.rlx", 'graph { %1 = state "s" : f32[3]\n %2 = input "x" : f32[1]\n %at = constant : i32[] = [1]\n'
                   ' %3 = update(%1, %2, %at)\n output "y" = %3 }')
    npy("x.npy", "f32", (1,), [7])
    npy("s.npy", "f32", (3,), [1, 2, 3])
    equal(rlx_json("eval", "g.rlx", "--input", "x=x.npy")["outputs"][0]["values"], [0, 7, 0], "from zeros")
    equal(rlx_json("eval", "g.rlx", "--input", "x=x.npy", "--input", "s=s.npy")["outputs"][0]["values"], [1, 7, 3], "")


@test
def random_values():
    write("g.rlx", LINEAR)
    seen = set()
    for seed in ("0", "1", "2", "9223372036854775807"):
        outs = {rlx("eval", "g.rlx", "--random", seed, expect=0).out for _ in range(3)}
        equal(len(outs), 1, f"seed {seed} gives one result")
        seen |= outs
    equal(len(seen), 4, "results of four seeds")
    for dtype in VALUES:
        write("t.rlx", f'graph {{ %1 = input "x" : {dtype}[2,50]\n output "y" = %1 }}')
        values = rlx_json("eval", "t.rlx", "--random", "5")["outputs"][0]["values"]
        real = dtype in ("f32", "f16", "f64", "bf16", "c64")
        equal(len(values), 200 if dtype == "c64" else 100, f"{dtype}: count")
        check(all(-1 <= v <= 1 for v in values) if real else set(values) == {0, 1}, f"{dtype}: {values}")
        check(not real or len(set(values)) > 50, f"{dtype}: {values}")
    # what is given stays as it is, and the rest does not depend on it
    given = linear_inputs()
    write("both.rlx", LINEAR.replace('output "y" = %6', 'output "x" = %1\n output "w" = %2'))
    alone = rlx_json("eval", "both.rlx", "--random", "3")["outputs"]
    mixed = rlx_json("eval", "both.rlx", "--random", "3", *given[:2])["outputs"]
    equal(mixed[0]["values"], [1, 2, 3, 4, 5, 6], "x is given")
    equal(mixed[1]["values"], alone[1]["values"], "w is random")
    equal(rlx_json("eval", "both.rlx", "--random", "3", *given)["outputs"][1]["values"], [1, 0, 0, 1, 2, 1], "both given")


# ---- Outputs that cannot be written


def outputs_graph(*names):
    return write("o.rlx", 'graph { %1 = input "x" : f32[2]\n' + "".join(f' output "{n}" = %1\n' for n in names) + "}")


@test
def output_names_stay_in_the_folder():
    outputs_graph("a/b", "../up", "/etc/x", "..", "c")
    rlx("eval", "o.rlx", "--random", "1", "--out", "deep", expect=0)
    equal(sorted(p.name for p in pathlib.Path("deep").iterdir()), ["...npy", ".._up.npy", "_etc_x.npy", "a_b.npy", "c.npy"], "")
    equal(sorted(os.listdir(".")), ["deep", "o.rlx"], "nothing outside")
    outputs_graph("a/b", "c", "a_b", "d/e_f", "d_e/f")
    result = fails("eval", "o.rlx", "--random", "1", "--out", "new", says=["'a/b'", "'a_b'", "'d/e_f'", "one file"], lines=2)
    check(not os.path.exists("new"), result.err)
    outputs_graph("n" * 300)
    fails("eval", "o.rlx", "--random", "1", "--out", "new", says=["output 'nnn", "too long"], lines=1)
    check(not os.path.exists("new"), "an empty folder is left behind")
    outputs_graph("n" * 300, "ok")  # the one that can be written is
    result = fails("eval", "o.rlx", "--random", "1", "--out", "new", "--json", lines=1)
    equal([o["name"] for o in json.loads(result.out)["outputs"]], ["ok"], "JSON of a failure in part")
    equal(os.listdir("new"), ["ok.npy"], "files")


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
    """A limit on the size of files stands in for a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    write("g.rlx", 'graph { %1 = input "x" : f32[10000]\n output "y" = %1\n %2 = reduce_sum(%1)\n output "small" = %2 }')
    os.mkdir("out")
    old = npy("out/y.npy", "f32", (1,), [1]).read_bytes()
    fails("eval", "g.rlx", "--random", "1", "--out", "out", says=["output 'y'", "out/y.npy"], lines=1, preexec_fn=limit)
    equal(sorted(os.listdir("out")), ["small.npy", "y.npy"], "files")
    equal(pathlib.Path("out/y.npy").read_bytes(), old, "the old file")


@test
def standard_output_that_fails():
    write("g.rlx", LINEAR)
    given = linear_inputs()
    commands = (["ops"], ["ops", "--json"], ["ops", "add"], ["graph", "g.rlx"], ["graph", "g.rlx", "--dot"], ["--help"],
                ["graph", "g.rlx", "--json"], ["eval", "g.rlx", *given], ["eval", "g.rlx", *given, "--json"], ["ops", "-h"])
    for command in commands:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RLX, *command], stdout=full, stderr=subprocess.PIPE, timeout=SECONDS)
        equal((done.returncode, done.stderr), (1, b"rlx: cannot write standard output: No space left on device\n"), command)
        done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", RLX, *command], stderr=subprocess.PIPE, timeout=SECONDS)
        equal((done.returncode, done.stderr), (1, b"rlx: cannot write standard output: Bad file descriptor\n"), command)
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([RLX, *command], stdout=writer, stderr=subprocess.PIPE, timeout=SECONDS)
        os.close(writer)
        equal((done.returncode, done.stderr), (1, b"rlx: cannot write standard output: Broken pipe\n"), command)
    done = subprocess.run(["sh", "-c", f'"{RLX}" ops | head -n 1'], capture_output=True, timeout=SECONDS, text=True)
    check(done.returncode == 0 and done.stdout.startswith("input ") and not SANITIZER.search(done.stderr), f"{done}")
    # A closed descriptor must not become the file that is written, with what is printed in it.
    for closed in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", RLX, "eval", "g.rlx", *given, "--out", "out"], timeout=SECONDS,
                              capture_output=True)
        equal(done.returncode, 1 if ">&-" in closed.replace("2>&-", "") else 0, closed)
        equal(pathlib.Path("out/y.npy").read_bytes(), npy_bytes("f32", (2, 2), LINEAR_RESULT), f"with {closed}")
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", RLX, "eval", "-q", "g.rlx", *given, "--out", "out"], timeout=SECONDS)
    equal(done.returncode, 0, "nothing to print, nothing to fail")
    done = subprocess.run(["sh", "-c", '"$@" <&-', "sh", RLX, "graph", "-"], timeout=SECONDS, capture_output=True, text=True)
    equal((done.returncode, done.stderr), (1, "rlx: cannot read standard input: Bad file descriptor\n"), "no standard input")


# ---- Interrupts


def interrupt(*args, number=signal.SIGINT, after=1.0, **how):
    """Starts rlx, sends it a signal, and gives (exit code, stdout, stderr)."""
    process = subprocess.Popen([str(RLX), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
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
def an_interrupt_ends_reading():
    reader, writer = os.pipe()
    try:
        equal(interrupt("graph", "-", stdin=reader), (130, "", ""), "graph -")
    finally:
        os.close(reader)
        os.close(writer)


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


# ---- The documents


def blocks(document, kind):
    text = (ROOT / document).read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@test
def graphs_in_the_documents_can_be_read():
    found = blocks("docs/text-form.md", "rlx")
    check(len(found) >= 2, "docs/text-form.md has no examples")
    for text in found:
        result = rlx("graph", "-", stdin=text.encode())
        equal((result.code, result.err), (0, ""), f"docs/text-form.md: {text}")


@test
def commands_in_the_documents_work():
    """Lines that begin with '$ ' are run in order, in one folder; the lines after one are its output, '...' any."""
    sessions = blocks("docs/cli.md", "console")
    check(sessions, "docs/cli.md has no examples")
    os.mkdir("bin")
    os.symlink(RLX, "bin/rlx")
    for session in sessions:
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            while "<<'END'" in command and "\nEND" not in command:
                line, _, expected = expected.partition("\n")
                command += "\n" + line
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=SECONDS,
                                  env={**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}"})
            pattern = ".*".join(re.escape(piece) for piece in expected.strip().split("..."))
            found = (done.stdout + done.stderr).strip()
            check(re.fullmatch(pattern, found, re.DOTALL), f"docs/cli.md: $ {command}\nexpected {expected!r}, found {found!r}")


@test
def readme_and_first_example_are_one():
    example = re.search(r"^<!-- example: \w+ -->\n+```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    check(example, "README.md has no example")
    check((ROOT / "examples/hello.c").read_text().endswith(example[1]), "examples/hello.c does not end with README's example")


@test
def examples_run():
    programs = {p.stem: BUILD / "examples" / p.stem for p in sorted((ROOT / "examples").glob("*.c"))}
    check(programs, "there are no examples")
    if not all(p.is_file() for p in programs.values()):
        raise Skip("the examples are not built here")
    for name, program in programs.items():
        done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        equal((done.returncode, done.stderr), (0, ""), name)
        check(len(done.stdout) > 10, f"{name} says nothing")
        if name == "transformer_block":
            demo = done.stdout
    for part in ("rms_norm(", "fused_", "native", "weights", "peak", "largest difference"):
        check(part in demo, f"transformer_block does not show {part!r}")
    difference = float(re.search(r"largest difference\D*([0-9.e+-]+)", demo)[1])
    check(difference < 1e-5, f"transformer_block: optimised and plain differ by {difference}")


# ---- Running them


def random_bytes(n):
    """Noise, the same each time."""
    x, out = 1, bytearray()
    for _ in range(n):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(x >> 56)
    return bytes(out)


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
    scratch = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="rlx-cli-")
    pathlib.Path(scratch).mkdir(parents=True, exist_ok=True)
    count = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        for function in TESTS:
            if len(sys.argv) > 3 and sys.argv[3] not in function.__name__:
                continue
            result, why = run(function, scratch)
            count[result] += 1
            if result != "passed":
                print(f"{'FAIL' if result == 'failed' else 'SKIP'} {function.__name__}: {why}", flush=True)
    finally:
        if len(sys.argv) <= 2:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
