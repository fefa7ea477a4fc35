#!/usr/bin/env python3
"""The file for hosted machines, .github/workflows/ci.yml: it can be read, and names steps and files that exist."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
FILE = ROOT / ".github/workflows/ci.yml"


def steps():
    """Every step of tools/test is run, and nothing else is"""
    listed = subprocess.run([ROOT / "tools/test", "--list"], capture_output=True, text=True, check=True).stdout
    there = set(re.findall(r"^(\w+) ", listed, re.MULTILINE))
    named = re.search(r"steps: \[(.*)\]", FILE.read_text())[1].replace(",", " ").split()
    assert sorted(named) == sorted(there), f"{sorted(there ^ set(named))} differ; {named}"


def files():
    """Files of the tree that commands name"""
    found = re.findall(r"(?<![\w/])(?:tools|tests|models)/[\w./-]+", FILE.read_text())
    absent = [name for name in found if not (ROOT / name).exists()]
    assert found and not absent, absent


def reads():
    """It is YAML, and each job has a machine and commands"""
    try:
        import yaml
    except ImportError:
        return "PyYAML is not installed"
    jobs = yaml.safe_load(FILE.read_text())["jobs"]
    assert {"linux", "windows", "macos"} <= set(jobs), list(jobs)
    for name, job in jobs.items():
        assert job["runs-on"] and any("run" in step for step in job["steps"]), name
        assert all("run" in step or "uses" in step for step in job["steps"]), name
    return None


def main():
    counts = {"pass": 0, "FAIL": 0, "SKIP": 0}
    for check in (steps, files, reads):
        try:
            why = check()
            what = "SKIP" if why else "pass"
        except (AssertionError, TypeError, KeyError) as error:
            what, why = "FAIL", repr(error)
        counts[what] += 1
        print(f"{what} {check.__name__}{f': {why}' if why else ''}")
    print(f"{counts['pass']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
