/* .npy files: round trips, files as NumPy writes them, and refusal of everything else.
 *
 * Files are built byte by byte, so the reader is tested against the format, not against our writer. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "folder.h"
#include "ir/dtype.h"
#include "rlx/experimental.h"
#include "test.h"

/* ---- Bytes ---- */

static bool write_bytes(const char *path, const void *data, size_t bytes) {
  FILE *f = fopen(path, "wb");
  if (!f) return false;
  bool ok = bytes == 0 || fwrite(data, 1, bytes, f) == bytes;
  return fclose(f) == 0 && ok;
}

static size_t read_bytes(const char *path, void *data, size_t cap) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(data, 1, cap, f) : 0;
  if (f) fclose(f);
  return n;
}

/* ---- Files of the format ---- */

typedef struct image {
  unsigned char v[70000];
  size_t n;
} image;

/* magic, version, header length, header, data */
static void make(image *f, unsigned major, const char *dict, const void *data, size_t bytes) {
  size_t length = strlen(dict), head = major == 1 ? 10 : 12;
  memcpy(f->v, "\x93NUMPY", 6);
  f->v[6] = (unsigned char)major;
  f->v[7] = 0;
  for (size_t i = 8; i < head; i++) f->v[i] = (unsigned char)(length >> 8 * (i - 8));
  memcpy(f->v + head, dict, length);
  if (bytes) memcpy(f->v + head + length, data, bytes);
  f->n = head + length + bytes;
}

static rlx_status read_image(const image *f, rlx_tensor *t) {
  const char *path = folder_path("x.npy");
  return write_bytes(path, f->v, f->n) ? rlx_npy_read(path, t) : RLX_IO;
}

static bool same(const rlx_tensor *a, const rlx_tensor *b) {
  bool ok = a->dtype == b->dtype && a->shape.n == b->shape.n && a->bytes == b->bytes;
  for (int i = 0; ok && i < a->shape.n; i++) ok = a->shape.v[i] == b->shape.v[i];
  return ok && memcmp(a->data, b->data, a->bytes) == 0;
}

static unsigned char pattern[4096];

static void fill_pattern(rlx_dtype dtype) {
  uint32_t x = 12345;
  for (size_t i = 0; i < sizeof pattern; i++) {
    x = x * 1664525u + 1013904223u;
    pattern[i] = (unsigned char)(x >> 24);
    if (dtype == RLX_BOOL) pattern[i] &= 1;
  }
}

/* ---- What should work ---- */

static const rlx_dims shapes[] = {
  {{0}, 0},
  {{1}, 1},
  {{7}, 1},
  {{0}, 1},
  {{2, 3}, 2},
  {{3, 0}, 2},
  {{2, 3, 4}, 3},
  {{2, 1, 2, 3}, 4},
  {{1, 2, 3, 2, 2}, 5},
  {{2, 1, 2, 1, 2, 3}, 6},
  {{1, 2, 1, 2, 2, 1, 3}, 7},
  {{2, 1, 2, 1, 2, 1, 2, 3}, 8},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

TEST(every_type_and_rank_reads_back) {
  CHECK(folder_begin());
  for (int d = 0; d < RLX_DTYPE_COUNT; d++) {
    if (rlx_dtype_is_block((rlx_dtype)d) || rlx_dtype_is_float8((rlx_dtype)d)) continue; /* .npy has no such types */
    fill_pattern((rlx_dtype)d);
    for (size_t i = 0; i < N_SHAPES; i++) {
      rlx_tensor t = {.dtype = (rlx_dtype)d, .shape = shapes[i], .data = pattern}, back;
      CHECK_OK(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
      CHECK_OK(rlx_npy_write(folder_path("a.npy"), &t));
      CHECK_OK(rlx_npy_read(folder_path("a.npy"), &back));
      bool ok = same(&t, &back);
      rlx_free(back.data);
      if (!ok) FAIL("%s, shape %zu", rlx_dtype_describe(t.dtype)->name, i);
    }
  }
  CHECK_EQ_INT(folder_count(), 1);
}

/* The header that numpy.save writes, for ranks 0, 1, 2 and a long one. */
TEST(written_bytes_are_numpys) {
  CHECK(folder_begin());
  static const struct {
    rlx_dtype dtype;
    rlx_dims shape;
    const char *dict;
  } cases[] = {
    {RLX_F32, {{0}, 0}, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
    {RLX_I64, {{5}, 1}, "{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }"},
    {RLX_BOOL, {{2, 3}, 2}, "{'descr': '|b1', 'fortran_order': False, 'shape': (2, 3), }"},
    {RLX_U8,
     {{0, 1000000000, 1000000000}, 3},
     "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 1000000000, 1000000000), }"},
  };
  fill_pattern(RLX_BOOL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char got[1024];
    rlx_tensor t = {.dtype = cases[i].dtype, .shape = cases[i].shape, .data = pattern};
    CHECK_OK(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
    CHECK_OK(rlx_npy_write(folder_path("a.npy"), &t));
    size_t n = read_bytes(folder_path("a.npy"), got, sizeof got), dict = strlen(cases[i].dict), head = n - t.bytes;
    CHECK_EQ_INT(head, (10 + dict + 1 + 63) / 64 * 64);
    CHECK(memcmp(got, "\x93NUMPY\x01\x00", 8) == 0);
    CHECK_EQ_INT(got[8] + got[9] * 256, head - 10);
    CHECK(memcmp(got + 10, cases[i].dict, dict) == 0);
    for (size_t k = 10 + dict; k + 1 < head; k++) CHECK(got[k] == ' ');
    CHECK(got[head - 1] == '\n' && memcmp(got + head, pattern, t.bytes) == 0);
  }
}

TEST(versions_and_spellings) {
  CHECK(folder_begin());
  static const char *const dicts[] = {
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n",
    "{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}",
    "{\"descr\":\"<f4\",\"fortran_order\":False,\"shape\":(2,3,)}",
    " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , 3 ) , } ",
  };
  fill_pattern(RLX_F32);
  rlx_tensor want = {RLX_F32, RLX_DIMS(2, 3), {pattern}, 24}, t;
  static image f;
  for (unsigned major = 1; major <= 3; major++) {
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
      make(&f, major, dicts[i], pattern, 24);
      CHECK_OK(read_image(&f, &t));
      bool ok = same(&t, &want);
      rlx_free(t.data);
      CHECK(ok);
    }
  }
  /* A header above 64 KiB is what version 2 is for. */
  static char dict[66000];
  snprintf(dict, sizeof dict, "%s%65000s", dicts[0], "\n");
  CHECK(strlen(dict) > 65000);
  make(&f, 2, dict, pattern, 24);
  CHECK_OK(read_image(&f, &t));
  bool ok = same(&t, &want);
  rlx_free(t.data);
  CHECK(ok);
}

TEST(other_names_of_types) {
  CHECK(folder_begin());
  static const struct {
    const char *descr;
    rlx_dtype dtype;
  } cases[] = {{"|V2", RLX_BF16}, {"<V2", RLX_BF16}, {"<i1", RLX_I8}, {"<u1", RLX_U8}, {"<b1", RLX_BOOL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char dict[128];
    static image f;
    rlx_tensor t;
    fill_pattern(cases[i].dtype);
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (4,), }\n", cases[i].descr);
    make(&f, 1, dict, pattern, 4 * (cases[i].dtype == RLX_BF16 ? 2 : 1));
    CHECK_OK(read_image(&f, &t));
    rlx_free(t.data);
    CHECK_EQ_INT(t.dtype, cases[i].dtype);
  }
}

/* In the file element (i, j, k) lies at i + di (j + dj k); in the tensor at (i dj + j) dk + k. */
TEST(fortran_order_is_transposed) {
  CHECK(folder_begin());
  enum { DI = 2, DJ = 3, DK = 5 };
  static const rlx_dtype types[] = {RLX_U8, RLX_I16, RLX_F32, RLX_F64};
  static const char *const descrs[] = {"|u1", "<i2", "<f4", "<f8"};
  fill_pattern(RLX_U8);
  for (size_t d = 0; d < 4; d++) {
    size_t size = rlx_dtype_describe(types[d])->block_bytes;
    char dict[128];
    static image f;
    rlx_tensor t;
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': True, 'shape': (2, 3, 5), }\n", descrs[d]);
    make(&f, 1, dict, pattern, DI * DJ * DK * size);
    CHECK_OK(read_image(&f, &t));
    bool ok = t.bytes == DI * DJ * DK * size;
    for (size_t i = 0; i < DI; i++)
      for (size_t j = 0; j < DJ; j++)
        for (size_t k = 0; ok && k < DK; k++)
          ok = memcmp((char *)t.data + ((i * DJ + j) * DK + k) * size, pattern + (i + DI * (j + DJ * k)) * size,
                      size) == 0;
    rlx_free(t.data);
    if (!ok) FAIL("%s", descrs[d]);
  }
}

TEST(fortran_order_of_small_shapes) {
  CHECK(folder_begin());
  static const struct {
    const char *shape;
    size_t bytes;
  } cases[] = {{"()", 4}, {"(3,)", 12}, {"(0,)", 0}, {"(2, 0, 3)", 0}, {"(1, 1, 1, 1, 1, 1, 1, 2)", 8}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char dict[128];
    static image f;
    rlx_tensor t;
    snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': True, 'shape': %s, }\n", cases[i].shape);
    make(&f, 1, dict, pattern, cases[i].bytes);
    CHECK_OK(read_image(&f, &t));
    bool ok = t.bytes == cases[i].bytes && memcmp(t.data, pattern, t.bytes) == 0;
    rlx_free(t.data);
    if (!ok) FAIL("%s", cases[i].shape);
  }
}

/* ---- What must be refused ---- */

static const char good_dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

/* Every failure leaves the tensor zeroed, no block behind, and names the file. */
#define CHECK_REFUSED(image_, code, part)                                           \
  do {                                                                              \
    rlx_tensor t_ = {.bytes = 1};                                                   \
    size_t live_ = rlx_mem_live();                                                  \
    CHECK_FAILS(read_image((image_), &t_), (code), (part));                         \
    CHECK(strstr(rlx_message(), "x.npy"));                                          \
    CHECK(!t_.data && t_.bytes == 0 && t_.shape.n == 0 && rlx_mem_live() == live_); \
  } while (0)

TEST(every_truncation) {
  CHECK(folder_begin());
  static image whole, f;
  for (unsigned major = 1; major <= 2; major++) {
    make(&whole, major, good_dict, pattern, 24);
    for (size_t n = 0; n < whole.n; n++) {
      f = whole;
      f.n = n;
      CHECK_REFUSED(&f, RLX_INVALID, "");
    }
    f = whole;
    f.v[f.n++] = 0;
    CHECK_REFUSED(&f, RLX_INVALID, "takes 24 bytes but the file holds 25");
  }
}

/* Whatever one byte of the head becomes, the answer is a tensor or a failure. */
TEST(every_byte_changed) {
  CHECK(folder_begin());
  static image whole, f;
  static const unsigned char values[] = {0, 1, ' ', '\'', '(', ')', ',', '0', '9', ':', '{', '}', 0x80, 0xff};
  size_t live = rlx_mem_live();
  make(&whole, 1, good_dict, pattern, 24);
  unsigned n_refused = 0;
  for (size_t at = 0; at < whole.n - 24; at++) {
    for (size_t i = 0; i < sizeof values; i++) {
      rlx_tensor t;
      f = whole;
      f.v[at] = values[i];
      rlx_status s = read_image(&f, &t);
      CHECK(s == RLX_OK || s == RLX_INVALID || s == RLX_UNSUPPORTED);
      n_refused += s != RLX_OK;
      rlx_free(t.data);
      CHECK_EQ_INT(rlx_mem_live(), live);
    }
  }
  CHECK(n_refused > 500);
}

TEST(wrong_heads) {
  CHECK(folder_begin());
  static image f;
  make(&f, 1, good_dict, pattern, 24);
  f.v[0] = 0x92;
  CHECK_REFUSED(&f, RLX_INVALID, "expected a .npy file");
  static const unsigned char versions[][2] = {{0, 0}, {4, 0}, {255, 0}, {1, 1}, {2, 9}};
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    make(&f, 1, good_dict, pattern, 24);
    f.v[6] = versions[i][0];
    f.v[7] = versions[i][1];
    CHECK_REFUSED(&f, RLX_UNSUPPORTED, "version 1.0, 2.0 or 3.0");
  }
  make(&f, 1, good_dict, pattern, 24);
  f.v[8] = f.v[9] = 0xff; /* longer than the file */
  CHECK_REFUSED(&f, RLX_INVALID, "header of 65535 bytes does not fit");
  make(&f, 2, good_dict, pattern, 24);
  f.v[8] = f.v[9] = f.v[10] = f.v[11] = 0xff;
  CHECK_REFUSED(&f, RLX_INVALID, "header of 4294967295 bytes does not fit");
  make(&f, 1, good_dict, pattern, 24);
  f.v[8] = f.v[9] = 0;
  CHECK_REFUSED(&f, RLX_INVALID, "begins with '{'");
}

/* clang-format off */
static const struct {
  const char *dict;
  rlx_status code;
  const char *part;
} hostile[] = {
  {"", RLX_INVALID, "begins with '{'"},
  {"[]", RLX_INVALID, "begins with '{'"},
  {"{", RLX_INVALID, "expected a key or '}'"},
  {"{}", RLX_INVALID, "lacks 'descr'"},
  {"{'descr': '<f4', 'fortran_order': False}", RLX_INVALID, "lacks 'shape'"},
  {"{'descr': '<f4', 'shape': (2, 3)}", RLX_INVALID, "lacks 'fortran_order'"},
  {"{'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "lacks 'descr'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", RLX_INVALID, "got 'more'"},
  {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "'descr' twice"},
  {"{'shape': (2, 3), 'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}", RLX_INVALID, "'shape' twice"},
  {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "expected ',' or '}'"},
  {"{'descr' '<f4', 'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "expected ':' after 'descr'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} {}", RLX_INVALID, "nothing but blanks"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), ", RLX_INVALID, "expected a key or '}'"},
  {"{descr: '<f4', 'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "expected a key or '}'"},
  {"{'a key that is longer than any that could be meant by a file': 1}", RLX_INVALID, "expected a key or '}'"},
  {"{'descr", RLX_INVALID, "expected a key or '}'"},
  {"{'descr': '<f4", RLX_INVALID, "for descr"},
  {"{'descr': 4, 'fortran_order': False, 'shape': (2, 3)}", RLX_INVALID, "for descr"},
  {"{'descr': '', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got ''"},
  {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "little-endian numbers, got '>f4'"},
  {"{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '=f4'"},
  {"{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<f16'"},
  {"{'descr': '<u3', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<u3'"},
  {"{'descr': '<u5', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<u5'"},
  {"{'descr': '<c16', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<c16'"},
  {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '|O'"},
  {"{'descr': '<U3', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<U3'"},
  {"{'descr': '|S24', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '|S24'"},
  {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "got '<M8[ns]'"},
  {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", RLX_UNSUPPORTED, "structured"},
  {"{'descr': [('a', [('b', [('c', '<f4')])])], 'fortran_order': False, 'shape': ()}", RLX_UNSUPPORTED, "structured"},
  {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3)}", RLX_INVALID, "True or False"},
  {"{'descr': '<f4', 'fortran_order': 'False', 'shape': (2, 3)}", RLX_INVALID, "True or False"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': 6}", RLX_INVALID, "in parentheses"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3]}", RLX_INVALID, "in parentheses"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': ((2, 3),)}", RLX_INVALID, "expected a size"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", RLX_INVALID, "expected ',' or ')'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", RLX_INVALID, "expected ',' or ')'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,", RLX_INVALID, "expected a size"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3)}", RLX_INVALID, "expected a size"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", RLX_INVALID, "expected a size"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3)}", RLX_INVALID, "expected a size, 0 or more"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3)}", RLX_INVALID, "expected ',' or ')'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}", RLX_INVALID, "expected ',' or ')'"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (None, 3)}", RLX_INVALID, "expected a size"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (7, 1)}", RLX_INVALID, "takes 28 bytes but the file holds 24"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", RLX_INVALID, "takes 0 bytes"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2,3)}", RLX_UNSUPPORTED, "more than 8 axes"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,)}", RLX_INVALID, "overflow"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", RLX_INVALID, "does not fit 64 bits"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551622,)}", RLX_INVALID, "does not fit 64 bits"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999999999,)}", RLX_INVALID, "does not fit"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", RLX_INVALID, "overflow"},
  {"{'descr': '<f4', 'fortran_order': True, 'shape': (4611686018427387910, 1)}", RLX_INVALID, "overflow"},
  {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}", RLX_INVALID, "4398046511104 bytes"},
};
/* clang-format on */

TEST(hostile_headers) {
  CHECK(folder_begin());
  static image f;
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
    make(&f, 1, hostile[i].dict, pattern, 24);
    CHECK_REFUSED(&f, hostile[i].code, hostile[i].part);
    make(&f, 3, hostile[i].dict, pattern, 24);
    CHECK_REFUSED(&f, hostile[i].code, hostile[i].part);
  }
}

TEST(bools_are_0_or_1) {
  CHECK(folder_begin());
  static image f;
  unsigned char values[4] = {1, 0, 2, 1};
  make(&f, 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }\n", values, 4);
  CHECK_REFUSED(&f, RLX_INVALID, "element 2 is 2, not a bool");
  rlx_tensor t = {RLX_BOOL, RLX_DIMS(4), {values}, 4};
  CHECK_FAILS(rlx_npy_write(folder_path("b.npy"), &t), RLX_INVALID, "element 2 is 2");
}

/* A sparse file of 8 GiB: refused by its head, without being read. */
TEST(large_files_are_judged_by_their_head) {
  CHECK(folder_begin());
  static image f;
  const char *path = folder_path("x.npy");
  for (int with_head = 0; with_head < 2; with_head++) {
    rlx_tensor t;
    make(&f, 1, good_dict, pattern, 24);
    CHECK(write_bytes(path, f.v, with_head ? f.n : 0));
    if (truncate(path, (off_t)8 << 30) != 0) SKIP("the file system makes no sparse file of 8 GiB");
    clock_t start = clock();
    CHECK_FAILS(rlx_npy_read(path, &t), RLX_INVALID, with_head ? "takes 24 bytes" : "expected a .npy file");
    CHECK(TEST_IS_WASM || (double)(clock() - start) / CLOCKS_PER_SEC < 0.5);
  }
  unlink(path);
}

TEST(paths_that_are_no_files) {
  CHECK(folder_begin());
  rlx_tensor t;
  rlx_graph *g;
  CHECK_FAILS(rlx_npy_read(folder_path("absent.npy"), &t), RLX_NOT_FOUND, "absent.npy");
  CHECK_FAILS(rlx_graph_read(folder_path("absent.rlx"), &g), RLX_NOT_FOUND, "absent.rlx");
  CHECK_FAILS(rlx_npy_read(folder_name(), &t), RLX_INVALID, "got a directory");
  CHECK_FAILS(rlx_graph_read(folder_name(), &g), RLX_INVALID, "got a directory");
  CHECK_FAILS(rlx_npy_read("/dev/null", &t), RLX_INVALID, "got a device");
  CHECK(mkfifo(folder_path("fifo"), 0600) == 0);
  CHECK_FAILS(rlx_npy_read(folder_path("fifo"), &t), RLX_INVALID, "got a FIFO");
  CHECK_FAILS(rlx_graph_read(folder_path("fifo"), &g), RLX_INVALID, "got a FIFO");
  CHECK(!t.data && !g);
}

TEST(bad_arguments) {
  CHECK(folder_begin());
  const char *path = folder_path("a.npy");
  float v[6] = {0};
  rlx_tensor t = {RLX_F32, RLX_DIMS(2, 3), {v}, sizeof v}, bad;
  rlx_graph *g = NULL;
  CHECK_FAILS(rlx_npy_read(NULL, &t), RLX_INVALID, "path is NULL");
  CHECK_FAILS(rlx_npy_read(path, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_graph_read(NULL, &g), RLX_INVALID, "path is NULL");
  CHECK_FAILS(rlx_graph_read(path, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_npy_write(path, NULL), RLX_INVALID, "tensor is NULL");
  t = (rlx_tensor){RLX_F32, RLX_DIMS(2, 3), {v}, sizeof v};
  CHECK_FAILS(rlx_npy_write(NULL, &t), RLX_INVALID, "path is NULL");
#define CHECK_BAD(field, value, code, part)           \
  bad = t;                                            \
  bad.field = value;                                  \
  CHECK_FAILS(rlx_npy_write(path, &bad), code, part); \
  CHECK(strstr(rlx_message(), "a.npy"))
  CHECK_BAD(bytes, 23, RLX_INVALID, "takes 24 bytes but the tensor has 23");
  CHECK_BAD(bytes, 25, RLX_INVALID, "takes 24 bytes but the tensor has 25");
  CHECK_BAD(data, NULL, RLX_INVALID, "no data");
  CHECK_BAD(dtype, RLX_Q8_0, RLX_INVALID, "block");
  CHECK_BAD(dtype, (rlx_dtype)99, RLX_INVALID, "unknown dtype 99");
  CHECK_BAD(shape.n, 9, RLX_INVALID, "rank 9");
  CHECK_BAD(shape.v[0], -2, RLX_INVALID, "negative");
  unsigned char blocks[34] = {0};
  bad = (rlx_tensor){RLX_Q8_0, RLX_DIMS(32), {blocks}, sizeof blocks};
  CHECK_FAILS(rlx_npy_write(path, &bad), RLX_UNSUPPORTED, ".npy has no type for q8_0");
  CHECK_EQ_INT(folder_count(), 0);
}

/* ---- What cannot be written ---- */

TEST(unwritable_paths_leave_nothing) {
  CHECK(folder_begin());
  float v[6] = {0};
  rlx_tensor t = {RLX_F32, RLX_DIMS(2, 3), {v}, sizeof v};
  CHECK(write_bytes(folder_path("file"), "old", 3));
  CHECK_FAILS(rlx_npy_write(folder_path("absent/a.npy"), &t), RLX_NOT_FOUND, "absent/a.npy");
  CHECK_FAILS(rlx_npy_write(folder_path("file/a.npy"), &t), RLX_NOT_FOUND, "file/a.npy");
  CHECK_FAILS(rlx_npy_write(folder_name(), &t), RLX_INVALID, "got a directory");
  CHECK_FAILS(rlx_npy_write("/dev/full", &t), RLX_INVALID, "got a device");
  CHECK_EQ_INT(folder_count(), 1);
}

TEST(unwritable_folder_leaves_nothing) {
  CHECK(folder_begin());
  if (geteuid() == 0) SKIP("root may write anywhere");
  float v[6] = {0};
  rlx_tensor t = {RLX_F32, RLX_DIMS(2, 3), {v}, sizeof v};
  CHECK(chmod(folder_name(), 0500) == 0);
  rlx_status s = rlx_npy_write(folder_path("a.npy"), &t);
  chmod(folder_name(), 0700);
  CHECK_EQ_INT(s, RLX_IO);
  CHECK_EQ_INT(folder_count(), 0);
}

/* A limit on the size of files stands in for a full disk: the old file stays whole and no other is left. */
TEST(a_full_disk_keeps_the_old_file) {
  CHECK(folder_begin());
  const char *path = folder_path("a.npy");
  unsigned char got[64];
  rlx_tensor t = {RLX_U8, RLX_DIMS(4096), {pattern}, sizeof pattern};
  CHECK(write_bytes(path, "old", 3));
  struct rlimit old, small;
  CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
  small = old;
  small.rlim_cur = 1024;
  void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  rlx_status s = rlx_npy_write(path, &t);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, before);
  CHECK_EQ_INT(s, RLX_IO);
  CHECK(strstr(rlx_message(), "a.npy"));
  CHECK_EQ_INT(read_bytes(path, got, sizeof got), 3);
  CHECK(memcmp(got, "old", 3) == 0);
  CHECK_EQ_INT(folder_count(), 1);
}

TEST(writing_replaces) {
  CHECK(folder_begin());
  rlx_tensor large = {RLX_U8, RLX_DIMS(4096), {pattern}, sizeof pattern}, small = {RLX_U8, RLX_DIMS(3), {pattern}, 3},
             t;
  CHECK_OK(rlx_npy_write(folder_path("a.npy"), &large));
  CHECK_OK(rlx_npy_write(folder_path("a.npy"), &small));
  CHECK_OK(rlx_npy_read(folder_path("a.npy"), &t));
  bool ok = same(&t, &small);
  rlx_free(t.data);
  CHECK(ok);
  CHECK_EQ_INT(folder_count(), 1);
}

/* ---- Failing allocations ---- */

static rlx_status read_once(void *user) {
  rlx_tensor t;
  rlx_status s = rlx_npy_read(user, &t);
  if (s && t.data) return RLX_INVALID; /* a failure gives nothing to free */
  rlx_free(t.data);
  return s;
}

static rlx_status write_once(void *user) {
  rlx_tensor t = {RLX_F32, RLX_DIMS(2, 3), {pattern}, 24};
  return rlx_npy_write(user, &t);
}

static rlx_status parse_once(void *user) {
  rlx_graph *g;
  rlx_status s = rlx_graph_read(user, &g);
  if (s && g) return RLX_INVALID;
  rlx_graph_destroy(g);
  return s;
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  char path[400];
  static image f;
  snprintf(path, sizeof path, "%s", folder_path("a.npy"));
  CHECK_OK(alloc_sweep(write_once, path));
  CHECK_EQ_INT(folder_count(), 1);
  CHECK_OK(alloc_sweep(read_once, path));
  make(&f, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", pattern, 24);
  CHECK(write_bytes(path, f.v, f.n));
  CHECK_OK(alloc_sweep(read_once, path));
  static const char text[] = "graph { %x = input \"x\" : f32[B,2]\n %y = relu(%x)\n output \"y\" = %y }";
  CHECK(write_bytes(path, text, sizeof text - 1));
  CHECK_OK(alloc_sweep(parse_once, path));
}
