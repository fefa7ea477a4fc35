/* Models from GGUF files, and models that are refused.
 *
 * The tiny models of tests/golden/lm are written as GGUF, with the keys that common writers use, and must give the
 * same logits. So every key that a family reads is read here once. Then one value at a time is made wrong. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/half.h"
#include "base/mem.h"
#include "base/status.h"
#include "faults.h"
#include "folder.h"
#include "lm_models.h"
#include "model/names.h"

enum { TOKENS = 24 };

static float got[TOKENS * 128];

/* ---- Writing GGUF ---- */

/* "key value" lines, the keys without the architecture; integers, floats (with a point) and words. */
#define SHARED                                                                                                \
  "context_length 160", "embedding_length 36", "attention.head_count 6", "attention.head_count_kv 2",         \
    "attention.key_length 8", "attention.value_length 8", "rope.dimension_count 8", "feed_forward_length 44", \
    "attention.layer_norm_rms_epsilon 0.000001"
static const char *const llama[] = {SHARED, "block_count 2", "rope.freq_base 5000.0", "vocab_size 101", NULL};
static const char *const mistral[] = {SHARED, "block_count 2", "tokens 101", "attention.sliding_window 10", NULL};
static const char *const mixtral[] = {SHARED,
                                      "block_count 2",
                                      "feed_forward_length 20",
                                      "attention.layer_norm_rms_epsilon 0.00001",
                                      "rope.freq_base 1000000.0",
                                      "expert_count 4",
                                      "expert_used_count 2",
                                      NULL};
static const char *const mixtral_of_five[] = {SHARED,           "block_count 2",       "feed_forward_length 20",
                                              "expert_count 5", "expert_used_count 2", NULL};
static const char *const qwen2[] = {"context_length 160",     "embedding_length 48",
                                    "attention.head_count 6", "attention.head_count_kv 2",
                                    "feed_forward_length 44", "attention.layer_norm_rms_epsilon 0.000001",
                                    "block_count 2",          NULL};
static const char *const qwen3[] = {SHARED,
                                    "block_count 2",
                                    "rope.freq_base 3000.0",
                                    "rope.scaling.type yarn",
                                    "rope.scaling.factor 4.0",
                                    "rope.scaling.original_context_length 40",
                                    "rope.scaling.yarn_beta_fast 8.0",
                                    NULL};
static const char *const qwen3moe[] = {
  SHARED, "block_count 2", "expert_count 4", "expert_used_count 2", "expert_feed_forward_length 20", NULL};
static const char *const qwen3moe_mixed[] = {
  SHARED, "block_count 4", "expert_count 4", "expert_used_count 2", "expert_feed_forward_length 20", NULL};
static const char *const gemma3[] = {SHARED,
                                     "block_count 3",
                                     "rope.freq_base 40000.0",
                                     "rope.freq_base_swa 1000.0",
                                     "rope.scaling.type linear",
                                     "rope.scaling.factor 4.0",
                                     "attention.sliding_window 9",
                                     "attention.sliding_window_pattern 3",
                                     NULL};
static const char *const gpt2[] = {"context_length 160",
                                   "embedding_length 30",
                                   "attention.head_count 3",
                                   "feed_forward_length 120",
                                   "attention.layer_norm_epsilon 0.00001",
                                   "block_count 2",
                                   NULL};
static const char *const mamba[] = {"context_length 1024",
                                    "embedding_length 24",
                                    "feed_forward_length 0",
                                    "attention.head_count 0",
                                    "ssm.conv_kernel 4",
                                    "ssm.inner_size 48",
                                    "ssm.state_size 6",
                                    "ssm.time_step_rank 5",
                                    "attention.layer_norm_rms_epsilon 0.00001",
                                    "block_count 3",
                                    NULL};
static const char *const bert[] = {"context_length 40",
                                   "embedding_length 36",
                                   "attention.head_count 3",
                                   "feed_forward_length 44",
                                   "attention.layer_norm_epsilon 0.000000000001",
                                   "block_count 2",
                                   "pooling_type 1",
                                   "attention.causal 0",
                                   NULL};

/* Whether a later line sets the same key: the last one counts. */
static bool is_overruled(const char *const *lines, size_t i, const char *change) {
  size_t n = strcspn(lines[i], " ");
  if (change && strncmp(change, lines[i], n) == 0 && change[n] == ' ') return true;
  for (size_t k = i + 1; lines[k]; k++)
    if (strncmp(lines[k], lines[i], n + 1) == 0) return true;
  return false;
}

/* A vocabulary of n tokens with one spelling: no test reads them. */
static rlx_status write_tokens(rlx_file_writer *w, size_t n) {
  static rlx_meta texts[200];
  for (size_t i = 0; i < n; i++) texts[i] = (rlx_meta){.kind = RLX_META_TEXT, .text = "a", .n = 1};
  rlx_meta list = {
    .key = "tokenizer.ggml.tokens", .kind = RLX_META_LIST, .elements = RLX_META_TEXT, .n = n, .opaque = texts};
  return rlx_file_writer_meta(w, &list);
}

static rlx_status write_line(rlx_file_writer *w, const char *architecture, const char *line) {
  char key[128];
  if (strncmp(line, "tokens ", 7) == 0) return write_tokens(w, (size_t)atoi(line + 7));
  size_t n = strcspn(line, " ");
  const char *value = line + n + (line[n] == ' ');
  snprintf(key, sizeof key, "%s.%.*s", architecture, (int)n, line);
  rlx_meta m = {.key = key};
  if (!*value) return RLX_OK; /* the key is left out */
  char *end;
  m.number = strtod(value, &end);
  m.kind = *end ? RLX_META_TEXT : strchr(value, '.') ? RLX_META_FLOAT : RLX_META_INT;
  m.integer = m.kind == RLX_META_INT ? (int64_t)m.number : 0;
  if (m.kind == RLX_META_TEXT) m.text = value, m.n = strlen(value);
  return rlx_file_writer_meta(w, &m);
}

/* Weights that the model joins are apart in files: the i-th of those, NULL past the end. */
static const lm_source *source_at(const lm_model *m, size_t i) {
  for (size_t k = 0; k < m->weights.n; k++) {
    const lm_source *s = &m->weights.v[k];
    size_t n = s->parts ? s->n_parts : 1;
    if (i < n) return s->parts ? &s->parts[i] : s;
    i -= n;
  }
  return NULL;
}

static rlx_status write_weight(const lm_model *m, const lm_source *t, rlx_file_writer *w) {
  void *data = rlx_mem_alloc(t->weight.bytes);
  rlx_status s = data ? lm_read_source(m, t, data) : RLX_FAIL(RLX_NO_MEMORY, "a weight");
  if (!s) s = rlx_file_writer_bytes(w, data, t->weight.bytes);
  rlx_mem_free(data);
  return s;
}

/* The first files of mixtral have a tensor for each expert: "blk.0.ffn_up_exps.weight" as "blk.0.ffn_up.3.weight". */
static bool experts_apart;

static rlx_status name_tensor(const lm_weight *t, rlx_file_writer *w) {
  const char *at = strstr(t->name, "_exps");
  if (!experts_apart || !at) return rlx_file_writer_tensor(w, t->name, t->dtype, t->shape);
  for (int64_t i = 0; i < t->shape.v[0]; i++) {
    char name[128];
    snprintf(name, sizeof name, "%.*s.%d.weight", (int)(at - t->name), t->name, (int)i);
    RLX_TRY(rlx_file_writer_tensor(w, name, t->dtype, RLX_DIMS(t->shape.v[1], t->shape.v[2])));
  }
  return RLX_OK;
}

/* A model as GGUF; `change`: one line more, which overrules. */
static rlx_status write_all(const lm_model *m, const char *architecture, const char *const *lines, const char *change,
                            rlx_file_writer *w) {
  rlx_meta name = {
    .key = "general.architecture", .kind = RLX_META_TEXT, .text = architecture, .n = strlen(architecture)};
  RLX_TRY(rlx_file_writer_meta(w, &name));
  for (size_t i = 0; lines[i]; i++)
    if (!is_overruled(lines, i, change)) RLX_TRY(write_line(w, architecture, lines[i]));
  if (change) RLX_TRY(write_line(w, architecture, change));
  const lm_source *t;
  for (size_t i = 0; (t = source_at(m, i)); i++) RLX_TRY(name_tensor(&t->weight, w));
  for (size_t i = 0; (t = source_at(m, i)); i++) RLX_TRY(write_weight(m, t, w));
  return rlx_file_writer_finish(w);
}

static rlx_status write_gguf(const lm_model *m, const char *architecture, const char *const *lines,
                             const char *change) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(folder_path("m.gguf"), &w));
  rlx_status s = write_all(m, architecture, lines, change, w);
  rlx_file_writer_destroy(w);
  return s;
}

/* ---- The same logits ---- */

static rlx_status check_run(const lm_golden *g, const lm_model *m, double tolerance) {
  bool is_encoder = lm_model_facts(m)->is_encoder;
  lm_graph_desc d = {.sequences = is_encoder ? 2 : 1,
                     .tokens = TOKENS,
                     .context = TOKENS,
                     .result = is_encoder ? LM_EMBEDDING : LM_LOGITS};
  const rlx_tensor *want = is_encoder ? &g->result : &g->logits;
  int32_t position = 0, length = TOKENS;
  lm_step step = {g->tokens.data,
                  is_encoder ? NULL : &position,
                  is_encoder ? g->lengths.data : &length,
                  is_encoder ? "embedding" : "logits",
                  got,
                  want->bytes,
                  NULL};
  lm_world w;
  rlx_executable *e = NULL;
  rlx_status s = lm_world_open(m, "cpu", &w);
  if (!s) s = lm_world_compile(&w, &d, &e);
  if (!s) s = lm_step_run(e, &d, &step);
  double difference = s ? 0 : lm_difference(got, want->data, want->bytes / sizeof(float));
  rlx_executable_destroy(e);
  lm_world_deinit(&w);
  return s || difference <= tolerance ? s : RLX_FAIL(RLX_INVALID, "results differ by %g", difference);
}

/* Opens a file, and perhaps runs it. */
static rlx_status check_file(const char *path, const lm_golden *g, double tolerance) {
  rlx_file *f;
  lm_model *m;
  RLX_TRY(rlx_file_open(path, NULL, &f));
  rlx_status s = lm_model_open(f, &m);
  if (!s && g) s = check_run(g, m, tolerance);
  lm_model_close(m);
  rlx_file_close(f);
  return s;
}

static rlx_status check_gguf(const char *golden, const char *architecture, const char *const *lines) {
  lm_golden g;
  rlx_status s = lm_golden_open(golden, &g);
  if (!s) s = write_gguf(g.model, architecture, lines, NULL);
  if (!s) s = check_file(folder_path("m.gguf"), &g, 1e-4);
  lm_golden_deinit(&g);
  return s;
}

TEST(every_family_as_gguf) {
  CHECK(folder_begin());
  CHECK_OK(check_gguf("llama", "llama", llama));
  CHECK_OK(check_gguf("mistral", "llama", mistral));
  CHECK_OK(check_gguf("mixtral", "llama", mixtral));
  CHECK_OK(check_gguf("qwen2", "qwen2", qwen2));
  CHECK_OK(check_gguf("qwen3", "qwen3", qwen3));
  CHECK_OK(check_gguf("qwen3moe", "qwen3moe", qwen3moe));
  CHECK_OK(check_gguf("qwen3moe_mixed", "qwen3moe", qwen3moe_mixed));
  CHECK_OK(check_gguf("gemma3", "gemma3", gemma3));
  CHECK_OK(check_gguf("gpt2", "gpt2", gpt2));
  CHECK_OK(check_gguf("mamba", "mamba", mamba));
  CHECK_OK(check_gguf("bert", "bert", bert));
}

TEST(experts_one_by_one) {
  CHECK(folder_begin());
  experts_apart = true;
  rlx_status s = check_gguf("mixtral", "llama", mixtral);
  experts_apart = false;
  CHECK_OK(s);
  experts_apart = true;
  s = check_gguf("mixtral", "llama", mixtral_of_five);
  experts_apart = false;
  CHECK_FAILS(s, RLX_INVALID, "blk.0.ffn_gate_inp.weight' is [4, 36]");
}

/* Converted between the formats, names and keys stay as they are, and the model is still known by them. */
static rlx_status check_converted(const char *from, const char *to, const lm_golden *g) {
  rlx_file *f;
  RLX_TRY(rlx_file_open(from, NULL, &f));
  rlx_status s = rlx_file_convert(f, to, NULL);
  rlx_file_close(f);
  return s ? s : check_file(to, g, 1e-4);
}

TEST(converted_files) {
  lm_golden g;
  CHECK(folder_begin());
  char folder[1024];
  snprintf(folder, sizeof folder, "%s/lm/mixtral", RLX_TEST_DATA);
  rlx_status s = lm_golden_open("mixtral", &g);
  if (!s) s = check_converted(folder, folder_path("folder.gguf"), &g);
  if (!s) s = write_gguf(g.model, "llama", mixtral, NULL);
  if (!s) s = check_converted(folder_path("m.gguf"), folder_path("keys.safetensors"), &g);
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

/* ---- What is refused ---- */

typedef struct refusal {
  const char *change, *part;
  rlx_status code;
} refusal;

static const refusal refusals[] = {
  {"block_count 3", "9 tensors are missing: blk.2.attn_norm.weight", RLX_INVALID},
  {"block_count 1", "there is a tensor 'blk.1.attn_norm.weight'", RLX_INVALID},
  {"block_count 0", "llama.block_count is 0", RLX_INVALID},
  {"block_count 1000", "only 22 tensors", RLX_INVALID},
  {"block_count 1000000", "at most 4096", RLX_INVALID},
  {"block_count 4294967295", "llama.block_count is 4294967295", RLX_INVALID},
  {"block_count two", "expected an integer", RLX_INVALID},
  {"block_count ", "no 'llama.block_count'", RLX_INVALID},
  {"embedding_length 35", "by the configuration it is [101, 35]", RLX_INVALID},
  {"embedding_length -36", "expected 1 to", RLX_INVALID},
  {"attention.head_count 5", "do not divide among 2", RLX_INVALID},
  {"attention.head_count 4", "tensor 'blk.0.attn_q.weight' is [48, 36]; by the configuration it is [32, 36]",
   RLX_INVALID},
  {"attention.head_count_kv 4", "6 heads of queries do not divide among 4", RLX_INVALID},
  {"attention.head_count_kv 3", "tensor 'blk.0.attn_k.weight'", RLX_INVALID},
  {"attention.key_length 1073741824", "heads", RLX_UNSUPPORTED},
  {"attention.value_length 4", "they must be equal", RLX_UNSUPPORTED},
  {"vocab_size 100", "tensor 'token_embd.weight' is [101, 36]; by the configuration it is [100, 36]", RLX_INVALID},
  {"tokens 100", "llama.vocab_size is 101, but tokenizer.ggml.tokens has 100", RLX_INVALID},
  {"feed_forward_length 45", "tensor 'blk.0.ffn_gate.weight'", RLX_INVALID},
  {"rope.dimension_count 7", "7 of 8 elements", RLX_INVALID},
  {"rope.dimension_count 10", "10 of 8 elements", RLX_INVALID},
  {"rope.freq_base -1.0", "at least 0", RLX_INVALID},
  {"rope.scaling.type longrope", "'longrope'", RLX_UNSUPPORTED},
  {"attention.layer_norm_rms_epsilon ", "no 'llama.attention.layer_norm_rms_epsilon'", RLX_INVALID},
  {"expert_count 4", "0 of 4 experts", RLX_INVALID},
};

TEST(metadata_that_contradicts_tensors) {
  lm_golden g;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("llama", &g);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals && !s; i++) {
    const refusal *r = &refusals[i];
    s = write_gguf(g.model, "llama", llama, r->change);
    if (s) break;
    rlx_status found = check_file(folder_path("m.gguf"), NULL, 0);
    if (found != r->code || !strstr(rlx_message(), r->part))
      s =
        RLX_FAIL(RLX_INVALID, "'%s' gave '%s': %.300s", r->change, rlx_status_name(found), found ? rlx_message() : "");
  }
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

/* One like a known name is refused with that; what is like none, with the list alone. */
TEST(architectures_that_are_not_known) {
  static const struct {
    const char *name, *part;
  } cases[] = {{"rwkv7", "'rwkv7'; supported families are llama, qwen2"},
               {"granit", "bert; the nearest name is 'granite'"},
               {"qwen4", "the nearest name is 'qwen"}};
  lm_golden g;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("llama", &g);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !s; i++) {
    s = write_gguf(g.model, cases[i].name, llama, NULL);
    rlx_status found = s ? s : check_file(folder_path("m.gguf"), NULL, 0);
    if (!s && (found != RLX_UNSUPPORTED || !strstr(rlx_message(), cases[i].part)))
      s = RLX_FAIL(RLX_INVALID, "'%s' gave %.400s", cases[i].name, found ? rlx_message() : "no failure");
    if (!s && i == 0 && strstr(rlx_message(), "nearest")) s = RLX_FAIL(RLX_INVALID, "nothing is like rwkv7");
  }
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

/* ---- Folders ---- */

/* All tensors of a golden model as f16, also norms and biases, with something before their names. */
static rlx_status write_half(const lm_golden *g, const char *prefix, rlx_file_writer *w) {
  uint32_t n = rlx_file_tensor_count(g->file);
  for (uint32_t i = 0; i < n; i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(g->file, i);
    char name[256];
    snprintf(name, sizeof name, "%s%s", prefix, t->name);
    RLX_TRY(rlx_file_writer_tensor(w, name, RLX_F16, t->shape));
  }
  for (uint32_t i = 0; i < n; i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(g->file, i);
    float *from = rlx_mem_alloc(t->bytes);
    uint16_t *to = rlx_mem_alloc(t->bytes / 2);
    rlx_status s =
      from && to ? rlx_file_read_tensor(g->file, t, 0, from, t->bytes) : RLX_FAIL(RLX_NO_MEMORY, "a tensor");
    for (size_t k = 0; k < t->bytes / 4 && !s; k++) to[k] = rlx_f32_to_f16(from[k]);
    if (!s) s = rlx_file_writer_bytes(w, to, t->bytes / 2);
    rlx_mem_free(from);
    rlx_mem_free(to);
    RLX_TRY(s);
  }
  return rlx_file_writer_finish(w);
}

static rlx_status write_folder(const lm_golden *g, const char *prefix, const char *config) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_write(folder_path("config.json"), config, strlen(config)));
  RLX_TRY(rlx_file_writer_create(folder_path("model.safetensors"), &w));
  rlx_status s = write_half(g, prefix, w);
  rlx_file_writer_destroy(w);
  return s;
}

static rlx_status check_half(const char *name) {
  lm_golden g;
  rlx_meta config = {.kind = RLX_META_NONE};
  rlx_status s = lm_golden_open(name, &g);
  if (!s && !rlx_file_meta_find(g.file, "config.json", &config)) s = RLX_FAIL(RLX_NOT_FOUND, "no config.json");
  if (!s) s = write_folder(&g, "", config.text);
  if (!s) s = check_file(folder_name(), &g, 3e-2);
  lm_golden_deinit(&g);
  return s;
}

/* What rounding the weights costs (2 % of mamba's largest logit, as much in PyTorch) is far from what a mistake would:
 * reordered rows, transposed and stacked matrices and converted vectors, all from half as many bytes. */
TEST(folders_of_f16) {
  static const char *const names[] = {"llama", "mixtral", "qwen2", "gemma3", "gpt2", "mamba", "bert"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    CHECK(folder_begin());
    CHECK_OK(check_half(names[i]));
  }
}

/* A multimodal model has its text model one level down, in the configuration and in the tensor names. */
TEST(the_text_model_of_one_that_sees) {
  lm_golden g;
  rlx_meta config = {.kind = RLX_META_NONE};
  char text[4096];
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("gemma3", &g);
  if (!s && !rlx_file_meta_find(g.file, "config.json", &config)) s = RLX_FAIL(RLX_NOT_FOUND, "no config.json");
  if (!s) {
    snprintf(text, sizeof text, "{\"architectures\": [\"Gemma3ForConditionalGeneration\"], \"text_config\": %s}",
             config.text);
    s = write_folder(&g, "language_model.", text);
  }
  if (!s) s = check_file(folder_name(), &g, 3e-2);
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

/* config.json of a golden with one text in it replaced. */
static rlx_status check_config(const lm_golden *g, const char *from, const char *to) {
  rlx_meta config;
  char text[4096];
  if (!rlx_file_meta_find(g->file, "config.json", &config)) return RLX_FAIL(RLX_IO, "no config.json");
  const char *at = strstr(config.text, from);
  if (!at) return RLX_FAIL(RLX_IO, "config.json has no <%s>", from);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - config.text), config.text, to, at + strlen(from));
  rlx_status s = write_folder(g, "", text);
  return s ? s : check_file(folder_name(), NULL, 0);
}

TEST(configurations_that_are_wrong) {
  static const struct {
    const char *from, *to, *part;
    rlx_status code;
  } cases[] = {
    {"{", "", "config.json: line", RLX_INVALID},
    {"LlamaForCausalLM", "NobodyForCausalLM", "'NobodyForCausalLM'; supported families are", RLX_UNSUPPORTED},
    {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3", "layers.2.input_layernorm.weight", RLX_INVALID},
    {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1", "there is a tensor 'model.layers.1", RLX_INVALID},
    {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 2.5", "num_hidden_layers: expected an integer", RLX_INVALID},
    {"\"num_hidden_layers\": 2", "\"other\": 2", "config.json has no 'num_hidden_layers'", RLX_INVALID},
    {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 5", "do not divide", RLX_INVALID},
    {"\"vocab_size\": 101", "\"vocab_size\": 102", "embed_tokens.weight' is [101, 36]", RLX_INVALID},
    {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"snake\"", "'snake'", RLX_UNSUPPORTED},
    {"\"rope_type\": \"llama3\"", "\"rope_type\": \"longrope\"", "'longrope'", RLX_UNSUPPORTED},
    {"\"factor\": 8.0", "\"factor\": \"8\"", "factor", RLX_INVALID},
    {"\"low_freq_factor\": 1.0", "\"low_freq_factor\": 9.0", "high_freq_factor", RLX_INVALID},
  };
  lm_golden g;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("llama", &g);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !s; i++) {
    rlx_status found = check_config(&g, cases[i].from, cases[i].to);
    if (found != cases[i].code || !strstr(rlx_message(), cases[i].part))
      s = RLX_FAIL(RLX_INVALID, "'%s' gave '%s': %.300s", cases[i].to, rlx_status_name(found),
                   found ? rlx_message() : "");
  }
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

TEST(layers_without_experts_that_are_wrong) {
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
    {"  3\n", "  4\n", "mlp_only_layers has an element 0 that is no layer of 4"},
    {"  3\n", "  \"3\"\n", "no layer of 4"},
    {"  3\n", "  \n", "layers.3.mlp.gate.weight"},
    {"\"decoder_sparse_step\": 2", "\"decoder_sparse_step\": -2", "decoder_sparse_step is -2"},
    {"\"decoder_sparse_step\": 2", "\"decoder_sparse_step\": 1", "layers.0.mlp.gate.weight"},
    {"\"intermediate_size\": 44", "\"intermediate_size\": 45", "gate_proj.weight' is [44, 36]"},
    {"\"intermediate_size\": 44", "\"other\": 44", "feed-forward part is missing"},
  };
  lm_golden g;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("qwen3moe_mixed", &g);
  for (size_t i = 0; i < sizeof cases / sizeof *cases && !s; i++) {
    rlx_status found = check_config(&g, cases[i].from, cases[i].to);
    if (found != RLX_INVALID || !strstr(rlx_message(), cases[i].part))
      s = RLX_FAIL(RLX_INVALID, "'%s' gave '%s': %.300s", cases[i].to, rlx_status_name(found),
                   found ? rlx_message() : "");
  }
  lm_golden_deinit(&g);
  CHECK_OK(s);
}

TEST(tensors_without_a_configuration) {
  lm_golden g;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("llama", &g);
  if (!s) s = write_folder(&g, "", "{}");
  if (!s && remove(folder_path("config.json"))) s = RLX_FAIL(RLX_IO, "cannot remove config.json");
  lm_golden_deinit(&g);
  CHECK_OK(s);
  CHECK_FAILS(check_file(folder_path("model.safetensors"), NULL, 0), RLX_INVALID, "config.json");
}

/* ---- Graphs ---- */

TEST(graphs_that_cannot_be) {
  lm_golden g, e;
  rlx_graph *graph = NULL;
  rlx_status s = lm_golden_open("llama", &g), t = lm_golden_open("bert", &e);
  lm_graph_desc d = {.sequences = 1, .tokens = 4, .context = 8, .result = LM_LAST}, none = d, small = d, embeds = d,
                odd = d;
  none.tokens = 0;
  small.context = 3;
  embeds.result = LM_EMBEDDING;
  odd.cache = RLX_I8;
  rlx_status found[5] = {RLX_OK};
  if (!s && !t) {
    found[0] = lm_graph_build(g.model, &none, &graph);
    found[1] = lm_graph_build(g.model, &small, &graph);
    found[2] = lm_graph_build(g.model, &embeds, &graph);
    found[3] = lm_graph_build(e.model, &d, &graph);
    found[4] = lm_graph_build(g.model, &odd, &graph);
  }
  lm_golden_deinit(&g);
  lm_golden_deinit(&e);
  CHECK_OK(s);
  CHECK_OK(t);
  CHECK_EQ_INT(found[0], RLX_INVALID);
  CHECK_EQ_INT(found[1], RLX_INVALID);
  CHECK_EQ_INT(found[2], RLX_UNSUPPORTED);
  CHECK_EQ_INT(found[3], RLX_UNSUPPORTED);
  CHECK_EQ_INT(found[4], RLX_UNSUPPORTED);
  CHECK(!graph);
}

static rlx_status open_and_build(void *user) {
  lm_model *m;
  rlx_graph *g = NULL;
  RLX_TRY(lm_model_open(user, &m));
  lm_graph_desc d = {.sequences = 1, .tokens = 2, .context = 4, .result = LM_TOKEN, .is_drawn = true};
  rlx_status s = lm_graph_build(m, &d, &g);
  for (size_t i = 0; i < lm_model_weights(m) && !s; i++) {
    static double data[4096];
    if (lm_model_weight(m, i)->bytes <= sizeof data) s = lm_model_read(m, i, data);
  }
  rlx_graph_destroy(g);
  lm_model_close(m);
  return s;
}

/* Gemma 3 has windows, factors and recipes to allocate for; mixtral stacks; the last four have lists, recipes and names
 * of their own. */
TEST(out_of_memory) {
  static const char *const names[] = {"gemma3",    "mixtral", "qwen3moe_mixed", "llama",
                                      "phi3_long", "gptneox", "ernie4_5_moe",   "gpt_oss"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lm_golden g;
    rlx_status s = lm_golden_open(names[i], &g);
    if (!s) s = alloc_sweep(open_and_build, g.file);
    lm_golden_deinit(&g);
    CHECK_OK(s);
  }
}

/* A refusal is the expected result here; the message has the rest. */
static rlx_status refuse_it(void *user) {
  lm_model *m;
  rlx_status s = lm_model_open(user, &m);
  if (!s) lm_model_close(m);
  if (s == RLX_UNSUPPORTED && strstr(rlx_message(), "key 'llama.logit_scale' = 0.5")) return RLX_OK;
  return s ? s : RLX_FAIL(RLX_INVALID, "a key that nobody reads is ignored");
}

static rlx_status check_it(void *user) {
  rlx_status s = rlx_lm_check(user, NULL, NULL);
  return s == RLX_UNSUPPORTED ? RLX_OK : s;
}

TEST(out_of_memory_while_refusing) {
  lm_golden g;
  rlx_file *f = NULL;
  CHECK(folder_begin());
  rlx_status s = lm_golden_open("llama", &g);
  if (!s) s = write_gguf(g.model, "llama", llama, "logit_scale 0.5");
  if (!s) s = rlx_file_open(folder_path("m.gguf"), NULL, &f);
  if (!s) s = alloc_sweep(refuse_it, f);
  if (!s) s = alloc_sweep(check_it, f);
  rlx_file_close(f);
  lm_golden_deinit(&g);
  CHECK_OK(s);
}
