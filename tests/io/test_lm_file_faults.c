/* Failing system calls under weight files: each call fails once, in every possible way.
 *
 * Retryable failures must not be visible. Others must be a status and leave the previous file intact. */
#define _DEFAULT_SOURCE
#define FAULTS_OF_FILES
#include "faults.h"
#include "folder.h"
#include "rlx/lm.h"
#include "test.h"

#ifdef __linux__

/* ---- The work: a file is written, opened, checked and converted ---- */

static unsigned char pattern[3000];

static rlx_status write_file(const char *path) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = rlx_file_writer_tensor(w, "a", RLX_I8, RLX_DIMS(1000));
  if (!s) s = rlx_file_writer_tensor(w, "b", RLX_I8, RLX_DIMS(2, 1000));
  if (!s) s = rlx_file_writer_bytes(w, pattern, sizeof pattern);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static rlx_status work(void *user) {
  (void)user;
  rlx_file *f;
  RLX_TRY(write_file(folder_path("a.gguf")));
  RLX_TRY(rlx_file_open(folder_path("a.gguf"), NULL, &f));
  rlx_status s = rlx_file_check(f, NULL, NULL);
  if (!s)
    s = rlx_file_convert(f, folder_path("b.safetensors"),
                         &(rlx_convert_options){RLX_CONVERT_OPTIONS_INIT, .n_threads = 1});
  rlx_file_close(f);
  return s;
}

/* Whether a file is there with all its bytes as they were. */
static bool is_whole(const char *path) {
  rlx_file *f;
  unsigned char back[2000];
  if (rlx_file_open(path, NULL, &f)) return false;
  const rlx_file_tensor *t = rlx_file_tensor_find(f, "b");
  bool ok = t && t->bytes == 2000 && rlx_file_read_tensor(f, t, 0, back, 2000) == RLX_OK &&
            memcmp(back, pattern + 1000, 2000) == 0;
  rlx_file_close(f);
  return ok;
}

static bool are_whole(void *user) {
  (void)user;
  return is_whole(folder_path("a.gguf")) && is_whole(folder_path("b.safetensors")) && folder_count() == 2;
}

static size_t sweep(unsigned calls, file_fault how, int error, rlx_status expected) {
  return file_sweep(&(file_faults){calls, how, error, expected}, work, NULL, are_whole);
}

static bool begin(void) {
  for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(i * 31 % 251);
  return folder_begin() && work(NULL) == RLX_OK;
}

TEST(interruptions_and_short_calls_are_not_noticed) {
  CHECK(begin());
  CHECK(sweep(ON_READ, INTERRUPTED, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_READ, SHORT, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_WRITE, INTERRUPTED, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_WRITE, SHORT, 0, RLX_OK) >= 4);
  CHECK(sweep(ON_SYNC, INTERRUPTED, 0, RLX_OK) == 4);
  CHECK(sweep(ON_OPEN, INTERRUPTED, 0, RLX_OK) >= 4);
}

TEST(failures_leave_what_was_there) {
  CHECK(begin());
  CHECK(sweep(ON_READ, FAILS, EIO, RLX_IO) >= 4);
  CHECK(sweep(ON_WRITE, FAILS, ENOSPC, RLX_IO) >= 4);
  CHECK(sweep(ON_SYNC, FAILS, EIO, RLX_IO) == 4);
  CHECK(sweep(ON_OPEN, FAILS, EMFILE, RLX_IO) >= 4);
}

#else

TEST(failing_calls) { SKIP("calls are replaced on Linux alone"); }

#endif
