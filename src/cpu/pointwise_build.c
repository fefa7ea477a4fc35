/* Compiles element-wise nodes: one op, or the body of a region, becomes a list of steps over tiles.
 *
 * Values are numbered; a step computes one value from up to three. Where a node's dtype is narrower than its form (f16
 * in f32 tiles, i8 in i64 tiles), a step fits the value to its dtype. So a region gives the same bits as its nodes run
 * one by one. An operand is loaded just before its first use, and a value's slot is reused after its last. So few tiles
 * are live at a time and all of them stay in the L1 cache. The fewer they are, the longer a tile can be.
 *
 * All decisions are made here, from dtypes and shapes alone; pointwise.c only executes the steps. */
#include "cpu/pointwise.h"
#include "ir/act.h"
#include "ir/element.h"
#include "ir/scalar_table.h"

const char cpu_pw_no_memory[] = "no memory for an element-wise program";

enum {
  MAX_NODES = 160, /* of a body, including leaves */
  MIN_RUN = 128,   /* rows of at least this length have their own tiles, so that a broadcast row is read in place */
};

typedef struct builder {
  const rlx_graph *graph; /* the node's, or the body's inside a region */
  const cpu_tile_moves *move;
  const cpu_tile_ops *ops[CPU_FORM_COUNT];
  cpu_axes axes;
  cpu_pw_operand operands[CPU_PW_MAX_OPERANDS];
  cpu_pw_step steps[CPU_PW_MAX_STEPS];
  cpu_pw_value values[CPU_PW_MAX_VALUES];
  uint16_t operand_of[CPU_PW_MAX_VALUES]; /* 1 + the operand's index; 0: computed by a step, or already loaded */
  uint32_t n_operands, n_steps, n_values;
  double cost;
  const char *why; /* set: not supported */
} builder;

/* The cost of an op beyond loads and stores, in nanoseconds per element on a typical machine. */
static const float op_cost[RLX_OP_COUNT] = {
  [RLX_OP_gelu] = 0.8f,    [RLX_OP_gelu_approx] = 0.6f, [RLX_OP_silu] = 0.5f,
  [RLX_OP_sigmoid] = 0.5f, [RLX_OP_tanh] = 0.7f,        [RLX_OP_exp] = 0.4f,
  [RLX_OP_log] = 0.5f,     [RLX_OP_sin] = 0.6f,         [RLX_OP_cos] = 0.6f,
  [RLX_OP_tan] = 0.8f,     [RLX_OP_atan] = 0.5f,        [RLX_OP_erf] = 0.9f,
  [RLX_OP_softplus] = 1,   [RLX_OP_elu] = 0.5f,         [RLX_OP_mish] = 0.8f,
  [RLX_OP_selu] = 0.5f,    [RLX_OP_atan2] = 0.8f,       [RLX_OP_pow] = 3,
  [RLX_OP_mod] = 10,       [RLX_OP_div] = 0.2f,         [RLX_OP_quantize] = 2,
  [RLX_OP_cast] = 0.3f,
};

/* ---- values and steps ---- */

static uint16_t reject(builder *b, const char *why) {
  if (!b->why) b->why = why;
  return 0;
}

static uint16_t new_value(builder *b, cpu_form form) {
  if (b->n_values == CPU_PW_MAX_VALUES) return reject(b, "the region is too large");
  b->values[b->n_values] = (cpu_pw_value){.form = form, .slot = CPU_PW_NONE};
  return (uint16_t)b->n_values++;
}

static void add_step(builder *b, cpu_pw_step step) {
  if (b->n_steps == CPU_PW_MAX_STEPS) reject(b, "the region is too large");
  else b->steps[b->n_steps++] = step;
}

/* Adds the load of an operand before its first use. An operand that is one element for all is filled in advance. */
static void load_operand(builder *b, uint16_t v) {
  if (!b->operand_of[v]) return;
  uint16_t operand = (uint16_t)(b->operand_of[v] - 1);
  b->operand_of[v] = 0;
  add_step(b, (cpu_pw_step){.dst = v, .a = operand});
}

static uint16_t emit(builder *b, cpu_tile_fn fn, cpu_form form, const uint16_t in[3], const cpu_tile_args *args) {
  if (!fn) return reject(b, "no tile function for this op and type");
  for (int i = 0; i < 3; i++) load_operand(b, in[i]);
  uint16_t v = new_value(b, form);
  add_step(b, (cpu_pw_step){.fn = fn, .dst = v, .a = in[0], .b = in[1], .c = in[2], .args = *args});
  b->cost += 0.1;
  return v;
}

static uint16_t emit1(builder *b, cpu_tile_fn fn, cpu_form form, uint16_t a, const cpu_tile_args *args) {
  return emit(b, fn, form, (uint16_t[3]){a, 0, 0}, args);
}

/* Rounds or wraps the value to its dtype, in place. */
static uint16_t fit(builder *b, uint16_t v, rlx_dtype dtype) {
  if (b->move->fit[dtype]) add_step(b, (cpu_pw_step){.fn = b->move->fit[dtype], .dst = v, .a = v});
  return v;
}

/* ---- operands ---- */

/* The next operand; the caller has just added its strides to the axes. */
static uint16_t add_operand(builder *b, rlx_dtype dtype, uint32_t input, const void *constant) {
  cpu_form form = cpu_form_of(dtype);
  bool blocks = rlx_dtype_is_block(dtype);
  if (!blocks && !b->move->load[dtype])
    return reject(b, dtype == RLX_F64 ? "f64 runs through the reference" : "complex numbers run through the reference");
  uint16_t v = new_value(b, form);
  if (b->why) return 0;
  b->operands[b->n_operands] = (cpu_pw_operand){.constant = constant,
                                                .input = input,
                                                .dtype = dtype,
                                                .in_form = dtype == RLX_F32 || dtype == RLX_I64 || dtype == RLX_BOOL,
                                                .access = blocks ? CPU_PW_BLOCKS : CPU_PW_RUNS,
                                                .bytes = (uint32_t)rlx_dtype_size(dtype),
                                                .load = b->move->load[dtype],
                                                .fill = b->move->fill[form],
                                                .value = v};
  b->operand_of[v] = (uint16_t)++b->n_operands;
  return v;
}

static uint16_t add_broadcast(builder *b, const rlx_type *type, uint32_t input, const void *constant) {
  if (b->n_operands == CPU_PW_MAX_OPERANDS) return reject(b, "the region has too many inputs");
  cpu_axes_broadcast(&b->axes, &type->shape);
  return add_operand(b, type->dtype, input, constant);
}

/* An integer zero for all elements. */
static uint16_t add_zero(builder *b) {
  static const int64_t zero = 0;
  return add_broadcast(b, &(rlx_type){.dtype = RLX_I64, .shape = {.n = 0}}, 0, &zero);
}

/* ---- nodes ---- */

/* x as an integer of this dtype, by the rules of cast. */
static int64_t saturate(rlx_dtype dtype, double x) {
  int64_t storage;
  rlx_tensor one = {.dtype = dtype, .data = &storage};
  rlx_store_value(&one, 0, x);
  return rlx_load_int(&one, 0);
}

static cpu_tile_args args_of(const rlx_node_rec *n, rlx_dtype in) {
  cpu_tile_args args = {.bits = 8 * (int)rlx_dtype_size(in)};
  const rlx_op_table_row *row = rlx_op_table_get(n->op);
  bool family = rlx_scalar_get(n->op)->unary != NULL; /* then the attributes are alpha and beta, in this order */
  if (family && row->n_attrs > 0) args.alpha = (float)*(const double *)rlx_attr_at(n->attrs, &row->attrs[0]);
  if (family && row->n_attrs > 1) args.beta = (float)*(const double *)rlx_attr_at(n->attrs, &row->attrs[1]);
  if (rlx_dtype_is_int(n->type.dtype)) { /* conversions saturate to the result's dtype */
    args.lo = saturate(n->type.dtype, -RLX_INFINITY);
    args.hi = saturate(n->type.dtype, RLX_INFINITY);
  }
  if (n->op != RLX_OP_clamp) return args;
  double lo = RLX_ATTRS(clamp, n)->lo, hi = RLX_ATTRS(clamp, n)->hi;
  args.alpha = (float)lo, args.beta = (float)hi;
  if (rlx_dtype_is_int(in)) args.lo = saturate(in, ceil(lo)), args.hi = saturate(in, floor(hi));
  return args;
}

static uint16_t build_cast(builder *b, const rlx_node_rec *n, rlx_dtype from, uint16_t x) {
  rlx_dtype to = n->type.dtype;
  cpu_tile_args args = args_of(n, from);
  cpu_form f = cpu_form_of(from), t = cpu_form_of(to);
  if (f == t && (f != CPU_INTS || from == to)) /* all float dtypes share one form */
    return from == to || !b->move->fit[to] ? x : emit1(b, b->move->fit[to], t, x, &args);
  bool twice = f == CPU_INTS && to == RLX_BF16; /* would be rounded to f32, then to bf16 */
  uint16_t v = emit1(b, twice ? b->move->ints_to_odd : b->move->convert[f][t], t, x, &args);
  return t == CPU_FLOATS ? fit(b, v, to) : v;
}

static uint16_t build_swiglu(builder *b, const rlx_node_rec *n, const uint16_t in[3]) {
  const cpu_tile_args none = {.bits = 0};
  rlx_op act = rlx_act_op(RLX_ATTRS(fused_swiglu, n)->act);
  uint16_t gate = in[0];
  if (act) gate = fit(b, emit1(b, b->ops[CPU_FLOATS]->op[act], CPU_FLOATS, gate, &none), n->type.dtype);
  b->cost += (double)op_cost[act];
  uint16_t y = emit(b, b->ops[CPU_FLOATS]->op[RLX_OP_mul], CPU_FLOATS, (uint16_t[3]){gate, in[1], 0}, &none);
  return fit(b, y, n->type.dtype);
}

/* The node's value from those of its inputs. */
static uint16_t build_node(builder *b, const rlx_node_rec *n, const uint16_t given[3]) {
  rlx_dtype to = n->type.dtype, from = rlx_graph_at(b->graph, n->in[0])->type.dtype;
  uint16_t in[3] = {given[0], given[1], given[2]};
  if (!rlx_dtype_is_block(to) && !b->move->load[to])
    return reject(b, to == RLX_F64 ? "f64 runs through the reference" : "complex numbers run through the reference");
  b->cost += (double)op_cost[n->op];
  if (n->op == RLX_OP_cast) return build_cast(b, n, from, in[0]);
  if (n->op == RLX_OP_fused_swiglu) return build_swiglu(b, n, in);
  if ((n->op == RLX_OP_quantize || n->op == RLX_OP_dequantize) && !in[2]) in[2] = add_zero(b);
  cpu_form form = b->values[in[n->op == RLX_OP_where ? 1 : 0]].form;
  cpu_tile_args args = args_of(n, from);
  return fit(b, emit(b, b->ops[form]->op[n->op], cpu_form_of(to), in, &args), to);
}

/* The axis of the inputs that are vectors; -1: they broadcast along the last axis, as in most ops. */
static int64_t channel_axis(const rlx_node_rec *n) {
  int rank = n->type.shape.n;
  if (n->op == RLX_OP_batch_norm_inference) return 1;
  if (rank == 0) return -1; /* scale and zero are scalars */
  if (n->op == RLX_OP_quantize) return rlx_axis_of(RLX_ATTRS(quantize, n)->axis, rank);
  return n->op == RLX_OP_dequantize ? rlx_axis_of(RLX_ATTRS(dequantize, n)->axis, rank) : -1;
}

static uint16_t add_input(builder *b, const rlx_node_rec *n, uint32_t i) {
  const rlx_type *type = &rlx_graph_at(b->graph, n->in[i])->type;
  int64_t axis = channel_axis(n);
  if (i == 0 || axis < 0 || type->shape.n != 1 || type->shape.v[0] == 1) return add_broadcast(b, type, i, NULL);
  b->axes.stride[b->axes.n_operands++][axis] = 1;
  return add_operand(b, type->dtype, i, NULL);
}

/* (x - mean) / deviation gamma + beta, rounded to the dtype once. */
static uint16_t build_batch_norm(builder *b, const rlx_node_rec *n, const uint16_t in[5]) {
  const cpu_tile_ops *f = b->ops[CPU_FLOATS];
  const cpu_tile_args args = {.alpha = (float)RLX_ATTRS(batch_norm_inference, n)->eps};
  uint16_t y = emit(b, f->op[RLX_OP_sub], CPU_FLOATS, (uint16_t[3]){in[0], in[1], 0}, &args);
  uint16_t deviation = emit1(b, f->op[RLX_OP_batch_norm_inference], CPU_FLOATS, in[2], &args);
  y = emit(b, f->op[RLX_OP_div], CPU_FLOATS, (uint16_t[3]){y, deviation, 0}, &args);
  if (in[3]) y = emit(b, f->op[RLX_OP_mul], CPU_FLOATS, (uint16_t[3]){y, in[3], 0}, &args);
  if (in[4]) y = emit(b, f->op[RLX_OP_add], CPU_FLOATS, (uint16_t[3]){y, in[4], 0}, &args);
  return fit(b, y, n->type.dtype);
}

static uint16_t build_single(builder *b, const rlx_node_rec *n) {
  uint16_t in[5] = {0, 0, 0, 0, 0};
  for (uint32_t i = 0; i < n->n_in && i < 5 && !b->why; i++) {
    if (!n->in[i]) continue;
    if (i > 0 && n->in[i] == n->in[0] && channel_axis(n) < 0) in[i] = in[0]; /* loaded once */
    else in[i] = add_input(b, n, i);
  }
  if (b->why) return 0;
  return n->op == RLX_OP_batch_norm_inference ? build_batch_norm(b, n, in) : build_node(b, n, in);
}

/* ---- regions ---- */

static void mark_needed(const rlx_graph *body, bool *needed) {
  needed[body->outputs.v[0].node] = true;
  for (rlx_node id = rlx_graph_end(body) - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(body, id);
    for (uint32_t i = 0; needed[id] && i < n->n_in; i++) needed[n->in[i]] = true;
  }
}

static uint16_t build_inner(builder *b, const rlx_node_rec *n, const uint16_t *value) {
  uint16_t in[3] = {0, 0, 0};
  if (n->n_in > 3) return reject(b, "no tile function for this op and type");
  for (uint32_t i = 0; i < n->n_in; i++) in[i] = value[n->in[i]];
  const rlx_node_rec *x = rlx_graph_at(b->graph, n->in[0]);
  bool codes = n->op == RLX_OP_quantize || n->op == RLX_OP_dequantize;
  for (uint32_t i = 1; codes && i < n->n_in; i++)
    if (n->in[i] && rlx_dims_count(&rlx_graph_at(b->graph, n->in[i])->type.shape) != 1)
      return reject(b, "a region with codes per channel");
  if (rlx_dtype_is_block(x->type.dtype)) return reject(b, "a region with a block type");
  return build_node(b, n, in);
}

static uint16_t build_region(builder *b, const rlx_node_rec *region) {
  const rlx_graph *body = RLX_ATTRS(region, region)->body;
  bool needed[MAX_NODES] = {false};
  uint16_t value[MAX_NODES] = {0};
  if (rlx_graph_end(body) > MAX_NODES) return reject(b, "the region is too large");
  mark_needed(body, needed);
  b->graph = body;
  uint32_t input = 0;
  for (rlx_node id = 1; id < rlx_graph_end(body) && !b->why; id++) {
    const rlx_node_rec *n = rlx_graph_at(body, id);
    uint32_t at = n->op == RLX_OP_input ? input++ : 0;
    if (!needed[id]) continue;
    if (n->op == RLX_OP_input) value[id] = add_broadcast(b, &n->type, at, NULL);
    else if (n->op == RLX_OP_constant) value[id] = add_broadcast(b, &n->type, 0, RLX_ATTRS(constant, n)->data->data);
    else value[id] = build_inner(b, n, value);
  }
  return b->why ? 0 : value[body->outputs.v[0].node];
}

/* ---- access of operands, and slots of values ---- */

static void set_access(builder *b, const rlx_dims *shape) {
  cpu_axes flat;
  cpu_axes_begin(&flat, shape);
  cpu_axes_broadcast(&flat, shape);
  for (uint32_t k = 0; k < b->n_operands; k++) {
    cpu_pw_operand *o = &b->operands[k];
    bool is_flat = true, is_one = true;
    for (int i = 0; i < flat.n; i++) {
      if (flat.size[i] == 1) continue;
      is_flat = is_flat && b->axes.stride[k][i] == flat.stride[0][i];
      is_one = is_one && b->axes.stride[k][i] == 0;
    }
    if (o->access != CPU_PW_BLOCKS) o->access = is_flat ? CPU_PW_FLAT : is_one ? CPU_PW_ONE : CPU_PW_RUNS;
  }
  cpu_axes_collapse(&b->axes);
  for (uint32_t k = 0; k < b->n_operands; k++)
    memcpy(b->operands[k].stride, b->axes.stride[k], sizeof b->operands[k].stride);
}

typedef struct slots {
  uint32_t last[CPU_PW_MAX_VALUES]; /* the last step that reads the value */
  uint16_t unused[CPU_PW_MAX_VALUES];
  uint32_t n_unused, n;
} slots;

static void assign_slot(builder *b, slots *s, uint16_t v) {
  b->values[v].slot = s->n_unused ? s->unused[--s->n_unused] : (uint16_t)s->n++;
}

/* The values that a step reads; an operand's load reads none. */
static uint32_t step_reads(const cpu_pw_step *step, uint16_t reads[3]) {
  if (!step->fn) return 0;
  reads[0] = step->a, reads[1] = step->b, reads[2] = step->c;
  return 3;
}

static bool reads_in_place(const builder *b, const cpu_pw_step *step) {
  if (step->fn) return false; /* its operands are values */
  const cpu_pw_operand *o = &b->operands[step->a];
  return o->in_form && o->access == CPU_PW_FLAT;
}

/* `direct`: the value that is written into the result itself, 0 for none. */
static uint32_t assign_slots(builder *b, uint16_t result, uint16_t direct) {
  slots s;
  memset(&s, 0, sizeof s);
  uint16_t reads[3];
  for (uint32_t i = 0; i < b->n_steps; i++)
    for (uint32_t k = step_reads(&b->steps[i], reads); k-- > 0;) s.last[reads[k]] = i;
  s.last[result] = UINT32_MAX;
  for (uint32_t k = 0; k < b->n_operands; k++) {
    if (b->operands[k].access != CPU_PW_ONE) continue;
    assign_slot(b, &s, b->operands[k].value);
    s.last[b->operands[k].value] = UINT32_MAX;
  }
  for (uint32_t i = 0; i < b->n_steps; i++) {
    const cpu_pw_step *step = &b->steps[i];
    if (b->values[step->dst].slot == CPU_PW_NONE && step->dst != direct && !reads_in_place(b, step))
      assign_slot(b, &s, step->dst);
    for (uint32_t k = step_reads(step, reads); k-- > 0;) {
      uint16_t v = reads[k];
      bool again = (k > 0 && reads[0] == v) || (k > 1 && reads[1] == v); /* freed once */
      if (v && !again && s.last[v] == i && b->values[v].slot != CPU_PW_NONE) s.unused[s.n_unused++] = b->values[v].slot;
    }
  }
  return s.n;
}

/* ---- the program ---- */

/* Tiles are as long as the slots allow. They do not cross rows where an operand is broadcast along long rows. */
static bool set_tiles(const builder *b, cpu_pw_program *p) {
  bool wide = false, rows = false, blocks = false;
  for (uint32_t v = 1; v < b->n_values; v++)
    wide = wide || (b->values[v].slot != CPU_PW_NONE && b->values[v].form == CPU_INTS);
  for (uint32_t k = 0; k < b->n_operands; k++) {
    rows = rows || b->operands[k].access == CPU_PW_RUNS;
    blocks = blocks || b->operands[k].access == CPU_PW_BLOCKS;
  }
  size_t element = wide ? 8 : 4, run = b->axes.n ? b->axes.size[b->axes.n - 1] : 1;
  p->tile = CPU_PW_MAX_TILE;
  if (p->n_slots > 0 && CPU_PW_SLOT_BYTES / (p->n_slots * element) < p->tile)
    p->tile = CPU_PW_SLOT_BYTES / (p->n_slots * element) & ~(size_t)(blocks ? 255 : 15);
  if (p->tile == 0) return false;
  p->slot_bytes = (uint32_t)(p->tile * element);
  p->row = rows && run >= MIN_RUN ? run : p->count;
  p->per_row = p->row ? (p->row - 1) / p->tile + 1 : 0;
  p->n_tiles = p->row ? p->count / p->row * p->per_row : 0;
  return true;
}

/* Whether the last step can write into the result: any function, or a load that converts. */
static bool step_can_write(const builder *b, const cpu_pw_step *step) {
  if (step->fn) return true;
  const cpu_pw_operand *o = &b->operands[step->a];
  return !o->in_form;
}

static bool copy_out(const builder *b, rlx_bump *memory, cpu_pw_program *p) {
  p->operands = rlx_bump_copy(memory, b->operands, b->n_operands, sizeof *p->operands);
  p->steps = rlx_bump_copy(memory, b->steps, b->n_steps, sizeof *p->steps);
  p->values = rlx_bump_copy(memory, b->values, b->n_values, sizeof *p->values);
  return p->operands && p->steps && p->values;
}

static bool finish(builder *b, const rlx_node_rec *n, uint16_t result, cpu_pw_program *p) {
  rlx_dtype out = n->type.dtype;
  if (rlx_dtype_is_block(out)) return reject(b, "the result has a block type"), false;
  load_operand(b, result);
  bool in_form = out == RLX_F32 || out == RLX_I64 || out == RLX_BOOL;
  set_access(b, &n->type.shape);
  *p = (cpu_pw_program){.axes = b->axes,
                        .count = rlx_dims_count(&n->type.shape),
                        .n_operands = b->n_operands,
                        .result = result,
                        .out_bytes = (uint32_t)rlx_dtype_size(out),
                        .cost = b->cost + 0.1};
  const cpu_pw_step *last = b->n_steps ? &b->steps[b->n_steps - 1] : NULL;
  bool direct = in_form && last && last->dst == result && step_can_write(b, last);
  p->store = direct ? NULL : b->move->store[out];
  p->n_slots = assign_slots(b, result, direct ? result : 0);
  p->n_steps = b->n_steps, p->n_values = b->n_values;
  if (!set_tiles(b, p)) return reject(b, "too many values are alive at a time"), false;
  return !b->why;
}

bool cpu_pw_build(const rlx_graph *g, const rlx_node_rec *n, cpu_isa isa, rlx_bump *memory, cpu_pw_program *out,
                  const char **why) {
  builder b = {.graph = g, .move = cpu_tile_move(isa), .n_values = 1};
  b.values[0].slot = CPU_PW_NONE; /* value 0 is none */
  b.ops[CPU_FLOATS] = cpu_tile_floats(isa);
  b.ops[CPU_INTS] = cpu_tile_ints(isa);
  b.ops[CPU_BOOLS] = cpu_tile_bools(isa);
  cpu_axes_begin(&b.axes, &n->type.shape);
  uint16_t result = n->op == RLX_OP_region ? build_region(&b, n) : build_single(&b, n);
  bool ok = !b.why && finish(&b, n, result, out);
  if (ok && memory && !copy_out(&b, memory, out)) ok = false, b.why = cpu_pw_no_memory;
  *why = b.why;
  return ok;
}
