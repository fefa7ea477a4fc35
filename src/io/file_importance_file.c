/* The files of importance matrices, as llama.cpp reads and writes them.
 *
 * A GGUF: tensors NAME.in_sum2 [experts, columns] and NAME.counts [experts, 1], both f32; metadata general.type
 * "imatrix", imatrix.chunk_count, imatrix.chunk_size, imatrix.datasets.
 *
 * The older format, little endian: the number of entries; for each the bytes of its name, the name, how many texts were
 * measured, how many values, and these as f32: means times the number of texts; then how many texts in all, and the
 * path of the text. It has no counts of tokens: a text is taken for the 512 that are usual. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"
#include "io/file_importance.h"

enum { OLD_WINDOW = 512, MAX_OLD = 1 << 30 };

/* ---- GGUF ---- */

static const char sum_ending[] = ".in_sum2", count_ending[] = ".counts";

static bool cut_ending(const char *name, const char *ending, size_t *n) {
  size_t all = strlen(name), m = strlen(ending);
  if (all <= m || strcmp(name + all - m, ending) != 0) return false;
  *n = all - m;
  return true;
}

static rlx_status read_floats(const rlx_file *f, const rlx_file_tensor *t, float **out) {
  *out = rlx_mem_alloc(t->bytes ? t->bytes : 1);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s': %zu bytes", t->name, t->bytes);
  return rlx_file_read_tensor(f, t, 0, *out, t->bytes);
}

static rlx_status add_entry(const rlx_file *f, const rlx_file_tensor *t, const char *name, rlx_importance *im) {
  char other[IMPORTANCE_MAX_NAME + sizeof count_ending];
  snprintf(other, sizeof other, "%s%s", name, count_ending);
  const rlx_file_tensor *c = rlx_file_tensor_find(f, other);
  size_t columns = t->shape.n ? (size_t)t->shape.v[t->shape.n - 1] : 0;
  if (t->dtype != RLX_F32 || t->shape.n < 1 || t->shape.n > 2 || !columns || !t->bytes)
    return RLX_FAIL(RLX_INVALID, "tensor '%s': expected f32 [experts, columns]", t->name);
  if (importance_find(im, name)) return RLX_FAIL(RLX_INVALID, "tensor '%s' is there twice", t->name);
  size_t experts = t->bytes / sizeof(float) / columns;
  if (!c || c->dtype != RLX_F32 || c->bytes != experts * sizeof(float))
    return RLX_FAIL(RLX_INVALID, "tensor '%s': expected f32 of %zu counts beside '%s'", other, experts, t->name);
  float *sums = NULL, *counts = NULL;
  rlx_status s = read_floats(f, t, &sums);
  if (!s) s = read_floats(f, c, &counts);
  if (!s) s = importance_add(im, name, experts, columns, sums, counts);
  rlx_mem_free(sums);
  rlx_mem_free(counts);
  return s;
}

static uint32_t number_of(const rlx_file *f, const char *key) {
  rlx_meta m;
  bool is_there = rlx_file_meta_find(f, key, &m) && m.kind == RLX_META_INT && m.integer >= 0 && m.integer <= INT32_MAX;
  return is_there ? (uint32_t)m.integer : 0;
}

static rlx_status read_gguf(const rlx_file *f, rlx_importance *im) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, "general.type", &m) || m.kind != RLX_META_TEXT || strcmp(m.text, "imatrix") != 0)
    return RLX_FAIL(RLX_INVALID, "expected an importance matrix: general.type is not 'imatrix'");
  im->chunks = number_of(f, "imatrix.chunk_count");
  im->window = number_of(f, "imatrix.chunk_size");
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
    char name[IMPORTANCE_MAX_NAME + 1];
    size_t n;
    if (!cut_ending(t->name, sum_ending, &n)) continue;
    if (n > IMPORTANCE_MAX_NAME)
      return RLX_FAIL(RLX_INVALID, "a tensor's name of %zu bytes: expected at most %d", n, IMPORTANCE_MAX_NAME);
    memcpy(name, t->name, n);
    name[n] = '\0';
    RLX_TRY(add_entry(f, t, name, im));
  }
  return RLX_OK;
}

/* ---- The older format ---- */

typedef struct cursor {
  const unsigned char *p;
  size_t left;
} cursor;

static const unsigned char *take(cursor *c, size_t n) {
  if (n > c->left) return NULL;
  const unsigned char *p = c->p;
  c->p += n;
  c->left -= n;
  return p;
}

/* A count: from 0 to `max`. */
static bool take_count(cursor *c, size_t max, size_t *out) {
  const unsigned char *p = take(c, 4);
  *out = p ? (size_t)gguf_load(p, 4) : 0;
  return p && *out <= max && *out <= INT32_MAX;
}

static rlx_status read_old_entry(cursor *c, size_t number, rlx_importance *im) {
  char name[IMPORTANCE_MAX_NAME + 1] = "";
  size_t n_name, texts, n;
  const unsigned char *p;
  if (!take_count(c, IMPORTANCE_MAX_NAME, &n_name) || !(p = take(c, n_name)))
    return RLX_FAIL(RLX_INVALID, "entry %zu: expected a name of at most %d bytes", number, IMPORTANCE_MAX_NAME);
  memcpy(name, p, n_name);
  if (strlen(name) != n_name) return RLX_FAIL(RLX_INVALID, "entry %zu: a NUL in its name", number);
  if (!take_count(c, INT32_MAX, &texts) || !take_count(c, c->left / 4, &n) || n < 1 || !(p = take(c, 4 * n)))
    return RLX_FAIL(RLX_INVALID, "entry %zu, '%s': the file ends within it, or has no values", number, name);
  if (importance_find(im, name)) return RLX_FAIL(RLX_INVALID, "entry %zu, '%s', is there twice", number, name);
  float *sums = rlx_mem_calloc(n, sizeof *sums), count = (float)texts * OLD_WINDOW;
  if (!sums) return RLX_FAIL(RLX_NO_MEMORY, "%zu values of '%s'", n, name);
  for (size_t i = 0; i < n; i++) {
    uint32_t bits = (uint32_t)gguf_load(p + 4 * i, 4);
    memcpy(&sums[i], &bits, sizeof bits);
    sums[i] *= OLD_WINDOW;
  }
  rlx_status s = importance_add(im, name, 1, n, sums, &count);
  rlx_mem_free(sums);
  return s;
}

static rlx_status read_old(const char *bytes, size_t n, rlx_importance *im) {
  cursor c = {(const unsigned char *)bytes, n};
  size_t entries, texts;
  if (!take_count(&c, IMPORTANCE_MAX_ENTRIES, &entries) || entries < 1)
    return RLX_FAIL(RLX_INVALID, "expected an importance matrix: neither a GGUF nor 1 to %d entries",
                    IMPORTANCE_MAX_ENTRIES);
  for (size_t i = 0; i < entries; i++) RLX_TRY(read_old_entry(&c, i, im));
  if (take_count(&c, INT32_MAX, &texts)) im->chunks = (uint32_t)texts; /* the first such files end before it */
  im->window = OLD_WINDOW;
  return RLX_OK;
}

/* ---- Reading ---- */

static bool is_gguf(const char *path) {
  int fd = -1;
  rlx_stamp stamp;
  char magic[4] = "";
  bool is_read = rlx_fd_open(path, &fd, &stamp) == RLX_OK && stamp.bytes >= sizeof magic &&
                 rlx_fd_read(fd, path, &stamp, 0, magic, sizeof magic) == RLX_OK;
  rlx_fd_close(fd);
  return is_read && memcmp(magic, "GGUF", sizeof magic) == 0;
}

static rlx_status read_any(const char *path, rlx_importance *im) {
  if (is_gguf(path)) {
    rlx_file *f;
    RLX_TRY(rlx_file_open(path, NULL, &f));
    rlx_status s = read_gguf(f, im);
    rlx_file_close(f);
    return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
  }
  char *text;
  size_t n;
  RLX_TRY(rlx_file_read(path, MAX_OLD, &text, &n));
  rlx_status s = read_old(text, n, im);
  rlx_mem_free(text);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}

rlx_status rlx_importance_open(const char *path, rlx_importance **out) {
  if (!path || !out) return RLX_FAIL(RLX_INVALID, "rlx_importance_open: %s is NULL", path ? "out" : "the path");
  *out = NULL;
  rlx_importance *im;
  RLX_TRY(rlx_importance_create(&im));
  rlx_status s = read_any(path, im);
  if (!s && !im->entries.n) s = RLX_FAIL(RLX_INVALID, "%s: an importance matrix of no tensors", path);
  if (s) {
    rlx_importance_destroy(im);
    return s;
  }
  *out = im;
  return RLX_OK;
}

/* ---- Writing ---- */

static const double largest_mean = 1e35;

static rlx_status write_head(const rlx_importance *im, rlx_file_writer *w) {
  rlx_meta m = {.key = "general.type", .kind = RLX_META_TEXT, .text = "imatrix", .n = 7};
  RLX_TRY(rlx_file_writer_meta(w, &m));
  m = (rlx_meta){.key = "imatrix.chunk_count", .type = "u32", .kind = RLX_META_INT, .integer = im->chunks};
  RLX_TRY(rlx_file_writer_meta(w, &m));
  m = (rlx_meta){.key = "imatrix.chunk_size", .type = "u32", .kind = RLX_META_INT, .integer = im->window};
  RLX_TRY(rlx_file_writer_meta(w, &m));
  const rlx_meta text = {.kind = RLX_META_TEXT, .text = "text", .n = 4};
  m = (rlx_meta){.key = "imatrix.datasets", .kind = RLX_META_LIST, .elements = RLX_META_TEXT, .n = 1, .opaque = &text};
  RLX_TRY(rlx_file_writer_meta(w, &m));
  for (size_t i = 0; i < im->entries.n; i++) {
    const importance_entry *e = &im->entries.v[i];
    char name[IMPORTANCE_MAX_NAME + sizeof sum_ending];
    snprintf(name, sizeof name, "%s%s", e->name, sum_ending);
    RLX_TRY(rlx_file_writer_tensor(w, name, RLX_F32, RLX_DIMS((int64_t)e->experts, (int64_t)e->columns)));
    snprintf(name, sizeof name, "%s%s", e->name, count_ending);
    RLX_TRY(rlx_file_writer_tensor(w, name, RLX_F32, RLX_DIMS((int64_t)e->experts, 1)));
  }
  return RLX_OK;
}

static rlx_status write_doubles(rlx_file_writer *w, const double *v, size_t n) {
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < n && !s; i++) {
    float x = v[i] < 3e38 ? (float)v[i] : 3e38f;
    s = rlx_file_writer_bytes(w, &x, sizeof x);
  }
  return s;
}

static rlx_status write_gguf(const rlx_importance *im, const char *path) {
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = write_head(im, w);
  for (size_t i = 0; i < im->entries.n && !s; i++) {
    const importance_entry *e = &im->entries.v[i];
    s = write_doubles(w, e->sums, e->experts * e->columns);
    if (!s) s = write_doubles(w, e->counts, e->experts);
  }
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static void add_number(rlx_str *s, uint32_t v) {
  for (int i = 0; i < 4; i++) rlx_str_add_char(s, (char)(v >> 8 * i & 255));
}

static void add_old_entry(const rlx_importance *im, const importance_entry *e, rlx_str *s) {
  size_t n = strlen(e->name);
  uint32_t texts = im->chunks ? im->chunks : 1;
  add_number(s, (uint32_t)n);
  rlx_str_add_bytes(s, e->name, n);
  add_number(s, texts);
  add_number(s, (uint32_t)(e->experts * e->columns));
  for (size_t i = 0; i < e->experts * e->columns; i++) {
    double count = e->counts[i / e->columns], v = count > 0 ? e->sums[i] / count * texts : 0;
    float x = v < largest_mean ? (float)v : (float)largest_mean; /* readers multiply it */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    add_number(s, bits);
  }
}

static rlx_status write_old(const rlx_importance *im, const char *path) {
  static const char dataset[] = "text";
  rlx_str s = {0};
  char *bytes;
  add_number(&s, (uint32_t)im->entries.n);
  for (size_t i = 0; i < im->entries.n; i++) add_old_entry(im, &im->entries.v[i], &s);
  add_number(&s, im->chunks);
  add_number(&s, sizeof dataset - 1);
  rlx_str_add_bytes(&s, dataset, sizeof dataset - 1);
  size_t n = s.n;
  RLX_TRY(rlx_str_take(&s, &bytes));
  rlx_draft d;
  rlx_status status = rlx_draft_begin(&d, path);
  if (!status) {
    status = rlx_draft_write(&d, bytes, n);
    if (!status) status = rlx_draft_commit(&d);
    else rlx_draft_discard(&d);
  }
  rlx_mem_free(bytes);
  return status;
}

rlx_status rlx_importance_save(const rlx_importance *im, const char *path) {
  if (!im || !path) return RLX_FAIL(RLX_INVALID, "rlx_importance_save: %s is NULL", im ? "the path" : "the matrix");
  if (!im->entries.n) return RLX_FAIL(RLX_INVALID, "rlx_importance_save: nothing has been measured");
  size_t n = strlen(path);
  if (n > 5 && strcmp(path + n - 5, ".gguf") == 0) return write_gguf(im, path);
  if (n > 4 && strcmp(path + n - 4, ".dat") == 0) return write_old(im, path);
  return RLX_FAIL(RLX_INVALID, "rlx_importance_save: expected a path that ends in .gguf or .dat, got '%s'", path);
}
