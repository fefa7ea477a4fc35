/* Compiles element-wise nodes: one op, or the body of a region, becomes the steps of a program.
 *
 * Values are registers. If a node's type is narrower than a register (f16 in f32, i8 in 32 bits), its last step also
 * rounds or wraps the value to the type, so a region is bit-identical to its nodes run one by one. A table maps each op
 * to an operation by the kind of its operands, in four columns; casts and quantisation are written out. */
#include <math.h>
#include <string.h>

#include "gpu/pointwise.h"
#include "ir/act.h"
#include "ir/element.h"
#include "ir/walk.h"

enum {
  MAX_NODES = 160, /* in a body, leaves included */
};

typedef struct value { /* a register, and the type it holds */
  uint32_t at;
  rlx_dtype dtype;
} value;

typedef struct builder {
  gpu_lowering *l;
  pw_program *p;
  const rlx_dims *shape; /* the result's */
} builder;

/* ---- kinds ---- */

typedef enum kind {
  FLOATS,
  SIGNED,
  UNSIGNED,
  WIDE,
  KIND_COUNT
} kind; /* of operands; narrow unsigned ones fit signed */

static bool is_wide(rlx_dtype t) { return t == RLX_I64 || t == RLX_C64; }
static kind kind_of(rlx_dtype t) {
  return gpu_is_float(t) ? FLOATS : is_wide(t) ? WIDE : t == RLX_U32 ? UNSIGNED : SIGNED;
}

/* ---- registers ---- */

static value refuse(builder *b, const char *why) {
  gpu_refuse(b->l, why);
  return (value){0, RLX_F32};
}

static value immediate(builder *b, rlx_dtype dtype, uint32_t low, uint32_t high) {
  pw_program *p = b->p;
  for (uint32_t i = 0; i < p->n_immediates; i++)
    if (p->low[i] == low && p->high[i] == high) return (value){PW_FIRST_IMMEDIATE + i, dtype};
  if (p->n_immediates == PW_IMMEDIATES) return refuse(b, "an element-wise region with too many constants");
  p->low[p->n_immediates] = low, p->high[p->n_immediates] = high;
  return (value){PW_FIRST_IMMEDIATE + p->n_immediates++, dtype};
}
static value float_immediate(builder *b, double x) { return immediate(b, RLX_F32, gpu_f32_bits(x), 0); }
static value int_immediate(builder *b, int64_t x) {
  return immediate(b, RLX_I64, (uint32_t)(uint64_t)x, (uint32_t)((uint64_t)x >> 32));
}

/* The type that a step's result is rounded or wrapped to; 0 if a register holds the type unchanged. */
static uint32_t fit_of(rlx_dtype t) {
  bool is_narrow = t == RLX_F16 || t == RLX_BF16 || t == RLX_I8 || t == RLX_U8 || t == RLX_I16;
  return is_narrow ? (uint32_t)t : 0;
}

/* Adds a step with a result of type `to`, rounded or wrapped to `fit`. */
static value step_fit(builder *b, uint32_t op, value x, value y, value z, rlx_dtype to, rlx_dtype fit) {
  pw_program *p = b->p;
  if (gpu_failed(b->l)) return (value){0, to};
  if (p->n_steps == PW_STEPS) return refuse(b, "an element-wise region with too many steps");
  p->is_wide = p->is_wide || is_wide(to);
  p->steps[p->n_steps] = PW_STEP(op, x.at, y.at, z.at, fit_of(fit));
  return (value){PW_FIRST_STEP + p->n_steps++, to};
}
static value step(builder *b, uint32_t op, value x, value y, value z, rlx_dtype to) {
  return step_fit(b, op, x, y, z, to, to);
}
static value step1(builder *b, uint32_t op, value x, rlx_dtype to) { return step(b, op, x, x, x, to); }

static value add_operand(builder *b, gpu_window window, const rlx_type *type, int axis) {
  pw_program *p = b->p;
  if (rlx_dtype_is_block(type->dtype)) return refuse(b, "a block type among element-wise inputs");
  if (p->n_operands == PW_INPUTS) return refuse(b, "an element-wise region with too many inputs");
  pw_operand *o = &p->operands[p->n_operands];
  *o = (pw_operand){.window = window, .dtype = type->dtype};
  if (axis < 0) rlx_broadcast_strides(&type->shape, b->shape, o->stride);
  else o->stride[axis] = 1;
  p->is_wide = p->is_wide || is_wide(type->dtype);
  return (value){p->n_operands++, type->dtype};
}

/* ---- ops that are one step ---- */

static const struct row {
  uint16_t op[KIND_COUNT]; /* 0: none */
  bool swapped;            /* operands in the order b, a */
} rows[RLX_OP_COUNT] = {
  [RLX_OP_gelu] = {{PW_GELU}, false},
  [RLX_OP_gelu_approx] = {{PW_GELU_APPROX}, false},
  [RLX_OP_silu] = {{PW_SILU}, false},
  [RLX_OP_relu] = {{PW_RELU}, false},
  [RLX_OP_sigmoid] = {{PW_SIGMOID}, false},
  [RLX_OP_tanh] = {{PW_TANH}, false},
  [RLX_OP_exp] = {{PW_EXP}, false},
  [RLX_OP_log] = {{PW_LOG}, false},
  [RLX_OP_sqrt] = {{PW_SQRT}, false},
  [RLX_OP_rsqrt] = {{PW_RSQRT}, false},
  [RLX_OP_neg] = {{PW_NEG, PW_NEG_I, PW_NEG_I, PW_NEG_L}, false},
  [RLX_OP_abs] = {{PW_ABS, PW_ABS_I, PW_COPY, PW_ABS_L}, false},
  [RLX_OP_sin] = {{PW_SIN}, false},
  [RLX_OP_cos] = {{PW_COS}, false},
  [RLX_OP_tan] = {{PW_TAN}, false},
  [RLX_OP_round] = {{PW_ROUND}, false},
  [RLX_OP_floor] = {{PW_FLOOR}, false},
  [RLX_OP_ceil] = {{PW_CEIL}, false},
  [RLX_OP_sign] = {{PW_SIGN, PW_SIGN_I, PW_I_TO_BOOL, PW_SIGN_L}, false},
  [RLX_OP_erf] = {{PW_ERF}, false},
  [RLX_OP_softplus] = {{PW_SOFTPLUS}, false},
  [RLX_OP_elu] = {{PW_ELU}, false},
  [RLX_OP_leaky_relu] = {{PW_LEAKY_RELU}, false},
  [RLX_OP_hard_sigmoid] = {{PW_HARD_SIGMOID}, false},
  [RLX_OP_hard_swish] = {{PW_HARD_SWISH}, false},
  [RLX_OP_mish] = {{PW_MISH}, false},
  [RLX_OP_selu] = {{PW_SELU}, false},
  [RLX_OP_add] = {{PW_ADD, PW_ADD_I, PW_ADD_I, PW_ADD_L}, false},
  [RLX_OP_sub] = {{PW_SUB, PW_SUB_I, PW_SUB_I, PW_SUB_L}, false},
  [RLX_OP_mul] = {{PW_MUL, PW_MUL_I, PW_MUL_I, PW_MUL_L}, false},
  [RLX_OP_div] = {{PW_DIV, PW_DIV_I, PW_DIV_U, PW_DIV_L}, false},
  [RLX_OP_max] = {{PW_MAX, PW_MAX_I, PW_MAX_U, PW_MAX_L}, false},
  [RLX_OP_min] = {{PW_MIN, PW_MIN_I, PW_MIN_U, PW_MIN_L}, false},
  [RLX_OP_pow] = {{PW_POW, PW_POW_I, PW_POW_U, PW_POW_L}, false},
  [RLX_OP_mod] = {{PW_MOD, PW_MOD_I, PW_MOD_U, PW_MOD_L}, false},
  [RLX_OP_atan2] = {{PW_ATAN2}, false},
  [RLX_OP_bit_and] = {{0, PW_AND, PW_AND, PW_AND_L}, false},
  [RLX_OP_bit_or] = {{0, PW_OR, PW_OR, PW_OR_L}, false},
  [RLX_OP_bit_xor] = {{0, PW_XOR, PW_XOR, PW_XOR_L}, false},
  [RLX_OP_shl] = {{0, PW_SHL, PW_SHL, PW_SHL_L}, false},
  [RLX_OP_shr] = {{0, PW_SHR_I, PW_SHR_U, PW_SHR_L}, false},
  [RLX_OP_and] = {{0, PW_AND}, false},
  [RLX_OP_or] = {{0, PW_OR}, false},
  [RLX_OP_xor] = {{0, PW_XOR}, false},
  [RLX_OP_eq] = {{PW_EQ, PW_EQ_I, PW_EQ_I, PW_EQ_L}, false},
  [RLX_OP_ne] = {{PW_NE, PW_NE_I, PW_NE_I, PW_NE_L}, false},
  [RLX_OP_lt] = {{PW_LT, PW_LT_I, PW_LT_U, PW_LT_L}, false},
  [RLX_OP_le] = {{PW_LE, PW_LE_I, PW_LE_U, PW_LE_L}, false},
  [RLX_OP_gt] = {{PW_LT, PW_LT_I, PW_LT_U, PW_LT_L}, true},
  [RLX_OP_ge] = {{PW_LE, PW_LE_I, PW_LE_U, PW_LE_L}, true},
  [RLX_OP_not] = {{0, PW_NOT}, false},
  [RLX_OP_fma] = {{PW_FMA}, false},
  [RLX_OP_clamp] = {{PW_CLAMP, PW_CLAMP_I, PW_CLAMP_U, PW_CLAMP_L}, false},
};

/* x converted as by cast to an integer of this type. */
static int64_t saturate(rlx_dtype dtype, double x) {
  int64_t storage = 0;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, x);
  return rlx_load_int(&one, 0);
}
static value min_of(builder *b, rlx_dtype t) { return int_immediate(b, saturate(t, -RLX_INFINITY)); }
static value max_of(builder *b, rlx_dtype t) { return int_immediate(b, saturate(t, RLX_INFINITY)); }

/* Operands of a step that are not inputs of the node: attributes, the bit width of a type. */
static void add_extras(builder *b, const rlx_node_rec *n, value in[3]) {
  rlx_dtype t = in[0].dtype;
  switch (n->op) {
    case RLX_OP_elu: in[1] = float_immediate(b, RLX_ATTRS(elu, n)->alpha); break;
    case RLX_OP_leaky_relu: in[1] = float_immediate(b, RLX_ATTRS(leaky_relu, n)->alpha); break;
    case RLX_OP_hard_sigmoid:
      in[1] = float_immediate(b, RLX_ATTRS(hard_sigmoid, n)->alpha);
      in[2] = float_immediate(b, RLX_ATTRS(hard_sigmoid, n)->beta);
      break;
    case RLX_OP_selu:
      in[1] = float_immediate(b, RLX_ATTRS(selu, n)->alpha);
      in[2] = float_immediate(b, RLX_ATTRS(selu, n)->beta);
      break;
    case RLX_OP_shl:
    case RLX_OP_shr: in[2] = int_immediate(b, 8 * (int64_t)rlx_dtype_size(t)); break;
    case RLX_OP_clamp: {
      double lo = RLX_ATTRS(clamp, n)->lo, hi = RLX_ATTRS(clamp, n)->hi;
      bool is_float = gpu_is_float(t);
      in[1] = is_float ? float_immediate(b, lo) : int_immediate(b, saturate(t, ceil(lo)));
      in[2] = is_float ? float_immediate(b, hi) : int_immediate(b, saturate(t, floor(hi)));
      break;
    }
    default: break;
  }
}

static value build_row(builder *b, const rlx_node_rec *n, const value given[3]) {
  const struct row *row = &rows[n->op];
  value in[3] = {given[0], n->n_in > 1 ? given[1] : given[0], n->n_in > 2 ? given[2] : given[0]};
  uint32_t op = row->op[kind_of(in[0].dtype)];
  if (in[0].dtype == RLX_C64) op = n->op == RLX_OP_eq ? PW_EQ_C : n->op == RLX_OP_ne ? PW_NE_C : 0;
  if (!op) return refuse(b, "no GPU kernel for this op and type");
  add_extras(b, n, in);
  return step(b, op, in[row->swapped ? 1 : 0], in[row->swapped ? 0 : 1], in[2], n->type.dtype);
}

/* ---- casts ---- */

static value cast_from_float(builder *b, value x, rlx_dtype to) {
  if (gpu_is_float(to)) return step1(b, PW_COPY, x, to);
  if (to == RLX_BOOL) return step1(b, PW_F_TO_BOOL, x, to);
  if (to == RLX_I64) return step1(b, PW_F_TO_L, x, to);
  if (to == RLX_U32) return step1(b, PW_F_TO_U, x, to);
  return step(b, PW_F_TO_I, x, min_of(b, to), max_of(b, to), to);
}

/* bf16 has fewer bits than f32 keeps of an integer: it is made through f32 rounded to odd, to avoid double rounding. */
static value cast_to_float(builder *b, value x, rlx_dtype to) {
  bool odd = to == RLX_BF16;
  switch (kind_of(x.dtype)) {
    case WIDE: return step1(b, odd ? PW_L_TO_ODD : PW_L_TO_F, x, to);
    case UNSIGNED: return step1(b, odd ? PW_U_TO_ODD : PW_U_TO_F, x, to);
    default: return step1(b, odd ? PW_I_TO_ODD : PW_I_TO_F, x, to);
  }
}

static value cast_integer(builder *b, value x, rlx_dtype to) {
  kind from = kind_of(x.dtype);
  if (to == RLX_BOOL) return step1(b, from == WIDE ? PW_L_TO_BOOL : PW_I_TO_BOOL, x, to);
  if (from == WIDE) {
    if (to == RLX_U32) return step1(b, PW_L_TO_U, x, to);
    return step(b, PW_L_TO_I, x, min_of(b, to), max_of(b, to), to);
  }
  bool is_unsigned = from == UNSIGNED || x.dtype == RLX_U8 || x.dtype == RLX_BOOL;
  if (to == RLX_I64) return step1(b, is_unsigned ? PW_U_TO_L : PW_I_TO_L, x, to);
  if (to == RLX_U32) return is_unsigned ? step1(b, PW_COPY, x, to) : step(b, PW_MAX_I, x, int_immediate(b, 0), x, to);
  if (from == UNSIGNED) return step(b, PW_MIN_U, x, max_of(b, to), x, to);
  return step(b, PW_CLAMP_I, x, min_of(b, to), max_of(b, to), to);
}

/* Copies all bits unchanged. */
static value copy(builder *b, value x) {
  if (is_wide(x.dtype)) return step(b, PW_WHERE_L, int_immediate(b, 1), x, x, x.dtype);
  return step_fit(b, PW_COPY, x, x, x, x.dtype, RLX_F32);
}

static value build_cast(builder *b, value x, rlx_dtype to) {
  if (x.dtype == to) return copy(b, x);
  if (x.dtype == RLX_C64 || to == RLX_C64) return refuse(b, "a cast of complex numbers");
  if (gpu_is_float(x.dtype)) return cast_from_float(b, x, to);
  return gpu_is_float(to) ? cast_to_float(b, x, to) : cast_integer(b, x, to);
}

/* ---- quantisation and fused ops ---- */

static value build_quantize(builder *b, const rlx_node_rec *n, const value in[3]) {
  rlx_dtype to = n->type.dtype;
  value zero = n->n_in > 2 && n->in[2] ? in[2] : int_immediate(b, 0);
  value code = step_fit(b, PW_QUANTIZE, in[0], in[1], zero, RLX_I32, RLX_I32);
  return to == RLX_I32 ? code : step(b, PW_CLAMP_I, code, min_of(b, to), max_of(b, to), to);
}

static value build_dequantize(builder *b, const rlx_node_rec *n, const value in[3]) {
  rlx_dtype to = n->type.dtype;
  bool has_zero = n->n_in > 2 && n->in[2];
  if (in[0].dtype == RLX_I64) {
    value x = has_zero ? step(b, PW_SUB_L, in[0], in[2], in[0], RLX_I64) : in[0];
    return step(b, PW_MUL, step1(b, PW_L_TO_F, x, RLX_F32), in[1], in[1], to);
  }
  uint32_t op = in[0].dtype == RLX_U32 ? PW_DEQUANTIZE_U : PW_DEQUANTIZE_I;
  return step(b, op, in[0], in[1], has_zero ? in[2] : int_immediate(b, 0), to);
}

static value build_swiglu(builder *b, const rlx_node_rec *n, const value in[3]) {
#define STEP_OF(NAME, op) [RLX_ACT_##NAME] = PW_##NAME,
  static const uint16_t acts[] = {[RLX_ACT_NONE] = 0, RLX_ACTS(STEP_OF)};
#undef STEP_OF
  uint32_t act = acts[RLX_ATTRS(fused_swiglu, n)->act];
  value gate = act ? step1(b, act, in[0], n->type.dtype) : in[0];
  return step(b, PW_MUL, gate, in[1], in[1], n->type.dtype);
}

/* (x - mean) / deviation gamma + beta, rounded to the type once. */
static value build_batch_norm(builder *b, const rlx_node_rec *n, const value in[5]) {
  value eps = float_immediate(b, RLX_ATTRS(batch_norm_inference, n)->eps);
  value centred = step(b, PW_SUB, in[0], in[1], in[1], RLX_F32);
  value deviation = step1(b, PW_SQRT, step(b, PW_ADD, in[2], eps, eps, RLX_F32), RLX_F32);
  value y = step(b, PW_DIV, centred, deviation, deviation, RLX_F32);
  if (n->n_in > 3 && n->in[3]) y = step(b, PW_MUL, y, in[3], in[3], RLX_F32);
  if (n->n_in > 4 && n->in[4]) y = step(b, PW_ADD, y, in[4], in[4], RLX_F32);
  return y; /* the store rounds it to the result's type; this op never occurs inside a region */
}

/* ---- nodes ---- */

static value build_node(builder *b, const rlx_node_rec *n, const value in[5]) {
  rlx_dtype to = n->type.dtype;
  if (to == RLX_F64 || in[0].dtype == RLX_F64) return refuse(b, "f64 runs on the host");
  switch (n->op) {
    case RLX_OP_cast: return build_cast(b, in[0], to);
    case RLX_OP_where: return step_fit(b, is_wide(to) ? PW_WHERE_L : PW_WHERE, in[0], in[1], in[2], to, RLX_F32);
    case RLX_OP_atan: return step(b, PW_ATAN2, in[0], float_immediate(b, 1), in[0], to);
    case RLX_OP_reciprocal: return step(b, PW_DIV, float_immediate(b, 1), in[0], in[0], to);
    case RLX_OP_quantize: return build_quantize(b, n, in);
    case RLX_OP_dequantize: return build_dequantize(b, n, in);
    case RLX_OP_fused_swiglu: return build_swiglu(b, n, in);
    case RLX_OP_batch_norm_inference: return build_batch_norm(b, n, in);
    default: return build_row(b, n, in);
  }
}

/* The axis of the vectors among the inputs; -1: they broadcast from the last axis, as in most ops. */
static int channel_axis(const rlx_node_rec *n) {
  int rank = n->type.shape.n;
  if (n->op == RLX_OP_batch_norm_inference) return 1;
  if (rank == 0) return -1; /* scale and zero are scalars */
  if (n->op == RLX_OP_quantize) return rlx_axis_of(RLX_ATTRS(quantize, n)->axis, rank);
  return n->op == RLX_OP_dequantize ? rlx_axis_of(RLX_ATTRS(dequantize, n)->axis, rank) : -1;
}

static value build_single(builder *b) {
  const rlx_node_rec *n = b->l->node;
  value in[5] = {{0, RLX_F32}};
  int axis = channel_axis(n);
  for (uint32_t i = 0; i < n->n_in && i < 5; i++) {
    const rlx_type *t = gpu_in_type(b->l, i);
    if (!t) continue;
    bool is_vector = i > 0 && axis >= 0 && t->shape.n == 1 && t->shape.v[0] != 1;
    if (i > 0 && n->in[i] == n->in[0] && axis < 0) in[i] = in[0]; /* read once */
    else in[i] = add_operand(b, gpu_in(b->l, i), t, is_vector ? axis : -1);
  }
  return gpu_failed(b->l) ? in[0] : build_node(b, n, in);
}

/* ---- regions ---- */

static value body_constant(builder *b, const rlx_node_rec *n) {
  const rlx_blob *blob = RLX_ATTRS(constant, n)->data;
  rlx_dtype t = n->type.dtype;
  if (rlx_dtype_is_block(t) || t == RLX_F64) return refuse(b, "a region with a constant that is no element");
  rlx_tensor all = {.dtype = t, .shape = n->type.shape, .data = blob->data, .bytes = blob->bytes};
  if (rlx_dims_count(&n->type.shape) == 1 && t != RLX_C64) {
    value v = gpu_is_float(t) ? float_immediate(b, rlx_load(&all, 0)) : int_immediate(b, rlx_load_int(&all, 0));
    return (value){v.at, t};
  }
  uint32_t words[64], n_words = (uint32_t)((blob->bytes + 3) / 4);
  if (blob->bytes > sizeof words) return refuse(b, "a region with a large constant");
  memset(words, 0, sizeof words);
  memcpy(words, blob->data, blob->bytes);
  return add_operand(b, gpu_table(b->l, words, n_words), &n->type, -1);
}

static value body_node(builder *b, const rlx_graph *body, const rlx_node_rec *n, const value *values) {
  value in[5] = {{0, RLX_F32}};
  if (n->n_in > 3) return refuse(b, "no GPU kernel for this op inside a region");
  for (uint32_t i = 0; i < n->n_in; i++) {
    in[i] = values[n->in[i]];
    bool is_scalar = !n->in[i] || rlx_dims_count(&rlx_graph_at(body, n->in[i])->type.shape) == 1;
    if (i > 0 && channel_axis(n) >= 0 && !is_scalar) return refuse(b, "a region with codes per channel");
  }
  return build_node(b, n, in);
}

static value build_region(builder *b) {
  const rlx_graph *body = RLX_ATTRS(region, b->l->node)->body;
  bool needed[MAX_NODES] = {false};
  value values[MAX_NODES] = {{0, RLX_F32}};
  rlx_node last = body->outputs.v[0].node;
  uint32_t input = 0;
  if (rlx_graph_end(body) > MAX_NODES) return refuse(b, "an element-wise region with too many steps");
  needed[last] = true;
  for (rlx_node id = last; id > 0; id--)
    for (uint32_t i = 0; needed[id] && i < rlx_graph_at(body, id)->n_in; i++)
      needed[rlx_graph_at(body, id)->in[i]] = true;
  for (rlx_node id = 1; id <= last && !gpu_failed(b->l); id++) {
    const rlx_node_rec *n = rlx_graph_at(body, id);
    uint32_t at = n->op == RLX_OP_input ? input++ : 0;
    if (!needed[id]) continue;
    if (n->op == RLX_OP_input) values[id] = add_operand(b, gpu_in(b->l, at), &n->type, -1);
    else if (n->op == RLX_OP_constant) values[id] = body_constant(b, n);
    else values[id] = body_node(b, body, n, values);
  }
  return values[last];
}

void pw_build(gpu_lowering *l, pw_program *p) {
  *p = (pw_program){.n_steps = 0};
  builder b = {.l = l, .p = p, .shape = &gpu_out_type(l)->shape};
  value y = l->node->op == RLX_OP_region ? build_region(&b) : build_single(&b);
  if (!gpu_failed(l) && y.at != PW_FIRST_STEP + p->n_steps - 1) y = copy(&b, y); /* an input, or a constant */
  if (gpu_failed(l)) return;
  p->steps[p->n_steps - 1] &= ~PW_STEP(0u, 0u, 0u, 0u, 15u); /* the store converts the result */
}
