#!/usr/bin/env python3
"""tools/fetch_model: what it returns is verified on every call. See cli.py.

The packages are made here, and pip finds them in a folder: nothing is downloaded.
"""

import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import sys
import zipfile
from unittest import mock

from cli import ROOT, Skip, check, equal, main, test

FILES = {"weights.bin": b"w" * 100000, "sub/config.json": b"{}", "vocab.txt": b"a\nb\n"}


def tool():
    if importlib.util.find_spec("pip") is None:
        raise Skip("this Python has no pip")
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("fetch_model", str(ROOT / "tools/fetch_model"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_model", loader))
    loader.exec_module(module)
    lines = "".join(f"{hashlib.sha256(data).hexdigest()} {name}\n" for name, data in sorted(FILES.items()))
    module.MODELS = {"folder": {"package": "toy==1.0", "inside": "toy/model", "to": "toy",
                                "sha256": hashlib.sha256(lines.encode()).hexdigest()},
                     "file": {"package": "toy==1.0", "inside": "toy/model/weights.bin", "to": "w.bin",
                              "sha256": hashlib.sha256(FILES["weights.bin"]).hexdigest()}}
    return module


def package(files):
    os.makedirs("packages", exist_ok=True)
    with zipfile.ZipFile("packages/toy-1.0-py3-none-any.whl", "w") as z:
        for name, data in files.items():
            z.writestr(f"toy/model/{name}", data)
        z.writestr("toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        z.writestr("toy-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("toy-1.0.dist-info/RECORD", "")


def fetch(*args):
    """(exit code or message, standard output, standard error)"""
    module, out, err = tool(), io.StringIO(), io.StringIO()
    place = {"XDG_CACHE_HOME": os.getcwd(), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": os.path.abspath("packages")}
    with mock.patch.dict(os.environ, place), mock.patch.object(sys, "argv", ["fetch_model", *args]), \
            mock.patch.object(module.subprocess, "run", wraps=lambda a, **how: quiet_run(a)), \
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = module.main()
        except SystemExit as end:
            code = end.code
    return code, out.getvalue().strip(), err.getvalue()


REAL_RUN = __import__("subprocess").run


def quiet_run(args):
    return REAL_RUN(args, capture_output=True)


def cached():
    return sorted(p.name for p in pathlib.Path("rlx/models").iterdir())


@test
def what_is_fetched_is_verified_every_time():
    package(FILES)
    for name, changed in (("file", "w.bin"), ("folder", "toy/vocab.txt")):
        code, place, err = fetch(name)
        equal((code, "fetching" in err), (0, True), f"first: {err}")
        equal(fetch(name), (0, place, ""), "again: it is there and as it was")
        target = pathlib.Path("rlx/models") / changed
        good = target.read_bytes()
        for bad in (good[:-1], good + b"x", b"", b"X" + good[1:]):
            target.write_bytes(bad)
            code, out, err = fetch(name, "--offline")
            check("SHA-256" in str(code) and not out, f"offline: {code} {out}")
        code, out, err = fetch(name)
        equal((code, out, "fetching it again" in err), (0, place, True), f"changed: {err}")
        equal(target.read_bytes(), good, "what is there now")
    target.unlink()
    equal(fetch("folder")[:2], (0, place), "a file of it that is gone")
    equal(target.read_bytes(), good, "is there again")
    equal(cached(), ["toy", "w.bin"], "nothing else is left")


@test
def what_is_not_as_expected_is_not_used():
    package({**FILES, "vocab.txt": b"other"})
    code, out, err = fetch("folder")
    check("SHA-256" in str(code) and str(code).endswith("not used") and not out, f"{code} {out}")
    package({"vocab.txt": b"other"})
    code, out, err = fetch("file")
    check("does not hold" in str(code) and not out, f"{code} {out}")
    os.remove("packages/toy-1.0-py3-none-any.whl")
    code, out, err = fetch("file")
    check("could not be downloaded" in str(code) and not out, f"{code} {out}")
    check("is not there" in str(fetch("file", "--offline")[0]), "offline")
    equal(cached(), [], "what is left")


if __name__ == "__main__":
    sys.exit(main())
