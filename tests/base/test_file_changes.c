/* Files that change while they are read: overwritten in place, appended to, truncated. Each reader must report it,
 * because the data may belong to neither version. A file that is replaced by rename is read to its end. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(_WIN32)
#include <utime.h>
#endif

#include "base/file.h"
#include "base/mem.h"
#include "folder.h"
#include "onnx_image.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "rlx/onnx.h"
#include "test.h"

/* Writes to an existing file in place; its modification time changes in any case. */
static bool change(const char *path, const char *mode, const char *text) {
  FILE *f = fopen(path, mode);
  bool ok = f && fputs(text, f) >= 0;
  if (f && fclose(f) != 0) ok = false;
#if defined(_WIN32)
  return ok && utime(path, &(struct utimbuf){.actime = 1000000000, .modtime = 1000000000}) == 0;
#else
  struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  return ok && utimensat(AT_FDCWD, path, times, 0) == 0;
#endif
}

TEST(a_file_that_changes_is_not_read_on) {
  CHECK(folder_begin());
  static const struct {
    const char *mode, *text, *says;
  } cases[] = {{"r+", "X", "'a' changed while it was read: it has been written to"},
               {"a", "more", "'a' changed while it was read: it had 10 bytes, and now has 14"},
               {"w", "01234", "'a' changed while it was read: it had 10 bytes, and now has 5"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int fd;
    rlx_stamp stamp;
    char got[4];
    CHECK_OK(rlx_file_write(folder_path("a"), "0123456789", 10));
    CHECK_OK(rlx_fd_open(folder_path("a"), &fd, &stamp));
    CHECK_OK(rlx_fd_read(fd, "a", &stamp, 0, got, 4));
    CHECK(change(folder_path("a"), cases[i].mode, cases[i].text));
    CHECK_FAILS(rlx_fd_read(fd, "a", &stamp, 0, got, 4), RLX_IO, cases[i].says);
    rlx_fd_close(fd);
  }
}

TEST(a_file_that_is_replaced_is_read_to_its_end) {
  CHECK(folder_begin());
  int fd;
  rlx_stamp stamp;
  char got[5] = {0};
  CHECK_OK(rlx_file_write(folder_path("a"), "old!", 4));
  CHECK_OK(rlx_fd_open(folder_path("a"), &fd, &stamp));
  CHECK_OK(rlx_file_write(folder_path("a"), "new", 3));
  CHECK_OK(rlx_fd_read(fd, "a", &stamp, 0, got, 4));
  CHECK_EQ_STR(got, "old!");
  rlx_fd_close(fd);
}

/* The file grows at the first allocation, which is for its text: after it was opened and before it is read. */
static bool grow_it(void *user, size_t bytes) {
  (void)bytes;
  if (*(const char *const *)user && change(*(const char *const *)user, "a", "more")) *(const char **)user = NULL;
  return true;
}

TEST(a_text_that_grows_while_it_is_read_is_refused) {
  CHECK(folder_begin());
  const char *path = folder_path("a"), *pending = path;
  char *text;
  size_t bytes;
  CHECK_OK(rlx_file_write(path, "text", 4));
  rlx_mem_set_hook(grow_it, &pending);
  rlx_status s = rlx_file_read(path, 100, &text, &bytes);
  rlx_mem_set_hook(NULL, NULL);
  CHECK_FAILS(s, RLX_IO, "changed while it was read: it had 4 bytes, and now has 8");
  CHECK(!text && !pending);
}

/* ---- Readers that have the whole file in one call: it changes at an allocation, which is after the opening ---- */

typedef struct moment {
  const char *path, *mode, *text;
  size_t at; /* the allocation */
} moment;

static bool change_then(void *user, size_t bytes) {
  moment *m = user;
  (void)bytes;
  if (m->at && --m->at == 0 && !change(m->path, m->mode, m->text)) m->path = NULL;
  return true;
}

static rlx_status read_array(const char *path) {
  rlx_tensor t;
  rlx_status s = rlx_npy_read(path, &t);
  rlx_free(t.data);
  return s;
}

static rlx_status read_graph(const char *path) {
  rlx_graph *g;
  rlx_status s = rlx_graph_read(path, &g);
  rlx_graph_destroy(g);
  return s;
}

/* Changes the file in each way at each of the first allocations: never a signal, and RLX_IO whenever the change was
 * detected during reading. Returns how often it was. */
static size_t change_during(rlx_status (*read)(const char *path), const char *path, const void *good, size_t bytes,
                            size_t n_allocations) {
  static const struct { const char *mode, *text; } ways[] = {{"r+", "?"}, {"a", "more"}, {"w", ""}};
  size_t noticed = 0;
  for (size_t i = 0; i < 3; i++)
    for (size_t at = 1; at <= n_allocations; at++) {
      moment m = {path, ways[i].mode, ways[i].text, at};
      if (rlx_file_write(path, good, bytes)) return 0;
      rlx_mem_set_hook(change_then, &m);
      rlx_status s = read(path);
      rlx_mem_set_hook(NULL, NULL);
      if (!m.path || (s && s != RLX_IO)) return 0;
      if (s == RLX_IO) noticed++;
    }
  return noticed;
}

TEST(arrays_that_change_while_they_are_read) {
  CHECK(folder_begin());
  static float values[100000];
  char *text;
  size_t bytes;
  const char *path = folder_path("a.npy");
  CHECK_OK(rlx_npy_write(path, &(rlx_tensor){RLX_F32, RLX_DIMS(100000), {values}, sizeof values}));
  CHECK_OK(rlx_file_read(path, SIZE_MAX, &text, &bytes));
  /* two allocations: the header and the data */
  size_t noticed = change_during(read_array, path, text, bytes, 2);
  rlx_mem_free(text);
  CHECK_EQ_INT(noticed, 6);
}

TEST(graphs_that_change_while_they_are_read) {
  CHECK(folder_begin());
  static const char text[] = "graph { %x = input \"x\" : f32[2]\n output \"y\" = %x }";
  CHECK_EQ_INT(change_during(read_graph, folder_path("g.rlx"), text, sizeof text - 1, 1), 3);
}

/* ---- Files that stay open: weights are read on demand ---- */

static rlx_status write_weights(const char *path) {
  static const unsigned char bytes[3000];
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = rlx_file_writer_tensor(w, "a", RLX_I8, RLX_DIMS(1000));
  if (!s) s = rlx_file_writer_tensor(w, "b", RLX_I8, RLX_DIMS(2, 1000));
  if (!s) s = rlx_file_writer_bytes(w, bytes, sizeof bytes);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

TEST(weight_files_that_change_after_opening) {
  static const char *const names[] = {"a.gguf", "a.safetensors"}, *const modes[] = {"a", "r+"};
  for (size_t i = 0; i < 4; i++) {
    CHECK(folder_begin());
    rlx_file *f;
    char byte;
    const char *path = folder_path(names[i / 2]);
    CHECK_OK(write_weights(path));
    CHECK_OK(rlx_file_open(path, NULL, &f));
    CHECK_OK(rlx_file_read_tensor(f, rlx_file_tensor_at(f, 1), 0, &byte, 1));
    CHECK(change(path, modes[i % 2], "?"));
    CHECK_FAILS(rlx_file_read_tensor(f, rlx_file_tensor_at(f, 1), 0, &byte, 1), RLX_IO, "changed while it was read");
    CHECK_FAILS(rlx_file_check(f, NULL, NULL), RLX_IO, "changed while it was read");
    CHECK_FAILS(rlx_file_convert(f, folder_path("b.gguf"), NULL), RLX_IO, "changed while it was read");
    CHECK_EQ_INT(folder_count(), 1); /* nothing of the new file */
    rlx_file_close(f);
  }
}

/* y = x + w, with w of two floats in the file, or in another beside it. */
static bool write_model(const char *path, const char *location) {
  static const char floats[] = {0, 0, -128, 63, 0, 0, 0, 64};
  onnx_image f = {0};
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  if (location) image_external(&f, GRAPH_INITIALIZER, "w", 1, "2", location, NULL, NULL);
  else image_tensor(&f, GRAPH_INITIALIZER, "w", 1, "2", floats, sizeof floats);
  image_node(&f, "Add", "x,w", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(&f);
  bool ok = image_write(&f, path);
  image_free(&f);
  return ok;
}

TEST(onnx_files_that_change_after_opening) {
  for (int is_external = 0; is_external < 2; is_external++) {
    CHECK(folder_begin());
    rlx_onnx *m;
    rlx_tensor t;
    const char *model = folder_path("m.onnx"), *data = folder_path("w.bin");
    CHECK(write_model(model, is_external ? "w.bin" : NULL));
    CHECK_OK(rlx_file_write(data, "12345678", 8));
    CHECK_OK(rlx_onnx_open(model, NULL, &m));
    CHECK_OK(rlx_onnx_weight_read(m, "w", &t));
    rlx_free(t.data);
    CHECK(change(is_external ? data : model, "r+", "?"));
    CHECK_FAILS(rlx_onnx_weight_read(m, "w", &t), RLX_IO, "changed while it was read");
    rlx_onnx_close(m);
  }
}
