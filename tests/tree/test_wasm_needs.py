#!/usr/bin/env python3
"""The libraries that tools/needs wasm builds for wasm32-wasi: a small program with each links and computes in Node.

Each program prints what only a working library can: JSON parsed and written again, what a Unicode pattern matches, a
normal form. Skipped, with the reason, where the libraries cannot be built (no network, no compiler) or Node is absent.

  tests/tree/test_wasm_needs.py      (WASM_CC: clang-19 unless set)
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
CC = os.environ.get("WASM_CC") or "clang-19"

# Name of the library, a program, what it prints.
PROGRAMS = [
    ("jansson", r"""
#include <jansson.h>
#include <stdio.h>
int main(void) {
  json_error_t e;
  json_t *j = json_loads("{\"b\": [1, 2.5, \"\\u00e9\"], \"a\": 9007199254740993}", 0, &e);
  char *text = j ? json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  puts(text ? text : e.text);
  j = json_loads("{\"a\": ", 0, &e);
  return j || e.line != 1;
}
""", '{"a":9007199254740993,"b":[1,2.5,"\u00e9"]}'),
    ("pcre2-8", r"""
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
int main(void) {
  int error;
  PCRE2_SIZE at;
  pcre2_code *c = pcre2_compile((PCRE2_SPTR) "\\p{L}+(?=\\p{N}{2})", PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
  if (!c) return 1;
  pcre2_match_data *m = pcre2_match_data_create_from_pattern(c, NULL);
  const char *text = "a1 \xc3\xa9t\xc3\xa9" "42";
  if (pcre2_match(c, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, m, NULL) != 1) return 2;
  PCRE2_SIZE *o = pcre2_get_ovector_pointer(m);
  printf("%d %d %.*s\n", (int)o[0], (int)o[1], (int)(o[1] - o[0]), text + o[0]);
  return 0;
}
""", "3 8 \u00e9t\u00e9"),
    ("utf8proc", r"""
#include <stdio.h>
#include <utf8proc.h>
int main(void) {
  puts((const char *)utf8proc_NFC((const utf8proc_uint8_t *)"e\xcc\x81"));
  printf("%s\n", utf8proc_category_string(0x4e2d));
  return 0;
}
""", "\u00e9\nLo"),
]
RUN = """
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const wasi = new WASI({ version: 'preview1', args: ['program'], returnOnExit: true });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
process.exitCode = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
"""


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def try_one(prefix, folder, library, program, expected):
    source, wasm, runner = folder / "a.c", folder / "a.wasm", folder / "run.mjs"
    source.write_text(program)
    runner.write_text(RUN)
    code, out, err = run(CC, "--target=wasm32-wasi", "-O2", "-Wall", "-Werror", f"-I{prefix}/include", source,
                         f"-L{prefix}/lib", f"-l{library}", "-o", wasm)
    if code != 0:
        return f"does not link: {err or out}"
    code, out, err = run("node", "--no-warnings", runner, wasm)
    if code != 0 or out.rstrip("\n") != expected:
        return f"expected {expected!r} and exit 0, got {out!r} and exit {code} {err}"
    return None


def main():
    names = [p[0] for p in PROGRAMS]
    skip = None if shutil.which("node") else "there is no Node here"
    prefix = None
    if not skip:
        code, out, err = run(ROOT / "tools/needs", "wasm")
        if code != 0:
            skip = err.strip()
        else:
            prefix = out.splitlines()[-1]
    if skip:
        for name in names:
            print(f"SKIP {name}: {skip}")
        print(f"0 passed, 0 failed, {len(names)} skipped")
        return 0
    failed = 0
    for library, program, expected in PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            why = try_one(prefix, pathlib.Path(folder), library, program, expected)
        if why:
            failed += 1
            print(f"FAIL {library}: {why}")
    code, out, err = run(ROOT / "tools/needs", "wasm")
    if code != 0 or out != prefix + "\n" or err:
        failed += 1
        print(f"FAIL a second call: expected {prefix!r} alone, got {out!r} {err!r} and exit {code}")
    print(f"{len(PROGRAMS) + 1 - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
