"""Shared by the tests of rlx.js: where the module is, a server with all its vices, and calls of node.

The module comes from build/wasm of the tree (cmake --preset wasm); RLX_WASM_DIR names another folder. Without it, or
without node, the tests are skipped with that reason.
"""

import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from browser import node_program  # noqa: E402
from cli import ROOT, SECONDS, Skip  # noqa: E402

WASM = pathlib.Path(os.environ.get("RLX_WASM_DIR") or ROOT / "build/wasm").resolve()
SHAKESPEARE = ROOT / "models/shakespeare/shakespeare.gguf"


@functools.cache
def node():
    """The program node, where all that the tests need is there."""
    program = node_program()
    if not (WASM / "rlx_web.wasm").is_file():
        raise Skip(f"{WASM}/rlx_web.wasm is not built (tools/needs wasm; cmake --preset wasm; cmake --build build/wasm)")
    return program


def skip_all_without(*needs):
    """Ends the script, as skipped, if one of these has a reason to skip."""
    try:
        for need in needs:
            need()
    except Skip as skip:
        print(f"SKIP all: {skip}\n0 passed, 0 failed, 1 skipped")
        raise SystemExit(0)


def js(case, *args, **how):
    """Runs a case of cases.mjs and returns the JSON that it prints."""
    command = [node(), str(ROOT / "tests/web/cases.mjs"), case, f"{WASM}/", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, **how)
    if done.returncode:
        raise AssertionError(f"{case}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return json.loads(done.stdout)


def fetch_model(name):
    done = subprocess.run([sys.executable, ROOT / "tools/fetch_model", name], capture_output=True, text=True,
                          timeout=SECONDS)
    if done.returncode:
        raise Skip(f"{name}: {(done.stderr.strip() or 'no reason given').splitlines()[-1]}")
    return pathlib.Path(done.stdout.strip())


class Vices(http.server.BaseHTTPRequestHandler):
    """Serves a file in several ways; the first part of the path names the way.

    good   answers range requests                    cut      closes the connection half-way through a part
    whole  knows no ranges                           cutwhole closes it half-way through the whole file
    gone   is good for the first part, then 404      changed  another ETag after the first part
    once   cuts only the first answer                missing  404
    """

    protocol_version = "HTTP/1.1"
    counts = {}
    headers_too = {}

    def log_message(self, *args):
        pass

    def parts(self, data):
        match = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if not match:
            return 0, len(data), 200
        end = int(match[2]) + 1 if match[2] else len(data)
        return int(match[1]), min(end, len(data)), 206

    def reply(self, status, body, cut=False, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        for name, value in {**self.headers_too, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        try:
            if self.command != "HEAD":
                self.wfile.write(body[:len(body) // 2] if cut else body)
        except ConnectionError:
            pass  # the other side has left
        self.close_connection = True

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        way, _, name = self.path.strip("/").partition("/")
        served = self.server.files.get(name)
        key = (way, name)
        n = Vices.counts[key] = Vices.counts.get(key, 0) + 1
        if served is None or way == "missing" or (way == "gone" and n > 1):
            return self.reply(404, b"not here")
        data = served.read_bytes()
        if way in ("whole", "cutwhole"):
            return self.reply(200, data, cut=way == "cutwhole")
        begin, end, status = self.parts(data)
        etag = '"2"' if way == "changed" and n > 1 else '"1"'
        cut = way == "cut" or (way == "once" and n % 2 == 1)
        self.reply(status, data[begin:end], cut=cut, Accept_Ranges="bytes", ETag=etag,
                   Content_Range=f"bytes {begin}-{end - 1}/{len(data)}")


class Server:
    """`with Server(name=path) as base:` serves http://127.0.0.1:PORT/WAY/NAME."""

    def __init__(self, **files):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vices)
        self.server.files = {name: pathlib.Path(path) for name, path in files.items()}
        Vices.counts.clear()

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
