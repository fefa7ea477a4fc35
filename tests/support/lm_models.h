/* Tiny models with goldens, and running their graphs: shared by the tests of families and of the engine.
 *
 * Nothing here depends on the test harness. */
#ifndef RLX_TESTS_LM_MODELS_H
#define RLX_TESTS_LM_MODELS_H

#include "model/model.h"

/* A model of tests/golden/lm with the results of transformers. */
typedef struct lm_golden {
  rlx_file *file;
  lm_model *model;
  rlx_tensor tokens, logits, greedy; /* of a decoder; see tools/goldens/lm.py */
  rlx_tensor lengths, types, result; /* of an encoder: its embeddings, or the scores of pairs */
} lm_golden;
/* Call deinit even after a failure. */
rlx_status lm_golden_open(const char *name, lm_golden *out);
void lm_golden_deinit(lm_golden *g);

/* State that the graphs of one model share on a device. */
typedef struct lm_world {
  const lm_model *model;
  rlx_session *session;
  rlx_weights *weights;
  rlx_states *states;
  uint32_t switches; /* rlx_switch, besides exact */
} lm_world;
rlx_status lm_world_open(const lm_model *m, const char *device, lm_world *out);
void lm_world_deinit(lm_world *w);
rlx_status lm_world_compile(lm_world *w, const lm_graph_desc *d, rlx_executable **out);

/* One run: tokens [B, T], position and length [B] (length NULL if T is 1); the result by name into `out`. types [B, T]:
 * of pairs, else NULL. */
typedef struct lm_step {
  const int32_t *tokens, *position, *length;
  const char *result;
  void *out;
  size_t bytes;
  const int32_t *types;
} lm_step;
rlx_status lm_step_run(rlx_executable *e, const lm_graph_desc *d, const lm_step *s);
/* The same through the reference, on an evaluator that has its weights. */
rlx_status lm_evaluator_open(const lm_model *m, const lm_graph_desc *d, rlx_evaluator **out);
rlx_status lm_step_evaluate(rlx_evaluator *e, const lm_graph_desc *d, const lm_step *s);

/* The largest difference as a fraction of the largest value of `want`. */
double lm_difference(const float *got, const float *want, size_t n);

#endif
