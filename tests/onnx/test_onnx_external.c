/* External data: what a model may name beside it, and what it may not. Each case is a model in a folder of its own. */
#define _DEFAULT_SOURCE /* mknod */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "onnx_image.h"
#include "rlx/onnx.h"
#include "test.h"

static char base[64], folder[96];

static const char *at(const char *name) {
  static char path[4][192];
  static unsigned next;
  char *p = path[next++ % 4];
  snprintf(p, sizeof path[0], "%s/%s", folder, name);
  return p;
}

static bool put(const char *path, size_t bytes) {
  FILE *f = fopen(path, "wb");
  for (size_t i = 0; f && i < bytes; i++) fputc((int)(i % 251), f);
  return f && fclose(f) == 0;
}

/* base/secret.bin lies outside; base/models is the model's folder, with w.bin of 32 bytes, sub/w.bin, and all kinds of other things. */
static bool make_folder(void) {
  snprintf(base, sizeof base, "/tmp/rlx-onnx-external-XXXXXX");
  if (!mkdtemp(base)) return false;
  snprintf(folder, sizeof folder, "%s/models", base);
  char secret[96];
  snprintf(secret, sizeof secret, "%s/secret.bin", base);
  if (mkdir(folder, 0700) || !put(secret, 32) || !put(at("w.bin"), 32) || mkdir(at("sub"), 0700)) return false;
  if (!put(at("sub/w.bin"), 32) || !put(at("two.bin"), 32) || link(at("two.bin"), at("names.bin"))) return false;
  if (symlink("../secret.bin", at("link.bin")) || symlink("w.bin", at("inside.bin"))) return false;
  return !symlink("..", at("up")) && !symlink("sub", at("down")) && !mkfifo(at("fifo"), 0600);
}

static void remove_folder(void) {
  static const char *const names[] = {"w.bin", "sub/w.bin", "two.bin", "names.bin", "link.bin",   "inside.bin",
                                      "up",    "down",      "fifo",    "socket",    "model.onnx", "device"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(at(names[i]));
  rmdir(at("sub"));
  rmdir(folder);
  char secret[96];
  snprintf(secret, sizeof secret, "%s/secret.bin", base);
  unlink(secret);
  rmdir(base);
}

/* y = x + w, with w of two floats in a file. */
static bool write_model(const char *location, const char *offset, const char *length) {
  onnx_image f = {0};
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  image_external(&f, GRAPH_INITIALIZER, "w", 1, "2", location, offset, length);
  image_node(&f, "Add", "x,w", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(&f);
  bool ok = image_write(&f, at("model.onnx"));
  image_free(&f);
  return ok;
}

typedef struct place {
  const char *location, *offset, *length;
  rlx_status status; /* RLX_OK: it opens */
  const char *part;
} place;

static void check_places(const place *v, size_t n) {
  CHECK(make_folder());
  for (size_t i = 0; i < n; i++) {
    rlx_onnx *m;
    CHECK(write_model(v[i].location, v[i].offset, v[i].length));
    rlx_status s = rlx_onnx_open(at("model.onnx"), NULL, &m);
    if (s != v[i].status || (s && (m || !strstr(rlx_message(), v[i].part))))
      FAIL("'%s' from %s: expected '%s' with <%s>, got '%s': %s", v[i].location, v[i].offset ? v[i].offset : "-",
           rlx_status_name(v[i].status), v[i].part, rlx_status_name(s), rlx_message());
    if (s && !strstr(rlx_message(), "model.onnx"))
      FAIL("'%s': the file is not named: %s", v[i].location, rlx_message());
    rlx_onnx_close(m);
  }
  remove_folder();
}
#define CHECK_PLACES(v) check_places(v, sizeof(v) / sizeof *(v))

TEST(paths) {
  static const place places[] = {
    {"w.bin", NULL, NULL, RLX_OK, ""},
    {"./w.bin", NULL, NULL, RLX_OK, ""},
    {"sub/w.bin", NULL, NULL, RLX_OK, ""},
    {"sub//./w.bin", NULL, NULL, RLX_OK, ""},
    {"", NULL, NULL, RLX_INVALID, "an empty path"},
    {"/etc/passwd", NULL, NULL, RLX_INVALID, "an absolute path"},
    {"../secret.bin", NULL, NULL, RLX_INVALID, "leads out of the model's folder"},
    {"sub/../../secret.bin", NULL, NULL, RLX_INVALID, "leads out of the model's folder"},
    {"sub/..", NULL, NULL, RLX_INVALID, "leads out of the model's folder"},
    {"..", NULL, NULL, RLX_INVALID, "leads out of the model's folder"},
    {"..\\secret.bin", NULL, NULL, RLX_INVALID, "backslash"},
    {"link.bin", NULL, NULL, RLX_INVALID, "a symbolic link"},
    {"inside.bin", NULL, NULL, RLX_INVALID, "a symbolic link"},
    {"up/secret.bin", NULL, NULL, RLX_INVALID, "a symbolic link"},
    {"down/w.bin", NULL, NULL, RLX_INVALID, "a symbolic link"},
    {"names.bin", NULL, NULL, RLX_INVALID, "several names"},
    {"two.bin", NULL, NULL, RLX_INVALID, "several names"},
    {"sub", NULL, NULL, RLX_INVALID, "a folder"},
    {".", NULL, NULL, RLX_INVALID, "a folder"},
    {"fifo", NULL, NULL, RLX_INVALID, "not a regular file"},
    {"missing.bin", NULL, NULL, RLX_NOT_FOUND, "missing.bin"},
    {"w.bin/x", NULL, NULL, RLX_NOT_FOUND, "w.bin/x"},
    {"missing/x", NULL, NULL, RLX_NOT_FOUND, "missing/x"},
  };
  CHECK_PLACES(places);
}

/* All files of Hugging Face's cache are links to blobs of its own. */
TEST(a_cache) {
  CHECK(make_folder());
  char had[sizeof folder], path[8][192];
  static const char *const names[] = {"blobs",
                                      "blobs/aa",
                                      "snapshots",
                                      "snapshots/rev",
                                      "snapshots/rev/b.bin",
                                      "snapshots/rev/c.bin",
                                      "snapshots/rev/model.onnx"};
  memcpy(had, folder, sizeof had);
  for (size_t i = 0; i < 7; i++) snprintf(path[i], sizeof path[i], "%s/%s", base, names[i]);
  CHECK(mkdir(path[0], 0700) == 0 && put(path[1], 32) && mkdir(path[2], 0700) == 0 && mkdir(path[3], 0700) == 0);
  CHECK(symlink("../../blobs/aa", path[4]) == 0 && symlink("../../secret.bin", path[5]) == 0);
  snprintf(folder, sizeof folder, "%s/snapshots/rev", base);
  rlx_onnx *m;
  CHECK(write_model("b.bin", NULL, NULL));
  CHECK_OK(rlx_onnx_open(at("model.onnx"), NULL, &m));
  rlx_onnx_close(m);
  CHECK(write_model("c.bin", NULL, NULL));
  CHECK_FAILS(rlx_onnx_open(at("model.onnx"), NULL, &m), RLX_INVALID, "a symbolic link");
  for (size_t i = 7; i-- > 0;) CHECK(remove(path[i]) == 0);
  memcpy(folder, had, sizeof had);
  remove_folder();
}

TEST(offsets_and_lengths) {
  static const place places[] = {
    {"w.bin", "24", "8", RLX_OK, ""},
    {"w.bin", "24", NULL, RLX_OK, ""},
    {"w.bin", "0", NULL, RLX_OK, ""},
    {"w.bin", "25", NULL, RLX_INVALID, "7 bytes for a tensor that takes 8"},
    {"w.bin", "25", "8", RLX_INVALID, "8 bytes from 25 on in a file of 32"},
    {"w.bin", "33", NULL, RLX_INVALID, "offset 33 in a file of 32 bytes"},
    {"w.bin", "0", "33", RLX_INVALID, "33 bytes from 0 on in a file of 32"},
    {"w.bin", "0", "7", RLX_INVALID, "7 bytes for a tensor that takes 8"},
    {"w.bin", "0", "16", RLX_INVALID, "16 bytes for a tensor that takes 8"},
    {"w.bin", "-8", NULL, RLX_INVALID, "offset is '-8'"},
    {"w.bin", "0", "-1", RLX_INVALID, "length is '-1'"},
    {"w.bin", "", NULL, RLX_INVALID, "offset is ''"},
    {"w.bin", "8x", NULL, RLX_INVALID, "offset is '8x'"},
    {"w.bin", "0x8", NULL, RLX_INVALID, "offset is '0x8'"},
    {"w.bin", " 8", NULL, RLX_INVALID, "offset is ' 8'"},
    {"w.bin", "18446744073709551608", "16", RLX_INVALID, "offset"},
    {"w.bin", "18446744073709551615", NULL, RLX_INVALID, "offset"},
    {"w.bin", "99999999999999999999999", NULL, RLX_INVALID, "offset is '99999999999999999999999'"},
    {"w.bin", "8", "18446744073709551608", RLX_INVALID, "external data"},
  };
  CHECK_PLACES(places);
}

TEST(sockets_and_devices) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  rlx_onnx *m;
  CHECK(make_folder());
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(name.sun_path, sizeof name.sun_path, "%s", at("socket"));
  CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof name) == 0);
  CHECK(write_model("socket", NULL, NULL));
  CHECK_FAILS(rlx_onnx_open(at("model.onnx"), NULL, &m), RLX_IO, "external data 'socket'");
  close(fd);
  /* /dev/zero under another name, where the system lets us make it. */
  bool has_device = mknod(at("device"), S_IFCHR | 0600, (dev_t)(1 << 8 | 5)) == 0;
  CHECK(write_model("device", NULL, NULL));
  rlx_status s = has_device ? rlx_onnx_open(at("model.onnx"), NULL, &m) : RLX_INVALID;
  bool reported = !has_device || strstr(rlx_message(), "external data 'device'");
  remove_folder();
  CHECK(s == RLX_INVALID || s == RLX_IO); /* a mount without devices says so itself */
  CHECK(reported);
  if (!has_device) SKIP("this user cannot make a device");
}

TEST(nul_in_path) {
  onnx_image f = {0};
  rlx_onnx *m;
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_tensor_begin(&f, GRAPH_INITIALIZER, "w", 1, "2");
  image_begin(&f, TENSOR_EXTERNAL);
  image_text(&f, 1, "location");
  image_bytes(&f, 2, "w.bin\0/../x", 11);
  image_end(&f);
  image_int(&f, TENSOR_LOCATION, 1);
  image_end(&f);
  image_end(&f);
  CHECK(make_folder());
  CHECK(image_write(&f, at("model.onnx")));
  CHECK_FAILS(rlx_onnx_open(at("model.onnx"), NULL, &m), RLX_INVALID, "holds a NUL after 'w.bin'");
  remove_folder();
  image_free(&f);
}

static rlx_status run(rlx_onnx *m, rlx_onnx_runner *r, float *y) {
  float x[2] = {0, 0};
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(2), {x}, sizeof x}};
  rlx_tensor t;
  (void)m;
  rlx_status s = rlx_onnx_run(r, &in, 1);
  if (!s) s = rlx_onnx_runner_output(r, 0, NULL, &t);
  if (!s) memcpy(y, t.data, sizeof x);
  return s;
}

/* The file is read when it is needed: by then it may be shorter, which is a status and no signal. The model itself, too. */
TEST(files_that_shrink) {
  static const char *const files[] = {"w.bin", "model.onnx"};
  rlx_session *session;
  CHECK_OK(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu"}, &session));
  for (size_t i = 0; i < 2; i++) {
    rlx_onnx *m;
    rlx_onnx_runner *r;
    rlx_tensor t;
    float y[2];
    onnx_image f = {0};
    static const float big[1024];
    CHECK(make_folder());
    image_model(&f, 17);
    image_begin(&f, MODEL_GRAPH);
    image_value(&f, GRAPH_INPUT, "x", 1, "2");
    image_external(&f, GRAPH_INITIALIZER, "w", 1, "2", "w.bin", NULL, NULL);
    image_tensor(&f, GRAPH_INITIALIZER, "v", 1, "1024", big, sizeof big);
    image_node(&f, "Add", "x,w", "y", "");
    image_node(&f, "Abs", "v", "z", "");
    image_value(&f, GRAPH_OUTPUT, "y", 1, "2");
    image_value(&f, GRAPH_OUTPUT, "z", 1, "1024");
    image_end(&f);
    CHECK(image_write(&f, at("model.onnx")));
    CHECK_OK(rlx_onnx_open(at("model.onnx"), NULL, &m));
    CHECK_OK(rlx_onnx_runner_create(session, m, NULL, &r));
    CHECK(truncate(at(files[i]), 4) == 0);
    CHECK_FAILS(run(m, r, y), RLX_IO, files[i]);
    CHECK_FAILS(rlx_onnx_weight_read(m, i ? "v" : "w", &t), RLX_IO, files[i]);
    rlx_onnx_runner_destroy(r);
    rlx_onnx_close(m);
    image_free(&f);
    remove_folder();
  }
  rlx_session_destroy(session);
}

TEST(two_tensors_of_one_file) {
  rlx_onnx *m;
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_onnx_weight w = {RLX_ONNX_WEIGHT_INIT};
  rlx_tensor t;
  onnx_image f = {0};
  CHECK(make_folder());
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_external(&f, GRAPH_INITIALIZER, "a", 2, "4", "sub/w.bin", "4", "4");
  image_external(&f, GRAPH_INITIALIZER, "b", 2, "4", "sub/w.bin", "6", NULL);
  image_end(&f);
  CHECK(image_write(&f, at("model.onnx")));
  CHECK_OK(rlx_onnx_open(at("model.onnx"), NULL, &m));
  CHECK_OK(rlx_onnx_describe(m, &info));
  CHECK(info.file_bytes == f.n + 32);
  CHECK_OK(rlx_onnx_weight_at(m, 1, &w));
  CHECK(w.external && w.bytes == 4);
  CHECK_OK(rlx_onnx_weight_read(m, "b", &t));
  CHECK(((const uint8_t *)t.data)[0] == 6 && ((const uint8_t *)t.data)[3] == 9);
  rlx_free(t.data);
  rlx_onnx_close(m);
  image_free(&f);
  remove_folder();
}

/* What is not a file, as the model itself. */
TEST(models_that_are_no_files) {
  rlx_onnx *m;
  rlx_tensor t;
  CHECK(make_folder());
  CHECK_FAILS(rlx_onnx_open(at("missing.onnx"), NULL, &m), RLX_NOT_FOUND, "missing.onnx");
  CHECK_FAILS(rlx_onnx_open(at("sub"), NULL, &m), RLX_INVALID, "a directory");
  CHECK_FAILS(rlx_onnx_open(at("fifo"), NULL, &m), RLX_INVALID, "a FIFO");
  CHECK_FAILS(rlx_onnx_open("/dev/null", NULL, &m), RLX_INVALID, "a device");
  CHECK_FAILS(rlx_onnx_open(at("w.bin"), NULL, &m), RLX_INVALID, "w.bin: expected an ONNX model");
  CHECK_FAILS(rlx_onnx_tensor_read(at("missing.pb"), NULL, 0, &t), RLX_NOT_FOUND, "missing.pb");
  CHECK_FAILS(rlx_onnx_tensor_read(at("w.bin"), NULL, 0, &t), RLX_INVALID, "w.bin");
  CHECK(truncate(at("w.bin"), 0) == 0);
  CHECK_FAILS(rlx_onnx_open(at("w.bin"), NULL, &m), RLX_INVALID, "the file is empty");
  CHECK_FAILS(rlx_onnx_tensor_read(at("w.bin"), NULL, 0, &t), RLX_INVALID, "no element type");
  remove_folder();
}

/* A tensor on its own, as test data has it: what it names outside is not opened. */
TEST(single_tensors) {
  onnx_image f = {0};
  rlx_tensor t;
  char name[4];
  CHECK(make_folder());
  image_int(&f, TENSOR_DIMS, 2);
  image_int(&f, TENSOR_TYPE, 1);
  image_text(&f, TENSOR_NAME, "long name");
  image_bytes(&f, TENSOR_RAW, "\0\0\x80?\0\0\0@", 8);
  CHECK(image_write(&f, at("model.onnx")));
  CHECK_OK(rlx_onnx_tensor_read(at("model.onnx"), name, sizeof name, &t));
  CHECK_EQ_STR(name, "lon");
  CHECK(t.shape.n == 1 && ((const float *)t.data)[1] == 2);
  rlx_free(t.data);
  image_int(&f, TENSOR_LOCATION, 1);
  image_begin(&f, TENSOR_EXTERNAL);
  image_text(&f, 1, "location");
  image_text(&f, 2, "w.bin");
  image_end(&f);
  CHECK(image_write(&f, at("model.onnx")));
  CHECK_FAILS(rlx_onnx_tensor_read(at("model.onnx"), NULL, 0, &t), RLX_UNSUPPORTED, "external data 'w.bin'");
  image_free(&f);
  remove_folder();
}
