#!/usr/bin/env python3
"""ONNX's own test data for its operators, through `rlx onnx-test`: what passes is pinned in tests/onnx/onnx_cases.txt. See cli.py.

The data is Debian's libonnx-testdata. A case that is pinned as passing must pass: on the cpu, without the passes that rewrite and fuse,
and on a Vulkan driver. What is refused or fails is pinned with its reason; tools/onnx_table writes the list anew.
"""

import json
import os
import pathlib
import sys

from cli import ROOT, SECONDS, Skip, check, main, rlx, rlx_json, test

DATA = pathlib.Path(os.environ.get("RLX_ONNX_DATA", "/usr/share/libonnx-testdata/data"))
FOLDERS = ["node", "simple", "pytorch-operator", "pytorch-converted"]
PINNED = ROOT / "tests/onnx/onnx_cases.txt"


def pinned():
    """{"node/test_abs": ("PASS", reason)}"""
    cases = {}
    for line in PINNED.read_text().splitlines():
        if line and not line.startswith("#"):
            verdict, _, rest = line.partition(" ")
            name, _, why = rest.partition(": ")
            cases[name] = (verdict, why)
    return cases


def data():
    if not (DATA / "node").is_dir():
        raise Skip("libonnx-testdata is not installed")
    return [DATA / f for f in FOLDERS]


def run(*options):
    found = {}
    for case in json.loads(rlx("onnx-test", *data(), "--json", *options, seconds=SECONDS).out)["cases"]:
        folder = pathlib.Path(case["folder"])
        found[f"{folder.parent.name}/{folder.name}"] = case
    return found


def compare(found, expected):
    """All that is otherwise than pinned, in one message."""
    wrong = []
    for name, (verdict, why) in expected.items():
        case = found.get(name)
        if case is None:
            wrong.append(f"{name} is not there")
        elif verdict == "PASS" and case["result"] != "PASS":
            wrong.append(f"{name}: {case['result']}: {case['why'][:200]}")
        elif verdict == "SKIP" and case["result"] == "FAIL":
            wrong.append(f"{name} was refused and fails now: {case['why'][:200]}")
    check(not wrong, f"{len(wrong)} cases: " + "; ".join(wrong[:20]))


@test
def every_case_on_the_cpu():
    found, expected = run("--device", "cpu"), pinned()
    compare(found, expected)
    new = [n for n, c in found.items() if n not in expected]
    check(not new, f"not pinned (tools/onnx_table --pin): {new[:10]}")
    passing = [n for n, c in found.items() if c["result"] == "PASS" and expected[n][0] != "PASS"]
    check(not passing, f"these pass now; pin them (tools/onnx_table --pin): {passing[:10]}")


@test
def every_case_without_rewriting():
    compare(run("--device", "cpu", "--without", "idiom,fuse,simplify,fold"), pinned())


@test
def every_case_on_vulkan():
    if not [d for d in rlx_json("devices")["devices"] if d["backend"] == "vulkan"]:
        raise Skip("no Vulkan driver")
    compare(run("--device", "vulkan"), pinned())


@test
def a_pattern_picks_cases():
    folder = data()[0]
    out = rlx("onnx-test", folder, "--only", "test_ab?", "--device", "cpu", expect=0).out.splitlines()
    check(out == ["PASS test_abs", "1 passed, 0 failed, 0 skipped"], out)


@test
def folders_without_cases_are_reported():
    check("no folder in it has a model.onnx" in rlx("onnx-test", ".", expect=1).err, "an empty folder")
    check("cannot be opened" in rlx("onnx-test", "missing", expect=1).err, "no folder")
    rlx("onnx-test", expect=2)


if __name__ == "__main__":
    sys.exit(main())
