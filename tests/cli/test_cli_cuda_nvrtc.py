#!/usr/bin/env python3
"""The CUDA backend's text in the hands of NVIDIA's own compiler, without a GPU: the driver is the fake one of the tests,
which loads any code and executes nothing (FAKE_CUDA_BLIND), the compiler is the real NVRTC. tools/kernels --validate
compiles each kernel alone; here it is those of a language model with the constants they get on a large GPU, and the
kernels that are composed of many (src/cuda/walk.h), which a compiler can take hours for. See cli.py.
"""

import os
import pathlib
import subprocess
import sys

from cli import BUILD, Skip, check, main, rlx_json, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = BUILD / "tests/fake_cuda/libcuda.so.1"
# An H200 as the fake describes it.
DEVICE = {"FAKE_CUDA_BLIND": "1", "FAKE_CUDA_UNITS": "132", "FAKE_CUDA_THREADS": "1024", "FAKE_CUDA_SHARED": "49152",
          "FAKE_CUDA_GRID": "2147483647", "FAKE_CUDA_WARP": "32", "FAKE_CUDA_ARCH": "90", "FAKE_CUDA_VERSION": "13000"}


def environment():
    if BUILD.name != "release":
        raise Skip("NVIDIA's compiler runs beside the release build alone: it is not ours to sanitize")
    libraries = sorted((ROOT / "build/tools").glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc*.so.*"))
    if not FAKE.exists() or not (BUILD / "bench/lm_make").exists():
        raise Skip("the fake CUDA driver or bench/lm_make is not built here")
    if not any(library.name.startswith("libnvrtc.so") for library in libraries):
        raise Skip("NVRTC is not installed (tools/kernels --validate installs it)")
    folder = pathlib.Path("libraries").resolve()
    folder.mkdir(exist_ok=True)
    for library in [FAKE, *libraries]:
        if not (folder / library.name).exists():
            (folder / library.name).symlink_to(library.resolve())
    return {**os.environ, **DEVICE, "LD_LIBRARY_PATH": str(folder), "XDG_CACHE_HOME": str(pathlib.Path("cache").resolve())}


def kernels_of(kind):
    """The names of the kernels that a model of random weights makes the real compiler compile."""
    env = environment()
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


if __name__ == "__main__":
    sys.exit(main())
