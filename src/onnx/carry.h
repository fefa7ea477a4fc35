/* Arithmetic on ONNX's element types in their carrier types, and helpers for op functions.
 *
 * A type that RLX does not have is stored in a carrier of the same or larger width: u16 in i32, u64 in i64 bit for
 * bit, 4-bit and 2-bit integers in 8 bits. Sums and products are then right up to high bits that must be cleared
 * (onnx_wrap). Comparison, division and conversion depend on the ONNX type. */
#ifndef RLX_ONNX_CARRY_H
#define RLX_ONNX_CARRY_H

#include "onnx/import.h"

bool onnx_type_is_float(onnx_type t);
bool onnx_type_is_integer(onnx_type t); /* of any width; not bool */
bool onnx_type_is_float8(onnx_type t);
bool onnx_type_is_unsigned(onnx_type t);
unsigned onnx_type_bits(onnx_type t); /* of an element; 0: no number */

/* A result of +, -, *, << on what carries the type, back in its range. */
rlx_node onnx_wrap(onnx_call *c, rlx_node n, onnx_type t);
/* The same values in an order that the carrier's comparison sees; its own inverse. Only u64 changes. */
rlx_node onnx_ordered(onnx_call *c, rlx_node n, onnx_type t);
/* Constants of rank 0. */
rlx_node onnx_number(onnx_call *c, onnx_type t, double value);
rlx_node onnx_integer(onnx_call *c, int64_t value); /* an i64, all bits of it */
/* As Cast: integers keep their low bits, floats are cut toward zero. Fails (with words) where there is no carrier. */
rlx_node onnx_to_float8(onnx_call *c, rlx_node n, onnx_type to, bool saturate); /* of a float type */
rlx_status onnx_convert(onnx_call *c, rlx_node n, onnx_type from, onnx_type to, rlx_node *out);
rlx_node onnx_divide(onnx_call *c, rlx_node a, rlx_node b, onnx_type t);

/* Where x is f16 or bf16: as f32, for what is made of several nodes and rounded once at the end. And back. */
rlx_node onnx_widen(onnx_call *c, rlx_node x);
rlx_node onnx_narrow(onnx_call *c, rlx_node n, onnx_type t);

/* Inputs 0 and 1, which must have one type, ready to broadcast. Before opset 7 the attributes `broadcast` and `axis`
 * define it. */
rlx_status onnx_operands(onnx_call *c, rlx_node *a, rlx_node *b);
/* Axes of an op that names them in an attribute before opset `since` and in an input from then on; none: n 0. */
rlx_status onnx_axes_given(onnx_call *c, int64_t since, uint32_t input, rlx_dims *axes);
/* Fails if a result of this shape would be unreasonably large. To be called on sizes that come from data before
 * nodes are made. */
rlx_status onnx_check_size(onnx_call *c, const rlx_dims *shape);
rlx_status onnx_same_type(const onnx_call *c, uint32_t n); /* the first n inputs that are there */

#endif
