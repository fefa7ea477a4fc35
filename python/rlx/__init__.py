"""RLX: an ML compiler and runtime. Graphs, ONNX models and language models on any device, with NumPy in and out.

    import rlx
    model = rlx.onnx.load("model.onnx")
    outputs = model.run({"x": array})

    lm = rlx.lm.load("model.gguf")
    for piece in lm.chat([{"role": "user", "content": "What is gravity?"}]):
        print(piece, end="", flush=True)

Modules: rlx.ops (every op by its name), rlx.onnx, rlx.lm, rlx.files, rlx.enums. Errors are rlx.Error, with the library's
`status` and `message`; the subclasses are also Python's own (ValueError, OSError, MemoryError, TimeoutError).
"""

from . import enums, ops
from ._core import (HAS_LM, BusyError, CancelledError, DeviceLostError, Error, Info, InvalidError, IoError, LimitError,
                    Limits, MemoryLimitError, MissingFileError, NoMemoryError, NotFoundError, Tensor, TimeLimitError,
                    UnsupportedError, lib as _lib, set_log, text as _text)
from .enums import DType, LogLevel, Status, Switch
from .graph import Graph, Node
from .program import Completion, Program, compile
from .report import Plan, Report
from .session import Session, States, Weights, absent_backends, default_session, devices
from . import onnx  # noqa: E402

if HAS_LM:
    from . import files, lm

__version__ = _text(_lib.rlx_version())
__all__ = [
    "BusyError", "CancelledError", "Completion", "DType", "DeviceLostError", "Error", "Graph", "HAS_LM", "Info",
    "InvalidError", "IoError", "LimitError", "Limits", "LogLevel", "MemoryLimitError", "MissingFileError",
    "NoMemoryError", "Node", "NotFoundError", "Plan", "Program", "Report", "Session", "States", "Status", "Switch",
    "Tensor", "TimeLimitError", "UnsupportedError", "Weights", "absent_backends", "compile", "default_session",
    "devices", "enums", "onnx", "ops", "set_log", *(["files", "lm"] if HAS_LM else []),
]
