"""Gives the generated kernel texts to real compilers: a part of tools/kernels --validate, run by the Python of build/tools.

    kernel_check.py wgsl FOLDER NAME...    a compute pipeline of each FOLDER/NAME.wgsl, by wgpu-native on a Vulkan driver;
                                           what follows a dot in NAME is the variant
    kernel_check.py cuda FOLDER NAME...    each FOLDER/NAME.cu compiled by NVRTC, which needs no GPU; by nvcc where there is no
                                           NVRTC
    kernel_check.py ptx FOLDER NAME...     each FOLDER/NAME.ptx assembled by ptxas

The chip is one of four, drawn for each text (RLX_TEST_SEED); RLX_TEST_ALL=1 takes all four.

Specialisation constants have their defaults, which FOLDER/NAME.json has, the group size is 128. What fails is named with
the compiler's words. The last
line is 'N passed, N failed, N skipped'; where a compiler or a driver cannot be had, all texts are skipped, for that reason.
"""

import ctypes
import glob
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from runner import EVERYTHING, SEED

TEXTS = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".")
GROUP = 128


class Missing(Exception):
    """What the check needs is not here."""


def about(name):
    """The kernel's constants and their defaults, by number, and whether it needs matrix units or a Hopper chip."""
    return json.loads((TEXTS / f"{name}.json").read_text())


# ---- WGSL ----

def wgpu_device():
    drivers = sorted(glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json"))
    if drivers:  # the software driver: the same texts pass or fail everywhere
        os.environ.setdefault("VK_ICD_FILENAMES", drivers[0])
    try:
        import wgpu
    except ImportError as error:
        raise Missing(f"wgpu-native is not installed ({error})")
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    except Exception as error:
        raise Missing(f"wgpu-native finds no adapter ({str(error).splitlines()[0]})")
    features = {"shader-f16", "subgroup"} & set(adapter.features)
    return adapter.request_device_sync(required_features=sorted(features),
                                       required_limits={"max-storage-buffers-per-shader-stage": 8})


def check_wgsl(names):
    device = wgpu_device()

    def one(name):
        try:
            text = (TEXTS / f"{name}.wgsl").read_text()
            if text.startswith("enable subgroups;\n"):  # wgpu-native has them without asking, and refuses the two lines
                text = text.split("\n", 2)[2]
            device.create_compute_pipeline(layout="auto", compute={
                "module": device.create_shader_module(code=text), "entry_point": name.split(".")[0],
                "constants": {"0": GROUP}})
        except Exception as error:  # what the binding raises has no common type
            return str(error)
        return None

    return {name: one(name) for name in names}


# ---- CUDA ----

CHIPS = (75, 80, 90, 100)
FIRST_WITH_MATRICES = 80


def cuda_options(name, chip):
    """As src/cuda/compile.c has them."""
    constants = {"0": GROUP, **about(name)["constants"]}
    return ["-w", "--fmad=false", "-DK_ENTER=", "-DK_NEXT=", "-DK_WAIT=", f"--gpu-architecture=sm_{chip}", *(f"-DK_C{i}={v}u" for i, v in constants.items())]


def drawn(name, chips):
    return chips if EVERYTHING else [random.Random(f"{SEED} {name}").choice(chips)]


def cuda_chips(name):
    if about(name)["hopper"]:
        return ["90a"]
    return drawn(name, [chip for chip in CHIPS if chip >= FIRST_WITH_MATRICES or not about(name)["matrix"]])


class Nvrtc:
    """The compiler as a library: PyPI's, or an installed toolkit's."""

    def __init__(self):
        places = [p for folder in sys.path for p in sorted(glob.glob(f"{folder}/nvidia/*/lib/libnvrtc.so.*"))]
        for place in [*places, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
            try:
                self.library = ctypes.CDLL(place)
                return
            except OSError:
                continue
        raise Missing("NVRTC is not installed")

    def compile(self, name, chip):
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        options = [o.encode() for o in cuda_options(name, chip)]
        text = (TEXTS / f"{name}.cu").read_text().encode()
        if self.library.nvrtcCreateProgram(ctypes.byref(program), text, f"{name}.cu".encode(), 0, None, None):
            return "nvrtcCreateProgram failed"
        failed = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return (log.value.decode(errors="replace") or f"error {failed}") if failed else None


def nvcc_compile(name, chip):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["nvcc", *cuda_options(name, chip), "-cubin", "-o", f"{folder}/k.cubin", TEXTS / f"{name}.cu"],
                              capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


def check_cuda(names):
    try:
        compile_one = Nvrtc().compile
    except Missing as missing:
        if not shutil.which("nvcc"):
            raise Missing(f"{missing}, nor is nvcc")
        compile_one = nvcc_compile
    jobs = [(name, chip) for name in names for chip in cuda_chips(name)]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda job: compile_one(*job), jobs)
    return {f"{name} for sm_{chip}": error for (name, chip), error in zip(jobs, results)}


# ---- PTX ----

def check_ptx(names):
    places = [p for folder in sys.path for p in sorted(glob.glob(f"{folder}/nvidia/*/bin/ptxas"))]
    ptxas = next((p for p in [*places, shutil.which("ptxas")] if p), None)
    if not ptxas:
        raise Missing("ptxas is not installed")

    def one(job):
        name, chip = job
        done = subprocess.run([ptxas, f"-arch=sm_{chip}", "-o", "/dev/null", TEXTS / f"{name}.ptx"], capture_output=True,
                              text=True)
        return done.stdout + done.stderr if done.returncode else None

    jobs = [(name, chip) for name in names for chip in drawn(name, CHIPS)]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, jobs))
    return {f"{name} for sm_{chip}": error for (name, chip), error in zip(jobs, results)}


def main():
    kind, names = sys.argv[1], sys.argv[3:]
    try:
        results = {"wgsl": check_wgsl, "cuda": check_cuda, "ptx": check_ptx}[kind](names)
    except Missing as missing:
        print(f"SKIP  {kind}: {missing}\n0 passed, 0 failed, {len(names)} skipped")
        return 0
    if kind != "wgsl" and not EVERYTHING:
        print(f"part  {kind}: each text for one chip of {len(CHIPS)}, drawn by RLX_TEST_SEED={SEED}; RLX_TEST_ALL=1 takes all")
    failed = {name: error for name, error in results.items() if error}
    for name, error in failed.items():
        print(f"FAIL  {kind} {name}:\n{error.strip()[:3000]}")
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
