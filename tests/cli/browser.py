"""What tests in a browser need: node, a Chromium, and playwright-core, which drives it. What is missing is a reason to skip."""

import functools
import os
import re
import shutil
import subprocess

from cli import ROOT, SECONDS, Skip

PACKAGES = ROOT / "build/tools/npm"
OLDEST_NODE = 20


@functools.cache
def node_program():
    program = shutil.which("node")
    if not program:
        raise Skip("node is not installed")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS).stdout.strip()
    if int(re.match(r"v(\d+)", version)[1]) < OLDEST_NODE:
        raise Skip(f"node {version}: expected {OLDEST_NODE} or later")
    return program


@functools.cache
def tools():
    """For the environment of a script that drives a browser."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium:
        raise Skip("Chromium is not installed (Debian: chromium)")
    if not (PACKAGES / "node_modules/playwright-core").is_dir():
        raise Skip("playwright-core is not installed (tools/setup test, which needs npm)")
    return {"CHROMIUM": chromium, "PLAYWRIGHT": str(PACKAGES)}
