#!/usr/bin/env python3
"""The model that ships with RLX, models/shakespeare/shakespeare.gguf: real weights, small enough for every test. See cli.py.

It is part of the repository: if it is missing these tests fail.
"""

import json
import os
import re
import shutil
import subprocess
import sys

from cli import RLX, ROOT, SECONDS, Skip, check, close, equal, fails, file_json, main, rlx, rlx_json, test

if "generate" not in rlx("--help", expect=0).out:
    print("SKIP all: this rlx was built without language models\n0 passed, 0 failed, 1 skipped")
    raise SystemExit(0)

FOLDER = ROOT / "models/shakespeare"
MODEL = FOLDER / "shakespeare.gguf"
ON_CPU = ("--device", "cpu")
ON_PAPER = FOLDER / "judged.json"  # what PyTorch says of the file that ships, written by models/shakespeare/ship.py


def pytorch():
    return json.loads(ON_PAPER.read_text())


def piece():
    """A piece of the held-out tenth."""
    text = (FOLDER / "held-out.txt").read_bytes()[:pytorch()["piece_bytes"]]
    with open("piece.txt", "wb") as f:
        f.write(text)
    return text


def vulkan():
    """A software driver is enough; what a real one says is compared on the machine that has it."""
    found = [d for d in rlx_json("devices")["devices"] if d["backend"] == "vulkan"]
    if not found:
        raise Skip("no Vulkan device (mesa-vulkan-drivers has one in software)")
    return ("--device", "vulkan")


@test
def it_is_there_and_small():
    check(MODEL.is_file(), f"{MODEL} is missing: it is part of the repository")
    check(4 << 20 < MODEL.stat().st_size <= 8_000_000, f"{MODEL.stat().st_size} bytes; at most 8 MB were asked for")
    bits = pytorch()["held_out"]["bits_per_byte"]
    check(bits <= 2.2, f"{bits} bits per byte of the held-out tenth; at most 2.2 were asked for")


@test
def what_is_in_it():
    rlx("check", MODEL, expect=0)
    told = file_json("info", MODEL)
    equal(len(told["tensors"]), 6 * 9 + 2, "tensors")
    check("q8_0" in rlx("info", MODEL, expect=0).out, "its weights are q8_0")
    text = piece()
    ids = rlx("tokenize", MODEL, "--ids", stdin=text, expect=0).out.split()
    equal(len(ids), pytorch()["piece"]["tokens"] + 1, "tokens, as train.py's tokenizer has them")
    back = rlx("tokenize", MODEL, "--decode", stdin=" ".join(ids).encode(), expect=0).out
    equal(back.rstrip("\n"), text.decode().rstrip("\n"), "there and back")


@test
def bits_per_byte_are_pytorchs():
    """With f32 activations: the weights are the file's, decoded, on both sides."""
    piece()
    want = pytorch()["piece"]
    found = rlx_json("perplexity", MODEL, "piece.txt", "--window", 256, "--exact", "--cache", "f32", *ON_CPU)
    equal(found["tokens"], want["tokens"], "tokens")
    close([found["perplexity"] / want["perplexity"], found["bits_per_byte"] / want["bits_per_byte"]], [1, 1],
          "beside PyTorch", 1e-4)
    usual = rlx_json("perplexity", MODEL, "piece.txt", "--window", 256, *ON_CPU)
    close([usual["bits_per_byte"] / want["bits_per_byte"]], [1], "with activations of 8 bits", 5e-3)


@test
def any_number_of_threads():
    texts = {(seed, threads): rlx_json("generate", MODEL, "-p", "ROMEO:\n", "-n", 24, "--temperature", 0.9, "--seed", seed,
                                       "--threads", threads, "--ignore-end", *ON_CPU)["text"]
             for seed, threads in ((5, 1), (5, 2), (6, 1))}
    equal(texts[5, 1], texts[5, 2], "1 and 2 threads")
    check(texts[5, 1] != texts[6, 1], "another seed gives another text")
    greedy = [rlx_json("generate", MODEL, "-p", "ROMEO:\n", "-n", 24, "--threads", n, *ON_CPU)["text"] for n in (1, 2)]
    equal(greedy[0], greedy[1], "greedy")


@test
def settings_of_the_host():
    """Each changes the text as its name says; one seed gives one text; wrong ones are refused by name."""
    def text(*settings):
        return rlx_json("generate", MODEL, "-p", "ROMEO:\n", "-n", 60, "--ignore-end", *settings, *ON_CPU)["text"]
    plain = text()
    letter = plain[0]
    ids = rlx("tokenize", MODEL, "--ids", stdin=letter.encode(), expect=0).out.split()
    check(text("--logit-bias", f"{ids[-1]}=-inf")[0] != letter, "a forbidden token")
    banned = next(word for word in plain.split() if len(word) > 3)
    check(banned not in text("--ban", banned), f"'{banned}' was banned")
    check(text("--frequency-penalty", 2) != plain, "a frequency penalty")
    check(text("--frequency-penalty", -2) != text("--frequency-penalty", 2), "a negative one")
    drawn = ["--temperature", 1, "--seed", 5, "--typical-p", 0.9, "--xtc-probability", 0.5, "--dry-multiplier", 1]
    equal(text(*drawn), text(*drawn, "--threads", 1), "one seed")
    for wrong, says, code in [(["--logit-bias", "x=1"], "ID=X", 1), (["--logit-bias", "99999=1"], "vocabulary", 1),
                              (["--logit-bias", "1=nan"], "ID=X", 1), (["--presence-penalty", "3"], "-2 to 2", 2)]:
        fails("generate", MODEL, "-p", "a", *wrong, *ON_CPU, says=says, code=code)


@test
def text_of_a_given_form():
    """Patterns, schemas as files and as texts, GBNF; what is refused"""
    def text(*options):
        return rlx_json("generate", MODEL, "-p", "KING:\n", *options, *ON_CPU)
    found = text("--regex", "[A-Z][a-z]{2,6}(, [a-z]{1,5}){2}\\.")
    check(re.fullmatch(r"[A-Z][a-z]{2,6}(, [a-z]{1,5}){2}\.", found["text"]) and found["ended"] == "end", found)
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, "age": {"type": "integer", "minimum": 1, "maximum": 90}},
              "required": ["name", "age"]}
    with open("schema.json", "w") as f:
        json.dump(schema, f)
    one, two = (text("--json-schema", given, "--temperature", 1, "--seed", 3) for given in ("schema.json", json.dumps(schema)))
    equal(one["text"], two["text"], "a schema in a file and as a text")
    value = json.loads(one["text"])
    check(list(value) == ["name", "age"] and len(value["name"]) <= 9 and 1 <= value["age"] <= 90, value)
    with open("moves.gbnf", "w") as f:
        f.write('root ::= move (" " move){2}\nmove ::= [a-h] [1-8]\n')
    check(re.fullmatch("[a-h][1-8]( [a-h][1-8]){2}", text("--grammar", "moves.gbnf")["text"]), "GBNF")
    fails("generate", MODEL, "-p", "x", "--regex", "a", "--grammar", "moves.gbnf", says="only one of")
    fails("generate", MODEL, "-p", "x", "--json-schema", '{"not": {}}', says="#/not")
    fails("generate", MODEL, "-p", "x", "--json-schema", "missing.json", says="missing.json")
    fails("generate", MODEL, "-p", "x", "--regex", "(a", says="parenthesis")


@test
def vulkan_says_what_the_cpu_says():
    device = vulkan()
    piece()
    asked = ["generate", MODEL, "-p", "First Citizen:\n", "-n", 48, "--ignore-end", "--exact"]
    equal(rlx_json(*asked, *device)["text"], rlx_json(*asked, *ON_CPU)["text"], "greedy text")
    # Few tokens: a driver in software computes a prompt at 25 tokens/s, whatever is compiled or kept.
    asked = ["perplexity", MODEL, "piece.txt", "--tokens", 80, "--exact"]
    here, there = (rlx_json(*asked, *d)["perplexity"] for d in (ON_CPU, device))
    equal(f"{there:.3g}", f"{here:.3g}", "three digits of the perplexity")
    close([there / here], [1], "perplexity", 1e-3)


@test
def memory_is_what_is_reported():
    """The peak of a process, less weights, state and scratch: under 20 MB. Sanitizers take memory of their own."""
    if b"__asan_init" in RLX.read_bytes() or b"__tsan_init" in RLX.read_bytes():
        raise Skip("a sanitizer takes memory of its own")
    # Under Linux a process's peak starts with that of the process which made it, so a small one makes it.
    small = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-S", "-c", small, RLX, "generate", MODEL, "-p", "ROMEO:", "-n", "8", "--json",
                           *ON_CPU], stdout=subprocess.PIPE, text=True, check=True)
    told, peak = done.stdout.rstrip("\n").rsplit("\n", 1)
    told = json.loads(told)
    beyond = int(peak) * 1024 - told["weights"] - told["state"] - told["scratch"]
    check(beyond < 20_000_000, f"{beyond} bytes beyond {told}")


@test
def a_table_of_types():
    """tools/type_table, which made the table of docs/models.md."""
    piece()
    if RLX.name != "rlx":
        raise Skip("the script wants a build folder")
    done = subprocess.run([sys.executable, ROOT / "tools/type_table", RLX.parent, MODEL, "piece.txt", "--types", "q8_0,q2_k"],
                          capture_output=True, text=True, timeout=SECONDS)
    equal((done.returncode, done.stderr), (0, ""), "type_table")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    equal([row[0] for row in rows], ["q8_0", "q2_k"], "rows")
    check(float(rows[0][2]) > 8 > float(rows[1][2]), f"bits: {rows}")
    check(float(rows[0][3]) < float(rows[1][3]), f"fewer bits foresee less: {rows}")


@test
def the_demo_without_a_network():
    """Where the chat model cannot be fetched, the demo goes on with this one."""
    if not shutil.which("bash"):
        raise Skip("bash is not installed")
    env = {**os.environ, "XDG_CACHE_HOME": os.getcwd(), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(["bash", ROOT / "tools/demo", RLX], env=env, capture_output=True, text=True, timeout=SECONDS)
    equal(done.returncode, 0, f"exit code: {done.stderr}")
    check("could not be downloaded" in done.stderr, done.stderr)
    check("has read Shakespeare" in done.stdout and re.search(r"\$ rlx generate \S*shakespeare.gguf", done.stdout), done.stdout)
    check("ROMEO:" in done.stdout.split("shakespeare.gguf", 1)[1], done.stdout)
    check("tokens/s" in done.stderr and "memory: weights" in done.stderr, done.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
