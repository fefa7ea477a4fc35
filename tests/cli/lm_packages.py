"""Packages that the language-model tests compare with, from a Python environment in build/tools.

It is created on first use. If a package cannot be installed, the test is skipped.
"""

import importlib
import os
import subprocess
import sys
import venv

from cli import ROOT, SECONDS, Skip

TOOLS = ROOT / "build/tools"


def have(names):
    importlib.invalidate_caches()
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError:
        return None


PYPI = {"llama_cpp": "llama-cpp-python"}  # where the name of a module is not that of its package
COMPILED = {"llama_cpp"}  # from sources, which takes eight minutes of a core: where everything runs, or it is there


def packages(*names):
    """The modules of these names, installed if need be."""
    found = have(names)
    for site in [] if found else TOOLS.glob(f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"):
        sys.path.append(str(site))
        found = have(names)
    if found:
        return found
    if COMPILED.intersection(names) and not os.environ.get("RLX_TEST_ALL"):
        raise Skip(f"{' '.join(names)} is not installed, and is compiled for minutes: RLX_TEST_ALL=1 does it")
    try:
        if not (TOOLS / "bin/python").exists():
            venv.create(TOOLS, with_pip=True)
        subprocess.run([TOOLS / "bin/python", "-m", "pip", "install", "-q", *(PYPI.get(n, n) for n in names)], check=True,
                       capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as failure:
        raise Skip(f"{' '.join(names)} cannot be installed: {failure}")
    for site in TOOLS.glob("lib/python*/site-packages"):
        if str(site) not in sys.path:
            sys.path.append(str(site))
    found = have(names)
    if not found:
        raise Skip(f"{' '.join(names)} cannot be imported from {TOOLS}")
    return found
