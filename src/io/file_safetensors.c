/* Reads safetensors: a JSON header, then the bytes of the tensors.
 *
 *   bytes of the header u64 | {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..} | data
 *
 * The header is at most 100 MB and is scanned tensor by tensor. Tensors must cover the data exactly: overlaps, holes
 * and trailing bytes are refused. Tensors are sorted by offset, so reading them all reads the file sequentially.
 *
 * Not supported: types that RLX does not have (8-bit and smaller floats, u16, u64), refused by name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "io/file.h"
#include "io/file_json.h"
#include "io/file_types.h"
#include "ir/shape.h"

/* ---- One tensor ---------------------------------------------------------------------------------------------- */

static rlx_status parse_dtype(const json_t *v, rlx_dtype *out) {
  if (!json_is_string(v)) return RLX_FAIL(RLX_INVALID, "expected a string for dtype, got %s", json_kind_name(v));
  return safetensors_type(json_string_value(v), out);
}

static rlx_status parse_shape(const json_t *v, rlx_dims *out) {
  if (!json_is_array(v)) return RLX_FAIL(RLX_INVALID, "expected a list for shape, got %s", json_kind_name(v));
  if (json_array_size(v) > RLX_MAX_RANK)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d sizes in the shape, got %zu", RLX_MAX_RANK,
                    json_array_size(v));
  out->n = (int32_t)json_array_size(v);
  for (int i = 0; i < out->n; i++) {
    const json_t *size = json_array_get(v, (size_t)i);
    if (!json_is_integer(size))
      return RLX_FAIL(RLX_INVALID, "expected whole numbers in the shape, got %s", json_kind_name(size));
    out->v[i] = json_integer_value(size);
    if (out->v[i] < 0) return RLX_FAIL(RLX_INVALID, "expected sizes from 0 on in the shape, got %" PRId64, out->v[i]);
  }
  return RLX_OK;
}

/* Parses the begin and end of its bytes, relative to the data. */
static rlx_status parse_offsets(const json_t *v, uint64_t data_bytes, rlx_file_tensor *t) {
  if (!json_is_array(v) || json_array_size(v) != 2)
    return RLX_FAIL(RLX_INVALID, "expected two data_offsets, got %s of %zu", json_kind_name(v), json_array_size(v));
  const json_t *a = json_array_get(v, 0), *b = json_array_get(v, 1);
  if (!json_is_integer(a) || !json_is_integer(b))
    return RLX_FAIL(RLX_INVALID, "expected whole numbers for data_offsets, got %s and %s", json_kind_name(a),
                    json_kind_name(b));
  int64_t from = json_integer_value(a), to = json_integer_value(b);
  if (from < 0 || to < from)
    return RLX_FAIL(RLX_INVALID, "data_offsets %" PRId64 " to %" PRId64 " are no range", from, to);
  if ((uint64_t)to > data_bytes)
    return RLX_FAIL(RLX_INVALID,
                    "data_offsets %" PRId64 " to %" PRId64 " go past the file's end (%" PRIu64 " bytes of data)", from,
                    to, data_bytes);
  if ((uint64_t)(to - from) != t->bytes)
    return RLX_FAIL(RLX_INVALID, "%s%s takes %zu bytes, but data_offsets %" PRId64 " to %" PRId64 " are %" PRId64,
                    rlx_dtype_describe(t->dtype)->name, RLX_DIMS_TEXT(t->shape), t->bytes, from, to, to - from);
  t->offset = (uint64_t)from;
  return RLX_OK;
}

static rlx_status parse_tensor(const json_t *v, uint64_t data_bytes, rlx_file_tensor *t) {
  if (!json_is_object(v)) return RLX_FAIL(RLX_INVALID, "expected an object, got %s", json_kind_name(v));
  RLX_TRY(parse_dtype(json_object_get(v, "dtype"), &t->dtype));
  t->type = rlx_dtype_describe(t->dtype)->name;
  RLX_TRY(parse_shape(json_object_get(v, "shape"), &t->shape));
  RLX_TRY(rlx_tensor_bytes(t->dtype, t->shape, &t->bytes));
  return parse_offsets(json_object_get(v, "data_offsets"), data_bytes, t);
}

static rlx_status add_tensor(rlx_file *f, uint32_t part, const json_t *key, json_text text, const char *whole) {
  const file_part *p = &f->parts.v[part];
  rlx_file_tensor t = {.part = part};
  json_t *v;
  const char *name = json_string_value(key);
  RLX_TRY(file_check_name("a tensor's name", name, json_string_length(key)));
  if (f->tensors.n == FILE_MAX_TENSORS)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d tensors", FILE_MAX_TENSORS);
  rlx_status s = json_load_text(text, whole, &v);
  if (!s) s = parse_tensor(v, p->bytes - p->data, &t);
  json_decref(v);
  RLX_TRY_AT(s, "tensor '%s'", name);
  t.offset += p->data;
  RLX_TRY(file_keep_text(f, name, strlen(name), &t.name));
  return rlx_array_push(&f->tensors, t) ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for tensor '%s'", name);
}

/* ---- Metadata: texts by name --------------------------------------------------------------------------------- */

static rlx_status add_meta(rlx_file *f, uint32_t part, const json_t *key, json_text text, const char *whole) {
  json_t *v;
  const char *name = json_string_value(key);
  RLX_TRY(file_check_name("a key of __metadata__", name, json_string_length(key)));
  RLX_TRY(json_load_text(text, whole, &v));
  rlx_status s = RLX_OK;
  if (!json_is_string(v))
    s = RLX_FAIL(RLX_INVALID, "__metadata__ '%s': expected a string, got %s", name, json_kind_name(v));
  else if (part == 0) /* the other parts repeat it */
    s = file_add_text(f, name, json_string_value(v), json_string_length(v));
  json_decref(v);
  return s;
}

typedef rlx_status (*member_fn)(rlx_file *f, uint32_t part, const json_t *key, json_text text, const char *whole);

static rlx_status each_member(rlx_file *f, uint32_t part, json_text object, const char *whole, member_fn fn) {
  json_walk w = json_walk_begin(object, whole);
  for (;;) {
    json_t *key;
    json_text value;
    RLX_TRY(json_walk_next(&w, &key, &value));
    if (!key) return RLX_OK;
    rlx_status s = fn(f, part, key, value, whole);
    json_decref(key);
    RLX_TRY(s);
  }
}

/* Adds one member of the header. */
static rlx_status add_member(rlx_file *f, uint32_t part, const json_t *key, json_text value, const char *whole) {
  if (strcmp(json_string_value(key), "__metadata__") != 0) return add_tensor(f, part, key, value, whole);
  if (f->parts.v[part].has_metadata) return RLX_FAIL(RLX_INVALID, "the header has __metadata__ twice");
  f->parts.v[part].has_metadata = true;
  if (value.v[0] != '{') return RLX_FAIL(RLX_INVALID, "expected an object for __metadata__");
  return each_member(f, part, value, whole, add_meta);
}

/* ---- The file ------------------------------------------------------------------------------------------------ */

static int by_offset(const void *a, const void *b) {
  const rlx_file_tensor *x = a, *y = b;
  if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

static rlx_status check_cover(const file_part *p, const rlx_file_tensor *t, size_t n) {
  uint64_t at = p->data;
  for (size_t i = 0; i < n; at = t[i].offset + t[i].bytes, i++) {
    if (t[i].offset < at && strcmp(t[i].name, t[i - 1].name) == 0)
      return RLX_FAIL(RLX_INVALID, "the tensor '%s' is there twice", t[i].name);
    if (t[i].offset < at)
      return RLX_FAIL(RLX_INVALID,
                      "tensor '%s' overlaps '%s': it begins at %" PRIu64 " of the data, that ends at %" PRIu64,
                      t[i].name, t[i - 1].name, t[i].offset - p->data, at - p->data);
    if (t[i].offset > at)
      return RLX_FAIL(RLX_INVALID, "tensor '%s': the %" PRIu64 " bytes of data before it belong to no tensor",
                      t[i].name, t[i].offset - at);
  }
  if (at < p->bytes)
    return RLX_FAIL(RLX_INVALID, "%" PRIu64 " bytes after the last tensor belong to none", p->bytes - at);
  return RLX_OK;
}

static rlx_status read_header(const rlx_file *f, uint32_t part, char **out, size_t *bytes) {
  unsigned char size[8];
  const file_part *p = &f->parts.v[part];
  *out = NULL;
  if (p->bytes < sizeof size)
    return RLX_FAIL(RLX_INVALID, "expected 8 bytes of header size, got a file of %" PRIu64 " bytes", p->bytes);
  RLX_TRY(file_read_part(f, part, 0, size, sizeof size));
  uint64_t n = gguf_load(size, 8);
  if (n < 2) return RLX_FAIL(RLX_INVALID, "a header of %" PRIu64 " bytes cannot hold '{}'", n);
  if (n > FILE_MAX_JSON)
    return RLX_FAIL(RLX_INVALID, "a header of %" PRIu64 " bytes, expected at most %d", n, FILE_MAX_JSON);
  if (n > p->bytes - 8)
    return RLX_FAIL(RLX_INVALID, "a header of %" PRIu64 " bytes goes past the file's end at %" PRIu64, n, p->bytes);
  char *header = rlx_mem_alloc((size_t)n);
  if (!header) return RLX_FAIL(RLX_NO_MEMORY, "no memory for a header of %" PRIu64 " bytes", n);
  rlx_status s = file_read_part(f, part, 8, header, (size_t)n);
  if (!s && header[0] != '{') s = RLX_FAIL(RLX_INVALID, "expected a header that begins with '{'");
  if (s) {
    rlx_mem_free(header);
    return s;
  }
  *out = header;
  *bytes = (size_t)n;
  return RLX_OK;
}

static rlx_status read_part(rlx_file *f, uint32_t part) {
  char *header;
  size_t bytes;
  RLX_TRY(read_header(f, part, &header, &bytes));
  file_part *p = &f->parts.v[part];
  p->data = 8 + bytes;
  rlx_status s = each_member(f, part, (json_text){header, bytes}, header, add_member);
  rlx_mem_free(header);
  RLX_TRY(s);
  p->n_tensors = (uint32_t)(f->tensors.n - p->first_tensor);
  if (p->n_tensors == 0) return check_cover(p, NULL, 0);
  rlx_file_tensor *t = f->tensors.v + p->first_tensor;
  qsort(t, p->n_tensors, sizeof *t, by_offset);
  return check_cover(p, t, p->n_tensors);
}

rlx_status file_read_safetensors(rlx_file *f, const char *path) {
  uint32_t part;
  RLX_TRY(file_add_part(f, path, &part));
  rlx_status s = read_part(f, part);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}
