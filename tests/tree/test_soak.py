#!/usr/bin/env python3
"""Long campaigns in pieces (tools/soak): the clock adds up over calls, the next is always the target that had least, corpora stay and get smaller.

The tools run in a tree of their own with two targets that are scripts; nothing is compiled. Also: every fuzz target has seeds, and the
files for OSS-Fuzz build every one of them."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])

# A target: it sleeps its time away, says how much it did, and learns one file; merging keeps every second one.
TARGET = """#!/usr/bin/env python3
import pathlib, sys, time
options = [a for a in sys.argv[1:] if a.startswith("-")]
folders = [pathlib.Path(a) for a in sys.argv[1:] if not a.startswith("-")]
if "-merge=1" in options:
    for i, path in enumerate(sorted(folders[-1].iterdir())):
        if i % 2 == 0:
            (folders[0] / path.name).write_bytes(path.read_bytes())
    sys.exit(0)
time.sleep(float([o for o in options if o.startswith("-max_total_time=")][0].split("=")[1]) / 20)
(folders[0] / f"learned-{len(list(folders[0].iterdir()))}").write_text("x")
print("stat::number_of_executed_units: 100")
"""


def load(tree):
    """tools/soak of the tree, as a module that builds nothing."""
    sys.path.insert(0, str(tree / "tools"))
    sys.modules.pop("runner", None)
    loader = importlib.machinery.SourceFileLoader("soak", str(tree / "tools/soak"))
    soak = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    loader.exec_module(soak)
    sys.path.pop(0)
    soak.build = lambda *a, **k: True
    soak.clang_sanitizes = lambda: True
    return soak


def run(soak, *arguments):
    said = io.StringIO()
    sys.argv = ["soak", *arguments]
    with contextlib.redirect_stdout(said):
        code = soak.main()
    return code, said.getvalue()


def make_tree(folder):
    tree = pathlib.Path(folder)
    for name in ("tools", "tests/fuzz", "tests/corpus/fuzz_a", "build/fuzz/tests"):
        (tree / name).mkdir(parents=True)
    for name in ("soak", "runner.py", "windows.py", "machines.py"):
        shutil.copy(ROOT / "tools" / name, tree / "tools" / name)
    for name in ("fuzz_a", "fuzz_a_more"):
        (tree / f"tests/fuzz/{name}.c").write_text("")
        program = tree / "build/fuzz/tests" / name
        program.write_text(TARGET)
        program.chmod(0o755)
    return tree


def check_pieces():
    """Calls add up: each target gets its turns, in as many calls as it takes on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        tree = make_tree(folder)
        soak = load(tree)
        runs = {}
        while min(runs.values(), default=0) < 200:
            before = sum(runs.values())
            code, said = run(soak, "--fuzz", "--budget", "2", "--seconds", "2", "-j", "1")
            assert code == 0, said
            clock = json.loads((tree / "build/soak/clock.json").read_text())
            assert set(clock) == {"fuzz_a", "fuzz_a_more"}, clock
            runs = {name: row["runs"] for name, row in clock.items()}
            assert sum(runs.values()) > before, said
        assert all(row["seconds"] > 0 for row in clock.values()), clock
        assert f"{sum(runs.values())} runs, 0 findings" in said and "of processor time in all" in said, said
        assert run(soak, "--clock")[1].count("clock") == 3
        corpus = tree / "build/soak/corpus/fuzz_a"
        before = len(list(corpus.iterdir()))
        assert before >= 2
        code, said = run(soak, "--minimise")
        assert code == 0 and len(list(corpus.iterdir())) == (before + 1) // 2, said


def check_record():
    """Without a clock of its own, a tree goes on from the lines of docs/soak.md; with one, it does not look there."""
    with tempfile.TemporaryDirectory() as folder:
        tree = make_tree(folder)
        (tree / "docs").mkdir()
        (tree / "docs/soak.md").write_text("# Long campaigns\n\n    clock fuzz_a: 3 s, 10 runs, 0 findings\n"
                                           "    clock fuzz_a: 40 s, 5000 runs, 1 findings\n    clock fuzz_gone: 7 s, 9 runs, 0 findings\n"
                                           "    clock: 0 h 1 min of processor time in all, 5019 runs, 1 findings\n")
        soak = load(tree)
        said = run(soak, "--clock")[1]
        assert "clock fuzz_a: 40 s, 5000 runs, 1 findings" in said and "clock fuzz_a_more: 0 s, 0 runs, 0 findings" in said, said
        assert "fuzz_gone" not in said and not (tree / "build/soak/clock.json").exists(), said
        code, said = run(soak, "--fuzz", "--budget", "2", "--seconds", "1", "-j", "1")
        clock = json.loads((tree / "build/soak/clock.json").read_text())
        assert code == 0 and clock["fuzz_a"] == {"seconds": 40.0, "runs": 5000, "findings": 1}, said  # the other had least
        assert clock["fuzz_a_more"]["runs"] >= 100, clock
        (tree / "docs/soak.md").write_text("    clock fuzz_a: 90 s, 7000 runs, 1 findings\n")
        assert "clock fuzz_a: 40 s, 5000 runs" in run(soak, "--clock")[1]


def check_record_of_this_tree():
    """docs/soak.md has a line for targets of this tree, as tools/soak prints them."""
    with tempfile.TemporaryDirectory() as folder:
        soak = load(make_tree(folder))
        soak.RECORD = ROOT / "docs/soak.md"
        names = {source.stem for source in (ROOT / "tests/fuzz").glob("fuzz_*.c")}
        clock = soak.recorded_clock()
        assert clock and set(clock) <= names and sum(row["seconds"] for row in clock.values()) >= 4151, clock


def check_findings():
    """A target that fails is a finding in the clock, and the campaign ends with it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = make_tree(folder)
        (tree / "build/fuzz/tests/fuzz_a").write_text("#!/bin/sh\nexit 77\n")
        code, said = run(load(tree), "--fuzz", "--budget", "5", "--seconds", "1")
        clock = json.loads((tree / "build/soak/clock.json").read_text())
        assert code == 1 and clock["fuzz_a"]["findings"] == 1, said


def check_seeds():
    """Every target of this tree begins somewhere, and no corpus is large."""
    with tempfile.TemporaryDirectory() as folder:
        runner_of = load(make_tree(folder)).sys.modules["runner"]
        runner_of.ROOT = ROOT
        for source in sorted((ROOT / "tests/fuzz").glob("fuzz_*.c")):
            seeds = runner_of.seeds_of(source.stem)
            assert seeds and any(seeds[0].iterdir()), f"{source.stem} has no seeds"
    total = sum(p.stat().st_size for p in (ROOT / "tests/corpus").rglob("*") if p.is_file())
    assert total < 1 << 20, f"the corpora are {total} bytes"


def check_oss_fuzz():
    files = {name: (ROOT / "tools/oss-fuzz" / name).read_text() for name in ("project.yaml", "Dockerfile", "build.sh")}
    assert "tests/fuzz/fuzz_*.c" in files["build.sh"].replace('"', "").replace("$root/", "")
    for word in ("$CC", "$CFLAGS", "$LIB_FUZZING_ENGINE", "$OUT", "_seed_corpus.zip"):
        assert word in files["build.sh"], word
    for name, text in files.items():  # no address that nobody gave
        assert "://" not in text and ".example" not in text and "_contact:" not in text, name
    assert "base-builder" in files["Dockerfile"] and "language: c" in files["project.yaml"]


def main():
    failed = 0
    checks = (check_pieces, check_record, check_record_of_this_tree, check_findings, check_seeds, check_oss_fuzz)
    for check in checks:
        try:
            check()
            print(f"pass {check.__name__}")
        except AssertionError as why:
            failed += 1
            print(f"FAIL {check.__name__}: {why}")
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
