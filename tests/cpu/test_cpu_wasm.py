#!/usr/bin/env python3
"""The tests of the CPU's kernels as WebAssembly, in Node: each of tests/cpu/test_*.c, for both instruction sets.

build/wasm and build/wasm-relaxed (CMake's presets) hold the library; a test is compiled with the flags that the library
was compiled with. A set that is not built here, or whose instructions this Node does not know, is skipped with that
reason.

  tests/cpu/test_cpu_wasm.py [TEST...]      (RLX_NODE: node unless set)
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
NODE = os.environ.get("RLX_NODE") or "node"
SETS = {"wasm": "wasm_simd", "wasm-relaxed": "wasm_relaxed"}
SUPPORT = ["cpu_check", "run_check", "rules", "graphs", "random_graph"]
LIBC = ["-lwasi-emulated-mman", "-lwasi-emulated-signal", "-lwasi-emulated-getpid"]
RUN = """
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
const wasi = new WASI({ version: 'preview1', args: ['test'], returnOnExit: true });
const bytes = readFileSync(process.argv[2]);
if (WebAssembly.validate(bytes)) {
  process.exitCode = wasi.start(new WebAssembly.Instance(new WebAssembly.Module(bytes), wasi.getImportObject()));
} else {
  console.log('this Node does not know its instructions');
  process.exitCode = 77;
}
"""


def run(command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    return done.returncode, done.stdout + done.stderr


def flags_of(build):
    """The compiler and its flags for a file of the library, without what names files."""
    entry = next(e for e in json.loads((build / "compile_commands.json").read_text()) if e["file"].endswith("src/base/half.c"))
    words = shlex.split(entry["command"])
    return words[: words.index("-o")]


def compile_test(build, folder, source):
    flags, objects = flags_of(build), []
    for file in [source, *(ROOT / f"tests/support/{name}.c" for name in SUPPORT)]:
        out = folder / (file.stem + ".o")
        objects.append(out)
        if not out.exists():
            code, text = run([*flags, f"-I{ROOT}/tests/support", f'-DRLX_TEST_DATA="{ROOT}/tests/golden"', "-c", file, "-o", out])
            if code != 0:
                return None, text
    out = folder / (source.stem + ".wasm")
    needs = sorted((ROOT / "build/tools/wasm/prefix/lib").glob("*.a"))
    # The whole archive: from a part of it the linker would take static functions for those of libc with their name.
    code, text = run([flags[0], "--target=wasm32-wasi", *objects, "-Wl,--whole-archive", build / "librlx.a", "-Wl,--no-whole-archive",
                      *needs, "-lm", *LIBC, "-Wl,-z,stack-size=4194304", "-Wl,--stack-first", "-o", out])
    return (out, "") if code == 0 else (None, text)


def main():
    sources = sorted((ROOT / "tests/cpu").glob("test_*.c"))
    if sys.argv[1:]:
        sources = [s for s in sources if s.stem in sys.argv[1:]]
    counts = [0, 0, 0]
    with tempfile.TemporaryDirectory() as base:
        runner = pathlib.Path(base) / "run.mjs"
        runner.write_text(RUN)
        for name, isa in SETS.items():
            build, folder = ROOT / "build" / name, pathlib.Path(base) / name
            folder.mkdir()
            why = None
            if not shutil.which(NODE):
                why = f"there is no {NODE} here"
            elif not (build / "librlx.a").exists():
                why = f"expected {build.relative_to(ROOT)}/librlx.a, did not find it (cmake --preset {name})"
            for source in sources:
                if not why:
                    out, text = compile_test(build, folder, source)
                    code, text = run([NODE, "--no-warnings", runner, out]) if out else (1, text)
                    if code == 77:
                        why = text.strip()
                if why:
                    print(f"SKIP {isa} {source.stem}: {why}")
                    counts[2] += 1
                    continue
                last = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped\s*\Z", text, re.M)
                if not last or (code != 0) != (int(last[2]) > 0):
                    print(f"FAIL {isa} {source.stem}: exit {code}\n{text[-2000:]}")
                    counts[1] += 1
                    continue
                for line in text.splitlines()[:-1]:
                    print(f"{isa} {source.stem}: {line}")
                counts = [c + int(n) for c, n in zip(counts, last.groups())]
    print(f"{counts[0]} passed, {counts[1]} failed, {counts[2]} skipped")
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
