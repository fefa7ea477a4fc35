/* GGUF files: valid ones read back exactly, and every invalid one is refused with a specific message at little cost. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(_WIN32)
#define truncate truncate64 /* for sizes above 2 GiB */
#endif

#include "faults.h"
#include "folder.h"
#include "io/file.h"
#include "ir/dtype.h"
#include "lm_image.h"
#include "rlx/lm.h"
#include "test.h"

static lm_image image;
static size_t at[LM_PLACES];

/* What an open may cost: bytes asked of the heap, counted by the hook. */
static bool count_bytes(void *user, size_t bytes) {
  *(size_t *)user += bytes;
  return true;
}

static rlx_status open_image(rlx_file **f) {
  *f = NULL;
  return lm_image_write(&image, folder_path("x.gguf"), image.n) ? rlx_file_open(folder_path("x.gguf"), NULL, f)
                                                                : RLX_IO;
}

/* Opens what must not open: in time, in little memory, with a message, leaving nothing. */
#define CHECK_REFUSED(code, part)                                                                                 \
  do {                                                                                                            \
    rlx_file *refused_;                                                                                           \
    size_t asked_ = 0, live_ = rlx_mem_live();                                                                    \
    clock_t start_ = clock();                                                                                     \
    rlx_mem_set_hook(count_bytes, &asked_);                                                                       \
    rlx_status refused_status_ = open_image(&refused_);                                                           \
    rlx_mem_set_hook(NULL, NULL);                                                                                 \
    CHECK_FAILS(refused_status_, code, part);                                                                     \
    CHECK(refused_ == NULL && rlx_mem_live() == live_);                                                           \
    CHECK(asked_ < (64u << 20) + image.n && (TEST_IS_WASM || (double)(clock() - start_) / CLOCKS_PER_SEC < 1.0)); \
    CHECK(strstr(rlx_message(), "x.gguf"));                                                                       \
  } while (0)

/* ---- What should work ---- */

TEST(a_file_reads_as_it_stands) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m, e;
  for (uint64_t version = 2; version <= 3; version++) {
    lm_image_gguf(&image, at);
    lm_image_poke(&image, at[AT_VERSION], version, 4);
    CHECK_OK(open_image(&f));
    CHECK_EQ_STR(rlx_file_format(f), version == 2 ? "GGUF v2" : "GGUF v3");
    CHECK_EQ_INT(rlx_file_part_count(f), 1);
    CHECK_EQ_STR(rlx_file_part_at(f, 0), folder_path("x.gguf"));
    CHECK(rlx_file_part_at(f, 1) == NULL);
    CHECK_EQ_INT(rlx_file_meta_count(f), 5);
    CHECK(rlx_file_meta_find(f, "a.text", &m) && m.kind == RLX_META_TEXT && m.n == 5);
    CHECK_EQ_STR(m.text, "hello");
    CHECK_EQ_STR(m.type, "string");
    CHECK(rlx_file_meta_find(f, "a.list", &m) && m.kind == RLX_META_LIST && m.elements == RLX_META_TEXT && m.n == 2);
    CHECK_EQ_STR(m.type, "array of string");
    CHECK(rlx_meta_element(&m, 1, &e) && e.kind == RLX_META_TEXT);
    CHECK_EQ_STR(e.text, "yy");
    CHECK(!rlx_meta_element(&m, 2, &e) && e.kind == RLX_META_NONE);
    CHECK(rlx_file_meta_find(f, "a.flag", &m) && m.kind == RLX_META_BOOL && m.integer == 1);
    CHECK(rlx_file_meta_at(f, 4, &m) && m.kind == RLX_META_FLOAT && m.number == 0.5);
    CHECK_EQ_STR(m.key, "a.last");
    CHECK(!rlx_file_meta_at(f, 5, &m) && !rlx_file_meta_find(f, "a.tex", &m) && m.kind == RLX_META_NONE);
    rlx_file_close(f);
  }
}

TEST(tensors_are_found_and_read) {
  CHECK(folder_begin());
  rlx_file *f;
  float values[64];
  unsigned char blocks[68];
  lm_image_gguf(&image, at);
  CHECK_OK(open_image(&f));
  CHECK_EQ_INT(rlx_file_tensor_count(f), 2);
  CHECK(rlx_file_tensor_at(f, 2) == NULL && rlx_file_tensor_find(f, "t2") == NULL);
  const rlx_file_tensor *t = rlx_file_tensor_find(f, "t0");
  CHECK(t && t == rlx_file_tensor_at(f, 0) && t->dtype == RLX_F32 && t->shape.n == 2);
  CHECK(t->shape.v[0] == 2 && t->shape.v[1] == 32 && t->bytes == 256 && t->offset == at[AT_DATA]);
  CHECK_OK(rlx_file_read_tensor(f, t, 0, values, sizeof values));
  CHECK(memcmp(values, image.v + at[AT_DATA], sizeof values) == 0);
  CHECK_OK(rlx_file_read_tensor(f, t, 252, values, 4));
  CHECK(memcmp(values, image.v + at[AT_DATA] + 252, 4) == 0);
  CHECK_FAILS(rlx_file_read_tensor(f, t, 252, values, 8), RLX_INVALID,
              "tensor 't0' has 256 bytes, asked for 8 from 252");
  CHECK_FAILS(rlx_file_read_tensor(f, t, SIZE_MAX, values, 2), RLX_INVALID, "asked for");
  t = rlx_file_tensor_find(f, "t1");
  CHECK(t && t->dtype == RLX_Q8_0 && t->bytes == 68);
  CHECK_OK(rlx_file_read_tensor(f, t, 0, blocks, sizeof blocks));
  CHECK(memcmp(blocks, image.v + at[AT_DATA2], sizeof blocks) == 0);
  rlx_file_tensor foreign = *t;
  foreign.offset = UINT64_MAX - 3;
  CHECK_FAILS(rlx_file_read_tensor(f, &foreign, 0, blocks, 1), RLX_INVALID, "not of this file");
  CHECK_OK(rlx_file_check(f, NULL, NULL));
  rlx_file_close(f);
}

/* One key of each type, its least and greatest value. */
TEST(every_type_of_value) {
  CHECK(folder_begin());
  static const struct {
    unsigned type;
    size_t bytes;
    uint64_t bits;
    const char *name;
    rlx_meta_kind kind;
    int64_t integer;
    double number;
  } cases[] = {
    {0, 1, 255, "u8", RLX_META_INT, 255, 255},
    {1, 1, 128, "i8", RLX_META_INT, -128, -128},
    {2, 2, 65535, "u16", RLX_META_INT, 65535, 65535},
    {3, 2, 0x8000, "i16", RLX_META_INT, -32768, -32768},
    {4, 4, UINT32_MAX, "u32", RLX_META_INT, UINT32_MAX, UINT32_MAX},
    {5, 4, 0x80000000, "i32", RLX_META_INT, INT32_MIN, INT32_MIN},
    {6, 4, 0xbf800000, "f32", RLX_META_FLOAT, 0, -1},
    {7, 1, 0, "bool", RLX_META_BOOL, 0, 0},
    {10, 8, INT64_MAX, "u64", RLX_META_INT, INT64_MAX, 0x1p63},
    {10, 8, (uint64_t)1 << 63, "u64", RLX_META_FLOAT, 0, 0x1p63},
    {11, 8, (uint64_t)1 << 63, "i64", RLX_META_INT, INT64_MIN, -0x1p63},
    {12, 8, 0xc000000000000000, "f64", RLX_META_FLOAT, 0, -2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int is_list = 0; is_list < 2; is_list++) {
      rlx_file *f;
      rlx_meta m;
      char type[32];
      image.n = 0;
      lm_image_bytes(&image, "GGUF\3\0\0", 8);
      lm_image_number(&image, 0, 8);
      lm_image_number(&image, 1, 8);
      lm_image_text(&image, "k");
      if (is_list) lm_image_number(&image, 9, 4);
      lm_image_number(&image, cases[i].type, 4);
      if (is_list) lm_image_number(&image, 3, 8);
      if (is_list) lm_image_number(&image, 0, 2 * cases[i].bytes);
      lm_image_number(&image, cases[i].bits, cases[i].bytes);
      CHECK_OK(open_image(&f));
      CHECK(rlx_file_meta_find(f, "k", &m));
      snprintf(type, sizeof type, "%s%s", is_list ? "array of " : "", cases[i].name);
      CHECK_EQ_STR(m.type, type);
      if (is_list) CHECK(m.n == 3 && rlx_meta_element(&m, 2, &m));
      CHECK_EQ_INT(m.kind, cases[i].kind);
      CHECK_EQ_INT(m.integer, cases[i].integer);
      CHECK(m.number == cases[i].number);
      rlx_file_close(f);
    }
  }
}

static void begin_one_list(void) {
  image.n = 0;
  lm_image_bytes(&image, "GGUF\3\0\0", 8);
  lm_image_number(&image, 0, 8);
  lm_image_number(&image, 1, 8);
  lm_image_text(&image, "k");
  lm_image_number(&image, 9, 4);
}

/* Elements are found in any order, also where texts are empty or hold NULs. */
TEST(long_lists_of_texts) {
  CHECK(folder_begin());
  enum { N = 20000 };
  rlx_file *f;
  rlx_meta m, e;
  begin_one_list();
  lm_image_number(&image, 8, 4);
  lm_image_number(&image, N, 8);
  for (int i = 0; i < N; i++) {
    size_t n = (size_t)(i * 7 % 30);
    lm_image_number(&image, n, 8);
    for (size_t k = 0; k < n; k++) image.v[image.n++] = (unsigned char)(i + (int)k);
  }
  CHECK_OK(open_image(&f));
  CHECK(rlx_file_meta_find(f, "k", &m) && m.n == N);
  for (int step = 1; step < 1000; step += 331)
    for (int k = 0, i = 0; k < 2000; k++, i = (i + step * 17) % N) {
      CHECK(rlx_meta_element(&m, (size_t)i, &e) && e.n == (size_t)(i * 7 % 30) && e.text[e.n] == '\0');
      for (size_t b = 0; b < e.n; b++) CHECK((unsigned char)e.text[b] == (unsigned char)(i + (int)b));
    }
  CHECK(!rlx_meta_element(&m, N, &e) && !rlx_meta_element(&m, SIZE_MAX, &e));
  rlx_file_close(f);
}

static void put_list(const char *key, uint64_t type, int n) {
  lm_image_text(&image, key);
  lm_image_number(&image, 9, 4);
  lm_image_number(&image, type, 4);
  lm_image_number(&image, (uint64_t)n, 8);
  for (int i = 0; i < n && type == 8; i++) lm_image_text(&image, "word");
  for (int i = 0; i < n && type == 5; i++) lm_image_number(&image, (uint64_t)i, 4);
}

/* Long lists are dropped to save memory: what lies between and after them stays. */
TEST(lists_that_are_dropped) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m, e;
  image.n = 0;
  lm_image_bytes(&image, "GGUF\3\0\0", 8);
  lm_image_number(&image, 0, 8);
  lm_image_number(&image, 5, 8);
  put_list("words", 8, 10000);
  put_list("few words", 8, 3);
  put_list("numbers", 5, 20000);
  put_list("few numbers", 5, 3);
  put_list("words again", 8, 5000);
  CHECK_OK(open_image(&f));
  for (int round = 0; round < 2; round++) {
    file_drop_lists(f);
    CHECK_EQ_INT(rlx_file_meta_count(f), 5);
    CHECK(rlx_file_meta_find(f, "words", &m) && m.n == 0 && !rlx_meta_element(&m, 0, &e));
    CHECK(rlx_file_meta_find(f, "numbers", &m) && m.n == 0 && !rlx_meta_element(&m, 0, &e));
    CHECK(rlx_file_meta_find(f, "words again", &m) && m.n == 0);
    CHECK(rlx_file_meta_find(f, "few words", &m) && m.n == 3 && rlx_meta_element(&m, 2, &e));
    CHECK_EQ_STR(e.text, "word");
    CHECK(rlx_file_meta_find(f, "few numbers", &m) && m.n == 3 && rlx_meta_element(&m, 2, &e) && e.integer == 2);
  }
  rlx_file_close(f);
}

/* [[1, 2], [], [3]] and [["a"], ["b", "c"]] */
TEST(lists_in_lists) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m, e;
  static const int lengths[] = {2, 0, 1};
  begin_one_list();
  lm_image_number(&image, 9, 4);
  lm_image_number(&image, 3, 8);
  for (int i = 0, value = 1; i < 3; i++) {
    lm_image_number(&image, 5, 4);
    lm_image_number(&image, (uint64_t)lengths[i], 8);
    for (int k = 0; k < lengths[i]; k++) lm_image_number(&image, (uint64_t)value++, 4);
  }
  CHECK_OK(open_image(&f));
  CHECK(rlx_file_meta_find(f, "k", &m) && m.elements == RLX_META_LIST && m.n == 3);
  CHECK_EQ_STR(m.type, "array of array");
  for (size_t i = 0; i < 3; i++)
    CHECK(rlx_meta_element(&m, i, &e) && e.n == (size_t)lengths[i] && e.elements == RLX_META_INT);
  CHECK(rlx_meta_element(&e, 0, &e) && e.integer == 3);
  rlx_file_close(f);
  begin_one_list();
  lm_image_number(&image, 9, 4);
  lm_image_number(&image, 2, 8);
  lm_image_number(&image, 8, 4);
  lm_image_number(&image, 1, 8);
  lm_image_text(&image, "a");
  lm_image_number(&image, 8, 4);
  lm_image_number(&image, 2, 8);
  lm_image_text(&image, "b");
  lm_image_text(&image, "c");
  CHECK_OK(open_image(&f));
  CHECK(rlx_file_meta_find(f, "k", &m) && rlx_meta_element(&m, 1, &e) && e.n == 2 && rlx_meta_element(&e, 1, &e));
  CHECK_EQ_STR(e.text, "c");
  rlx_file_close(f);
}

/* ---- What must be refused ---- */

TEST(every_truncation) {
  CHECK(folder_begin());
  for (size_t n = 0;; n++) {
    lm_image_gguf(&image, at);
    if (n == at[AT_END]) break;
    image.n = n;
    CHECK_REFUSED(RLX_INVALID, n >= at[AT_DATA] ? "go past the file's end" : "file");
  }
  rlx_file *f;
  image.n = at[AT_END]; /* padding after the last tensor may be missing */
  CHECK_OK(open_image(&f));
  rlx_file_close(f);
}

#define TOP 0xffffffffffffffffu

/* clang-format off */
static const struct {
  lm_place place;
  size_t bytes;
  uint64_t value;
  rlx_status code;
  const char *part;
} bad[] = {
  {AT_MAGIC, 4, 0x47475547, RLX_INVALID, "not 'GGUF'"},
  {AT_MAGIC, 4, 0x47475546, RLX_UNSUPPORTED, "big-endian"},
  {AT_VERSION, 4, 0, RLX_INVALID, "expected version 2 or 3 of GGUF, got 0"},
  {AT_VERSION, 4, 1, RLX_UNSUPPORTED, "expected version 2 or 3 of GGUF, got 1"},
  {AT_VERSION, 4, 4, RLX_UNSUPPORTED, "got 4"},
  {AT_VERSION, 4, 0xffffffff, RLX_UNSUPPORTED, "got 4294967295"},
  {AT_VERSION, 4, 0x03000000, RLX_UNSUPPORTED, "big-endian"},
  {AT_TENSORS, 8, (uint64_t)1 << 63, RLX_INVALID, "9223372036854775808 tensors at byte"},
  {AT_TENSORS, 8, TOP, RLX_INVALID, "18446744073709551615 tensors at byte"},
  {AT_TENSORS, 8, 1000, RLX_INVALID, "1000 tensors at byte"},
  {AT_TENSORS, 8, 3, RLX_INVALID, "tensor 2"},
  {AT_KEYS, 8, (uint64_t)1 << 63, RLX_INVALID, "9223372036854775808 keys at byte"},
  {AT_KEYS, 8, TOP, RLX_INVALID, "18446744073709551615 keys at byte"},
  {AT_KEYS, 8, 1000, RLX_INVALID, "1000 keys at byte"},
  {AT_KEYS, 8, 6, RLX_INVALID, "tensor 0: a tensor's name of 562949953421312 bytes"},
  {AT_KEY_LENGTH, 8, TOP, RLX_INVALID, "a key of 18446744073709551615 bytes"},
  {AT_KEY_LENGTH, 8, 5000, RLX_INVALID, "a key of 5000 bytes"},
  {AT_KEY_LENGTH, 8, 0, RLX_INVALID, "a key is empty"},
  {AT_KEY, 1, 0, RLX_INVALID, "a key holds a NUL"},
  {AT_KEY, 1, 0xff, RLX_INVALID, "a key is not UTF-8"},
  {AT_LAST_KEY, 6, 0x67616c662e61, RLX_INVALID, "the key 'a.flag' twice"},
  {AT_TEXT_TYPE, 4, 13, RLX_INVALID, "key 'a.text': expected a value type below 13, got 13"},
  {AT_TEXT_TYPE, 4, 255, RLX_INVALID, "got 255"},
  {AT_TEXT_TYPE, 4, 0xffffffff, RLX_INVALID, "got 4294967295"},
  {AT_TEXT_LENGTH, 8, TOP, RLX_INVALID, "key 'a.text': a text of 18446744073709551615 bytes"},
  {AT_TEXT_LENGTH, 8, 5000, RLX_INVALID, "key 'a.text': a text of 5000 bytes"},
  {AT_LIST_TYPE, 4, 13, RLX_INVALID, "key 'a.list': expected a value type below 13"},
  {AT_LIST_LENGTH, 8, (uint64_t)1 << 62, RLX_INVALID, "4611686018427387904 elements of a list"},
  {AT_LIST_LENGTH, 8, TOP, RLX_INVALID, "18446744073709551615 elements of a list"},
  {AT_LIST_LENGTH, 8, 100, RLX_INVALID, "100 elements of a list"},
  {AT_ELEMENT_LENGTH, 8, TOP, RLX_INVALID, "element 0: a text of 18446744073709551615 bytes"},
  {AT_FLAG, 1, 2, RLX_INVALID, "key 'a.flag': expected a bool, 0 or 1, got 2"},
  {AT_FLAG, 1, 255, RLX_INVALID, "got 255"},
  {AT_ALIGN, 4, 0, RLX_INVALID, "general.alignment, got 0"},
  {AT_ALIGN, 4, 3, RLX_INVALID, "general.alignment, got 3"},
  {AT_ALIGN, 4, 4, RLX_INVALID, "general.alignment, got 4"},
  {AT_ALIGN, 4, 1 << 30, RLX_INVALID, "general.alignment, got 1073741824"},
  {AT_ALIGN, 4, 0x80000000, RLX_INVALID, "general.alignment, got 2147483648"},
  {AT_ALIGN, 4, 1 << 20, RLX_INVALID, "go past the file's end"},
  {AT_ALIGN_TYPE, 4, 5, RLX_INVALID, "a u32 for general.alignment, got i32"},
  {AT_NAME_LENGTH, 8, TOP, RLX_INVALID, "a tensor's name of 18446744073709551615 bytes"},
  {AT_NAME_LENGTH, 8, 0, RLX_INVALID, "a tensor's name is empty"},
  {AT_NAME, 1, 0, RLX_INVALID, "a tensor's name holds a NUL"},
  {AT_NAME, 1, 0xc0, RLX_INVALID, "a tensor's name is not UTF-8"},
  {AT_NAME2, 2, 0x3074, RLX_INVALID, "the tensor 't0' is there twice"},
  {AT_RANK, 4, 0, RLX_INVALID, "tensor 't0': expected 1 to 4 sizes, got 0"},
  {AT_RANK, 4, 5, RLX_INVALID, "got 5"},
  {AT_RANK, 4, 0xffffffff, RLX_INVALID, "got 4294967295"},
  {AT_SIZE0, 8, 0, RLX_INVALID, "tensor 't0': expected sizes from 1 on, got 0"},
  {AT_SIZE0, 8, TOP, RLX_INVALID, "got 18446744073709551615"},
  {AT_SIZE0, 8, (uint64_t)1 << 63, RLX_INVALID, "got 9223372036854775808"},
  {AT_SIZE1, 8, (uint64_t)1 << 63, RLX_INVALID, "got 9223372036854775808"},
  {AT_SIZE0, 8, (uint64_t)1 << 62, RLX_INVALID, "overflow"},
  {AT_SIZE1, 8, (uint64_t)1 << 58, RLX_INVALID, "overflow"},
  {AT_SIZE0, 8, 0x7fffffffffffffff, RLX_INVALID, "overflow"},
  {AT_SIZE1, 8, 3, RLX_INVALID, "tensor 't0': its 384 bytes from offset 0 on go past"},
  {AT_TYPE, 4, 4, RLX_UNSUPPORTED, "tensor 't0': tensor type 4 (q4_2) was withdrawn"},
  {AT_TYPE, 4, 31, RLX_UNSUPPORTED, "type 31 (q4_0_4_4) was withdrawn"},
  {AT_TYPE, 4, 38, RLX_UNSUPPORTED, "was withdrawn"},
  {AT_TYPE, 4, 16, RLX_INVALID, "tensor 't0': the last axis of iq2_xxs[2,32] is not a multiple of the block of 256"},
  {AT_TYPE, 4, 99, RLX_UNSUPPORTED, "tensor type 99 is not known"},
  {AT_TYPE, 4, 0xffffffff, RLX_UNSUPPORTED, "tensor type 4294967295 is not known"},
  {AT_SIZE2, 8, 33, RLX_INVALID, "tensor 't1': the last axis of q8_0[33] is not a multiple of the block of 32"},
  {AT_TYPE2, 4, 12, RLX_INVALID, "not a multiple of the block of 256"},
  {AT_OFFSET2, 8, 260, RLX_INVALID, "tensor 't1': offset 260 is not a multiple of the alignment of 32"},
  {AT_OFFSET2, 8, 224, RLX_INVALID, "tensor 't1' at byte"},
  {AT_OFFSET, 8, 256, RLX_INVALID, "go past the file's end"},
  {AT_OFFSET2, 8, 1 << 20, RLX_INVALID, "tensor 't1': its 68 bytes from offset 1048576 on go past the file's end"},
  {AT_OFFSET2, 8, TOP - 31, RLX_INVALID, "from offset 18446744073709551584 on go past"},
};
/* clang-format on */

TEST(bad_fields) {
  CHECK(folder_begin());
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    lm_image_gguf(&image, at);
    lm_image_poke(&image, at[bad[i].place], bad[i].value, bad[i].bytes);
    CHECK_REFUSED(bad[i].code, bad[i].part);
  }
}

/* A type that RLX does not have is no reason not to look; all that needs the numbers is refused by name. */
TEST(types_to_look_at) {
  CHECK(folder_begin());
  static const struct {
    uint32_t code;
    size_t row; /* elements, of one row of t1 */
    const char *name;
    size_t bytes;
  } types[] = {{9, 64, "q8_1", 72}, {41, 256, "q1_0", 36}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    rlx_file *f;
    char byte, message[128];
    uint32_t more;
    lm_image_gguf(&image, at);
    lm_image_poke(&image, at[AT_SIZE2], types[i].row, 8);
    lm_image_poke(&image, at[AT_TYPE2], types[i].code, 4);
    for (int k = 0; k < 64; k++) lm_image_number(&image, 0, 1);
    CHECK_OK(open_image(&f));
    const rlx_file_tensor *t = rlx_file_tensor_find(f, "t1"), *plain = rlx_file_tensor_find(f, "t0");
    CHECK(t && t->dtype == RLX_DTYPE_UNKNOWN && t->bytes == types[i].bytes && t->shape.v[0] == (int64_t)types[i].row);
    CHECK_EQ_STR(t->type, types[i].name);
    CHECK_EQ_STR(plain->type, "f32");
    CHECK_OK(rlx_file_read_tensor(f, plain, 0, &byte, 1));
    snprintf(message, sizeof message, "tensor 't1' is %s, a type that RLX does not have", types[i].name);
    CHECK_FAILS(rlx_file_read_tensor(f, t, 0, &byte, 1), RLX_UNSUPPORTED, message);
    snprintf(message, sizeof message, "1 of 2 tensors are of types that RLX does not have: 't1' is %s", types[i].name);
    CHECK_FAILS(rlx_file_check(f, NULL, &more), RLX_UNSUPPORTED, message);
    CHECK_FAILS(rlx_file_convert(f, folder_path("copy.gguf"), NULL), RLX_UNSUPPORTED, message);
    CHECK_FAILS(rlx_file_convert(f, folder_path("copy.safetensors"), NULL), RLX_UNSUPPORTED, message);
    rlx_file_close(f);
  }
  /* Their sizes are checked like any. */
  lm_image_gguf(&image, at);
  lm_image_poke(&image, at[AT_TYPE2], 19, 4);
  lm_image_poke(&image, at[AT_SIZE2], 256 * 10, 8);
  CHECK_REFUSED(RLX_INVALID, "tensor 't1': its 500 bytes from offset 256 on go past the file's end");
  lm_image_poke(&image, at[AT_TYPE], 19, 4);
  lm_image_poke(&image, at[AT_SIZE0], (uint64_t)1 << 40, 8);
  lm_image_poke(&image, at[AT_SIZE1], (uint64_t)1 << 40, 8);
  CHECK_REFUSED(RLX_INVALID, "tensor 't0': the size of iq1_s[1099511627776,1099511627776] overflows");
}

/* A byte changed anywhere: opened or refused, never anything else. */
TEST(every_byte_changed) {
  CHECK(folder_begin());
  static const unsigned char flips[] = {0x01, 0x80, 0xff};
  lm_image_gguf(&image, at);
  size_t n_opened = 0;
  for (size_t i = 0; i < at[AT_DATA]; i++)
    for (size_t k = 0; k < sizeof flips; k++) {
      rlx_file *f;
      image.v[i] ^= flips[k];
      rlx_status s = open_image(&f);
      image.v[i] ^= flips[k];
      CHECK((s == RLX_OK) == (f != NULL) && (s == RLX_OK || s == RLX_INVALID || s == RLX_UNSUPPORTED));
      n_opened += s == RLX_OK;
      rlx_file_close(f);
    }
  CHECK(n_opened > 50 && n_opened < at[AT_DATA]); /* texts, names and padding may change */
}

TEST(nesting_is_limited) {
  CHECK(folder_begin());
  begin_one_list();
  for (int depth = 0; depth < 10000; depth++) {
    lm_image_number(&image, 9, 4);
    lm_image_number(&image, 1, 8);
  }
  lm_image_number(&image, 4, 4);
  lm_image_number(&image, 0, 8);
  CHECK_REFUSED(RLX_UNSUPPORTED, "lists nested at most 8 deep");
  begin_one_list(); /* many beside each other */
  lm_image_number(&image, 9, 4);
  lm_image_number(&image, 70000, 8);
  for (int i = 0; i < 70000; i++) lm_image_number(&image, 4, 12);
  CHECK_REFUSED(RLX_UNSUPPORTED, "at most 65536 lists");
}

/* Sparse files: a list of empty texts, and of numbers, as long as a large file allows. */
TEST(large_files_cost_little) {
  CHECK(folder_begin());
  static const uint64_t types[] = {8, 0, 9};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    rlx_file *f;
    size_t asked = 0;
    begin_one_list();
    lm_image_number(&image, types[i], 4);
    lm_image_number(&image, ((uint64_t)8 << 30) / 16, 8);
    CHECK(lm_image_write(&image, folder_path("x.gguf"), image.n));
    if (truncate(folder_path("x.gguf"), (off_t)8 << 30) != 0) SKIP("the file system makes no sparse file of 8 GiB");
    clock_t start = clock();
    rlx_mem_set_hook(count_bytes, &asked);
    rlx_status s = rlx_file_open(folder_path("x.gguf"), NULL, &f);
    rlx_mem_set_hook(NULL, NULL);
    CHECK_FAILS(s, RLX_UNSUPPORTED, "at most");
    CHECK(TEST_IS_WASM || (double)(clock() - start) / CLOCKS_PER_SEC < (TEST_IS_SANITIZED ? 10.0 : 1.5));
  }
  unlink(folder_path("x.gguf"));
}

TEST(a_file_that_shrinks_is_a_status) {
  CHECK(folder_begin());
  rlx_file *f;
  unsigned char bytes[256];
  lm_image_gguf(&image, at);
  CHECK_OK(open_image(&f));
  CHECK(truncate(folder_path("x.gguf"), (off_t)at[AT_DATA] + 100) == 0);
  CHECK_FAILS(rlx_file_read_tensor(f, rlx_file_tensor_at(f, 0), 0, bytes, 100), RLX_IO, "changed while it was read");
  CHECK_FAILS(rlx_file_read_tensor(f, rlx_file_tensor_at(f, 0), 0, bytes, 256), RLX_IO, "tensor 't0': ");
  CHECK_FAILS(rlx_file_read_tensor(f, rlx_file_tensor_at(f, 1), 0, bytes, 1), RLX_IO, "truncated while in use");
  CHECK_FAILS(rlx_file_check(f, NULL, NULL), RLX_IO, "x.gguf");
  rlx_file_close(f);
}

TEST(what_is_no_weight_file) {
  CHECK(folder_begin());
  static const struct {
    const char *text;
    rlx_status code;
    const char *part;
  } cases[] = {
    {"", RLX_INVALID, "empty"},
    {"x", RLX_INVALID, "neither a GGUF nor safetensors"},
    {"version https://git-lfs.github.com/spec/v1\noid", RLX_UNSUPPORTED, "Git LFS pointer"},
    {"PK\003\004aaaaaaaaaa", RLX_UNSUPPORTED, "zip archive"},
    {"<!DOCTYPE html><html>", RLX_UNSUPPORTED, "web page"},
    {"ggml", RLX_UNSUPPORTED, "before GGUF"},
    {"{}", RLX_INVALID, "no weight_map"},
  };
  rlx_file *f;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    image.n = 0;
    lm_image_bytes(&image, cases[i].text, strlen(cases[i].text));
    CHECK(lm_image_write(&image, folder_path("x.bin"), image.n));
    CHECK_FAILS(rlx_file_open(folder_path("x.bin"), NULL, &f), cases[i].code, cases[i].part);
    CHECK(f == NULL && strstr(rlx_message(), "x.bin"));
  }
  CHECK_FAILS(rlx_file_open(folder_path("absent.gguf"), NULL, &f), RLX_NOT_FOUND, "absent.gguf");
  CHECK_FAILS(rlx_file_open(folder_name(), NULL, &f), RLX_NOT_FOUND, "has no .safetensors and no .gguf");
#if !defined(__wasi__) && !defined(_WIN32) /* which have none */
  CHECK(mkfifo(folder_path("fifo.gguf"), 0600) == 0);
  CHECK_FAILS(rlx_file_open(folder_path("fifo.gguf"), NULL, &f), RLX_INVALID, "got a FIFO");
#endif
  CHECK_FAILS(rlx_file_open("/dev/null", NULL, &f), RLX_INVALID, "got a device");
}

TEST(bad_arguments) {
  rlx_file *f;
  rlx_meta m;
  CHECK_FAILS(rlx_file_open(NULL, NULL, &f), RLX_INVALID, "path is NULL");
  CHECK_FAILS(rlx_file_open("x", NULL, NULL), RLX_INVALID, "out is NULL");
  CHECK_FAILS(rlx_file_read_tensor(NULL, NULL, 0, NULL, 0), RLX_INVALID, "file is NULL");
  CHECK_FAILS(rlx_file_check(NULL, NULL, NULL), RLX_INVALID, "file is NULL");
  CHECK(rlx_file_tensor_count(NULL) == 0 && rlx_file_meta_count(NULL) == 0 && rlx_file_part_count(NULL) == 0);
  CHECK(!rlx_file_format(NULL) && !rlx_file_part_at(NULL, 0) && !rlx_file_tensor_at(NULL, 0));
  CHECK(!rlx_file_meta_at(NULL, 0, &m) && !rlx_file_meta_find(NULL, "x", &m) && !rlx_meta_element(NULL, 0, &m));
  CHECK(!rlx_file_meta_at(NULL, 0, NULL) && !rlx_meta_element(&(rlx_meta){.kind = RLX_META_LIST}, 0, &m));
  rlx_file_close(NULL);
}

/* ---- Checking through ---- */

TEST(check_finds_what_is_wrong_with_numbers) {
  CHECK(folder_begin());
  rlx_file *f;
  uint32_t more;
  lm_image_gguf(&image, at);
  lm_image_poke(&image, at[AT_DATA] + 40, 0x7fc00000, 4); /* NaN in f32 */
  lm_image_poke(&image, at[AT_DATA2] + 34, 0x7c00, 2);    /* infinity as a block's scale */
  CHECK_OK(open_image(&f));
  CHECK_FAILS(rlx_file_check(f, NULL, &more), RLX_INVALID, "tensor 't0': element 10 is not a number");
  CHECK_EQ_INT(more, 1);
  rlx_file_close(f);
  lm_image_poke(&image, at[AT_DATA] + 40, 0x7f800000, 4);
  CHECK_OK(open_image(&f));
  CHECK_FAILS(rlx_file_check(f, NULL, &more), RLX_INVALID, "tensor 't0': element 10 is infinite");
  CHECK_EQ_INT(more, 1);
  rlx_file_close(f);
  lm_image_poke(&image, at[AT_DATA] + 40, 0, 4);
  CHECK_OK(open_image(&f));
  CHECK_FAILS(rlx_file_check(f, NULL, &more), RLX_INVALID,
              "tensor 't1': element 32 is not a number"); /* infinity times 0 */
  CHECK_EQ_INT(more, 0);
  rlx_file_close(f);
}

/* What a check told, one after another. */
typedef struct reported {
  char text[4096];
  unsigned n_findings, n_remarks;
} reported;

static void take(void *user, bool is_remark, const char *text) {
  reported *t = user;
  *(is_remark ? &t->n_remarks : &t->n_findings) += 1;
  size_t n = strlen(t->text);
  snprintf(t->text + n, sizeof t->text - n, "%s\n", text);
}

/* A file of one tensor of these bytes. */
static rlx_status check_tensor(const char *name, rlx_dtype dtype, rlx_dims shape, const void *data, size_t bytes,
                               reported *t) {
  rlx_file_writer *w;
  rlx_file *f = NULL;
  *t = (reported){.n_findings = 0};
  RLX_TRY(rlx_file_writer_create(folder_path("t.gguf"), &w));
  rlx_status s = rlx_file_writer_tensor(w, name, dtype, shape);
  if (!s) s = rlx_file_writer_bytes(w, data, bytes);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  if (!s) s = rlx_file_open(folder_path("t.gguf"), NULL, &f);
  if (!s) s = rlx_file_check_each(f, NULL, take, t);
  rlx_file_close(f);
  return s;
}

TEST(check_finds_infinities_and_nan_in_plain_types) {
  CHECK(folder_begin());
  static const struct {
    rlx_dtype dtype;
    size_t size;
    uint64_t infinity, nan, largest;
  } types[] = {{RLX_F16, 2, 0x7c00, 0x7c01, 0x7bff},
               {RLX_BF16, 2, 0x7f80, 0x7f81, 0x7f7f},
               {RLX_F32, 4, 0x7f800000, 0x7f800001, 0x7f7fffff},
               {RLX_F64, 8, UINT64_C(0x7ff) << 52, (UINT64_C(0x7ff) << 52) + 1, (UINT64_C(0x7ff) << 52) - 1}};
  reported t;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (int negative = 0; negative < 2; negative++) {
      uint64_t sign = (uint64_t)negative << (8 * types[i].size - 1),
               v[3] = {types[i].infinity, types[i].nan, types[i].largest};
      for (int k = 0; k < 3; k++) {
        unsigned char data[8 * 8] = {0};
        v[k] |= sign;
        memcpy(data + 5 * types[i].size, &v[k], types[i].size);
        rlx_status s = check_tensor("t", types[i].dtype, RLX_DIMS(8), data, 8 * types[i].size, &t);
        if (k == 2) CHECK_OK(s);
        else
          CHECK_FAILS(s, RLX_INVALID,
                      k ? "tensor 't': element 5 is not a number" : "tensor 't': element 5 is infinite");
        CHECK_EQ_INT(t.n_findings, k < 2);
      }
    }
}

/* Every pair of bytes of a block in turn is an infinity, NaN, or all ones, a tensor for each: where the block then
 * holds what is no number the check says so, and nowhere else. Scales of 8 bits come in by the last. */
enum { N_PATTERNS = 4, MAX_BLOCK = 512 };
static const unsigned patterns[N_PATTERNS] = {0x7c00, 0xfc00, 0x7e00, 0xffff};

static void make_block(const rlx_dtype_info *info, size_t byte, size_t pattern, unsigned char *block) {
  memset(block, 0, info->block_bytes);
  block[byte] = (unsigned char)patterns[pattern];
  if (byte + 1 < info->block_bytes) block[byte + 1] = (unsigned char)(patterns[pattern] >> 8);
}

static bool is_bad_block(rlx_dtype d, const unsigned char *block) {
  float values[MAX_BLOCK];
  size_t n = rlx_dtype_describe(d)->block_elements;
  bool is_bad = rlx_quant_decode(d, block, values, n) != RLX_OK;
  for (size_t i = 0; i < n; i++) is_bad |= !isfinite(values[i]);
  return is_bad;
}

static rlx_status write_blocks(rlx_dtype d, rlx_file_writer *w) {
  const rlx_dtype_info *info = rlx_dtype_describe(d);
  for (size_t i = 0; i < info->block_bytes * N_PATTERNS; i++) {
    char name[32];
    snprintf(name, sizeof name, "t%zu", i);
    RLX_TRY(rlx_file_writer_tensor(w, name, d, RLX_DIMS((int64_t)info->block_elements)));
  }
  for (size_t i = 0; i < info->block_bytes * N_PATTERNS; i++) {
    unsigned char block[MAX_BLOCK];
    make_block(info, i / N_PATTERNS, i % N_PATTERNS, block);
    RLX_TRY(rlx_file_writer_bytes(w, block, info->block_bytes));
  }
  return rlx_file_writer_finish(w);
}

static void mark(void *user, bool is_remark, const char *text) {
  bool *found = user;
  const char *name = strstr(text, "tensor 't");
  if (!is_remark && name) found[strtoul(name + 9, NULL, 10)] = true;
}

TEST(check_finds_infinities_and_nan_in_blocks) {
  CHECK(folder_begin());
  for (rlx_dtype d = 0; d < RLX_DTYPE_COUNT; d++) {
    if (!rlx_dtype_is_block(d)) continue;
    const rlx_dtype_info *info = rlx_dtype_describe(d);
    static bool found[MAX_BLOCK * N_PATTERNS];
    rlx_file_writer *w;
    rlx_file *f;
    size_t n_bad = 0;
    memset(found, 0, sizeof found);
    CHECK_OK(rlx_file_writer_create(folder_path("t.gguf"), &w));
    rlx_status s = write_blocks(d, w);
    rlx_file_writer_destroy(w);
    CHECK_OK(s);
    CHECK_OK(rlx_file_open(folder_path("t.gguf"), NULL, &f));
    s = rlx_file_check_each(f, NULL, mark, found);
    rlx_file_close(f);
    for (size_t i = 0; i < info->block_bytes * N_PATTERNS; i++) {
      unsigned char block[MAX_BLOCK];
      make_block(info, i / N_PATTERNS, i % N_PATTERNS, block);
      n_bad += is_bad_block(d, block);
      if (found[i] != is_bad_block(d, block))
        FAIL("%s: byte %zu is %x: %s", info->name, i / N_PATTERNS, patterns[i % N_PATTERNS],
             found[i] ? "found" : "not found");
    }
    /* nvfp4 has no such scales, and the f16 of iq1_m does not lie in a pair of bytes. */
    CHECK((n_bad > 0) == (d != RLX_NVFP4 && d != RLX_IQ1_M));
    CHECK(s == (n_bad > 0 ? RLX_INVALID : RLX_OK));
  }
}

TEST(check_remarks_on_zeros) {
  CHECK(folder_begin());
  unsigned char zeros[512] = {0}, minus[16] = {[3] = 0x80, [7] = 0x80, [11] = 0x80, [15] = 0x80};
  reported t;
  CHECK_OK(check_tensor("blk.0.attn_norm.weight", RLX_F32, RLX_DIMS(8), zeros, 32, &t));
  CHECK_EQ_INT(t.n_remarks, 1);
  CHECK(strstr(t.text, "tensor 'blk.0.attn_norm.weight': all elements are 0"));
  CHECK_OK(check_tensor("a.scale", RLX_F32, RLX_DIMS(4), minus, 16, &t));
  CHECK_EQ_INT(t.n_remarks, 1);
  CHECK_OK(check_tensor("a.weight", RLX_Q8_0, RLX_DIMS(32), zeros, 34, &t));
  CHECK_EQ_INT(t.n_remarks, 1);
  CHECK_OK(check_tensor("a.bias", RLX_F32, RLX_DIMS(8), zeros, 32, &t));
  CHECK_EQ_INT(t.n_remarks, 0);
  CHECK_OK(check_tensor("a.weight", RLX_I32, RLX_DIMS(8), zeros, 32, &t));
  CHECK_EQ_INT(t.n_remarks, 0);
  zeros[2] = 0x80;
  CHECK_OK(check_tensor("a.weight", RLX_F32, RLX_DIMS(8), zeros, 32, &t));
  CHECK_EQ_INT(t.n_remarks, 0);
}

TEST(check_finds_what_is_left_over) {
  CHECK(folder_begin());
  rlx_file *f;
  lm_image_gguf(&image, at);
  lm_image_number(&image, 0, 5);
  CHECK_OK(open_image(&f));
  CHECK_FAILS(rlx_file_check(f, NULL, NULL), RLX_INVALID, "5 bytes after the last tensor");
  rlx_file_close(f);
  lm_image_gguf(&image, at);
  lm_image_number(&image, 0, 64);
  lm_image_poke(&image, at[AT_OFFSET2], 320, 8);
  CHECK_OK(open_image(&f));
  CHECK_FAILS(rlx_file_check(f, NULL, NULL), RLX_INVALID, "64 bytes between tensors");
  rlx_file_close(f);
}

static bool stop(void *user) { return ++*(int *)user > 1; }

TEST(opening_and_checking_can_be_cancelled) {
  CHECK(folder_begin());
  rlx_file *f;
  int calls = 5;
  lm_image_gguf(&image, at);
  CHECK(lm_image_write(&image, folder_path("x.gguf"), image.n));
  CHECK_FAILS(rlx_file_open(folder_path("x.gguf"), &(rlx_watch){.cancel = stop, .user = &calls}, &f), RLX_CANCELLED,
              "");
  CHECK_OK(rlx_file_open(folder_path("x.gguf"), NULL, &f));
  calls = 0;
  CHECK_FAILS(rlx_file_check(f, &(rlx_watch){.cancel = stop, .user = &calls}, NULL), RLX_CANCELLED, "");
  rlx_file_close(f);
}

/* ---- Memory ---- */

static rlx_status open_and_read(void *user) {
  rlx_file *f;
  rlx_meta m;
  unsigned char bytes[256];
  RLX_TRY(rlx_file_open(user, NULL, &f));
  bool ok = rlx_file_meta_find(f, "a.list", &m) && rlx_meta_element(&m, 1, &m) && m.n == 2;
  rlx_status s = ok ? rlx_file_read_tensor(f, rlx_file_tensor_at(f, 0), 0, bytes, sizeof bytes)
                    : RLX_FAIL(RLX_INVALID, "the list is not there");
  if (!s) s = rlx_file_check(f, NULL, NULL);
  rlx_file_close(f);
  return s;
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  char path[256];
  lm_image_gguf(&image, at);
  snprintf(path, sizeof path, "%s", folder_path("x.gguf"));
  CHECK(lm_image_write(&image, path, image.n));
  CHECK_OK(alloc_sweep(open_and_read, path));
}
