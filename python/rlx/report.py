"""The memory plan and the reports of a program as objects: data, text, and a picture in a notebook."""

from __future__ import annotations

import html
import json
from typing import Any, Callable, Dict, Iterator

from ._core import done, ffi, info, lib, owned_text, sized
from .enums import ReportFormat, ReportKind

__all__ = ["Plan", "Report"]


def fetch(executable: Any, kind: int, form: int) -> str:
    out = ffi.new("char **")
    done(lib.rlx_executable_report(executable, kind, form, out))
    return owned_text(out[0])


class Report:
    """A report as text (str), as data (indexing, dict) and in a notebook."""

    def __init__(self, fetch_one: Callable[[int, int], str], kind: ReportKind):
        self.kind = kind
        # All forms at once: the program may have other sizes, or be closed, when they are looked at.
        self.json: str = fetch_one(kind, ReportFormat.JSON)
        self.data: Any = json.loads(self.json)
        self.text: str = "" if kind == ReportKind.TRACE else fetch_one(kind, ReportFormat.TEXT)

    def __getitem__(self, key: Any) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def keys(self) -> Any:
        return self.data.keys()

    def __str__(self) -> str:
        return self.text or self.json

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.kind.name.lower()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


class Plan(Report):
    """The memory plan: where each value lies, and when. ``svg`` is its picture, ``memory`` its sums in bytes."""

    def __init__(self, fetch_one: Callable[[int, int], str], memory: Dict[str, Any]):
        super().__init__(fetch_one, ReportKind.PLAN)
        self.svg: str = fetch_one(ReportKind.PLAN, ReportFormat.SVG)
        self.memory = memory

    def __repr__(self) -> str:
        m = self.memory
        return f"<Plan: weights {m['weights']}, state {m['state']}, scratch {m['scratch']} bytes>"

    def _repr_html_(self) -> str:
        names = ("weights", "state", "scratch", "lower_bound", "naive")
        cells = "".join(f"<td>{name.replace('_', ' ')}: {self.memory[name]:,} bytes</td>" for name in names)
        return f"<table><tr>{cells}</tr></table>{self.svg}"


def memory_of(executable: Any) -> Dict[str, Any]:
    out = sized("rlx_memory_info")
    done(lib.rlx_executable_memory(executable, out))
    return dict(info(out))


def plan_of(executable: Any) -> Plan:
    return Plan(lambda kind, form: fetch(executable, kind, form), memory_of(executable))


def report_of(executable: Any, kind: ReportKind) -> Report:
    return Report(lambda k, form: fetch(executable, k, form), kind)
