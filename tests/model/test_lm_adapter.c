/* Adapters: against models whose weights were merged by hand; several at once, switched, in one step; files that are
 * wrong. */
#include <math.h>
#include <string.h>

#include "faults.h"
#include "folder.h"
#include "model/names.h"
#include "rlx/lm.h"
#include "test.h"

enum { RANK = 3, ALPHA = 6, N = 12, MAX_VALUES = 1 << 18 };

static float number_at(unsigned seed, size_t i) { return 0.3f * sinf(0.7f * (float)(seed % 97) + 1.3f * (float)i); }

static unsigned seed_of(const char *name, unsigned which) {
  unsigned h = 17 + which;
  for (; *name; name++) h = h * 31 + (unsigned char)*name;
  return h;
}

static bool is_adapted(const rlx_file_tensor *t) {
  static const char *const out[] = {"embed", "wte", "wpe", "norm", "lm_head", "conv1d", "A_log", "experts", "ln_"};
  for (size_t i = 0; i < sizeof out / sizeof *out; i++)
    if (strstr(t->name, out[i])) return false;
  return t->shape.n == 2 && strstr(t->name, ".weight");
}

/* GPT-2 stores [in, out]. */
static bool is_transposed(const rlx_file_tensor *t) { return strstr(t->name, ".c_") != NULL; }
static int64_t out_of(const rlx_file_tensor *t) { return t->shape.v[is_transposed(t)]; }
static int64_t in_of(const rlx_file_tensor *t) { return t->shape.v[!is_transposed(t)]; }

/* ---- Files ---- */

static const char *golden_path(const char *family) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/lm/%s", RLX_TEST_DATA, family);
  return path;
}

static rlx_status write_text(const char *name, const char *text) {
  FILE *f = fopen(folder_path(name), "wb");
  return f && fputs(text, f) >= 0 && fclose(f) == 0 ? RLX_OK : RLX_FAIL(RLX_IO, "the test cannot write");
}

/* PEFT's files for every matrix of a model, or for those alone whose names have `only`. */
static rlx_status write_adapter(const char *family, const char *file, unsigned which, const char *only) {
  static float values[MAX_VALUES];
  rlx_file *f;
  rlx_file_writer *w;
  char name[256];
  RLX_TRY(rlx_file_open(golden_path(family), NULL, &f));
  rlx_status s = rlx_file_writer_create(folder_path(file), &w);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < rlx_file_tensor_count(f) && !s; i++) {
      const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
      if (!is_adapted(t) || (only && !strstr(t->name, only))) continue;
      int stem = (int)(strlen(t->name) - strlen(".weight"));
      for (int side = 0; side < 2 && !s; side++) {
        rlx_dims shape = side ? RLX_DIMS(out_of(t), RANK) : RLX_DIMS(RANK, in_of(t));
        size_t n = (size_t)(shape.v[0] * shape.v[1]);
        snprintf(name, sizeof name, "base_model.model.%.*s.lora_%c.weight", stem, t->name, "AB"[side]);
        for (size_t k = 0; k < n; k++) values[k] = number_at(seed_of(t->name, 2 * which + (unsigned)side), k);
        if (!pass) s = rlx_file_writer_tensor(w, name, RLX_F32, shape);
        else s = rlx_file_writer_bytes(w, values, n * sizeof *values);
      }
    }
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  rlx_file_close(f);
  return s ? s
           : write_text("adapter_config.json", "{\"peft_type\":\"LORA\",\"r\":3,\"lora_alpha\":6,\"bias\":\"none\"}");
}

/* The model with the adapter's products added to its weights, in doubles. */
static rlx_status merge(const rlx_file *f, const rlx_file_tensor *t, unsigned which, float *w) {
  size_t out = (size_t)out_of(t), in = (size_t)in_of(t);
  unsigned a = seed_of(t->name, 2 * which), b = seed_of(t->name, 2 * which + 1);
  RLX_TRY(rlx_file_read_tensor(f, t, 0, w, t->bytes));
  for (size_t i = 0; is_adapted(t) && i < out; i++)
    for (size_t j = 0; j < in; j++) {
      double sum = 0;
      for (size_t k = 0; k < RANK; k++) sum += (double)number_at(b, i * RANK + k) * (double)number_at(a, k * in + j);
      float *to = is_transposed(t) ? &w[j * out + i] : &w[i * in + j];
      *to = (float)((double)*to + sum * ALPHA / RANK);
    }
  return RLX_OK;
}

static rlx_status write_merged(const char *family, unsigned which) {
  static float values[MAX_VALUES];
  rlx_file *f;
  rlx_file_writer *w;
  rlx_meta m;
  RLX_TRY(rlx_file_open(golden_path(family), NULL, &f));
  rlx_status s = rlx_file_writer_create(folder_path("model.safetensors"), &w);
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < rlx_file_tensor_count(f) && !s; i++) {
      const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
      if (t->dtype != RLX_F32 || t->bytes > sizeof values) s = RLX_FAIL(RLX_INVALID, "the test expected small f32");
      if (!s && !pass) s = rlx_file_writer_tensor(w, t->name, RLX_F32, t->shape);
      if (!s && pass) s = merge(f, t, which, values);
      if (!s && pass) s = rlx_file_writer_bytes(w, values, t->bytes);
    }
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  if (!s && !rlx_file_meta_find(f, "config.json", &m)) s = RLX_FAIL(RLX_NOT_FOUND, "config.json");
  if (!s) s = write_text("config.json", m.text);
  rlx_file_close(f);
  return s;
}

/* ---- Logits ---- */

static rlx_status load(const char *path, uint32_t sequences, rlx_lm **out) {
  return rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = path, .device = "cpu", .context = 64,
                                    .n_sequences = sequences, .cache_type = RLX_LM_CACHE_F32,
                                    .switches = RLX_SWITCH_EXACT},
                     out);
}

static void make_ids(int32_t *ids) {
  for (int i = 0; i < N; i++) ids[i] = 3 + i * 5 % 29;
}

enum { MAX_VOCABULARY = 1024 };
typedef struct logits {
  float v[N * MAX_VOCABULARY];
  size_t n;
} logits;

/* In pieces of `step` tokens. */
static rlx_status run(rlx_lm *lm, size_t step, logits *out) {
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  int32_t ids[N];
  make_ids(ids);
  RLX_TRY(rlx_lm_describe(lm, &info));
  if (info.n_vocabulary > MAX_VOCABULARY) return RLX_FAIL(RLX_INVALID, "the test expected a small vocabulary");
  RLX_TRY(rlx_lm_truncate(lm, 0, 0));
  out->n = (size_t)N * info.n_vocabulary;
  for (size_t i = 0; i < N; i += step)
    RLX_TRY(rlx_lm_append(lm, 0, ids + i, step, true, out->v + i * info.n_vocabulary));
  return RLX_OK;
}

static double difference(const logits *a, const logits *b) {
  double most = 0;
  for (size_t i = 0; i < a->n; i++) most = fmax(most, fabs((double)a->v[i] - (double)b->v[i]));
  return most;
}

static logits base, merged, found;

TEST(adapters_equal_merged_weights) {
  static const char *const families[] = {"llama", "qwen2", "qwen3", "mixtral", "gemma2", "gpt2", "mamba"};
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    rlx_lm *lm, *other;
    uint32_t number;
    CHECK(folder_begin());
    CHECK_OK(write_merged(families[k], 0));
    CHECK_OK(load(folder_name(), 1, &other));
    CHECK_OK(run(other, N, &merged));
    rlx_lm_destroy(other);
    CHECK_OK(write_adapter(families[k], "adapter_model.safetensors", 0, NULL));
    CHECK_OK(load(golden_path(families[k]), 1, &lm));
    CHECK_OK(run(lm, N, &base));
    CHECK_OK(rlx_lm_adapter_load(lm, k % 2 ? folder_name() : folder_path("adapter_model.safetensors"), &number));
    CHECK_EQ_INT(number, 0);
    CHECK_OK(run(lm, N, &found));
    CHECK(difference(&found, &base) == 0); /* none is in use */
    CHECK_OK(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){0, 1}, 1));
    for (size_t step = 1; step <= N; step += N - 1) {
      CHECK_OK(run(lm, step, &found));
      if (!(difference(&found, &merged) < 1e-4 && difference(&merged, &base) > 1e-2))
        FAIL("%s, %zu tokens at once: %g from the merged model, which is %g from the plain one", families[k], step,
             difference(&found, &merged), difference(&merged, &base));
    }
    CHECK_OK(rlx_lm_adapters_use(lm, NULL, 0));
    CHECK_OK(run(lm, N, &found));
    CHECK(difference(&found, &base) == 0);
    rlx_lm_destroy(lm);
  }
}

/* ---- GGUF ---- */

/* The same adapter as llama.cpp's converter writes it: GGUF's names, and rows of q and k in its order. */
static rlx_status write_gguf(const char *file, double alpha) {
  static float values[MAX_VALUES];
  static const char *const names[][2] = {{"model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight"},
                                         {"model.layers.1.self_attn.v_proj.weight", "blk.1.attn_v.weight"},
                                         {"model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight"}};
  rlx_file *f;
  rlx_file_writer *w;
  char name[128];
  RLX_TRY(rlx_file_open(golden_path("llama"), NULL, &f));
  rlx_status s = rlx_file_writer_create(folder_path(file), &w);
  rlx_meta kind = {.key = "adapter.type", .kind = RLX_META_TEXT, .text = "lora", .n = 4};
  rlx_meta scale = {.key = "adapter.lora.alpha", .type = "f32", .kind = RLX_META_FLOAT, .number = alpha};
  if (!s) s = rlx_file_writer_meta(w, &kind);
  if (!s) s = rlx_file_writer_meta(w, &scale);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < sizeof names / sizeof *names && !s; i++) {
      const rlx_file_tensor *t = rlx_file_tensor_find(f, names[i][0]);
      if (!t) s = RLX_FAIL(RLX_NOT_FOUND, "'%s'", names[i][0]);
      for (int side = 0; side < 2 && !s; side++) {
        rlx_dims shape = side ? RLX_DIMS(t->shape.v[0], RANK) : RLX_DIMS(RANK, t->shape.v[1]);
        size_t n = (size_t)(shape.v[0] * shape.v[1]), head = (size_t)t->shape.v[0] / 4;
        snprintf(name, sizeof name, "%s.lora_%c", names[i][1], "ab"[side]);
        for (size_t k = 0; k < n; k++) {
          size_t row = side && !i ? lm_paired_row(head, k / RANK) : k / RANK;
          values[k] = number_at(seed_of(t->name, (unsigned)side), side ? row * RANK + k % RANK : k);
        }
        if (!pass) s = rlx_file_writer_tensor(w, name, RLX_F32, shape);
        else s = rlx_file_writer_bytes(w, values, n * sizeof *values);
      }
    }
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  rlx_file_close(f);
  return s;
}

/* Two adapters, one of them of the other's file format, with scales; and what a sequence holds when they change. */
TEST(several_adapters_and_their_scales) {
  CHECK(folder_begin());
  rlx_lm *lm;
  uint32_t peft, gguf, same;
  CHECK_OK(write_adapter("llama", "adapter_model.safetensors", 0, NULL));
  CHECK_OK(write_gguf("a.gguf", ALPHA));
  CHECK_OK(load(golden_path("llama"), 1, &lm));
  CHECK_OK(rlx_lm_adapter_load(lm, folder_name(), &peft));
  CHECK_OK(rlx_lm_adapter_load(lm, folder_path("a.gguf"), &gguf));
  CHECK_OK(write_adapter("llama", "adapter_model.safetensors", 0, "layers.0.self_attn.q_proj"));
  CHECK_OK(rlx_lm_adapter_load(lm, folder_name(), &same));
  CHECK(peft == 0 && gguf == 1 && same == 2);
  CHECK_OK(run(lm, N, &base));
  /* The difference of two adapters that share a matrix is that of the others. */
  CHECK_OK(rlx_lm_adapters_use(lm, (rlx_lm_adapter[]){{1, 0.5f}, {2, 0.25f}, {2, -0.25f}}, 3));
  CHECK_OK(run(lm, N, &merged));
  CHECK_OK(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){1, 0.5f}, 1));
  CHECK_OK(run(lm, 1, &found));
  CHECK(difference(&found, &merged) < 1e-4 && difference(&found, &base) > 1e-3);
  /* Half of the tokens with another adapter: they are computed again. */
  int32_t ids[N];
  make_ids(ids);
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){0, 1}, 1));
  CHECK_OK(rlx_lm_append(lm, 0, ids, N - 1, false, NULL));
  CHECK_OK(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){1, 0.5f}, 1));
  CHECK_OK(rlx_lm_append(lm, 0, ids + N - 1, 1, false, found.v));
  size_t n_vocab = merged.n / N;
  for (size_t i = 0; i < n_vocab; i++) CHECK(fabsf(found.v[i] - merged.v[(N - 1) * n_vocab + i]) < 1e-4f);
  CHECK_FAILS(rlx_lm_save(lm, 0, folder_path("s.safetensors")), RLX_UNSUPPORTED, "computed with adapters");
  CHECK_FAILS(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){3, 1}, 1), RLX_INVALID, "adapter 3: the model has 3");
  CHECK_FAILS(rlx_lm_adapters_use(lm, &(rlx_lm_adapter){0, NAN}, 1), RLX_INVALID, "expected a finite scale");
  rlx_lm_destroy(lm);
}

/* ---- Requests ---- */

enum { DRAWN = 8 };
typedef struct drawn {
  int32_t ids[DRAWN];
  size_t n;
} drawn;

static bool keep(void *user, int32_t id) {
  drawn *d = user;
  if (d->n < DRAWN) d->ids[d->n++] = id;
  return true;
}

static void on_event(void *user, const rlx_lm_event *e) {
  if (e->id >= 0) keep(user, e->id);
}

static const rlx_lm_adapter choices[4] = {{0, 0}, {0, 1}, {1, 1}, {0, -1}};

/* Four requests with adapters of their own, in the same steps, and each alone. */
TEST(requests_with_adapters_of_their_own) {
  CHECK(folder_begin());
  rlx_lm *lm;
  int32_t ids[N];
  drawn alone[4] = {0}, together[4] = {0};
  make_ids(ids);
  CHECK_OK(write_adapter("llama", "adapter_model.safetensors", 0, NULL));
  CHECK_OK(load(golden_path("llama"), 4, &lm));
  CHECK_OK(rlx_lm_adapter_load(lm, folder_name(), NULL));
  CHECK_OK(write_adapter("llama", "adapter_model.safetensors", 1, NULL));
  CHECK_OK(rlx_lm_adapter_load(lm, folder_name(), NULL));
  for (int i = 0; i < 4; i++) {
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = DRAWN, .ignore_end = true, .adapters = &choices[i],
                        .n_adapters = 1};
    CHECK_OK(rlx_lm_truncate(lm, 0, 0));
    CHECK_OK(rlx_lm_generate_ids(lm, ids, N, &o, keep, &alone[i], NULL));
  }
  CHECK(memcmp(&alone[0], &alone[1], sizeof *alone) != 0 && memcmp(&alone[1], &alone[2], sizeof *alone) != 0);
  for (int i = 0; i < 4; i++) {
    uint64_t number;
    rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = DRAWN, .ignore_end = true, .adapters = &choices[i],
                        .n_adapters = 1};
    rlx_lm_request r = {RLX_LM_REQUEST_INIT, .ids = ids, .n = N, .options = &o, .fn = on_event, .user = &together[i]};
    CHECK_OK(rlx_lm_submit(lm, &r, &number));
  }
  CHECK_FAILS(rlx_lm_adapter_load(lm, folder_name(), NULL), RLX_BUSY, "requests run");
  uint32_t left;
  do CHECK_OK(rlx_lm_step(lm, &left));
  while (left);
  for (int i = 0; i < 4; i++) CHECK(alone[i].n == DRAWN && memcmp(&alone[i], &together[i], sizeof *alone) == 0);
  rlx_lm_destroy(lm);
}

/* ---- Files that are wrong ---- */

typedef struct matrix {
  const char *name;
  int64_t rows, columns;
} matrix;

static rlx_status try_peft(rlx_lm *lm, const matrix *v, size_t n, float value, const char *config) {
  static float values[MAX_VALUES];
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(folder_path("adapter_model.safetensors"), &w));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < n && !s; i++)
    s = rlx_file_writer_tensor(w, v[i].name, RLX_F32, RLX_DIMS(v[i].rows, v[i].columns));
  values[0] = value;
  for (size_t i = 0; i < n && !s; i++)
    s = rlx_file_writer_bytes(w, values, (size_t)(v[i].rows * v[i].columns) * sizeof *values);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  if (!s) s = write_text("adapter_config.json", config);
  return s ? s : rlx_lm_adapter_load(lm, folder_name(), NULL);
}

#define Q "base_model.model.model.layers.0.self_attn.q_proj"

TEST(files_that_are_wrong) {
  CHECK(folder_begin());
  rlx_lm *lm;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  CHECK_OK(load(golden_path("mixtral"), 1, &lm));
  CHECK_OK(rlx_lm_describe(lm, &info));
  const rlx_file_tensor *q = rlx_file_tensor_find(rlx_lm_file(lm), "model.layers.0.self_attn.q_proj.weight");
  CHECK(q);
  const int64_t w = info.width, rows = q->shape.v[0];
  const char *const plain = "{\"lora_alpha\":8}";
  const matrix a = {Q ".lora_A.weight", 2, w}, b = {Q ".lora_B.weight", rows, 2};
  const struct {
    matrix v[3];
    size_t n;
    float value;
    const char *config;
    rlx_status code;
    const char *why;
  } cases[] = {
    {{a, b}, 2, 0, plain, RLX_OK, ""},
    {{a}, 1, 0, plain, RLX_INVALID, "q_proj.lora_A.weight' is there without its lora_B"},
    {{b}, 1, 0, plain, RLX_INVALID, "is there without its lora_A"},
    {{{0}}, 0, 0, plain, RLX_INVALID, ""},
    {{{Q ".lora_A.weight", 2, w + 1}, b}, 2, 0, plain, RLX_INVALID, "expected [rank, in]"},
    {{a, {Q ".lora_B.weight", rows, 3}}, 2, 0, plain, RLX_INVALID, "have ranks of 2 and 3"},
    {{a, {Q ".lora_B.weight", rows + 1, 2}}, 2, 0, plain, RLX_INVALID, "expected [out, rank]"},
    {{{Q ".lora_A.weight", 0, w}, {Q ".lora_B.weight", rows, 0}}, 2, 0, plain, RLX_INVALID, ""},
    {{{Q ".lora_A.weight", 5000, 1}, b}, 2, 0, plain, RLX_INVALID, "rank of 1 to 4096"},
    {{a, b, {"base_model.model.model.layers.9.self_attn.q_proj.lora_A.weight", 2, w}},
     3,
     0,
     plain,
     RLX_INVALID,
     "layers.9.self_attn.q_proj.lora_A.weight' is of no matrix"},
    {{a, b, {"base_model.model.model.layers.0.self_attn.q_proj.weight", 2, w}},
     3,
     0,
     plain,
     RLX_INVALID,
     "of no matrix"},
    {{a, b, {"base_model.model.model.layers.0.block_sparse_moe.experts.0.w1.lora_A.weight", 2, w}},
     3,
     0,
     plain,
     RLX_INVALID,
     "experts.0.w1"},
    {{a, b, {"base_model.model.model.embed_tokens.lora_A.weight", 2, w}},
     3,
     0,
     plain,
     RLX_UNSUPPORTED,
     "no matrix that adapters can change"},
    {{a, b, {Q ".lora_A.default.weight", 2, w}}, 3, 0, plain, RLX_INVALID, "are of one matrix"},
    {{a, b}, 2, NAN, plain, RLX_INVALID, "element 0 is not finite"},
    {{a, b}, 2, -INFINITY, plain, RLX_INVALID, "element 0 is not finite"},
    {{a, b}, 2, 0, "{\"lora_alpha\":1e308}", RLX_INVALID, "alpha is"},
    {{a, b}, 2, 0, "{\"peft_type\":\"IA3\"}", RLX_UNSUPPORTED, "peft_type LORA"},
    {{a, b}, 2, 0, "{\"use_dora\":true}", RLX_UNSUPPORTED, "use_dora"},
    {{a, b}, 2, 0, "{\"bias\":\"all\"}", RLX_UNSUPPORTED, "bias is 'all'"},
    {{a, b}, 2, 0, "[]", RLX_UNSUPPORTED, "expected an object"},
    {{a, b}, 2, 0, "{", RLX_INVALID, "adapter_config.json"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_status s = try_peft(lm, cases[i].v, cases[i].n, cases[i].value, cases[i].config);
    if (s != cases[i].code || (s && !strstr(rlx_message(), cases[i].why)))
      FAIL("case %zu: %s, %s", i, rlx_status_name(s), s ? rlx_message() : "");
  }
  CHECK_OK(write_text("adapter_config.json", plain));
  CHECK_OK(write_gguf("a.gguf", ALPHA));
  CHECK_OK(write_text("n.txt", "no adapter"));
  CHECK(rlx_lm_adapter_load(lm, folder_path("n.txt"), NULL) != RLX_OK);
  CHECK(rlx_lm_adapter_load(lm, golden_path("llama"), NULL) != RLX_OK);
  CHECK_FAILS(rlx_lm_adapter_load(lm, NULL, NULL), RLX_INVALID, "path is NULL");
  for (int i = 1; i < 8; i++) CHECK_OK(try_peft(lm, cases[0].v, 2, 0, plain));
  CHECK_FAILS(try_peft(lm, cases[0].v, 2, 0, plain), RLX_LIMIT, "at most 8");
  rlx_lm_destroy(lm);
}

/* ---- Memory ---- */

static rlx_status load_and_run(void *user) {
  rlx_lm *lm = user;
  uint32_t before = 0;
  float row[MAX_VOCABULARY];
  int32_t ids[N];
  make_ids(ids);
  RLX_TRY(rlx_lm_truncate(lm, 0, 0));
  RLX_TRY(rlx_lm_adapter_load(lm, folder_name(), &before));
  return rlx_lm_append(lm, 0, ids, N, false, row);
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  rlx_lm *lm;
  CHECK_OK(write_adapter("llama", "adapter_model.safetensors", 0, "layers.1.self_attn.q_proj"));
  CHECK_OK(load(golden_path("llama"), 1, &lm));
  for (size_t at = 1; at < 400; at++) { /* whatever fails, the model stays usable */
    alloc_sweep_point point = {.fail_at = at};
    rlx_mem_set_hook(alloc_sweep_hook, &point);
    rlx_status s = load_and_run(lm);
    rlx_mem_set_hook(NULL, NULL);
    if (s == RLX_OK && atomic_load(&point.n_failed) == 0) break;
    if (s == RLX_LIMIT) { /* eight were loaded */
      rlx_lm_destroy(lm);
      CHECK_OK(load(golden_path("llama"), 1, &lm));
    } else if (s && s != RLX_NO_MEMORY) {
      FAIL("allocation %zu: %s, %s", at, rlx_status_name(s), rlx_message());
    }
  }
  CHECK_OK(load_and_run(lm));
  rlx_lm_destroy(lm);
}
