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
