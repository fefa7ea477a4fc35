"""The step `windows` of tools/test, and all of it for tools/soak: what mingw-w64 builds runs under wine.

The DLL and the tests come from one build (build/mingw). Every day a drawn part of the tests runs (runner.draw), with the
command, conformance, a language model and a program in C++; `make soak` runs every test, and the static library too.
Wine has a home of its own in build/wine, needs no display, and starts nothing that would look for updates.
"""

import os
import pathlib
import re
import shutil
import subprocess

from runner import (BUILD, EVERYTHING, HANG_SECONDS, LOGS, ROOT, await_tree, build, call, draw, left_out, run_programs, say, skip, step,
                    test_sources)

WINE_HOME = BUILD / "wine"
ENV = {"WINEPREFIX": str(WINE_HOME), "WINEDEBUG": "-all", "WINEARCH": "win64", "DISPLAY": "",
       "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe="}  # no .NET, no browser, no menus
OFTEN = ["test_paths", "test_file_changes", "test_str", "test_pool"]  # what the system's files of src/base carry
DRAWN = 4
LONG = re.compile("test_(scale|plan|place|equivalence|quant_every|lm_pack|lm_hostile|lm_gguf|lm_models|cpu_move|lm_engine|lm_safetensors|cancel)$")

CONSUMER = """cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES CXX)
find_package(rlx REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE rlx::rlx)
target_link_options(consumer PRIVATE -static) # the libraries of C++; rlx.dll stays one
"""
PROGRAM = r"""
#include <rlx/rlx.h>
#include <cstdio>
#include <cstring>
#include <stdexcept>
static void need(rlx_status s) {
  if (s) throw std::runtime_error(rlx_message());
}
static void square() {
  const char text[] = "graph {\n  %x = input \"x\" : f32[3]\n  %y = mul(%x, %x)\n  output \"y\" = %y\n}\n";
  rlx_graph *g = nullptr;
  rlx_session *s = nullptr;
  rlx_executable *e = nullptr;
  auto desc = rlx_init<rlx_session_desc>();
  desc.device = "cpu";
  need(rlx_graph_parse(text, std::strlen(text), &g));
  need(rlx_session_create(&desc, &s));
  need(rlx_compile(s, g, nullptr, &e));
  float v[3] = {1, 2, 3};
  rlx_dims shape = {};
  shape.n = 1, shape.v[0] = 3;
  rlx_tensor t = {};
  t.dtype = RLX_F32, t.shape = shape, t.data = v, t.bytes = sizeof v;
  need(rlx_executable_write(e, "x", &t));
  need(rlx_executable_run(e));
  need(rlx_executable_read(e, "y", &t));
  std::printf("%g %g %g\n", v[0], v[1], v[2]);
  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
  if (v[2] != 9) throw std::runtime_error("expected 9");
}
int main() {
  try {
    square();
    return 0;
  } catch (const std::exception &e) {
    return std::puts(e.what()), 1;
  }
}
"""


def find_wine():
    for place in ("wine64", "/usr/lib/wine/wine64", "wine"):
        if shutil.which(place):
            return shutil.which(place)
    return None


def prepare_home(wine):
    """Makes wine's home. Its copies of wine's own DLLs become links: they are most of 700 MB. Returns why not, or ""."""
    if not (WINE_HOME / "ready").is_file():
        shutil.rmtree(WINE_HOME, ignore_errors=True)
        WINE_HOME.mkdir(parents=True)
        call([wine, "wineboot", "-i"], "windows-home.log", env=ENV, timeout=HANG_SECONDS)
        call([pathlib.Path(wine).with_name("wineserver"), "-w"], "windows-server.log", env=ENV, timeout=HANG_SECONDS)
        system = WINE_HOME / "drive_c/windows/system32"
        if not system.is_dir():
            return "wine could not make its home, see build/logs/windows-home.log"
        for own in pathlib.Path("/usr/lib").glob("*/wine/x86_64-windows/*"):
            copy = system / own.name
            if copy.is_file() and not copy.is_symlink() and copy.stat().st_size == own.stat().st_size:
                copy.unlink()
                copy.symlink_to(own)
        shutil.rmtree(WINE_HOME / "drive_c/windows/winsxs", ignore_errors=True)
        (WINE_HOME / "ready").touch()
    return ""


def pick_tests(report, everything):
    there = [s.stem for s in test_sources() if not left_out(s, "windows")]
    if everything:
        return there
    rest = [t for t in there if t not in OFTEN and (EVERYTHING or not LONG.match(t))]
    return OFTEN + draw(report, "windows: tests", rest, DRAWN)


def check_texts(report, wine):
    """A language model's greedy text is that of the machine itself, with the same vector instructions."""
    rlx, model = BUILD / "release/rlx", ROOT / "models/shakespeare/shakespeare.gguf"
    words = ["generate", model, "-p", "ROMEO:", "-n", "100", "--temperature", "0", "-q", "--device"]
    name = "windows: a language model's text"
    await_tree(report, "release")
    if not rlx.is_file() or not (ROOT / "build/tools/mingw/prefix/stamp").is_file():
        return skip(report, name, "build/release or what language models need is not there")
    for isa in ("base", "avx2"):
        want = subprocess.run([rlx, *words, f"cpu:{isa}"], capture_output=True)
        got = subprocess.run([wine, BUILD / "mingw/rlx.exe", *words, f"cpu:{isa}"], capture_output=True,
                             env={**os.environ, **ENV})
        if want.returncode:
            skip(report, f"{name}, {isa}", want.stderr.decode(errors="replace").strip()[:200])
        elif got.stdout == want.stdout and got.returncode == 0 and want.stdout:
            report.add(f"{name}, {isa}", passed=1)
            say(f"ok    {name}, {isa}")
        else:
            report.add(f"{name}, {isa}", failed=1, why=f"expected {want.stdout!r}, got {got.stdout!r} {got.stderr!r}")
            say(f"FAIL  {name}, {isa}")


def check_consumer(report, wine):
    """A program in C++ finds the installed DLL by find_package and runs."""
    name, folder = "windows: find_package in C++", BUILD / "mingw-consumer"
    if not shutil.which("x86_64-w64-mingw32-g++"):
        return skip(report, name, "g++-mingw-w64-x86-64 is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text(CONSUMER)
    (folder / "consumer.cpp").write_text(PROGRAM)
    stage = folder / "stage"
    if (step(report, "windows: install", ["cmake", "--install", BUILD / "mingw", "--prefix", stage])
            and step(report, f"{name}: configure", [
                "cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
                f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/mingw.cmake", f"-DCMAKE_FIND_ROOT_PATH={stage}"])
            and step(report, f"{name}: build", ["cmake", "--build", folder / "build"])):
        step(report, name, [wine, folder / "build/consumer.exe"], env={**ENV, "WINEPATH": windows_path(stage / "bin")}, timeout=HANG_SECONDS)


def windows_path(path):
    return "Z:" + str(path).replace("/", "\\")


def check(report, jobs, everything):
    wine, compiler = find_wine(), shutil.which("x86_64-w64-mingw32-gcc")
    if not wine or not compiler:
        return skip(report, "windows", "wine64 is not installed" if compiler else "gcc-mingw-w64-x86-64 is not installed")
    needs = call([ROOT / "tools/needs", "mingw"], "windows-needs.log")
    if needs[0] != 0:
        skip(report, "windows: language models", (needs[1].strip() or "tools/needs mingw failed").splitlines()[-1])
    why = prepare_home(wine)
    if why:
        return skip(report, "windows", why)
    tests = [t for t in pick_tests(report, everything) if needs[0] == 0 or not t.startswith("test_lm_")]
    targets = ["rlx", "rlx_cli", *(f"tests_{t}" for t in tests)]
    if not build(report, "mingw", jobs, options=["-DBUILD_SHARED_LIBS=ON"], targets=targets):
        return
    rlx = BUILD / "mingw/rlx.exe"
    programs = [("conform", [wine, rlx, "conform", "--device", "cpu", "--threads", "2"]),
                ("command", ["python3", ROOT / "tests/cli/windows.py", wine, rlx])]
    data = pathlib.Path("/usr/share/libonnx-testdata/data")
    if data.is_dir():
        programs.append(("onnx", [wine, rlx, "onnx-test", data / "simple", data / "pytorch-operator", "-q"]))
    else:
        skip(report, "windows: ONNX models", "libonnx-testdata is not installed")
    if everything:
        for isa in ("base", "avx2"):
            programs.append((f"conform-{isa}", [wine, rlx, "conform", "--device", f"cpu:{isa}", "--threads", "2"]))
    programs += [(t, [wine, BUILD / f"mingw/tests/{t}.exe"]) for t in tests]
    server = {"WINEPATH": windows_path(BUILD / "tools/mingw/prefix/bin")} if needs[0] == 0 else {}  # libmicrohttpd
    run_programs(report, "windows", programs, jobs, {**ENV, **server})
    check_texts(report, wine)
    check_consumer(report, wine)
    if everything:
        posix = [s.stem for s in test_sources() if left_out(s, "windows")]
        skip(report, "windows: tests", f"POSIX by nature (fork, signals, the emulated GPU, fake drivers, the server): {' '.join(posix)}")
        if build(report, "mingw", jobs, directory="mingw-static", options=["-DRLX_TESTS=OFF"]):
            run_programs(report, "windows-static", [
                ("conform", [wine, BUILD / "mingw-static/rlx.exe", "conform", "--device", "cpu", "--threads", "2"])], 1, ENV)


if __name__ == "__main__":
    import sys
    sys.exit("this is a part of tools/test and tools/soak; run those")
