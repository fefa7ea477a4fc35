#!/usr/bin/env python3
"""The command on CUDA, with the fake driver of the tests: which driver and compiler are found, the message if there is
none, and the sub-commands that take a device. See cli.py.

The fake driver is a folder in front of LD_LIBRARY_PATH; a library is hidden by a file of its name that is none.
"""

import json
import os
import pathlib
import subprocess
import sys

from cli import BUILD, LINEAR, LINEAR_RESULT, ROOT, Skip, check, close, equal, fails, linear_inputs, main, rlx, rlx_json, test, write
from lm_files import need_lm

FAKE = BUILD / "tests/fake_cuda"
DRIVERS = ("libcuda.so.1", "libcuda.so")
COMPILERS = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")


def environment(hide=(), fake=True, **more):
    """Variables for a process that finds the fake driver, and these libraries broken."""
    folder = pathlib.Path("hidden").resolve()
    folder.mkdir(exist_ok=True)
    for name in hide:
        (folder / name).write_bytes(b"not a library")
    path = f"{folder}:{FAKE}" if fake else str(folder)
    return {**os.environ, "LD_LIBRARY_PATH": path, "XDG_CACHE_HOME": str(pathlib.Path("cache").resolve()), **more}


def require():
    if not (FAKE / "libcuda.so.1").exists():
        raise Skip("the fake CUDA driver is not built here")
    absent = {a["backend"]: a["why"] for a in rlx_json("devices", env=environment())["absent"]}
    if "built without" in absent.get("cuda", ""):
        raise Skip(absent["cuda"])


def why_none(env):
    """Why the CUDA backend has no device; it must have none."""
    found = rlx_json("devices", env=env)
    equal([d for d in found["devices"] if d["backend"] == "cuda"], [], "CUDA devices")
    return next(a["why"] for a in found["absent"] if a["backend"] == "cuda")


@test
def the_device_is_listed_and_is_the_default():
    require()
    found = [d for d in rlx_json("devices", env=environment())["devices"] if d["backend"] == "cuda"]
    equal(len(found), 1, "CUDA devices")
    check("fake" in found[0]["name"] and "sm_90" in found[0]["features"], found[0])
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for device in ([], ["--device", "cuda"], ["--device", found[0]["uuid"]], ["--device", "cuda:submit=1"]):
        result = rlx_json("run", "g.rlx", *given, *device, env=environment())
        close(result["outputs"][0]["values"], LINEAR_RESULT, f"on {device}")
    fails("run", "g.rlx", *given, "--device", "cuda:fast", says=["expected block=N, window=N, submit=N, walk=N, library=N, late or ptx", "got 'fast'"],
          lines=1, env=environment())


@test
def no_driver_or_no_compiler():
    require()
    env = environment(hide=DRIVERS, fake=False)
    if os.path.exists("/usr/lib/wsl/lib/libcuda.so.1"):
        raise Skip("this machine has a driver outside of the linker's path")
    check("libcuda.so.1, which NVIDIA's driver installs, was not found" in why_none(env), why_none(env))
    write("g.rlx", LINEAR)
    given = linear_inputs()
    fails("run", "g.rlx", *given, "--device", "cuda", says=["cuda: none", "no CUDA here"], lines=1, env=env)
    close(rlx_json("run", "g.rlx", *given, env=env)["outputs"][0]["values"], LINEAR_RESULT, "the best device")
    if os.path.exists("/usr/local/cuda/lib64/libnvrtc.so"):
        raise Skip("this machine has a compiler outside of the linker's path")
    pathlib.Path("hidden/libcuda.so.1").unlink()
    pathlib.Path("hidden/libcuda.so").unlink()
    env = environment(hide=COMPILERS)
    found = [d for d in rlx_json("devices", env=env)["devices"] if d["backend"] == "cuda"]
    equal(len(found), 1, "CUDA devices without NVRTC")
    check("CUDA 13.0, whose own compiler takes the kernels" in found[0]["driver"], found[0])
    check("NVRTC" not in found[0]["driver"] and "coopmat" not in found[0]["features"], found[0])
    result = rlx_json("run", "g.rlx", *given, "--device", "cuda", env=env)
    close(result["outputs"][0]["values"], LINEAR_RESULT, "through PTX")
    conform = rlx_json("conform", "--op", "gelu", "--device", "cuda", env=env)
    equal({c["result"] for c in conform["cases"]} - {"PASS", "HOST"}, set(), "results")


@test
def what_takes_a_device():
    require()
    env = environment()
    write("g.rlx", LINEAR)
    given = linear_inputs()
    plan = rlx_json("plan", "g.rlx", "--device", "cuda", env=env)
    check(plan, "a plan")
    rlx("compare", "g.rlx", *given, "--device", "cuda", env=env)
    rlx("bench", "g.rlx", *given, "-r", "2", "--device", "cuda", env=env)
    rlx("trace", "g.rlx", *given, "--device", "cuda", "-o", "t.json", env=env)
    events = json.loads(pathlib.Path("t.json").read_text())
    check("matmul" in json.dumps(events), "the trace names nodes")
    for device in ("cuda", "cuda:ptx"):
        conform = rlx_json("conform", "--op", "softmax", "--device", device, env=env)
        equal({c["result"] for c in conform["cases"]} - {"PASS", "HOST"}, set(), f"results on {device}")
    # Under the tolerance of each option, which the table names. The cases are too small for what --fast-f16 changes.
    for options in ([], ["--fast-f16"], ["--exact"], ["--exact", "--fast-f16"]):
        conform = rlx_json("conform", "--op", "*matmul*", *options, "--device", "cuda:library=1", env=env)
        equal(conform["options"], [o[2:] for o in options], "options")
        equal({c["result"] for c in conform["cases"]} - {"PASS", "HOST"}, set(), f"results with {options}")
    check("cuda --fast-f16: " in rlx("conform", "--op", "gelu", "--fast-f16", "--device", "cuda", env=env, expect=0).out, "the option")


# ---- NVIDIA's own compiler, without a GPU ----

# tools/kernels --validate gives it each kernel alone. Here it gets those of a language model, with the constants that they
# have on a large GPU, and the kernels composed of many (src/cuda/walk.h), for which a compiler can take hours. The driver is
# the fake one, which then loads any code and executes nothing.

ROOT = pathlib.Path(__file__).resolve().parents[2]
# An H200 as the fake describes it.
DEVICE = {"FAKE_CUDA_BLIND": "1", "FAKE_CUDA_UNITS": "132", "FAKE_CUDA_THREADS": "1024", "FAKE_CUDA_SHARED": "49152",
          "FAKE_CUDA_GRID": "2147483647", "FAKE_CUDA_WARP": "32", "FAKE_CUDA_ARCH": "90", "FAKE_CUDA_VERSION": "13000"}


def blind_environment():
    if BUILD.name != "release":
        raise Skip("NVIDIA's compiler runs beside the release build alone: it is not ours to sanitize")
    libraries = sorted((ROOT / "build/tools").glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc*.so.*"))
    if not (FAKE / "libcuda.so.1").exists() or not (BUILD / "bench/lm_make").exists():
        raise Skip("the fake CUDA driver or bench/lm_make is not built here")
    if not any(library.name.startswith("libnvrtc.so") for library in libraries):
        raise Skip("NVRTC is not installed (tools/kernels --validate installs it)")
    folder = pathlib.Path("libraries").resolve()
    folder.mkdir(exist_ok=True)
    for library in [FAKE / "libcuda.so.1", *libraries]:
        if not (folder / library.name).exists():
            (folder / library.name).symlink_to(library.resolve())
    return {**os.environ, **DEVICE, "LD_LIBRARY_PATH": str(folder), "XDG_CACHE_HOME": str(pathlib.Path("cache").resolve())}


def kernels_of(kind):
    """The names of the kernels that a model of random weights makes the real compiler compile."""
    env = blind_environment()
    subprocess.run([BUILD / "bench/lm_make", "tiny", kind, "model.gguf"], check=True)
    rlx_json("bench", "model.gguf", "--device", "cuda:walk=1", "-p", "64", "-n", "8", "-r", "1", env=env)
    return {file.name.split("-")[0] for file in pathlib.Path("cache").rglob("*.code")}


@test
def a_model_of_f16_weights():
    found = kernels_of("f16")
    check("walk" in found and "rotate_rows" in found, found)


@test
def a_model_of_block_weights():
    found = kernels_of("q4_k")
    check("walk" in found and "quant_matvec_norm" in found, found)


@test
def no_family_of_models_falls_to_the_host():
    need_lm()
    require()
    for folder in sorted((ROOT / "tests/golden/lm").iterdir()):
        rlx("plan", folder, "--device", "cuda", "--no-host", "-q", expect=0, env=environment())


if __name__ == "__main__":
    sys.exit(main())
