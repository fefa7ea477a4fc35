#!/usr/bin/env python3
"""Makes tests/golden/ops/*.bin from the conformance cases.

  python3 tools/goldens/make_goldens.py [--ops add,softmax] [--dump PATH_OF_dump_cases]

Needs: numpy, scipy, torch (CPU), gguf; and the program dump_cases, which the build makes (build/release/tools/dump_cases).
An op's file is written whole: all its cases, or those that could be made (failures are listed and exit status is 1)."""
import argparse
import glob
import importlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", help="comma-separated; default: all")
    parser.add_argument("--dump", default=os.path.join(ROOT, "build", "release", "tools", "dump_cases"))
    parser.add_argument("--target", default=os.path.join(ROOT, "tests", "golden", "ops"))
    args = parser.parse_args()
    import core
    for path in sorted(glob.glob(os.path.join(HERE, "ops_*.py"))):
        importlib.import_module(os.path.basename(path)[:-3])
    os.makedirs(args.target, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        dumped = subprocess.run([args.dump, folder] + ([args.ops] if args.ops else []))
        written, failures = core.make(folder, args.target)
    for failure in failures:
        print("FAILED", failure)
    print(f"{written} goldens written, {len(failures)} failed")
    return 1 if failures or dumped.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
