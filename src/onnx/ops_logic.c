/* Logic, comparison, bits and conversions. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ir/walk.h"
#include "onnx/carry.h"
#include "onnx/ops.h"

typedef rlx_node (*binary_fn)(rlx_graph *g, rlx_node a, rlx_node b);

/* ---- comparison and logic ---- */

static rlx_status compare(onnx_call *c, binary_fn fn) {
  rlx_node a, b;
  RLX_TRY(onnx_operands(c, &a, &b));
  onnx_type t = onnx_in_type(c, 0);
  return onnx_set(c, 0, fn(c->g, onnx_ordered(c, a, t), onnx_ordered(c, b, t)));
}

static rlx_status bits(onnx_call *c, binary_fn fn) {
  rlx_node a, b;
  RLX_TRY(onnx_operands(c, &a, &b));
  return onnx_set_like(c, 0, fn(c->g, a, b), 0);
}

#define COMPARE(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return compare(c, fn); }
#define BITS(name, fn) \
  rlx_status onnx_op_##name(onnx_call *c) { return bits(c, fn); }
BITS(and, rlx_op_and)
BITS(or, rlx_op_or)
BITS(xor, rlx_op_xor)
BITS(bitwise_and, rlx_op_bit_and)
BITS(bitwise_or, rlx_op_bit_or)
BITS(bitwise_xor, rlx_op_bit_xor)
COMPARE(equal, rlx_op_eq)
COMPARE(greater, rlx_op_gt)
COMPARE(greater_or_equal, rlx_op_ge)
COMPARE(less, rlx_op_lt)
COMPARE(less_or_equal, rlx_op_le)

rlx_status onnx_op_not(onnx_call *c) { return onnx_set(c, 0, rlx_op_not(c->g, onnx_in(c, 0))); }

rlx_status onnx_op_where(onnx_call *c) {
  if (onnx_in_type(c, 1) != onnx_in_type(c, 2))
    return RLX_FAIL(RLX_INVALID, "it chooses between %s and %s", onnx_type_name(onnx_in_type(c, 1)),
                    onnx_type_name(onnx_in_type(c, 2)));
  return onnx_set_like(c, 0, rlx_op_where(c->g, onnx_in(c, 0), onnx_in(c, 1), onnx_in(c, 2)), 1);
}

rlx_status onnx_op_is_nan(onnx_call *c) {
  rlx_node x = onnx_in(c, 0);
  return onnx_set(c, 0, rlx_op_ne(c->g, x, x));
}

rlx_status onnx_op_is_inf(onnx_call *c) {
  bool negative, positive;
  rlx_graph *g = c->g;
  onnx_type t = onnx_in_type(c, 0);
  RLX_TRY(onnx_flag(c, "detect_negative", true, &negative));
  RLX_TRY(onnx_flag(c, "detect_positive", true, &positive));
  rlx_node x = onnx_in(c, 0);
  if (negative && positive) x = rlx_op_abs(g, x);
  rlx_node is = rlx_op_eq(g, x, onnx_number(c, t, positive ? RLX_INFINITY : -RLX_INFINITY));
  if (!negative && !positive) is = rlx_op_and(g, is, rlx_op_scalar(g, RLX_BOOL, 0));
  return onnx_set(c, 0, is);
}

/* ---- bits ---- */

rlx_status onnx_op_bitwise_not(onnx_call *c) {
  onnx_type t = onnx_in_type(c, 0);
  rlx_dtype carrier = onnx_dtype(c, 0);
  if (!onnx_type_is_integer(t)) return RLX_FAIL(RLX_INVALID, "the input is %s, expected integers", onnx_type_name(t));
  double all = t == ONNX_UINT8 ? 0xff : t == ONNX_UINT16 ? 0xffff : t == ONNX_UINT32 ? 4294967295.0 : -1.0;
  return onnx_set_like(c, 0, rlx_op_bit_xor(c->g, onnx_in(c, 0), rlx_op_scalar(c->g, carrier, all)), 0);
}

/* Logical shift: by one bit with the sign cleared, then by the rest. */
static rlx_node shift_u64_right(onnx_call *c, rlx_node x, rlx_node by) {
  rlx_graph *g = c->g;
  rlx_node one = onnx_integer(c, 1), none = rlx_op_eq(g, by, onnx_integer(c, 0));
  rlx_node half = rlx_op_bit_and(g, rlx_op_shr(g, x, one), onnx_integer(c, INT64_MAX));
  return rlx_op_where(g, none, x, rlx_op_shr(g, half, rlx_op_sub(g, by, one)));
}

rlx_status onnx_op_bit_shift(onnx_call *c) {
  static const char *const directions[] = {"LEFT", "RIGHT", NULL};
  onnx_type t = onnx_in_type(c, 0);
  int right;
  rlx_node x, by, y;
  if (!onnx_has_attribute(c, "direction")) return RLX_FAIL(RLX_INVALID, "attribute 'direction' is missing");
  RLX_TRY(onnx_word(c, "direction", directions, &right));
  RLX_TRY(onnx_operands(c, &x, &by));
  if (!right) y = onnx_wrap(c, rlx_op_shl(c->g, x, by), t);
  else y = t == ONNX_UINT64 ? shift_u64_right(c, x, by) : rlx_op_shr(c->g, x, by);
  return onnx_set_like(c, 0, y, 0);
}

/* ---- conversions ---- */

static rlx_status cast_to(onnx_call *c, onnx_type to) {
  rlx_node y;
  bool saturate; /* of floats of 8 bits alone */
  RLX_TRY(onnx_flag(c, "saturate", true, &saturate));
  if (to == onnx_in_type(c, 0)) return onnx_set_value(c, 0, c->in[0]), RLX_OK;
  if (onnx_type_is_float8(to)) {
    rlx_node x;
    onnx_type wide =
      onnx_type_is_float(onnx_in_type(c, 0)) ? onnx_in_type(c, 0) : ONNX_DOUBLE; /* integers: rounded once */
    if (onnx_type_is_float8(onnx_in_type(c, 0))) wide = ONNX_FLOAT;
    RLX_TRY(onnx_convert(c, onnx_in(c, 0), onnx_in_type(c, 0), wide, &x));
    return onnx_set_as(c, 0, onnx_to_float8(c, x, to, saturate), to);
  }
  RLX_TRY(onnx_convert(c, onnx_in(c, 0), onnx_in_type(c, 0), to, &y));
  return onnx_set_as(c, 0, y, to);
}

/* The type that an attribute of the first opsets spells. */
static rlx_status type_named(const onnx_call *c, const char *name, onnx_type *out) {
  const char *text;
  RLX_TRY(onnx_text_of(c, name, "", &text));
  for (int t = 0; t < ONNX_TYPES; t++) {
    const char *own = onnx_type_name((onnx_type)t);
    size_t i = 0;
    while (own[i] && (text[i] | 0x20) == own[i]) i++;
    if (!own[i] && !text[i]) return *out = (onnx_type)t, RLX_OK;
  }
  return RLX_FAIL(RLX_INVALID, "attribute '%s' is '%.40s', which is no type", name, text);
}

rlx_status onnx_op_cast(onnx_call *c) {
  int64_t to = ONNX_UNDEFINED;
  if (!onnx_has_attribute(c, "to")) return RLX_FAIL(RLX_INVALID, "attribute 'to' is missing");
  if (c->opset < 6) {
    onnx_type named;
    RLX_TRY(type_named(c, "to", &named));
    return cast_to(c, named);
  }
  RLX_TRY(onnx_int(c, "to", 0, &to));
  if (to <= 0 || to >= ONNX_TYPES)
    return RLX_FAIL(RLX_INVALID, "attribute 'to' is %lld, which is no type", (long long)to);
  return cast_to(c, (onnx_type)to);
}

rlx_status onnx_op_cast_like(onnx_call *c) { return cast_to(c, onnx_in_type(c, 1)); }

/* ---- the same bits as another type ---- */

static uint64_t load_bits(const rlx_tensor *t, size_t i, unsigned width) {
  if (t->dtype == RLX_I32 && width == 2) return (uint16_t)((const int32_t *)t->data)[i];
  uint64_t v = 0;
  memcpy(&v, (const char *)t->data + i * width, width);
  return v;
}

static void store_bits(rlx_tensor *t, size_t i, unsigned width, uint64_t v) {
  if (t->dtype == RLX_I32 && width == 2) ((int32_t *)t->data)[i] = (int32_t)v;
  else memcpy((char *)t->data + i * width, &v, width);
}

/* p: the carrier of the result, and the bytes of an element in ONNX. */
static rlx_status bit_cast(onnx_host_call *h) {
  const rlx_tensor *x = &h->in[0];
  rlx_tensor y = {.dtype = (rlx_dtype)h->p[0], .shape = x->shape};
  RLX_TRY(rlx_tensor_bytes(y.dtype, y.shape, &y.bytes));
  if (!(y.data = rlx_mem_alloc(y.bytes + 1))) return RLX_FAIL(RLX_NO_MEMORY, "BitCast: %zu bytes", y.bytes);
  for (size_t i = 0, n = rlx_tensor_count(x); i < n; i++)
    store_bits(&y, i, (unsigned)h->p[1], load_bits(x, i, (unsigned)h->p[1]));
  h->out[0] = y;
  return RLX_OK;
}

/* Between integers, a conversion that keeps the low bits is that; else it is a step of the host. */
rlx_status onnx_op_bit_cast(onnx_call *c) {
  int64_t to;
  onnx_type from = onnx_in_type(c, 0);
  RLX_TRY(onnx_int(c, "to", 0, &to));
  if (to <= 0 || to >= ONNX_TYPES) return RLX_FAIL(RLX_INVALID, "attribute 'to' is %lld", (long long)to);
  unsigned width = onnx_type_bits(from), wanted = onnx_type_bits((onnx_type)to);
  if (!width || !wanted || width > 64)
    return onnx_refuse(c, "from %s to %s", onnx_type_name(from), onnx_type_name((onnx_type)to));
  if (width != wanted)
    return RLX_FAIL(RLX_INVALID, "%s and %s have not the same width", onnx_type_name(from),
                    onnx_type_name((onnx_type)to));
  bool plain =
    (onnx_type_is_integer(from) || from == ONNX_BOOL) && (onnx_type_is_integer((onnx_type)to) || to == ONNX_BOOL);
  if (plain || from == (onnx_type)to || width < 8) return cast_to(c, (onnx_type)to);
  const int64_t p[ONNX_HOST_NUMBERS] = {onnx_type_carrier((onnx_type)to), width / 8};
  RLX_TRY(onnx_on_host(c, bit_cast, p));
  c->out[0]->type = (onnx_type)to;
  return RLX_OK;
}
