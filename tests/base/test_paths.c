/* Paths that a system may treat in a way of its own: names that are not ASCII, long ones, a file that is replaced while
 * it is open, folders that do not exist. On Windows they are UTF-16 inside, and long ones need a prefix. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_file.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/os_file.h"
#include "folder.h"
#include "test.h"

static bool holds(const char *path, const char *text) {
  char *got;
  size_t bytes;
  if (rlx_file_read(path, 100, &got, &bytes)) return false;
  const bool is = bytes == strlen(text) && memcmp(got, text, bytes) == 0;
  rlx_mem_free(got);
  return is;
}

static rlx_status write_text(const char *path, const char *text) { return rlx_file_write(path, text, strlen(text)); }

/* Umlauts, CJK, a character beyond 16 bits, a blank, a letter with a mark of its own. */
static const char *const names[] = {"gro\xc3\x9f-\xc3\xbc.txt", "\xe5\x9b\xbe\xe5\x83\x8f.txt", "\xf0\x9f\x8e\xb2.txt",
                                    "a b", "e\xcc\x81"};

TEST(names_in_utf8) {
  CHECK(folder_begin());
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *path = folder_path(names[i]);
    rlx_os_stat st;
    CHECK_OK(write_text(path, names[i]));
    CHECK_OK(write_text(path, names[i])); /* replaces it */
    CHECK(holds(path, names[i]));
    CHECK(rlx_os_stat_path(path, &st) && st.kind == RLX_OS_REGULAR && st.bytes == (int64_t)strlen(names[i]));
    CHECK_EQ_INT(folder_count(), 1);
    rlx_os_listing *l = rlx_os_list_begin(folder_name());
    CHECK(l != NULL);
    const char *found = rlx_os_list_next(l);
    const bool is_same = found && strcmp(found, names[i]) == 0;
    rlx_os_list_end(l);
    CHECK(is_same);
    char *real = rlx_os_real_path(path);
    CHECK(real != NULL);
    const bool ends = strlen(real) > strlen(names[i]) && strcmp(real + strlen(real) - strlen(names[i]), names[i]) == 0;
    free(real);
    CHECK(ends);
    CHECK(rlx_os_remove(path) && !rlx_os_stat_link(path, &st) && errno == ENOENT);
  }
}

TEST(long_paths) {
  enum { DEPTH = 5, LETTERS = 90 };
  CHECK(folder_begin());
  char path[1024], *ends[DEPTH];
  snprintf(path, sizeof path, "%s", folder_name());
  for (int i = 0; i < DEPTH; i++) {
    ends[i] = path + strlen(path);
    *ends[i] = '/';
    memset(ends[i] + 1, 'a' + i, LETTERS);
    ends[i][LETTERS + 1] = '\0';
    CHECK(rlx_os_make_folder(path));
    CHECK(!rlx_os_make_folder(path) && errno == EEXIST);
  }
  memcpy(path + strlen(path), "/file", 6);
  CHECK(strlen(path) > 450);
  CHECK_OK(write_text(path, "one"));
  CHECK_OK(write_text(path, "two"));
  CHECK(holds(path, "two"));
  CHECK(rlx_os_remove(path));
  for (int i = DEPTH; i-- > 0;) {
    rlx_os_stat st;
    ends[i][LETTERS + 1] = '\0';
    CHECK(rlx_os_stat_path(path, &st) && st.kind == RLX_OS_FOLDER);
    CHECK(rlx_os_remove_folder(path));
  }
}

/* Who has it open reads the old one to its end; who opens it now finds the new one, and nothing else is left. */
TEST(an_open_file_is_replaced) {
  CHECK(folder_begin());
  int fd;
  rlx_stamp stamp;
  char got[3];
  CHECK_OK(write_text(folder_path("f"), "old"));
  CHECK_OK(rlx_fd_open(folder_path("f"), &fd, &stamp));
  CHECK_OK(write_text(folder_path("f"), "new!"));
  CHECK(holds(folder_path("f"), "new!"));
  CHECK_OK(rlx_fd_read(fd, "f", &stamp, 0, got, 3));
  rlx_fd_close(fd);
  CHECK(memcmp(got, "old", 3) == 0);
  CHECK_EQ_INT(folder_count(), 1);
}

TEST(a_draft_is_read_before_it_is_named) {
  CHECK(folder_begin());
  rlx_draft d;
  CHECK_OK(rlx_draft_begin(&d, folder_path("f")));
  CHECK_OK(rlx_draft_write(&d, "text", 4));
  CHECK(holds(d.temporary, "text"));
  CHECK_OK(rlx_draft_commit(&d));
  CHECK(holds(folder_path("f"), "text"));
  CHECK_OK(rlx_draft_begin(&d, folder_path("f")));
  CHECK_OK(rlx_draft_write(&d, "gone", 4));
  rlx_draft_discard(&d);
  CHECK(holds(folder_path("f"), "text") && folder_count() == 1);
}

TEST(what_cannot_be_opened) {
  CHECK(folder_begin());
  char *text;
  size_t bytes;
  CHECK_FAILS(rlx_file_read(folder_path("absent"), 9, &text, &bytes), RLX_NOT_FOUND, "cannot open");
  CHECK_FAILS(rlx_file_read(folder_path("absent/file"), 9, &text, &bytes), RLX_NOT_FOUND, "cannot open");
  CHECK_FAILS(rlx_file_read(folder_name(), 9, &text, &bytes), RLX_INVALID, "got a directory");
  CHECK_FAILS(write_text(folder_path("absent/file"), "x"), RLX_NOT_FOUND, "cannot write");
  CHECK_FAILS(write_text(folder_name(), "x"), RLX_INVALID, "got a directory");
  CHECK(!rlx_os_list_begin(folder_path("absent")));
  CHECK_EQ_INT(folder_count(), 0);
}

TEST(names_that_lead_away) {
  CHECK(rlx_os_leads_away("a/b") && rlx_os_leads_away("/") && !rlx_os_leads_away("a.b") && !rlx_os_leads_away(""));
  CHECK_EQ_INT(rlx_os_folder_bytes("a/b"), 2);
  CHECK_EQ_INT(rlx_os_folder_bytes("b"), 0);
  CHECK_EQ_INT(rlx_os_folder_bytes("/a/b/"), 5);
  if (!TEST_IS_WINDOWS) return;
  static const char *const away[] = {"a\\b", "c:", "x:stream", "nul", "NUL.txt", "Con", "com1", "LPT9.x", "aux .b"};
  for (size_t i = 0; i < sizeof away / sizeof *away; i++)
    if (!rlx_os_leads_away(away[i])) FAIL("'%s' leads away", away[i]);
  CHECK(!rlx_os_leads_away("console") && !rlx_os_leads_away("com") && !rlx_os_leads_away("nully"));
  CHECK_EQ_INT(rlx_os_folder_bytes("a\\b"), 2);
  CHECK_EQ_INT(rlx_os_folder_bytes("c:b"), 2);
}

TEST(the_cache_has_a_folder) {
  char path[RLX_CACHE_PATH_BYTES];
  if (!rlx_cache_path("paths-test/a.bin", path, sizeof path)) SKIP("this user has no folder for caches");
  CHECK(strstr(path, "/rlx/paths-test/a.bin"));
  CHECK(!rlx_cache_path("x", path, 5));
}
