/* Reads GGUF: versions 2 and 3, one file or several.
 *
 *   "GGUF" | version u32 | tensors u64 | keys u64 | key, type, value .. | name, sizes, type, offset .. | padding | data
 *
 * Everything before the data is the head. It is read into one buffer that grows with parsing, so a count or length
 * is trusted only as far as the file has bytes for it. Texts get their NUL in place (io/file.h), values are decoded
 * on access, and no allocation size comes from the file: lists of tensors and keys grow as items are validated.
 *
 * A split model is a set of files ending in "-00001-of-00003.gguf", each a GGUF with some of the tensors; the first
 * has the metadata. Opening any of them opens all.
 *
 * Not supported: version 1, big-endian files, and tensor types that RLX does not have. Each is refused by name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/file.h"
#include "base/str.h"
#include "io/file.h"
#include "io/file_types.h"
#include "ir/op.h"
#include "ir/shape.h"

/* Min bytes of a key and of a tensor in the file. */
enum { MIN_META = 8 + 1 + 4 + 1, MIN_TENSOR = 8 + 1 + 4 + 8 + 4 + 8, FIRST_READ = 64 << 10 };

typedef struct raw_meta {
  size_t key, value; /* offsets in the head */
  size_t list;
  gguf_type type;
} raw_meta;

typedef struct reader {
  rlx_file *f;
  uint32_t part;
  const char *path;
  uint64_t file_bytes;
  unsigned char *head;
  size_t at, have; /* parse offset; bytes of the head in memory */
  gguf_lists *lists;
  RLX_ARRAY(raw_meta) raws;
  RLX_ARRAY(size_t) names; /* of tensors: offsets in the head */
  RLX_ARRAY(file_meta) metas;
  file_names meta_names;
} reader;

static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "no memory for the file's description"); }

/* ---- The head's bytes ---------------------------------------------------------------------------------------- */

static rlx_status grow(reader *r, size_t wanted) {
  size_t cap = r->have < FIRST_READ ? FIRST_READ : 2 * r->have;
  if (cap < wanted) cap = wanted;
  if (cap > r->file_bytes) cap = (size_t)r->file_bytes;
  unsigned char *head = rlx_mem_realloc(r->head, cap, 1);
  if (!head) return no_memory();
  r->head = head;
  RLX_TRY(file_read_part(r->f, r->part, r->have, head + r->have, cap - r->have));
  r->have = cap;
  return RLX_OK;
}

/* Ensures that the next n bytes are in memory. */
static rlx_status need(reader *r, uint64_t n, const char *what) {
  if (n > r->file_bytes - r->at)
    return RLX_FAIL(RLX_INVALID, "%s of %" PRIu64 " bytes at byte %zu goes past the file's end at %" PRIu64, what, n,
                    r->at, r->file_bytes);
  if (n > FILE_MAX_HEAD - r->at)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s at byte %zu: expected at most %d bytes of metadata", what, r->at,
                    FILE_MAX_HEAD);
  return r->at + n > r->have ? grow(r, r->at + (size_t)n) : RLX_OK;
}

static rlx_status take(reader *r, size_t bytes, const char *what, uint64_t *out) {
  *out = 0;
  RLX_TRY(need(r, bytes, what));
  *out = gguf_load(r->head + r->at, bytes);
  r->at += bytes;
  return RLX_OK;
}

/* Parses a text and NUL-terminates it in place: see io/file.h. */
static rlx_status parse_text(reader *r, const char *what, size_t *at) {
  uint64_t n;
  *at = r->at;
  RLX_TRY(take(r, 8, what, &n));
  RLX_TRY(need(r, n, what));
  unsigned char *p = r->head + *at;
  memmove(p + 7, p + 8, (size_t)n);
  p[7 + n] = 0;
  r->at += (size_t)n;
  return RLX_OK;
}

static rlx_status parse_name(reader *r, const char *what, size_t *at) {
  RLX_TRY(parse_text(r, what, at));
  RLX_TRY_AT(file_check_name(what, gguf_text(r->head + *at), gguf_text_bytes(r->head + *at)), "byte %zu", *at);
  return RLX_OK;
}

/* Checks a count from the file: so many items must fit into the rest of it. */
static rlx_status check_count(const reader *r, const char *what, uint64_t n, size_t min_bytes, uint64_t max) {
  uint64_t left = r->file_bytes - r->at;
  if (n > left / min_bytes)
    return RLX_FAIL(RLX_INVALID, "%" PRIu64 " %s at byte %zu, but the file has only %" PRIu64 " bytes more", n, what,
                    r->at, left);
  if (n > max) return RLX_FAIL(RLX_UNSUPPORTED, "%" PRIu64 " %s: expected at most %" PRIu64, n, what, max);
  return RLX_OK;
}

/* ---- Metadata ------------------------------------------------------------------------------------------------ */

static rlx_status parse_type(reader *r, gguf_type *out) {
  uint64_t type;
  *out = GGUF_U8;
  RLX_TRY(take(r, 4, "a value's type", &type));
  if (type >= GGUF_TYPES)
    return RLX_FAIL(RLX_INVALID, "expected a value type below %d, got %" PRIu64 " at byte %zu", GGUF_TYPES, type,
                    r->at - 4);
  *out = (gguf_type)type;
  return RLX_OK;
}

static rlx_status parse_numbers(reader *r, gguf_type type, size_t n) {
  size_t bytes = n * gguf_type_size(type); /* n is bounded by the file size */
  RLX_TRY(need(r, bytes, "a value"));
  for (size_t i = 0; type == GGUF_BOOL && i < n; i++)
    if (r->head[r->at + i] > 1)
      return RLX_FAIL(RLX_INVALID, "expected a bool, 0 or 1, got %u at byte %zu", (unsigned)r->head[r->at + i],
                      r->at + i);
  r->at += bytes;
  return RLX_OK;
}

static rlx_status parse_texts(reader *r, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t at;
    RLX_TRY_AT(parse_text(r, "a text", &at), "element %zu", i);
    if (i % GGUF_MARK_EVERY == 0 && !rlx_array_push(&r->lists->marks, at)) return no_memory();
  }
  return RLX_OK;
}

static rlx_status parse_list(reader *r, size_t record, int depth);

/* Records of sibling lists are consecutive, before those of lists inside them. */
static rlx_status parse_lists(reader *r, size_t n, int depth) {
  gguf_lists *all = r->lists;
  size_t first = all->list.n;
  if (depth + 1 == FILE_MAX_DEPTH)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected lists nested at most %d deep, got more at byte %zu", FILE_MAX_DEPTH,
                    r->at);
  if (n > FILE_MAX_LISTS - first)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d lists, got more at byte %zu", FILE_MAX_LISTS, r->at);
  if (!rlx_array_reserve(&all->list, n)) return no_memory();
  all->list.n += n;
  for (size_t i = 0; i < n; i++) RLX_TRY(parse_list(r, first + i, depth + 1));
  return RLX_OK;
}

static rlx_status parse_list(reader *r, size_t record, int depth) {
  gguf_list l = {.all = r->lists};
  uint64_t n;
  RLX_TRY(parse_type(r, &l.type));
  RLX_TRY(take(r, 8, "a list's length", &n));
  size_t min = l.type == GGUF_STRING ? 8 : l.type == GGUF_ARRAY ? 12 : gguf_type_size(l.type);
  RLX_TRY(check_count(r, "elements of a list", n, min, UINT64_MAX));
  l.n = (size_t)n;
  l.at = r->at;
  l.first = l.type == GGUF_STRING ? r->lists->marks.n : r->lists->list.n;
  r->lists->list.v[record] = l;
  if (l.type == GGUF_STRING) return parse_texts(r, l.n);
  if (l.type == GGUF_ARRAY) return parse_lists(r, l.n, depth);
  return parse_numbers(r, l.type, l.n);
}

static rlx_status parse_value(reader *r, raw_meta *m) {
  RLX_TRY(parse_type(r, &m->type));
  m->value = r->at;
  if (m->type == GGUF_STRING) return parse_text(r, "a text", &m->value);
  if (m->type != GGUF_ARRAY) return parse_numbers(r, m->type, 1);
  m->list = r->lists->list.n;
  if (m->list == FILE_MAX_LISTS) return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d lists", FILE_MAX_LISTS);
  if (!rlx_array_push(&r->lists->list, ((gguf_list){.n = 0}))) return no_memory();
  return parse_list(r, m->list, 0);
}

static rlx_status parse_metas(reader *r, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    raw_meta m = {0};
    RLX_TRY_AT(parse_name(r, "a key", &m.key), "key %" PRIu64, i);
    RLX_TRY_AT(parse_value(r, &m), "key '%s'", gguf_text(r->head + m.key));
    if (!rlx_array_push(&r->raws, m)) return no_memory();
  }
  return RLX_OK;
}

/* ---- Tensors ------------------------------------------------------------------------------------------------- */

static rlx_status parse_shape(reader *r, rlx_dims *shape) {
  uint64_t n, size;
  RLX_TRY(take(r, 4, "the number of sizes", &n));
  if (n < 1 || n > 4) return RLX_FAIL(RLX_INVALID, "expected 1 to 4 sizes, got %" PRIu64, n);
  shape->n = (int32_t)n;
  for (int i = shape->n - 1; i >= 0; i--) { /* the first size in the file is the fastest axis */
    RLX_TRY(take(r, 8, "a size", &size));
    if (size < 1 || size > INT64_MAX) return RLX_FAIL(RLX_INVALID, "expected sizes from 1 on, got %" PRIu64, size);
    shape->v[i] = (int64_t)size;
  }
  return RLX_OK;
}

static rlx_status parse_tensor(reader *r, rlx_file_tensor *t) {
  uint64_t type;
  RLX_TRY(parse_shape(r, &t->shape));
  RLX_TRY(take(r, 4, "a tensor's type", &type));
  RLX_TRY(gguf_tensor_type(type, t));
  return take(r, 8, "a tensor's offset", &t->offset);
}

static rlx_status parse_tensors(reader *r, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    rlx_file_tensor t = {.part = r->part};
    size_t name;
    RLX_TRY_AT(parse_name(r, "a tensor's name", &name), "tensor %" PRIu64, i);
    RLX_TRY_AT(parse_tensor(r, &t), "tensor '%s'", gguf_text(r->head + name));
    if (!rlx_array_push(&r->names, name) || !rlx_array_push(&r->f->tensors, t)) return no_memory();
  }
  return RLX_OK;
}

/* Converts an offset from the start of the data to one from the start of the file. */
static rlx_status place_tensor(const file_part *p, rlx_file_tensor *t) {
  uint64_t left = p->bytes > p->data ? p->bytes - p->data : 0;
  if (t->offset % p->alignment)
    return RLX_FAIL(RLX_INVALID, "tensor '%s': offset %" PRIu64 " is not a multiple of the alignment of %u", t->name,
                    t->offset, (unsigned)p->alignment);
  if (t->offset > left || t->bytes > left - t->offset)
    return RLX_FAIL(RLX_INVALID,
                    "tensor '%s': its %zu bytes from offset %" PRIu64 " on go past the file's end (%" PRIu64
                    " bytes of data)",
                    t->name, t->bytes, t->offset, left);
  t->offset += p->data;
  return RLX_OK;
}

static int by_offset(const void *a, const void *b) {
  const rlx_file_tensor *x = *(const rlx_file_tensor *const *)a, *y = *(const rlx_file_tensor *const *)b;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static rlx_status check_overlap(const rlx_file_tensor *const *order, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      return RLX_FAIL(RLX_INVALID, "tensor '%s' at byte %" PRIu64 " overlaps '%s', which ends at %" PRIu64,
                      order[i]->name, order[i]->offset, order[i - 1]->name, order[i - 1]->offset + order[i - 1]->bytes);
  return RLX_OK;
}

static rlx_status place_tensors(reader *r) {
  file_part *p = &r->f->parts.v[r->part];
  size_t n = r->names.n, data;
  if (!rlx_pad_size(r->at, p->alignment, &data)) return RLX_FAIL(RLX_INVALID, "the data's start overflows");
  p->data = data;
  p->n_tensors = (uint32_t)n;
  if (n == 0) return RLX_OK;
  rlx_file_tensor *t = r->f->tensors.v + p->first_tensor;
  const rlx_file_tensor **order = rlx_mem_calloc(n, sizeof *order);
  if (!order) return no_memory();
  rlx_status s = RLX_OK;
  bool is_sorted = true;
  for (size_t i = 0; !s && i < n; i++) {
    t[i].name = gguf_text(r->head + r->names.v[i]);
    s = place_tensor(p, &t[i]);
    order[i] = &t[i];
    is_sorted = is_sorted && (i == 0 || t[i - 1].offset < t[i].offset);
  }
  if (!s && !is_sorted) qsort(order, n, sizeof *order, by_offset);
  if (!s) s = check_overlap(order, n);
  rlx_mem_free(order);
  return s;
}

/* ---- One file ------------------------------------------------------------------------------------------------ */

static rlx_status parse_header(reader *r, uint64_t *n_tensors, uint64_t *n_metas) {
  uint64_t magic, version;
  RLX_TRY(take(r, 4, "the magic", &magic));
  if (memcmp(r->head, "GGUF", 4) != 0) return RLX_FAIL(RLX_INVALID, "expected a GGUF: its first bytes are not 'GGUF'");
  RLX_TRY(take(r, 4, "the version", &version));
  if (version != 0 && (version & 0xffff) == 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected a little-endian GGUF, got a big-endian one");
  if (version != 2 && version != 3)
    return RLX_FAIL(version == 0 ? RLX_INVALID : RLX_UNSUPPORTED, "expected version 2 or 3 of GGUF, got %" PRIu64,
                    version);
  snprintf(r->f->format, sizeof r->f->format, "GGUF v%u", (unsigned)version);
  RLX_TRY(take(r, 8, "the number of tensors", n_tensors));
  RLX_TRY(take(r, 8, "the number of keys", n_metas));
  RLX_TRY(check_count(r, "tensors", *n_tensors, MIN_TENSOR, FILE_MAX_TENSORS - r->f->tensors.n));
  return check_count(r, "keys", *n_metas, MIN_META, FILE_MAX_METAS);
}

/* The head does not move any more: converts offsets to pointers. */
static rlx_status resolve_offsets(reader *r) {
  const char *twice;
  unsigned char *head = rlx_mem_realloc(r->head, r->at, 1);
  if (head) r->head = head;
  r->lists->head = r->head;
  for (size_t i = 0; i < r->raws.n; i++) {
    const raw_meta *raw = &r->raws.v[i];
    file_meta m = {
      .key = gguf_text(r->head + raw->key), .value = r->head + raw->value, .type = raw->type, .list = raw->list};
    if (!rlx_array_push(&r->metas, m)) return no_memory();
  }
  RLX_TRY(file_names_build(&r->meta_names, r->metas.v, r->metas.n, sizeof *r->metas.v, &twice));
  return twice ? RLX_FAIL(RLX_INVALID, "the metadata has the key '%s' twice", twice) : RLX_OK;
}

static const file_meta *find(const reader *r, const char *key) {
  size_t i = file_names_find(&r->meta_names, r->metas.v, r->metas.n, sizeof *r->metas.v, key);
  return i < r->metas.n ? &r->metas.v[i] : NULL;
}

static rlx_status read_alignment(const reader *r, uint32_t *out) {
  const file_meta *m = find(r, "general.alignment");
  *out = GGUF_ALIGNMENT;
  if (!m) return RLX_OK;
  if (m->type != GGUF_U32)
    return RLX_FAIL(RLX_INVALID, "expected a u32 for general.alignment, got %s", gguf_type_name(m->type));
  *out = (uint32_t)gguf_load(m->value, 4);
  if (*out < 8 || *out > GGUF_MAX_ALIGNMENT || (*out & (*out - 1)))
    return RLX_FAIL(RLX_INVALID, "expected a power of two from 8 to %d for general.alignment, got %u",
                    GGUF_MAX_ALIGNMENT, (unsigned)*out);
  return RLX_OK;
}

static rlx_status read_head(reader *r) {
  uint64_t n_tensors, n_metas;
  r->lists = rlx_new(gguf_lists);
  if (!r->lists) return no_memory();
  RLX_TRY(parse_header(r, &n_tensors, &n_metas));
  RLX_TRY(parse_metas(r, n_metas));
  RLX_TRY(check_count(r, "tensors", n_tensors, MIN_TENSOR, FILE_MAX_TENSORS));
  RLX_TRY(parse_tensors(r, n_tensors));
  RLX_TRY(resolve_offsets(r));
  RLX_TRY(read_alignment(r, &r->f->parts.v[r->part].alignment));
  return place_tensors(r);
}

static void reader_deinit(reader *r) {
  rlx_array_deinit(&r->raws);
  rlx_array_deinit(&r->names);
  rlx_array_deinit(&r->metas);
  file_names_deinit(&r->meta_names);
}

rlx_status file_parse_values(rlx_file *f, uint32_t part, unsigned char *bytes, size_t n_bytes, size_t n,
                             file_meta *out) {
  file_part *p = &f->parts.v[part];
  reader r = {.f = f, .part = part, .path = p->path, .file_bytes = n_bytes, .head = bytes, .have = n_bytes};
  r.lists = rlx_new(gguf_lists);
  rlx_status s = r.lists ? parse_metas(&r, n) : no_memory();
  if (!s) s = resolve_offsets(&r);
  p->head = r.head;
  p->head_bytes = n_bytes;
  p->lists = r.lists;
  if (!s) memcpy(out, r.metas.v, n * sizeof *out);
  reader_deinit(&r);
  return s;
}

/* ---- Several files ------------------------------------------------------------------------------------------- */

/* Part number and count, from the metadata or from the file name. */
typedef struct split {
  uint32_t number, count; /* number from 1; count 0: not split */
  int64_t tensors;        /* of all parts; -1: unknown */
} split;

static bool read_whole(const reader *r, const char *key, int64_t *out) {
  const file_meta *m = find(r, key);
  if (!m || m->type == GGUF_STRING || m->type == GGUF_ARRAY || m->type == GGUF_F32 || m->type == GGUF_F64) return false;
  *out = (int64_t)gguf_load(m->value, gguf_type_size(m->type));
  return true;
}

static rlx_status read_split(const reader *r, split *out) {
  int64_t number = -1, count = 0;
  *out = (split){.tensors = -1};
  bool has_count = read_whole(r, "split.count", &count), has_number = read_whole(r, "split.no", &number);
  read_whole(r, "split.tensors.count", &out->tensors);
  if (!has_count || count == 0 || (count == 1 && !has_number)) return RLX_OK;
  if (count < 0 || count > FILE_MAX_PARTS || !has_number || number < 0 || number >= count)
    return RLX_FAIL(RLX_INVALID, "split.no %" PRId64 " is not a part of split.count %" PRId64, number, count);
  out->number = (uint32_t)number + 1;
  out->count = (uint32_t)count;
  return RLX_OK;
}

enum { SPLIT_END = 20 }; /* "-00001-of-00003.gguf" */

static bool parse_five_digits(const char *text, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 5; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    *out = *out * 10 + (uint32_t)(text[i] - '0');
  }
  return true;
}

static split split_of_name(const char *path) {
  split s = {.tensors = -1};
  size_t n = strlen(path);
  const char *end = path + n - (n < SPLIT_END ? n : SPLIT_END);
  bool ok = n > SPLIT_END && end[0] == '-' && parse_five_digits(end + 1, &s.number) &&
            memcmp(end + 6, "-of-", 4) == 0 && parse_five_digits(end + 10, &s.count) && strcmp(end + 15, ".gguf") == 0;
  return ok && s.number >= 1 && s.number <= s.count ? s : (split){.tensors = -1};
}

static rlx_status part_path(const char *path, uint32_t number, uint32_t count, char **out) {
  rlx_str name = {0};
  rlx_str_add_bytes(&name, path, strlen(path) - SPLIT_END);
  rlx_str_add(&name, "-%05u-of-%05u.gguf", (unsigned)number, (unsigned)count);
  return rlx_str_take(&name, out);
}

static rlx_status read_one(rlx_file *f, const char *path, split *out) {
  reader r = {.f = f, .path = path};
  *out = (split){.tensors = -1};
  RLX_TRY(file_add_part(f, path, &r.part));
  r.file_bytes = f->parts.v[r.part].bytes;
  rlx_status s = read_head(&r);
  if (!s) s = read_split(&r, out);
  f->parts.v[r.part].head = r.head;
  f->parts.v[r.part].head_bytes = r.at;
  f->parts.v[r.part].lists = r.lists;
  if (!s && r.part == 0) { /* the first part has the metadata */
    f->metas.v = r.metas.v;
    f->metas.n = r.metas.n;
    f->metas.cap = r.metas.cap;
    r.metas.v = NULL;
  }
  reader_deinit(&r);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}

static rlx_status read_part(rlx_file *f, const char *any, uint32_t number, uint32_t count, split *reported) {
  char *path;
  RLX_TRY(part_path(any, number, count, &path));
  rlx_status s = read_one(f, path, reported);
  if (s == RLX_NOT_FOUND) s = rlx_fail_frame(s, "part %u of %u is missing", (unsigned)number, (unsigned)count);
  else if (!s && (reported->count != count || reported->number != number))
    s = RLX_FAIL(RLX_INVALID, "%s: by its name it is part %u of %u, by its metadata %u of %u", path, (unsigned)number,
                 (unsigned)count, (unsigned)reported->number, (unsigned)reported->count);
  rlx_mem_free(path);
  return s;
}

static rlx_status read_parts(rlx_file *f, const char *path, uint32_t count, const rlx_watch *watch) {
  split reported;
  int64_t tensors = -1;
  for (uint32_t k = 1; k <= count; k++) {
    RLX_TRY(file_watch(watch, "open", k - 1, count));
    RLX_TRY(read_part(f, path, k, count, &reported));
    if (k == 1) tensors = reported.tensors;
  }
  if (tensors >= 0 && (uint64_t)tensors != f->tensors.n)
    return RLX_FAIL(RLX_INVALID, "%s: its %u parts have %zu tensors, but split.tensors.count is %" PRId64, path,
                    (unsigned)count, f->tensors.n, tensors);
  return RLX_OK;
}

rlx_status file_open_gguf(rlx_file *f, const char *path, const rlx_watch *watch) {
  split named = split_of_name(path), reported;
  f->is_gguf = true;
  if (named.count > 1) return read_parts(f, path, named.count, watch);
  RLX_TRY(file_watch(watch, "open", 0, 1));
  RLX_TRY(read_one(f, path, &reported));
  if (reported.count > 1)
    return RLX_FAIL(RLX_INVALID, "%s: it is part %u of %u, so its name should end in '-%05u-of-%05u.gguf'", path,
                    (unsigned)reported.number, (unsigned)reported.count, (unsigned)reported.number,
                    (unsigned)reported.count);
  return RLX_OK;
}
