#!/usr/bin/env python3
"""rlx.js and the demo page in a headless Chromium: conformance, sources of bytes, text that streams and stops, ONNX,
use without a network, and whether everybody can use the page.

RLX_TEST_ALL=1 runs all conformance cases on WebGPU, otherwise those of some ops. RLX_TEST_SCREENSHOTS=FOLDER writes
the pictures of docs/web.md there. What is needed is in chromium.py.
"""

import json
import os
import pathlib
import sys

from chromium import SERVER, drive, webgpu
from web import ROOT, SHAKESPEARE, WASM, Server, Vices, fetch_model, js
from cli import Skip, check, equal, main, test

SOME_OPS = "add,softmax,rms_norm,rope"  # others take a software GPU minutes: it compiles every kernel anew
LARGEST_PICTURE = 150_000
CONTRAST = 4.5


@test
def devices():
    found = drive("devices")
    check(any(d["backend"] == "cpu" for d in found["devices"]), f"devices: {found}")
    check(found["isolated"] and found["about"]["features"]["simd"], f"about: {found['about']}")
    told = found["absent"] + [d for d in found["devices"] if d["backend"] == "webgpu"]
    check(any("webgpu" == x["backend"] for x in told), f"WebGPU is neither there nor absent for a reason: {found}")
    check(not drive("devices", page=["--plain"])["isolated"], "--plain still isolates")


@test
def threads_where_the_page_is_isolated():
    if not (WASM.with_name(WASM.name + "-threads") / "rlx_web.wasm").is_file():
        raise Skip("build/wasm-threads is not built (cmake --preset wasm-threads)")
    told = drive("threads")
    check("threads" in told["wasm"] and told["threads"]["why"] is None, f"the module: {told}")
    equal(told["used"], [1, 2], "threads in use")
    check(told["texts"][0] == told["texts"][1] != "", f"texts: {told['texts']}")
    check("threads: " in told["note"], f"the note: {told['note']}")
    plain = drive("threads", page=["--plain"])
    check("threads" not in plain["wasm"] and plain["used"] == [1, 1], f"without isolation: {plain}")
    check("one thread: the page is not cross-origin isolated" in plain["note"], f"the note: {plain['note']}")
    # Relaxed SIMD rounds otherwise, and a part of the builds may be there: RLX_TEST_ALL=1 makes all of them.
    if ("relaxed" in told["wasm"]) == ("relaxed" in plain["wasm"]):
        check(told["texts"][0] == plain["texts"][0], "the text without threads")


@test
def without_webgpu_the_page_says_why():
    told = drive("noGpu")
    check(told["why"] or "No WebGPU" in told["note"], f"WebGPU is there: {told}")
    check(told["disabled"], "WebGPU can be chosen")
    check("No WebGPU: " in told["note"] and len(told["note"]) > 30, f"the note is {told['note']!r}")
    check(told["status"] in ("unsupported", "not found"), f"a graph on webgpu: {told}")


@test
def conformance_on_the_cpu():
    told = drive("conform", "cpu", "")
    check(told["counts"]["pass"] > 2000, f"cases: {told['counts']}")
    equal(told["failed"], [], "cases that fail")


@test
def conformance_on_webgpu():
    webgpu()
    told = drive("conform", "webgpu", "" if os.environ.get("RLX_TEST_ALL") else SOME_OPS)
    check(told["counts"]["pass"] > 50, f"cases: {told['counts']}")
    equal(told["failed"], [], "cases that fail")


@test
def every_source_gives_the_same_text():
    expected = js("generate", SHAKESPEARE, json.dumps({"prompt": "ROMEO:", "maxTokens": 40, "exact": True}))
    Vices.headers_too = {"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Range",
                         "Access-Control-Expose-Headers": "Content-Range, ETag"}
    with Server(model=SHAKESPEARE) as base:
        told = drive("sources", "cpu", SHAKESPEARE, "models/shakespeare.gguf",
                     *[f"{base}/{way}/model" for way in ["good", "whole", "cut", "cutwhole", "missing"]])
        for way in ["file", "models/shakespeare.gguf", f"{base}/good/model", f"{base}/whole/model"]:
            equal(told[way], expected["text"], f"the text from {way}")
        for way, status in {"cut": "io", "cutwhole": "io", "missing": "not found"}.items():
            equal(told[f"{base}/{way}/model"].get("status"), status, f"{way}: {told[f'{base}/{way}/model']}")
        check(told["helper"], f"no helper reads: {told}")
        plain = drive("sources", "cpu", SHAKESPEARE, *[f"{base}/{way}/model" for way in ["good", "once", "cut"]],
                      page=["--plain"])
        for way in ["file", f"{base}/good/model", f"{base}/once/model"]:
            equal(plain[way], expected["text"], f"the text from {way}, read synchronously")
        equal(plain[f"{base}/cut/model"].get("status"), "io", "cut, read synchronously")
        check(not plain["helper"], "a helper reads on a page that cannot share memory")
    equal(told["left"], [], "downloads that were left behind")
    del Vices.headers_too["Access-Control-Expose-Headers"]  # the size must then be asked for
    with Server(model=SHAKESPEARE) as base:
        told = drive("sources", "cpu", SHAKESPEARE, f"{base}/good/model")
        equal(told[f"{base}/good/model"], expected["text"], "the text from a server that hides its headers")


@test
def a_load_is_stopped():
    for page in [[], ["--plain"]]:
        told = drive("cancelLoad", page=page)
        equal(told["isolated"], not page, "isolated")
        equal(told["outcome"], "AbortError", f"{page}: an aborted load")
        check(told["text"], f"{page}: the worker works afterwards")
        equal(told["live"], 0, f"{page}: blocks left")


@test
def text_streams_and_stops():
    for page in [[], ["--plain"]]:
        told = drive("chat", "cpu", page=page)
        check(len(set(told["lengths"])) == 4, f"{page}: lengths of the text: {told['lengths']}")
        equal(told["later"], told["stopped"], f"{page}: the text's length after Stop")
        check(told["stopped"] < 4000 and told["plan"] > 10 and "cpu" in told["note"], f"{page}: {told}")
        equal(told["errors"], [], f"{page}: errors on the page")


@test
def text_on_webgpu():
    webgpu()
    told = drive("bothDevices")
    equal(told["webgpu"]["backend"], "webgpu", "the device")
    equal(told["webgpu"]["text"], told["cpu"]["text"], "the greedy text on webgpu")
    equal((told["webgpu"]["live"], told["cpu"]["live"]), (0, 0), "blocks left")
    told = drive("chat", "webgpu")
    check("webgpu" in told["note"] and "webgpu" in told["speed"], f"the device: {told['note']} {told['speed']}")
    equal(told["later"], told["stopped"], "the text's length after Stop")
    equal(told["errors"], [], "errors on the page")


@test
def webgpu_without_promise_integration():
    plain = drive("withoutJspi", page=["--plain"])
    check("needs shared memory: the page is not cross-origin isolated" in plain["why"], f"a plain page: {plain}")
    equal((plain["status"], plain["message"]), ("unsupported", plain["why"]), "a graph on a plain page")
    if not (WASM.with_name(WASM.name + "-threads") / "rlx_web.wasm").is_file():
        raise Skip("build/wasm-threads is not built (cmake --preset wasm-threads)")
    webgpu()
    told = drive("withoutJspi")
    check(told["why"] is None and "threads" in told["wasm"], f"the module: {told}")
    check({"gpu_worker.js"} <= set(told["workers"]), f"the workers: {told['workers']}")
    difference = max(abs(a - b) for a, b in zip(told["graph"]["webgpu"], told["graph"]["cpu"], strict=True))
    check(difference < 1e-5, f"a graph: {told['graph']}")
    texts = told["texts"]
    equal(texts["webgpu is"], "webgpu", "the device")
    equal(texts["webgpu"], texts["cpu"], "the greedy text on webgpu")
    equal(texts["again"], texts["cpu"], "the text after one that was stopped")
    equal((texts["stopped"], told["load"]), ("AbortError", "AbortError"), "what was stopped")
    check("webgpu" in told["devices"], f"devices: {told['devices']}")
    equal((told["live"], told["errors"]), (0, []), "blocks left, errors on the page")


@test
def onnx_models():
    fetch_model("magika")
    fetch_model("ppocr")
    told = drive("onnx", ROOT / "tools/check_layers")
    equal(told["kinds"][1], "python", f"the kind of a Python script ({told['kinds'][0]})")
    # This model seldom reads spaces.
    lines = [line.replace(" ", "") for line in told["lines"]]
    equal(lines, ["Hello,RLX2026", "runsinthebrowser"], f"lines: {told['note']}")
    equal(told["errors"], [], "errors on the page")


@test
def without_a_network():
    told = drive("offline", SERVER)
    check("loaded in" in told["note"] and told["text"], f"the model without a network: {told}")


@test
def everybody_can_use_it():
    told = drive("access")
    equal(told["unnamed"], [], "controls without a name")
    check({"model-note", "device-note", "log"} <= set(told["live"]), f"live regions: {told['live']}")
    for scheme in ["light", "dark"]:
        check(told[scheme]["ratio"] >= CONTRAST, f"{scheme}: a contrast of {told[scheme]}")
    check({"chat-send", "chat-tokens", "chat-temperature"} <= set(told["reached"]), f"Tab reaches {told['reached']}")
    check(told["wider"] <= 0, f"on a phone the page is {told['wider']} pixels too wide")
    equal(told["errors"], [], "errors on the page")


@test
def pictures():
    folder = pathlib.Path(os.environ.get("RLX_TEST_SCREENSHOTS") or ".").resolve()
    equal(drive("screenshots", folder)["errors"], [], "errors on the page")
    for name in ["web-desktop.png", "web-phone.png"]:
        size = (folder / name).stat().st_size
        check(5_000 < size < LARGEST_PICTURE, f"{name} has {size} bytes")


if __name__ == "__main__":
    sys.exit(main())
