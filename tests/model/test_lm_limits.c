/* Limits of language models: loading, generating, tokenizers and their patterns. */
#include "base/mem.h"
#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

#define MODEL RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf"
#define MIB ((uint64_t)1 << 20)

static rlx_status load(rlx_limits limits, uint32_t context, rlx_lm **out) {
  return rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = MODEL, .device = "cpu", .n_threads = 1,
                                    .context = context, .watch = {.limits = limits}},
                     out);
}

TEST(a_model_that_takes_too_much) {
  SKIP_WITH_32_BITS();
  rlx_lm *lm;
  CHECK_FAILS(load((rlx_limits){.device_bytes = 2 * MIB}, 0, &lm), RLX_LIMIT, "the limit is 2.0 MiB");
  CHECK(!lm);
  CHECK_FAILS(load((rlx_limits){.host_bytes = MIB / 4}, 0, &lm), RLX_LIMIT, "the limit of this call is 256.0 KiB");
  /* A state of 45 GiB, on no machine of this test; what is allowed counts before anything is made. */
  CHECK_FAILS(load((rlx_limits){.device_bytes = 1024 * MIB}, 16000000, &lm), RLX_LIMIT, "states of 45.8 GiB");
  CHECK_OK(load((rlx_limits){.device_bytes = 64 * MIB, .host_bytes = 256 * MIB}, 256, &lm));
  rlx_lm_destroy(lm);
}

typedef struct reported {
  size_t bytes;
} reported;

static void count(void *user, const char *text, size_t bytes) {
  reported *t = user;
  (void)text;
  t->bytes += bytes;
}

/* A session's time is that of the whole call, not of each of its runs. */
TEST(a_generation_that_takes_too_long) {
  rlx_session *s;
  rlx_lm *lm;
  rlx_session_desc sd = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .limits = {.seconds = 0.25}};
  CHECK_OK(rlx_session_create(&sd, &s));
  CHECK_OK(rlx_lm_load(
    &(rlx_lm_desc){RLX_LM_DESC_INIT, .path = MODEL, .session = s, .watch = {.limits = {.seconds = 600}}}, &lm));
  reported t = {0};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .ignore_end = true, .shift = true};
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_LIMIT, "the time limit of 0.25 s is over");
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_LIMIT, "rlx_lm_generate"); /* and lives */
  rlx_lm_destroy(lm);
  rlx_session_destroy(s);
}

static bool take_id(void *user, int32_t id) {
  (void)id;
  return ++*(int *)user > 0;
}

static bool take_row(void *user, uint32_t sequence, int32_t id) {
  (void)sequence;
  return take_id(user, id);
}

/* The options of a call have limits: they hold for this call, and come before the session's. */
TEST(a_generation_with_limits_of_its_own) {
  rlx_lm *lm;
  reported t = {0};
  int n = 0;
  const int32_t ids[] = {1, 2};
  const rlx_chat_message hello = {"user", "hello"};
  CHECK_OK(load((rlx_limits){.seconds = 600}, 0, &lm));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .ignore_end = true, .shift = true, .limits = {.seconds = 0.1}};
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_LIMIT, "the time limit of 0.1 s is over");
  CHECK(t.bytes > 0 && rlx_lm_length(lm, 0) > 0); /* what was drawn until then */
  CHECK_FAILS(rlx_lm_generate_ids(lm, ids, 2, &o, take_id, &n, NULL), RLX_LIMIT, "the time limit of 0.1 s is over");
  CHECK_FAILS(rlx_lm_reply(lm, "chatml", &hello, 1, &o, count, &t, NULL), RLX_LIMIT, "rlx_lm_reply: the time limit");
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  o.shift = false;
  o.limits.seconds = 1e-9;
  CHECK_FAILS(rlx_lm_generate_batch(lm, &(rlx_lm_prompt){ids, 2}, 1, &o, take_row, &n, NULL), RLX_LIMIT,
              "rlx_lm_generate_batch: the time limit of 1e-09 s is over");
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  o.limits = (rlx_limits){.host_bytes = 16};
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_LIMIT, "the limit of this call is 16 bytes");
  o.limits = (rlx_limits){.device_bytes = MIB};
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_UNSUPPORTED, "limits.device_bytes");
  o.limits = (rlx_limits){.reserved = {1}};
  CHECK_FAILS(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL), RLX_UNSUPPORTED, "limits.reserved[0] is set");
  o.limits = (rlx_limits){0}; /* the next call has none of them */
  o.max_tokens = 3;
  CHECK_OK(rlx_lm_truncate(lm, 0, 0));
  CHECK_OK(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, NULL));
  rlx_lm_destroy(lm);
}

TEST(a_call_that_may_take_longer_than_its_session) {
  rlx_session *s;
  rlx_lm *lm;
  reported t = {0};
  rlx_session_desc sd = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .limits = {.seconds = 0.25}};
  CHECK_OK(rlx_session_create(&sd, &s));
  CHECK_OK(rlx_lm_load(
    &(rlx_lm_desc){RLX_LM_DESC_INIT, .path = MODEL, .session = s, .watch = {.limits = {.seconds = 600}}}, &lm));
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .ignore_end = true, .shift = true, .max_tokens = 100};
  rlx_lm_stats stats = {RLX_LM_STATS_INIT};
  o.limits.seconds = 600;
  for (double seconds = 0; seconds < 0.3; seconds = stats.prompt_seconds + stats.seconds, o.max_tokens *= 2)
    CHECK_OK(rlx_lm_generate(lm, "ROMEO:", 6, &o, count, &t, &stats));
  rlx_lm_destroy(lm);
  rlx_session_destroy(s);
}

static bool copy_file(const char *from, const char *name) {
  static char bytes[1 << 20];
  FILE *f = fopen(from, "rb");
  size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  return f && fclose(f) == 0 && n && n < sizeof bytes && !rlx_file_write(folder_path(name), bytes, n);
}

TEST(an_embedding_with_limits) {
  static const char words[] =
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{"
    "\"type\":\"WordPiece\"},\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"b\":2}}}";
  rlx_lm *lm;
  float out[64];
  CHECK(folder_begin() && copy_file(RLX_TEST_DATA "/lm/bert/config.json", "config.json") &&
        copy_file(RLX_TEST_DATA "/lm/bert/model.safetensors", "model.safetensors"));
  CHECK_OK(rlx_file_write(folder_path("tokenizer.json"), words, sizeof words - 1));
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = folder_name(), .device = "cpu", .n_threads = 1, .context = 16};
  CHECK_OK(rlx_lm_load(&d, &lm));
  CHECK_OK(rlx_lm_embed(lm, "a b", 3, out, NULL));
  rlx_watch w = {.limits = {.device_bytes = 1}};
  CHECK_FAILS(rlx_lm_embed_watched(lm, "a", 1, &w, out, NULL), RLX_UNSUPPORTED, "limits.device_bytes: expected 0");
  w.limits = (rlx_limits){.reserved = {0, 1}};
  CHECK_FAILS(rlx_lm_embed_watched(lm, "a", 1, &w, out, NULL), RLX_UNSUPPORTED, "limits.reserved[1] is set");
  w.limits = (rlx_limits){.seconds = 1e-9};
  CHECK_FAILS(rlx_lm_embed_watched(lm, "a b", 3, &w, out, NULL), RLX_LIMIT,
              "rlx_lm_embed_watched: the time limit of 1e-09 s is over");
  w.limits = (rlx_limits){.host_bytes = 16};
  CHECK_FAILS(rlx_lm_embed_watched(lm, "a b", 3, &w, out, NULL), RLX_LIMIT, "the limit of this call is 16 bytes");
  w.limits = (rlx_limits){.seconds = 600};
  CHECK_OK(rlx_lm_embed_watched(lm, "a b", 3, &w, out, NULL));
  CHECK_OK(rlx_lm_embed_watched(lm, "a b", 3, NULL, out, NULL));
  rlx_lm_destroy(lm);
}

TEST(a_file_and_its_tokenizer) {
  rlx_file *f;
  rlx_tokenizer *t;
  CHECK_FAILS(rlx_file_open(MODEL, &(rlx_watch){.limits = {.host_bytes = 4096}}, &f), RLX_LIMIT,
              "the limit of this call is 4.0 KiB");
  CHECK_OK(rlx_file_open(MODEL, &(rlx_watch){.limits = {.host_bytes = 3 * MIB}}, &f));
  CHECK_OK(rlx_tokenizer_create(f, &t));
  rlx_file_close(f);
  size_t n, bytes = 4 * MIB;
  char *text = rlx_mem_alloc(bytes);
  int32_t *ids;
  CHECK(text);
  memset(text, 'a', bytes);
  CHECK_FAILS(rlx_tokenizer_encode(t, text, bytes, 0, &ids, &n), RLX_LIMIT, "the limit of this call is 3.0 MiB");
  CHECK_OK(rlx_tokenizer_encode(t, text, 1000, 0, &ids, &n));
  rlx_free(ids);
  rlx_mem_free(text);
  rlx_tokenizer_destroy(t);
}

/* A pattern that tries every way to cut a run of letters, at each of its places: 2^n ways. */
static const char backtracks[] =
  "{\"version\":\"1.0\",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2},\"merges\":[]},"
  "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|a|aa)+[bc]\"},\"behavior\":\"Isolated\",\"invert\":false}}";

TEST(a_pattern_that_backtracks_is_bounded_over_the_whole_text) {
  CHECK(folder_begin());
  rlx_file_writer *w;
  rlx_file *f;
  rlx_tokenizer *t;
  CHECK_OK(rlx_file_writer_create(folder_path("model.safetensors"), &w));
  CHECK_OK(rlx_file_writer_tensor(w, "w", RLX_F32, RLX_DIMS(1)));
  CHECK_OK(rlx_file_writer_bytes(w, (float[]){1}, 4));
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_OK(rlx_file_write(folder_path("config.json"), "{}", 2));
  CHECK_OK(rlx_file_write(folder_path("tokenizer.json"), backtracks, sizeof backtracks - 1));
  CHECK_OK(rlx_file_open(folder_name(), NULL, &f));
  CHECK_OK(rlx_tokenizer_create(f, &t));
  rlx_file_close(f);
  static char text[40000];
  int32_t *ids;
  size_t n;
  memset(text, 'a', sizeof text);
  CHECK_FAILS(rlx_tokenizer_encode(t, text, sizeof text, 0, &ids, &n), RLX_LIMIT, "the tokenizer's pattern has taken");
  for (size_t i = 0; i < sizeof text; i++)
    text[i] = i % 8 == 7 ? 'c' : 'a'; /* an ordinary text of that length is fine */
  CHECK_OK(rlx_tokenizer_encode(t, text, sizeof text, 0, &ids, &n));
  CHECK_EQ_INT(n, sizeof text);
  rlx_free(ids);
  rlx_tokenizer_destroy(t);
}
