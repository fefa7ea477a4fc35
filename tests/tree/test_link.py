#!/usr/bin/env python3
"""Whether a row of a table that lacks its function breaks the link, as the heads of the tables promise.

For each table a copy with one more row stands in front of the real one in the include path; the file that turns the
table into data is compiled against it and linked with the library. The linker must name exactly the one symbol that is
missing, and must be content once it is there; and it must be content with the table as it is, or the failure would
prove nothing.

  RLX_BUILD_DIR=build/release tests/tree/test_link.py      (or the build directory as the argument; CC: gcc unless set)
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
CC = os.environ.get("CC") or "gcc"

OP_ROW = 'OP(nonexistent, FLOAT, (IN(x, T)), T, {rule}, (A_NONE), POINTWISE, "a row without its {part}")'

# What is tried: the part that is left out, the file that refers to it, rows by table, a function of that file (so that
# the link needs it), the symbol that must be missing, and how to supply it.
TRIALS = [
    ("shape rule", "ir/op.c", {"ir/ops.def": OP_ROW.format(rule="nonexistent", part="shape rule")}, "rlx_op_table_get",
     "rlx_shape_nonexistent", "int rlx_shape_nonexistent(void *c) { return c == 0; }"),
    ("reference", "ref/dispatch.c", {"ir/ops.def": OP_ROW.format(rule="same", part="reference")}, "rlx_ref_get",
     "rlx_ref_nonexistent", "int rlx_ref_nonexistent(void *c) { return c == 0; }"),
    ("case table", "conform/cases.c", {"ir/ops.def": OP_ROW.format(rule="same", part="case table")}, "rlx_case_table_get",
     "rlx_cases_nonexistent", "const struct { const void *v; unsigned long n; } rlx_cases_nonexistent = {0, 0};"),
    ("rewrite", "pass/rewrite.c", {"ir/ops.def": OP_ROW.format(rule="same", part="rewrite"),
                                   "pass/rewrites.def": "REWRITE(nonexistent)"}, "rlx_rewrite_get",
     "rlx_rewrite_nonexistent", "unsigned rlx_rewrite_nonexistent(void *r) { return r == 0; }"),
    ("pass", "pass/pass.c", {"pass/passes.def": 'PASS(nonexistent, "a row without its function")'}, "rlx_pass_run",
     "rlx_pass_nonexistent", "int rlx_pass_nonexistent(void *a, void *b, void *c) { return a == b && b == c; }"),
]

UNDEFINED = re.compile(r"undefined reference to [`'\"](\w+)['\"]|undefined symbol: (\w+)")


class Broken(Exception):
    """The trial itself did not work: neither a pass nor the failure that is looked for."""


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def compile_file(source, folder, out):
    code, text = run([CC, "-std=c11", "-D_POSIX_C_SOURCE=200809L", f"-I{folder}", f"-I{ROOT}/src", f"-I{ROOT}/include",
                      "-c", source, "-o", out])
    if code != 0:
        raise Broken(f"{source} does not compile:\n{text}")


def undefined_symbols(objects, library, folder):
    """What the linker misses; an empty set where the program links."""
    code, text = run([CC, *objects, library, "-lm", "-lpthread", "-ldl", "-o", folder / "program"])
    found = {a or b for a, b in UNDEFINED.findall(text)}
    if code != 0 and not found:
        raise Broken(f"the link fails, but not for an undefined symbol:\n{text}")
    if code == 0 and found:
        raise Broken(f"the link succeeds though symbols are undefined:\n{text}")
    return found


def try_one(library, folder, source, rows, used, symbol, supply):
    """The same link three times: tables as they are, with the row, and with the row and its function."""
    main, missing = folder / "main.c", folder / "missing.c"
    main.write_text(f"extern void {used}(void);\nint main(void) {{ return (void *){used} == 0; }}\n")
    missing.write_text(supply + "\n")
    objects = [folder / "main.o", folder / "table.o"]
    compile_file(main, folder, objects[0])
    compile_file(ROOT / "src" / source, folder, objects[1])
    found = undefined_symbols(objects, library, folder)
    if found:
        raise Broken(f"the tables as they are do not link: {' '.join(sorted(found))} undefined")
    for table, row in rows.items():
        shadow = folder / table
        shadow.parent.mkdir(exist_ok=True)
        shadow.write_text(f'#include "{ROOT}/src/{table}"\n{row}\n')
    compile_file(ROOT / "src" / source, folder, objects[1])
    found = undefined_symbols(objects, library, folder)
    if found != {symbol}:
        return f"expected {symbol} and nothing else to be undefined, got {' '.join(sorted(found)) or 'nothing'}"
    compile_file(missing, folder, folder / "missing.o")
    found = undefined_symbols([*objects, folder / "missing.o"], library, folder)
    return f"with {symbol} supplied, {' '.join(sorted(found))} is undefined" if found else ""


def main():
    build = os.environ.get("RLX_BUILD_DIR") or (sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release"))
    library = pathlib.Path(build) / "librlx.a"
    if not library.is_file():
        print(f"FAIL there is no library {library}: build it first\n0 passed, 1 failed, 0 skipped")
        return 1
    failed = 0
    for part, source, rows, used, symbol, supply in TRIALS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                why = try_one(library, pathlib.Path(folder), source, rows, used, symbol, supply)
            except Broken as broken:
                why = str(broken)
        failed += bool(why)
        print(f"FAIL without its {part}: {why}" if why else f"pass a row without its {part} does not link: {symbol}")
    print(f"{len(TRIALS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
