#!/usr/bin/env python3
"""Characters that control a terminal (escapes, controls, direction marks, line ends) are escaped on standard output and
standard error, in names, metadata, paths and generated text. See cli.py."""

import json
import os
import pty
import subprocess

from cli import RLX, Skip, check, equal, fails, file_json, main, rlx, test, write

# ESC, BEL, CR, DEL, CSI of one character, right-to-left override and mark, line separator.
EVIL = "a\x1b[31m\x07\r\x7f\u009b2J\u202eb\u200f\u2028c"
SHOWN = r"a\u001b[31m\u0007\u000d\u007f\u009b2J\u202eb\u200f\u2028c"
STEERING = [c for c in EVIL if not c.isascii() or c < " " or c == "\x7f"]


def harmless(result, what):
    for text in (result.out, result.err):
        for c in STEERING:
            check(c not in text, f"{what}: {c!r} in {text!r}")
    return result


def has_lm():
    if " convert " not in rlx("--help", expect=0).out:
        raise Skip("rlx was built without language models")


@test
def names_and_metadata_of_weight_files():
    has_lm()
    from lm_files import gguf, safetensors
    gguf("m.gguf", [("general.name", "string", EVIL), (EVIL, "string", "x"), ("general.list", ["string"], [EVIL, EVIL])], [(EVIL, [1], 0, bytes(4))])
    safetensors("m.safetensors", {EVIL: ("F32", [1], bytes(4))}, {EVIL: EVIL})
    for name in ("m.gguf", "m.safetensors"):
        shown = harmless(rlx("info", name, expect=0), name)
        check(SHOWN in shown.out, shown.out)
        harmless(rlx("check", name, "-v"), name)
        names = [t["name"] for t in file_json("info", name)["tensors"]]
        equal(names, [EVIL], "JSON has the name as it is")
        harmless(rlx("info", name, "--json", expect=0), f"{name}: JSON")
        harmless(rlx("generate", name, "-p", "a"), f"{name}: a message")
        harmless(rlx("convert", name, "out.safetensors", "--type", "q8_0", "-v"), f"{name}: convert")
    harmless(rlx("tokenize", "m.gguf", stdin=b"x"), "no tokenizer")


@test
def names_of_graphs():
    write("g.rlx", f"graph {{\n  %1 = input {json.dumps(EVIL)} : f32[2]\n  %2 = neg(%1)\n  output {json.dumps('o' + EVIL)} = %2\n}}\n")
    text = harmless(rlx("graph", "g.rlx", expect=0), "graph").out
    write("again.rlx", text)
    equal(rlx("graph", "again.rlx", expect=0).out, text, "what is printed reads back as the same graph")
    equal(file_json("graph", "again.rlx")["leaves"][0]["name"], EVIL, "with the name as it is")
    for args in (("info", "g.rlx"), ("plan", "g.rlx"), ("plan", "g.rlx", "--dispatch"), ("run", "g.rlx", "--random", 1), ("compare", "g.rlx", "--random", 1, "-v"),
                 ("run", "g.rlx"), ("eval", "g.rlx"), ("graph", "g.rlx", "--dot"), ("trace", "g.rlx", "--random", 1, "-o", "t.json")):
        harmless(rlx(*args, *(("--device", "cpu") if args[0] in ("run", "compare", "trace") else ())), f"{args}")


@test
def paths_in_messages():
    for name in (EVIL, "x\udcff\udc9by"):
        harmless(fails("info", name, says="a\\u001b" if name == EVIL else "x\\xff\\x9by"), "a path")
    harmless(fails("run", EVIL + ".onnx"), "a path")
    harmless(rlx("graph", "--pass", EVIL, "x.rlx"), "an option's value")
    harmless(rlx(EVIL), "a command")
    harmless(rlx("info", "--" + EVIL), "an option")


def on_a_terminal(*args):
    """What rlx writes where standard output is a terminal."""
    host, terminal = pty.openpty()
    done = subprocess.Popen([str(RLX), *map(str, args)], stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE)
    os.close(terminal)
    out = b""
    while True:
        try:
            more = os.read(host, 4096)
        except OSError:  # how a terminal says that the other side is gone
            break
        if not more:
            break
        out += more
    err = done.communicate()[1].decode()
    os.close(host)
    equal(done.returncode, 0, err)
    return out.decode("utf-8", "replace")


@test
def what_a_model_says():
    """A vocabulary of nothing but escapes: on a terminal they are letters, in a pipe they are as they are."""
    has_lm()
    from gguf_file import tiny_llama_parts, write_gguf
    metadata, tensors = tiny_llama_parts()
    tokens = metadata["tokenizer.ggml.tokens"]
    for i in range(259, len(tokens)):
        tokens[i] = f"\x1b[{i}m"
    metadata["tokenizer.ggml.token_type"] = [("i32", 2), ("i32", 3), ("i32", 3), *[("i32", 6)] * 256, *[("i32", 1)] * (len(tokens) - 259)]
    write_gguf("m.gguf", metadata, tensors)
    args = ("generate", "m.gguf", "-p", "a\x1b[1m", "-n", "40", "--temperature", "5", "--seed", "1", "--ignore-end", "--device", "cpu")
    plain = rlx(*args, expect=0).out
    check("\x1b[" in plain and plain.count("\x1b") > 3, "it does say escapes")
    shown = on_a_terminal(*args)
    check("\x1b" not in shown and "\\u001b[" in shown, repr(shown))
    check("\x1b" not in on_a_terminal("chat", "m.gguf", "--template", "chatml", *args[2:]), "chat")


if __name__ == "__main__":
    main()
