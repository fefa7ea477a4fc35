/* The builder and the description of the op table.
 *
 * Each builder function is called with valid arguments, and the node is compared with its text: op, inputs in order,
 * attributes that are not at their default, type and shape. The same calls are then made on a NULL graph and on a
 * failed one, where all of them must return no node and change nothing. The table at the top names a function for every
 * row of ops.def: a row without its function does not link. */
#include "test.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "faults.h"
#include "ir/text.h"

typedef void (*any_function)(void);
static const any_function builders[] = {
#define OP(name, types, inputs, result, shape, attrs, traits, doc) (any_function) rlx_op_##name,
#include "ir/ops.def"
#undef OP
};

TEST(every_op_has_a_function) {
  CHECK_EQ_INT(sizeof builders / sizeof *builders, rlx_op_table_size());
  for (size_t i = 0; i < sizeof builders / sizeof *builders; i++) CHECK(builders[i] != NULL);
}

/* ---- a node as text: "add(x, _) {axis=1} : f32[2,3]" ---- */

static void write_node(rlx_str *s, const rlx_graph *g, rlx_node id) {
  const rlx_node_rec *n = rlx_graph_at(g, id);
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  rlx_str_add(s, "%s(", row->name);
  for (uint32_t i = 0; i < n->n_in; i++) {
    const char *name = n->in[i] ? rlx_node_name(g, n->in[i]) : "_";
    rlx_str_add(s, "%s%s", i ? ", " : "", name ? name : "?");
  }
  rlx_str_add_char(s, ')');
  const char *before = " {";
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const rlx_attr_field *f = &row->attrs[i];
    if (f->kind == RLX_ATTR_GRAPH || rlx_attr_equal(f, rlx_attr_at(n->attrs, f), rlx_attr_at(row->attrs_default, f)))
      continue;
    rlx_str_add(s, "%s%s=", before, f->name);
    rlx_text_attr(s, g, f, rlx_attr_at(n->attrs, f), 0);
    before = ", ";
  }
  rlx_str_add(s, "%s : ", before[0] == ',' ? "}" : "");
  rlx_text_type(s, g, &n->type);
}

/* ---- the calls, in three settings ---- */

typedef enum setting { GOOD, NO_GRAPH, FAILED_GRAPH } setting;
static setting now;
static bool built[RLX_OP_COUNT];

static void check_built(rlx_graph *g, rlx_node node, const char *expected) {
  if (now != GOOD) {
    if (node != RLX_NONE) FAIL("%s: a node came of it", expected);
    return;
  }
  if (!node) FAIL("%s: %s", expected, rlx_graph_status(g) ? rlx_message() : "no node and no error");
  rlx_str s = {0};
  char *text;
  write_node(&s, g, node);
  CHECK_OK(rlx_str_take(&s, &text));
  bool same = strcmp(text, expected) == 0;
  if (!same) test_report(TEST_FAILED, __FILE__, __LINE__, "expected <%s>, got <%s>", expected, text);
  rlx_free(text);
  built[rlx_graph_at(g, node)->op] = true;
}

#define BUILDS(call, expected)          \
  do {                                  \
    check_built(g, (call), (expected)); \
    if (test_has_failed()) return;      \
  } while (0)

/* Inputs that the sections use, by name; created where g accepts them. */
typedef struct leaves {
  rlx_node x, y, v, n, idx, i, b, c, img, w, vec, q, k, state, q8, draw, s;
} leaves;

static leaves make_leaves(rlx_graph *g) {
  leaves l;
  l.x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
  l.y = rlx_op_input(g, "y", RLX_F32, RLX_DIMS(2, 3));
  l.v = rlx_op_input(g, "v", RLX_F32, RLX_DIMS(3));
  l.n = rlx_op_input(g, "n", RLX_I32, RLX_DIMS(2, 3));
  l.idx = rlx_op_input(g, "idx", RLX_I64, RLX_DIMS(2, 3));
  l.i = rlx_op_input(g, "i", RLX_I32, RLX_DIMS(2));
  l.b = rlx_op_input(g, "b", RLX_BOOL, RLX_DIMS(2, 3));
  l.c = rlx_op_input(g, "c", RLX_C64, RLX_DIMS(2, 8));
  l.img = rlx_op_input(g, "img", RLX_F32, RLX_DIMS(1, 4, 6, 6));
  l.w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(3, 5));
  l.vec = rlx_op_param(g, "vec", RLX_F32, RLX_DIMS(4));
  l.q = rlx_op_input(g, "q", RLX_F32, RLX_DIMS(1, 5, 4, 8));
  l.k = rlx_op_input(g, "k", RLX_F32, RLX_DIMS(1, 7, 2, 8));
  l.state = rlx_op_state(g, "state", RLX_F32, RLX_DIMS(4, 3));
  l.q8 = rlx_op_param(g, "q8", RLX_Q8_0, RLX_DIMS(2, 5, 32));
  l.draw = rlx_op_input(g, "draw", RLX_I64, RLX_SCALAR);
  l.s = rlx_op_input(g, "s", RLX_F32, RLX_SCALAR);
  return l;
}

static void build_leaves(rlx_graph *g, const leaves *l) {
  (void)l;
  BUILDS(rlx_op_input(g, "in", RLX_U32, RLX_DIMS(2)), "input() {name=\"in\", dtype=u32, shape=[2]} : u32[2]");
  BUILDS(rlx_op_param(g, "par", RLX_Q4_K, RLX_DIMS(2, 256)),
         "param() {name=\"par\", dtype=q4_k, shape=[2,256]} : q4_k[2,256]");
  BUILDS(rlx_op_state(g, "st", RLX_F32, RLX_SCALAR), "state() {name=\"st\"} : f32[]");
  BUILDS(rlx_op_constant(g, RLX_F16, RLX_DIMS(2), "\1\2\3\4", 4), "constant() {data=, dtype=f16, shape=[2]} : f16[2]");
  BUILDS(rlx_op_scalar(g, RLX_F64, 0.5), "constant() {data=, dtype=f64} : f64[]");
}

static void build_elementwise(rlx_graph *g, const leaves *l) {
  /* The rows without attributes, as build.c generates them; selu is the one with attributes that has a plain form. */
#define A_FLOAT(name, fallback, doc)
#define PLAIN(attrs) PLAIN_##attrs
#define PLAIN_(name)
#define PLAIN_A_NONE(name) BUILDS(rlx_op_##name(g, l->x), #name "(x) : f32[2,3]");
#define UNARY(name, types, traits, attrs, formula, doc) PLAIN attrs(name)
#include "ir/unary.def"
#undef UNARY
#undef PLAIN_A_NONE
#undef PLAIN_
#undef PLAIN
#undef A_FLOAT
  BUILDS(rlx_op_selu(g, l->x), "selu(x) : f32[2,3]");
  BUILDS(rlx_op_elu(g, l->x, 0.5), "elu(x) {alpha=0.5} : f32[2,3]");
  BUILDS(rlx_op_leaky_relu(g, l->x, 0), "leaky_relu(x) {alpha=0} : f32[2,3]");
  BUILDS(rlx_op_hard_sigmoid(g, l->x, 0.25, 0.125), "hard_sigmoid(x) {alpha=0.25, beta=0.125} : f32[2,3]");
  BUILDS(rlx_op_selu_with(g, l->x, 2, 3), "selu(x) {alpha=2, beta=3} : f32[2,3]");
#define PAIR(name, left, right, type) \
  BUILDS(rlx_op_##name(g, l->left, l->right), #name "(" #left ", " #right ") : " type "[2,3]")
  PAIR(add, x, v, "f32");
  PAIR(sub, x, v, "f32");
  PAIR(mul, x, v, "f32");
  PAIR(div, v, x, "f32");
  PAIR(max, x, v, "f32");
  PAIR(min, x, y, "f32");
  PAIR(pow, x, v, "f32");
  PAIR(mod, x, v, "f32");
  PAIR(atan2, x, v, "f32");
  PAIR(bit_and, n, n, "i32");
  PAIR(bit_or, n, n, "i32");
  PAIR(bit_xor, n, n, "i32");
  PAIR(shl, n, n, "i32");
  PAIR(shr, n, n, "i32");
  PAIR(and, b, b, "bool");
  PAIR(or, b, b, "bool");
  PAIR(xor, b, b, "bool");
  PAIR(eq, x, v, "bool");
  PAIR(ne, x, v, "bool");
  PAIR(lt, x, v, "bool");
  PAIR(le, x, v, "bool");
  PAIR(gt, v, x, "bool");
  PAIR(ge, n, n, "bool");
#undef PAIR
  BUILDS(rlx_op_not(g, l->b), "not(b) : bool[2,3]");
  BUILDS(rlx_op_fma(g, l->x, l->v, l->y), "fma(x, v, y) : f32[2,3]");
  BUILDS(rlx_op_where(g, l->b, l->x, l->v), "where(b, x, v) : f32[2,3]");
  BUILDS(rlx_op_clamp(g, l->x, -1, 6), "clamp(x) {lo=-1, hi=6} : f32[2,3]");
  BUILDS(rlx_op_cast(g, l->x, RLX_BF16), "cast(x) {to=bf16} : bf16[2,3]");
  BUILDS(rlx_op_quantize(g, l->x, l->v, RLX_NONE, RLX_U8, 1), "quantize(x, v) {to=u8, axis=1} : u8[2,3]");
  BUILDS(rlx_op_dequantize(g, l->n, l->v, RLX_NONE, 1), "dequantize(n, v) {axis=1} : f32[2,3]");
}

static void build_products(rlx_graph *g, const leaves *l) {
  rlx_node wt = rlx_op_param(g, "wt", RLX_F16, RLX_DIMS(5, 3)), la = rlx_op_param(g, "la", RLX_F32, RLX_DIMS(3, 2));
  rlx_node lb = rlx_op_param(g, "lb", RLX_F32, RLX_DIMS(2, 5)),
           experts = rlx_op_param(g, "experts", RLX_F32, RLX_DIMS(4, 3, 5));
  rlx_node x32 = rlx_op_input(g, "x32", RLX_F32, RLX_DIMS(2, 32)),
           codes = rlx_op_param(g, "codes", RLX_I8, RLX_DIMS(3, 5));
  rlx_node scale = rlx_op_param(g, "scale", RLX_F32, RLX_DIMS(2, 5)),
           zero = rlx_op_param(g, "zero", RLX_I8, RLX_DIMS(2, 5));
  rlx_node a8 = rlx_op_input(g, "a8", RLX_I8, RLX_DIMS(2, 3)), z8 = rlx_op_input(g, "z8", RLX_I8, RLX_SCALAR);
  rlx_node zu8 = rlx_op_input(g, "zu8", RLX_U8, RLX_SCALAR), bias = rlx_op_param(g, "bias", RLX_I32, RLX_DIMS(5));
  rlx_node x8 = rlx_op_input(g, "x8", RLX_I8, RLX_DIMS(1, 4, 6, 6)),
           w8 = rlx_op_param(g, "w8", RLX_I8, RLX_DIMS(2, 2, 3, 3));
  rlx_node square = rlx_op_input(g, "square", RLX_F32, RLX_DIMS(2, 2));
  BUILDS(rlx_op_matmul(g, l->x, l->w), "matmul(x, w) : f32[2,5]");
  BUILDS(rlx_op_matmul_t(g, l->x, wt), "matmul(x, wt) {trans_b=true} : f32[2,5]");
  BUILDS(rlx_op_dot_general(g, l->x, l->y,
                            &(rlx_op_dot_general_desc){RLX_OP_DOT_GENERAL_DESC_INIT, .batch_a = RLX_DIMS(0),
                                                       .batch_b = RLX_DIMS(0), .contract_a = RLX_DIMS(1),
                                                       .contract_b = RLX_DIMS(1)}),
         "dot_general(x, y) {batch_a=[0], batch_b=[0], contract_a=[1], contract_b=[1]} : f32[2]");
  BUILDS(rlx_op_dot_general(g, l->x, l->v, NULL), "dot_general(x, v) : f32[2,3,3]");
  BUILDS(rlx_op_lora_matmul(g, l->x, wt, la, lb, 0.5, true),
         "lora_matmul(x, wt, la, lb) {scale=0.5, trans_b=true} : f32[2,5]");
  BUILDS(rlx_op_grouped_matmul(g, l->x, experts, l->i, false), "grouped_matmul(x, experts, i) : f32[2,5]");
  BUILDS(rlx_op_dequant_grouped_matmul(g, x32, l->q8, l->i, true), "dequant_grouped_matmul(x32, q8, i) : f32[2,5]");
  BUILDS(rlx_op_dequant_moe_weights(g, l->q8, RLX_NONE, RLX_F16), "dequant_moe_weights(q8) {to=f16} : f16[2,5,32]");
  BUILDS(rlx_op_dequant_moe_weights(g, l->q8, l->i, RLX_F32), "dequant_moe_weights(q8, i) : f32[2,5,32]");
  BUILDS(
    rlx_op_dequant_matmul(g, l->x, codes,
                          &(rlx_op_dequant_matmul_desc){RLX_OP_DEQUANT_MATMUL_DESC_INIT, .scheme = RLX_SCHEME_INT8_ASYM,
                                                        .scale = scale, .zero = zero, .block = 2}),
    "dequant_matmul(x, codes, scale, zero) {scheme=int8_asym, block=2} : f32[2,5]");
  BUILDS(rlx_op_q_matmul(g, a8, codes,
                         &(rlx_op_q_matmul_desc){RLX_OP_Q_MATMUL_DESC_INIT, .a_scale = l->s, .b_scale = l->s,
                                                 .y_scale = l->s, .b_zero = z8, .bias = bias}),
         "q_matmul(a8, codes, s, s, s, _, z8, _, bias) : i8[2,5]");
  BUILDS(rlx_op_q_matmul(g, a8, codes,
                         &(rlx_op_q_matmul_desc){RLX_OP_Q_MATMUL_DESC_INIT, .a_scale = l->s, .b_scale = l->s,
                                                 .y_scale = l->s, .a_zero = z8, .y_zero = zu8, .to = RLX_U8}),
         "q_matmul(a8, codes, s, s, s, z8, _, zu8) {to=u8} : u8[2,5]");
  BUILDS(rlx_op_q_conv2d(g, x8, w8,
                         &(rlx_op_q_conv2d_desc){RLX_OP_Q_CONV2D_DESC_INIT, .x_scale = l->s, .w_scale = l->s,
                                                 .y_scale = l->s, .stride = RLX_DIMS(2, 2), .pad_lo = RLX_DIMS(1, 1),
                                                 .groups = 2}),
         "q_conv2d(x8, w8, s, s, s) {stride=[2,2], pad_lo=[1,1], groups=2} : i8[1,2,3,3]");
  BUILDS(rlx_op_dense_solve(g, square, l->x), "dense_solve(square, x) : f32[2,3]");
}

static void build_attention(rlx_graph *g, const leaves *l) {
  rlx_node mask = rlx_op_input(g, "mask", RLX_BOOL, RLX_DIMS(1, 7)), len = rlx_op_input(g, "len", RLX_I32, RLX_SCALAR);
  rlx_node bias = rlx_op_input(g, "abias", RLX_F32, RLX_DIMS(5, 7)),
           positions = rlx_op_input(g, "pos", RLX_I32, RLX_DIMS(5));
  rlx_node table = rlx_op_param(g, "table", RLX_F32, RLX_DIMS(9, 2)),
           factors = rlx_op_param(g, "factors", RLX_F32, RLX_DIMS(2));
  BUILDS(rlx_op_attention(g, l->q, l->k, l->k, NULL), "attention(q, k, k) : f32[1,5,4,8]");
  BUILDS(rlx_op_attention(g, l->q, l->k, l->k,
                          &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .causal = true, .window = 3,
                                                   .scale = 0.25, .softcap = 30, .sinks = l->vec, .kv_len = len}),
         "attention(q, k, k, _, _, vec, len) {scale=0.25, softcap=30, causal=true, window=3} : f32[1,5,4,8]");
  BUILDS(rlx_op_attention(
           g, l->q, l->k, l->k,
           &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .key_mask = mask, .bias = bias, .kv_offset = len}),
         "attention(q, k, k, mask, abias, _, _, len) : f32[1,5,4,8]");
  rlx_node table_of_pages = rlx_op_input(g, "pages", RLX_I32, RLX_DIMS(1, 3));
  BUILDS(rlx_op_paged_attention(g, l->q, l->k, l->k, table_of_pages, NULL),
         "paged_attention(q, k, k, pages) : f32[1,5,4,8]");
  BUILDS(rlx_op_paged_attention(g, l->q, l->k, l->k, table_of_pages,
                                &(rlx_op_paged_attention_desc){RLX_OP_PAGED_ATTENTION_DESC_INIT, .kv_len = len,
                                                               .kv_offset = len, .sinks = l->vec, .window = 3,
                                                               .scale = 0.25, .softcap = 30, .causal = true}),
         "paged_attention(q, k, k, pages, len, len, vec) {scale=0.25, softcap=30, causal=true, window=3} : "
         "f32[1,5,4,8]");
  BUILDS(rlx_op_rope(g, l->q, NULL), "rope(q) : f32[1,5,4,8]");
  BUILDS(rlx_op_rope(g, l->q,
                     &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .style = RLX_ROPE_GPTJ, .positions = positions,
                                         .factors = factors, .n_rot = 4, .theta = 500}),
         "rope(q, pos, _, factors) {style=gptj, n_rot=4, theta=500} : f32[1,5,4,8]");
  BUILDS(rlx_op_rope(g, l->q,
                     &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .layout = RLX_LAYOUT_BHSD, .offset = len, .cos = table,
                                         .sin = table, .n_rot = 4}),
         "rope(q, _, len, _, table, table) {layout=bhsd, n_rot=4} : f32[1,5,4,8]");
  BUILDS(rlx_op_axial_rope_2d(g, l->q, RLX_LAYOUT_BHSD, RLX_ROPE_NEOX, 2, 100),
         "axial_rope_2d(q) {layout=bhsd, style=neox, width=2, theta=100} : f32[1,5,4,8]");
}

static void build_norms(rlx_graph *g, const leaves *l) {
  BUILDS(rlx_op_layer_norm(g, l->x, l->v, l->v, 1, 1e-6), "layer_norm(x, v, v) {axis=1, eps=1e-06} : f32[2,3]");
  BUILDS(rlx_op_rms_norm(g, l->x, l->v, RLX_NONE, -1, 1e-5), "rms_norm(x, v) : f32[2,3]");
  BUILDS(rlx_op_layer_norm_2d(g, l->img, l->vec, l->vec, 0.5), "layer_norm_2d(img, vec, vec) {eps=0.5} : f32[1,4,6,6]");
  BUILDS(rlx_op_group_norm(g, l->img, RLX_NONE, l->vec, 2, 0.5),
         "group_norm(img, _, vec) {groups=2, eps=0.5} : f32[1,4,6,6]");
  BUILDS(rlx_op_instance_norm(g, l->img, l->vec, l->vec, 0), "instance_norm(img, vec, vec) {eps=0} : f32[1,4,6,6]");
  BUILDS(rlx_op_batch_norm_inference(g, l->img, l->vec, l->vec, l->vec, RLX_NONE, 0.5),
         "batch_norm_inference(img, vec, vec, vec) {eps=0.5} : f32[1,4,6,6]");
  BUILDS(rlx_op_softmax(g, l->x, 0), "softmax(x) {axis=0} : f32[2,3]");
  BUILDS(rlx_op_log_softmax(g, l->x, -1), "log_softmax(x) : f32[2,3]");
}

static void build_reductions(rlx_graph *g, const leaves *l) {
  BUILDS(rlx_op_reduce_sum(g, l->x, RLX_DIMS(0), false), "reduce_sum(x) {axes=[0]} : f32[3]");
  BUILDS(rlx_op_reduce_mean(g, l->x, RLX_DIMS(-1), true), "reduce_mean(x) {axes=[-1], keep=true} : f32[2,1]");
  BUILDS(rlx_op_reduce_max(g, l->n, RLX_SCALAR, false), "reduce_max(n) : i32[]");
  BUILDS(rlx_op_reduce_min(g, l->n, RLX_DIMS(0, 1), true), "reduce_min(n) {axes=[0,1], keep=true} : i32[1,1]");
  BUILDS(rlx_op_reduce_prod(g, l->x, RLX_DIMS(1), false), "reduce_prod(x) {axes=[1]} : f32[2]");
  BUILDS(rlx_op_cumsum(g, l->x, 0, true, false), "cumsum(x) {axis=0, exclusive=true} : f32[2,3]");
  BUILDS(rlx_op_cumprod(g, l->x, 1, false, true), "cumprod(x) {axis=1, reverse=true} : f32[2,3]");
  BUILDS(rlx_op_cummax(g, l->x, -1, false, false), "cummax(x) : f32[2,3]");
  BUILDS(rlx_op_argmax(g, l->x, 0, true, RLX_I32), "argmax(x) {axis=0, keep=true, to=i32} : i32[1,3]");
  BUILDS(rlx_op_argmin(g, l->x, -1, false, RLX_I64), "argmin(x) : i64[2]");
  BUILDS(rlx_op_top_k_values(g, l->x, 2, 0, false), "top_k_values(x) {k=2, axis=0, largest=false} : f32[2,3]");
  BUILDS(rlx_op_top_k_indices(g, l->x, 2, -1, true, RLX_I32), "top_k_indices(x) {k=2, to=i32} : i32[2,2]");
  BUILDS(rlx_op_sort(g, l->x, 0, true), "sort(x) {axis=0, descending=true} : f32[2,3]");
  BUILDS(rlx_op_argsort(g, l->x, -1, false, RLX_I64), "argsort(x) : i64[2,3]");
}

static void build_shapes(rlx_graph *g, const leaves *l) {
  rlx_node xs[] = {l->x, l->y, l->x}, complex_pairs = rlx_op_input(g, "pairs", RLX_F32, RLX_DIMS(3, 2));
  BUILDS(rlx_op_reshape(g, l->x, RLX_DIMS(-1)), "reshape(x) {shape=[-1]} : f32[6]");
  BUILDS(rlx_op_transpose(g, l->x, RLX_DIMS(1, 0)), "transpose(x) {perm=[1,0]} : f32[3,2]");
  BUILDS(rlx_op_slice(g, l->x,
                      &(rlx_op_slice_desc){RLX_OP_SLICE_DESC_INIT, .axes = RLX_DIMS(1), .start = RLX_DIMS(-1),
                                           .stop = RLX_DIMS(-9), .step = RLX_DIMS(-2)}),
         "slice(x) {axes=[1], start=[-1], stop=[-9], step=[-2]} : f32[2,2]");
  BUILDS(rlx_op_slice(g, l->x, NULL), "slice(x) : f32[2,3]");
  BUILDS(rlx_op_narrow(g, l->x, -1, 1, 2), "slice(x) {axes=[-1], start=[1], stop=[3]} : f32[2,2]");
  BUILDS(rlx_op_concat(g, xs, 3, 1), "concat(x, y, x) {axis=1} : f32[2,9]");
  BUILDS(rlx_op_expand(g, l->v, RLX_DIMS(4, -1)), "expand(v) {shape=[4,-1]} : f32[4,3]");
  BUILDS(rlx_op_tile(g, l->x, RLX_DIMS(2, 1)), "tile(x) {reps=[2,1]} : f32[4,3]");
  BUILDS(rlx_op_pad(g, l->x, RLX_DIMS(0, 1), RLX_DIMS(0, 2), RLX_PAD_REFLECT, 0),
         "pad(x) {lo=[0,1], hi=[0,2], mode=reflect} : f32[2,6]");
  BUILDS(rlx_op_pad(g, l->x, RLX_DIMS(0, 1), RLX_DIMS(0, 0), RLX_PAD_CONSTANT, -2),
         "pad(x) {lo=[0,1], hi=[0,0], value=-2} : f32[2,4]");
  BUILDS(rlx_op_reverse(g, l->x, RLX_DIMS(0)), "reverse(x) {axes=[0]} : f32[2,3]");
  BUILDS(rlx_op_roll(g, l->x, RLX_DIMS(1), RLX_DIMS(1)), "roll(x) {shifts=[1], axes=[1]} : f32[2,3]");
  BUILDS(rlx_op_gather(g, l->w, l->idx, 1), "gather(w, idx) {axis=1} : f32[3,2,3]");
  BUILDS(rlx_op_gather_elements(g, l->x, l->idx, 1), "gather_elements(x, idx) {axis=1} : f32[2,3]");
  BUILDS(rlx_op_gather_nd(g, l->state, l->i, 0), "gather_nd(state, i) : f32[]");
  BUILDS(rlx_op_scatter_elements(g, l->x, l->idx, l->y, 1, RLX_SCATTER_MAX),
         "scatter_elements(x, idx, y) {axis=1, reduction=max} : f32[2,3]");
  BUILDS(rlx_op_scatter_nd(g, l->x, l->i, l->s, RLX_SCATTER_ADD), "scatter_nd(x, i, s) {reduction=add} : f32[2,3]");
  BUILDS(rlx_op_scatter_add(g, l->x, l->idx, l->y, 0), "scatter_add(x, idx, y) : f32[2,3]");
  BUILDS(rlx_op_one_hot(g, l->i, 4, 0, 0, 1, RLX_I8), "one_hot(i) {depth=4, axis=0, on=0, off=1, to=i8} : i8[4,2]");
  BUILDS(rlx_op_range(g, 1, 0.5, 7, RLX_F32), "range() {start=1, step=0.5, count=[7], to=f32} : f32[7]");
  BUILDS(rlx_op_trilu(g, l->x, true, -1), "trilu(x) {upper=true, k=-1} : f32[2,3]");
  BUILDS(rlx_op_space_to_depth(g, l->img, 3), "space_to_depth(img) {block=3} : f32[1,36,2,2]");
  BUILDS(rlx_op_depth_to_space(g, l->img, 2, RLX_DEPTH_CRD), "depth_to_space(img) {mode=crd} : f32[1,1,12,12]");
  BUILDS(rlx_op_update(g, l->state, l->x, l->draw, 0), "update(state, x, draw) : f32[4,3]");
  BUILDS(rlx_op_view_as_real(g, l->c), "view_as_real(c) : f32[2,8,2]");
  BUILDS(rlx_op_view_as_complex(g, complex_pairs), "view_as_complex(pairs) : c64[3]");
}

static void build_vision(rlx_graph *g, const leaves *l) {
  rlx_node w = rlx_op_param(g, "cw", RLX_F32, RLX_DIMS(4, 2, 3, 3)),
           grid = rlx_op_input(g, "grid", RLX_F32, RLX_DIMS(1, 2, 3, 2));
  BUILDS(rlx_op_conv(g, l->img, w, l->vec,
                     &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .stride = RLX_DIMS(2, 1), .dilation = RLX_DIMS(1, 2),
                                         .pad_lo = RLX_DIMS(1, 0), .pad_hi = RLX_DIMS(0, 1), .groups = 2}),
         "conv(img, cw, vec) {stride=[2,1], dilation=[1,2], pad_lo=[1,0], pad_hi=[0,1], groups=2} : f32[1,4,3,3]");
  BUILDS(rlx_op_conv(g,
                     rlx_op_slice(g, l->img,
                                  &(rlx_op_slice_desc){RLX_OP_SLICE_DESC_INIT, .axes = RLX_DIMS(1),
                                                       .start = RLX_DIMS(0), .stop = RLX_DIMS(2)}),
                     w, RLX_NONE, NULL),
         "conv(?, cw) : f32[1,4,4,4]");
  BUILDS(rlx_op_conv_transpose(g, l->img, w, RLX_NONE,
                               &(rlx_op_conv_transpose_desc){RLX_OP_CONV_TRANSPOSE_DESC_INIT, .stride = RLX_DIMS(2, 2),
                                                             .output_pad = RLX_DIMS(1, 0), .groups = 2}),
         "conv_transpose(img, cw) {stride=[2,2], output_pad=[1,0], groups=2} : f32[1,4,14,13]");
  BUILDS(rlx_op_pool_max(g, l->img,
                         &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .kernel = RLX_DIMS(3, 3), .stride = RLX_DIMS(2, 2),
                                             .ceil = true}),
         "pool_max(img) {kernel=[3,3], stride=[2,2], ceil=true} : f32[1,4,3,3]");
  BUILDS(
    rlx_op_pool_avg(g, l->img,
                    &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .kernel = RLX_DIMS(2, 2), .dilation = RLX_DIMS(2, 2),
                                        .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1), .count_pad = true}),
    "pool_avg(img) {kernel=[2,2], dilation=[2,2], pad_lo=[1,1], pad_hi=[1,1], count_pad=true} : f32[1,4,3,3]");
  BUILDS(rlx_op_global_pool_max(g, l->img), "pool_max(img) : f32[1,4,1,1]");
  BUILDS(rlx_op_global_pool_avg(g, l->img), "pool_avg(img) : f32[1,4,1,1]");
  BUILDS(
    rlx_op_im2col(g, l->img,
                  &(rlx_op_im2col_desc){RLX_OP_IM2COL_DESC_INIT, .kernel = RLX_DIMS(3, 3), .stride = RLX_DIMS(3, 3)}),
    "im2col(img) {kernel=[3,3], stride=[3,3]} : f32[1,36,4]");
  BUILDS(rlx_op_resize(g, l->img, RLX_DIMS(1, 4, 12, 9),
                       &(rlx_op_resize_desc){RLX_OP_RESIZE_DESC_INIT, .mode = RLX_RESIZE_LINEAR,
                                             .coords = RLX_COORDS_ASYMMETRIC, .scale = {{1, 1, 2, 1.5}, 4}}),
         "resize(img) {size=[1,4,12,9], scale=[1,1,2,1.5], mode=linear, coords=asymmetric} : f32[1,4,12,9]");
  BUILDS(rlx_op_resize(g, l->img, RLX_DIMS(1, 4, 3, 3), NULL), "resize(img) {size=[1,4,3,3]} : f32[1,4,3,3]");
  BUILDS(rlx_op_resize(g, l->img, RLX_DIMS(1, 4, 3, 3),
                       &(rlx_op_resize_desc){RLX_OP_RESIZE_DESC_INIT, .nearest = RLX_NEAREST_CEIL}),
         "resize(img) {size=[1,4,3,3], nearest=ceil} : f32[1,4,3,3]");
  BUILDS(rlx_op_grid_sample(g, l->img, grid, RLX_GRID_CUBIC, RLX_GRID_PADDING_BORDER, true),
         "grid_sample(img, grid) {mode=cubic, padding=border, align_corners=true} : f32[1,4,2,3]");
}

static void build_sequences(rlx_graph *g, const leaves *l) {
  (void)l;
  rlx_node x = rlx_op_input(g, "seq", RLX_F32, RLX_DIMS(5, 2, 3)),
           h0 = rlx_op_input(g, "h0", RLX_F32, RLX_DIMS(1, 2, 4));
  rlx_node rnn[] = {rlx_op_param(g, "r_ih", RLX_F32, RLX_DIMS(4, 3)), rlx_op_param(g, "r_hh", RLX_F32, RLX_DIMS(4, 4)),
                    rlx_op_param(g, "r_bi", RLX_F32, RLX_DIMS(4)), rlx_op_param(g, "r_bh", RLX_F32, RLX_DIMS(4))};
  rlx_node gru[] = {rlx_op_param(g, "g_ih", RLX_F32, RLX_DIMS(12, 3)),
                    rlx_op_param(g, "g_hh", RLX_F32, RLX_DIMS(12, 4)), rlx_op_param(g, "g_bi", RLX_F32, RLX_DIMS(12)),
                    rlx_op_param(g, "g_bh", RLX_F32, RLX_DIMS(12))};
  rlx_node lstm[] = {rlx_op_param(g, "l_ih", RLX_F32, RLX_DIMS(16, 3)),
                     rlx_op_param(g, "l_hh", RLX_F32, RLX_DIMS(16, 4))};
  BUILDS(rlx_op_rnn(g, x, rnn, 4, NULL), "rnn(seq, _, r_ih, r_hh, r_bi, r_bh) {hidden=4} : f32[5,2,4]");
  BUILDS(rlx_op_rnn(g, x, rnn, 2,
                    &(rlx_op_rnn_desc){RLX_OP_RNN_DESC_INIT, .h0 = h0, .hidden = 4, .layers = 1,
                                       .direction = RLX_DIRECTION_REVERSE, .no_bias = true, .act = RLX_RNN_RELU,
                                       .out = RLX_OUT_H}),
         "rnn(seq, h0, r_ih, r_hh) {hidden=4, direction=reverse, bias=false, act=relu, out=h} : f32[1,2,4]");
  BUILDS(
    rlx_op_gru(g, x, gru, 4,
               &(rlx_op_gru_desc){RLX_OP_GRU_DESC_INIT, .batch_first = true, .reset_before = true, .out = RLX_OUT_H}),
    "gru(seq, _, g_ih, g_hh, g_bi, g_bh) {hidden=4, batch_first=true, reset_after=false, out=h} : f32[1,5,4]");
  BUILDS(rlx_op_gru(g, x, gru, 4, NULL), "gru(seq, _, g_ih, g_hh, g_bi, g_bh) {hidden=4} : f32[5,2,4]");
  BUILDS(
    rlx_op_lstm(g, x, lstm, 2, &(rlx_op_lstm_desc){RLX_OP_LSTM_DESC_INIT, .c0 = h0, .no_bias = true, .out = RLX_OUT_C}),
    "lstm(seq, _, h0, l_ih, l_hh) {hidden=4, bias=false, out=c} : f32[1,2,4]");
  rlx_node xs = rlx_op_input(g, "xs", RLX_F32, RLX_DIMS(1, 5, 4)), a = rlx_op_param(g, "a", RLX_F32, RLX_DIMS(4, 2));
  rlx_node bc = rlx_op_input(g, "bc", RLX_F32, RLX_DIMS(1, 5, 2)), d = rlx_op_param(g, "d", RLX_F32, RLX_DIMS(4));
  BUILDS(rlx_op_selective_scan(g, xs, xs, a, bc, bc, d, RLX_NONE, RLX_OUT_Y),
         "selective_scan(xs, xs, a, bc, bc, d) : f32[1,5,4]");
  rlx_node xm = rlx_op_input(g, "xm", RLX_F32, RLX_DIMS(1, 5, 4, 3)),
           bm = rlx_op_input(g, "bm", RLX_F32, RLX_DIMS(1, 5, 2, 6));
  BUILDS(rlx_op_mamba2(g, xm, xs, d, bm, bm, RLX_NONE, RLX_NONE, RLX_OUT_H),
         "mamba2(xm, xs, d, bm, bm) {out=h} : f32[1,4,3,6]");
  BUILDS(rlx_op_gated_delta_net(g, xm, xm, xm, xs, xs, RLX_NONE, RLX_OUT_H),
         "gated_delta_net(xm, xm, xm, xs, xs) {out=h} : f32[1,4,3,3]");
  rlx_node cx = rlx_op_input(g, "cx", RLX_F32, RLX_DIMS(1, 4, 9)),
           cs = rlx_op_input(g, "cs", RLX_F32, RLX_DIMS(1, 4, 1));
  BUILDS(rlx_op_causal_conv(g, cx, a, d, RLX_NONE, RLX_OUT_Y), "causal_conv(cx, a, d) : f32[1,4,9]");
  BUILDS(rlx_op_causal_conv(g, cx, a, RLX_NONE, cs, RLX_OUT_STATE),
         "causal_conv(cx, a, _, cs) {out=state} : f32[1,4,1]");
}

static void build_signal_and_random(rlx_graph *g, const leaves *l) {
  rlx_node sound = rlx_op_input(g, "sound", RLX_F32, RLX_DIMS(32)),
           window = rlx_op_param(g, "window", RLX_F32, RLX_DIMS(8));
  BUILDS(rlx_op_fft(g, l->c, 1, 0, RLX_FFT_BACKWARD), "fft(c) {axis=1} : c64[2,8]");
  BUILDS(rlx_op_ifft(g, l->c, -1, 4, RLX_FFT_ORTHO), "ifft(c) {n=4, norm=ortho} : c64[2,4]");
  BUILDS(rlx_op_rfft(g, l->x, -1, 8, RLX_FFT_FORWARD), "rfft(x) {n=8, norm=forward} : c64[2,5]");
  BUILDS(rlx_op_irfft(g, l->c, -1, 0, RLX_FFT_BACKWARD), "irfft(c) : f32[2,14]");
  BUILDS(rlx_op_stft(g, sound, window, 8, RLX_PAD_REFLECT, NULL), "stft(sound, window) {n_fft=8} : c64[5,17]");
  BUILDS(rlx_op_stft(g, sound, RLX_NONE, 8, RLX_PAD_EDGE,
                     &(rlx_op_stft_desc){RLX_OP_STFT_DESC_INIT, .hop = 4, .no_center = true, .two_sided = true,
                                         .normalized = true}),
         "stft(sound) {n_fft=8, hop=4, center=false, pad=edge, onesided=false, normalized=true} : c64[8,7]");
  BUILDS(rlx_op_rng_uniform(g, RLX_NONE, RLX_DIMS(2, 2), RLX_F16, 7, -1, 1),
         "rng_uniform() {shape=[2,2], to=f16, seed=7, lo=-1} : f16[2,2]");
  BUILDS(rlx_op_rng_normal(g, l->draw, RLX_DIMS(3), RLX_F32, 7, 1, 2),
         "rng_normal(draw) {shape=[3], seed=7, mean=1, std=2} : f32[3]");
  BUILDS(rlx_op_sample(g, l->x, 0, NULL), "sample(x) {temperature=0} : i32[2]");
  BUILDS(rlx_op_sample(g, l->x, 0.5,
                       &(rlx_op_sample_desc){RLX_OP_SAMPLE_DESC_INIT, .draw = l->draw, .top_k = 2, .top_p = 0.5,
                                             .min_p = 0.25, .seed = 3}),
         "sample(x, draw) {temperature=0.5, top_k=2, top_p=0.5, min_p=0.25, seed=3} : i32[2]");
}

static void build_fused(rlx_graph *g, const leaves *l) {
  rlx_node bias = rlx_op_param(g, "fbias", RLX_F32, RLX_DIMS(5)), w2 = rlx_op_param(g, "w2", RLX_F32, RLX_DIMS(3, 5));
  rlx_node tokens = rlx_op_input(g, "tokens", RLX_F32, RLX_DIMS(1, 5, 8)),
           qkv = rlx_op_param(g, "qkv", RLX_F32, RLX_DIMS(16, 8));
  rlx_node out = rlx_op_param(g, "out", RLX_F32, RLX_DIMS(8, 8)),
           b_out = rlx_op_param(g, "b_out", RLX_F32, RLX_DIMS(8));
  BUILDS(rlx_op_fused_matmul_bias_act(g, l->x, l->w, bias, false, RLX_ACT_GELU),
         "fused_matmul_bias_act(x, w, fbias) {act=gelu} : f32[2,5]");
  rlx_node planes = rlx_op_input(g, "planes", RLX_F32, RLX_DIMS(1, 3, 4, 4)),
           kernel = rlx_op_param(g, "kernel", RLX_F32, RLX_DIMS(3, 1, 3, 3));
  BUILDS(rlx_op_fused_conv_bias_act(
           g, planes, kernel, RLX_NONE, planes,
           &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1), .groups = 3},
           RLX_ACT_RELU),
         "fused_conv_bias_act(planes, kernel, _, planes) {pad_lo=[1,1], pad_hi=[1,1], groups=3, act=relu} : "
         "f32[1,3,4,4]");
  BUILDS(rlx_op_fused_residual_norm(g, l->x, l->y, l->v, RLX_NONE, RLX_NORM_LAYER, 1e-5),
         "fused_residual_norm(x, y, v) {kind=layer} : f32[2,3]");
  BUILDS(rlx_op_fused_swiglu(g, l->x, l->y, RLX_ACT_SILU), "fused_swiglu(x, y) : f32[2,3]");
  BUILDS(rlx_op_fused_gate_up(g, l->x, l->w, w2, false, RLX_ACT_NONE), "fused_gate_up(x, w, w2) {act=none} : f32[2,5]");
  BUILDS(rlx_op_fused_norm_matmul(g, l->x, l->w, RLX_NONE, l->v, false, RLX_ACT_RELU, 1e-6),
         "fused_norm_matmul(x, w, _, v) {act=relu, eps=1e-06} : f32[2,5]");
  BUILDS(rlx_op_fused_norm_gate_up(g, l->x, l->w, w2, l->v, false, RLX_ACT_NONE, 1e-5),
         "fused_norm_gate_up(x, w, w2, v) {act=none} : f32[2,5]");
  BUILDS(rlx_op_fused_norm_rope(g, l->q, RLX_NONE, &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .n_rot = 4}, 1e-6),
         "fused_norm_rope(q) {n_rot=4, eps=1e-06} : f32[1,5,4,8]");
  rlx_node past = rlx_op_state(g, "past", RLX_F16, RLX_DIMS(1, 9, 4, 8)),
           at = rlx_op_input(g, "at", RLX_I32, RLX_SCALAR);
  BUILDS(rlx_op_fused_rope_update(g, past, l->q, at, &(rlx_op_rope_desc){RLX_OP_ROPE_DESC_INIT, .style = RLX_ROPE_GPTJ},
                                  true, RLX_NONE, 1e-5),
         "fused_rope_update(past, q, at) {style=gptj, norm=true} : f16[1,9,4,8]");
  rlx_node heads = rlx_op_input(g, "heads", RLX_F32, RLX_DIMS(1, 1, 16, 8));
  BUILDS(rlx_op_fused_rope_attention(g, heads, past, past, at,
                                     &(rlx_op_fused_rope_attention_desc){RLX_OP_FUSED_ROPE_ATTENTION_DESC_INIT,
                                                                         .n_rot = 4, .window = 3, .eps = 1e-5}),
         "fused_rope_attention(heads, past, past, at) {n_rot=4, window=3} : f32[1,1,8,8]");
  BUILDS(
    rlx_op_fused_attention_block(g, tokens, qkv, out,
                                 &(rlx_op_fused_attention_block_desc){RLX_OP_FUSED_ATTENTION_BLOCK_DESC_INIT,
                                                                      .b_out = b_out, .heads = 4, .kv_heads = 2,
                                                                      .trans_b = true, .causal = true}),
    "fused_attention_block(tokens, qkv, out, _, b_out) {heads=4, kv_heads=2, trans_b=true, causal=true} : f32[1,5,8]");
}

/* ---- ops that hold graphs, and custom ---- */

/* One input f32[2,3]; outputs: its exponential and its double. NULL if anything fails. */
static rlx_graph *make_body(void) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_graph_add_output(g, "e", rlx_op_exp(g, x));
  rlx_graph_add_output(g, "d", rlx_op_add(g, x, x));
  if (rlx_graph_finish(g) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

/* n inputs of this type; one output, computed from the first by f. */
static rlx_graph *make_graph(rlx_dims shape, size_t n, rlx_node (*f)(rlx_graph *, rlx_node)) {
  static const char *const names[] = {"p0", "p1", "p2"};
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_node first = RLX_NONE;
  for (size_t i = 0; i < n; i++) {
    rlx_node p = rlx_op_input(g, names[i], RLX_F32, shape);
    if (i == 0) first = p;
  }
  rlx_graph_add_output(g, "y", f(g, first));
  if (rlx_graph_finish(g) == RLX_OK) return g;
  rlx_graph_destroy(g);
  return NULL;
}

static rlx_node is_small(rlx_graph *g, rlx_node x) {
  return rlx_op_lt(g, rlx_op_reduce_sum(g, x, RLX_SCALAR, false), rlx_op_scalar(g, RLX_F32, 100));
}
static rlx_node doubled(rlx_graph *g, rlx_node x) { return rlx_op_add(g, x, x); }

static rlx_status double_shape(rlx_custom_call *call) {
  call->output->dtype = call->inputs[0]->dtype;
  call->output->shape = call->inputs[0]->shape;
  return RLX_OK;
}
static rlx_status double_kernel(rlx_custom_call *call) {
  for (size_t i = 0; i < call->output->bytes / sizeof(float); i++)
    ((float *)call->output->data)[i] = 2 * ((const float *)call->inputs[0]->data)[i];
  return RLX_OK;
}

static void build_control_with(rlx_graph *g, const leaves *l, rlx_graph *body, rlx_graph *twice, rlx_graph *row,
                               rlx_graph *cond) {
  rlx_node yes = rlx_op_input(g, "yes", RLX_BOOL, RLX_SCALAR), outs[2] = {77, 77}, xs[] = {l->x, l->y};
  BUILDS(rlx_op_if(g, yes, body, body, &l->x, 1, outs, 2), "if(yes, x) : f32[2,3]");
  BUILDS(outs[1], "if(yes, x) {index=1} : f32[2,3]");
  BUILDS(rlx_op_while(g, cond, twice, 1, 5, xs, 2, NULL, 0), "while(x, y) {max_trips=5} : f32[2,3]");
  BUILDS(rlx_op_scan(g, row, 0, 1, true, &l->x, 1, outs, 1), "scan(x) {reverse=true} : f32[2,3]");
  BUILDS(rlx_op_region(g, twice, xs, 2), "region(x, y) : f32[2,3]");
  BUILDS(rlx_op_custom(g, "test.double", "fast", &l->x, 1),
         "custom(x) {name=\"test.double\", config=\"fast\"} : f32[2,3]");
}

static void build_control(rlx_graph *g, const leaves *l) {
  rlx_graph *body = make_body(), *twice = make_graph(RLX_DIMS(2, 3), 2, doubled),
            *row = make_graph(RLX_DIMS(3), 1, doubled);
  rlx_graph *cond = make_graph(RLX_DIMS(2, 3), 2, is_small);
  rlx_custom_desc desc = {sizeof desc, "test.double", double_shape, double_kernel, NULL};
  rlx_status s = rlx_custom_register(&desc);
  if (!s) build_control_with(g, l, body, twice, row, cond);
  else test_report(TEST_FAILED, __FILE__, __LINE__, "%s", rlx_message());
  if (!s) s = rlx_custom_unregister("test.double");
  rlx_graph_destroy(body); /* the nodes have their own references */
  rlx_graph_destroy(twice);
  rlx_graph_destroy(row);
  rlx_graph_destroy(cond);
}

static void (*const sections[])(rlx_graph *, const leaves *) = {
  build_leaves, build_elementwise, build_products,  build_attention,         build_norms, build_reductions,
  build_shapes, build_vision,      build_sequences, build_signal_and_random, build_fused, build_control,
};

TEST(every_function_builds_its_node) {
  now = GOOD;
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    rlx_graph *g;
    CHECK_OK(rlx_graph_create(&g));
    leaves l = make_leaves(g);
    sections[i](g, &l);
    if (!test_has_failed()) CHECK_OK(rlx_graph_status(g));
    rlx_graph_destroy(g);
    if (test_has_failed()) return;
  }
  for (uint32_t op = 1; op < RLX_OP_COUNT; op++)
    if (!built[op]) FAIL("no call makes %s", rlx_op_table_get((rlx_op)op)->name);
}

TEST(no_graph_gives_no_node) {
  now = NO_GRAPH;
  leaves l = make_leaves(NULL);
  for (size_t i = 0; i < sizeof sections / sizeof *sections && !test_has_failed(); i++) sections[i](NULL, &l);
  rlx_graph_add_output(NULL, "y", 1);
  CHECK_EQ_INT(rlx_graph_add_symbol(NULL, "B"), RLX_DIM_UNKNOWN);
}

TEST(a_failed_graph_keeps_its_first_error) {
  now = FAILED_GRAPH;
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  leaves l = make_leaves(g);
  uint32_t size = rlx_graph_size(g);
  CHECK_EQ_INT(rlx_op_add(g, l.x, l.w), RLX_NONE);
  for (size_t i = 0; i < sizeof sections / sizeof *sections && !test_has_failed(); i++) sections[i](g, &l);
  rlx_graph_add_output(g, "y", l.x);
  CHECK_EQ_INT(rlx_graph_size(g), size);
  CHECK_EQ_INT(rlx_graph_output_count(g), 0);
  CHECK_FAILS(rlx_graph_finish(g), RLX_INVALID, "(add): shapes [2,3] and [3,5] do not broadcast");
  rlx_graph_destroy(g);
}

/* ---- enums in the order of the table ---- */

typedef struct enum_case {
  const char *op, *attr, *prefix;
  int value;
  const char *constant; /* its spelling in C */
} enum_case;

/* The i-th word of a space-separated list, in capitals. */
static void word_at(const char *names, int i, char *out, size_t cap) {
  for (; i > 0 && *names; i--) names += strcspn(names, " ") + (strchr(names, ' ') != NULL);
  size_t n = strcspn(names, " ");
  for (size_t k = 0; k < n && k + 1 < cap; k++) out[k] = (char)toupper((unsigned char)names[k]);
  out[n < cap ? n : cap - 1] = 0;
}

static int count_words(const char *names) {
  int n = 1;
  for (; *names; names++) n += *names == ' ';
  return n;
}

TEST(enums_are_in_the_order_of_the_table) {
#define E(op, attr, prefix, name) \
  { op, attr, #prefix, (int)prefix##name, #prefix #name }
  /* clang-format off */
  static const enum_case cases[] = {
    E("dequant_matmul", "scheme", RLX_SCHEME_, INT8), E("dequant_matmul", "scheme", RLX_SCHEME_, INT8_ASYM),
    E("dequant_matmul", "scheme", RLX_SCHEME_, INT4), E("dequant_matmul", "scheme", RLX_SCHEME_, FP8_E4M3),
    E("dequant_matmul", "scheme", RLX_SCHEME_, FP8_E5M2), E("dequant_matmul", "scheme", RLX_SCHEME_, NVFP4),
    E("attention", "layout", RLX_LAYOUT_, BSHD), E("attention", "layout", RLX_LAYOUT_, BHSD),
    E("rope", "layout", RLX_LAYOUT_, BSHD), E("rope", "layout", RLX_LAYOUT_, BHSD),
    E("rope", "style", RLX_ROPE_, NEOX), E("rope", "style", RLX_ROPE_, GPTJ),
    E("axial_rope_2d", "layout", RLX_LAYOUT_, BSHD), E("axial_rope_2d", "layout", RLX_LAYOUT_, BHSD),
    E("axial_rope_2d", "style", RLX_ROPE_, NEOX), E("axial_rope_2d", "style", RLX_ROPE_, GPTJ),
    E("pad", "mode", RLX_PAD_, CONSTANT), E("pad", "mode", RLX_PAD_, REFLECT),
    E("pad", "mode", RLX_PAD_, EDGE), E("pad", "mode", RLX_PAD_, WRAP),
    E("stft", "pad", RLX_PAD_, CONSTANT), E("stft", "pad", RLX_PAD_, REFLECT),
    E("stft", "pad", RLX_PAD_, EDGE), E("stft", "pad", RLX_PAD_, WRAP),
    E("scatter_elements", "reduction", RLX_SCATTER_, NONE), E("scatter_elements", "reduction", RLX_SCATTER_, ADD),
    E("scatter_elements", "reduction", RLX_SCATTER_, MUL), E("scatter_elements", "reduction", RLX_SCATTER_, MAX),
    E("scatter_elements", "reduction", RLX_SCATTER_, MIN), E("scatter_nd", "reduction", RLX_SCATTER_, NONE),
    E("scatter_nd", "reduction", RLX_SCATTER_, ADD), E("scatter_nd", "reduction", RLX_SCATTER_, MUL),
    E("scatter_nd", "reduction", RLX_SCATTER_, MAX), E("scatter_nd", "reduction", RLX_SCATTER_, MIN),
    E("depth_to_space", "mode", RLX_DEPTH_, DCR), E("depth_to_space", "mode", RLX_DEPTH_, CRD),
    E("resize", "mode", RLX_RESIZE_, NEAREST), E("resize", "mode", RLX_RESIZE_, LINEAR),
    E("resize", "coords", RLX_COORDS_, HALF_PIXEL), E("resize", "coords", RLX_COORDS_, ALIGN_CORNERS),
    E("resize", "coords", RLX_COORDS_, ASYMMETRIC), E("resize", "coords", RLX_COORDS_, PYTORCH_HALF_PIXEL),
    E("resize", "coords", RLX_COORDS_, HALF_PIXEL_SYMMETRIC),
    E("resize", "nearest", RLX_NEAREST_, ROUND_PREFER_FLOOR), E("resize", "nearest", RLX_NEAREST_, ROUND_PREFER_CEIL),
    E("resize", "nearest", RLX_NEAREST_, FLOOR), E("resize", "nearest", RLX_NEAREST_, CEIL),
    E("grid_sample", "mode", RLX_GRID_, LINEAR), E("grid_sample", "mode", RLX_GRID_, NEAREST),
    E("grid_sample", "mode", RLX_GRID_, CUBIC),
    E("grid_sample", "padding", RLX_GRID_PADDING_, ZEROS), E("grid_sample", "padding", RLX_GRID_PADDING_, BORDER),
    E("grid_sample", "padding", RLX_GRID_PADDING_, REFLECTION),
    E("rnn", "direction", RLX_DIRECTION_, FORWARD), E("rnn", "direction", RLX_DIRECTION_, REVERSE),
    E("rnn", "direction", RLX_DIRECTION_, BOTH),
    E("gru", "direction", RLX_DIRECTION_, FORWARD), E("gru", "direction", RLX_DIRECTION_, REVERSE),
    E("gru", "direction", RLX_DIRECTION_, BOTH),
    E("lstm", "direction", RLX_DIRECTION_, FORWARD), E("lstm", "direction", RLX_DIRECTION_, REVERSE),
    E("lstm", "direction", RLX_DIRECTION_, BOTH),
    E("rnn", "act", RLX_RNN_, TANH), E("rnn", "act", RLX_RNN_, RELU),
    E("rnn", "out", RLX_OUT_, Y), E("rnn", "out", RLX_OUT_, H),
    E("gru", "out", RLX_OUT_, Y), E("gru", "out", RLX_OUT_, H),
    E("lstm", "out", RLX_OUT_, Y), E("lstm", "out", RLX_OUT_, H), E("lstm", "out", RLX_OUT_, C),
    E("selective_scan", "out", RLX_OUT_, Y), E("selective_scan", "out", RLX_OUT_, H), E("mamba2", "out", RLX_OUT_, Y),
    E("mamba2", "out", RLX_OUT_, H), E("gated_delta_net", "out", RLX_OUT_, Y), E("gated_delta_net", "out", RLX_OUT_, H),
    E("causal_conv", "out", RLX_OUT_, Y), E("causal_conv", "out", RLX_OUT_, STATE),
    E("fft", "norm", RLX_FFT_, BACKWARD), E("fft", "norm", RLX_FFT_, FORWARD), E("fft", "norm", RLX_FFT_, ORTHO),
    E("ifft", "norm", RLX_FFT_, BACKWARD), E("ifft", "norm", RLX_FFT_, FORWARD), E("ifft", "norm", RLX_FFT_, ORTHO),
    E("rfft", "norm", RLX_FFT_, BACKWARD), E("rfft", "norm", RLX_FFT_, FORWARD), E("rfft", "norm", RLX_FFT_, ORTHO),
    E("irfft", "norm", RLX_FFT_, BACKWARD), E("irfft", "norm", RLX_FFT_, FORWARD), E("irfft", "norm", RLX_FFT_, ORTHO),
    E("fused_rope_update", "style", RLX_ROPE_, NEOX), E("fused_rope_update", "style", RLX_ROPE_, GPTJ),
    E("fused_rope_attention", "style", RLX_ROPE_, NEOX), E("fused_rope_attention", "style", RLX_ROPE_, GPTJ),
    E("fused_norm_rope", "style", RLX_ROPE_, NEOX), E("fused_norm_rope", "style", RLX_ROPE_, GPTJ),
    E("fused_norm_rope", "layout", RLX_LAYOUT_, BSHD), E("fused_norm_rope", "layout", RLX_LAYOUT_, BHSD),
    E("fused_residual_norm", "kind", RLX_NORM_, RMS), E("fused_residual_norm", "kind", RLX_NORM_, LAYER),
#define ACTS(op)                                                                                    \
    E(op, "act", RLX_ACT_, NONE), E(op, "act", RLX_ACT_, RELU), E(op, "act", RLX_ACT_, GELU),       \
    E(op, "act", RLX_ACT_, GELU_APPROX), E(op, "act", RLX_ACT_, SILU), E(op, "act", RLX_ACT_, SIGMOID), \
    E(op, "act", RLX_ACT_, TANH)
    ACTS("fused_matmul_bias_act"), ACTS("fused_conv_bias_act"), ACTS("fused_swiglu"), ACTS("fused_gate_up"),
    ACTS("fused_norm_matmul"), ACTS("fused_norm_gate_up"),
#undef ACTS
  };
  /* clang-format on */
#undef E
  size_t n_cases = sizeof cases / sizeof *cases, n_words = 0;
  for (uint32_t op = 0; op < rlx_op_table_size(); op++) {
    rlx_op_table_info info = {RLX_OP_TABLE_INFO_INIT};
    CHECK_OK(rlx_op_table_describe(op, &info));
    for (uint32_t i = 0; i < info.n_attributes; i++) {
      rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT};
      CHECK_OK(rlx_op_table_attribute_at(op, i, &a));
      if (strcmp(a.kind, "enum") == 0) n_words += (size_t)count_words(a.names);
    }
  }
  CHECK_EQ_INT(n_cases, n_words); /* every name of every enum has its constant, and the other way round */
  for (size_t i = 0; i < n_cases; i++) {
    const enum_case *c = &cases[i];
    rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT, .name = ""};
    char expected[96], word[64];
    for (uint32_t k = 0; strcmp(a.name, c->attr) != 0; k++)
      CHECK_OK(rlx_op_table_attribute_at(rlx_op_table_find(c->op), k, &a));
    CHECK(c->value >= 0 && c->value < count_words(a.names));
    word_at(a.names, c->value, word, sizeof word);
    snprintf(expected, sizeof expected, "%s%s", c->prefix, word);
    CHECK_EQ_STR(c->constant, expected);
  }
}

/* ---- the table described ---- */

TEST(every_row_can_be_described) {
  for (uint32_t op = 0; op < rlx_op_table_size(); op++) {
    rlx_op_table_info info = {RLX_OP_TABLE_INFO_INIT};
    CHECK_OK(rlx_op_table_describe(op, &info));
    CHECK_EQ_INT(rlx_op_table_find(info.name), op);
    CHECK(info.doc[0] != 0);
    CHECK(strlen(info.types) < sizeof info.types - 1 && strlen(info.traits) < sizeof info.traits - 1);
    CHECK(info.min_inputs <= info.n_inputs && info.max_inputs >= info.n_inputs);
    for (uint32_t i = 0; i < info.n_inputs; i++) {
      rlx_op_table_input in = {RLX_OP_TABLE_INPUT_INIT};
      CHECK_OK(rlx_op_table_input_at(op, i, &in));
      CHECK(in.name && in.type);
    }
    for (uint32_t i = 0; i < info.n_attributes; i++) {
      rlx_op_table_attribute own = {RLX_OP_TABLE_ATTRIBUTE_INIT}, *a = &own;
      CHECK_OK(rlx_op_table_attribute_at(op, i, a));
      bool has_none = strcmp(a->kind, "text") == 0 || strcmp(a->kind, "graph") == 0 || strcmp(a->kind, "data") == 0;
      CHECK(a->name && *a->doc && strlen(a->fallback) < sizeof a->fallback - 1);
      CHECK(has_none == (a->fallback[0] == 0));
      CHECK((strcmp(a->kind, "enum") == 0) == (a->names[0] != 0));
    }
  }
}

static rlx_op_table_input input_of(const char *op, uint32_t i) {
  rlx_op_table_input in = {RLX_OP_TABLE_INPUT_INIT};
  if (rlx_op_table_input_at(rlx_op_table_find(op), i, &in)) in.name = in.type = rlx_message();
  return in;
}

static rlx_op_table_attribute attribute_of(const char *op, uint32_t i) {
  rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT};
  if (rlx_op_table_attribute_at(rlx_op_table_find(op), i, &a)) a.kind = a.names = rlx_message();
  return a;
}

TEST(a_row_is_described_in_full) {
  rlx_op_table_info o = {RLX_OP_TABLE_INFO_INIT};
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("attention"), &o));
  CHECK_EQ_STR(o.types, "f32 f16 bf16 f64");
  CHECK_EQ_STR(o.result, "T");
  CHECK_EQ_INT(o.min_inputs, 3);
  CHECK_EQ_INT(o.max_inputs, 8);
  CHECK_EQ_STR(input_of("attention", 1).name, "k");
  CHECK_EQ_STR(input_of("attention", 1).type, "KV");
  CHECK_EQ_INT(input_of("attention", 1).mode, RLX_INPUT_REQUIRED);
  CHECK_EQ_INT(input_of("attention", 7).mode, RLX_INPUT_OPTIONAL);
  CHECK_EQ_STR(input_of("attention", 7).type, "i32");
  CHECK_EQ_STR(attribute_of("attention", 0).kind, "enum");
  CHECK_EQ_STR(attribute_of("attention", 0).names, "bshd bhsd");
  CHECK_EQ_STR(attribute_of("attention", 0).fallback, "bshd");
  CHECK_EQ_STR(attribute_of("attention", 3).fallback, "false");
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("concat"), &o));
  CHECK_EQ_INT(input_of("concat", 0).mode, RLX_INPUT_MANY);
  CHECK_EQ_INT(o.max_inputs, UINT32_MAX);
  CHECK_EQ_STR(o.types, "f32 f16 bf16 f64 i8 u8 i16 i32 u32 i64 bool c64 u16 u64 f8e4m3 f8e5m2");
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("clamp"), &o));
  CHECK_EQ_STR(attribute_of("clamp", 0).fallback, "-inf");
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("relu"), &o));
  CHECK_EQ_STR(o.traits, "pointwise in_place composite");
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("cast"), &o));
  CHECK_EQ_STR(o.result, "TO");
  CHECK_EQ_STR(attribute_of("cast", 0).fallback, "f32");
  CHECK_OK(rlx_op_table_describe(rlx_op_table_find("reduce_sum"), &o));
  CHECK_EQ_STR(attribute_of("reduce_sum", 0).fallback, "[]");
}

TEST(describing_refuses_bad_calls) {
  rlx_op_table_info o = {RLX_OP_TABLE_INFO_INIT};
  rlx_op_table_input in = {RLX_OP_TABLE_INPUT_INIT};
  rlx_op_table_attribute a = {RLX_OP_TABLE_ATTRIBUTE_INIT};
  uint32_t add = rlx_op_table_find("add");
  CHECK_FAILS(rlx_op_table_input_at(add, 0, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_op_table_input_at(add, 2, &in), RLX_INVALID, "add has 2 inputs, not 3");
  CHECK_FAILS(rlx_op_table_input_at(UINT32_MAX, 0, &in), RLX_INVALID, "there is no op");
  CHECK_FAILS(rlx_op_table_attribute_at(add, 0, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_op_table_attribute_at(add, 0, &a), RLX_INVALID, "add has 0 attributes, not 1");
  CHECK_FAILS(rlx_op_table_attribute_at(UINT32_MAX, 0, &a), RLX_INVALID, "there is no op");
  CHECK_FAILS(rlx_op_table_describe(0, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_op_table_describe(rlx_op_table_size(), &o), RLX_INVALID, "there is no op");
  CHECK(o.name == NULL && o.n_inputs == 0);
  CHECK_EQ_INT(rlx_op_table_find(NULL), rlx_op_table_size());
  CHECK_EQ_INT(rlx_op_table_find(""), rlx_op_table_size());
  CHECK_EQ_INT(rlx_op_table_find("invalid"), rlx_op_table_size());
  CHECK_EQ_INT(rlx_op_table_find("ADD"), rlx_op_table_size());
}

/* ---- nodes of other graphs ---- */

/* Every op rejects a foreign node at every input, whatever the other inputs are. */
TEST(no_op_takes_a_node_of_another_graph) {
  rlx_graph *other;
  CHECK_OK(rlx_graph_create(&other));
  rlx_node foreign = rlx_op_input(other, "x", RLX_F32, RLX_DIMS(2, 3));
  for (uint32_t op = 0; op < rlx_op_table_size(); op++) {
    rlx_op_table_info info = {RLX_OP_TABLE_INFO_INIT};
    CHECK_OK(rlx_op_table_describe(op, &info));
    for (uint32_t at = 0; at < info.n_inputs; at++) {
      rlx_graph *g;
      rlx_node in[RLX_OP_MAX_INPUTS];
      CHECK_OK(rlx_graph_create(&g));
      rlx_node own = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
      CHECK((uint32_t)own == (uint32_t)foreign && own != foreign); /* the same number */
      for (uint32_t i = 0; i < info.n_inputs; i++) in[i] = i == at ? foreign : own;
      CHECK_EQ_INT(rlx_graph_add(g, (rlx_op)(op + 1), in, info.n_inputs, NULL), 0);
      CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "is node 1 of another graph");
      rlx_graph_destroy(g);
    }
  }
  rlx_graph_destroy(other);
}

/* The same through functions of the header: plain inputs, lists, fields of structs, outputs, several values. */
TEST(no_builder_takes_a_node_of_another_graph) {
  rlx_graph *other;
  CHECK_OK(rlx_graph_create(&other));
  rlx_node no = rlx_op_input(other, "x", RLX_F32, RLX_DIMS(1, 2, 2, 4));
#define MIXES(call)                                                    \
  do {                                                                 \
    rlx_graph *g;                                                      \
    CHECK_OK(rlx_graph_create(&g));                                    \
    rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, 2, 2, 4));  \
    CHECK(x != no);                                                    \
    call;                                                              \
    CHECK_FAILS(rlx_graph_status(g), RLX_INVALID, "of another graph"); \
    rlx_graph_destroy(g);                                              \
  } while (0)
  MIXES(rlx_op_relu(g, no));
  MIXES(rlx_op_matmul(g, x, no));
  MIXES(rlx_op_narrow(g, no, 0, 0, 1));
  MIXES(rlx_op_reduce_log_sum_exp(g, no, RLX_DIMS(0), false));
  MIXES(rlx_op_concat(g, ((rlx_node[]){x, no}), 2, 0));
  MIXES(rlx_op_attention(g, x, x, x, &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .bias = no}));
  MIXES(rlx_op_attention(g, x, x, no, NULL));
  MIXES(rlx_op_rnn(g, x, ((rlx_node[]){x, no, x, x}), 4, NULL));
  MIXES(rlx_op_sample(g, x, 1, &(rlx_op_sample_desc){RLX_OP_SAMPLE_DESC_INIT, .draw = no}));
  MIXES(rlx_graph_add_output(g, "y", no));
  MIXES(rlx_graph_add_output(g, "y", (uint32_t)x)); /* a number alone names no graph */
  MIXES(rlx_op_relu(g, (uint32_t)x));
#undef MIXES
  rlx_graph_destroy(other);
}

TEST(looking_takes_a_graphs_own_nodes_and_their_numbers) {
  rlx_graph *g, *other, *parsed;
  char *text;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)), y = rlx_op_relu(g, x);
  rlx_graph_add_output(g, "y", y);
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_create(&other));
  rlx_node z = rlx_op_input(other, "z", RLX_F32, RLX_DIMS(2, 3));
  CHECK(rlx_graph_find(g, "x") == x && rlx_graph_output_at(g, 0, NULL) == y && rlx_node_input_at(g, y, 0) == x);
  CHECK_EQ_STR(rlx_node_op(g, y), "relu");
  CHECK_EQ_STR(rlx_node_op(g, (uint32_t)y), "relu");
  CHECK(rlx_node_op(g, z) == NULL && rlx_node_name(g, z) == NULL && rlx_node_input_count(g, z) == 0);
  CHECK_OK(rlx_graph_print(g, &text));
  CHECK_OK(rlx_graph_parse(text, strlen(text), &parsed)); /* a parsed graph has its own nodes as well */
  rlx_free(text);
  CHECK(rlx_graph_find(parsed, "x") != x && (uint32_t)rlx_graph_find(parsed, "x") == (uint32_t)x);
  CHECK(rlx_node_op(parsed, x) == NULL && rlx_node_op(g, rlx_graph_find(parsed, "x")) == NULL);
  rlx_graph_destroy(parsed);
  rlx_graph_destroy(other);
  rlx_graph_destroy(g);
}

/* ---- functions with checks of their own ---- */

/* Each expression must fail on a fresh graph with this message. */
#define REFUSED(expr, part)                            \
  do {                                                 \
    rlx_graph *g;                                      \
    CHECK_OK(rlx_graph_create(&g));                    \
    leaves l = make_leaves(g);                         \
    (void)l;                                           \
    rlx_node refused_node_ = (expr);                   \
    rlx_status refused_status_ = rlx_graph_status(g);  \
    rlx_graph_destroy(g);                              \
    CHECK_EQ_INT(refused_node_, RLX_NONE);             \
    CHECK_FAILS(refused_status_, RLX_INVALID, (part)); \
  } while (0)

TEST(lists_may_not_be_null) {
  REFUSED(rlx_op_concat(g, NULL, 2, 0), "rlx_op_concat: the list of 2 inputs is NULL");
  REFUSED(rlx_op_region(g, NULL, NULL, 1), "rlx_op_region: the list of 1 inputs is NULL");
  REFUSED(rlx_op_rnn(g, l.x, NULL, 4, NULL), "rlx_op_rnn: the list of 4 inputs is NULL");
  REFUSED(rlx_op_gru(g, l.x, NULL, 4, NULL), "rlx_op_gru: the list of 4 inputs is NULL");
  REFUSED(rlx_op_lstm(g, l.x, NULL, 4, NULL), "rlx_op_lstm: the list of 4 inputs is NULL");
  REFUSED(rlx_op_custom(g, "x", NULL, NULL, 1), "rlx_op_custom: the list of 1 inputs is NULL");
  REFUSED(rlx_op_if(g, l.b, NULL, NULL, NULL, 1, NULL, 0), "rlx_op_if: the list of 1 inputs is NULL");
  REFUSED(rlx_op_while(g, NULL, NULL, 1, 0, NULL, 1, NULL, 0), "rlx_op_while: the list of 1 inputs is NULL");
  REFUSED(rlx_op_scan(g, NULL, 0, 1, false, NULL, 1, NULL, 0), "rlx_op_scan: the list of 1 inputs is NULL");
  REFUSED(rlx_op_if(g, l.b, NULL, NULL, NULL, 0, NULL, 2), "rlx_op_if: outs is NULL but n_outs is 2");
  REFUSED(rlx_op_concat(g, &l.x, SIZE_MAX, 0), "are too many");
  REFUSED(rlx_op_concat(g, NULL, 0, 0), "(concat): takes at least 1 input, got 0");
  REFUSED(rlx_op_if(g, l.b, NULL, NULL, NULL, 0, NULL, 0), "(if): on_true is missing");
}

TEST(narrow_stays_inside) {
  REFUSED(rlx_op_narrow(g, l.x, 1, 2, 2),
          "rlx_op_narrow of node 1: 2 elements from 2 on are not inside axis 1 of [2,3]");
  REFUSED(rlx_op_narrow(g, l.x, 1, -1, 1), "1 elements from -1");
  REFUSED(rlx_op_narrow(g, l.x, 1, 1, -1), "-1 elements from 1");
  REFUSED(rlx_op_narrow(g, l.x, 2, 0, 1), "axis 2 is not in -2..1");
  REFUSED(rlx_op_narrow(g, l.x, 1, INT64_MAX, INT64_MAX), "are not inside");
  REFUSED(rlx_op_narrow(g, 999, 0, 0, 1), "node 999 of another graph");
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  int64_t b = rlx_graph_add_symbol(g, "B");
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(b, 3));
  rlx_graph_add_output(g, "two", rlx_op_narrow(g, x, 0, 0, 2));
  rlx_graph_add_output(g, "all", rlx_op_narrow(g, x, 0, 0, b));
  rlx_graph *bound;
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_graph_bind(g, &(rlx_binding){"B", 5}, 1, &bound));
  CHECK_EQ_INT(rlx_node_shape(bound, rlx_graph_output_at(bound, 0, NULL)).v[0], 2);
  CHECK_EQ_INT(rlx_node_shape(bound, rlx_graph_output_at(bound, 1, NULL)).v[0], 5);
  rlx_graph_destroy(bound);
  rlx_graph_destroy(g);
}

TEST(counting_padding_is_for_means) {
  REFUSED(rlx_op_pool_max(g, l.img, &(rlx_op_pool_desc){RLX_OP_POOL_DESC_INIT, .count_pad = true}),
          "count_pad is for pool_avg");
}

TEST(constants_are_checked) {
  float two[2] = {1, 2};
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(2), NULL, 8), "(constant): the data is NULL");
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(2), two, 7), "(constant): f32[2] needs 8 bytes, got 7");
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(2), two, SIZE_MAX), "needs 8 bytes");
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(-2), two, 8), "is negative");
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(INT64_MAX, INT64_MAX), two, 8), "overflow");
  REFUSED(rlx_op_constant(g, (rlx_dtype)99, RLX_DIMS(2), two, 8), "unknown dtype 99");
  REFUSED(rlx_op_constant(g, RLX_F32, ((rlx_dims){.n = 9}), two, 8), "rank 9");
  REFUSED(rlx_op_constant(g, RLX_F32, RLX_DIMS(rlx_graph_add_symbol(g, "B")), two, 8), "is not bound to a number");
  REFUSED(rlx_op_constant(g, RLX_BOOL, RLX_DIMS(2), "\1\2", 2), "element 1 of a bool constant is 2");
  REFUSED(rlx_op_constant(g, RLX_Q8_0, RLX_DIMS(31), two, 8), "not a multiple of the block of 32");
  REFUSED(rlx_op_scalar(g, RLX_Q8_0, 1), "rlx_op_scalar: q8_0 is not an element type");
  REFUSED(rlx_op_scalar(g, (rlx_dtype)-1, 1), "is not an element type");
  REFUSED(rlx_op_scalar(g, RLX_I8, 128), "rlx_op_scalar: 128 is not a value of i8");
  REFUSED(rlx_op_scalar(g, RLX_I64, 0x1p63), "is not a value of i64");
  REFUSED(rlx_op_scalar(g, RLX_U32, -1), "-1 is not a value of u32");
  REFUSED(rlx_op_scalar(g, RLX_U64, -1), "-1 is not a value of u64");
  REFUSED(rlx_op_scalar(g, RLX_U64, 0x1p64), "is not a value of u64");
  REFUSED(rlx_op_lt(g, rlx_op_scalar(g, RLX_U64, 1), rlx_op_scalar(g, RLX_U64, 2)), "compares u64 for equality only");
  REFUSED(rlx_op_add(g, rlx_op_scalar(g, RLX_F8E4M3, 1), rlx_op_scalar(g, RLX_F8E4M3, 2)), "does not take f8e4m3");
  REFUSED(rlx_op_scalar(g, RLX_I32, 0.5), "0.5 is not a value of i32");
  REFUSED(rlx_op_scalar(g, RLX_I32, (double)NAN), "nan is not a value of i32");
  REFUSED(rlx_op_scalar(g, RLX_BOOL, 2), "2 is not a value of bool");
}

/* The bytes of a scalar constant, from the graph. */
static void check_scalar(rlx_dtype dtype, double value, const void *bytes, size_t n) {
  rlx_graph *g;
  CHECK_OK(rlx_graph_create(&g));
  rlx_node node = rlx_op_scalar(g, dtype, value);
  CHECK_OK(rlx_graph_status(g));
  CHECK_EQ_INT(rlx_node_dtype(g, node), dtype);
  CHECK_EQ_INT(rlx_node_shape(g, node).n, 0);
  const rlx_blob *b = RLX_ATTRS(constant, rlx_graph_at(g, node))->data;
  bool same = b->bytes == n && memcmp(b->data, bytes, n) == 0;
  rlx_graph_destroy(g);
  if (!same) FAIL("%g as %s has other bytes", value, rlx_dtype_name(dtype));
}

TEST(a_scalar_has_the_bytes_of_its_type) {
#define SCALAR(dtype, type, value) check_scalar(dtype, (double)(value), &(type){value}, sizeof(type))
  SCALAR(RLX_F32, float, -0.0f);
  SCALAR(RLX_F32, float, 0.1f);
  SCALAR(RLX_F64, double, 0.1);
  SCALAR(RLX_I8, int8_t, -128);
  SCALAR(RLX_U8, uint8_t, 255);
  SCALAR(RLX_I16, int16_t, -32768);
  SCALAR(RLX_I32, int32_t, -7);
  SCALAR(RLX_U32, uint32_t, 4294967295u);
  SCALAR(RLX_I64, int64_t, INT64_MIN);
  SCALAR(RLX_BOOL, uint8_t, 1);
  SCALAR(RLX_U16, uint16_t, 65535);
  SCALAR(RLX_U64, uint64_t, UINT64_C(1) << 63);
#undef SCALAR
  uint16_t f16 = 0x3555, bf16 = 0x3eab; /* a third, rounded to nearest even */
  float complex_two[2] = {2, 0};
  check_scalar(RLX_F16, 1.0 / 3, &f16, 2);
  check_scalar(RLX_BF16, 1.0 / 3, &bf16, 2);
  check_scalar(RLX_C64, 2, complex_two, 8);
  check_scalar(RLX_F8E4M3, -1.5, &(uint8_t){0xbc}, 1);
  check_scalar(RLX_F8E5M2, 1e9, &(uint8_t){0x7b}, 1);
}

/* ---- functions made of several nodes, by their values ---- */

typedef rlx_node (*reduction)(rlx_graph *, rlx_node, rlx_dims, bool);

/* x [2, 3] reduced over axis 1, kept or not. */
static void check_reduction(reduction f, const float x[6], const float expected[2], bool keep) {
  rlx_graph *g;
  rlx_evaluator *e;
  rlx_tensor y, in = {RLX_F32, RLX_DIMS(2, 3), {.const_data = x}, 24};
  CHECK_OK(rlx_graph_create(&g));
  rlx_graph_add_output(g, "y", f(g, rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3)), RLX_DIMS(1), keep));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_evaluator_create(g, &e));
  CHECK_OK(rlx_evaluator_set(e, "x", &in));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_evaluator_get(e, "y", &y));
  CHECK_EQ_INT(y.shape.n, keep ? 2 : 1);
  CHECK_EQ_INT(y.bytes, 8);
  const float *found = y.data;
  for (int i = 0; i < 2; i++)
    if (!(found[i] == expected[i] || fabsf(found[i] - expected[i]) <= 1e-6f * fabsf(expected[i]) ||
          (isnan(found[i]) && isnan(expected[i]))))
      FAIL("row %d is %g, expected %g", i, (double)found[i], (double)expected[i]);
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
}

TEST(composed_reductions_have_their_values) {
  const float inf = INFINITY, x[6] = {1, -2, 2, 0, 3, -4}, l1[2] = {5, 7}, l2[2] = {3, 5}, squares[2] = {9, 25};
  const float positive[6] = {1, 2, 4, 1, 0, 0}, log_sum[2] = {1.9459101f, 0};
  const float large[6] = {1000, 1000, -inf, -1000, -1000, -1000}, log_sum_exp[2] = {1000.6931f, -998.90139f};
  const float odd[6] = {-inf, -inf, -inf, inf, 0, -inf}, odd_result[2] = {-inf, inf};
  const float not_numbers[6] = {NAN, 0, 0, inf, NAN, 1}, nan_result[2] = {NAN, NAN};
  for (int keep = 0; keep < 2 && !test_has_failed(); keep++) {
    check_reduction(rlx_op_reduce_l1, x, l1, keep);
    check_reduction(rlx_op_reduce_l2, x, l2, keep);
    check_reduction(rlx_op_reduce_sum_square, x, squares, keep);
    check_reduction(rlx_op_reduce_log_sum, positive, log_sum, keep);
    check_reduction(rlx_op_reduce_log_sum_exp, large, log_sum_exp, keep);
    check_reduction(rlx_op_reduce_log_sum_exp, odd, odd_result, keep);
    check_reduction(rlx_op_reduce_log_sum_exp, not_numbers, nan_result, keep);
  }
}

/* Squares and sums of these exceed the range of f16, the results do not. */
static void check_half(reduction f, double a, double b, double expected) {
  rlx_graph *g;
  rlx_evaluator *e;
  uint16_t x[2] = {rlx_f64_to_f16(a), rlx_f64_to_f16(b)};
  rlx_tensor y, in = {RLX_F16, RLX_DIMS(2), {x}, sizeof x};
  CHECK_OK(rlx_graph_create(&g));
  rlx_graph_add_output(g, "y", f(g, rlx_op_input(g, "x", RLX_F16, RLX_DIMS(2)), RLX_DIMS(0), false));
  CHECK_OK(rlx_graph_finish(g));
  CHECK_OK(rlx_evaluator_create(g, &e));
  CHECK_OK(rlx_evaluator_set(e, "x", &in));
  CHECK_OK(rlx_evaluator_run(e));
  CHECK_OK(rlx_evaluator_get(e, "y", &y));
  CHECK_EQ_INT(y.dtype, RLX_F16);
  CHECK_EQ_INT(*(const uint16_t *)y.data, rlx_f64_to_f16(expected));
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
}

TEST(composed_reductions_of_f16_round_once) {
  check_half(rlx_op_reduce_l2, 300, -400, 500);
  check_half(rlx_op_reduce_l2, 0x1p-13, 0, 0x1p-13);
  check_half(rlx_op_reduce_sum_square, 0x1.8p-13, 0x1.8p-13, 0x1.2p-24); /* each square alone rounds up to 0x1p-24 */
  check_half(rlx_op_reduce_log_sum, 60000, 60000, log(120000));
  check_half(rlx_op_reduce_log_sum_exp, 60000, 0, 60000);
  check_half(rlx_op_reduce_l1, -0.5, 3, 3.5);
}

/* ---- failing allocations ---- */

static rlx_status build_a_bit_of_everything(void *user) {
  (void)user;
  rlx_graph *g, *body = NULL;
  RLX_TRY(rlx_graph_create(&g));
  leaves l = make_leaves(g);
  rlx_node outs[2], xs[] = {l.x, l.y};
  rlx_graph_add_output(g, "cat", rlx_op_concat(g, xs, 2, 0));
  rlx_graph_add_output(g, "lse", rlx_op_reduce_log_sum_exp(g, l.x, RLX_DIMS(1), false));
  rlx_status s = rlx_graph_create(&body);
  if (!s) {
    rlx_graph_add_output(body, "y", rlx_op_exp(body, rlx_op_input(body, "x", RLX_F32, RLX_DIMS(3))));
    s = rlx_graph_finish(body);
  }
  if (!s) rlx_graph_add_output(g, "scan", rlx_op_scan(g, body, 0, 1, false, &l.x, 1, outs, 1));
  rlx_graph_add_symbol(g, "B");
  rlx_graph_add_output(g, "state", rlx_op_update(g, l.state, l.x, rlx_op_scalar(g, RLX_I32, 0), 0));
  if (!s) s = rlx_graph_finish(g);
  rlx_op_table_info info = {RLX_OP_TABLE_INFO_INIT};
  if (!s) s = rlx_op_table_describe(rlx_op_table_find("clamp"), &info);
  rlx_graph_destroy(body);
  rlx_graph_destroy(g);
  return s;
}

TEST(building_survives_failing_allocations) { CHECK_OK(alloc_sweep(build_a_bit_of_everything, NULL)); }
