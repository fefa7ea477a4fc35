/* Measured inputs of matrices: against sums made by hand, and what must hold between them. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "faults.h"
#include "io/file_importance.h"
#include "lm_models.h"
#include "rlx/lm.h"
#include "test.h"

enum { N = 24 };

static rlx_status load(const char *family, rlx_lm **out) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  return rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = path, .device = "cpu", .context = 64,
                                    .cache_type = RLX_LM_CACHE_F32, .switches = RLX_SWITCH_EXACT},
                     out);
}

static void make_ids(int32_t *ids) {
  for (int i = 0; i < N; i++) ids[i] = 3 + i * 5 % 29;
}

static rlx_status measure(const char *family, rlx_importance **out) {
  rlx_lm *lm;
  int32_t ids[N];
  make_ids(ids);
  *out = NULL;
  RLX_TRY(load(family, &lm));
  rlx_status s = rlx_importance_create(out);
  if (!s) s = rlx_lm_measure(lm, ids, N, *out);
  rlx_lm_destroy(lm);
  return s;
}

static rlx_status read_floats(const lm_model *m, const char *name, float *to, size_t n) {
  for (size_t i = 0; i < lm_model_weights(m); i++) {
    const lm_weight *w = lm_model_weight(m, i);
    if (strcmp(w->name, name) == 0 && w->dtype == RLX_F32 && w->bytes == n * sizeof *to) return lm_model_read(m, i, to);
  }
  return RLX_FAIL(RLX_NOT_FOUND, "the test expected %zu f32 in '%s'", n, name);
}

/* The inputs of the first layer's q, k and v: rows of the table, normalised. */
TEST(the_first_layer_by_hand) {
  static float table[4096 * 64], norm[256];
  double sums[256] = {0};
  lm_golden g;
  rlx_importance *im;
  int32_t ids[N];
  make_ids(ids);
  CHECK_OK(lm_golden_open("llama", &g));
  const lm_facts *f = lm_model_facts(g.model);
  size_t width = f->width;
  CHECK(width <= 256 && f->n_vocab * width <= sizeof table / sizeof *table);
  CHECK_OK(read_floats(g.model, "token_embd.weight", table, f->n_vocab * width));
  CHECK_OK(read_floats(g.model, "blk.0.attn_norm.weight", norm, width));
  for (int t = 0; t < N; t++) {
    const float *x = table + (size_t)ids[t] * width;
    double squares = 0;
    for (size_t i = 0; i < width; i++) squares += (double)x[i] * (double)x[i];
    double by = 1 / sqrt(squares / (double)width + 1e-5);
    for (size_t i = 0; i < width; i++) sums[i] += pow((double)x[i] * by * (double)norm[i], 2);
  }
  lm_golden_deinit(&g);
  CHECK_OK(measure("llama", &im));
  for (int k = 0; k < 3; k++) {
    static const char *const names[] = {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"};
    const importance_entry *e = importance_find(im, names[k]);
    CHECK(e && e->experts == 1 && e->columns == width && e->counts[0] == N);
    for (size_t i = 0; i < width; i++)
      if (fabs(e->sums[i] - sums[i]) > 1e-3 * sums[i])
        FAIL("%s, column %zu: %g, by hand %g", names[k], i, e->sums[i], sums[i]);
  }
  rlx_importance_destroy(im);
}

/* Each matrix of a layer is measured, and of experts each token that they get. */
TEST(every_family_is_measured) {
  static const char *const families[] = {"llama", "qwen2", "qwen3", "qwen3moe", "mixtral", "gemma2", "gpt2", "mamba"};
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    rlx_importance *im;
    CHECK_OK(measure(families[k], &im));
    CHECK(rlx_importance_count(im) > 4);
    size_t n_experts = 0;
    for (size_t i = 0; i < im->entries.n; i++) {
      const importance_entry *e = &im->entries.v[i];
      double counts = 0, sums = 0;
      for (size_t j = 0; j < e->experts; j++) counts += e->counts[j];
      for (size_t j = 0; j < e->experts * e->columns; j++) sums += e->sums[j];
      if (!(sums > 0) || fmod(counts, N) != 0) FAIL("%s, %s: %g inputs, sum %g", families[k], e->name, counts, sums);
      n_experts += e->experts > 1;
    }
    CHECK((n_experts > 0) == (strstr(families[k], "moe") || strcmp(families[k], "mixtral") == 0));
    rlx_importance_destroy(im);
  }
}

TEST(measuring_adds_and_refuses) {
  rlx_lm *lm;
  rlx_importance *im;
  int32_t ids[N];
  make_ids(ids);
  CHECK_OK(load("llama", &lm));
  CHECK_OK(rlx_importance_create(&im));
  CHECK_OK(rlx_lm_append(lm, 0, ids, 4, false, NULL));
  CHECK_OK(rlx_lm_measure(lm, ids, N, im));
  CHECK_EQ_INT(rlx_lm_length(lm, 0), 0);
  double once = im->entries.v[0].sums[0];
  CHECK_OK(rlx_lm_measure(lm, ids, N, im));
  CHECK(im->entries.v[0].sums[0] == 2 * once && im->chunks == 2 && im->window == N);
  CHECK_FAILS(rlx_lm_measure(lm, ids, 0, im), RLX_INVALID, "expected 1 to 64");
  CHECK_FAILS(rlx_lm_measure(lm, NULL, N, im), RLX_INVALID, "the tokens is NULL");
  CHECK_FAILS(rlx_lm_measure(lm, ids, N, NULL), RLX_INVALID, "the matrix is NULL");
  ids[3] = 1 << 20;
  CHECK_FAILS(rlx_lm_measure(lm, ids, N, im), RLX_INVALID, "token 3");
  rlx_lm_destroy(lm);
  rlx_importance_destroy(im);
}
