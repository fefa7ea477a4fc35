#!/usr/bin/env python3
"""The demo page where the browser refuses: a device that is lost, memory that is denied, on the CPU and on WebGPU.

Each time the page says what happened, and goes on: a model loads again and generates. Most faults are made by faults.js
in the page's worker; the process that has the GPU is really ended. What is needed is in chromium.py.
"""

import pathlib
import sys

from chromium import drive, webgpu
from web import ROOT, fetch_model
from cli import check, equal, main, test
from gguf_file import tiny_llama

MODULE_PAGES = 80  # of 64 KiB: enough for the module, not for the page's model
ADVICE = {"lost": "can be loaded again", "memory": "There is not enough memory", "limit": "a higher limit may do"}


def goes_on(told, device):
    check("loaded in" in told["loaded"] and f"({device})" in told["loaded"] and told["text"], f"afterwards: {told}")


def says(note, *parts):
    check(note.startswith("Error: ") and all(part in note for part in parts), f"the note is {note!r}, expected {parts}")


@test
def a_lost_device():
    webgpu()
    told = drive("deviceLost")
    for when in ["during", "idle"]:
        says(told[when]["note"], "was lost", ADVICE["lost"])
        goes_on(told[when], "webgpu")
    check(not told["during"]["canSend"], "Send is offered without a model")
    equal(told["errors"], [], "errors on the page")


@test
def the_process_with_the_gpu_ends():
    webgpu()
    told = drive("gpuProcessEnds")
    says(told["note"], "was lost", ADVICE["lost"])
    goes_on(told["again"], "webgpu")
    goes_on(told["onCpu"], "cpu")


@test
def a_lost_device_of_an_onnx_model():
    webgpu()
    fetch_model("magika")
    before, lost, after = drive("onnxDeviceLost", ROOT / "tools/check_layers")["notes"]
    says(lost, "was lost", ADVICE["lost"])
    check("on webgpu" in before and "on webgpu" in after, f"before: {before!r}, after: {after!r}")


@test
def a_device_that_is_refused():
    webgpu()
    told = drive("refused", "noDevice")
    says(told["refused"], "there is no device today")
    goes_on(told, "webgpu")


@test
def buffers_that_are_refused():
    webgpu()
    told = drive("refused", "noBuffers")
    says(told["refused"], "out of memory", ADVICE["memory"])
    goes_on(told, "webgpu")


@test
def memory_that_cannot_grow():
    tiny = pathlib.Path("tiny.gguf").resolve()
    tiny_llama(tiny)
    told = drive("memoryEnds", MODULE_PAGES, tiny, page=["--plain"])  # a module that has a memory of its own
    for note in told["notes"]:
        says(note, "shakespeare.gguf", ADVICE["memory"])
    goes_on(told, "cpu")
    equal(told["errors"], [], "errors on the page")


@test
def no_memory_for_the_module():
    told = drive("noInstance")
    for note in (told["device"], told["note"]):
        says(note, "could not allocate memory")
    equal(told["errors"], [], "errors on the page")


@test
def a_limit_of_memory():
    told = drive("memoryLimit", "cpu")
    says(told["refused"], "the limit is 2.0 MiB")
    goes_on(told, "cpu")


@test
def a_limit_of_memory_on_webgpu():
    webgpu()
    told = drive("memoryLimit", "webgpu")
    says(told["refused"], "the limit is 2.0 MiB")
    goes_on(told, "webgpu")


if __name__ == "__main__":
    sys.exit(main())
