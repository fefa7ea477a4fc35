# The compiled module. Its functions are those of the C headers; cffi checks arguments when they are called.
from typing import Any

ffi: Any
lib: Any
