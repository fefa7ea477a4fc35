#!/usr/bin/env python3
"""Packages (cmake/package.cmake): what is in them is what is installed, and it works from there. The man page and the
completions are what the command says, and the programs that read them take them. Run in build/release, or where
RLX_BUILD_DIR says. What needs a tool that is absent is skipped."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("RLX_BUILD_DIR") or ROOT / "build/release").resolve()
COMPLETIONS = ROOT / "packaging/completions"


class Skip(Exception):
    pass


def call(*args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, **more)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def needs(tool):
    if not shutil.which(tool):
        raise Skip(f"{tool} is not installed")


def pack(folder, generator):
    call("cpack", "-G", generator, "-B", folder, cwd=BUILD)
    return next(p for p in pathlib.Path(folder).iterdir() if p.is_file() and p.suffix != ".sha256")


def installed(folder):
    """Files of an installation below `folder`"""
    call("cmake", "--install", BUILD, "--prefix", folder)
    return {str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if not p.is_dir()}


def works(usr):
    """The command and the files beside it, below a folder"""
    assert '"softmax"' in call(usr / "bin/rlx", "ops", "softmax", "--json")
    for name in ("include/rlx/rlx.h", "share/man/man1/rlx.1", "share/bash-completion/completions/rlx",
                 "share/zsh/site-functions/_rlx", "share/fish/vendor_completions.d/rlx.fish", "share/doc/rlx/LICENSE"):
        assert any((usr / (name + end)).is_file() for end in ("", ".gz")), f"{name} is not there"


def archives():
    """.tar.gz and .zip have what is installed, below a folder of their own"""
    with tempfile.TemporaryDirectory() as folder:
        expected = installed(pathlib.Path(folder) / "tree")
        made = pack(f"{folder}/tgz", "TGZ")
        with tarfile.open(made) as archive:
            names = [m.name for m in archive.getmembers() if not m.isdir()]
            archive.extractall(f"{folder}/out")
        top = made.name.removesuffix(".tar.gz")
        assert {n.removeprefix(top + "/") for n in names} == expected, sorted(set(names) ^ expected)
        works(pathlib.Path(folder) / "out" / top)
        with zipfile.ZipFile(pack(f"{folder}/zip", "ZIP")) as archive:
            found = {n.removeprefix(top + "/") for n in archive.namelist() if not n.endswith("/")}
        assert found == expected, sorted(found ^ expected)


def deb():
    needs("dpkg-shlibdeps")
    with tempfile.TemporaryDirectory() as folder:
        made = pack(f"{folder}/deb", "DEB")
        assert "libc6" in call("dpkg-deb", "-f", made, "Depends")
        call("dpkg-deb", "-x", made, f"{folder}/out")
        works(pathlib.Path(folder) / "out/usr")


def rpm():
    needs("rpmbuild")
    with tempfile.TemporaryDirectory() as folder:
        made = pack(f"{folder}/rpm", "RPM")
        names = call("rpm", "-qlp", made).split()
        assert "/usr/bin/rlx" in names and "/usr/include/rlx/rlx.h" in names, names
        assert "libc.so.6" in call("rpm", "-qp", "--requires", made)


def made_from_the_command():
    """The man page and the completions are current (those of a build without language models lack commands)"""
    if "generate" not in call(BUILD / "rlx", "help"):
        raise Skip("this build has no language models")
    call("python3", ROOT / "tools/make_cli_docs", BUILD / "rlx", "--check")


def pictures():
    """The pictures of speed are those of the tables"""
    call("python3", ROOT / "tools/draw_speed", "--check")


def links_of_the_site():
    """What tools/make_site makes of a link to a page, to a heading, to a picture, and to a file that is no page"""
    text = ("import importlib.machinery, importlib.util, pathlib, sys\n"
            "loader = importlib.machinery.SourceFileLoader('make_site', sys.argv[1])\n"
            "m = importlib.util.module_from_spec(importlib.util.spec_from_loader('make_site', loader))\n"
            "loader.exec_module(m)\n"
            "R = m.ROOT\n"
            "where = {R / 'docs/lm.md': pathlib.Path('lm.md'), R / 'docs/decisions/0001-a.md': pathlib.Path('decisions/0001-a.md'),"
            " R / 'docs/a.svg': pathlib.Path('a.svg')}\n"
            "t = '[x](../lm.md#use) [`p.c`](../../src/p.c) ![y](../a.svg) [z](https://example.org) `[k](v)`'\n"
            "print(m.linked(t, R / 'docs/decisions/0001-a.md', where))\n")
    found = call("python3", "-B", "-c", text, ROOT / "tools/make_site").strip()
    assert found == "[x](../lm.md#use) `p.c` ![y](../a.svg) [z](https://example.org) `k`", found


def man_page():
    needs("groff")
    page = call("groff", "-man", "-Tascii", "-ww", "-P-cbou", ROOT / "packaging/rlx.1")
    assert "warning" not in page, page
    for words in ("rlx generate MODEL -p TEXT", "--temperature T", "EXIT STATUS", "-h, --help"):
        assert words in page, f"{words} is not on the page"


def bash():
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rlx; echo "${COMPREPLY[*]}"'
    for words, expected in ((["rlx", "gen"], "generate"), (["rlx", "generate", "--te"], "--temperature"),
                            (["rlx", "help", "conf"], "conform"), (["rlx", "plan", "x.onnx", "--sv"], "--svg"),
                            (["rlx", "ops", "--te"], "")):
        found = call("bash", "-c", ask, "bash", COMPLETIONS / "rlx.bash", *words).strip()
        assert found == expected, f"{words}: {found}"


def zsh():
    needs("zsh")
    call("zsh", "-n", COMPLETIONS / "_rlx")


def fish():
    needs("fish")
    call("fish", "--no-execute", COMPLETIONS / "rlx.fish")


def main():
    if not (BUILD / "rlx").is_file() or not shutil.which("cpack"):
        print("SKIP: the command is not built, or cpack is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = skipped = 0
    for check in (archives, deb, rpm, made_from_the_command, pictures, links_of_the_site, man_page, bash, zsh, fish):
        try:
            check()
            passed += 1
            print(f"pass {check.__name__}")
        except Skip as why:
            skipped += 1
            print(f"SKIP {check.__name__}: {why}")
        except (AssertionError, StopIteration) as error:
            failed += 1
            print(f"FAIL {check.__name__}: {error}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
