#!/usr/bin/env python3
"""Configuring: a library that is found in a prefix is linked from there, and what is left out is said with how to get it.

Nothing is compiled: the checks read what CMake prints and the build file that it writes."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
NEEDS = {"jansson.h": "jansson", "pcre2.h": "pcre2-8", "utf8proc.h": "utf8proc"}
# As in the headers of the oldest distribution that is served, Ubuntu 20.04.
VERSIONS = {"jansson.h": "#define JANSSON_MAJOR_VERSION  2\n#define JANSSON_MINOR_VERSION  12\n",
            "pcre2.h": "#define PCRE2_MAJOR           10\n#define PCRE2_MINOR           34\n",
            "utf8proc.h": "/** MAJOR */\n#define UTF8PROC_VERSION_MAJOR 2\n#define UTF8PROC_VERSION_MINOR 5\n"}


def configure(folder, *options):
    """What CMake said, and the build file."""
    out = pathlib.Path(folder) / "build"
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", out, "-DRLX_TESTS=OFF", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr, (out / "build.ninja").read_text()


def make_prefix(folder, **texts):
    """A folder with the libraries' headers (those in `texts` with another text) and files."""
    prefix = pathlib.Path(folder) / "prefix"
    for kind in ("include", "lib"):
        (prefix / kind).mkdir(parents=True)
    for header, library in NEEDS.items():
        (prefix / "include" / header).write_text(texts.get(header.removesuffix(".h"), VERSIONS[header]))
        (prefix / "lib" / f"lib{library}.so").write_text("")
    return prefix


def check_prefix():
    """Libraries in a folder that no linker searches: the link line names their files, and rlx.pc their folder."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = make_prefix(folder)
        _, build = configure(folder, f"-DCMAKE_PREFIX_PATH={prefix}")
        links = [line for line in build.splitlines() if line.strip().startswith("LINK_LIBRARIES")]
        pc = (pathlib.Path(folder) / "build/rlx.pc").read_text()
        for library in NEEDS.values():
            assert any(f"{prefix}/lib/lib{library}.so" in line for line in links), f"{library} is not linked from the prefix: {links}"
            assert f"-l{library}" in pc
        assert f"-L{prefix}/lib" in pc, pc
        assert f"-isystem {prefix}/include" in build


def check_old():
    """A library that is too old is named with both versions, and language models are left out."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = make_prefix(folder, jansson="#define JANSSON_MAJOR_VERSION 2\n#define JANSSON_MINOR_VERSION 9\n")
        said, build = configure(folder, f"-DCMAKE_PREFIX_PATH={prefix}")
        line = [one for one in said.splitlines() if "Language models are left out" in one]
        assert len(line) == 1 and f"did not find jansson 2.11 ({prefix}/include has 2.9) (Debian" in line[0], said
        assert "-DRLX_LM" not in build


def check_left_out():
    """Without headers the build goes on, says what is left out and how to get it, and has no trace of it."""
    with tempfile.TemporaryDirectory() as folder:
        ignored = ";".join(sorted({"/usr/include", "/usr/local/include"} | {str(p) for p in pathlib.Path("/usr/include").glob("*-linux-*")}))
        said, build = configure(folder, f"-DCMAKE_IGNORE_PATH={ignored}")
        line = [one for one in said.splitlines() if "Vulkan is left out" in one]
        assert len(line) == 1 and "libvulkan-dev" in said, said
        line = [one for one in said.splitlines() if "Language models are left out" in one]
        assert len(line) == 1 and "jansson;pcre2-8;utf8proc" in line[0] and "libutf8proc-dev" in said, said
        assert "src/vulkan/absent.c" in build and "src/vulkan/backend.c" not in build and "-DRLX_LM" not in build


def check_old_vulkan():
    """Headers of Vulkan that are too old are named, and the backend is left out."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "vulkan").mkdir()
        (pathlib.Path(folder) / "vulkan/vulkan_core.h").write_text("#define VK_API_VERSION_1_2 0\n")
        said, build = configure(folder, f"-DRLX_VULKAN_HEADERS={folder}")
        assert f"expected headers of Vulkan 1.3 or later, {folder}/vulkan has older ones" in said, said
        assert "src/vulkan/absent.c" in build and "src/vulkan/backend.c" not in build


def check_refused():
    """Machines whose results would be wrong are refused with a reason: what is found out by compiling is given here."""
    for found, reason in (("RLX_HIGH_BYTE_FIRST", "stores the high byte of a number first"),
                          ("RLX_ROUNDS_TWICE", "computes floats with more bits than they have")):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, f"-D{found}=1"], capture_output=True, text=True)
            assert done.returncode != 0 and reason in " ".join(done.stderr.split()), done.stderr


def main():
    if not shutil.which("cmake") or not shutil.which("ninja"):
        print("SKIP: cmake or ninja is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    failed = 0
    checks = (check_prefix, check_old, check_left_out, check_old_vulkan, check_refused)
    for check in checks:
        try:
            check()
            print(f"pass {check.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"FAIL {check.__name__}: {error}")
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
