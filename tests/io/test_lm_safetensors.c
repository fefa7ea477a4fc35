/* safetensors files, indexes and folders: valid ones read back exactly, invalid ones are refused with a specific
 * message. */
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os_file.h"
#include "faults.h"
#include "folder.h"
#include "lm_image.h"
#include "rlx/lm.h"
#include "test.h"

static lm_image image;

static rlx_status open_image(rlx_file **f) {
  const char *path = folder_path("x.safetensors");
  *f = NULL;
  return lm_image_write(&image, path, image.n) ? rlx_file_open(path, NULL, f) : RLX_IO;
}

static const char good[] = "{\"__metadata__\":{\"format\":\"pt\",\"empty\":\"\"},"
                           "\"b\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]},"
                           "\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                           "\"none\":{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[8,8]}}   ";

TEST(a_file_reads_as_it_stands) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m;
  float values[4];
  lm_image_safetensors(&image, good, 24);
  size_t data = image.n - 24;
  for (size_t i = 0; i < 24; i++) image.v[data + i] = (unsigned char)i;
  CHECK_OK(open_image(&f));
  CHECK_EQ_STR(rlx_file_format(f), "safetensors");
  CHECK(rlx_file_meta_count(f) == 2 && rlx_file_meta_find(f, "format", &m) && m.kind == RLX_META_TEXT && m.n == 2);
  CHECK_EQ_STR(m.text, "pt");
  CHECK(rlx_file_meta_find(f, "empty", &m) && m.n == 0 && m.text[0] == '\0');
  CHECK_EQ_INT(rlx_file_tensor_count(f), 3); /* in the order of their bytes */
  CHECK_EQ_STR(rlx_file_tensor_at(f, 0)->name, "a");
  CHECK_EQ_STR(rlx_file_tensor_at(f, 1)->name, "none");
  const rlx_file_tensor *t = rlx_file_tensor_find(f, "b");
  CHECK(t && t->dtype == RLX_F32 && t->shape.n == 2 && t->bytes == 16 && t->offset == data + 8);
  CHECK_OK(rlx_file_read_tensor(f, t, 0, values, sizeof values));
  CHECK(memcmp(values, image.v + data + 8, 16) == 0);
  CHECK_OK(rlx_file_check(f, NULL, NULL));
  rlx_file_close(f);
}

TEST(every_truncation) {
  CHECK(folder_begin());
  rlx_file *f;
  lm_image_safetensors(&image, good, 24);
  size_t whole = image.n;
  for (size_t n = 0; n < whole; n++) {
    image.n = n;
    CHECK_FAILS(open_image(&f), RLX_INVALID, "x.safetensors");
    CHECK(f == NULL);
  }
}

/* Headers for 24 bytes of data. T stands for a good tensor of them all. */
#define T "\"t\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}"
#define TENSOR(dtype, shape, offsets) "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* clang-format off */
static const struct {
  const char *header;
  rlx_status code; /* RLX_OK: it opens */
  const char *part;
} cases[] = {
  {"{" T "}", RLX_OK, NULL},
  {"{" T "}  \n\t", RLX_OK, NULL},
  {" {" T "}", RLX_INVALID, "begins with '{'"},
  {"[" T "]", RLX_INVALID, "begins with '{'"},
  {"{" T, RLX_INVALID, "expected ',' or '}', got the end"},
  {"{" T "} x", RLX_INVALID, "nothing after the last '}'"},
  {"{" T "}{}", RLX_INVALID, "nothing after the last '}'"},
  {"{" T ",}", RLX_INVALID, "a name in quotes"},
  {"{,}", RLX_INVALID, "a name in quotes"},
  {"{" T " " T "}", RLX_INVALID, "end of file expected"},
  {"{" T "," T "}", RLX_INVALID, "the tensor 't' is there twice"},
  {"{t:1}", RLX_INVALID, "a name in quotes"},
  {"{\"t\" 1}", RLX_INVALID, "expected ':'"},
  {"{\"t\":}", RLX_INVALID, "expected a value"},
  {"{\"t", RLX_INVALID, "byte 3: premature end"},
  {"{\"t\":{\"dtype\":\"F32", RLX_INVALID, "tensor 't'"},
  {"{\"\":1}", RLX_INVALID, "name is empty"},
  {"{\"t\":1}", RLX_INVALID, "tensor 't': expected an object, got an integer"},
  {"{\"t\":null}", RLX_INVALID, "got null"},
  {"{\"t\":[]}", RLX_INVALID, "got a list"},
  {"{\"\xff\":1}", RLX_INVALID, "unable to decode byte"},
  {"{\"t\\ud800\":1}", RLX_INVALID, "invalid Unicode"},
  {"{\"t\\udc00\":1}", RLX_INVALID, "invalid Unicode"},
  {"{\"t\\u0000\":1}", RLX_INVALID, "\\u0000"},
  {"{\"t\":\"\xed\xa0\x80\"}", RLX_INVALID, "unable to decode byte"},
  {"{\"t\\q\":1}", RLX_INVALID, "escape"},
  {"{\"__metadata__\":{\"a\":\"b\"}," T "}", RLX_OK, NULL},
  {"{" T ",\"__metadata__\":{}}", RLX_OK, NULL},
  {"{\"__metadata__\":{\"a\":1}," T "}", RLX_INVALID, "__metadata__ 'a': expected a string, got an integer"},
  {"{\"__metadata__\":{\"a\":{}}," T "}", RLX_INVALID, "got an object"},
  {"{\"__metadata__\":[]," T "}", RLX_INVALID, "an object for __metadata__"},
  {"{\"__metadata__\":\"x\"," T "}", RLX_INVALID, "an object for __metadata__"},
  {"{\"__metadata__\":{},\"__metadata__\":{}," T "}", RLX_INVALID, "__metadata__ twice"},
  {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}," T "}", RLX_INVALID, "the key 'a' twice"},
  {"{\"__metadata__\":{\"a\":\"\xff\"}," T "}", RLX_INVALID, "unable to decode byte"},
  {"{\"t\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", RLX_INVALID, "duplicate"},
  {TENSOR("\"F33\"", "[6]", "[0,24]"), RLX_UNSUPPORTED, "tensor 't': dtype 'F33'"},
  {TENSOR("\"f32\"", "[6]", "[0,24]"), RLX_UNSUPPORTED, "dtype 'f32'"},
  {TENSOR("\"F8_E8M0\"", "[24]", "[0,24]"), RLX_UNSUPPORTED, "dtype 'F8_E8M0'"},
  {TENSOR("\"\"", "[6]", "[0,24]"), RLX_UNSUPPORTED, "dtype ''"},
  {TENSOR("3", "[6]", "[0,24]"), RLX_INVALID, "a string for dtype, got an integer"},
  {TENSOR("null", "[6]", "[0,24]"), RLX_INVALID, "a string for dtype, got null"},
  {TENSOR("[\"F32\"]", "[6]", "[0,24]"), RLX_INVALID, "a string for dtype, got a list"},
  {"{\"t\":{\"shape\":[6],\"data_offsets\":[0,24]}}", RLX_INVALID, "a string for dtype, got nothing"},
  {"{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,24]}}", RLX_INVALID, "a list for shape, got nothing"},
  {"{\"t\":{\"dtype\":\"F32\",\"shape\":[6]}}", RLX_INVALID, "two data_offsets, got nothing"},
  {TENSOR("\"F32\"", "6", "[0,24]"), RLX_INVALID, "a list for shape, got an integer"},
  {TENSOR("\"F32\"", "[-6]", "[0,24]"), RLX_INVALID, "sizes from 0 on in the shape, got -6"},
  {TENSOR("\"F32\"", "[-2,-3]", "[0,24]"), RLX_INVALID, "got -2"},
  {TENSOR("\"F32\"", "[6.0]", "[0,24]"), RLX_INVALID, "whole numbers in the shape, got a fraction"},
  {TENSOR("\"F32\"", "[6e0]", "[0,24]"), RLX_INVALID, "got a fraction"},
  {TENSOR("\"F32\"", "[\"6\"]", "[0,24]"), RLX_INVALID, "got a string"},
  {TENSOR("\"F32\"", "[null]", "[0,24]"), RLX_INVALID, "got null"},
  {TENSOR("\"F32\"", "[9007199254740993]", "[0,24]"), RLX_INVALID, "takes 36028797018963972 bytes"},
  {TENSOR("\"F32\"", "[4611686018427387904]", "[0,24]"), RLX_INVALID, "overflow"},
  {TENSOR("\"F32\"", "[4294967296,4294967296]", "[0,24]"), RLX_INVALID, "overflow"},
  {TENSOR("\"F32\"", "[9223372036854775808]", "[0,24]"), RLX_INVALID, "too big"},
  {TENSOR("\"F32\"", "[1,1,1,1,1,1,1,1,6]", "[0,24]"), RLX_UNSUPPORTED, "at most 8 sizes in the shape, got 9"},
  {TENSOR("\"F32\"", "[6]", "[24,0]"), RLX_INVALID, "data_offsets 24 to 0 are no range"},
  {TENSOR("\"F32\"", "[6]", "[-1,23]"), RLX_INVALID, "are no range"},
  {TENSOR("\"F32\"", "[6]", "[0,24,24]"), RLX_INVALID, "two data_offsets, got a list of 3"},
  {TENSOR("\"F32\"", "[6]", "[0]"), RLX_INVALID, "two data_offsets"},
  {TENSOR("\"F32\"", "[6]", "24"), RLX_INVALID, "two data_offsets"},
  {TENSOR("\"F32\"", "[6]", "[0,24.0]"), RLX_INVALID, "whole numbers for data_offsets"},
  {TENSOR("\"F32\"", "[6]", "[8,32]"), RLX_INVALID, "go past the file's end (24 bytes of data)"},
  {TENSOR("\"F32\"", "[6]", "[0,9223372036854775807]"), RLX_INVALID, "go past the file's end"},
  {TENSOR("\"F32\"", "[6]", "[0,20]"), RLX_INVALID, "f32[6] takes 24 bytes, but data_offsets 0 to 20 are 20"},
  {TENSOR("\"F32\"", "[5]", "[0,20]"), RLX_INVALID, "4 bytes after the last tensor"},
  {TENSOR("\"F32\"", "[5]", "[4,24]"), RLX_INVALID, "the 4 bytes of data before it"},
  {"{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[8,24]}}",
   RLX_INVALID, "tensor 'b' overlaps 'a'"},
  {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]}}",
   RLX_INVALID, "tensor 'b': the 4 bytes of data before it"},
  {"{\"a\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]},\"b\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}",
   RLX_INVALID, "overlaps"},
  {"{}", RLX_INVALID, "24 bytes after the last tensor"},
};
/* clang-format on */

TEST(headers) {
  SKIP_WITH_32_BITS();
  CHECK(folder_begin());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_file *f;
    size_t live = rlx_mem_live();
    lm_image_safetensors(&image, cases[i].header, 24);
    if (cases[i].code) CHECK_FAILS(open_image(&f), cases[i].code, cases[i].part);
    else CHECK_OK(open_image(&f));
    CHECK((f == NULL) == (cases[i].code != RLX_OK));
    CHECK(!cases[i].code || strstr(rlx_message(), "x.safetensors"));
    rlx_file_close(f);
    CHECK_EQ_INT(rlx_mem_live(), live);
  }
}

TEST(header_lengths) {
  CHECK(folder_begin());
  static const struct {
    uint64_t length;
    const char *part;
  } lengths[] = {
    {0, "0 bytes cannot hold"},
    {1, "1 bytes cannot hold"},
    {1000, "1000 bytes goes past"},
    {100000001, "100000001 bytes, expected at most 100000000"},
    {(uint64_t)1 << 63, "expected at most 100000000"},
    {UINT64_MAX, "18446744073709551615 bytes, expected at most"},
  };
  rlx_file *f;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    lm_image_safetensors(&image, "{" T "}", 24);
    lm_image_poke(&image, 0, lengths[i].length, 8);
    CHECK_FAILS(open_image(&f), RLX_INVALID, lengths[i].part);
  }
  lm_image_safetensors(&image, "{}", 0);
  CHECK_OK(open_image(&f));
  CHECK_EQ_INT(rlx_file_tensor_count(f), 0);
  rlx_file_close(f);
}

TEST(nul_in_the_header) {
  CHECK(folder_begin());
  rlx_file *f;
  lm_image_safetensors(&image, "{" T "}", 24);
  image.v[8 + 2] = 0;
  CHECK_FAILS(open_image(&f), RLX_INVALID, "control character 0x0");
  lm_image_safetensors(&image, "{" T "} ", 24);
  image.v[8 + strlen("{" T "}")] = 0;
  CHECK_FAILS(open_image(&f), RLX_INVALID, "nothing after the last '}'");
}

/* Nesting, and lists that would make large trees: soon refused. */
TEST(deep_and_long_values) {
  CHECK(folder_begin());
  static char text[900000];
  static const char *const openings[] = {"[", "{\"a\":", "1,"};
  for (size_t k = 0; k < 3; k++) {
    rlx_file *f;
    size_t n = (size_t)snprintf(text, sizeof text, "{\"t\":%s", k == 2 ? "[" : ""), m = strlen(openings[k]);
    for (int i = 0; i < 100000; i++, n += m) memcpy(text + n, openings[k], m);
    text[n] = '\0';
    lm_image_safetensors(&image, text, 0);
    clock_t start = clock();
    CHECK_FAILS(open_image(&f), RLX_LIMIT, "tensor 't'");
    CHECK(TEST_IS_WASM || (double)(clock() - start) / CLOCKS_PER_SEC < 1.0);
  }
}

/* Typed lists: soon refused where they are longer than any vocabulary. */
TEST(long_typed_lists) {
  CHECK(folder_begin());
  static const char head[] = "{\"__metadata__\":{\"rlx.types\":\"{\\\"k\\\":\\\"array of u8\\\"}\",\"k\":\"[";
  enum { N = 3 << 20 };
  size_t n = strlen(head);
  char *text = malloc(n + 2 * N + 8);
  CHECK(text);
  memcpy(text, head, n);
  for (int i = 0; i < N; i++, n += 2) memcpy(text + n, "1,", 2);
  memcpy(text + n, "1]\"}}", 5);
  FILE *file = fopen(folder_path("x.safetensors"), "wb");
  uint64_t bytes = n + 5;
  bool ok = file && fwrite(&bytes, 8, 1, file) == 1 && fwrite(text, 1, n + 5, file) == n + 5 && fclose(file) == 0;
  free(text);
  CHECK(ok);
  rlx_file *f;
  clock_t start = clock();
  CHECK_FAILS(rlx_file_open(folder_path("x.safetensors"), NULL, &f), RLX_UNSUPPORTED,
              "the metadata 'k': expected at most 2097152");
  CHECK(TEST_IS_WASM || (double)(clock() - start) / CLOCKS_PER_SEC < (TEST_IS_SANITIZED ? 10.0 : 1.5));
}

TEST(every_byte_changed) {
  CHECK(folder_begin());
  static const unsigned char flips[] = {0x01, 0x20, 0x80, 0xff};
  lm_image_safetensors(&image, good, 24);
  for (size_t i = 0; i < image.n - 24; i++)
    for (size_t k = 0; k < sizeof flips; k++) {
      rlx_file *f;
      image.v[i] ^= flips[k];
      rlx_status s = open_image(&f);
      image.v[i] ^= flips[k];
      CHECK((s == RLX_OK) == (f != NULL) && (s == RLX_OK || s == RLX_INVALID || s == RLX_UNSUPPORTED));
      rlx_file_close(f);
    }
}

/* ---- Indexes and folders ---- */

static bool write_text(const char *name, const char *text) {
  FILE *f = fopen(folder_path(name), "wb");
  bool ok = f && fwrite(text, 1, strlen(text), f) == strlen(text);
  return f && fclose(f) == 0 && ok;
}

static bool write_parts(void) {
  lm_image_safetensors(
    &image, "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
  if (!lm_image_write(&image, folder_path("m-1.safetensors"), image.n)) return false;
  lm_image_safetensors(&image, "{\"b\":{\"dtype\":\"I32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8);
  return lm_image_write(&image, folder_path("m-2.safetensors"), image.n);
}

static const char good_index[] =
  "{\"metadata\":{\"total_size\":12},\"weight_map\":{\"b\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\"}}";

TEST(an_index_opens_its_files) {
  CHECK(folder_begin());
  rlx_file *f;
  rlx_meta m;
  CHECK(write_parts() && write_text("model.safetensors.index.json", good_index));
  CHECK(write_text("config.json", "{\"model_type\": \"llama\"}") && write_text("tokenizer.json", "{"));
  CHECK(rlx_os_make_folder(folder_path("1_Pooling")) && write_text("1_Pooling/config.json", "{}"));
  for (int by_folder = 0; by_folder < 2; by_folder++) {
    CHECK_OK(rlx_file_open(by_folder ? folder_name() : folder_path("model.safetensors.index.json"), NULL, &f));
    CHECK_EQ_INT(rlx_file_part_count(f), 2);
    CHECK(strstr(rlx_file_part_at(f, 1), "m-2.safetensors"));
    const rlx_file_tensor *t = rlx_file_tensor_find(f, "b");
    CHECK(t && t->part == 1 && t->dtype == RLX_I32 && rlx_file_tensor_find(f, "a")->part == 0);
    CHECK(rlx_file_meta_find(f, "config.json", &m) && m.kind == RLX_META_TEXT);
    CHECK_EQ_STR(m.text, "{\"model_type\": \"llama\"}");
    CHECK(rlx_file_meta_find(f, "1_Pooling/config.json", &m) && rlx_file_meta_find(f, "format", &m));
    CHECK(!rlx_file_meta_find(f, "vocab.json", &m));
    CHECK_FAILS(rlx_file_check(f, NULL, NULL), RLX_INVALID, "tokenizer.json: line 1");
    rlx_file_close(f);
  }
  CHECK(unlink(folder_path("1_Pooling/config.json")) == 0 && rmdir(folder_path("1_Pooling")) == 0);
}

/* clang-format off */
static const struct {
  const char *index;
  rlx_status code;
  const char *part;
} indexes[] = {
  {"{\"weight_map\":{\"a\":\"m-1.safetensors\",\"c\":\"m-3.safetensors\"}}", RLX_NOT_FOUND, "m-3.safetensors"},
  {"{\"weight_map\":{\"a\":\"m-2.safetensors\",\"b\":\"m-2.safetensors\"}}", RLX_INVALID, "tensor 'a' in 'm-2.safetensors', which does not"},
  {"{\"weight_map\":{\"a\":\"m-1.safetensors\",\"c\":\"m-1.safetensors\"}}", RLX_INVALID, "tensor 'c' in 'm-1.safetensors', which does not"},
  {"{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}", RLX_INVALID, "plain name of a file"},
  {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", RLX_INVALID, "plain name of a file"},
  {"{\"weight_map\":{\"a\":\"..\"}}", RLX_INVALID, "plain name of a file"},
  {"{\"weight_map\":{\"a\":\"\"}}", RLX_INVALID, "plain name of a file"},
  {"{\"weight_map\":{\"a\":1}}", RLX_INVALID, "tensor 'a': expected a file's name, got an integer"},
  {"{\"weight_map\":{}}", RLX_INVALID, "names no tensor"},
  {"{\"weight_map\":[]}", RLX_INVALID, "expected '{'"},
  {"{\"weight_map\":{\"a\":\"m-1.safetensors\"},\"weight_map\":{}}", RLX_INVALID, "weight_map twice"},
  {"{\"weights\":{}}", RLX_INVALID, "no weight_map"},
  {"{\"weight_map\":{\"a\":\"m-1.safetensors\"}", RLX_INVALID, "got the end"},
  {"{\"metadata\":{\"x\":},\"weight_map\":{\"a\":\"m-1.safetensors\"}}", RLX_INVALID, "JSON, byte"},
};
/* clang-format on */

TEST(bad_indexes) {
  CHECK(folder_begin());
  CHECK(write_parts());
  for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
    rlx_file *f;
    CHECK(write_text("model.safetensors.index.json", indexes[i].index));
    CHECK_FAILS(rlx_file_open(folder_path("model.safetensors.index.json"), NULL, &f), indexes[i].code, indexes[i].part);
    CHECK(f == NULL && strstr(rlx_message(), "index.json"));
    CHECK_FAILS(rlx_file_open(folder_name(), NULL, &f), indexes[i].code, indexes[i].part);
  }
}

TEST(folders) {
  CHECK(folder_begin());
  rlx_file *f;
  CHECK(write_parts());
  CHECK_FAILS(rlx_file_open(folder_name(), NULL, &f), RLX_INVALID, "several files *.safetensors and no index");
  CHECK(unlink(folder_path("m-2.safetensors")) == 0);
  CHECK_OK(rlx_file_open(folder_name(), NULL, &f));
  CHECK_EQ_INT(rlx_file_tensor_count(f), 1);
  rlx_file_close(f);
  CHECK(unlink(folder_path("m-1.safetensors")) == 0);
  size_t at[LM_PLACES];
  lm_image_gguf(&image, at);
  CHECK(lm_image_write(&image, folder_path("m.gguf"), image.n) && write_text("config.json", "{}"));
  rlx_meta m;
  CHECK_OK(rlx_file_open(folder_name(), NULL, &f));
  CHECK(rlx_file_meta_find(f, "config.json", &m) && rlx_file_meta_find(f, "a.text", &m));
  rlx_file_close(f);
}

static rlx_status open_folder(void *user) {
  rlx_file *f;
  RLX_TRY(rlx_file_open(user, NULL, &f));
  rlx_status s = rlx_file_check(f, NULL, NULL);
  rlx_file_close(f);
  return s;
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  char path[256];
  CHECK(write_parts() && write_text("model.safetensors.index.json", good_index) && write_text("config.json", "{}"));
  snprintf(path, sizeof path, "%s", folder_name());
  CHECK_OK(alloc_sweep(open_folder, path));
}
