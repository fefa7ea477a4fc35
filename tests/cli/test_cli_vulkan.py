#!/usr/bin/env python3
"""Which Vulkan driver is found, and the message if there is none: rlx in separate environments. See cli.py.

A library is hidden from the program by a file of its name, but not its kind, in front of it in LD_LIBRARY_PATH: the
dynamic linker takes the first file of a name and gives up where it cannot be loaded.
"""

import glob
import json
import os
import pathlib
import re
import sys

from cli import LINEAR, LINEAR_RESULT, ROOT, Skip, check, close, equal, fails, linear_inputs, main, rlx, rlx_json, test, write
from lm_files import need_lm

LIBRARIES = re.findall(r'\{"([\w.]+)", (?:true|false), (?:true|false)\}', (ROOT / "src/vulkan/loader.c").read_text())
LAVAPIPE = "libvulkan_lvp.so"
SWIFTSHADER = "/usr/lib/chromium/libvk_swiftshader.so"


def environment(hide=(), manifest=None, **more):
    """Variables for a process that finds these libraries broken, and drivers by this manifest alone."""
    folder = pathlib.Path("hidden").resolve()
    folder.mkdir(exist_ok=True)
    for name in hide:
        (folder / name).write_bytes(b"not a library")
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "XDG_CACHE_HOME": str(pathlib.Path("cache").resolve()), **more}
    if manifest:
        env.update(VK_ICD_FILENAMES=str(manifest), VK_DRIVER_FILES=str(manifest))
    return env


def listed(env):
    return rlx_json("devices", env=env)


def vulkan_of(env):
    return [d for d in listed(env)["devices"] if d["backend"] == "vulkan"]


def why_none(env):
    """Why the Vulkan backend has no device; it must have none."""
    found = listed(env)
    equal([d for d in found["devices"] if d["backend"] == "vulkan"], [], "Vulkan devices")
    return next(a["why"] for a in found["absent"] if a["backend"] == "vulkan")


def require(env, why):
    if not vulkan_of(env):
        raise Skip(f"{why}: {why_none(env)}")


def built_without():
    absent = {a["backend"]: a["why"] for a in listed(environment())["absent"]}
    if "built without" in absent.get("vulkan", ""):
        raise Skip(absent["vulkan"])


def manifest_of(library):
    text = {"file_format_version": "1.0.0", "ICD": {"library_path": str(library), "api_version": "1.1.0"}}
    return pathlib.Path(write("driver.json", json.dumps(text))).resolve()


@test
def no_loader_and_no_driver():
    built_without()
    check(len(LIBRARIES) > 5 and LAVAPIPE in LIBRARIES, f"the libraries of loader.c: {LIBRARIES}")
    env = environment(hide=LIBRARIES)
    check("no Vulkan here" in why_none(env), why_none(env))
    write("g.rlx", LINEAR)
    given = linear_inputs()
    fails("run", "g.rlx", *given, "--device", "vulkan", says=["vulkan: none", "no Vulkan here"], lines=1, env=env)
    close(rlx_json("run", "g.rlx", *given, env=env)["outputs"][0]["values"], LINEAR_RESULT, "the best device")


@test
def a_loader_without_a_driver():
    built_without()
    drivers = [name for name in LIBRARIES if name != "libvulkan.so.1"]
    env = environment(hide=drivers, manifest="/nowhere/driver.json")
    why = why_none(env)
    if "libvulkan" not in why:
        raise Skip(f"there is no loader here: {why}")
    check("libvulkan.so.1 is there, but finds no" in why, why)
    check("libvulkan.so.1 is there" in rlx("devices", expect=0, env=env).out, "the reason is listed for people")


@test
def a_loader_that_is_something_else():
    built_without()
    libm = next(iter(glob.glob("/lib/*/libm.so.6") + glob.glob("/usr/lib/libm.so.6")), None)
    if not libm:
        raise Skip("no library to take for it")
    env = environment(hide=[name for name in LIBRARIES if name != "libvulkan.so.1"])
    pathlib.Path("hidden/libvulkan.so.1").symlink_to(libm)
    check("no entry point" in why_none(env), why_none(env))


@test
def a_driver_by_its_own_entry():
    built_without()
    env = environment(hide=[name for name in LIBRARIES if name != LAVAPIPE])
    require(env, "lavapipe (mesa-vulkan-drivers) is not installed")
    check("llvmpipe" in vulkan_of(env)[0]["name"], "which one")
    write("g.rlx", LINEAR)
    close(rlx_json("run", "g.rlx", *linear_inputs(), "--device", "vulkan", env=env)["outputs"][0]["values"],
          LINEAR_RESULT, "lavapipe without a loader")
    check(" 0 wrong" in rlx("conform", "--op", "softmax", "--device", "vulkan", expect=0, env=env).out, "conformance")


@test
def swiftshader():
    built_without()
    if not os.path.exists(SWIFTSHADER):
        raise Skip("SwiftShader (chromium-common) is not installed")
    env = environment(manifest=manifest_of(SWIFTSHADER))
    require(env, "SwiftShader does not load")
    device = vulkan_of(env)[0]
    equal(device["kind"], "software", "kind")
    check("f16" not in device["features"] and "subgroup:4" in device["features"], f"features {device['features']}")
    equal(device["view_align"], 256, "where views may begin")
    for variant in ("vulkan", "vulkan:staging", "vulkan:minimal"):
        write("g.rlx", LINEAR)
        close(rlx_json("run", "g.rlx", *linear_inputs(), "--device", variant, env=env)["outputs"][0]["values"],
              LINEAR_RESULT, variant)


@test
def names_and_variants():
    built_without()
    env = environment()
    require(env, "no Vulkan device")
    device = vulkan_of(env)[0]
    write("g.rlx", LINEAR)
    given = linear_inputs()
    for name in ("vulkan", "vulkan:0", device["uuid"], "vulkan:staging", "vulkan:minimal,staging", "vulkan:submit=1"):
        close(rlx_json("run", "g.rlx", *given, "--device", name, env=env)["outputs"][0]["values"], LINEAR_RESULT, name)
    fails("run", "g.rlx", *given, "--device", "vulkan:nonsense", says=["minimal", "got 'nonsense'"], lines=1, env=env)
    fails("run", "g.rlx", *given, "--device", "vulkan:99", says="no device of this backend has this index", env=env)
    kinds = ["discrete", "integrated", "cpu", "software"]
    order = [kinds.index(d["kind"]) for d in vulkan_of(env)]
    equal(order, sorted(order), "real devices come before software")


@test
def no_family_of_models_falls_to_the_host():
    need_lm()
    built_without()
    require(environment(), "no Vulkan device")
    for folder in sorted((ROOT / "tests/golden/lm").iterdir()):
        for device in ("vulkan",) if folder.name == "mamba" else ("cpu", "vulkan"):  # the CPU scans by the reference
            rlx("plan", folder, "--device", device, "--no-host", "-q", expect=0, env=environment())


if __name__ == "__main__":
    sys.exit(main())
