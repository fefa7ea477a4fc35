/* Tiny models with goldens, and running their graphs. */
#include "lm_models.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/status.h"
#include "rlx/experimental.h"

static rlx_status read_golden(const char *name, const char *what, rlx_tensor *out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s/%s.npy", RLX_TEST_DATA, name, what);
  return rlx_npy_read(path, out);
}

rlx_status lm_golden_open(const char *name, lm_golden *out) {
  *out = (lm_golden){.file = NULL};
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, name);
  RLX_TRY(rlx_file_open(path, NULL, &out->file));
  RLX_TRY_AT(lm_model_open(out->file, &out->model), "%s", name);
  RLX_TRY(read_golden(name, "tokens", &out->tokens));
  if (lm_model_facts(out->model)->is_encoder) {
    bool is_ranker = lm_model_facts(out->model)->is_ranker;
    RLX_TRY(read_golden(name, "lengths", &out->lengths));
    if (is_ranker) RLX_TRY(read_golden(name, "types", &out->types));
    return read_golden(name, is_ranker ? "score" : "embedding", &out->result);
  }
  RLX_TRY(read_golden(name, "logits", &out->logits));
  return read_golden(name, "greedy", &out->greedy);
}

void lm_golden_deinit(lm_golden *g) {
  lm_model_close(g->model);
  rlx_file_close(g->file);
  rlx_free(g->tokens.data);
  rlx_free(g->logits.data);
  rlx_free(g->greedy.data);
  rlx_free(g->lengths.data);
  rlx_free(g->types.data);
  rlx_free(g->result.data);
  *g = (lm_golden){.file = NULL};
}

/* A weight that can be read in parts has the same bytes that way, whichever parts these are. */
static rlx_status check_parts(const lm_model *m, size_t i, const rlx_tensor *whole) {
  if (!lm_model_has_parts(m, i)) return RLX_OK;
  unsigned char part[173];
  for (size_t at = 0, n; at < whole->bytes; at += n) {
    n = whole->bytes - at < sizeof part ? whole->bytes - at : sizeof part;
    RLX_TRY(lm_model_read_part(m, i, at, part, n));
    if (memcmp(part, (const unsigned char *)whole->data + at, n) != 0)
      return RLX_FAIL(RLX_INVALID, "weight '%s' is another one in parts, at byte %zu", lm_model_weight(m, i)->name, at);
  }
  return RLX_OK;
}

/* Passes each weight of the model, in memory of its own, to `put`. */
static rlx_status each_weight(const lm_model *m, rlx_status (*put)(void *to, const char *name, const rlx_tensor *value),
                              void *to) {
  for (size_t i = 0; i < lm_model_weights(m); i++) {
    const lm_weight *w = lm_model_weight(m, i);
    rlx_tensor t = {w->dtype, w->shape, {rlx_mem_alloc(w->bytes)}, w->bytes};
    rlx_status s = t.data ? lm_model_read(m, i, t.data) : RLX_FAIL(RLX_NO_MEMORY, "weight '%s'", w->name);
    if (!s) s = check_parts(m, i, &t);
    if (!s) s = put(to, w->name, &t);
    rlx_mem_free(t.data);
    RLX_TRY(s);
  }
  return RLX_OK;
}

static rlx_status put_weight(void *to, const char *name, const rlx_tensor *value) {
  return rlx_weights_set(to, name, value);
}

rlx_status lm_world_open(const lm_model *m, const char *device, lm_world *out) {
  *out = (lm_world){.model = m};
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1};
  RLX_TRY(rlx_session_create(&d, &out->session));
  RLX_TRY(rlx_weights_create(out->session, &out->weights));
  RLX_TRY(rlx_states_create(out->session, &out->states));
  return each_weight(m, put_weight, out->weights);
}

void lm_world_deinit(lm_world *w) {
  rlx_states_destroy(w->states);
  rlx_weights_destroy(w->weights);
  rlx_session_destroy(w->session);
  *w = (lm_world){.model = NULL};
}

rlx_status lm_world_compile(lm_world *w, const lm_graph_desc *d, rlx_executable **out) {
  *out = NULL;
  rlx_graph *g;
  RLX_TRY(lm_graph_build(w->model, d, &g));
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .weights = w->weights, .states = w->states,
                                 .switches = RLX_SWITCH_EXACT | w->switches};
  rlx_status s = rlx_compile(w->session, g, &options, out);
  rlx_graph_destroy(g);
  return s;
}

static rlx_named_tensor input(const char *name, rlx_dims shape, const int32_t *data, size_t n) {
  return (rlx_named_tensor){name, {RLX_I32, shape, {.const_data = data}, n * sizeof *data}};
}

/* The inputs that a graph of this description has; returns how many. */
static size_t list_inputs(const lm_graph_desc *d, const lm_step *s, rlx_named_tensor *in) {
  size_t n = 1, one = d->sequences;
  rlx_dims each = RLX_DIMS(d->sequences), all = RLX_DIMS(d->sequences, d->tokens);
  in[0] = input("tokens", all, s->tokens, one * d->tokens);
  if (s->position) in[n++] = input("position", each, s->position, one);
  if (s->length) in[n++] = input("length", each, s->length, one);
  if (s->types) in[n++] = input("types", all, s->types, one * d->tokens);
  return n;
}

rlx_status lm_step_run(rlx_executable *e, const lm_graph_desc *d, const lm_step *s) {
  rlx_named_tensor in[4], out = {s->result, {.data = s->out, .bytes = s->bytes}};
  size_t n = list_inputs(d, s, in);
  out.tensor.dtype = d->result == LM_TOKEN || d->result == LM_NONE ? RLX_I32 : RLX_F32;
  return rlx_run(e, in, n, &out, 1);
}

/* Of two lists of rope's factors a graph has the one for its context. */
static rlx_status put_value(void *to, const char *name, const rlx_tensor *value) {
  rlx_status s = rlx_evaluator_set(to, name, value);
  return s == RLX_NOT_FOUND && strncmp(name, "rope_factors_", 13) == 0 ? RLX_OK : s;
}

rlx_status lm_evaluator_open(const lm_model *m, const lm_graph_desc *d, rlx_evaluator **out) {
  rlx_graph *g;
  *out = NULL;
  RLX_TRY(lm_graph_build(m, d, &g));
  rlx_status s = rlx_evaluator_create(g, out);
  rlx_graph_destroy(g);
  return s ? s : each_weight(m, put_value, *out);
}

rlx_status lm_step_evaluate(rlx_evaluator *e, const lm_graph_desc *d, const lm_step *s) {
  rlx_named_tensor in[4];
  rlx_tensor view;
  size_t n = list_inputs(d, s, in);
  for (size_t i = 0; i < n; i++) RLX_TRY(rlx_evaluator_set(e, in[i].name, &in[i].tensor));
  RLX_TRY(rlx_evaluator_run(e));
  RLX_TRY(rlx_evaluator_get(e, s->result, &view));
  if (view.bytes != s->bytes)
    return RLX_FAIL(RLX_INVALID, "'%s' has %zu bytes, not %zu", s->result, view.bytes, s->bytes);
  memcpy(s->out, view.data, view.bytes);
  return RLX_OK;
}

double lm_difference(const float *got, const float *want, size_t n) {
  double max = 0, largest = 0;
  for (size_t i = 0; i < n; i++) {
    double d = fabs((double)got[i] - (double)want[i]);
    if (!(d <= max)) max = d; /* also NaN */
    if (fabs((double)want[i]) > largest) largest = fabs((double)want[i]);
  }
  return max / (largest > 0 ? largest : 1);
}
