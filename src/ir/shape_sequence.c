/* Shape rules of sequence models.
 *
 * These ops have many inputs that share few sizes, so a rule is written with a letter per size, and per input the
 * letters of its axes. One matcher compares an input with its letters: the first occurrence of a letter defines its
 * size, later ones must be equal. Letters that attributes determine are set beforehand. Other constraints (one size
 * divides another, one is another less one) are checked separately. */
#include <string.h>

#include "ir/infer.h"

typedef struct letters {
  int64_t size[26]; /* of 'A' .. 'Z'; RLX_DIM_UNKNOWN until defined */
} letters;

static int64_t *size_of(letters *l, char letter) { return &l->size[letter - 'A']; }

static letters letters_new(void) {
  letters l;
  for (int i = 0; i < 26; i++) l.size[i] = RLX_DIM_UNKNOWN;
  return l;
}

static rlx_dims dims_of(letters *l, const char *axes) {
  rlx_dims d = {.n = (int32_t)strlen(axes)};
  for (int i = 0; i < d.n; i++) d.v[i] = *size_of(l, axes[i]);
  return d;
}

/* Input i has these axes; absent inputs pass. */
static rlx_status match(const rlx_infer *c, uint32_t i, const char *axes, letters *l) {
  const rlx_dims *s = rlx_infer_shape(c, i);
  if (!s) return RLX_OK;
  rlx_dims want = dims_of(l, axes);
  bool fits = s->n == want.n;
  for (int k = 0; fits && k < want.n; k++) {
    int64_t *size = size_of(l, axes[k]);
    fits = rlx_dim_unify(*size, s->v[k], size);
  }
  if (fits) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "input %u (%s) is %s but must be %s (axes %s)", (unsigned)i, rlx_infer_input_name(c, i),
                  RLX_DIMS_TEXT(*s), RLX_DIMS_TEXT(want), axes);
}

/* Matches every input. A list shorter than the inputs would be an error in the table below, not of a caller. */
static rlx_status match_all(const rlx_infer *c, const char *const *axes, letters *l) {
  for (uint32_t i = 0; i < c->n_in; i++) RLX_TRY(match(c, i, axes[i], l));
  return RLX_OK;
}

/* ---- scans over time ---- */

rlx_status rlx_shape_selective_scan(rlx_infer *c) {
  static const char *const axes[] = {"BLD", "BLD", "DN", "BLN", "BLN", "D", "BDN"};
  letters l = letters_new();
  RLX_TRY(match_all(c, axes, &l));
  c->out.shape = dims_of(&l, RLX_ATTRS(selective_scan, c)->out == 0 ? "BLD" : "BDN");
  return RLX_OK;
}

rlx_status rlx_shape_mamba2(rlx_infer *c) {
  static const char *const axes[] = {"BLHP", "BLH", "H", "BLGN", "BLGN", "H", "BHPN"};
  letters l = letters_new();
  RLX_TRY(match_all(c, axes, &l));
  int64_t heads = *size_of(&l, 'H'), groups = *size_of(&l, 'G');
  if (groups == 0)
    return RLX_FAIL(RLX_INVALID, "input 3 (b) is %s: it has no groups", RLX_DIMS_TEXT(*rlx_infer_shape(c, 3)));
  if (!rlx_dim_is_open(heads) && !rlx_dim_is_open(groups) && heads % groups != 0)
    return RLX_FAIL(RLX_INVALID, "%lld groups do not divide %lld heads", (long long)groups, (long long)heads);
  c->out.shape = dims_of(&l, RLX_ATTRS(mamba2, c)->out == 0 ? "BLHP" : "BHPN");
  return RLX_OK;
}

rlx_status rlx_shape_gated_delta_net(rlx_infer *c) {
  static const char *const axes[] = {"BLHN", "BLHN", "BLHV", "BLH", "BLH", "BHNV"};
  letters l = letters_new();
  RLX_TRY(match_all(c, axes, &l));
  c->out.shape = dims_of(&l, RLX_ATTRS(gated_delta_net, c)->out == 0 ? "BLHV" : "BHNV");
  return RLX_OK;
}

/* P: the number of past elements that a step reads, one less than the kernel. */
rlx_status rlx_shape_causal_conv(rlx_infer *c) {
  static const char *const axes[] = {"BCL", "CK", "C", "BCP"};
  letters l = letters_new();
  RLX_TRY(match_all(c, axes, &l));
  int64_t kernel = *size_of(&l, 'K'), *past = size_of(&l, 'P'), want;
  if (kernel == 0)
    return RLX_FAIL(RLX_INVALID, "input 1 (w) is %s: the kernel is empty", RLX_DIMS_TEXT(*rlx_infer_shape(c, 1)));
  if (!rlx_dim_add(c->graph, kernel, -1, &want) || !rlx_dim_unify(*past, want, past))
    return RLX_FAIL(RLX_INVALID, "input 3 (state) keeps %lld elements but a kernel of %lld needs %lld",
                    (long long)*past, (long long)kernel, (long long)kernel - 1);
  c->out.shape = dims_of(&l, RLX_ATTRS(causal_conv, c)->out == 0 ? "BCL" : "BCP");
  return RLX_OK;
}

/* ---- recurrent cells ----
 * I inputs, H hidden, R rows of a weight (gates x H), Y a layer's output (directions x H), N states (layers x
 * directions). */

typedef struct recurrent_attrs {
  int64_t hidden, layers, directions, gates;
  bool batch_first, bias;
  int32_t out;
  uint32_t n_states; /* optional inputs between x and the weights */
} recurrent_attrs;

#define COMMON_ATTRS(op_name, n_gates, n_state_inputs)                                      \
  (recurrent_attrs) {                                                                       \
    .hidden = RLX_ATTRS(op_name, c)->hidden, .layers = RLX_ATTRS(op_name, c)->layers,       \
    .directions = RLX_ATTRS(op_name, c)->direction == 2 ? 2 : 1, .gates = (n_gates),        \
    .batch_first = RLX_ATTRS(op_name, c)->batch_first, .bias = RLX_ATTRS(op_name, c)->bias, \
    .out = RLX_ATTRS(op_name, c)->out, .n_states = (n_state_inputs)                         \
  }

static recurrent_attrs attrs_of(const rlx_infer *c) {
  if (c->op == RLX_OP_lstm) return COMMON_ATTRS(lstm, 4, 2);
  if (c->op == RLX_OP_gru) return COMMON_ATTRS(gru, 3, 1);
  return COMMON_ATTRS(rnn, 1, 1);
}

static rlx_status check_weights(const rlx_infer *c, const recurrent_attrs *a, letters *l) {
  int64_t per_cell = a->bias ? 4 : 2, cells, want;
  uint32_t first = 1 + a->n_states, have = c->n_in > first ? c->n_in - first : 0;
  if (!rlx_dim_mul(c->graph, a->layers, a->directions, &cells) || !rlx_dim_mul(c->graph, cells, per_cell, &want) ||
      want != (int64_t)have)
    return RLX_FAIL(RLX_INVALID, "%lld layers in %lld directions with %lld weights each, got %u weights",
                    (long long)a->layers, (long long)a->directions, (long long)per_cell, (unsigned)have);
  *size_of(l, 'N') = cells;
  static const char *const first_layer[] = {"RI", "RH", "R", "R"}, *const later_layers[] = {"RY", "RH", "R", "R"};
  for (uint32_t i = 0; i < have; i++) {
    uint32_t in_cell = i % (uint32_t)per_cell, layer = i / (uint32_t)per_cell / (uint32_t)a->directions;
    RLX_TRY(match(c, first + i, layer == 0 ? first_layer[in_cell] : later_layers[in_cell], l));
  }
  return RLX_OK;
}

rlx_status rlx_shape_rnn(rlx_infer *c) {
  recurrent_attrs a = attrs_of(c);
  letters l = letters_new();
  if (a.hidden < 1) return RLX_FAIL(RLX_INVALID, "hidden is %lld but must be at least 1", (long long)a.hidden);
  if (a.layers < 1) return RLX_FAIL(RLX_INVALID, "layers is %lld but must be at least 1", (long long)a.layers);
  *size_of(&l, 'H') = a.hidden;
  if (!rlx_dim_mul(c->graph, a.hidden, a.gates, size_of(&l, 'R')) ||
      !rlx_dim_mul(c->graph, a.hidden, a.directions, size_of(&l, 'Y')))
    return RLX_FAIL(RLX_INVALID, "hidden is %lld: too large", (long long)a.hidden);
  RLX_TRY(match(c, 0, a.batch_first ? "BSI" : "SBI", &l));
  RLX_TRY(check_weights(c, &a, &l));
  for (uint32_t i = 0; i < a.n_states; i++) RLX_TRY(match(c, 1 + i, "NBH", &l));
  c->out.shape = dims_of(&l, a.out != 0 ? "NBH" : a.batch_first ? "BSY" : "SBY");
  return RLX_OK;
}
