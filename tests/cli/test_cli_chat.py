#!/usr/bin/env python3
"""rlx chat at a terminal: editing, commands, several lines, interrupts. See cli.py."""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

from cli import RLX, SANITIZER, SECONDS, Skip, check, equal, main, rlx, rlx_json, test, write
from lm_server import tiny_chat


class Terminal:
    """rlx chat with a person at a terminal."""

    def __init__(self, *args, term="xterm"):
        if " chat " not in rlx("--help", expect=0).out:
            raise Skip("rlx was built without language models")
        self.host, other = pty.openpty()
        command = [str(RLX), "chat", tiny_chat(context=2048), "--device", "cpu", "--threads", "2", "--temperature", "0", "-n", "6", *args]
        self.process = subprocess.Popen([str(c) for c in command], stdin=other, stdout=other, stderr=other, start_new_session=True,
                                        env={**os.environ, "TERM": term}, preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0))
        os.close(other)
        self.seen = ""

    def until(self, *texts):
        """Reads until each of these came, in this order, since the last call; what came."""
        at, end = 0, time.monotonic() + SECONDS
        pending = list(texts)
        while pending:
            found = self.seen.find(pending[0], at)
            if found >= 0:
                at = found + len(pending.pop(0))
                continue
            check(time.monotonic() < end, f"never {pending[0]!r}: {self.seen!r}")
            if not select.select([self.host], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.host, 4096)
            except OSError:
                more = b""
            check(more, f"the end came before {pending[0]!r}: {self.seen!r}")
            self.seen += more.decode("utf-8", "replace")
        came, self.seen = self.seen[:at], self.seen[at:]
        return came

    def type(self, text):
        os.write(self.host, text.encode())

    def end(self, code=0):
        while True:
            try:
                more = os.read(self.host, 4096)
            except OSError:
                break
            if not more:
                break
            self.seen += more.decode("utf-8", "replace")
        found = self.process.wait(timeout=SECONDS)
        os.close(self.host)
        check(not SANITIZER.search(self.seen), self.seen)
        equal(found, code, f"exit code ({self.seen[-500:]!r})")
        return self.seen


def saved(name):
    return json.loads(pathlib.Path(name).read_text())["messages"]


@test
def a_conversation_is_saved_and_loaded():
    t = Terminal()
    t.until("/help", "> ")
    t.type("the ab\n")
    t.until("> ")
    t.type("/system a\tthe \"quote\" \\n\n")
    t.until("> ")
    t.type("/save one.json\n")
    t.until("saved 3 messages", "> ")
    t.type("/undo\n")
    t.until("> ")
    t.type("/save two.json\n")
    t.until("saved 1 messages", "> ")
    t.type("/load one.json\n")
    t.until("loaded 3 messages", "> ")
    t.type("/show\n")
    t.until("user: the ab", "> ")
    t.type("/save three.json\n")
    t.until("saved 3 messages", "> ")
    t.type("/clear\n")
    t.until("> ")
    t.type("/save four.json\n")
    t.until("saved 1 messages", "> ")
    t.type("/quit\n")
    t.end()
    first = saved("one.json")
    equal([m["role"] for m in first], ["system", "user", "assistant"])
    equal(first[1]["content"], "the ab")
    equal(saved("three.json"), first, "saved, loaded and saved again")
    equal(saved("two.json"), first[:1])
    equal(saved("four.json"), first[:1])


@test
def answers_are_those_of_a_pipe():
    """A terminal changes nothing but how lines come; /regen with temperature 0 gives the same answer."""
    piped = rlx_json("chat", tiny_chat(context=2048), "--device", "cpu", "--temperature", "0", "-n", "6", stdin=b"the ab\nab\n")
    t = Terminal()
    t.until("> ")
    for line in ("the ab", "ab", "/regen"):
        t.type(line + "\n")
        t.until("> ")
    t.type("/save s.json\n")
    t.until("saved 4", "> ")
    t.type("/quit\n")
    t.end()
    equal([m["content"] for m in saved("s.json") if m["role"] == "assistant"], [turn["text"] for turn in piped["turns"]])


@test
def several_lines():
    t = Terminal()
    t.until("> ")
    t.type("a \\\n")
    t.until("... ")
    t.type("the\n")
    t.until("> ")
    t.type('"""\n')
    t.until("... ")
    t.type("one\n")
    t.until("... ")
    t.type("\n")
    t.until("... ")
    t.type('two"""\n')
    t.until("> ")
    t.type('"""three"""\n')
    t.until("> ")
    t.type("/save s.json\n")
    t.until("saved 6", "> ")
    t.type("/quit\n")
    t.end()
    equal([m["content"] for m in saved("s.json") if m["role"] == "user"], ["a \nthe", "one\n\ntwo", "three"])


@test
def what_is_wrong_does_not_end_it():
    write("broken.json", '{"messages":[{"role":"king","content":"x"}]}')
    write("cut.json", '{"messages":[{"role":"user","content":"x')
    write("good.json", ' {"messages": [ {"content":"\\u00e4\\ud83d\\ude00\\u0000\\/", "role":"user"} ] } ')
    t = Terminal()
    t.until("> ")
    for line, says in (("/nonsense", "no command"), ("/regen", "no question"), ("/load absent.json", "absent.json"), ("/load broken.json", "expected"),
                       ("/load cut.json", "expected"), ("/save", "takes a file"), ("/save nowhere/x.json", "nowhere"), ("a " * 3000, "context"),
                       ("/help", "/regen"), ("/load good.json", "loaded 1")):
        t.type(line + "\n")
        t.until(says, "> ")
    t.type("/save s.json\n")
    t.until("saved 1", "> ")
    t.type("\x04")  # Ctrl-D
    t.end()
    equal(saved("s.json"), [{"role": "user", "content": "\u00e4\U0001f600\ufffd/"}])


@test
def an_interrupt_ends_an_answer_and_not_the_program():
    t = Terminal("-n", "0", "--ignore-end")  # the last -n counts
    t.until("> ")
    t.type("the\n")
    time.sleep(0.3)
    for _ in range(2):
        t.process.send_signal(signal.SIGINT)
        t.until("> ")
        t.type("ab\n")
        time.sleep(0.3)
    t.process.send_signal(signal.SIGINT)
    t.until("> ")
    t.type("/save s.json\n")
    t.until("saved 6", "> ")
    time.sleep(0.2)
    t.process.send_signal(signal.SIGINT)  # at the prompt it ends the program
    t.end(130)


@test
def lines_are_edited():
    libraries = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    if "libedit.so.2" not in libraries:
        raise Skip("libedit is not installed")
    t = Terminal()
    t.until("> ")
    t.type("the abX\x7f\n")  # backspace
    t.until("> ")
    t.type("\x1b[A\n")  # the line before again
    t.until("> ")
    t.type("/save s.json\n")
    t.until("saved 4", "> ")
    t.type("/quit\n")
    t.end()
    equal([m["content"] for m in saved("s.json") if m["role"] == "user"], ["the ab", "the ab"])


if __name__ == "__main__":
    sys.exit(main())
