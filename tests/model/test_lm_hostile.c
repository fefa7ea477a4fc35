/* Hostile input that is small to write and would be large to hold or slow to read (weight files, vocabularies,
 * configurations, arrays, graphs, conversations): all end with a status, within 64 MiB plus twice their size.
 * RLX_TEST_COSTS=1 prints the cost of each. */
#include <unistd.h>

#include "base/str.h"
#include "cost.h"
#include "folder.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "test.h"

typedef rlx_status action(const char *path);

/* ---- Writing files --------------------------------------------------------------------------------------------- */

static bool put(const char *name, const rlx_str *s) {
  FILE *f = fopen(folder_path(name), "wb");
  bool ok = f && !s->failed && fwrite(s->v, 1, s->n, f) == s->n;
  return (!f || fclose(f) == 0) && ok;
}

static void repeat(rlx_str *s, const char *text, size_t times) {
  size_t n = strlen(text);
  for (size_t i = 0; i < times; i++) rlx_str_add_bytes(s, text, n);
}

static void number(rlx_str *s, uint64_t v, size_t bytes) { /* little-endian */
  char raw[8];
  for (size_t i = 0; i < bytes; i++) raw[i] = (char)(v >> 8 * i);
  rlx_str_add_bytes(s, raw, bytes);
}

static void text(rlx_str *s, const char *t) { /* as GGUF has it */
  number(s, strlen(t), 8);
  rlx_str_add_bytes(s, t, strlen(t));
}

static void gguf(rlx_str *s, uint64_t tensors, uint64_t keys) {
  rlx_str_add(s, "GGUF");
  number(s, 3, 4);
  number(s, tensors, 8);
  number(s, keys, 8);
}

static void text_key(rlx_str *s, const char *key, const char *value) {
  text(s, key);
  number(s, 8, 4);
  text(s, value);
}

static void list_key(rlx_str *s, const char *key, uint32_t type, uint64_t n) {
  text(s, key);
  number(s, 9, 4);
  number(s, type, 4);
  number(s, n, 8);
}

static void safetensors(rlx_str *s, const rlx_str *header, size_t zeros) {
  number(s, header->n, 8);
  rlx_str_add_bytes(s, header->v, header->n);
  for (size_t i = 0; i < zeros; i++) rlx_str_add_bytes(s, "", 1);
}

/* ---- Measuring ------------------------------------------------------------------------------------------------- */

static rlx_status open_only(const char *path) {
  rlx_file *f;
  rlx_status s = rlx_file_open(path, NULL, &f);
  rlx_file_close(f);
  return s;
}

static rlx_status open_tokenizer(const char *path) {
  rlx_file *f;
  rlx_tokenizer *t = NULL;
  rlx_status s = rlx_file_open(path, NULL, &f);
  if (!s) s = rlx_tokenizer_create(f, &t);
  rlx_tokenizer_destroy(t);
  rlx_file_close(f);
  return s;
}

static rlx_status open_model(const char *path) {
  rlx_lm *lm;
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path, .device = "cpu", .n_threads = 1};
  rlx_status s = rlx_lm_load(&d, &lm);
  rlx_lm_destroy(lm);
  return s;
}

static rlx_status open_sampling(const char *path) {
  rlx_file *f;
  rlx_lm_sampling settings = {RLX_LM_SAMPLING_INIT};
  rlx_status s = rlx_file_open(path, NULL, &f);
  if (!s) s = rlx_lm_sampling_of(f, &settings);
  rlx_file_close(f);
  return s;
}

static rlx_status open_template(const char *path) {
  rlx_file *f;
  rlx_status s = rlx_file_open(path, NULL, &f);
  if (!s && !rlx_chat_template_of(f)) s = strstr(rlx_message(), "limit") ? RLX_LIMIT : RLX_NOT_FOUND;
  rlx_file_close(f);
  return s;
}

static rlx_status open_and_check(const char *path) {
  rlx_file *f;
  rlx_status s = rlx_file_open(path, NULL, &f);
  if (!s) s = rlx_file_check(f, NULL, NULL);
  rlx_file_close(f);
  return s;
}

static rlx_status read_npy(const char *path) {
  rlx_tensor t;
  rlx_status s = rlx_npy_read(path, &t);
  if (!s) rlx_free(t.data);
  return s;
}

typedef struct expectation {
  rlx_status status;
  const char *part;
  size_t times; /* of the file's size that it may take beyond MAX_MIB */
} expectation;

static void judge(const char *name, size_t bytes, rlx_status s, const expectation *e, const cost *c) {
  if (s != e->status || (s && !strstr(rlx_message(), e->part)))
    FAIL("%s: expected '%s' with <%s>, got '%s': %.300s", name, rlx_status_name(e->status), e->part, rlx_status_name(s),
         s ? rlx_message() : "");
  check_cost(name, bytes, e->times, c);
}

/* The file by its name in the folder, or the folder itself where that is to be opened. */
static void attempt(const char *name, action *f, const char *path, rlx_str *file, const expectation *e) {
  size_t bytes = file->n;
  rlx_str_deinit(file);
  *file = (rlx_str){0};
  cost c = begin_cost();
  rlx_status s = f(path);
  c = end_cost(c);
  judge(name, bytes, s, e, &c);
}

/* ---- GGUF ------------------------------------------------------------------------------------------------------ */

#define GGUF(name, f, ...)                                                             \
  do {                                                                                 \
    CHECK(put("x.gguf", &s));                                                          \
    attempt("gguf, " name, f, folder_path("x.gguf"), &s, &(expectation){__VA_ARGS__}); \
    if (test_has_failed()) return;                                                     \
  } while (0)

TEST(gguf_files) {
  rlx_str s = {0};
  CHECK(folder_begin());
  gguf(&s, UINT64_MAX, 0);
  GGUF("tensors without end", open_only, RLX_INVALID, "tensors", 2);
  gguf(&s, 1 << 18, 0);
  for (unsigned i = 0; i < 1 << 18; i++) { /* all there may be */
    char name[16];
    snprintf(name, sizeof name, "t%u", i);
    text(&s, name);
    number(&s, 1, 4);
    number(&s, 1, 8);
    number(&s, 0, 4);
    number(&s, 32 * i, 8);
  }
  repeat(&s, "01234567012345670123456701234567", (1 << 18) + 1);
  GGUF("2^18 tensors", open_only, RLX_OK, "", 2);
  gguf(&s, 0, 1 << 16);
  for (unsigned i = 0; i < 1 << 16; i++) {
    char name[16];
    snprintf(name, sizeof name, "k%u", i);
    text(&s, name);
    number(&s, 0, 4);
    number(&s, 0, 1);
  }
  GGUF("2^16 keys", open_only, RLX_OK, "", 2);
  gguf(&s, 0, 1);
  list_key(&s, "k", 8, 4000000);
  for (unsigned i = 0; i < 4000000; i++) number(&s, 0, 8);
  GGUF("4 million empty texts", open_only, RLX_OK, "", 2);
  gguf(&s, 0, 1);
  list_key(&s, "k", 9, 1 << 20);
  for (unsigned i = 0; i < 1 << 20; i++) number(&s, 9, 4), number(&s, 0, 8);
  GGUF("2^20 lists", open_only, RLX_UNSUPPORTED, "lists", 2);
}

/* ---- safetensors ----------------------------------------------------------------------------------------------- */

#define SAFETENSORS(name, f, zeros, ...)                                                             \
  do {                                                                                               \
    safetensors(&s, &h, zeros);                                                                      \
    rlx_str_deinit(&h);                                                                              \
    h = (rlx_str){0};                                                                                \
    CHECK(put("x.safetensors", &s));                                                                 \
    attempt("safetensors, " name, f, folder_path("x.safetensors"), &s, &(expectation){__VA_ARGS__}); \
    if (test_has_failed()) return;                                                                   \
  } while (0)

TEST(safetensors_files) {
  rlx_str s = {0}, h = {0};
  CHECK(folder_begin());
  rlx_str_add(&h, "{\"t\":[");
  repeat(&h, "1,", 10000000);
  rlx_str_add(&h, "1]}");
  SAFETENSORS("10^7 flat values", open_only, 0, RLX_INVALID, "a value of", 2);
  rlx_str_add(&h, "{\"t\":[");
  repeat(&h, "1,", 500000);
  rlx_str_add(&h, "1]}");
  SAFETENSORS("5 * 10^5 flat values", open_only, 0, RLX_LIMIT, "500002 JSON values, the limit is 65536", 2);
  rlx_str_add(&h, "{\"t\":");
  repeat(&h, "[", 1000000);
  SAFETENSORS("10^6 nested", open_only, 0, RLX_LIMIT, "JSON nested 1000000 deep", 2);
  rlx_str_add(&h, "{\"__metadata__\":{");
  for (unsigned i = 0; i < 1 << 16; i++) rlx_str_add(&h, "%s\"k%u\":\"\"", i ? "," : "", i);
  rlx_str_add(&h, "},\"t\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
  SAFETENSORS("2^16 keys", open_only, 0, RLX_OK, "", 2);
  rlx_str_add(&h, "{");
  for (unsigned i = 0; i < 1 << 18; i++)
    rlx_str_add(&h, "%s\"%u\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i ? "," : "", i);
  rlx_str_add(&h, "}");
  SAFETENSORS("2^18 tensors", open_only, 0, RLX_OK, "", 2);
}

/* ---- Folders --------------------------------------------------------------------------------------------------- */

static bool put_model(void) {
  rlx_str h = {0}, s = {0};
  rlx_str_add(&h, "{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}");
  safetensors(&s, &h, 4);
  bool ok = put("model.safetensors", &s);
  rlx_str_deinit(&h);
  rlx_str_deinit(&s);
  return ok;
}

static void flat(rlx_str *s, size_t n) {
  rlx_str_add(s, "{\"a\":[");
  repeat(s, "1,", n - 1);
  rlx_str_add(s, "1]}");
}

static void nested(rlx_str *s, size_t n) {
  rlx_str_add(s, "{\"a\":");
  repeat(s, "[", n);
  repeat(s, "]", n);
  rlx_str_add(s, "}");
}

/* Each JSON of a folder by whoever reads it. */
TEST(json_bombs) {
  static const struct {
    const char *file;
    action *f;
    rlx_status status; /* rlx_file_check tells what it finds, whatever it is, as invalid */
  } cases[] = {
    {"config.json", open_model, RLX_LIMIT},          {"generation_config.json", open_sampling, RLX_LIMIT},
    {"tokenizer.json", open_tokenizer, RLX_LIMIT},   {"tokenizer_config.json", open_template, RLX_LIMIT},
    {"tokenizer.json", open_and_check, RLX_INVALID},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_str s = {0}, name = {0}, part = {0};
    CHECK(folder_begin() && put_model());
    flat(&s, 10000000);
    CHECK(put(cases[i].file, &s));
    rlx_str_add(&name, "folder, %s of 10^7 flat values", cases[i].file);
    rlx_str_add(&part, "10000003 JSON values, the limit is");
    attempt(name.v, cases[i].f, folder_name(), &s, &(expectation){cases[i].status, part.v, 2});
    name.n = part.n = 0;
    nested(&s, 1000000);
    CHECK(put(cases[i].file, &s));
    rlx_str_add(&name, "folder, %s of 10^6 nested values", cases[i].file);
    rlx_str_add(&part, "JSON nested 1000001 deep, the limit is 1024");
    attempt(name.v, cases[i].f, folder_name(), &s, &(expectation){cases[i].status, part.v, 2});
    rlx_str_deinit(&name);
    rlx_str_deinit(&part);
    if (test_has_failed()) return;
  }
}

/* What is not refused: the most that a tokenizer.json may hold. As a tree, members would take 17 times their letters,
 * and empty objects 70 times. */
TEST(json_that_is_taken) {
  rlx_str s = {0};
  CHECK(folder_begin() && put_model());
  rlx_str_add(&s, "{\"a\":[");
  repeat(&s, "\"\",", 650000);
  rlx_str_add(&s, "1]}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 650,000 empty texts", open_tokenizer, folder_name(), &s,
          &(expectation){RLX_INVALID, "", 2});
  if (test_has_failed()) return;
  rlx_str_add(&s, "{");
  for (unsigned i = 0; i < 1000000; i++) rlx_str_add(&s, "%s\"%05x\":\"\"", i ? "," : "", i);
  rlx_str_add(&s, "}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 10^6 members", open_tokenizer, folder_name(), &s,
          &(expectation){RLX_INVALID, "there is no model", 2});
  if (test_has_failed()) return;
  attempt("folder, tokenizer.json of 10^6 members, checked", open_and_check, folder_name(), &(rlx_str){.n = 11000000},
          &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  rlx_str_add(&s, "{\"a\":[");
  repeat(&s, "{},", 180000);
  rlx_str_add(&s, "1]}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 180,000 empty objects", open_tokenizer, folder_name(), &s,
          &(expectation){RLX_INVALID, "there is no model", 2});
}

/* Tables of a tokenizer.json are read without a tree, so they cost what a GGUF's do. */
TEST(large_tables) {
  rlx_str s = {0};
  CHECK(folder_begin() && put_model());
  rlx_str_add(&s, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{");
  for (unsigned i = 0; i < 1000000; i++) rlx_str_add(&s, "%s\"%05x\":%u", i ? "," : "", i, i);
  rlx_str_add(&s, "}}}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 10^6 tokens", open_tokenizer, folder_name(), &s, &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  rlx_str_add(&s, "{\"model\":{\"type\":\"Unigram\",\"vocab\":[");
  for (unsigned i = 0; i < 500000; i++) rlx_str_add(&s, "%s[\"%05x\",-1.5]", i ? "," : "", i);
  rlx_str_add(&s, "]}}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 500,000 scored tokens", open_tokenizer, folder_name(), &s,
          &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  rlx_str_add(&s, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1},\"merges\":[\"a a\"");
  repeat(&s, ",[\"a\",\"a\"]", 250000);
  rlx_str_add(&s, "]}}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 250,000 merges", open_tokenizer, folder_name(), &s, &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  rlx_str_add(&s, "{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]},\"added_tokens\":[");
  for (unsigned i = 0; i < 200000; i++)
    rlx_str_add(&s, "%s{\"id\":%u,\"content\":\"\\u%04x%u\",\"special\":true}", i ? "," : "", i, 0x100 + i % 999, i);
  rlx_str_add(&s, "]}");
  CHECK(put("tokenizer.json", &s));
  attempt("folder, tokenizer.json of 200,000 added tokens", open_tokenizer, folder_name(), &s,
          &(expectation){RLX_OK, "", 2});
}

/* The files beside a tokenizer.json become trees, and have fewer values. */
TEST(large_files_beside_a_tokenizer) {
  static const char *const files[] = {"config.json", "generation_config.json", "tokenizer_config.json"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    rlx_str s = {0}, name = {0};
    CHECK(folder_begin() && put_model());
    rlx_str_add(&s, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
    CHECK(put("tokenizer.json", &s));
    s.n = 0;
    rlx_str_add(&s, "{");
    for (unsigned k = 0; k < 1000000; k++) rlx_str_add(&s, "%s\"%05x\":\"\"", k ? "," : "", k);
    rlx_str_add(&s, "}");
    CHECK(put(files[i], &s));
    rlx_str_add(&name, "folder, %s of 10^6 members", files[i]);
    attempt(name.v, open_tokenizer, folder_name(), &s,
            &(expectation){RLX_LIMIT, "2000001 JSON values, the limit is", 2});
    rlx_str_deinit(&name);
    if (test_has_failed()) return;
  }
}

/* A limit on memory counts what a tree of JSON will take. */
TEST(json_within_a_budget) {
  rlx_str s = {0};
  rlx_file *f;
  rlx_tokenizer *t;
  CHECK(folder_begin() && put_model());
  rlx_str_add(&s, "{}");
  CHECK(put("tokenizer.json", &s));
  s.n = 0;
  flat(&s, 200000);
  CHECK(put("tokenizer_config.json", &s));
  rlx_str_deinit(&s);
  rlx_watch watch = {.limits = {.host_bytes = 8 << 20}};
  CHECK_OK(rlx_file_open(folder_name(), &watch, &f));
  CHECK_FAILS(rlx_tokenizer_create(f, &t), RLX_LIMIT, "the limit of this call is 8.0 MiB");
  rlx_file_close(f);
}

/* ---- Vocabularies ---------------------------------------------------------------------------------------------- */

static void vocabulary(rlx_str *s, const char *model, uint64_t n, unsigned more) {
  gguf(s, 0, 3 + more);
  text_key(s, "tokenizer.ggml.model", model);
  text_key(s, "tokenizer.ggml.pre", "gpt-2");
  list_key(s, "tokenizer.ggml.tokens", 8, n);
}

static void one_merge(rlx_str *s) {
  list_key(s, "tokenizer.ggml.merges", 8, 1);
  text(s, "1 0");
}

/* Three letters or digits that differ for each number. */
static const char *word(unsigned i, const char *tail) {
  static char text_of[32];
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  snprintf(text_of, sizeof text_of, "%c%c%c%s", letters[i % 62], letters[i / 62 % 62], letters[i / 62 / 62 % 62], tail);
  return text_of;
}

TEST(vocabularies) {
  enum { N = 200000 };
  rlx_str s = {0};
  CHECK(folder_begin());
  vocabulary(&s, "gpt2", 1000000, 1);
  for (unsigned i = 0; i < 1000000; i++) text(&s, "a");
  one_merge(&s);
  GGUF("10^6 tokens of one letter", open_tokenizer, RLX_INVALID, "a spelling may be there once", 2);
  vocabulary(&s, "gpt2", 1000000, 1);
  for (unsigned i = 0; i < 1000000; i++) {
    char name[16];
    snprintf(name, sizeof name, "%x", i);
    text(&s, name);
  }
  one_merge(&s);
  GGUF("10^6 tokens", open_tokenizer, RLX_OK, "", 2);
  /* All merges have one right side: where the left counts little in the hash, they meet in a few slots. */
  vocabulary(&s, "gpt2", 2 * N + 1, 1);
  text(&s, "#");
  for (unsigned i = 0; i < N; i++) text(&s, word(i, ""));
  for (unsigned i = 0; i < N; i++) text(&s, word(i, "#"));
  list_key(&s, "tokenizer.ggml.merges", 8, N);
  for (unsigned i = 0; i < N; i++) text(&s, word(i, " #"));
  GGUF("2 * 10^5 merges with one right side", open_tokenizer, RLX_OK, "", 2);
  /* Spellings that meet in a few slots, if hashes begin where they did once. */
  enum { COLLIDING = 1 << 16 };
  unsigned found = 0;
  vocabulary(&s, "gpt2", COLLIDING, 1);
  for (unsigned i = 0; found < COLLIDING && i < 1u << 28; i++) {
    char name[16];
    uint64_t h = 0xcbf29ce484222325u;
    snprintf(name, sizeof name, "%x", i);
    for (const char *p = name; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    if (i > 16 && ((h ^ h >> 29) & ((1 << 17) - 1)) >= 1 << 10) continue;
    text(&s, name);
    found++;
  }
  CHECK_EQ_INT(found, COLLIDING);
  one_merge(&s);
  GGUF("2^16 spellings that collide", open_tokenizer, RLX_OK, "", 2);
}

/* ---- Texts ----------------------------------------------------------------------------------------------------- */

static rlx_tokenizer *reader;
static const char *input;
static size_t input_bytes;

static rlx_status encode_input(const char *path) {
  int32_t *ids = NULL;
  size_t n;
  (void)path;
  rlx_status s = rlx_tokenizer_encode(reader, input, input_bytes, 0, &ids, &n);
  rlx_free(ids);
  return s;
}

/* A vocabulary in tokenizer.json, and a text of one letter. */
static void encode_with(const char *name, const char *json, size_t json_bytes, const char *letter, size_t n,
                        const expectation *e) {
  rlx_str s = {0}, in = {0};
  rlx_file *f;
  CHECK(folder_begin() && put_model());
  rlx_str_add_bytes(&s, json, json_bytes);
  CHECK(put("tokenizer.json", &s));
  CHECK_OK(rlx_file_open(folder_name(), NULL, &f));
  CHECK_OK(rlx_tokenizer_create(f, &reader));
  repeat(&in, letter, n);
  input = in.v;
  input_bytes = s.n = in.n;
  attempt(name, encode_input, "", &s, e);
  rlx_tokenizer_destroy(reader);
  rlx_file_close(f);
  rlx_str_deinit(&in);
}

#define PATTERN(regex)                                                                                             \
  "{\"added_tokens\":[],\"normalizer\":null,\"decoder\":null,\"post_processor\":null,\"pre_tokenizer\":{\"type\":" \
  "\"Split\",\"pattern\":{\"Regex\":\"" regex                                                                      \
  "\"},\"behavior\":\"Isolated\",\"invert\":false},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"aa\":1},"      \
  "\"merges\":[[\"a\",\"a\"]]}}"

TEST(texts) {
  static const char backtracks[] = PATTERN("(a|a)*[bc]"), nests[] = PATTERN("(a+)+[bc]"), plain[] = PATTERN("c");
  static const char words[] = PATTERN("(?:\\\\p{L}\\\\p{M}*(?: \\\\p{L}\\\\p{M}*)*)+");
  encode_with("text, 10^6 letters and a pattern that tries all ways", backtracks, sizeof backtracks - 1, "a", 1000000,
              &(expectation){RLX_LIMIT, "the tokenizer's pattern", 2});
  if (test_has_failed()) return;
  /* The pattern of exaone-moe, which backtracks at every letter of a word. */
  encode_with("text, 10^6 letters in one word of a pattern", words, sizeof words - 1, "a", 1000000,
              &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  encode_with("text, 10^6 letters and a pattern of repeats in repeats", nests, sizeof nests - 1, "a", 1000000,
              &(expectation){RLX_LIMIT, "the tokenizer's pattern", 2});
  if (test_has_failed()) return;
  encode_with("text, 10^6 letters in one piece", plain, sizeof plain - 1, "a", 1000000, &(expectation){RLX_OK, "", 2});
  if (test_has_failed()) return;
  /* Every place of the text looks for tokens as long as the longest. */
  rlx_str s = {0};
  rlx_str_add(&s, "{\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":null,\"decoder\":null,\"post_processor\":"
                  "null,\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-1],[\"");
  repeat(&s, "a", 50000);
  rlx_str_add(&s, "b\",-2]]}}");
  encode_with("text, 10^5 letters and a token of 50,000", s.v, s.n, "a", 100000,
              &(expectation){RLX_LIMIT, "tokens of up to 50001 bytes", 2});
  rlx_str_deinit(&s);
}

/* ---- npy, graphs ----------------------------------------------------------------------------------------------- */

static void npy(rlx_str *s, const rlx_str *header) {
  rlx_str_add_bytes(s, "\x93NUMPY\x02\0", 8);
  number(s, header->n, 4);
  rlx_str_add_bytes(s, header->v, header->n);
}

#define NPY(name, ...)                                                                      \
  do {                                                                                      \
    npy(&s, &h);                                                                            \
    h.n = 0;                                                                                \
    CHECK(put("x.npy", &s));                                                                \
    attempt("npy, " name, read_npy, folder_path("x.npy"), &s, &(expectation){__VA_ARGS__}); \
    if (test_has_failed()) return;                                                          \
  } while (0)

TEST(arrays) {
  rlx_str s = {0}, h = {0};
  CHECK(folder_begin());
  rlx_str_add(&h, "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }\n");
  NPY("2^40 elements", RLX_INVALID, "", 2);
  rlx_str_add(&h, "{'descr': '<f4', 'fortran_order': True, 'shape': (4294967296, 4294967296, 0), }\n");
  NPY("sizes that wrap", RLX_INVALID, "", 2);
  rlx_str_add(&h, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  repeat(&h, "1,", 10000000);
  rlx_str_add(&h, "), }\n");
  NPY("10^7 axes", RLX_UNSUPPORTED, "header of at most", 2);
  rlx_str_deinit(&h);
}

static const rlx_str *graph_text;
static rlx_status parse_graph(const char *path) {
  rlx_graph *g;
  (void)path;
  rlx_status s = rlx_graph_parse(graph_text->v, graph_text->n, &g);
  rlx_graph_destroy(g);
  return s;
}

#define GRAPH(name, ...)                                                             \
  do {                                                                               \
    rlx_str counted = {.n = s.n};                                                    \
    graph_text = &s;                                                                 \
    attempt("graph, " name, parse_graph, "", &counted, &(expectation){__VA_ARGS__}); \
    s.n = 0;                                                                         \
    if (test_has_failed()) return;                                                   \
  } while (0)

TEST(graphs) {
  rlx_str s = {0};
  rlx_str_add(&s, "graph {\n%%x0 = input \"x\" : f32[2]\n");
  for (unsigned i = 0; i < 100000; i++) rlx_str_add(&s, "%%x%u = neg(%%x%u)\n", i + 1, i);
  rlx_str_add(&s, "output \"y\" = %%x100000\n}\n");
  GRAPH("10^5 nodes", RLX_OK, "", 2);
  rlx_str_add(&s, "graph {\n%%x = constant : f32[1099511627776] = [");
  repeat(&s, "1,", 1000000);
  rlx_str_add(&s, "1]\noutput \"y\" = %%x\n}\n");
  GRAPH("a constant of 2^40 with 10^6 numbers", RLX_INVALID, "", 2);
  rlx_str_add(&s, "graph {\n%%x = input \"x\" : f32[");
  repeat(&s, "1,", 1000000);
  GRAPH("10^6 axes", RLX_INVALID, "", 2);
  rlx_str_deinit(&s);
}

/* ---- Conversations --------------------------------------------------------------------------------------------- */

static rlx_chat_message *messages;
static size_t n_messages;
static rlx_status format_messages(const char *form) {
  char *out;
  rlx_status s = rlx_chat_format(form, messages, n_messages, true, &out);
  if (!s) rlx_free(out);
  return s;
}

TEST(conversations) {
  n_messages = 1000000;
  messages = calloc(n_messages, sizeof *messages);
  CHECK(messages);
  for (size_t i = 0; i < n_messages; i++) messages[i] = (rlx_chat_message){i % 2 ? "assistant" : "user", "hello"};
  for (uint32_t i = 0; i < rlx_chat_template_count(); i++) {
    rlx_str name = {0}, counted = {.n = n_messages * (sizeof *messages + 14)};
    rlx_str_add(&name, "chat, 10^6 messages, %s", rlx_chat_template_name(i));
    attempt(name.v, format_messages, rlx_chat_template_name(i), &counted, &(expectation){RLX_OK, "", 2});
    rlx_str_deinit(&name);
    if (test_has_failed()) break;
  }
  free(messages);
}

TEST(templates) {
  rlx_str s = {0};
  CHECK(folder_begin());
  gguf(&s, 0, 1);
  text(&s, "tokenizer.chat_template");
  number(&s, 8, 4);
  number(&s, 8000000, 8);
  repeat(&s, "{% for %}", 888888);
  repeat(&s, "x", 8);
  GGUF("a template of 8 MB", open_template, RLX_NOT_FOUND, "not supported", 2);
}

/* ---- Saved sequences ------------------------------------------------------------------------------------------- */

static rlx_lm *lm;
static rlx_status restore(const char *path) { return rlx_lm_restore(lm, 0, path); }

TEST(saved_sequences) {
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = RLX_TEST_DATA "/lm/llama", .device = "cpu", .n_threads = 1, .context = 16};
  rlx_str s = {0}, h = {0};
  CHECK(folder_begin());
  CHECK_OK(rlx_lm_load(&d, &lm));
  rlx_str_add(&h, "{\"__metadata__\":{\"rlx.family\":\"llama\"},\"tokens\":{\"dtype\":\"I32\",\"shape\":[16777216],"
                  "\"data_offsets\":[0,67108864]}}");
  SAFETENSORS("saved: a header without its 2^24 tokens", restore, 0, RLX_INVALID, "", 2);
  rlx_str_add(&h, "{\"__metadata__\":{\"rlx.family\":\"llama\"},\"tokens\":{\"dtype\":\"I32\",\"shape\":[2097152],"
                  "\"data_offsets\":[0,8388608]}}");
  SAFETENSORS("saved: 2^21 tokens", restore, 8388608, RLX_INVALID, "", 2);
  rlx_lm_destroy(lm);
}
