/* Lowers element-wise nodes of any types and broadcasts, with one dispatch each, or two.
 *
 * pointwise_build.c builds the program. This file merges its axes, chooses the kernel and binds the program to it.
 * pointwise4 takes operands in 16-byte vectors (the usual case in models), pointwise64 programs with 64-bit values, and
 * pointwise the rest. A long flat run that is not whole vectors becomes two dispatches: vectors and a short tail. */
#include <stddef.h>
#include <string.h>

#include "gpu/move.h"
#include "gpu/pointwise.h"

enum {
  MAX_VECTOR_INPUTS = 4, /* windows of pointwise4 that are read as vectors */
  FIRST_SINGLE = 4,      /* its first register of inputs that are constant over a chunk */
  CUT = 256,             /* elements: a multiple of this is a multiple of GPU_ALIGN bytes in every type */
};

/* ---- axes ---- */

typedef struct pw_axes {
  uint32_t n; /* merged; at least 1 */
  uint32_t size[RLX_MAX_RANK];
} pw_axes;

static void remove_axis(pw_program *p, pw_axes *x, uint32_t i) {
  x->n--;
  for (uint32_t j = i; j < x->n; j++) {
    x->size[j] = x->size[j + 1];
    for (uint32_t k = 0; k < p->n_operands; k++) p->operands[k].stride[j] = p->operands[k].stride[j + 1];
  }
}

static bool merges(const pw_program *p, const pw_axes *x, uint32_t i) {
  for (uint32_t k = 0; k < p->n_operands; k++)
    if (p->operands[k].stride[i] != p->operands[k].stride[i + 1] * x->size[i + 1]) return false;
  return true;
}

/* Merges axes that are contiguous in all operands and drops axes of size 1. Outermost first. */
static pw_axes merge_axes(pw_program *p, const rlx_dims *shape) {
  pw_axes x = {.n = (uint32_t)shape->n};
  for (uint32_t i = 0; i < x.n; i++) x.size[i] = (uint32_t)shape->v[i];
  for (uint32_t i = x.n; i-- > 0;)
    if (x.size[i] == 1) remove_axis(p, &x, i);
  for (uint32_t i = x.n < 2 ? 0 : x.n - 1; i-- > 0;) {
    if (!merges(p, &x, i)) continue;
    x.size[i + 1] *= x.size[i];
    remove_axis(p, &x, i);
  }
  if (x.n > 0) return x;
  for (uint32_t k = 0; k < p->n_operands; k++) p->operands[k].stride[0] = 0;
  return (pw_axes){.n = 1, .size = {1}};
}

/* How a kernel walks an axis: sizes are in chunks along the innermost axis, steps in each operand's units. */
typedef struct pw_units {
  const uint32_t *registers, *unit; /* by operand: its register, and the elements per step */
  uint32_t chunk;
} pw_units;

static uint32_t axis_size(const pw_axes *x, uint32_t a, const pw_units *u) { /* a: 0 is the innermost */
  return x->size[x->n - 1 - a] / (a == 0 ? u->chunk : 1);
}

/* The steps of all operands along an axis, by register. */
static void axis_steps(const pw_program *p, const pw_axes *x, uint32_t a, const pw_units *u, uint32_t *to) {
  for (uint32_t k = 0; k < p->n_operands; k++)
    to[u->registers[k]] = (uint32_t)(p->operands[k].stride[x->n - 1 - a] * (a == 0 ? u->chunk : 1) / u->unit[k]);
}

static gpu_window walk_table(gpu_lowering *l, const pw_program *p, const pw_axes *x, const pw_units *u) {
  uint32_t rows[RLX_MAX_RANK * PW_AXIS_WORDS] = {0};
  for (uint32_t a = 0; a < x->n; a++) {
    uint32_t *row = rows + a * PW_AXIS_WORDS;
    row[0] = axis_size(x, a, u);
    gpu_magic(row[0], &row[1], &row[2]);
    axis_steps(p, x, a, u, row + PW_AXIS_STRIDES);
  }
  return gpu_table(l, rows, x->n * PW_AXIS_WORDS);
}

/* The parameters of up to three axes, from d0 on: PW_NEAR_FIELDS. */
enum { NEAR_AXES = 3, NEAR_WORDS = 18 };
static void walk_words(const pw_program *p, const pw_axes *x, const pw_units *u, uint32_t *to) {
  memset(to, 0, NEAR_WORDS * sizeof *to);
  for (uint32_t a = 0; a < 2 && a + 1 < x->n; a++) {
    uint32_t steps[PW_INPUTS] = {0};
    to[3 * a] = axis_size(x, a, u);
    gpu_magic(to[3 * a], &to[3 * a + 1], &to[3 * a + 2]);
    axis_steps(p, x, a + 1, u, steps);
    memcpy(to + 6 + 6 * a, steps, 6 * sizeof *to);
  }
}

/* ---- binding ---- */

/* The constants common to all kernels, for operands in these registers. */
static gpu_constants_pointwise common_constants(const gpu_lowering *l, const pw_program *p, const uint32_t *registers,
                                                uint32_t rank) {
  gpu_constants_pointwise c = {.steps = p->n_steps, .ty = (uint32_t)gpu_out_type(l)->dtype, .rank = rank};
  uint32_t steps[PW_STEPS] = {0};
  for (uint32_t i = 0; i < p->n_steps; i++) {
    uint32_t s = p->steps[i], moved = s & ~PW_STEP(0u, 63u, 63u, 63u, 0u);
    for (uint32_t shift = 9; shift <= 21; shift += 6) {
      uint32_t at = s >> shift & 63;
      moved |= (at < p->n_operands ? registers[at] : at < PW_FIRST_IMMEDIATE ? 0 : at) << shift;
    }
    steps[i] = moved;
  }
  _Static_assert(offsetof(gpu_constants_pointwise, steps) == sizeof steps, "s0 to s15");
  memcpy(&c, steps, sizeof steps);
  for (uint32_t k = 0; k < p->n_operands; k++) {
    c.tx |= (uint32_t)p->operands[k].dtype << (4 * registers[k]);
    c.used |= 1u << registers[k];
  }
  return c;
}

static uint32_t group_size(const gpu_lowering *l) { return l->caps->max_group < 256 ? l->caps->max_group : 256; }

/* Elements from `first` on; the whole window if `all` is set or the operand is a scalar. */
static gpu_window part_of(const pw_operand *o, uint32_t first, uint32_t n, bool all) {
  uint64_t size = rlx_dtype_size(o->dtype);
  return all || o->stride[0] == 0 ? o->window : gpu_part(o->window, first * size, n * size);
}

typedef struct span { /* a range of the result, in elements */
  uint32_t first, n;
  bool all;
} span;
static gpu_window result_part(const gpu_lowering *l, span s) {
  uint64_t size = rlx_dtype_size(gpu_out_type(l)->dtype);
  return s.all ? gpu_out(l) : gpu_part(gpu_out(l), s.first * size, s.n * size);
}

static const uint32_t identity[PW_INPUTS] = {0, 1, 2, 3, 4, 5, 6}, ones[PW_INPUTS] = {1, 1, 1, 1, 1, 1, 1};
static const pw_units elements = {identity, ones, 1};

/* Binds the table of more than one axis, in the window of the last input. */
static bool bind_table(gpu_lowering *l, const pw_program *p, const pw_axes *x, gpu_window *windows) {
  if (x->n > 1 && p->n_operands == PW_INPUTS) gpu_refuse(l, "an element-wise region with too many broadcast inputs");
  else if (x->n > 1) windows[PW_INPUTS - 1] = walk_table(l, p, x, &elements);
  return !gpu_failed(l);
}

static uint32_t flat_inputs(const pw_program *p, const pw_axes *x) {
  uint32_t flat = 0;
  for (uint32_t k = 0; k < p->n_operands; k++) flat |= (uint32_t)(p->operands[k].stride[x->n - 1] != 0) << k;
  return flat;
}

static void emit_words(gpu_lowering *l, const pw_program *p, const pw_axes *x, span s) {
  gpu_params_pointwise params = {.n = s.n};
  memcpy(&params.c0, p->low, sizeof p->low);
  gpu_constants_pointwise c = common_constants(l, p, identity, x->n);
  c.flat = flat_inputs(p, x);
  gpu_launch d = {GPU_KERNEL(pointwise, params, c), .group_size = group_size(l)};
  for (uint32_t k = 0; k < p->n_operands; k++) d.windows[k] = part_of(&p->operands[k], s.first, s.n, s.all);
  d.windows[PW_INPUTS] = result_part(l, s);
  if (x->n <= NEAR_AXES) walk_words(p, x, &elements, &params.d0);
  if (x->n > 1 && p->n_operands == PW_INPUTS) gpu_refuse(l, "an element-wise region with too many broadcast inputs");
  if (x->n > NEAR_AXES && !bind_table(l, p, x, d.windows)) return;
  uint32_t words = gpu_ceil_div(s.n, gpu_elements_per_word(gpu_out_type(l)->dtype));
  d.groups = gpu_ceil_div(words, d.group_size);
  gpu_emit(l, &d);
}

static void emit_wide(gpu_lowering *l, const pw_program *p, const pw_axes *x) {
  uint32_t n = gpu_count(gpu_out_type(l));
  gpu_params_pointwise64 params = {.n = n};
  memcpy(&params.c0, p->low, sizeof p->low);
  memcpy(&params.h0, p->high, sizeof p->high);
  gpu_constants_pointwise c = common_constants(l, p, identity, x->n);
  c.flat = flat_inputs(p, x);
  gpu_launch d = {GPU_KERNEL(pointwise64, params, c), .group_size = group_size(l)};
  for (uint32_t k = 0; k < p->n_operands; k++) d.windows[k] = p->operands[k].window;
  d.windows[PW_INPUTS] = gpu_out(l);
  if (!bind_table(l, p, x, d.windows)) return;
  d.groups = gpu_ceil_div(gpu_ceil_div(n, gpu_elements_per_word(gpu_out_type(l)->dtype)), d.group_size);
  gpu_emit(l, &d);
}

/* ---- vectors ---- */

typedef struct pw_vectors {
  uint32_t log_chunk, chunk; /* elements */
  uint32_t registers[PW_INPUTS], unit[PW_INPUTS];
  uint32_t n_vectors;
} pw_vectors;

static uint32_t log_per_word(rlx_dtype t) { return gpu_elements_per_word(t) / 2; } /* log2 of 4, 2, 1 */

/* Whether pointwise4 has a window for each operand; assigns their registers. */
static bool find_vectors(const gpu_lowering *l, const pw_program *p, const pw_axes *x, pw_vectors *v) {
  uint32_t inner = x->n - 1, n_singles = 0;
  *v = (pw_vectors){.log_chunk = 2 + log_per_word(gpu_out_type(l)->dtype)};
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const pw_operand *o = &p->operands[k];
    bool is_single = o->stride[inner] == 0;
    v->registers[k] = is_single ? FIRST_SINGLE + n_singles++ : v->n_vectors++;
    if (!is_single && 2 + log_per_word(o->dtype) > v->log_chunk) v->log_chunk = 2 + log_per_word(o->dtype);
  }
  v->chunk = 1u << v->log_chunk;
  for (uint32_t k = 0; k < p->n_operands; k++) v->unit[k] = v->registers[k] < FIRST_SINGLE ? v->chunk : 1;
  return !p->is_wide && v->n_vectors <= MAX_VECTOR_INPUTS && n_singles <= (x->n == 1 ? 3 : 2);
}

/* Loads in flight per invocation: enough to hide memory latency, few enough for the registers. */
static uint32_t units_of(const pw_vectors *v, uint32_t chunks, uint32_t group, const gpu_caps *caps) {
  uint32_t units = v->log_chunk <= 3 && v->n_vectors <= 2 ? 2 : 1; /* at most 16 words of an input */
  return chunks / group < gpu_tuned(caps)->pointwise_groups * caps->units ? 1 : units;
}

static void emit_vectors(gpu_lowering *l, const pw_program *p, const pw_axes *x, const pw_vectors *v, span s) {
  uint32_t chunks = s.n / v->chunk;
  gpu_params_pointwise4 params = {.n = chunks};
  memcpy(&params.c0, p->low, sizeof p->low);
  const gpu_constants_pointwise common = common_constants(l, p, v->registers, x->n);
  gpu_constants_pointwise4 c = {.chunk = v->log_chunk, .units = units_of(v, chunks, group_size(l), l->caps)};
  _Static_assert(offsetof(gpu_constants_pointwise4, chunk) == offsetof(gpu_constants_pointwise, flat),
                 "what all share");
  memcpy(&c, &common, offsetof(gpu_constants_pointwise4, chunk));
  gpu_launch d = {GPU_KERNEL(pointwise4, params, c), .group_size = group_size(l)};
  for (uint32_t k = 0; k < p->n_operands; k++)
    d.windows[v->registers[k]] = part_of(&p->operands[k], s.first, s.n, s.all);
  pw_units units = {v->registers, v->unit, v->chunk};
  if (x->n <= NEAR_AXES) walk_words(p, x, &units, &params.d0);
  else d.windows[PW_INPUTS - 1] = walk_table(l, p, x, &units);
  d.windows[PW_INPUTS] = result_part(l, s);
  d.groups = gpu_ceil_div(chunks, d.group_size * c.units);
  gpu_emit(l, &d);
}

/* ---- entry ---- */

/* The result may alias an input whose elements have the same offsets as the result's. */
static void allow_in_place(gpu_lowering *l, const pw_program *p, const pw_axes *x) {
  size_t size = rlx_dtype_size(gpu_out_type(l)->dtype);
  for (uint32_t k = 0; k < p->n_operands; k++) {
    const pw_operand *o = &p->operands[k];
    size_t stride = 1;
    bool is_flat = o->window.from == GPU_IN && rlx_dtype_size(o->dtype) == size;
    for (uint32_t i = x->n; i-- > 0; stride *= x->size[i])
      is_flat = is_flat && (o->stride[i] == stride || (x->n == 1 && x->size[0] == 1));
    if (is_flat) gpu_in_place(l, o->window.index);
  }
}

void gpu_lower_pointwise(gpu_lowering *l) {
  pw_program p;
  pw_vectors v;
  pw_build(l, &p);
  uint32_t n = gpu_count(gpu_out_type(l));
  if (gpu_failed(l) || !n) return;
  pw_axes x = merge_axes(&p, &gpu_out_type(l)->shape);
  allow_in_place(l, &p, &x);
  bool fits = find_vectors(l, &p, &x, &v);
  uint32_t inner = x.size[x.n - 1];
  if (p.is_wide) {
    emit_wide(l, &p, &x);
  } else if (fits && inner % v.chunk == 0) {
    emit_vectors(l, &p, &x, &v, (span){0, n, true});
  } else if (fits && x.n == 1 && n >= gpu_tuned(l->caps)->pointwise_cut_from) {
    uint32_t cut = n / CUT * CUT;
    emit_vectors(l, &p, &x, &v, (span){0, cut, false});
    emit_words(l, &p, &x, (span){cut, n - cut, false});
  } else {
    emit_words(l, &p, &x, (span){0, n, true});
  }
}

/* A cast from a block type uses the decode kernel. */
void gpu_lower_cast(gpu_lowering *l) {
  if (rlx_dtype_is_block(gpu_in_type(l, 0)->dtype)) gpu_lower_cast_blocks(l);
  else gpu_lower_pointwise(l);
}
