#!/usr/bin/env python3
"""Whether the generated part of the Python package is what the public headers and the op table say today.

It needs no package: tools/make_python compares what it would write with what is checked in, and notices a changed file.

  RLX_BUILD_DIR=build/release tests/tree/test_python.py      (or the build directory as the argument)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])


def check(root, program):
    done = subprocess.run([sys.executable, root / "tools/make_python", program, "--check"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def notices(program, path, old, new):
    """Whether a copy of the tree in which one text is another is found to be out of date."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in ("tools/make_python", "include", "python/native", "python/rlx"):
            source = ROOT / part
            (copy / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, copy / part) if source.is_dir() else shutil.copy(source, copy / part)
        text = (copy / path).read_text()
        if old not in text:
            return f"{path} has no {old!r} to change"
        (copy / path).write_text(text.replace(old, new, 1))
        code, _ = check(copy, program)
        return "" if code == 1 else f"a change of {path} was not noticed"


def main():
    build = os.environ.get("RLX_BUILD_DIR") or (sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release"))
    program = pathlib.Path(build) / "rlx"
    if not program.is_file():
        print(f"SKIP there is no command {program}\n0 passed, 0 failed, 1 skipped")
        return 0
    code, text = check(ROOT, program)
    results = [("what is checked in is current", text.strip() if code else ""),
               ("a changed header is noticed",
                notices(program, "include/rlx/rlx.h", "double lo, double hi);", "double lo, double top);")),
               ("a changed module is noticed", notices(program, "python/rlx/enums.py", "OK = 0", "OK = 1"))]
    for name, why in results:
        print(f"FAIL {name}: {why}" if why else f"pass {name}")
    failed = sum(bool(why) for _, why in results)
    print(f"{len(results) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
