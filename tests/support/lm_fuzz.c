/* Fuzzing of weight files: opens one, reads everything in it, writes it again. */
#include "lm_fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rlx/lm.h"

enum { MAX_ELEMENTS = 1000, MAX_BYTES = 1 << 16 };

static char path[96], copy_path[96];

static void remove_files(void) {
  unlink(path);
  unlink(copy_path);
}

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

void lm_fuzz_put(const char *to, const void *data, size_t bytes) {
  FILE *f = fopen(to, "wb");
  if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) != 0) fail("cannot write the input");
}

static void write_input(const uint8_t *data, size_t bytes, const char *ending) {
  static bool is_registered;
  if (!is_registered) atexit(remove_files);
  is_registered = true;
  snprintf(path, sizeof path, "/tmp/rlx-fuzz-lm-%ld.%s", (long)getpid(), ending);
  snprintf(copy_path, sizeof copy_path, "/tmp/rlx-fuzz-lm-%ld-copy.%s", (long)getpid(), ending);
  lm_fuzz_put(path, data, bytes);
}

/* Reads every byte that the library exposes, so that sanitizers detect invalid ones. */
static size_t look_at(const rlx_meta *m, int depth) {
  size_t sum = m->type ? strlen(m->type) : 0;
  if (depth > 100) fail("lists without an end");
  if (m->kind == RLX_META_NONE) fail("a value of no kind");
  if (m->kind == RLX_META_TEXT && m->text[m->n] != '\0') fail("a text without its NUL");
  for (size_t i = 0; m->kind == RLX_META_TEXT && i < m->n; i++) sum += (unsigned char)m->text[i];
  for (size_t i = 0; m->kind == RLX_META_LIST && i < m->n && i < MAX_ELEMENTS; i++) {
    rlx_meta e;
    if (!rlx_meta_element(m, i, &e)) fail("an element is missing");
    sum += look_at(&e, depth + 1);
  }
  rlx_meta past;
  if (m->kind == RLX_META_LIST && rlx_meta_element(m, m->n, &past)) fail("an element past the end");
  return sum;
}

static void check_tensor(const rlx_file *f, const rlx_file_tensor *t) {
  static char bytes[MAX_BYTES];
  size_t wanted;
  if (!t->type || !t->type[0]) fail("a tensor without a type's name");
  if (t->dtype == RLX_DTYPE_UNKNOWN) {
    if (rlx_file_read_tensor(f, t, 0, bytes, 0) != RLX_UNSUPPORTED) fail("a type that is not there is read");
    return;
  }
  if (rlx_tensor_bytes(t->dtype, t->shape, &wanted) || wanted != t->bytes) fail("the bytes do not fit the type");
  if (rlx_file_tensor_find(f, t->name) != t) fail("a tensor is not found by its name");
  if (rlx_file_read_tensor(f, t, 0, bytes, wanted < MAX_BYTES ? wanted : MAX_BYTES)) fail("a tensor cannot be read");
}

static bool same_tensor(const rlx_file_tensor *a, const rlx_file_tensor *b) {
  return b && a->dtype == b->dtype && a->bytes == b->bytes && a->shape.n == b->shape.n &&
         memcmp(a->shape.v, b->shape.v, (size_t)a->shape.n * sizeof *a->shape.v) == 0;
}

static void check_again(const rlx_file *f) {
  rlx_file *again;
  rlx_meta a, b;
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .n_threads = 1};
  const rlx_status s = rlx_file_convert(f, copy_path, &o);
  /* A GGUF's texts may be such as JSON has none of, and all its values become texts. */
  const bool changes_format = strncmp(rlx_file_format(f), "GGUF", 4) == 0 && !strstr(copy_path, ".gguf");
  if (s == RLX_UNSUPPORTED && changes_format) return;
  if (s) fail("what was read cannot be written");
  if (rlx_file_open(copy_path, NULL, &again)) fail("what was written cannot be read");
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
    if (!same_tensor(t, rlx_file_tensor_find(again, t->name))) fail("a tensor changed on the way");
  }
  for (uint32_t i = 0; !changes_format && rlx_file_meta_at(f, i, &a); i++) {
    if (strncmp(a.key, "split.", 6) == 0) continue;
    if (!rlx_file_meta_find(again, a.key, &b) || a.kind != b.kind || a.n != b.n || look_at(&a, 0) != look_at(&b, 0))
      fail("a value changed on the way");
  }
  rlx_file_close(again);
}

void lm_fuzz_file(const uint8_t *data, size_t bytes, const char *ending) {
  rlx_file *f;
  rlx_meta m;
  write_input(data, bytes, ending);
  if (rlx_file_open(path, NULL, &f) != RLX_OK) {
    if (f || !rlx_message()[0]) fail("refused without a message, or with a file");
    return;
  }
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++) look_at(&m, 0);
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) check_tensor(f, rlx_file_tensor_at(f, i));
  uint32_t more;
  rlx_status s = rlx_file_check(f, NULL, &more);
  if (s != RLX_OK && s != RLX_INVALID && s != RLX_UNSUPPORTED) fail("a check that ended otherwise");
  if (s != RLX_UNSUPPORTED && strcmp(ending, "json") != 0 && data[bytes - 1] % 8 == bytes % 8)
    check_again(f); /* only some of them, because writing is slow */
  rlx_file_close(f);
}

const rlx_tokenizer *lm_fuzz_tokenizer(void) {
  static rlx_tokenizer *t;
  rlx_file *f;
  if (t) return t;
  /* in the tree, and beside the goldens where the targets run elsewhere */
  if (rlx_file_open(RLX_TEST_DATA "/../../models/shakespeare/shakespeare.gguf", NULL, &f) &&
      rlx_file_open(RLX_TEST_DATA "/../models/shakespeare/shakespeare.gguf", NULL, &f))
    return NULL;
  if (rlx_tokenizer_create(f, &t)) t = NULL;
  rlx_file_close(f);
  return t;
}
