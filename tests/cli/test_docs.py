#!/usr/bin/env python3
"""Checks what the documents show: graphs parse, commands work, examples run. See cli.py."""

import os
import re
import subprocess
import sys

from cli import BUILD, RLX, ROOT, SECONDS, Skip, check, equal, fails, load, main, rlx, test, write
from gguf_file import tiny_llama_parts, write_gguf
from lm_files import need_lm


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


def run_commands(document):
    """Lines that begin with '$ ' are run in order, in one folder; the lines after one are its output, '...' any."""
    sessions = blocks(document, "console")
    check(sessions, f"{document} has no examples")
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
            check(re.fullmatch(pattern, found, re.DOTALL), f"{document}: $ {command}: expected {expected!r}, "
                                                          f"got {found!r}")


@test
def commands_in_the_documents_work():
    run_commands("docs/cli.md")


@test
def commands_for_weight_files_work():
    if " convert " not in rlx("--help").out:
        raise Skip("rlx was built without language models")
    run_commands("docs/files.md")


@test
def commands_for_onnx_models_work():
    run_commands("docs/onnx.md")


@test
def the_family_that_is_added_runs():
    """docs/adding-a-family.md: its code in place of what is there, and a llama's GGUF that is called by the new name. Where
    rope rotates neighbours the two are the same model."""
    need_lm()
    library, objects = BUILD / "librlx.a", sorted((BUILD / "CMakeFiles/rlx_cli.dir").rglob("*.o"))
    if not library.is_file() or not objects or "-fsanitize" in (BUILD / "compile_commands.json").read_text():
        raise Skip("there is no static library for a plain compiler here")
    [code], [line] = blocks("docs/adding-a-family.md", "c"), blocks("docs/adding-a-family.md", "def")
    os.makedirs("inc/model")
    write("helium.c", code)
    families = (ROOT / "src/model/families.def").read_text()
    write("inc/model/families.def", families.replace("#undef FAMILY", line + "#undef FAMILY"))
    libraries = re.search("^Libs:.*-lrlx (.*)", (BUILD / "rlx.pc").read_text(), re.MULTILINE)[1].split()
    command = [os.environ.get("CC", "cc"), "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-DRLX_LM", "-Wall", "-Wextra", "-Werror", "-Iinc",
               f"-I{ROOT}/src", f"-I{ROOT}/include", "helium.c", ROOT / "src/model/families.c", *objects, library, *libraries, "-o", "rlx2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    equal((done.returncode, done.stderr), (0, ""), "building it")
    metadata, tensors = tiny_llama_parts()
    write_gguf("llama.gguf", metadata, tensors)
    other = {key.replace("llama.", "helium.", 1): value for key, value in metadata.items()}
    write_gguf("helium.gguf", {**other, "general.architecture": "helium"}, tensors)
    fails("logits", "helium.gguf", "--tokens", "3,7,5", "--out", "x.npy", says="'helium'; supported families are")
    how = ["--tokens", "3,7,5", "--exact", "--device", "cpu", "-q", "--out"]
    rlx("logits", "llama.gguf", *how, "a.npy", expect=0)
    done = subprocess.run(["./rlx2", "logits", "helium.gguf", *how, "b.npy"], capture_output=True, text=True, timeout=SECONDS)
    equal((done.returncode, done.stderr), (0, ""), "running it")
    equal(load("b.npy"), load("a.npy"), "logits")


@test
def links_lead_somewhere():
    documents = [*ROOT.glob("*.md"), ROOT / "models/README.md", *(ROOT / "docs").rglob("*.md")]
    for document in documents:
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", document.read_text()):
            check((document.parent / link).exists(), f"{document.relative_to(ROOT)}: no file {link}")


@test
def the_tour_names_what_is_there():
    hops = re.findall(r"^\| `([^`]+)` \| `(\w+)` \|", (ROOT / "docs/tour.md").read_text(), re.MULTILINE)
    check(len(hops) > 20, "docs/tour.md has no hops")
    for path, function in hops:
        check((ROOT / path).is_file(), f"docs/tour.md: no file {path}")
        check(re.search(rf"\b{function}\(", (ROOT / path).read_text()), f"docs/tour.md: no {function} in {path}")


@test
def the_tour_counts_what_is_there():
    text = (ROOT / "docs/tour.md").read_text()
    for path in re.findall(r"`((?:src|include|tests|tools)/[\w./]+)`", text):
        check((ROOT / path).exists(), f"docs/tour.md: no file {path}")
    table = re.search(r"^struct rlx_backend \{\n(.*?)^\};", (ROOT / "src/device/backend.h").read_text(), re.M | re.S)[1]
    functions = len(re.findall(r"\(\*\w+\)\(", table))
    check(f"2 lines, {functions} functions" in text, f"docs/tour.md: a backend has {functions} functions")


@test
def lines_have_at_most_120_columns():
    kinds = {".c", ".h", ".k", ".kh", ".def", ".md"}
    files = [*ROOT.glob("*.md"), *(f for folder in ("src", "include", "docs") for f in (ROOT / folder).rglob("*"))]
    for file in files:
        if file.suffix in kinds and "gen" not in file.parts:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                check(len(line) <= 120, f"{file.relative_to(ROOT)}:{number}: {len(line)} columns")


@test
def readme_and_first_example_are_one():
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"^<!-- example: \w+ -->\n+```c\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    check(example, "README.md has no example")
    hello = (ROOT / "examples/hello.c").read_text()
    check(hello.endswith(example[1]), "examples/hello.c does not end with README's example")


@test
def examples_run():
    programs = {p.stem: BUILD / "examples" / p.stem for p in sorted((ROOT / "examples").glob("*.c"))}
    check(programs, "there are no examples")
    if not all(p.is_file() for p in programs.values()):
        raise Skip("the examples are not built here")
    for name, program in programs.items():
        if name.startswith("onnx_"):  # they take models, and have tests of their own: test_onnx_models.py
            continue
        done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        equal((done.returncode, done.stderr), (0, ""), name)
        check(len(done.stdout) > 10, f"{name} says nothing")
        if name == "transformer_block":
            demo = done.stdout
    for part in ("rms_norm", "fused_gate_up", "native", "weights", "scratch", "lower bound", "token 5:"):
        check(part in demo, f"transformer_block does not show {part!r}")


if __name__ == "__main__":
    sys.exit(main())
