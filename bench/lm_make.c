/* Makes a model of a known shape with random weights, as a GGUF that any program can load: for measuring speed.
 *
 *   lm_make SHAPE TYPE OUT.gguf [LAYERS]      lm_make qwen3-0.6b q4_k /tmp/q.gguf
 *
 * Weights of a block type are a stretch of random blocks, repeated: encoding half a billion numbers would take longer than
 * measuring with them. The vocabulary is made up too: SentencePiece style (bytes, then t0, t1, ..), or for qwen's shape byte
 * pairs with a merge for each token, since what these take in memory is measured as well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rlx/lm.h"

typedef struct shape {
  const char *name, *family;
  int64_t layers, width, heads, kv_heads, head, ffn, vocabulary, context;
  bool tied, head_norms;
} shape;
static const shape shapes[] = {
  {"llama-134m", "llama", 12, 768, 12, 12, 64, 2048, 32000, 4096, false, false},
  {"qwen3-0.6b", "qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 40960, true, true},
  {"llama-8b", "llama", 32, 4096, 32, 8, 128, 14336, 128256, 8192, false, false},
  {"tiny", "llama", 2, 256, 4, 2, 64, 512, 512, 256, false, false},
  {"tiny-qwen3", "qwen3", 2, 256, 4, 2, 64, 512, 512, 256, true, true},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, SPAN = 1 << 20 };

static void fail(const char *what) {
  fprintf(stderr, "lm_make: %s: %s\n", what, rlx_message());
  exit(1);
}
static void need(rlx_status s, const char *what) {
  if (s) fail(what);
}

/* ---- metadata ---- */

static void put(rlx_file_writer *w, const char *family, const char *key, rlx_meta m) {
  char full[128];
  snprintf(full, sizeof full, "%s%s%s", family ? family : "", family ? "." : "", key);
  m.key = full;
  need(rlx_file_writer_meta(w, &m), full);
}
static rlx_meta text(const char *t) { return (rlx_meta){.kind = RLX_META_TEXT, .text = t, .n = strlen(t)}; }
static rlx_meta number(int64_t v) {
  return (rlx_meta){.kind = RLX_META_INT, .type = "u32", .integer = v, .number = (double)v};
}
static rlx_meta real(double v) { return (rlx_meta){.kind = RLX_META_FLOAT, .type = "f32", .number = v}; }

static void put_vocabulary(rlx_file_writer *w, int64_t n) {
  rlx_meta *list = calloc((size_t)n, sizeof *list);
  char(*names)[16] = calloc((size_t)n, sizeof *names);
  if (!list || !names) fail("out of memory");
  for (int64_t i = 0; i < n; i++) {
    if (i < 3) strcpy(names[i], i == 0 ? "<unk>" : i == 1 ? "<s>" : "</s>");
    else if (i < 259) snprintf(names[i], sizeof names[i], "<0x%02X>", (unsigned)(i - 3) & 255u);
    else snprintf(names[i], sizeof names[i], "t%d", (int)(i - 259));
    list[i] = text(names[i]);
  }
  put(w, NULL, "tokenizer.ggml.model", text("llama"));
  rlx_meta all = {.kind = RLX_META_LIST, .n = (size_t)n, .opaque = list};
  all.elements = RLX_META_TEXT;
  put(w, NULL, "tokenizer.ggml.tokens", all);
  for (int64_t i = 0; i < n; i++) list[i] = real(-(double)i);
  all.elements = RLX_META_FLOAT;
  put(w, NULL, "tokenizer.ggml.scores", all);
  for (int64_t i = 0; i < n; i++) {
    list[i] = number(i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1);
    list[i].type = "i32";
  }
  all.elements = RLX_META_INT;
  put(w, NULL, "tokenizer.ggml.token_type", all);
  put(w, NULL, "tokenizer.ggml.bos_token_id", number(1));
  put(w, NULL, "tokenizer.ggml.eos_token_id", number(2));
  put(w, NULL, "tokenizer.ggml.unknown_token_id", number(0));
  free(list);
  free(names);
}

/* A character of a byte as GPT-2 spells it. */
static size_t put_letter(char *out, int byte) {
  static const int plain[][2] = {{33, 126}, {161, 172}, {174, 255}};
  int code = byte, others = 0;
  bool is_plain = false;
  for (size_t i = 0; i < 3; i++) is_plain |= byte >= plain[i][0] && byte <= plain[i][1];
  for (int b = 0; b < byte && !is_plain; b++)
    others += !((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255));
  if (!is_plain) code = 256 + others;
  if (code < 128) return out[0] = (char)code, 1;
  out[0] = (char)(0xc0 | code >> 6);
  out[1] = (char)(0x80 | (code & 63));
  return 2;
}

typedef struct word {
  char v[16];
} word;

/* All bytes, then all words of a to z by length, "aa", "ab", ..: each is an earlier token and a letter. */
static void make_pairs(word *tokens, word *merges, int64_t n) {
  for (int64_t i = 0; i < 256; i++) tokens[i].v[put_letter(tokens[i].v, (int)i)] = 0;
  int64_t base = 'a', same_length = 26; /* the tokens that the next ones begin with */
  for (int64_t at = 256; at < n;) {
    int64_t begin = at;
    for (int64_t i = 0; i < same_length && at < n; i++)
      for (int c = 'a'; c <= 'z' && at < n; c++, at++) {
        snprintf(tokens[at].v, sizeof tokens[at].v, "%.12s%c", tokens[base + i].v, c);
        snprintf(merges[at - 256].v, sizeof merges->v, "%.12s %c", tokens[base + i].v, c);
      }
    base = begin;
    same_length *= 26;
  }
}

static void put_texts(rlx_file_writer *w, const char *key, const word *texts, int64_t n, rlx_meta *list) {
  for (int64_t i = 0; i < n; i++) list[i] = text(texts[i].v);
  put(w, NULL, key, (rlx_meta){.kind = RLX_META_LIST, .n = (size_t)n, .elements = RLX_META_TEXT, .opaque = list});
}

static void put_pairs(rlx_file_writer *w, int64_t n) {
  rlx_meta *list = calloc((size_t)n, sizeof *list);
  word *tokens = calloc((size_t)n, sizeof *tokens), *merges = calloc((size_t)n, sizeof *merges);
  if (!list || !tokens || !merges) fail("out of memory");
  make_pairs(tokens, merges, n - 1);
  snprintf(tokens[n - 1].v, sizeof tokens->v, "<|endoftext|>");
  put(w, NULL, "tokenizer.ggml.model", text("gpt2"));
  put(w, NULL, "tokenizer.ggml.pre", text("qwen2"));
  put_texts(w, "tokenizer.ggml.tokens", tokens, n, list);
  put_texts(w, "tokenizer.ggml.merges", merges, n - 1 - 256, list);
  for (int64_t i = 0; i < n; i++) {
    list[i] = number(i == n - 1 ? 3 : 1);
    list[i].type = "i32";
  }
  put(w, NULL, "tokenizer.ggml.token_type",
      (rlx_meta){.kind = RLX_META_LIST, .n = (size_t)n, .elements = RLX_META_INT, .opaque = list});
  put(w, NULL, "tokenizer.ggml.eos_token_id", number(n - 1));
  free(list);
  free(tokens);
  free(merges);
}

static void put_metadata(rlx_file_writer *w, const shape *s) {
  put(w, NULL, "general.architecture", text(s->family));
  put(w, NULL, "general.name", text(s->name));
  put(w, s->family, "block_count", number(s->layers));
  put(w, s->family, "context_length", number(s->context));
  put(w, s->family, "embedding_length", number(s->width));
  put(w, s->family, "feed_forward_length", number(s->ffn));
  put(w, s->family, "attention.head_count", number(s->heads));
  put(w, s->family, "attention.head_count_kv", number(s->kv_heads));
  put(w, s->family, "attention.key_length", number(s->head));
  put(w, s->family, "attention.value_length", number(s->head));
  put(w, s->family, "attention.layer_norm_rms_epsilon", real(1e-6));
  put(w, s->family, "rope.dimension_count", number(s->head));
  put(w, s->family, "rope.freq_base", real(s->head_norms ? 1e6 : 1e4));
  put(w, s->family, "vocab_size", number(s->vocabulary));
  if (s->head_norms) put_pairs(w, s->vocabulary);
  else put_vocabulary(w, s->vocabulary);
}

/* ---- tensors ---- */

typedef struct maker {
  rlx_file_writer *w;
  rlx_dtype dtype;
  bool writing;        /* first all are named, then all are written */
  void *random, *ones; /* a stretch in dtype; f32 */
  size_t random_bytes;
} maker;

static void write_bytes(maker *m, const char *name, const void *from, size_t stretch, size_t bytes) {
  for (size_t n; bytes; bytes -= n) {
    n = bytes < stretch ? bytes : stretch;
    need(rlx_file_writer_bytes(m->w, from, n), name);
  }
}

static void tensor(maker *m, const char *name, int64_t rows, int64_t columns) {
  bool is_norm = rows == 0;
  rlx_dtype dtype = is_norm ? RLX_F32 : m->dtype;
  rlx_dims sizes = is_norm ? (rlx_dims){.v = {columns}, .n = 1} : (rlx_dims){.v = {rows, columns}, .n = 2};
  size_t bytes;
  need(rlx_tensor_bytes(dtype, sizes, &bytes), name);
  if (!m->writing) need(rlx_file_writer_tensor(m->w, name, dtype, sizes), name);
  else if (is_norm) write_bytes(m, name, m->ones, SPAN * sizeof(float), bytes);
  else write_bytes(m, name, m->random, m->random_bytes, bytes);
}

static void tensors(maker *m, const shape *s) {
  char name[64];
#define LAYER(suffix, rows, columns)                               \
  snprintf(name, sizeof name, "blk.%d." suffix ".weight", (int)i); \
  tensor(m, name, rows, columns)
  tensor(m, "token_embd.weight", s->vocabulary, s->width);
  for (int64_t i = 0; i < s->layers; i++) {
    LAYER("attn_norm", 0, s->width);
    LAYER("attn_q", s->heads * s->head, s->width);
    LAYER("attn_k", s->kv_heads * s->head, s->width);
    LAYER("attn_v", s->kv_heads * s->head, s->width);
    if (s->head_norms) {
      LAYER("attn_q_norm", 0, s->head);
      LAYER("attn_k_norm", 0, s->head);
    }
    LAYER("attn_output", s->width, s->heads * s->head);
    LAYER("ffn_norm", 0, s->width);
    LAYER("ffn_gate", s->ffn, s->width);
    LAYER("ffn_up", s->ffn, s->width);
    LAYER("ffn_down", s->width, s->ffn);
  }
#undef LAYER
  tensor(m, "output_norm.weight", 0, s->width);
  if (!s->tied) tensor(m, "output.weight", s->vocabulary, s->width);
}

/* Sums of uniform numbers, near enough to normal ones; about 1/sqrt(width) in size. */
static float *random_values(void) {
  float *v = malloc(SPAN * sizeof *v);
  uint64_t seed = 88172645463325252u;
  for (size_t i = 0; v && i < SPAN; i++) {
    double sum = 0;
    for (int k = 0; k < 4; k++) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      sum += (double)(seed >> 11) * 0x1p-53 - 0.5;
    }
    v[i] = (float)(0.05 * sum);
  }
  if (!v) fail("out of memory");
  return v;
}

static uint16_t to_f16(float x) { /* of numbers well inside f16's normal range, or 0 */
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  uint32_t e = bits >> 23 & 255;
  if (e < 113) return 0;
  return (uint16_t)((bits >> 16 & 0x8000) | (e - 112) << 10 | (bits >> 13 & 0x3ff));
}

static void fill(maker *m) {
  float *v = random_values();
  uint32_t per = rlx_dtype_describe(m->dtype)->block_elements, bytes = rlx_dtype_describe(m->dtype)->block_bytes;
  m->random_bytes = SPAN / per * bytes;
  m->random = malloc(m->random_bytes);
  float *ones = malloc(SPAN * sizeof *ones);
  if (!m->random || !ones) fail("out of memory");
  for (size_t i = 0; i < SPAN; i++) ones[i] = 1;
  m->ones = ones;
  if (per > 1) need(rlx_quant_encode(m->dtype, v, m->random, SPAN), "encoding");
  else if (m->dtype == RLX_F32) memcpy(m->random, v, m->random_bytes);
  for (size_t i = 0; m->dtype == RLX_F16 && i < SPAN; i++) ((uint16_t *)m->random)[i] = to_f16(v[i]);
  free(v);
}

int main(int argc, char **argv) {
  const bool has_arguments = argc == 4 || argc == 5;
  const int64_t layers = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
  const shape *s = NULL;
  shape shorter;
  for (size_t i = 0; has_arguments && i < N_SHAPES; i++)
    if (strcmp(shapes[i].name, argv[1]) == 0) s = &shapes[i];
  if (s && layers > 0) {
    shorter = *s;
    shorter.layers = layers;
    s = &shorter;
  }
  maker m = {.dtype = has_arguments ? rlx_dtype_from_name(argv[2]) : RLX_DTYPE_UNKNOWN};
  const rlx_dtype_info *info = rlx_dtype_describe(m.dtype);
  bool known = m.dtype == RLX_F32 || m.dtype == RLX_F16 || (info && info->block_elements > 1);
  if (argc == 1) return 0; /* `make bench` calls every program here */
  if (!s || !known) {
    fprintf(stderr, "usage: lm_make SHAPE TYPE OUT.gguf [LAYERS]\nshapes:");
    for (size_t i = 0; i < N_SHAPES; i++) fprintf(stderr, " %s", shapes[i].name);
    fprintf(stderr, "\ntypes: f32 f16 and the block types\n");
    return 2;
  }
  fill(&m);
  need(rlx_file_writer_create(argv[3], &m.w), argv[3]);
  put_metadata(m.w, s);
  tensors(&m, s);
  m.writing = true;
  tensors(&m, s);
  need(rlx_file_writer_finish(m.w), argv[3]);
  rlx_file_writer_destroy(m.w);
  free(m.random);
  free(m.ones);
  return 0;
}
