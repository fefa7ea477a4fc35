/* Files: reading, writing, and rejected cases. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "faults.h"
#include "folder.h"
#include "test.h"

TEST(file_comes_back) {
  CHECK(folder_begin());
  static unsigned char data[100001];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 7 >> 3);
  static const size_t sizes[] = {100001, 0, 1, 4096};
  for (size_t i = 0; i < 4; i++) { /* each replaces the one before */
    CHECK_OK(rlx_file_write(folder_path("f"), data, sizes[i]));
    char *text;
    size_t bytes;
    CHECK_OK(rlx_file_read(folder_path("f"), sizes[i], &text, &bytes));
    CHECK(bytes == sizes[i] && text[bytes] == '\0' && memcmp(text, data, bytes) == 0);
    rlx_mem_free(text);
  }
  CHECK_EQ_INT(folder_count(), 1);
}

static bool count_request(void *user, size_t bytes) {
  (void)bytes;
  ++*(size_t *)user;
  return true;
}

TEST(file_above_the_limit_is_refused) {
  CHECK(folder_begin());
  CHECK_OK(rlx_file_write(folder_path("f"), "12345", 5));
  char *text = (char[]){"something"};
  size_t bytes = 9;
  CHECK_FAILS(rlx_file_read(folder_path("f"), 4, &text, &bytes), RLX_INVALID, "/f': expected at most 4 bytes");
  CHECK(!text && bytes == 0);
  /* A file far above the limit must not be read, and no memory allocated for it. */
  CHECK(truncate(folder_path("f"), (off_t)1 << 32) == 0);
  size_t requests = 0;
  rlx_mem_set_hook(count_request, &requests);
  rlx_status s = rlx_file_read(folder_path("f"), 1 << 20, &text, &bytes);
  rlx_mem_set_hook(NULL, NULL);
  CHECK_FAILS(s, RLX_INVALID, "at most 1048576 bytes");
  CHECK_EQ_INT(requests, 0);
}

TEST(file_without_a_size_is_read) {
  char *text;
  size_t bytes;
  if (access("/proc/self/status", R_OK) != 0) SKIP("there is no /proc");
  CHECK_OK(rlx_file_read("/proc/self/status", 1 << 20, &text, &bytes));
  CHECK(bytes > 100 && strlen(text) == bytes && strstr(text, "Pid:"));
  rlx_mem_free(text);
  CHECK_FAILS(rlx_file_read("/proc/self/status", 10, &text, &bytes), RLX_INVALID, "at most 10 bytes");
}

TEST(only_regular_files) {
  CHECK(folder_begin());
  CHECK(mkdir(folder_path("dir"), 0777) == 0 && mkfifo(folder_path("fifo"), 0666) == 0);
  rlx_stamp stamp = {.bytes = 7};
  int fd = 7;
  char *text;
  size_t bytes;
  alarm(test_hang_seconds()); /* an open that waits for the FIFO's other end would block forever */
  CHECK_FAILS(rlx_fd_open(folder_path("none"), &fd, &stamp), RLX_NOT_FOUND, "/none': No such file or directory");
  CHECK(fd == -1 && stamp.bytes == 0);
  CHECK_FAILS(rlx_fd_open(folder_path("dir"), &fd, &stamp), RLX_INVALID,
              "/dir': expected a regular file, got a directory");
  CHECK_FAILS(rlx_fd_open(folder_path("fifo"), &fd, &stamp), RLX_INVALID,
              "/fifo': expected a regular file, got a FIFO");
  CHECK_FAILS(rlx_fd_open("/dev/null", &fd, &stamp), RLX_INVALID, "got a device");
  CHECK_FAILS(rlx_fd_open(folder_path("dir/fifo/x"), &fd, &stamp), RLX_NOT_FOUND, "/dir/fifo/x'");
  CHECK_FAILS(rlx_fd_open("", &fd, &stamp), RLX_NOT_FOUND, "''");
  CHECK_FAILS(rlx_fd_open(NULL, &fd, &stamp), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_file_read(folder_path("fifo"), 10, &text, &bytes), RLX_INVALID, "got a FIFO");
  CHECK_FAILS(rlx_file_read(folder_path("none"), 10, &text, &bytes), RLX_NOT_FOUND, "cannot open");
  CHECK_FAILS(rlx_file_write(folder_path("dir"), "x", 1), RLX_INVALID, "got a directory");
  CHECK_FAILS(rlx_file_write(folder_path("fifo"), "x", 1), RLX_INVALID, "got a FIFO");
  CHECK_FAILS(rlx_file_write("/dev/null", "x", 1), RLX_INVALID, "got a device");
  CHECK_FAILS(rlx_file_write(folder_path("no/where"), "x", 1), RLX_NOT_FOUND, "cannot write");
  CHECK_FAILS(rlx_file_write(NULL, "x", 1), RLX_INVALID, "NULL");
  alarm(0);
  CHECK_EQ_INT(folder_count(), 2);
}

TEST(writing_keeps_permissions_and_long_names) {
  CHECK(folder_begin());
  char name[256], path[512];
  memset(name, 'n', 255);
  name[255] = '\0';
  snprintf(path, sizeof path, "%s/%s", folder_name(), name);
  CHECK_OK(rlx_file_write(path, "old", 3));
  CHECK(chmod(path, 0640) == 0);
  CHECK_OK(rlx_file_write(path, "new", 3));
  struct stat st;
  CHECK(stat(path, &st) == 0);
  CHECK_EQ_INT(st.st_mode & 07777, 0640);
  CHECK(remove(path) == 0);
  mode_t before = umask(027);
  rlx_status s = rlx_file_write(folder_path("fresh"), "x", 1);
  umask(before);
  CHECK_OK(s);
  CHECK(stat(folder_path("fresh"), &st) == 0);
  CHECK_EQ_INT(st.st_mode & 07777, 0640);
  CHECK_EQ_INT(folder_count(), 1);
}

/* In a child with a file size limit of 1,000 bytes: the write fails half-way. Exit 0: it failed with a message. */
static int write_too_much(void) {
  static const char data[5000];
  struct rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
  signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
  rlx_status s = rlx_file_write(folder_path("f"), data, sizeof data);
  return s == RLX_IO && strstr(rlx_message(), "/f': File too large") ? 0 : 3;
}

TEST(failed_write_leaves_the_old_file_and_nothing_else) {
  CHECK(folder_begin());
  CHECK_OK(rlx_file_write(folder_path("f"), "old", 3));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(write_too_much());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  CHECK_EQ_INT(WEXITSTATUS(status), 0);
  char *text;
  size_t bytes;
  CHECK_OK(rlx_file_read(folder_path("f"), 100, &text, &bytes));
  CHECK_EQ_STR(text, "old");
  rlx_mem_free(text);
  CHECK_EQ_INT(folder_count(), 1);
}

/* The same with the default action of SIGXFSZ: the signal ends the process, but only after the temporary was
 * removed. */
static int write_too_much_and_die(void) {
  static const char data[5000];
  struct rlimit small = {.rlim_cur = 1000, .rlim_max = 1000};
  signal(SIGXFSZ, SIG_DFL);
  if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
  return rlx_file_write(folder_path("f"), data, sizeof data) ? 0 : 3;
}

TEST(a_signal_while_writing_leaves_no_temporary_file) {
  CHECK(folder_begin());
  CHECK_OK(rlx_file_write(folder_path("f"), "old", 3));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(write_too_much_and_die());
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
  char *text;
  size_t bytes;
  CHECK_OK(rlx_file_read(folder_path("f"), 100, &text, &bytes));
  CHECK_EQ_STR(text, "old");
  rlx_mem_free(text);
  CHECK_EQ_INT(folder_count(), 1);
}

static rlx_status file_work(void *user) {
  (void)user;
  char *text;
  size_t bytes;
  RLX_TRY(rlx_file_write(folder_path("f"), "text", 4));
  RLX_TRY(rlx_file_read(folder_path("f"), 10, &text, &bytes));
  rlx_mem_free(text);
  RLX_TRY(rlx_file_read("/proc/self/status", 1 << 20, &text, &bytes));
  rlx_mem_free(text);
  return RLX_OK;
}

TEST(bytes_are_read_by_place) {
  CHECK(folder_begin());
  int fd;
  rlx_stamp stamp;
  char got[4] = {0};
  CHECK_OK(rlx_file_write(folder_path("a"), "0123456789", 10));
  CHECK_OK(rlx_fd_open(folder_path("a"), &fd, &stamp));
  CHECK_EQ_INT(stamp.bytes, 10);
  CHECK_OK(rlx_fd_read(fd, "a", &stamp, 7, got, 3));
  CHECK_EQ_STR(got, "789");
  CHECK_OK(rlx_fd_read(fd, "a", &stamp, 10, got, 0));
  CHECK_FAILS(rlx_fd_read(fd, "a", &stamp, 8, got, 3), RLX_IO, "'a' ends at byte 10, 1 bytes too early");
  CHECK_FAILS(rlx_fd_read(fd, "a", &stamp, UINT64_MAX, got, 1), RLX_INVALID, "beyond what a file can have");
  rlx_fd_close(fd);
  CHECK_FAILS(rlx_fd_open(folder_path("absent"), &fd, &stamp), RLX_NOT_FOUND, "absent");
  rlx_fd_close(fd);
}

TEST(a_draft_is_a_whole_file_or_none) {
  CHECK(folder_begin());
  rlx_draft d;
  char *text;
  size_t bytes;
  CHECK_OK(rlx_file_write(folder_path("a"), "old", 3));
  CHECK_OK(rlx_draft_begin(&d, folder_path("a")));
  CHECK_OK(rlx_draft_write(&d, "ne", 2));
  rlx_draft_discard(&d);
  rlx_draft_discard(&d); /* a second discard is allowed */
  CHECK_EQ_INT(folder_count(), 1);
  CHECK_OK(rlx_draft_begin(&d, folder_path("a")));
  CHECK_OK(rlx_draft_write(&d, "ne", 2));
  CHECK_OK(rlx_draft_write(&d, "w", 1));
  CHECK_OK(rlx_file_read(folder_path("a"), 100, &text, &bytes));
  bool is_old = strcmp(text, "old") == 0;
  rlx_mem_free(text);
  CHECK(is_old);
  CHECK_OK(rlx_draft_commit(&d));
  CHECK_OK(rlx_file_read(folder_path("a"), 100, &text, &bytes));
  bool is_new = strcmp(text, "new") == 0;
  rlx_mem_free(text);
  CHECK(is_new && folder_count() == 1);
  CHECK_FAILS(rlx_draft_begin(&d, folder_path("absent/a")), RLX_NOT_FOUND, "absent/a");
}

TEST(files_survive_failing_allocations) {
  if (access("/proc/self/status", R_OK) != 0) SKIP("there is no /proc");
  CHECK(folder_begin());
  int lowest_before = dup(0), lowest_after;
  close(lowest_before);
  CHECK_OK(alloc_sweep(file_work, NULL));
  lowest_after = dup(0);
  close(lowest_after);
  CHECK_EQ_INT(lowest_after, lowest_before); /* no descriptor was left open */
  CHECK_EQ_INT(folder_count(), 1);
}
