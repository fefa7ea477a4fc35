/* Rotary position embeddings: rope and axial_rope_2d.
 *
 * The cosines and sines of a token are the same for all its heads, so a task takes some tokens, computes a token's
 * rotation once and applies it to every head. An angle is position times frequency in f64, reduced to -pi .. pi before
 * it is rounded to f32: at position 100,000 an f32 angle would be off by a hundredth of a revolution. Work memory holds
 * the rotation of one token in each of a fixed number of slots. */
#include "cpu/rope.h"

#include <string.h>

#include "cpu/slots.h"
#include "ir/definitions.h"
#include "ir/walk.h"

enum { SLOTS = 32 };

typedef struct rope {
  const cpu_rope_table *table;
  rlx_dtype type;
  size_t n_batch, n_positions, n_heads, d; /* of x */
  size_t batch, position, head;            /* strides in elements */
  size_t pairs;                            /* pairs of elements rotated by one list of angles */
  int32_t style;
  int64_t width;     /* of axial_rope_2d's grid; 0: rope */
  double *frequency; /* per pair */
  size_t slots;
} rope;

static void rope_init(const rlx_node_rec *n, cpu_isa isa, rope *r) {
  bool axial = n->op == RLX_OP_axial_rope_2d;
  const rlx_attrs_rope *plain = n->attrs;
  const rlx_attrs_axial_rope_2d *grid = n->attrs;
  bool seq_first = (axial ? grid->layout : plain->layout) == RLX_LAYOUT_BSHD;
  const int64_t *v = n->type.shape.v; /* the shape of x */
  size_t stride[RLX_MAX_RANK];
  rlx_strides(&n->type.shape, stride);
  int seq = seq_first ? 1 : 2, heads = 3 - seq;
  *r = (rope){.table = cpu_rope(isa),
              .type = n->type.dtype,
              .n_batch = (size_t)v[0],
              .n_positions = (size_t)v[seq],
              .n_heads = (size_t)v[heads],
              .d = (size_t)v[3],
              .batch = stride[0],
              .position = stride[seq],
              .head = stride[heads],
              .style = axial ? grid->style : plain->style,
              .width = axial ? grid->width : 0};
  r->pairs = axial ? r->d / 4 : (plain->n_rot ? (size_t)plain->n_rot : r->d) / 2;
  size_t tokens = r->n_batch * r->n_positions;
  r->slots = tokens < SLOTS ? tokens : SLOTS;
}

static size_t rotation_floats(const rope *r) { return 3 * ((r->pairs + 15) / 16 * 16); } /* angles, cosines, sines */

static bool claim(const rlx_claim_query *q, cpu_isa isa, rlx_claim *c) {
  const rlx_node_rec *n = rlx_graph_at(q->graph, q->node);
  rope r;
  rope_init(n, isa, &r);
  c->in_place = 1; /* both elements of a pair are read before they are written */
  c->work_bytes = r.slots * rotation_floats(&r) * sizeof(float);
  return true;
}

static rlx_status prepare(cpu_call *c, rlx_bump *memory) {
  rope *r = rlx_bump_new(memory, rope);
  if (!r) return RLX_FAIL(RLX_NO_MEMORY, "rope");
  rope_init(c->node, c->isa, r);
  r->frequency = rlx_bump_array(memory, double, r->pairs + 1);
  if (!r->frequency) return RLX_FAIL(RLX_NO_MEMORY, "rope");
  double theta = r->width ? RLX_ATTRS(axial_rope_2d, c)->theta : RLX_ATTRS(rope, c)->theta;
  for (size_t i = 0; i < r->pairs; i++) r->frequency[i] = rlx_rope_frequency(theta, (int64_t)i, (int64_t)r->pairs);
  c->prepared = r;
  return RLX_OK;
}

/* ---- positions ---- */

static int64_t load_index(const cpu_call *c, uint32_t input, size_t i) {
  const void *p = cpu_in(c, input);
  return cpu_in_type(c, input)->dtype == RLX_I64 ? ((const int64_t *)p)[i] : ((const int32_t *)p)[i];
}

static int64_t position_of(const cpu_call *c, const rope *r, size_t b, size_t s) {
  if (cpu_in(c, 1)) return load_index(c, 1, cpu_in_type(c, 1)->shape.n == 2 ? b * r->n_positions + s : s);
  return (cpu_in(c, 2) ? load_index(c, 2, 0) : 0) + (int64_t)s;
}

/* Checks before anything is written that every position is inside the tables, if there are any. */
static rlx_status check_positions(const cpu_call *c, const rope *r) {
  if (r->width || !cpu_in(c, 4)) return RLX_OK;
  int64_t rows = cpu_in_type(c, 4)->shape.v[0];
  for (size_t b = 0; b < r->n_batch; b++)
    for (size_t s = 0; s < r->n_positions; s++) {
      int64_t position = position_of(c, r, b, s);
      if (position < 0 || position >= rows)
        return RLX_FAIL(RLX_INVALID, "position %lld is not in the tables' 0..%lld", (long long)position,
                        (long long)rows - 1);
    }
  return RLX_OK;
}

/* ---- rotations ---- */

typedef struct rotation {
  float *angle, *cosine, *sine;
} rotation;

static void set_rotation(const rope *r, double position, const float *factors, rotation *t) {
  const double circle = 6.283185307179586476925;
  for (size_t i = 0; i < r->pairs; i++) {
    double angle = position * r->frequency[i] / (factors ? (double)factors[i] : 1.0);
    t->angle[i] = (float)(angle - circle * rint(angle / circle));
  }
  r->table->cosines(t->angle, t->cosine, t->sine, r->pairs);
}

static void apply(const cpu_call *c, const rope *r, size_t b, size_t s, size_t part, const float *cosine,
                  const float *sine) {
  size_t size = rlx_dtype_size(r->type);
  for (size_t h = 0; h < r->n_heads; h++) {
    size_t at = (b * r->batch + s * r->position + h * r->head + part) * size;
    const char *x = (const char *)cpu_in(c, 0) + at;
    char *y = (char *)c->out + at;
    (r->style == RLX_ROPE_NEOX ? r->table->neox : r->table->gptj)(r->type, x, y, cosine, sine, r->pairs);
    size_t rotated = 2 * r->pairs;
    if (!r->width && rotated < r->d && x != y) memcpy(y + rotated * size, x + rotated * size, (r->d - rotated) * size);
  }
}

static void rotate_token(const cpu_call *c, const rope *r, size_t b, size_t s, rotation *t) {
  if (r->width) {
    set_rotation(r, (double)(s % (size_t)r->width), NULL, t);
    apply(c, r, b, s, 0, t->cosine, t->sine);
    set_rotation(r, (double)(s / (size_t)r->width), NULL, t);
    apply(c, r, b, s, r->d / 2, t->cosine, t->sine);
    return;
  }
  int64_t position = position_of(c, r, b, s);
  if (cpu_in(c, 4)) {
    size_t row = (size_t)position * r->pairs;
    apply(c, r, b, s, 0, (const float *)cpu_in(c, 4) + row, (const float *)cpu_in(c, 5) + row);
    return;
  }
  set_rotation(r, (double)position, cpu_in(c, 3), t);
  apply(c, r, b, s, 0, t->cosine, t->sine);
}

static void run_token(const cpu_call *c, size_t i, float *memory) {
  const rope *r = c->prepared;
  size_t floats = rotation_floats(r) / 3;
  rotation t = {memory, memory + floats, memory + 2 * floats};
  rotate_token(c, r, i / r->n_positions, i % r->n_positions, &t);
}

static rlx_status run(const cpu_call *c) {
  const rope *r = c->prepared;
  if (rlx_dims_count(&c->node->type.shape) == 0) return RLX_OK;
  RLX_TRY(check_positions(c, r));
  double token_cost = 10.0 * (double)r->pairs + 0.5 * (double)(r->n_heads * r->d); /* nanoseconds, about */
  cpu_slots_run(c, r->n_batch * r->n_positions, r->slots, rotation_floats(r), token_cost, run_token);
  return RLX_OK;
}

const cpu_kernel cpu_rope_kernel = {.claim = claim, .prepare = prepare, .run = run, .no_f64 = true};
