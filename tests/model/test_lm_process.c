/* The process contract of language models: one caller at a time; callbacks that destroy, re-enter and read; forks. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

static rlx_status load(rlx_lm **out, rlx_session *session, const rlx_watch *watch) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/lm/llama", RLX_TEST_DATA);
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = path, .device = "cpu", .n_threads = 1, .context = 64};
  d.session = session;
  if (watch) d.watch = *watch;
  return rlx_lm_load(&d, out);
}

static const int32_t prompt[] = {1, 2, 3, 4};
static bool more(void *user, int32_t id) { return (void)user, (void)id, true; }

static rlx_status speak(rlx_lm *lm, bool (*fn)(void *user, int32_t id), void *user) {
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 4, .ignore_end = true};
  return rlx_lm_generate_ids(lm, prompt, 4, &o, fn, user, NULL);
}

/* ---- threads ---- */

static bool batch_more(void *user, uint32_t sequence, int32_t id) { return (void)user, (void)sequence, (void)id, true; }

static rlx_status use(rlx_lm *lm, unsigned what) {
  float logits[4096];
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  size_t n;
  rlx_status s;
  rlx_lm_prompt p = {prompt, 2};
  rlx_lm_options o = {RLX_LM_OPTIONS_INIT, .max_tokens = 2};
  switch (what % 7) {
    case 0: s = speak(lm, more, NULL); break;
    case 1: return rlx_lm_append(lm, 0, prompt, 1, false, logits);
    case 2: return rlx_lm_describe(lm, &info);
    case 3: (void)rlx_lm_tokens(lm, 0, &n); return RLX_OK;
    case 4: return rlx_lm_length(lm, 0) <= 64 ? RLX_OK : RLX_INVALID;
    case 5: s = rlx_lm_generate_batch(lm, &p, 1, &o, batch_more, NULL, NULL); break;
    default: return rlx_lm_truncate(lm, 0, 0);
  }
  return s;
}

typedef struct user_thread {
  pthread_t thread;
  rlx_lm *lm;
  unsigned seed, n_ok;
  char wrong[256];
} user_thread;

static void *use_often(void *user) {
  user_thread *u = user;
  for (unsigned i = 0; i < 300 && !u->wrong[0]; i++) {
    u->seed = u->seed * 1664525u + 1013904223u;
    rlx_status s = use(u->lm, u->seed >> 8);
    bool is_full = s == RLX_INVALID && strstr(rlx_message(), "context");
    u->n_ok += s == RLX_OK;
    if (s != RLX_OK && s != RLX_BUSY && !is_full)
      snprintf(u->wrong, sizeof u->wrong, "%s: %s", rlx_status_name(s), rlx_message());
  }
  return NULL;
}

TEST(threads_in_one_model) {
  user_thread u[3];
  rlx_lm *lm;
  unsigned n_ok = 0;
  CHECK_OK(load(&lm, NULL, NULL));
  for (unsigned i = 0; i < 3; i++) {
    u[i] = (user_thread){.lm = lm, .seed = i + 1};
    CHECK(pthread_create(&u[i].thread, NULL, use_often, &u[i]) == 0);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(u[i].thread, NULL);
    if (u[i].wrong[0]) FAIL("thread %d: %s", i, u[i].wrong);
    n_ok += u[i].n_ok;
  }
  CHECK(n_ok > 0);
  rlx_lm_destroy(lm);
}

/* A file and a tokenizer do not change: threads read them at the same time and get the same. */
typedef struct reader {
  pthread_t thread;
  const rlx_file *file;
  const rlx_tokenizer *tokenizer;
  uint64_t sum;
  rlx_status status;
} reader;

static void *read_shared(void *user) {
  reader *r = user;
  static const char text[] = "the quick brown fox, 42 times";
  for (int round = 0; round < 20 && !r->status; round++) {
    int32_t *ids = NULL;
    size_t n = 0;
    unsigned char bytes[64];
    r->status = rlx_tokenizer_encode(r->tokenizer, text, sizeof text - 1, RLX_TOKENS_ADD_SPECIAL, &ids, &n);
    for (size_t i = 0; i < n; i++) r->sum = r->sum * 31 + (uint64_t)ids[i];
    rlx_free(ids);
    for (uint32_t i = 0; i < rlx_file_tensor_count(r->file) && !r->status; i++) {
      const rlx_file_tensor *t = rlx_file_tensor_at(r->file, i);
      size_t some = t->bytes < sizeof bytes ? t->bytes : sizeof bytes;
      r->status = rlx_file_read_tensor(r->file, t, 0, bytes, some);
      for (size_t k = 0; k < some && !r->status; k++) r->sum = r->sum * 31 + bytes[k];
    }
  }
  return NULL;
}

TEST(threads_that_read_one_file_and_tokenizer) {
  rlx_file *file;
  rlx_tokenizer *tokenizer;
  reader r[3];
  CHECK_OK(rlx_file_open(RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf", NULL, &file));
  CHECK_OK(rlx_tokenizer_create(file, &tokenizer));
  for (int i = 0; i < 3; i++) {
    r[i] = (reader){.file = file, .tokenizer = tokenizer};
    CHECK(pthread_create(&r[i].thread, NULL, read_shared, &r[i]) == 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(r[i].thread, NULL);
  for (int i = 0; i < 3; i++) CHECK_OK(r[i].status);
  CHECK(r[0].sum == r[1].sum && r[1].sum == r[2].sum && r[0].sum != 0);
  rlx_tokenizer_destroy(tokenizer);
  rlx_file_close(file);
}

/* ---- a log per session ---- */

typedef struct listener {
  pthread_t thread;
  rlx_session *session;
  rlx_status status;
  int n;
} listener;

static void hear_log(void *user, rlx_log_level level, const char *text) {
  listener *l = user;
  if (level != RLX_LOG_WARN || !strstr(text, "a context of 9000 tokens")) return;
  l->n++;
}

/* A context longer than the model was made for is worth a warning. */
static void *load_long(void *user) {
  listener *l = user;
  char path[1024];
  rlx_lm *lm = NULL;
  snprintf(path, sizeof path, "%s/lm/llama", RLX_TEST_DATA);
  l->status = rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = path, .session = l->session, .context = 9000}, &lm);
  rlx_lm_destroy(lm);
  return NULL;
}

TEST(sessions_with_logs_of_their_own) {
  listener all = {0}, own[2] = {{0}, {0}};
  rlx_set_log(hear_log, &all);
  for (int i = 0; i < 2; i++) {
    rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .log = hear_log, .log_user = &own[i]};
    CHECK_OK(rlx_session_create(&d, &own[i].session));
    CHECK(pthread_create(&own[i].thread, NULL, load_long, &own[i]) == 0);
  }
  for (int i = 0; i < 2; i++) pthread_join(own[i].thread, NULL);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(own[i].status);
    CHECK_EQ_INT(own[i].n, 1);
    rlx_session_destroy(own[i].session);
  }
  CHECK_EQ_INT(all.n, 0);
  listener without = {0}; /* a session that has none, in the default one's hands */
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &without.session));
  load_long(&without);
  rlx_session_destroy(without.session);
  rlx_set_log(NULL, NULL);
  CHECK_OK(without.status);
  CHECK_EQ_INT(all.n, 1);
}

/* ---- callbacks ---- */

typedef struct nosy {
  rlx_lm *lm;
  int n;
  rlx_status spoke, truncated, saved, described;
  size_t n_tokens;
} nosy;

static bool try_everything(void *user, int32_t id) {
  nosy *k = user;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  (void)id;
  k->n++;
  k->spoke = speak(k->lm, more, NULL);
  k->truncated = rlx_lm_truncate(k->lm, 0, 0);
  k->saved = rlx_lm_save(k->lm, 0, folder_path("x.safetensors"));
  k->described = rlx_lm_describe(k->lm, &info);
  k->n_tokens = rlx_lm_length(k->lm, 0);
  return true;
}

TEST(what_a_callback_may_call) {
  nosy k = {0};
  CHECK(folder_begin());
  CHECK_OK(load(&k.lm, NULL, NULL));
  CHECK_OK(speak(k.lm, try_everything, &k));
  CHECK_EQ_INT(k.n, 4);
  CHECK_EQ_INT(k.spoke, RLX_BUSY);
  CHECK_EQ_INT(k.truncated, RLX_BUSY);
  CHECK_EQ_INT(k.saved, RLX_BUSY);
  CHECK_EQ_INT(k.described, RLX_OK);
  CHECK(k.n_tokens >= 4);
  CHECK_EQ_INT(folder_count(), 0);
  rlx_lm_destroy(k.lm);
}

static rlx_lm *doomed;
static bool destroy_model(void *user, int32_t id) {
  (void)user, (void)id;
  if (doomed) rlx_lm_destroy(doomed);
  doomed = NULL;
  return true;
}

TEST(destroy_inside_a_callback) {
  const size_t live = rlx_mem_live();
  CHECK_OK(load(&doomed, NULL, NULL));
  CHECK_OK(speak(doomed, destroy_model, NULL));
  CHECK(!doomed);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* A progress callback destroys the session that the model is being loaded on. */
static rlx_session *session_to_destroy;
static bool destroy_session(void *user) {
  (void)user;
  rlx_session_destroy(session_to_destroy);
  return session_to_destroy = NULL, false;
}

TEST(a_session_destroyed_while_a_model_is_loaded_on_it) {
  const size_t live = rlx_mem_live();
  rlx_lm *lm;
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session_to_destroy));
  CHECK_OK(load(&lm, session_to_destroy, &(rlx_watch){.cancel = destroy_session}));
  CHECK(!session_to_destroy);
  CHECK_OK(speak(lm, more, NULL));
  rlx_lm_destroy(lm);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* A callback closes the file that is being checked or converted. */
static rlx_file *file_to_close;
static bool close_file(void *user) {
  (void)user;
  rlx_file_close(file_to_close);
  return file_to_close = NULL, false;
}

TEST(a_file_closed_inside_a_callback) {
  char path[1024];
  const size_t live = rlx_mem_live();
  snprintf(path, sizeof path, "%s/lm/llama", RLX_TEST_DATA);
  CHECK(folder_begin());
  const rlx_watch watch = {.cancel = close_file};
  const rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .n_threads = 1, .watch = watch};
  CHECK_OK(rlx_file_open(path, NULL, &file_to_close));
  CHECK_OK(rlx_file_check(file_to_close, &watch, NULL));
  CHECK(!file_to_close);
  CHECK_OK(rlx_file_open(path, NULL, &file_to_close));
  CHECK_OK(rlx_file_convert(file_to_close, folder_path("a.safetensors"), &o));
  CHECK(!file_to_close);
  CHECK_OK(rlx_file_open(path, NULL, &file_to_close));
  CHECK_OK(rlx_lm_convert(file_to_close, folder_path("a.gguf"), &o));
  CHECK(!file_to_close);
  CHECK_EQ_INT(rlx_mem_live(), live);
}

/* ---- fork ---- */

static int in_child(rlx_lm *lm) {
  rlx_lm *own;
  if (speak(lm, more, NULL) != RLX_INVALID || !strstr(rlx_message(), "belongs to the process")) return 1;
  rlx_lm_destroy(lm);
  if (load(&own, NULL, NULL) || speak(own, more, NULL)) return 2;
  rlx_lm_destroy(own);
  return 0;
}

TEST(a_child_refuses_its_parents_model) {
  if (TEST_IS_SANITIZED) SKIP("a sanitizer's own locks do not survive a fork among threads");
  rlx_lm *lm;
  int status = -1;
  CHECK_OK(load(&lm, NULL, NULL));
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(600);
    _exit(in_child(lm));
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  CHECK(WIFEXITED(status));
  CHECK_EQ_INT(WEXITSTATUS(status), 0);
  CHECK_OK(speak(lm, more, NULL));
  rlx_lm_destroy(lm);
}
