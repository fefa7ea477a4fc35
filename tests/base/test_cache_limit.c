/* The limit of a folder of the cache (base/cache_limit.c): which files go, which stay, and several processes at once. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_file.h"
#include "base/mem.h"
#include "folder.h"
#include "test.h"

enum { FILE_BYTES = 1000 };

static void begin(void) {
  CHECK(folder_begin());
  setenv("XDG_CACHE_HOME", folder_name(), 1);
}

static const char *path_of(const char *name) {
  static char path[RLX_CACHE_PATH_BYTES];
  return rlx_cache_path(name, path, sizeof path) ? path : "/dev/null/none";
}

static bool is_there(const char *name) { return access(path_of(name), F_OK) == 0; }

/* A file that was used this many hours ago. */
static void make(const char *name, int hours) {
  static const char data[FILE_BYTES];
  const struct timespec t = {.tv_sec = time(NULL) - 3600 * (time_t)hours}, both[2] = {t, t};
  CHECK(rlx_cache_write(path_of(name), data, sizeof data));
  CHECK(utimensat(AT_FDCWD, path_of(name), both, 0) == 0);
}

TEST(the_least_recently_used_go_first) {
  begin();
  make("k/a/old.code", 30);
  make("k/a/new.code", 1);
  make("k/b/older.code", 40);
  make("k/b/newer.code", 0);
  make("k/b/oldest.other", 90);
  make("k/b/c/d/deep.code", 90); /* in no folder of ours */
  rlx_cache_limit("k", ".code", 4 * FILE_BYTES);
  CHECK(is_there("k/b/older.code"));
  rlx_cache_limit("k", ".code", 4 * FILE_BYTES - 1);
  CHECK(!is_there("k/b/older.code") && is_there("k/a/old.code"));
  rlx_cache_limit("k", ".code", FILE_BYTES);
  CHECK(!is_there("k/a/old.code") && !is_there("k/a/new.code") && is_there("k/b/newer.code"));
  rlx_cache_limit("k", ".code", 0);
  CHECK(!is_there("k/b/newer.code"));
  CHECK(is_there("k/b/oldest.other") && is_there("k/b/c/d/deep.code"));
}

TEST(a_file_that_is_read_is_used) {
  char *data;
  size_t bytes;
  begin();
  make("k/read.code", 60);
  make("k/unread.code", 50);
  CHECK(rlx_cache_read(path_of("k/read.code"), FILE_BYTES, &data, &bytes));
  rlx_mem_free(data);
  rlx_cache_limit("k", ".code", FILE_BYTES);
  CHECK(is_there("k/read.code") && !is_there("k/unread.code"));
}

TEST(temporary_files_go_after_a_day) {
  begin();
  make("k/x.code.AbCdEf", 25);
  make("k/y.code.AbCdEf", 23);
  rlx_cache_limit("k", ".code", 1 << 20);
  CHECK(!is_there("k/x.code.AbCdEf") && is_there("k/y.code.AbCdEf"));
}

TEST(links_and_missing_folders_are_left_alone) {
  char target[RLX_CACHE_PATH_BYTES];
  begin();
  rlx_cache_limit("none", ".code", 0);
  make("k/own.code", 1);
  make("elsewhere/kept.code", 90);
  snprintf(target, sizeof target, "%s", path_of("elsewhere"));
  CHECK(symlink(target, path_of("k/link")) == 0);
  snprintf(target, sizeof target, "%s", path_of("elsewhere/kept.code"));
  CHECK(symlink(target, path_of("k/link.code")) == 0);
  rlx_cache_limit("k", ".code", 0);
  CHECK(!is_there("k/own.code") && is_there("elsewhere/kept.code") && is_there("k/link.code"));
  setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
  rlx_cache_limit("k", ".code", 0);
}

/* Each process writes files, reads whole ones and limits; what is left is within the limit. */
static int work(int who) {
  static char data[FILE_BYTES], *seen;
  memset(data, 'x', sizeof data);
  for (int i = 0; i < 200; i++) {
    char name[64];
    size_t bytes;
    snprintf(name, sizeof name, "k/%d.code", (i * 7 + who) % 20);
    if (!rlx_cache_write(path_of(name), data, sizeof data)) return 1;
    rlx_cache_limit("k", ".code", 5 * FILE_BYTES);
    if (!rlx_cache_read(path_of(name), FILE_BYTES, &seen, &bytes)) continue;
    const bool is_whole = bytes == sizeof data && memcmp(seen, data, bytes) == 0;
    rlx_mem_free(seen);
    if (!is_whole) return 2;
  }
  return 0;
}

TEST(several_processes) {
  enum { N = 4 };
  pid_t child[N];
  int status;
  begin();
  for (int i = 0; i < N; i++)
    if ((child[i] = fork()) == 0) _exit(work(i));
  for (int i = 0; i < N; i++) {
    CHECK(waitpid(child[i], &status, 0) == child[i]);
    CHECK(WIFEXITED(status));
    CHECK_EQ_INT(WEXITSTATUS(status), 0);
  }
  rlx_cache_limit("k", ".code", 5 * FILE_BYTES);
  int left = 0;
  for (int i = 0; i < 20; i++) {
    char name[64];
    snprintf(name, sizeof name, "k/%d.code", i);
    left += is_there(name);
  }
  CHECK(left >= 1 && left <= 5);
}
