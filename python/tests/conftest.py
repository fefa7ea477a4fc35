"""What the tests share: where the tree is, a session on the CPU, and a small graph."""

import pathlib
import signal

import numpy as np
import pytest

import rlx

# A shell may have started this with interrupts ignored (nohup, a job in the background); tests and their processes need them.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def session():
    with rlx.Session("cpu", threads=2) as made:
        yield made


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def layer(batch="B"):
    """softmax(x @ w) with an open batch size."""
    graph = rlx.Graph()
    x = graph.input("x", "f32", (batch, 3))
    w = graph.param("w", "f32", (3, 2))
    graph.output("y", (x @ w).softmax(-1))
    return graph


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def endless(trips=2 ** 40):
    """A graph that runs for years unless something stops it: a loop that only counts."""
    cond, body, graph = rlx.Graph(), rlx.Graph(), rlx.Graph()
    i = cond.input("i", "i64")
    cond.output("go", i >= 0)
    j = body.input("i", "i64")
    body.output("next", (j + 1) % 1000)
    start = graph.input("start", "i64")
    (last,) = rlx.ops.while_(cond, body, [start], carried=1, max_trips=trips)
    graph.output("last", last)
    return graph


def pytest_terminal_summary(terminalreporter):
    """The closing line that tools/test adds up, and a line for each skip."""
    counts = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    for report in terminalreporter.stats.get("skipped", []):
        terminalreporter.write_line(f"SKIP  {report.nodeid}: {report.longrepr[2] if report.longrepr else ''}")
    for report in terminalreporter.stats.get("failed", []) + terminalreporter.stats.get("error", []):
        terminalreporter.write_line(f"FAIL  {report.nodeid}")
    failed = counts["failed"] + counts["error"]
    terminalreporter.write_line(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
