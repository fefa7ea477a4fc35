"""Writes the C source of the module rlx._native: every function of the public headers, by cffi.

    make_module.py OUT.c HAS_LM

The build runs it. The declarations are the *.cdef files beside it, which tools/make_python makes of the headers, and
the C compiler checks them against those headers: a declaration that differs does not compile. HAS_LM is 0 where the
library is built without language models; then their functions are left out.
"""

import pathlib
import sys

import cffi

HERE = pathlib.Path(__file__).resolve().parent


def main():
    out, has_lm = sys.argv[1], sys.argv[2] == "1"
    names = ["rlx", "onnx", "experimental", *(["lm"] if has_lm else [])]
    ffi = cffi.FFI()
    for name in [*names, "callbacks", *(["callbacks_lm"] if has_lm else [])]:
        ffi.cdef((HERE / f"{name}.cdef").read_text())
    ffi.set_source("rlx._native", "".join(f"#include <rlx/{name}.h>\n" for name in names))
    ffi.emit_c_code(out)


if __name__ == "__main__":
    main()
