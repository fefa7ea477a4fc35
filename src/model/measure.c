/* Measures the inputs of every matrix, for an importance matrix.
 *
 * The graph itself sums the squares (blocks.c), so any device measures. A text is one program run of just so many
 * tokens, from position 0: no padding may count. The weights of q, k and v that share an input may be one weight here
 * (join.c); its sums are those of each. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/file_importance.h"
#include "model/engine.h"
#include "model/names.h"

typedef struct measured {
  const char *name; /* of the weight */
  size_t experts, columns;
  float *sums, *counts;
} measured;

static rlx_status add_under(rlx_importance *into, const char *name, const measured *v) {
  return importance_add(into, name, v->experts, v->columns, v->sums, v->counts);
}

/* Under the name of the weight, or of each part of it that the file has. */
static rlx_status add_all(const rlx_lm *lm, const measured *v, rlx_importance *into) {
  size_t at = lm_find_weight(lm->model, v->name);
  const lm_source *s = at == SIZE_MAX ? NULL : &lm->model->weights.v[at];
  if (!s || !s->parts) return add_under(into, v->name, v);
  for (size_t i = 0; i < s->n_parts; i++) RLX_TRY(add_under(into, s->parts[i].weight.name, v));
  return RLX_OK;
}

static rlx_status read_floats(lm_program *p, const char *output, float *to, size_t n) {
  rlx_tensor t = {.dtype = RLX_F32, .data = to, .bytes = n * sizeof *to};
  return rlx_executable_read(p->executable, output, &t);
}

static rlx_status read_output(const rlx_lm *lm, lm_program *p, const char *output, rlx_dims shape, size_t tokens,
                              rlx_importance *into) {
  char counts[160];
  measured v = {.name = output + strlen("sums "), .experts = (size_t)shape.v[0], .columns = (size_t)shape.v[1]};
  v.sums = rlx_mem_calloc(v.experts * v.columns, sizeof *v.sums);
  v.counts = rlx_mem_calloc(v.experts, sizeof *v.counts);
  rlx_status s = v.sums && v.counts ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the measured inputs of '%s'", v.name);
  if (!s) s = read_floats(p, output, v.sums, v.experts * v.columns);
  if (!s && v.experts == 1) v.counts[0] = (float)tokens;
  snprintf(counts, sizeof counts, "counts %s", v.name);
  if (!s && v.experts > 1) s = read_floats(p, counts, v.counts, v.experts);
  if (!s) s = add_all(lm, &v, into);
  rlx_mem_free(v.sums);
  rlx_mem_free(v.counts);
  return s;
}

static rlx_status measure(rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *into) {
  lm_sequence *q = &lm->sequences[0];
  lm_program *p;
  lm_scales_apply(lm, 0, &(lm_scales){0});
  RLX_TRY(lm_hold(lm, 0));
  q->ids.n = q->done = 0;
  RLX_TRY(lm_push(lm, 0, ids, n));
  lm_graph_desc d = {.sequences = 1, .tokens = (uint32_t)n, .result = LM_LOGITS, .measures = true};
  RLX_TRY(lm_program_get(lm, &d, &p));
  memcpy(p->tokens, ids, n * sizeof *ids);
  p->position[0] = 0;
  if (p->length) p->length[0] = (int32_t)n;
  RLX_TRY(lm_program_write(lm, p));
  RLX_TRY(rlx_executable_run(p->executable));
  const rlx_graph *g = rlx_executable_graph(p->executable);
  const char *name;
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    rlx_node node = rlx_graph_output_at(g, i, &name);
    if (node && strncmp(name, "sums ", 5) == 0) RLX_TRY(read_output(lm, p, name, rlx_node_shape(g, node), n, into));
  }
  into->chunks++;
  if (n > into->window) into->window = (uint32_t)n;
  return RLX_OK;
}

rlx_status lm_measure(rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *into) {
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_measure", 0));
  if (!ids || !into) return RLX_FAIL(RLX_INVALID, "rlx_lm_measure: %s is NULL", ids ? "the matrix" : "the tokens");
  if (n < 1 || n > lm->chunk)
    return RLX_FAIL(RLX_INVALID, "rlx_lm_measure: %zu tokens: expected 1 to %u, a chunk", n, (unsigned)lm->chunk);
  rlx_status s = measure(lm, ids, n, into);
  lm->sequences[0].ids.n = lm->sequences[0].done = 0;
  return s;
}
