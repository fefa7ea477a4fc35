/* Attention for few rows, as in decoding: one workgroup for a key head, or one for each share of its keys.
 *
 * attention_decode.k takes q, k and v as they are. attention_decode_rope.k takes the raw heads of one new position per
 * batch row, and rotates them itself (fused_rope_attention). Both are one text, so the choice of sizes is the same. */
#include <stddef.h>
#include <string.h>

#include "gpu/attention.h"
#include "gpu/lines.h"
#include "gpu/rope.h"

enum { Q, K, V };                                 /* inputs of attention */
enum { ROWS, AT = 3, FACTORS, GAMMA_Q, GAMMA_K }; /* of fused_rope_attention, where k and v have the same places */
enum { MAX_PER = 4 };                             /* limit of rotate.kh */

typedef struct gpu_rotation {
  gpu_window turns, factors, gamma_q, gamma_k;
  uint32_t n_rot;
  uint32_t units; /* of a head, as rotate.kh divides it */
  bool is_gptj, norm;
  float eps;
} gpu_rotation;

typedef struct decode {
  uint32_t group_size, rows, lanes, k_vecs, v_vecs, unroll;
  uint32_t red, query, joined; /* shared memory: f32 values; vec4s; vec4s */
  bool in_regs;
  uint32_t fresh, per; /* with a rotation: words of shared memory; units per lane */
} decode;

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* With `rows` rows per workgroup of at most `size` invocations; false if registers or shared memory do not suffice. */
static bool decode_fits(const gpu_caps *caps, const gpu_attention *a, uint32_t rows, uint32_t size, decode *out) {
  uint32_t k_fours = a->k_type == RLX_F32 ? 1 : 2, v_fours = a->v_type == RLX_F32 ? 1 : 2;
  uint32_t k_units = a->d / (4 * k_fours), v_units = gpu_ceil_div(a->dv, 4 * v_fours);
  const gpu_attention_choice *chosen = &caps->choices.attention;
  uint32_t wanted = chosen->group_size ? chosen->group_size : size;
  decode t = {.group_size = smaller(caps->max_group, wanted), .rows = rows};
  t.lanes = smaller(gpu_power_of_two(k_units > v_units ? k_units : v_units), caps->subgroup ? caps->subgroup : 32);
  t.lanes = smaller(t.lanes, 32);
  t.k_vecs = gpu_ceil_div(k_units, t.lanes);
  t.v_vecs = gpu_ceil_div(v_units, t.lanes);
  t.unroll =
    chosen->unroll
      ? chosen->unroll
      : gpu_tuned(caps)->attention_unroll; /* without subgroups the scores pass through shared memory: few at a time */
  while (t.unroll > 1 &&
         (t.unroll * t.k_vecs > 8 || t.unroll * t.v_vecs > 8 || t.unroll * rows > (caps->subgroup ? 16u : 4u)))
    t.unroll /= 2;
  /* Bounds the unrolled products. Small subgroups mean a software device, whose compiler takes seconds for many. */
  uint32_t products = rows * t.unroll * (t.k_vecs * k_fours + t.v_vecs * v_fours), max = caps->subgroup >= 16 ? 64 : 16;
  if (rows > 1 && products > max) return false;
  t.red = caps->subgroup ? 1 : t.unroll * rows * (t.group_size + t.group_size / t.lanes);
  t.in_regs = caps->subgroup && rows * k_fours * t.k_vecs <= 4;
  t.query = t.in_regs && !a->rotation ? 1 : rows * k_fours * t.lanes * t.k_vecs;
  t.joined = t.group_size * v_fours * t.v_vecs;
  if (a->rotation) {
    t.fresh = 4 * t.lanes * (t.k_vecs + t.v_vecs);
    t.per = gpu_ceil_div(a->rotation->units, t.lanes);
    if (!caps->subgroup && t.red < 2 * t.group_size) t.red = 2 * t.group_size; /* sums of squares */
  }
  *out = t;
  uint32_t bytes = 16 * (t.query + t.joined) + 4 * (t.red + t.fresh + 2 * t.group_size / t.lanes + 2);
  if (t.per > MAX_PER) return false;
  return t.k_vecs <= 8 && t.v_vecs <= 8 && rows * v_fours * t.v_vecs <= 16 && bytes <= caps->max_shared;
}

/* Up to a number of keys, a second dispatch takes longer than one workgroup that iterates over all of them. Such a
 * workgroup is large, and rows share one only if there are more workgroups than units. */
static bool fits_one_dispatch(const gpu_lowering *l, const gpu_attention *a, decode *t) {
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  bool is_short = a->n_keys <= tuned->attention_whole_keys || a->window - 1 < tuned->attention_whole_keys;
  if (!is_short || a->sinks.from != GPU_NONE || l->caps->choices.attention.groups_per_unit) return false;
  uint32_t size = l->caps->subgroup >= 16 ? tuned->attention_whole_group : 128, rows = 1;
  while (rows < 8 && rows < a->rows &&
         (uint64_t)a->n_kv * a->n_batch * gpu_ceil_div(a->rows, rows) > 2ull * l->caps->units)
    rows *= 2;
  while (rows && !decode_fits(l->caps, a, rows, size, t)) rows /= 2;
  return rows != 0;
}

/* The kernel's launch, without what rotates. */
typedef struct decode_launch {
  gpu_constants_attention_decode c;
  gpu_params_attention p;
  gpu_window parts;
  uint32_t groups, group_size;
} decode_launch;

static void emit_plain(gpu_lowering *l, const gpu_attention *a, const decode_launch *d) {
  gpu_emit(l, &(gpu_launch){.kernel = &gpu_kernel_attention_decode,
                            GPU_CONSTANTS(attention_decode, d->c),
                            GPU_PARAMS(attention, d->p), /* the same for all kernels of attention */
                            .groups = d->groups,
                            .group_size = d->group_size,
                            .windows = {gpu_in(l, Q), gpu_in(l, K), gpu_in(l, V), a->mask, a->bias_window, a->len,
                                        a->offset, d->parts}});
}

/* The constants and parameters begin with those of the plain kernel. */
static void emit_rotating(gpu_lowering *l, const gpu_rotation *r, const decode *t, const decode_launch *d) {
  gpu_constants_attention_decode_rope c;
  gpu_params_attention_decode_rope p;
  _Static_assert(offsetof(gpu_constants_attention_decode_rope, angles) == sizeof d->c, "the plain kernel's constants");
  _Static_assert(offsetof(gpu_params_attention_decode_rope, n_rot) == sizeof d->p, "the plain kernel's parameters");
  memcpy(&c, &d->c, sizeof d->c);
  c.angles = r->factors.from != GPU_NONE;
  c.is_gptj = r->is_gptj;
  c.per = t->per;
  c.norm = r->norm;
  c.has_gamma_q = r->gamma_q.from != GPU_NONE;
  c.has_gamma_k = r->gamma_k.from != GPU_NONE;
  c.fresh = t->fresh;
  memcpy(&p, &d->p, sizeof d->p);
  p.n_rot = r->n_rot;
  p.eps = r->eps;
  gpu_emit(l, &(gpu_launch){GPU_KERNEL(attention_decode_rope, p, c), .groups = d->groups, .group_size = d->group_size,
                            .windows = {gpu_in(l, ROWS), gpu_in(l, K), gpu_in(l, V), gpu_in(l, AT), r->turns,
                                        c.angles ? r->factors : r->gamma_q, r->gamma_k, d->parts}});
}

bool gpu_attention_decode(gpu_lowering *l, gpu_attention *a) {
  if (!a->by_16_bytes || a->rows > 16 || a->dv == 0) return false;
  decode t = {0};
  bool whole = fits_one_dispatch(l, a, &t);
  uint32_t rows = whole ? t.rows : smaller(gpu_power_of_two(a->rows), 8);
  while (!whole && rows && !decode_fits(l->caps, a, rows, 128, &t)) rows /= 2;
  if (!rows) return false;
  uint32_t blocks = gpu_ceil_div(a->rows, rows), row_tiles = a->n_kv * a->n_batch * blocks;
  /* The number of workgroups of 128 that a unit can hold at once, limited by registers: all run in one wave. */
  const gpu_tuning *tuned = gpu_tuned(l->caps);
  uint32_t per_unit = rows <= 2   ? tuned->attention_groups_2_rows
                      : rows <= 4 ? tuned->attention_groups_4_rows
                                  : tuned->attention_groups_8_rows;
  if (a->rotation) per_unit = smaller(per_unit, tuned->attention_groups_rotating);
  if (l->caps->choices.attention.groups_per_unit) per_unit = l->caps->choices.attention.groups_per_unit;
  if (!whole) a->splits = gpu_attention_splits(l->caps, a, row_tiles, per_unit, tuned->attention_decode_min_keys);
  decode_launch d = {.parts = whole ? gpu_out(l) : gpu_attention_parts(l, a),
                     .p = gpu_attention_params(a, blocks),
                     .groups = row_tiles * a->splits,
                     .group_size = t.group_size};
  d.c = (gpu_constants_attention_decode){.t_q = (uint32_t)a->q_type,
                                         .t_k = (uint32_t)a->k_type,
                                         .t_v = (uint32_t)a->v_type,
                                         .rows = rows,
                                         .lanes = t.lanes,
                                         .k_vecs = t.k_vecs,
                                         .v_vecs = t.v_vecs,
                                         .unroll = t.unroll,
                                         .causal = a->causal,
                                         .has_mask = a->mask.from != GPU_NONE,
                                         .has_bias = a->bias_window.from != GPU_NONE,
                                         .has_cap = a->softcap > 0,
                                         .has_len = a->len.from != GPU_NONE,
                                         .extra = a->offset.from != GPU_NONE,
                                         .red = t.red,
                                         .query = t.query,
                                         .joined = t.joined,
                                         .careful = (a->causal && a->n_q > 1) || a->bias_window.from != GPU_NONE,
                                         .in_regs = t.in_regs,
                                         .whole = whole};
  if (a->rotation) emit_rotating(l, a->rotation, &t, &d);
  else emit_plain(l, a, &d);
  if (!whole) gpu_attention_combine(l, a, d.parts);
  return true;
}

/* ---- with the rotation of q and of the new key ---- */

static gpu_attention read_step(const gpu_lowering *l) {
  const rlx_attrs_fused_rope_attention *attrs = RLX_ATTRS(fused_rope_attention, l->node);
  const rlx_type *q = gpu_out_type(l), *k = gpu_in_type(l, K), *v = gpu_in_type(l, V);
  gpu_attention a = {.n_batch = (uint32_t)q->shape.v[0],
                     .n_q = 1,
                     .n_keys = (uint32_t)k->shape.v[1],
                     .n_heads = (uint32_t)q->shape.v[2],
                     .n_kv = (uint32_t)k->shape.v[2],
                     .d = (uint32_t)q->shape.v[3],
                     .dv = (uint32_t)q->shape.v[3],
                     .k = gpu_heads_of(k, true),
                     .v = gpu_heads_of(v, true),
                     .q_type = q->dtype,
                     .k_type = k->dtype,
                     .v_type = v->dtype,
                     .scale = gpu_attention_scale(attrs->scale, (uint32_t)q->shape.v[3]),
                     .softcap = (float)attrs->softcap,
                     .window = gpu_attention_window(attrs->window),
                     .by_16_bytes = gpu_heads_are_vectors(k) && gpu_heads_are_vectors(v),
                     .splits = 1,
                     .len_per_batch = gpu_count(gpu_in_type(l, AT)) > 1};
  a.causal = a.window > 0; /* otherwise the number of keys is all that matters */
  a.group = a.n_heads / a.n_kv;
  a.rows = a.group;
  a.y = (gpu_heads){a.n_heads, 1};
  return a;
}

void gpu_lower_rope_attention(gpu_lowering *l) {
  const rlx_attrs_fused_rope_attention *attrs = RLX_ATTRS(fused_rope_attention, l->node);
  if (gpu_count(gpu_out_type(l)) == 0) return;
  gpu_attention a = read_step(l);
  const uint32_t n_rot = attrs->n_rot ? (uint32_t)attrs->n_rot : a.d, pair = attrs->style == RLX_ROPE_GPTJ ? 4 : 8;
  if (a.n_keys > gpu_tuned(l->caps)->attention_rotating_keys) gpu_refuse(l, "so many keys that they take the time");
  if (a.q_type != RLX_F32 || n_rot % pair || (attrs->norm && attrs->eps < 1e-30))
    gpu_refuse(l, "a norm and rope of heads that are not f32 in whole vectors");
  if (gpu_has_in(l, FACTORS) && attrs->norm) gpu_refuse(l, "factors and a norm: they would need nine windows");
  if (gpu_failed(l)) return;
  const gpu_rotation r = {.turns = gpu_rope_turns(l, n_rot / 2, attrs->theta),
                          .factors = gpu_in(l, FACTORS),
                          .gamma_q = gpu_in(l, GAMMA_Q),
                          .gamma_k = gpu_in(l, GAMMA_K),
                          .n_rot = n_rot,
                          .units = n_rot / pair + (a.d - n_rot) / 4,
                          .is_gptj = attrs->style == RLX_ROPE_GPTJ,
                          .norm = attrs->norm,
                          .eps = (float)attrs->eps};
  a.rotation = &r;
  if (!gpu_attention_decode(l, &a))
    gpu_refuse(l, "heads or groups of heads that the kernel for few rows does not take");
}
