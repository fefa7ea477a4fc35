/* Declarations of the op functions, generated from ops.def. */
#ifndef RLX_ONNX_OPS_H
#define RLX_ONNX_OPS_H

#include "base/str.h"
#include "onnx/import.h"

#define ROW(domain, name, since, until, min, max, fn) rlx_status fn(onnx_call *c);
#define OPEN ROW
#include "onnx/ops.def"
#undef OPEN
#undef ROW

#endif
