#!/usr/bin/env python3
"""rlx.js in Node: the module, its WASI, its sources of bytes, models, graphs, and what it must refuse.

What it computes is compared with the native command. The JavaScript half is cases.mjs; see web.py for what is needed.
"""

import gzip
import json
import pathlib
import shutil
import subprocess
import sys

from web import ROOT, SECONDS, SHAKESPEARE, WASM, Server, fetch_model, js, node, skip_all_without
from random_model import write_model
from cli import (LINEAR, LINEAR_RESULT, OPEN, Skip, check, close, equal, load, main, npy, rlx, rlx_json, test)

skip_all_without(node)
HAS_LM = "generate" in rlx("--help", expect=0).out
PROMPTS = ["ROMEO:", "KING RICHARD: What say you", "Once more unto the breach,"]
TIE = 1e-2  # of logits: a smaller gap may fall either way, because sums are in another order here

# What wasi.js is tested with: what the library uses of the C library, and the ways in which it fails.
COMMAND = r"""
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void tell(const char *what, int ok) { printf("%s %s\n", what, ok ? "ok" : strerror(errno)); }

int main(int n, char **v) {
  char text[64] = "";
  struct stat st;
  printf("%d %s %s\n", n, v[1], getenv("GREETING"));
  int fd = open("/a/hello.txt", O_RDONLY);
  tell("open", fd >= 0);
  printf("%d\n", (int)read(fd, text, 5));
  puts(text);
  printf("%d %s\n", (int)pread(fd, text, 11, 12), text);
  printf("%d\n", (int)lseek(fd, -5, SEEK_END));
  memset(text, 0, sizeof text);
  printf("%d %s", (int)read(fd, text, sizeof text), text);
  tell("fstat", fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 24 && st.st_mtime == 1);
  close(fd);
  tell("read after close", read(fd, text, 1) == 1);
  tell("stat of a folder", stat("/a/b", &st) == 0 && S_ISDIR(st.st_mode));
  tell("up and down", stat("/a/../a/./b/../hello.txt", &st) == 0);
  tell("above", open("/../etc/passwd", O_RDONLY) >= 0);
  tell("absent", open("/a/absent", O_RDONLY) >= 0);
  tell("through a file", open("/a/hello.txt/x", O_RDONLY) >= 0);
  tell("write", open("/a/new", O_WRONLY | O_CREAT, 0666) >= 0);
  tell("unlink", unlink("/a/hello.txt") == 0);
  fd = open("/broken", O_RDONLY);
  tell("broken", read(fd, text, 10) == 10);
  DIR *d = opendir("/many");
  int files = 0;
  for (struct dirent *e; (e = readdir(d));) files += strncmp(e->d_name, "file number ", 12) == 0;
  closedir(d);
  printf("%d files\n", files);
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  clock_gettime(CLOCK_MONOTONIC, &after);
  tell("sleep", (after.tv_sec - before.tv_sec) * 1000000000ll + after.tv_nsec - before.tv_nsec >= 20000000);
  tell("calendar", time(NULL) > 1700000000);
  unsigned char random[300] = {0};
  int zeros = 0;
  tell("random", getentropy(random, 256) == 0);
  for (int i = 0; i < 256; i++) zeros += !random[i];
  tell("random bytes", zeros < 20);
  fprintf(stderr, "to the error's side\n");
  return 7;
}
"""
SAID = """3 one hello
open ok
5
hello
11 second line
19
5 line
fstat ok
read after close Bad file descriptor
stat of a folder ok
up and down ok
above Capabilities insufficient
absent No such file or directory
through a file Not a directory
write Read-only file system
unlink Read-only file system
broken I/O error
300 files
sleep ok
calendar ok
random ok
random bytes ok""".splitlines()


def need_lm():
    if not HAS_LM:
        raise Skip("this rlx was built without language models")


@test
def wasi_answers_as_a_system_does():
    compiler = shutil.which("clang-19") or shutil.which("clang")
    pathlib.Path("c.c").write_text(COMMAND)
    done = subprocess.run([compiler or "clang", "--target=wasm32-wasi", "-O1", "c.c", "-o", "c.wasm"],
                          capture_output=True, text=True, timeout=SECONDS) if compiler else None
    if not done or done.returncode:
        raise Skip("no compiler for wasm32-wasi (clang-19 lld-19 wasi-libc)")
    told = js("command", pathlib.Path("c.wasm").resolve(), "one", "two")
    equal(told["out"], SAID, "standard output")
    equal(told["err"], ["to the error's side"], "standard error")
    equal(told["code"], 7, "exit code")
    equal(told["error"], "the disk is gone", "the reason of the read that failed")


@test
def the_package_is_small_enough_to_download():
    scripts = sorted((ROOT / "web/rlx").glob("*.js"))
    for variant in ("", "-relaxed", "-threads", "-relaxed-threads"):
        module = WASM.with_name(WASM.name + variant) / "rlx_web.wasm"
        if module.is_file():
            n = sum(len(gzip.compress(f.read_bytes(), 9)) for f in (module, *scripts))
            check(n <= 1500000, f"{module} and the scripts: {n} bytes compressed, expected at most 1,500,000")


@test
def threads_compute_the_same():
    module = WASM.with_name(WASM.name + "-threads") / "rlx_web.wasm"
    if not module.is_file():
        raise Skip(f"{module} is not built (cmake --preset wasm-threads)")
    told = js("threads", module, SHAKESPEARE)
    for run in told:
        equal(run["inUse"], 2 * run["threads"] - 1, f"threads in use by a model and a graph with {run['threads']} each")
        check(run["words"] == told[0]["words"] and run["y"] == told[0]["y"], f"{run['threads']} threads: other numbers")
        equal(run["live"], 0, "blocks left")
    equal([run["about"]["started"] for run in told], [1, 3, 5, 5], "threads started")
    equal({run["about"]["inUse"] for run in told}, {1}, "threads in use after all is closed")
    path = pathlib.Path("threads.gguf").resolve()
    write_model(path, width=1024, layers=1)  # weights that several threads would read if they could
    texts = js("threadsRead", module, path)
    check(texts[0] == texts[1] != "", f"large weights with one thread and with two: {texts}")
    alone = js("about")["threads"]
    check(alone["started"] == 1 and "module has no threads" in alone["why"], f"without threads: {alone}")


@test
def the_module_and_its_devices():
    about = js("about")
    check(about["wasm"].endswith(".wasm") and about["features"]["simd"], f"about: {about}")
    found = js("devices")
    equal([d["backend"] for d in found["devices"]], ["cpu", "null"], "devices")
    check(any(a["backend"] == "webgpu" and a["why"] for a in found["absent"]), f"absent: {found['absent']}")


def gap(prompt, native, text):
    """Where a text leaves the native one: by how much the native command preferred its token to the next best."""
    def decode(ids):
        return rlx("tokenize", SHAKESPEARE, "--decode", stdin=" ".join(map(str, ids)).encode(), expect=0).out

    at = next(i for i in range(len(native["ids"])) if not text.startswith(decode(native["ids"][:i + 1])))
    ids = [int(i) for i in rlx("tokenize", SHAKESPEARE, "--ids", stdin=prompt.encode(), expect=0).out.split()]
    rlx("logits", SHAKESPEARE, "--tokens", ",".join(map(str, ids + native["ids"][:at])), "--out", "l.npy", "--device",
        "cpu", "--exact", expect=0)
    _, (_, width), values = load("l.npy")
    best = sorted(values[-width:])
    return best[-1] - best[-2]


@test
def greedy_text_equals_the_native_commands():
    need_lm()
    same = 0
    for prompt in PROMPTS:
        native = rlx_json("generate", SHAKESPEARE, "-p", prompt, "-n", "60", "--device", "cpu", "--exact")
        told = js("generate", SHAKESPEARE, json.dumps({"prompt": prompt, "maxTokens": 60, "exact": True}))
        equal(told["again"], told["text"], f"{prompt!r}: the text by larger steps")
        equal(told["stats"]["tokens"], 60, "tokens")
        equal(told["stats"]["ended"], "length", "ended")
        check(told["pieces"] >= 30, f"{told['pieces']} pieces: the text does not come in pieces")
        check("load" in told["stages"], f"stages of progress: {told['stages']}")
        if told["text"] == native["text"]:
            same += 1
            continue
        near = gap(prompt, native, told["text"])
        check(near < TIE, f"{prompt!r}: expected {native['text']!r}, got {told['text']!r}; where they part, the "
              f"native command preferred its token by {near}")
    check(same, "no text equals the native one")


@test
def a_seed_gives_one_text():
    need_lm()
    how = {"prompt": "ROMEO:", "maxTokens": 40, "temperature": 0.9, "topK": 40, "topP": 0.9, "seed": 7}
    told = js("generate", SHAKESPEARE, json.dumps(how))
    equal(told["again"], told["text"], "the text by larger steps")
    equal(js("generate", SHAKESPEARE, json.dumps(how))["text"], told["text"], "the text of a second run")
    check(js("generate", SHAKESPEARE, json.dumps({**how, "seed": 8}))["text"] != told["text"], "the seed has no effect")


@test
def tokens_equal_the_native_commands():
    need_lm()
    text = "Good morrow, käse 1 <|endoftext|>"
    told = js("tokenize", SHAKESPEARE, text)
    native = rlx("tokenize", SHAKESPEARE, "--ids", "--no-special", stdin=text.encode(), expect=0).out
    equal(told["ids"], [int(i) for i in native.split()], "ids")
    equal(told["back"], text, "the text of its tokens")


@test
def stop_texts_end_a_text():
    need_lm()
    told = js("stops", SHAKESPEARE)
    equal(told["text"], told["expected"], "the text up to its stop")
    equal(told["stats"]["ended"], "stop", "ended")


@test
def a_text_is_stopped():
    need_lm()
    told = js("cancel", SHAKESPEARE)
    equal(told["after"], told["before"], "the text after a stop")
    equal((told["n"], told["m"]), (5, 5), "pieces before the stops")
    equal(told["outcome"]["error"]["name"], "AbortError", "an aborted text")
    equal(told["early"]["error"]["name"], "AbortError", "a text aborted before it began")
    equal(told["left"]["ended"], "cancelled", "the text whose loop was left")


@test
def closing_ends_a_text():
    need_lm()
    told = js("closeWhile", SHAKESPEARE)
    equal(told["stats"]["ended"], "cancelled", "the text of a model that was closed")
    equal(told["live"], 0, "blocks left")


@test
def a_module_that_traps_is_not_called_again():
    equal(js("trap"), {"first": "RuntimeError", "second": True}, "calls")


@test
def a_load_is_stopped():
    need_lm()
    told = js("cancelLoad", SHAKESPEARE)
    equal(told["outcome"]["error"]["name"], "AbortError", "an aborted load")
    equal(told["live"], 0, "blocks left")


@test
def texts_do_not_mix():
    need_lm()
    told = js("together", SHAKESPEARE)
    equal(told["mixed"], told["alone"] * 2, "texts that were begun together")


@test
def a_hundred_loads_take_no_memory():
    need_lm()
    sizes = js("cycles", SHAKESPEARE, 100)
    equal({s["live"] for s in sizes}, {0}, "blocks left after each")
    equal({s["bytes"] for s in sizes[2:]}, {sizes[2]["bytes"]}, "bytes of the memory from the third on")


@test
def a_conversation():
    need_lm()
    model = fetch_model("smollm2")
    question = "What is the capital of France? Answer in one word."
    told = js("chat", model, json.dumps({"messages": [{"role": "user", "content": question}], "temperature": 0,
                                         "maxTokens": 8}))
    check("Paris" in told["text"], f"the answer is {told['text']!r}")
    native = rlx_json("chat", model, "-p", question, "-n", "8", "--temperature", "0", "--device", "cpu")["turns"][0]
    equal(told["text"], native["text"], "the native command's answer")
    equal(told["stats"]["promptTokens"], native["prompt_tokens"], "tokens of the prompt")
    check(told["second"]["promptTokens"] < told["stats"]["promptTokens"], "the second turn computes the first again")


@test
def embeddings():
    need_lm()
    folder = fetch_model("minilm")
    texts = ["A cat sits on the mat.", "There is a cat on a mat.", "Stocks fell on Monday."]
    told = js("embed", folder, *texts)
    cat, mat, stocks = told["vectors"]
    check(told["info"]["isEncoder"], "it is an encoder")
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))  # noqa: E731
    close([dot(cat, cat)], [1], "length", 1e-5)
    check(dot(cat, mat) > 0.7 > 0.3 > dot(cat, stocks), f"likeness {dot(cat, mat)} and {dot(cat, stocks)}")
    native = rlx_json("embed", folder, texts[0], "--device", "cpu")
    close(cat, native["embeddings"][0], "values", 1e-4)


@test
def onnx_models_equal_the_native_commands():
    for name in ["MatMul-17", "Conv-17", "LSTM-17", "NonZero-17", "Attention-23", "model-if", "model-loop",
                 "model-simple"]:
        shutil.copy(ROOT / "tests/corpus/fuzz_onnx" / name, "m.onnx")
        told = js("onnxAny", pathlib.Path("m.onnx").resolve())
        words = []
        for i, (key, x) in enumerate(told["inputs"].items()):
            words += ["--input", f"{key}={npy(f'i{i}.npy', x['dtype'], x['shape'], x['data'])}"]
        shutil.rmtree("out", ignore_errors=True)
        rlx("run", "m.onnx", *words, "--out", "out", "--device", "cpu", expect=0)
        for key, x in told["values"].items():
            dtype, shape, values = load(f"out/{key.replace('/', '_')}.npy")
            equal((x["dtype"], x["shape"]), (dtype, shape), f"{name}: type and shape of {key}")
            close(x["data"], values, f"{name}: {key}", 1e-5)
        equal(told["live"], 0, f"{name}: blocks left")


@test
def graphs_in_text_form():
    inputs = {"x": {"data": [1, 2, 3, 4, 5, 6], "shape": [2, 3]}, "w": {"data": [1, 0, 0, 1, 2, 1], "shape": [3, 2]}}
    told = js("graph", LINEAR, json.dumps(inputs))
    equal(told["values"]["y"], {"data": LINEAR_RESULT, "shape": [2, 2], "dtype": "f32"}, "y")
    equal([(i["name"], i["op"]) for i in told["inputs"]], [("x", "input"), ("w", "param")], "inputs")
    check(told["plan"]["peak"] > 0 and "native" in told["dispatch"], "reports")
    check("closed" in told["closed"]["error"]["message"], f"a closed graph: {told['closed']}")
    equal(told["live"], 0, "blocks left")
    told = js("graph", OPEN, json.dumps({"x": {"data": [1, 2, 3, 4], "shape": [1, 4]}, "m": [1, 10, 100, 1000]}))
    equal(told["values"]["y"]["data"], [4321], "y of a graph with symbols")
    equal(told["inputs"][0]["shape"], ["B", "S"], "symbols")


# Source or case -> status, and a part of the message.
REFUSED = {
    "noise": ("invalid", "neither a GGUF nor safetensors"), "nothing": ("invalid", ""), "number": ("invalid", "got 42"),
    "escape": ("invalid", "no name of a file"), "webgpu": ("unsupported", "Node has no WebGPU"),
    "device": ("not found", "abacus"), "memory": ("over a limit", ""), "context": ("invalid", "context"),
    "module": ("invalid", "is not there"), "noModule": ("invalid", "cannot be loaded"), "text": ("invalid", "line 1"),
    "template": ("unsupported", "no chat template"), "embed": ("unsupported", "does not embed"),
    "long": ("invalid", "context"), "closed": ("invalid", "closed"),
}


@test
def bad_input_is_refused_with_a_reason():
    need_lm()
    data = SHAKESPEARE.read_bytes()
    sources = {"cut.gguf": data[:len(data) // 2], "head.gguf": data[:1000], "text.txt": b"hello\n" * 100}
    for name, content in sources.items():
        pathlib.Path(name).write_bytes(content)
    told = js("refused", SHAKESPEARE, *[pathlib.Path(name).resolve() for name in sources], "/nowhere/model.gguf")
    errors = told["errors"]
    for name, (status, part) in REFUSED.items():
        error = errors[name]["error"]
        equal((error["name"], error["status"]), ("RlxError", status), f"{name}: {error['message']}")
        check(part in error["message"], f"{name}: expected {part!r} in {error['message']!r}")
    for name, error in errors.items():
        check("error" in error and error["error"]["message"], f"{name}: accepted, or refused without a reason: {error}")
    check("/nowhere/model.gguf" in errors["/nowhere/model.gguf"]["error"]["message"], "a file that is not there")
    check(told["text"], "the worker works afterwards")
    equal(told["live"], 0, "blocks left")


@test
def a_url_is_read_by_ranges():
    need_lm()
    expected = js("load", SHAKESPEARE)
    with Server(model=SHAKESPEARE) as base:
        for way in ["good", "whole", "once"]:
            equal(js("load", f"{base}/{way}/model"), expected, f"the text of a model from a server of kind '{way}'")


@test
def a_url_that_fails_has_a_reason():
    need_lm()
    with Server(model=SHAKESPEARE) as base:
        ways = ["cut", "cutwhole", "missing", "gone", "changed"]
        told = js("refused", SHAKESPEARE, *[f"{base}/{way}/model" for way in ways])
        for way, (status, part) in {"cut": ("io", "connection ended"), "cutwhole": ("io", "connection ended after"),
                                    "missing": ("not found", "HTTP 404"), "gone": ("io", "HTTP 404"),
                                    "changed": ("io", "changed on the server")}.items():
            error = told["errors"][f"{base}/{way}/model"]["error"]
            equal(error["status"], status, f"{way}: {error['message']}")
            check(part in error["message"], f"{way}: expected {part!r} in {error['message']!r}")
        dead = f"{base}/good/model"
    error = js("refused", SHAKESPEARE, dead)["errors"][dead]["error"]
    equal(error["status"], "io", f"a server that is gone: {error['message']}")
    check("no connection" in error["message"], f"a server that is gone: {error['message']}")


@test
def the_package_works_where_it_is_installed():
    need_lm()
    npm = shutil.which("npm")
    if not npm:
        raise Skip("npm is not installed")
    shutil.copytree(ROOT / "web/rlx", "source")
    shutil.copy(WASM / "rlx_web.wasm", "source")
    subprocess.run([npm, "pack", "--ignore-scripts"], cwd="source", check=True, capture_output=True, timeout=SECONDS)
    packed = next(pathlib.Path("source").glob("*.tgz"))
    pathlib.Path("user").mkdir()
    subprocess.run([npm, "install", "--offline", "--no-audit", "--no-fund", packed.resolve()], cwd="user", check=True,
                   capture_output=True, timeout=SECONDS)
    pathlib.Path("user/main.mjs").write_text(
        'import { loadLm } from "rlx";\n'
        "const lm = await loadLm(process.argv[2]);\n"
        'console.log(await lm.generate("ROMEO:", { maxTokens: 20 }).text());\n')  # and the process ends by itself
    done = subprocess.run([node(), "main.mjs", SHAKESPEARE], cwd="user", capture_output=True, text=True,
                          timeout=SECONDS)
    equal((done.returncode, done.stderr), (0, ""), "node main.mjs")
    equal(done.stdout, js("load", SHAKESPEARE) + "\n", "the text")


@test
def conformance():
    told = js("conform", "")
    check(told["rows"] > 2000 and told["rows"] == sum(told["counts"].values()), f"rows: {told['counts']}")
    equal(told["failed"], [], "cases that fail")


if __name__ == "__main__":
    sys.exit(main())
