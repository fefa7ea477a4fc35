/* Writing weight files: written files read back, including split models, and no partial file remains. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "faults.h"
#include "folder.h"
#include "ir/dtype.h"
#include "rlx/lm.h"
#include "test.h"

static unsigned char pattern[8192];

static void fill_pattern(uint32_t x) {
  for (size_t i = 0; i < sizeof pattern; i++) {
    x = x * 1664525u + 1013904223u;
    pattern[i] = (unsigned char)(x >> 24);
  }
}

static const char *const endings[] = {"w.gguf", "w.safetensors"};

/* ---- Round trips ---- */

static const rlx_dims shapes[] = {{{256}, 1}, {{3, 256}, 2}, {{2, 1, 256}, 3}, {{1, 2, 1, 256}, 4}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static bool is_written(const char *name, rlx_dtype d) {
  bool is_gguf = strcmp(name, "w.gguf") == 0;
  if (!is_gguf) return !rlx_dtype_is_block(d);
  return d != RLX_U8 && d != RLX_U16 && d != RLX_U32 && d != RLX_U64 && d != RLX_BOOL && d != RLX_C64 &&
         !rlx_dtype_is_float8(d);
}

static void name_tensor(char out[32], int d, size_t k) {
  snprintf(out, 32, "%s.%zu", rlx_dtype_describe((rlx_dtype)d)->name, k);
}

/* Every type and rank, in one file; bytes in odd pieces. */
static rlx_status write_all_types(const char *name) {
  rlx_file_writer *w;
  char tensor[32];
  size_t bytes;
  RLX_TRY(rlx_file_writer_create(folder_path(name), &w));
  rlx_status s = RLX_OK;
  for (int d = 0; d < RLX_DTYPE_COUNT; d++)
    for (size_t k = 0; !s && k < N_SHAPES; k++) {
      name_tensor(tensor, d, k);
      if (is_written(name, (rlx_dtype)d)) s = rlx_file_writer_tensor(w, tensor, (rlx_dtype)d, shapes[k]);
    }
  for (int d = 0; d < RLX_DTYPE_COUNT; d++)
    for (size_t k = 0; !s && k < N_SHAPES; k++) {
      if (!is_written(name, (rlx_dtype)d)) continue;
      fill_pattern((uint32_t)d * 16 + (uint32_t)k);
      s = rlx_tensor_bytes((rlx_dtype)d, shapes[k], &bytes);
      if (!s) s = rlx_file_writer_bytes(w, pattern, bytes / 3);
      if (!s) s = rlx_file_writer_bytes(w, pattern + bytes / 3, bytes - bytes / 3);
    }
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

TEST(every_type_reads_back) {
  CHECK(folder_begin());
  for (int e = 0; e < 2; e++) {
    static unsigned char back[sizeof pattern];
    rlx_file *f;
    char tensor[32];
    CHECK_OK(write_all_types(endings[e]));
    CHECK_OK(rlx_file_open(folder_path(endings[e]), NULL, &f));
    uint32_t n = 0;
    for (int d = 0; d < RLX_DTYPE_COUNT; d++)
      for (size_t k = 0; k < N_SHAPES; k++) {
        if (!is_written(endings[e], (rlx_dtype)d)) continue;
        name_tensor(tensor, d, k);
        const rlx_file_tensor *t = rlx_file_tensor_find(f, tensor);
        CHECK(t && t->dtype == (rlx_dtype)d && t->shape.n == shapes[k].n && t == rlx_file_tensor_at(f, n++));
        CHECK(memcmp(t->shape.v, shapes[k].v, (size_t)t->shape.n * 8) == 0 && t->bytes <= sizeof back);
        CHECK(e == 1 || t->offset % 32 == 0);
        CHECK_OK(rlx_file_read_tensor(f, t, 0, back, t->bytes));
        fill_pattern((uint32_t)d * 16 + (uint32_t)k);
        CHECK(memcmp(back, pattern, t->bytes) == 0);
      }
    CHECK_EQ_INT(rlx_file_tensor_count(f), n);
    rlx_file_close(f);
  }
  CHECK_EQ_INT(folder_count(), 2);
}

/* Values by hand, with and without a type; then the same through a second file. */
static const rlx_meta texts[] = {{.kind = RLX_META_TEXT, .n = 1, .text = "a"},
                                 {.kind = RLX_META_TEXT, .n = 0, .text = ""},
                                 {.kind = RLX_META_TEXT, .n = 3, .text = "b\0c"}};
static const rlx_meta numbers[] = {{.type = "i32", .kind = RLX_META_INT, .integer = -1},
                                   {.type = "i32", .kind = RLX_META_INT, .integer = 7}};
static const rlx_meta lists[] = {{.kind = RLX_META_LIST, .n = 2, .opaque = numbers},
                                 {.kind = RLX_META_LIST, .n = 0, .opaque = numbers},
                                 {.kind = RLX_META_LIST, .n = 3, .opaque = texts}};
static const rlx_meta metas[] = {
  {.key = "text", .kind = RLX_META_TEXT, .n = 6, .text = "h\xc3\xa9llo"},
  {.key = "small", .kind = RLX_META_INT, .integer = 7},
  {.key = "negative", .kind = RLX_META_INT, .integer = -7},
  {.key = "large", .kind = RLX_META_INT, .integer = INT64_MAX},
  {.key = "u16", .type = "u16", .kind = RLX_META_INT, .integer = 65535},
  {.key = "i8", .type = "i8", .kind = RLX_META_INT, .integer = -128},
  {.key = "float", .kind = RLX_META_FLOAT, .number = 0.5},
  {.key = "double", .type = "f64", .kind = RLX_META_FLOAT, .number = 0.1},
  {.key = "flag", .kind = RLX_META_BOOL, .integer = 1},
  {.key = "texts", .kind = RLX_META_LIST, .n = 3, .opaque = texts},
  {.key = "numbers", .kind = RLX_META_LIST, .n = 2, .opaque = numbers},
  {.key = "lists", .kind = RLX_META_LIST, .n = 3, .opaque = lists},
  {.key = "none", .kind = RLX_META_LIST},
};
enum { N_METAS = sizeof metas / sizeof *metas };
static const char *const types[N_METAS] = {"string",
                                           "u32",
                                           "i64",
                                           "i64",
                                           "u16",
                                           "i8",
                                           "f32",
                                           "f64",
                                           "bool",
                                           "array of string",
                                           "array of i32",
                                           "array of array",
                                           "array of string"};

static bool same(const rlx_meta *a, const rlx_meta *b) {
  bool ok = a->kind == b->kind && a->n == b->n;
  if (a->kind == RLX_META_TEXT) return ok && memcmp(a->text, b->text, a->n) == 0;
  if (a->kind == RLX_META_FLOAT) return ok && a->number == b->number;
  if (a->kind != RLX_META_LIST) return ok && a->integer == b->integer;
  for (size_t i = 0; ok && i < a->n; i++) {
    rlx_meta x, y;
    ok = rlx_meta_element(a, i, &x) && rlx_meta_element(b, i, &y) && same(&x, &y);
  }
  return ok;
}

static rlx_status copy_metas(const rlx_file *from, const char *to) {
  rlx_file_writer *w;
  rlx_meta m;
  RLX_TRY(rlx_file_writer_create(to, &w));
  rlx_status s = RLX_OK;
  for (uint32_t i = 0; !s && rlx_file_meta_at(from, i, &m); i++) s = rlx_file_writer_meta(w, &m);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static size_t read_bytes(const char *path, void *data, size_t cap) {
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(data, 1, cap, f) : 0;
  if (f) fclose(f);
  return n;
}

TEST(metadata_reads_back) {
  CHECK(folder_begin());
  rlx_file_writer *w;
  rlx_file *f;
  rlx_meta m;
  CHECK_OK(rlx_file_writer_create(folder_path("a.gguf"), &w));
  for (size_t i = 0; i < N_METAS; i++) CHECK_OK(rlx_file_writer_meta(w, &metas[i]));
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_OK(rlx_file_open(folder_path("a.gguf"), NULL, &f));
  CHECK_EQ_INT(rlx_file_meta_count(f), N_METAS);
  for (size_t i = 0; i < N_METAS; i++) {
    CHECK(rlx_file_meta_at(f, (uint32_t)i, &m));
    CHECK_EQ_STR(m.key, metas[i].key);
    CHECK_EQ_STR(m.type, types[i]);
    CHECK(same(&metas[i], &m));
  }
  CHECK_OK(copy_metas(f, folder_path("b.gguf")));
  rlx_file_close(f);
  static unsigned char a[4096], b[4096];
  size_t n = read_bytes(folder_path("a.gguf"), a, sizeof a);
  CHECK(n > 0 && n == read_bytes(folder_path("b.gguf"), b, sizeof b) && memcmp(a, b, n) == 0);
}

/* A u64 that no signed integer holds keeps all its bits, in both formats. */
TEST(huge_integers_keep_their_bits) {
  CHECK(folder_begin());
  static const unsigned char file[] = "GGUF\3\0\0\0"
                                      "\0\0\0\0\0\0\0\0"
                                      "\1\0\0\0\0\0\0\0"
                                      "\1\0\0\0\0\0\0\0k"
                                      "\x0a\0\0\0"
                                      "\1\2\3\4\5\6\7\xf8";
  static unsigned char back[128];
  rlx_file *f;
  FILE *out = fopen(folder_path("a.gguf"), "wb");
  CHECK(out && fwrite(file, 1, sizeof file - 1, out) == sizeof file - 1 && fclose(out) == 0);
  CHECK_OK(rlx_file_open(folder_path("a.gguf"), NULL, &f));
  CHECK_OK(rlx_file_convert(f, folder_path("c.safetensors"), NULL));
  rlx_file_close(f);
  CHECK_OK(rlx_file_open(folder_path("c.safetensors"), NULL, &f));
  CHECK_OK(copy_metas(f, folder_path("b.gguf")));
  rlx_file_close(f);
  CHECK(read_bytes(folder_path("b.gguf"), back, sizeof back) >= sizeof file - 1);
  CHECK(memcmp(back, file, sizeof file - 1) == 0);
}

TEST(safetensors_has_texts_alone) {
  CHECK(folder_begin());
  rlx_file_writer *w;
  rlx_file *f;
  rlx_meta m;
  static const struct {
    const char *key, *text;
  } expected[] = {{"text", "h\xc3\xa9llo"},
                  {"small", "7"},
                  {"negative", "-7"},
                  {"large", "9223372036854775807"},
                  {"float", "0.5"},
                  {"double", "0.1"},
                  {"flag", "true"},
                  {"numbers", "[-1,7]"},
                  {"none", "[]"}};
  CHECK_OK(rlx_file_writer_create(folder_path("a.safetensors"), &w));
  CHECK_FAILS(rlx_file_writer_meta(w, &metas[9]), RLX_UNSUPPORTED,
              "key 'texts': element 2: safetensors has no text with a NUL");
  for (size_t i = 0; i < N_METAS; i++)
    if (i != 9 && i != 11) CHECK_OK(rlx_file_writer_meta(w, &metas[i]));
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_TEXT, .n = 1, .text = "\xff"}),
              RLX_UNSUPPORTED, "not UTF-8");
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_OK(rlx_file_open(folder_path("a.safetensors"), NULL, &f));
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    CHECK(rlx_file_meta_find(f, expected[i].key, &m));
    CHECK_EQ_STR(m.text, expected[i].text);
  }
  rlx_file_close(f);
}

TEST(alignment_is_the_files_own) {
  CHECK(folder_begin());
  rlx_file_writer *w;
  rlx_file *f;
  CHECK_OK(rlx_file_writer_create(folder_path("a.gguf"), &w));
  rlx_meta m = {.key = "general.alignment", .kind = RLX_META_INT, .integer = 12};
  CHECK_FAILS(rlx_file_writer_meta(w, &m), RLX_INVALID, "power of two");
  m.integer = 256;
  CHECK_OK(rlx_file_writer_meta(w, &m));
  CHECK_OK(rlx_file_writer_tensor(w, "a", RLX_I8, RLX_DIMS(3)));
  CHECK_OK(rlx_file_writer_tensor(w, "b", RLX_F32, RLX_SCALAR)); /* as one element */
  CHECK_OK(rlx_file_writer_bytes(w, "abcdefg", 7));              /* of both */
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_OK(rlx_file_open(folder_path("a.gguf"), NULL, &f));
  const rlx_file_tensor *b = rlx_file_tensor_find(f, "b");
  char back[4];
  CHECK(b && b->offset % 256 == 0 && b->shape.n == 1 && b->shape.v[0] == 1);
  CHECK_OK(rlx_file_read_tensor(f, b, 0, back, 4));
  CHECK(memcmp(back, "defg", 4) == 0);
  CHECK_OK(rlx_file_check(f, NULL, NULL));
  rlx_file_close(f);
}

/* ---- Wrong use, and failing writes ---- */

TEST(wrong_use_is_refused) {
  CHECK(folder_begin());
  rlx_file_writer *w;
  CHECK_FAILS(rlx_file_writer_create("x.bin", &w), RLX_INVALID, "ends in .gguf or .safetensors");
  CHECK_FAILS(rlx_file_writer_create(NULL, &w), RLX_INVALID, "path is NULL");
  CHECK_FAILS(rlx_file_writer_create("x.gguf", NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_file_writer_create(folder_path("absent/x.gguf"), &w), RLX_NOT_FOUND, "absent/x.gguf");
  CHECK_FAILS(rlx_file_writer_finish(NULL), RLX_INVALID, "writer is NULL");
  CHECK_OK(rlx_file_writer_create(folder_path("x.gguf"), &w));
  CHECK_FAILS(rlx_file_writer_meta(w, NULL), RLX_INVALID, "value is NULL");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = ""}), RLX_INVALID, "a key is empty");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k"}), RLX_INVALID, "key 'k': 0 is no kind");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_TEXT, .text = "forgot n"}), RLX_INVALID,
              "a text of 0 bytes does not end after them");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_INT, .type = "u8", .integer = 256}),
              RLX_INVALID, "256 does not fit u8");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_INT, .type = "i8", .integer = -129}),
              RLX_INVALID, "-129 does not fit i8");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_INT, .type = "f32"}), RLX_INVALID,
              "'f32'");
  CHECK_FAILS(rlx_file_writer_meta(w, &(rlx_meta){.key = "k", .kind = RLX_META_LIST, .n = 2}), RLX_INVALID, "has none");
  CHECK_FAILS(rlx_file_writer_tensor(w, NULL, RLX_F32, RLX_DIMS(1)), RLX_INVALID, "name is NULL");
  CHECK_FAILS(rlx_file_writer_tensor(w, "\xff", RLX_F32, RLX_DIMS(1)), RLX_INVALID, "UTF-8");
  CHECK_FAILS(rlx_file_writer_tensor(w, "t", RLX_U8, RLX_DIMS(1)), RLX_UNSUPPORTED,
              "tensor 't': GGUF has no type for u8");
  CHECK_FAILS(rlx_file_writer_tensor(w, "t", RLX_F32, RLX_DIMS(0)), RLX_UNSUPPORTED, "without elements");
  CHECK_FAILS(rlx_file_writer_tensor(w, "t", RLX_F32, RLX_DIMS(1, 1, 1, 1, 1)), RLX_UNSUPPORTED, "at most 4 axes");
  CHECK_FAILS(rlx_file_writer_tensor(w, "t", RLX_Q4_0, RLX_DIMS(33)), RLX_INVALID, "multiple of the block");
  CHECK_OK(rlx_file_writer_tensor(w, "t", RLX_F32, RLX_DIMS(2)));
  CHECK_OK(rlx_file_writer_bytes(w, "1234", 4));
  CHECK_FAILS(rlx_file_writer_tensor(w, "u", RLX_F32, RLX_DIMS(2)), RLX_INVALID, "before the first bytes");
  CHECK_FAILS(rlx_file_writer_meta(w, &metas[0]), RLX_INVALID, "before the first bytes");
  CHECK_FAILS(rlx_file_writer_finish(w), RLX_INVALID, "tensor 't' got 4 of its 8 bytes");
  CHECK_FAILS(rlx_file_writer_bytes(w, "1234", 4), RLX_INVALID, "finished, or its writing failed");
  rlx_file_writer_destroy(w);
  CHECK_OK(rlx_file_writer_create(folder_path("x.safetensors"), &w));
  CHECK_FAILS(rlx_file_writer_tensor(w, "t", RLX_Q8_0, RLX_DIMS(32)), RLX_UNSUPPORTED,
              "safetensors has no type for q8_0");
  CHECK_FAILS(rlx_file_writer_tensor(w, "__metadata__", RLX_F32, RLX_DIMS(1)), RLX_UNSUPPORTED, "another use");
  CHECK_OK(rlx_file_writer_tensor(w, "t", RLX_F32, RLX_DIMS(1)));
  CHECK_FAILS(rlx_file_writer_bytes(w, "12345", 5), RLX_INVALID, "1 bytes more than the tensors take");
  rlx_file_writer_destroy(w);
  CHECK_EQ_INT(folder_count(), 0);
}

TEST(names_twice_are_refused) {
  CHECK(folder_begin());
  for (int e = 0; e < 2; e++) {
    rlx_file_writer *w;
    CHECK_OK(rlx_file_writer_create(folder_path(endings[e]), &w));
    CHECK_OK(rlx_file_writer_meta(w, &metas[0]));
    CHECK_OK(rlx_file_writer_meta(w, &metas[0]));
    CHECK_FAILS(rlx_file_writer_finish(w), RLX_INVALID, "the key 'text' was given twice");
    rlx_file_writer_destroy(w);
    CHECK_OK(rlx_file_writer_create(folder_path(endings[e]), &w));
    CHECK_OK(rlx_file_writer_tensor(w, "t", RLX_I8, RLX_DIMS(1)));
    CHECK_OK(rlx_file_writer_tensor(w, "t", RLX_I8, RLX_DIMS(1)));
    CHECK_FAILS(rlx_file_writer_bytes(w, "a", 1), RLX_INVALID, "the tensor 't' was given twice");
    rlx_file_writer_destroy(w);
  }
  CHECK_EQ_INT(folder_count(), 0);
}

/* A file that may not grow, which is what a full disk looks like: the old one stays. */
TEST(a_full_disk_keeps_the_old_file) {
  CHECK(folder_begin());
  char old[8] = {0};
  struct rlimit was, small;
  FILE *f = fopen(folder_path("w.gguf"), "wb");
  CHECK(f && fputs("old", f) >= 0 && fclose(f) == 0);
  CHECK(getrlimit(RLIMIT_FSIZE, &was) == 0);
  small = was;
  small.rlim_cur = 1000;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  rlx_status s = write_all_types("w.gguf");
  setrlimit(RLIMIT_FSIZE, &was);
  signal(SIGXFSZ, handler);
  CHECK_FAILS(s, RLX_IO, "cannot write");
  CHECK_EQ_INT(folder_count(), 1);
  CHECK(read_bytes(folder_path("w.gguf"), old, sizeof old) == 3 && memcmp(old, "old", 3) == 0);
}

/* ---- Several files ---- */

static rlx_status write_part(const char *path, int number, int count, const char *tensor, int total) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_meta no = {.key = "split.no", .type = "u16", .kind = RLX_META_INT, .integer = number};
  rlx_meta n = {.key = "split.count", .type = "u16", .kind = RLX_META_INT, .integer = count};
  rlx_meta all = {.key = "split.tensors.count", .type = "i32", .kind = RLX_META_INT, .integer = total};
  rlx_meta name = {.key = "general.name", .kind = RLX_META_TEXT, .n = 1, .text = number == 0 ? "a" : "b"};
  rlx_status s = rlx_file_writer_meta(w, &no);
  if (!s) s = rlx_file_writer_meta(w, &n);
  if (!s) s = rlx_file_writer_meta(w, &all);
  if (!s) s = rlx_file_writer_meta(w, &name);
  if (!s) s = rlx_file_writer_tensor(w, tensor, RLX_I8, RLX_DIMS(4));
  if (!s) s = rlx_file_writer_bytes(w, tensor, 4);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static const char *part_path(int number) {
  char name[64];
  snprintf(name, sizeof name, "m-%05d-of-00003.gguf", number);
  return folder_path(name);
}

TEST(a_split_model_opens_by_any_part) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m;
  char bytes[4];
  CHECK_OK(write_part(part_path(1), 0, 3, "aaa", 3));
  CHECK_OK(write_part(part_path(2), 1, 3, "bbb", 3));
  CHECK_OK(write_part(part_path(3), 2, 3, "ccc", 3));
  for (int i = 0; i <= 3; i++) {
    CHECK_OK(rlx_file_open(i ? part_path(i) : folder_name(), NULL, &f));
    CHECK(rlx_file_part_count(f) == 3 && rlx_file_tensor_count(f) == 3);
    CHECK(rlx_file_meta_find(f, "general.name", &m));
    CHECK_EQ_STR(m.text, "a");
    const rlx_file_tensor *t = rlx_file_tensor_find(f, "ccc");
    CHECK(t && t->part == 2);
    CHECK_OK(rlx_file_read_tensor(f, t, 0, bytes, 4));
    CHECK_EQ_STR(bytes, "ccc");
    rlx_file_close(f);
  }
}

TEST(a_split_model_that_is_not_whole) {
  CHECK(folder_begin());
  rlx_file *f;
  CHECK_OK(write_part(part_path(1), 0, 3, "aaa", 3));
  CHECK_OK(write_part(part_path(3), 2, 3, "ccc", 3));
  CHECK_FAILS(rlx_file_open(part_path(1), NULL, &f), RLX_NOT_FOUND, "part 2 of 3 is missing");
  CHECK(strstr(rlx_message(), "m-00002-of-00003.gguf"));
  CHECK_OK(write_part(part_path(2), 2, 3, "bbb", 3));
  CHECK_FAILS(rlx_file_open(part_path(1), NULL, &f), RLX_INVALID, "part 2 of 3, by its metadata 3 of 3");
  CHECK_OK(write_part(part_path(2), 1, 4, "bbb", 3));
  CHECK_FAILS(rlx_file_open(part_path(3), NULL, &f), RLX_INVALID, "by its metadata 2 of 4");
  CHECK_OK(write_part(part_path(2), 5, 3, "bbb", 3));
  CHECK_FAILS(rlx_file_open(part_path(3), NULL, &f), RLX_INVALID, "split.no 5 is not a part of split.count 3");
  CHECK_OK(write_part(part_path(2), 1, 3, "aaa", 3));
  CHECK_FAILS(rlx_file_open(part_path(2), NULL, &f), RLX_INVALID, "the tensor 'aaa' is there twice");
  CHECK_OK(write_part(part_path(1), 0, 3, "ddd", 4));
  CHECK_FAILS(rlx_file_open(part_path(2), NULL, &f), RLX_INVALID, "have 3 tensors, but split.tensors.count is 4");
  CHECK(rename(part_path(1), folder_path("first.gguf")) == 0);
  CHECK_FAILS(rlx_file_open(folder_path("first.gguf"), NULL, &f), RLX_INVALID, "should end in '-00001-of-00003.gguf'");
  CHECK_FAILS(rlx_file_open(part_path(2), NULL, &f), RLX_NOT_FOUND, "part 1 of 3 is missing");
}

/* ---- Converting ---- */

enum { ROWS = 4, COLUMNS = 512 };

static rlx_status write_model(const char *name) {
  static float values[ROWS * COLUMNS];
  rlx_file_writer *w;
  for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = sinf((float)i * 0.37f) * 0.1f;
  RLX_TRY(rlx_file_writer_create(folder_path(name), &w));
  rlx_status s = rlx_file_writer_meta(w, &metas[0]);
  if (!s) s = rlx_file_writer_tensor(w, "w.weight", RLX_F32, RLX_DIMS(ROWS, COLUMNS));
  if (!s) s = rlx_file_writer_tensor(w, "odd.weight", RLX_F32, RLX_DIMS(ROWS, 96));
  if (!s) s = rlx_file_writer_tensor(w, "narrow.weight", RLX_F32, RLX_DIMS(ROWS, 5));
  if (!s) s = rlx_file_writer_tensor(w, "output.weight", RLX_F32, RLX_DIMS(ROWS, COLUMNS));
  if (!s) s = rlx_file_writer_tensor(w, "blk.0.attn_norm.weight", RLX_F32, RLX_DIMS(COLUMNS));
  if (!s) s = rlx_file_writer_tensor(w, "ids", RLX_I64, RLX_DIMS(2));
  if (!s) s = rlx_file_writer_bytes(w, values, sizeof values);
  if (!s) s = rlx_file_writer_bytes(w, values, (size_t)ROWS * 96 * 4);
  if (!s) s = rlx_file_writer_bytes(w, values, (size_t)ROWS * 5 * 4);
  if (!s) s = rlx_file_writer_bytes(w, values, sizeof values);
  if (!s) s = rlx_file_writer_bytes(w, values, COLUMNS * sizeof *values);
  if (!s) s = rlx_file_writer_bytes(w, values, 16);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static void count_reported(void *user, const char *tensor, rlx_dtype wanted, rlx_dtype given) {
  *(int *)user += tensor[0] != 'w' && wanted != given;
}

static rlx_status convert(const char *from, const char *to, const char *type, bool pure, int *n_reported) {
  rlx_file *f;
  *n_reported = 0;
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .type = type,      .pure = pure, .n_threads = 2,
                           .report = count_reported, .user = n_reported};
  RLX_TRY(rlx_file_open(folder_path(from), NULL, &f));
  rlx_status s = rlx_file_convert(f, folder_path(to), &o);
  rlx_file_close(f);
  return s;
}

TEST(types_of_a_converted_file) {
  CHECK(folder_begin());
  static const struct {
    const char *type;
    bool pure;
    const char *w, *odd, *narrow, *output;
    int n_reported, file_type;
  } cases[] = {
    {NULL, false, "f32", "f32", "f32", "f32", 0, -1},        {"f16", false, "f16", "f16", "f16", "f16", 0, 1},
    {"bf16", false, "bf16", "bf16", "bf16", "bf16", 0, 32},  {"q8_0", false, "q8_0", "q8_0", "f16", "q8_0", 1, 7},
    {"q4_0", false, "q4_0", "q4_0", "f16", "q6_k", 1, 2},    {"q4_0", true, "q4_0", "q4_0", "f16", "q4_0", 1, 2},
    {"q4_k", false, "q4_k", "q5_0", "f16", "q6_k", 2, 15},   {"q4_k", true, "q4_k", "q5_0", "f16", "q4_k", 2, 15},
    {"q2_k", false, "q2_k", "iq4_nl", "f16", "q6_k", 2, 10}, {"q6_k", false, "q6_k", "q8_0", "f16", "q6_k", 2, 18},
  };
  CHECK_OK(write_model("m.safetensors"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_file *f;
    rlx_meta m;
    int n_reported;
    CHECK_OK(convert("m.safetensors", "m.gguf", cases[i].type, cases[i].pure, &n_reported));
    CHECK_EQ_INT(n_reported, cases[i].n_reported);
    CHECK_OK(rlx_file_open(folder_path("m.gguf"), NULL, &f));
    CHECK_EQ_STR(rlx_dtype_describe(rlx_file_tensor_find(f, "w.weight")->dtype)->name, cases[i].w);
    CHECK_EQ_STR(rlx_dtype_describe(rlx_file_tensor_find(f, "odd.weight")->dtype)->name, cases[i].odd);
    CHECK_EQ_STR(rlx_dtype_describe(rlx_file_tensor_find(f, "narrow.weight")->dtype)->name, cases[i].narrow);
    CHECK_EQ_STR(rlx_dtype_describe(rlx_file_tensor_find(f, "output.weight")->dtype)->name, cases[i].output);
    CHECK(rlx_file_tensor_find(f, "blk.0.attn_norm.weight")->dtype == RLX_F32);
    CHECK(rlx_file_tensor_find(f, "ids")->dtype == RLX_I64);
    CHECK(rlx_file_meta_find(f, "text", &m));
    CHECK_EQ_INT(rlx_file_meta_find(f, "general.file_type", &m) ? m.integer : -1, cases[i].file_type);
    CHECK_OK(rlx_file_check(f, NULL, NULL));
    rlx_file_close(f);
  }
}

/* Encoded here, and by hand. */
TEST(values_of_a_converted_file) {
  CHECK(folder_begin());
  static float values[ROWS * COLUMNS];
  static unsigned char expected[sizeof values], found[sizeof values];
  int n_reported;
  for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = sinf((float)i * 0.37f) * 0.1f;
  CHECK_OK(write_model("m.gguf"));
  for (int d = 0; d < RLX_DTYPE_COUNT; d++) {
    rlx_file *f;
    if (!rlx_dtype_is_block((rlx_dtype)d)) continue;
    CHECK_OK(convert("m.gguf", "q.gguf", rlx_dtype_describe((rlx_dtype)d)->name, true, &n_reported));
    CHECK_OK(rlx_file_open(folder_path("q.gguf"), NULL, &f));
    const rlx_file_tensor *t = rlx_file_tensor_find(f, "w.weight");
    CHECK(t->dtype == (rlx_dtype)d);
    CHECK_OK(rlx_quant_encode(t->dtype, values, expected, ROWS * COLUMNS));
    CHECK_OK(rlx_file_read_tensor(f, t, 0, found, t->bytes));
    CHECK(memcmp(found, expected, t->bytes) == 0);
    rlx_file_close(f);
    CHECK_OK(convert("q.gguf", "q.safetensors", NULL, false, &n_reported)); /* blocks become f16 */
    CHECK_OK(rlx_file_open(folder_path("q.safetensors"), NULL, &f));
    CHECK(rlx_file_tensor_find(f, "w.weight")->dtype == RLX_F16);
    rlx_file_close(f);
  }
}

/* GGUF -> safetensors -> GGUF: values and their types come back. */
TEST(metadata_survives_the_way_there_and_back) {
  CHECK(folder_begin());
  static const rlx_meta floats[] = {{.type = "f32", .kind = RLX_META_FLOAT, .number = -INFINITY},
                                    {.type = "f32", .kind = RLX_META_FLOAT, .number = 0.25}};
  static const rlx_meta flags[] = {{.kind = RLX_META_BOOL, .integer = 1}, {.kind = RLX_META_BOOL}};
  rlx_meta given[N_METAS + 1];
  size_t n = 0;
  int n_reported;
  for (size_t i = 0; i < N_METAS; i++)
    if (i != 9 && i != 11) given[n++] = metas[i]; /* a text with a NUL; lists in a list */
  given[n++] = (rlx_meta){.key = "no_floats", .type = NULL, .kind = RLX_META_LIST, .n = 0, .opaque = floats};
  given[n++] = (rlx_meta){.key = "floats", .kind = RLX_META_LIST, .n = 2, .opaque = floats};
  given[n++] = (rlx_meta){.key = "flags", .kind = RLX_META_LIST, .n = 2, .opaque = flags};
  rlx_file_writer *w;
  CHECK_OK(rlx_file_writer_create(folder_path("a.gguf"), &w));
  for (size_t i = 0; i < n; i++) CHECK_OK(rlx_file_writer_meta(w, &given[i]));
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_OK(convert("a.gguf", "b.safetensors", NULL, false, &n_reported));
  rlx_file *f; /* who opens it sees what the GGUF had */
  rlx_meta m;
  CHECK_OK(rlx_file_open(folder_path("b.safetensors"), NULL, &f));
  CHECK_EQ_INT(rlx_file_meta_count(f), n);
  for (size_t i = 0; i < n; i++) CHECK(rlx_file_meta_find(f, given[i].key, &m) && same(&given[i], &m));
  rlx_file_close(f);
  CHECK_OK(convert("b.safetensors", "c.gguf", NULL, false, &n_reported));
  static unsigned char a[4096], b[4096];
  size_t bytes = read_bytes(folder_path("a.gguf"), a, sizeof a);
  CHECK(bytes > 0 && bytes == read_bytes(folder_path("c.gguf"), b, sizeof b) && memcmp(a, b, bytes) == 0);
}

TEST(types_that_a_file_reports_wrongly) {
  CHECK(folder_begin());
  static const struct {
    const char *types, *value, *part;
  } wrong[] = {{"{\"k\":\"u32\"}", "abc", "the metadata 'k': JSON, byte 3: invalid token"},
               {"{\"k\":\"u32\"}", "", "the metadata 'k': JSON"},
               {"{\"k\":\"u32\"}", "1.5", "expected a u32, got a fraction"},
               {"{\"k\":\"u8\"}", "256", "256 does not fit u8"},
               {"{\"k\":\"u64\"}", "18446744073709551616", "expected a u64"},
               {"{\"k\":\"u64\"}", "-1", "expected a u64"},
               {"{\"k\":\"bool\"}", "1", "expected a bool, got an integer"},
               {"{\"k\":\"f32\"}", "\"x\"", "expected a f32, got a string"},
               {"{\"k\":\"array of u32\"}", "[1,\"2\"]", "element 1: expected a u32, got a string"},
               {"{\"k\":\"array of u32\"}", "{}", "expected '['"},
               {"{\"k\":\"array of u32\"}", "[1,2", "expected ',' or ']', got the end"},
               {"{\"k\":\"array of u32\"}", "[1]]", "nothing after the last ']'"},
               {"{\"k\":\"array of array\"}", "[]", "'array' is no type"},
               {"{\"k\":\"u33\"}", "1", "'u33' is no type"},
               {"{\"k\":7}", "1", "expected a type's name, got an integer"},
               {"{\"k\":\"u8\",\"k\":\"u8\"}", "1", "the key 'k' twice"},
               {"{\"k\"", "1", "the metadata 'rlx.types': JSON"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    rlx_file_writer *w;
    int n_reported;
    rlx_meta t = {.key = "rlx.types", .kind = RLX_META_TEXT, .n = strlen(wrong[i].types), .text = wrong[i].types};
    rlx_meta k = {.key = "k", .kind = RLX_META_TEXT, .n = strlen(wrong[i].value), .text = wrong[i].value};
    CHECK_OK(rlx_file_writer_create(folder_path("a.safetensors"), &w));
    CHECK_OK(rlx_file_writer_meta(w, &t));
    CHECK_OK(rlx_file_writer_meta(w, &k));
    CHECK_OK(rlx_file_writer_finish(w));
    rlx_file_writer_destroy(w);
    CHECK_FAILS(convert("a.safetensors", "b.gguf", NULL, false, &n_reported), RLX_INVALID, wrong[i].part);
  }
  CHECK_EQ_INT(folder_count(), 1);
}

static bool stop(void *user) { return ++*(int *)user == 3; }

TEST(what_cannot_be_converted) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_file_writer *w;
  int n_reported, calls = 0;
  static const float large[32] = {1e5f}, infinite[32] = {INFINITY};
  CHECK_OK(write_model("m.gguf"));
  CHECK_FAILS(convert("m.gguf", "q.safetensors", "q4_k", false, &n_reported), RLX_UNSUPPORTED,
              "safetensors has no type for q4_k");
  CHECK_FAILS(convert("m.gguf", "q.gguf", "q9", false, &n_reported), RLX_INVALID, "no type 'q9'");
  CHECK_FAILS(convert("m.gguf", "q.gguf", "i8", false, &n_reported), RLX_INVALID, "got i8");
  CHECK_FAILS(convert("m.gguf", "q.bin", NULL, false, &n_reported), RLX_INVALID, "ends in .gguf or .safetensors");
  CHECK_OK(rlx_file_writer_create(folder_path("l.gguf"), &w));
  CHECK_OK(rlx_file_writer_tensor(w, "large", RLX_F32, RLX_DIMS(1, 32)));
  CHECK_OK(rlx_file_writer_tensor(w, "infinite", RLX_F32, RLX_DIMS(1, 32)));
  CHECK_OK(rlx_file_writer_bytes(w, large, sizeof large));
  CHECK_OK(rlx_file_writer_bytes(w, infinite, sizeof infinite));
  CHECK_OK(rlx_file_writer_finish(w));
  rlx_file_writer_destroy(w);
  CHECK_FAILS(convert("l.gguf", "q.gguf", "f16", false, &n_reported), RLX_INVALID,
              "tensor 'large' holds numbers above 65504");
  CHECK_FAILS(convert("l.gguf", "q.gguf", "q8_0", false, &n_reported), RLX_INVALID,
              "tensor 'infinite' holds numbers that are not");
  CHECK_OK(rlx_file_open(folder_path("m.gguf"), NULL, &f));
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .watch = {.cancel = stop, .user = &calls}};
  CHECK_FAILS(rlx_file_convert(f, folder_path("q.gguf"), &o), RLX_CANCELLED, "");
  CHECK_FAILS(rlx_file_convert(f, folder_path("q.gguf"), &(rlx_convert_options){0}), RLX_INVALID, "struct_bytes");
  CHECK_FAILS(rlx_file_convert(f, NULL, NULL), RLX_INVALID, "path is NULL");
  rlx_file_close(f);
  CHECK_EQ_INT(folder_count(), 2);
}

/* ---- Memory ---- */

static rlx_status write_and_convert(void *user) {
  (void)user;
  int n_reported;
  RLX_TRY(write_model("m.gguf"));
  return convert("m.gguf", "m.safetensors", "f16", false, &n_reported);
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  CHECK_OK(alloc_sweep(write_and_convert, NULL));
  CHECK_EQ_INT(folder_count(), 2);
}
