#!/usr/bin/env python3
"""The command on Windows: words and paths in UTF-8, long paths, streams of bytes, Ctrl-C, the time limit, the server.

    tests/cli/windows.py WINE RLX.EXE      (tools/test runs it in its step `windows`)
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/shakespeare/shakespeare.gguf"
GRAPH = 'graph {\n  %x = input "x" : f32[3]\n  %y = mul(%x, %x)\n  output "y" = %y\n}\n'
LONG = ["ops", "matmul*", "-r", "1000000", "--threads", "1"]
PROGRAM = sys.argv[1:3]
SECONDS = 600 * float(os.environ.get("RLX_TEST_TIME") or 1)  # a guard against hangs, never a measure
failed = []
passed = 0


def rlx(*words, **how):
    how = {"stdin": subprocess.DEVNULL, **how} if "input" not in how else how
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, timeout=SECONDS, **how)


def check(name, ok, found):
    global passed
    if ok:
        passed += 1
    else:
        failed.append(name)
        print(f"FAIL {name}: {found}")


def check_graph(name, path):
    """A graph at this path is read, by a path in UTF-8, and its values are written beside it."""
    path.write_text(GRAPH)
    done = rlx("info", path, "--json")
    check(f"{name}: read", done.returncode == 0 and path.name in json.loads(done.stdout.decode())["files"][0]["file"], done)
    out = path.parent / ("out " + path.stem)
    done = rlx("run", path, "--random", "1", "--out", out, "--json")
    check(f"{name}: written", done.returncode == 0 and (out / "y.npy").read_bytes()[:6] == b"\x93NUMPY", done)
    again = rlx("run", path, "--random", "1", "--out", out, "--json")
    check(f"{name}: replaced", again.returncode == 0 and len(list(out.iterdir())) == 1, again)


def check_streams():
    done = rlx("ops")
    check("no carriage returns", done.returncode == 0 and b"\r" not in done.stdout and done.stdout.count(b"\n") > 50, done)
    done = rlx("graph", "-", input=GRAPH.encode())
    check("standard input", done.returncode == 0 and b"mul(" in done.stdout, done)
    done = rlx("gräph图")
    check("a word that is no command", done.returncode == 2 and "'gräph图'" in done.stderr.decode(), done)
    done = rlx("eval", "fehlt-ä.rlx")
    check("a file that is not there", done.returncode == 1 and "fehlt-ä.rlx" in done.stderr.decode(), done)


def check_ends():
    process = subprocess.Popen([*PROGRAM, "bench", *LONG], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(3)
    process.send_signal(signal.SIGINT)  # wine makes Ctrl-C of it
    try:
        out, err = process.communicate(timeout=SECONDS)
        check("Ctrl-C", process.returncode == 130, (process.returncode, out, err))
    except subprocess.TimeoutExpired:
        process.kill()
        check("Ctrl-C", False, "it did not end")
    done = rlx("bench", *LONG, "--time-limit", "0.5")
    check("the time limit", done.returncode == 1 and b"the time limit of 0.5 s is over" in done.stderr, done)


def ask(address, path, body=None):
    """The status and the text of an answer."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address + path, data)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def check_server():
    """Needs libmicrohttpd's DLL in WINEPATH, which tools/windows.py sets."""
    process = subprocess.Popen([*PROGRAM, "serve", str(MODEL), "--port", "0", "--device", "cpu"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    address = process.stdout.readline().decode().strip()
    check("the server's address", address.startswith("http://127.0.0.1:"), address)
    if not address:
        process.kill()
        return
    prompt = {"prompt": "ROMEO:", "temperature": 0}
    alone = rlx("generate", MODEL, "-p", "ROMEO:", "-n", "24", "--temperature", "0", "-q", "--device", "cpu").stdout.decode()
    status, text = ask(address, "/v1/completions", {**prompt, "max_tokens": 24})
    check("the server's text", status == 200 and json.loads(text)["choices"][0]["text"].strip() in alone, (text, alone))
    status, text = ask(address, "/v1/completions", b'{"prompt": ')
    check("a broken request", status == 400 and "error" in json.loads(text), (status, text))
    body = json.dumps({**prompt, "max_tokens": 100000, "stream": True, "ignore_eos": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(address + "/v1/completions", body)) as answer:
        answer.readline()  # then the client leaves
    cancelled = "rlx_requests_cancelled_total 1"
    for _ in range(6000):
        if cancelled in ask(address, "/metrics")[1]:
            break
        time.sleep(0.1)
    check("a client that leaves", cancelled in ask(address, "/metrics")[1], "no request was cancelled")
    process.send_signal(signal.SIGINT)
    check("Ctrl-C ends the server", process.wait() in (0, 130), process.returncode)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        strange = root / "größe 图像 🎲"
        strange.mkdir()
        check_graph("a name in UTF-8", strange / "é.rlx")
        deep = root.joinpath(*(letter * 90 for letter in "abcd"))
        deep.mkdir(parents=True)
        check_graph("a long path", deep / "g.rlx")
        check_streams()
        check_ends()
        if "WINEPATH" in os.environ:
            check_server()
    print(f"{passed} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.environ.setdefault("LANG", "C.UTF-8")
    sys.exit(main())
