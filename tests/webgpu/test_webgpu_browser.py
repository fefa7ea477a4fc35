#!/usr/bin/env python3
"""WebGPU in a browser: web/rlx/gpu.js, the kernels' texts, and the command itself as a module of WebAssembly.

The browser is Chromium, headless, with WebGPU on SwiftShader (browser/drive.mjs). Skipped, with the reason, where
Chromium, node, a compiler for wasm32 or the npm package playwright-core cannot be had.

  tests/webgpu/test_webgpu_browser.py      (WASM_CC: clang-19 unless set; RLX_WASM_DIR: build/wasm unless set)
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli import ROOT, SECONDS, Skip, check, equal, main, test  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
GPU_JS = ROOT / "web/rlx/gpu.js"
CC = os.environ.get("WASM_CC") or "clang-19"
WASM = pathlib.Path(os.environ.get("RLX_WASM_DIR") or ROOT / "build/wasm").resolve()
NPM = ROOT / "build/tools/npm"
OPS = ["add", "matmul", "softmax", "attention", "gather", "conv", "sample"]


def program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


@functools.cache
def playwright():
    folder = NPM / "node_modules/playwright-core"
    if not folder.is_dir():
        NPM.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([program("npm"), "install", "--prefix", str(NPM), "playwright-core"], capture_output=True,
                              text=True, timeout=SECONDS)
        if done.returncode or not folder.is_dir():
            raise Skip("playwright-core cannot be installed by npm")
    return folder


def browse(job, module=None):
    """The result of a job of worker.js."""
    files = {"/worker.js": str(HERE / "browser/worker.js"), "/gpu.js": str(GPU_JS)}
    if module:
        files["/module.wasm"] = str(module)
    pathlib.Path("job.json").write_text(json.dumps(
        {"playwright": str(playwright()), "chromium": program("chromium"), "files": files, "job": job}))
    done = subprocess.run([program("node"), str(HERE / "browser/drive.mjs"), "job.json"], capture_output=True, text=True,
                          timeout=SECONDS)
    check(done.returncode == 0, f"{job['kind']}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    result = json.loads(done.stdout.splitlines()[-1])
    check("threw" not in result, f"{job['kind']}: {result.get('threw')}")
    return result


@test
def gpu_js_has_the_functions_of_the_table():
    rows = re.findall(r"^WG_(FUNCTION|BROWSER)\(([^,]+), (\w+),", (ROOT / "src/webgpu/functions.def").read_text(), re.M)
    show = f"import {{gpuImports}} from '{GPU_JS.as_uri()}'; console.log(Object.keys(gpuImports(() => null)).sort().join())"
    done = subprocess.run([program("node"), "--input-type=module", "-e", show], capture_output=True, text=True,
                          timeout=SECONDS)
    equal(done.stdout.strip().split(","), sorted("wgpu" + name for _, _, name in rows), done.stderr[-500:])


@test
def every_function_from_a_module():
    command = [program(CC), "--target=wasm32-wasi", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-mexec-model=reactor",
               "-Wl,--export-table", f"-I{ROOT}/src", f"-I{ROOT}/include", HERE / "browser/calls.c",
               ROOT / "src/webgpu/functions_wasm.c", "-o", "calls.wasm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    check(done.returncode == 0, done.stderr[-3000:])
    names = ["test_open", "test_dispatch", "test_errors", "test_loss"]
    found = browse({"kind": "calls", "names": names}, pathlib.Path("calls.wasm").resolve())
    equal(found["results"], {name: 0 for name in names}, "line of calls.c that failed")
    check("architecture" in found["text"], found["text"])


@test
def texts_of_all_kernels():
    names = sorted(path.stem for path in (ROOT / "src/gpu/gen/wgsl").glob("*.pack"))
    check(len(names) > 50, f"{len(names)} kernels")

    def text(job):
        target, name = job
        done = subprocess.run([ROOT / "tools/kernels", "--text", target, name], capture_output=True, text=True,
                              timeout=SECONDS)
        check(done.returncode == 0, done.stderr[-1000:])
        return {"needs": ["subgroups"] if target == "wgsl.subgroup" else [], "code": done.stdout}

    jobs = [(target, name) for target in ("wgsl", "wgsl.subgroup") for name in names]
    with ThreadPoolExecutor(2) as pool:
        texts = {f"{target} {name}": made for (target, name), made in zip(jobs, pool.map(text, jobs)) if made["code"]}
    check(len(texts) > len(names), "no text has subgroups")
    found = browse({"kind": "texts", "texts": texts})
    equal(found["refused"], {}, "texts")
    broken = {"softmax": {"needs": [], "code": texts["wgsl softmax"]["code"].replace("var m : f32", "var m : i32", 1)}}
    check("softmax" in browse({"kind": "texts", "texts": broken})["refused"], "a wrong text was taken")


@test
def conformance_of_some_ops():
    module = WASM / "rlx.wasm"
    if not module.is_file():
        raise Skip(f"{module} is not built (tools/needs wasm, cmake --preset wasm, cmake --build --preset wasm)")
    lists = [["rlx", "conform", "--device", "webgpu", "--op", op] for op in OPS]
    for op, found in zip(OPS, browse({"kind": "commands", "lists": lists}, module)["results"]):
        equal(found["code"], 0, f"{op}: {found['text'][-2000:]}")
        match = re.search(r"webgpu: (\d+) native, .* 0 wrong", found["text"])
        check(match and int(match[1]) > 0, f"{op}: {found['text'][-500:]}")


if __name__ == "__main__":
    sys.exit(main())
