/* Shape rules of attention, rotary position embedding (rope), and their fused forms.
 *
 * A tensor of heads is [B, S, H, D] or [B, H, S, D], as the attribute `layout` selects. The rules first extract those
 * four sizes and then use them by name. */
#include <math.h>

#include "ir/infer.h"

#define MAX_HEAD_SIZE 512

/* The four sizes of a tensor of heads. */
typedef struct head_dims {
  int64_t batch, places, heads, size;
} head_dims;

static rlx_status read_heads(const rlx_infer *c, uint32_t i, int32_t layout, head_dims *out) {
  RLX_TRY(rlx_expect_rank(c, i, 4));
  const int64_t *v = rlx_infer_shape(c, i)->v;
  bool places_first = layout == RLX_LAYOUT_BSHD;
  *out = (head_dims){v[0], v[places_first ? 1 : 2], v[places_first ? 2 : 1], v[3]};
  return RLX_OK;
}

static rlx_status expect_at_most_head_size(const rlx_infer *c, uint32_t i, int64_t size, int64_t min) {
  if (rlx_dim_is_open(size) || (size >= min && size <= MAX_HEAD_SIZE)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u (%s) has heads of %lld elements, not %lld to %d", (unsigned)i,
                  rlx_infer_input_name(c, i), (long long)size, (long long)min, MAX_HEAD_SIZE);
}

/* Grouped-query attention: each key head serves heads / kv_heads query heads. */
static rlx_status expect_grouped(int64_t heads, int64_t kv_heads) {
  if (rlx_dim_is_open(heads) || rlx_dim_is_open(kv_heads)) return RLX_OK;
  if (kv_heads == 0 ? heads == 0 : heads % kv_heads == 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%lld key heads do not divide %lld query heads", (long long)kv_heads, (long long)heads);
}

static rlx_status expect_bias(const rlx_infer *c, uint32_t i, rlx_dims scores) {
  const rlx_dims *bias = rlx_infer_shape(c, i);
  bool fits = bias->n <= 4;
  for (int k = 1; fits && k <= bias->n; k++) {
    int64_t have = bias->v[bias->n - k], unified;
    fits = have == 1 || rlx_dim_unify(have, scores.v[4 - k], &unified);
  }
  if (fits) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must broadcast to the scores %s", (unsigned)i,
                  rlx_infer_input_name(c, i), RLX_DIMS_TEXT(*bias), RLX_DIMS_TEXT(scores));
}

static rlx_status check_scores(double scale, double softcap, int64_t window) {
  if (!isfinite(scale)) return RLX_FAIL(RLX_INVALID, "scale %g must be finite", scale);
  if (!isfinite(softcap) || softcap < 0)
    return RLX_FAIL(RLX_INVALID, "softcap %g must be finite and not negative", softcap);
  if (window < 0) return RLX_FAIL(RLX_INVALID, "window %lld is negative", (long long)window);
  return RLX_OK;
}

rlx_status rlx_shape_attention(rlx_infer *c) {
  const rlx_attrs_attention *attrs = c->attrs;
  RLX_TRY(check_scores(attrs->scale, attrs->softcap, attrs->window));
  if (attrs->window > 0 && !attrs->causal)
    return RLX_FAIL(RLX_INVALID, "window %lld needs causal", (long long)attrs->window);
  head_dims q, k, v;
  RLX_TRY(read_heads(c, 0, attrs->layout, &q));
  RLX_TRY(read_heads(c, 1, attrs->layout, &k));
  RLX_TRY(read_heads(c, 2, attrs->layout, &v));
  int64_t batch, keys, kv_heads, size;
  if (!rlx_dim_unify(q.batch, k.batch, &batch) || !rlx_dim_unify(batch, v.batch, &batch) ||
      !rlx_dim_unify(k.places, v.places, &keys) || !rlx_dim_unify(k.heads, v.heads, &kv_heads) ||
      !rlx_dim_unify(q.size, k.size, &size))
    return RLX_FAIL(RLX_INVALID, "q is %s, k is %s and v is %s (%s): they do not fit",
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, 0)), RLX_DIMS_TEXT(*rlx_infer_shape(c, 1)),
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, 2)), attrs->layout == RLX_LAYOUT_BSHD ? "bshd" : "bhsd");
  RLX_TRY(expect_at_most_head_size(c, 0, size, 1));
  RLX_TRY(expect_at_most_head_size(c, 2, v.size, 0));
  RLX_TRY(expect_grouped(q.heads, kv_heads));
  if (rlx_infer_in(c, 3)) RLX_TRY(rlx_expect_shape(c, 3, RLX_DIMS(batch, keys)));
  if (rlx_infer_in(c, 4)) RLX_TRY(expect_bias(c, 4, RLX_DIMS(batch, q.heads, q.places, keys)));
  if (rlx_infer_in(c, 5)) RLX_TRY(rlx_expect_shape(c, 5, RLX_DIMS(q.heads)));
  if (rlx_infer_in(c, 6)) RLX_TRY(rlx_expect_scalar_or_vector(c, 6, batch));
  if (rlx_infer_in(c, 7)) RLX_TRY(rlx_expect_scalar_or_vector(c, 7, batch));
  c->out.shape = attrs->layout == RLX_LAYOUT_BSHD ? RLX_DIMS(batch, q.places, q.heads, v.size)
                                                  : RLX_DIMS(batch, q.heads, q.places, v.size);
  return RLX_OK;
}

rlx_status rlx_shape_paged_attention(rlx_infer *c) {
  const rlx_attrs_paged_attention *attrs = c->attrs;
  RLX_TRY(check_scores(attrs->scale, attrs->softcap, attrs->window));
  if (attrs->window > 0 && !attrs->causal)
    return RLX_FAIL(RLX_INVALID, "window %lld needs causal", (long long)attrs->window);
  head_dims q, k, v;
  RLX_TRY(read_heads(c, 0, RLX_LAYOUT_BSHD, &q));
  RLX_TRY(read_heads(c, 1, RLX_LAYOUT_BSHD, &k));
  RLX_TRY(read_heads(c, 2, RLX_LAYOUT_BSHD, &v));
  int64_t n_pages, page, kv_heads, size;
  if (!rlx_dim_unify(k.batch, v.batch, &n_pages) || !rlx_dim_unify(k.places, v.places, &page) ||
      !rlx_dim_unify(k.heads, v.heads, &kv_heads) || !rlx_dim_unify(q.size, k.size, &size))
    return RLX_FAIL(RLX_INVALID, "q is %s, k is %s and v is %s: they do not fit", RLX_DIMS_TEXT(*rlx_infer_shape(c, 0)),
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, 1)), RLX_DIMS_TEXT(*rlx_infer_shape(c, 2)));
  if (n_pages == 0 || page == 0)
    return RLX_FAIL(RLX_INVALID, "k is %s but must have at least one page of at least one key",
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, 1)));
  RLX_TRY(expect_at_most_head_size(c, 0, size, 1));
  RLX_TRY(expect_at_most_head_size(c, 2, v.size, 0));
  RLX_TRY(expect_grouped(q.heads, kv_heads));
  RLX_TRY(rlx_expect_shape(c, 3, RLX_DIMS(q.batch, RLX_DIM_UNKNOWN)));
  if (rlx_infer_in(c, 4)) RLX_TRY(rlx_expect_scalar_or_vector(c, 4, q.batch));
  if (rlx_infer_in(c, 5)) RLX_TRY(rlx_expect_scalar_or_vector(c, 5, q.batch));
  if (rlx_infer_in(c, 6)) RLX_TRY(rlx_expect_shape(c, 6, RLX_DIMS(q.heads)));
  c->out.shape = RLX_DIMS(q.batch, q.places, q.heads, v.size);
  return RLX_OK;
}

/* ---- rotary positions ---- */

static rlx_status expect_theta(double theta) {
  if (isfinite(theta) && theta > 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "theta %g must be finite and positive", theta);
}

/* The number of rotated pairs of a head. */
static rlx_status rotated_pairs(const rlx_infer *c, uint32_t i, int64_t size, int64_t n_rot, double theta,
                                int64_t *pairs) {
  RLX_TRY(expect_theta(theta));
  bool known = !rlx_dim_is_open(size);
  if (n_rot < 0 || n_rot % 2 || (known && n_rot > size))
    return RLX_FAIL(RLX_INVALID, "n_rot %lld must be even and at most the head size of %s", (long long)n_rot,
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, i)));
  if (n_rot == 0 && known && size % 2)
    return RLX_FAIL(RLX_INVALID, "cannot rotate all of a head of %lld elements: give an even n_rot", (long long)size);
  *pairs = n_rot ? n_rot / 2 : known ? size / 2 : RLX_DIM_UNKNOWN;
  return RLX_OK;
}

typedef struct rotation {
  int32_t layout;
  int64_t n_rot;
  double theta;
} rotation;

/* Checks x and rope's other inputs, which give the positions or tables: its first six inputs. */
static rlx_status check_rope(rlx_infer *c, const rotation *r, head_dims *x) {
  int64_t pairs;
  RLX_TRY(read_heads(c, 0, r->layout, x));
  RLX_TRY(rotated_pairs(c, 0, x->size, r->n_rot, r->theta, &pairs));
  const rlx_dims *positions = rlx_infer_shape(c, 1);
  if (positions && rlx_infer_in(c, 2)) return RLX_FAIL(RLX_INVALID, "takes positions or offset, not both");
  if (positions)
    RLX_TRY(rlx_expect_shape(c, 1, positions->n == 2 ? RLX_DIMS(x->batch, x->places) : RLX_DIMS(x->places)));
  if (rlx_infer_in(c, 2)) RLX_TRY(rlx_expect_scalar_or_vector(c, 2, 1));
  if (rlx_infer_in(c, 3)) RLX_TRY(rlx_expect_shape(c, 3, RLX_DIMS(pairs)));
  const rlx_dims *cos_table = rlx_infer_shape(c, 4), *sin_table = rlx_infer_shape(c, 5);
  if (!cos_table != !sin_table) return RLX_FAIL(RLX_INVALID, "takes both tables, cos and sin, or neither");
  if (cos_table && rlx_infer_in(c, 3)) return RLX_FAIL(RLX_INVALID, "factors have no meaning with cos and sin tables");
  if (cos_table) {
    RLX_TRY(rlx_expect_shape(c, 4, RLX_DIMS(RLX_DIM_UNKNOWN, pairs)));
    RLX_TRY(rlx_expect_shape(c, 5, RLX_DIMS(cos_table->v[0], pairs)));
  }
  c->out.shape = *rlx_infer_shape(c, 0);
  return RLX_OK;
}

rlx_status rlx_shape_rope(rlx_infer *c) {
  const rlx_attrs_rope *a = c->attrs;
  head_dims x;
  return check_rope(c, &(rotation){a->layout, a->n_rot, a->theta}, &x);
}

rlx_status rlx_shape_norm_rope(rlx_infer *c) {
  const rlx_attrs_fused_norm_rope *a = c->attrs;
  head_dims x;
  RLX_TRY(check_rope(c, &(rotation){a->layout, a->n_rot, a->theta}, &x));
  return rlx_expect_row_norm(c, 6, x.size);
}

rlx_status rlx_shape_rope_update(rlx_infer *c) {
  const rlx_attrs_fused_rope_update *a = c->attrs;
  head_dims x;
  int64_t pairs;
  RLX_TRY(read_heads(c, 1, RLX_LAYOUT_BSHD, &x));
  RLX_TRY(rlx_expect_rows_of_state(c, 1));
  RLX_TRY(rotated_pairs(c, 1, x.size, a->n_rot, a->theta, &pairs));
  const rlx_dims *positions = rlx_infer_shape(c, 3);
  if (positions) RLX_TRY(rlx_expect_shape(c, 3, positions->n == 2 ? RLX_DIMS(x.batch, x.places) : RLX_DIMS(x.places)));
  if (rlx_infer_in(c, 4)) RLX_TRY(rlx_expect_shape(c, 4, RLX_DIMS(pairs)));
  if (!a->norm && rlx_infer_in(c, 5)) return RLX_FAIL(RLX_INVALID, "takes gamma only with norm");
  return rlx_expect_row_norm(c, 5, x.size);
}

rlx_status rlx_shape_axial_rope_2d(rlx_infer *c) {
  const rlx_attrs_axial_rope_2d *attrs = c->attrs;
  head_dims x;
  RLX_TRY(expect_theta(attrs->theta));
  RLX_TRY(read_heads(c, 0, attrs->layout, &x));
  if (attrs->width < 1) return RLX_FAIL(RLX_INVALID, "width %lld must be 1 or more", (long long)attrs->width);
  if (!rlx_dim_is_open(x.size) && x.size % 4)
    return RLX_FAIL(RLX_INVALID, "4 does not divide the head size %lld", (long long)x.size);
  c->out.shape = *rlx_infer_shape(c, 0);
  return RLX_OK;
}

/* ---- fused forms ---- */

rlx_status rlx_shape_rope_attention(rlx_infer *c) {
  enum { ROWS, K, V, AT, FACTORS, GAMMA_Q, GAMMA_K };
  const rlx_attrs_fused_rope_attention *a = c->attrs;
  head_dims rows, k;
  int64_t pairs, batch, size, one;
  RLX_TRY(check_scores(a->scale, a->softcap, a->window));
  RLX_TRY(read_heads(c, ROWS, RLX_LAYOUT_BSHD, &rows));
  RLX_TRY(read_heads(c, K, RLX_LAYOUT_BSHD, &k));
  RLX_TRY(rlx_expect_shape(c, V, *rlx_infer_shape(c, K)));
  if (!rlx_dim_unify(rows.places, 1, &one) || !rlx_dim_unify(rows.batch, k.batch, &batch) ||
      !rlx_dim_unify(rows.size, k.size, &size))
    return RLX_FAIL(RLX_INVALID, "rows are %s, not one position for each batch row of k %s",
                    RLX_DIMS_TEXT(*rlx_infer_shape(c, ROWS)), RLX_DIMS_TEXT(*rlx_infer_shape(c, K)));
  RLX_TRY(expect_at_most_head_size(c, ROWS, size, 1));
  int64_t heads = RLX_DIM_UNKNOWN;
  if (!rlx_dim_is_open(rows.heads) && !rlx_dim_is_open(k.heads)) {
    heads = rows.heads / 2 < k.heads ? 0 : rows.heads - 2 * k.heads;
    if (heads < 1 || k.heads < 1)
      return RLX_FAIL(RLX_INVALID, "rows of %lld heads leave none for q beside k and v of %lld", (long long)rows.heads,
                      (long long)k.heads);
    RLX_TRY(expect_grouped(heads, k.heads));
  }
  RLX_TRY(rlx_expect_scalar_or_vector(c, AT, batch));
  RLX_TRY(rotated_pairs(c, ROWS, size, a->n_rot, a->theta, &pairs));
  if (rlx_infer_in(c, FACTORS)) RLX_TRY(rlx_expect_shape(c, FACTORS, RLX_DIMS(pairs)));
  if (!a->norm && (rlx_infer_in(c, GAMMA_Q) || rlx_infer_in(c, GAMMA_K)))
    return RLX_FAIL(RLX_INVALID, "takes gamma only with norm");
  RLX_TRY(rlx_expect_row_norm(c, GAMMA_Q, size));
  RLX_TRY(rlx_expect_row_norm(c, GAMMA_K, size));
  c->out.shape = RLX_DIMS(batch, 1, heads, size);
  return RLX_OK;
}

rlx_status rlx_shape_residual_norm(rlx_infer *c) {
  const rlx_dims *x = rlx_infer_shape(c, 0);
  double eps = RLX_ATTRS(fused_residual_norm, c)->eps;
  if (!isfinite(eps) || eps < 0) return RLX_FAIL(RLX_INVALID, "eps %g must be finite and not negative", eps);
  if (x->n < 1) return RLX_FAIL(RLX_INVALID, "x is a scalar but must have an axis to normalise");
  RLX_TRY(rlx_expect_shape(c, 1, *x));
  c->out.shape = *x;
  for (int i = 0; i < x->n; i++) (void)rlx_dim_unify(x->v[i], rlx_infer_shape(c, 1)->v[i], &c->out.shape.v[i]);
  for (uint32_t i = 2; i < 4; i++)
    if (rlx_infer_in(c, i)) RLX_TRY(rlx_expect_shape(c, i, RLX_DIMS(c->out.shape.v[x->n - 1])));
  return RLX_OK;
}

static rlx_status expect_weight(const rlx_infer *c, uint32_t i, bool trans_b, int64_t k, int64_t n) {
  return rlx_expect_shape(c, i, trans_b ? RLX_DIMS(n, k) : RLX_DIMS(k, n));
}

rlx_status rlx_shape_attention_block(rlx_infer *c) {
  const rlx_attrs_fused_attention_block *attrs = c->attrs;
  RLX_TRY(rlx_expect_rank(c, 0, 3));
  const rlx_dims *x = rlx_infer_shape(c, 0);
  int64_t width = x->v[2], heads = attrs->heads, kv_heads = attrs->kv_heads ? attrs->kv_heads : heads,
          size = attrs->head_dim;
  if (!isfinite(attrs->scale)) return RLX_FAIL(RLX_INVALID, "scale %g must be finite", attrs->scale);
  if (heads < 1 || kv_heads < 1 || size < 0)
    return RLX_FAIL(RLX_INVALID, "heads %lld, kv_heads %lld, head_dim %lld: must not be negative, and heads not 0",
                    (long long)heads, (long long)attrs->kv_heads, (long long)size);
  RLX_TRY(expect_grouped(heads, kv_heads));
  if (size == 0 && rlx_dim_is_open(width)) size = RLX_DIM_UNKNOWN;
  else if (size == 0 && width % heads)
    return RLX_FAIL(RLX_INVALID, "%lld heads do not divide x %s", (long long)heads, RLX_DIMS_TEXT(*x));
  else if (size == 0) size = width / heads;
  RLX_TRY(expect_at_most_head_size(c, 0, size, 1));
  int64_t all_heads, qkv, joined;
  if (!rlx_dim_add(c->graph, kv_heads, kv_heads, &all_heads) || !rlx_dim_add(c->graph, all_heads, heads, &all_heads) ||
      !rlx_dim_mul(c->graph, all_heads, size, &qkv) || !rlx_dim_mul(c->graph, heads, size, &joined))
    return RLX_FAIL(RLX_INVALID, "%lld heads of %lld elements overflow", (long long)heads, (long long)size);
  RLX_TRY(expect_weight(c, 1, attrs->trans_b, width, qkv));
  RLX_TRY(expect_weight(c, 2, attrs->trans_b, joined, width));
  if (rlx_infer_in(c, 3)) RLX_TRY(rlx_expect_shape(c, 3, RLX_DIMS(qkv)));
  if (rlx_infer_in(c, 4)) RLX_TRY(rlx_expect_shape(c, 4, RLX_DIMS(width)));
  c->out.shape = *x;
  return RLX_OK;
}
