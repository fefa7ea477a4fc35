/* Parses protobuf messages into the structs of model.h.
 *
 * Each message is read twice: first to count its repeated fields, then to fill arrays of exactly that size. Unknown
 * fields are skipped, as the format requires. Tensor data are not read here; only their bounds are checked. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "onnx/model.h"

enum { MAX_FIELDS = 27, MAX_NAME = 65535 };

/* Reader state: the model, and the nesting depth of graphs. */
typedef struct reader {
  rlx_onnx *m;
  int depth;
} reader;

static rlx_status no_memory(const char *what) { return RLX_FAIL(RLX_NO_MEMORY, "no memory for %s", what); }

/* Fewer fields than were counted a moment ago. */
static rlx_status changed(void) { return RLX_FAIL(RLX_IO, "the file changed while it was read"); }

static rlx_status count_fields(wire w, uint32_t counts[MAX_FIELDS]) {
  wire_field f;
  memset(counts, 0, MAX_FIELDS * sizeof *counts);
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number < MAX_FIELDS) counts[f.number]++;
  } while (f.number);
  return RLX_OK;
}

/* What structs take beyond the file's own size is bounded: a few bytes of a message may stand for a large struct. */
static rlx_status allocate(reader *r, size_t n, size_t size, const char *what, void *out) {
  rlx_onnx *m = r->m;
  uint64_t max = ONNX_MAX_BYTES + m->files.v[0].source.bytes;
  void *p = NULL;
  if (n && (m->bump.total > max || n > (max - m->bump.total) / size))
    return RLX_FAIL(RLX_UNSUPPORTED, "the model takes more memory than %d MiB and its own size: %zu more of %s",
                    ONNX_MAX_BYTES >> 20, n, what);
  if (n && !(p = rlx_bump_alloc(&m->bump, n, size))) return no_memory(what);
  memcpy(out, &p, sizeof p);
  return RLX_OK;
}

#define ALLOCATE(r, T, n, out) RLX_TRY(allocate((r), (n), sizeof(T), #T, (out)))

/* ---- texts ---- */

static rlx_status read_bytes(reader *r, const wire *w, const wire_field *f, onnx_text *out) {
  RLX_TRY(wire_expect(f, WIRE_BYTES, "a text"));
  if (++r->m->n_texts > ONNX_MAX_TEXTS) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d texts", ONNX_MAX_TEXTS);
  char *text;
  ALLOCATE(r, char, (size_t)f->bytes + 1, &text);
  *out = (onnx_text){text, (size_t)f->bytes};
  return wire_take(w, f, text);
}

/* A name or a word: UTF-8 without NUL. */
static rlx_status read_text(reader *r, const wire *w, const wire_field *f, const char *what, const char **out) {
  onnx_text t;
  if (f->type == WIRE_BYTES && f->bytes == 0) {
    *out = "";
    return RLX_OK;
  }
  if (f->type == WIRE_BYTES && f->bytes > MAX_NAME)
    return RLX_FAIL(RLX_INVALID, "%s has %" PRIu64 " bytes, expected at most %d", what, f->bytes, MAX_NAME);
  RLX_TRY_AT(read_bytes(r, w, f, &t), "%s", what);
  if (memchr(t.v, 0, t.n)) return RLX_FAIL(RLX_INVALID, "%s holds a NUL after '%s'", what, t.v);
  if (!rlx_text_is_utf8(t.v)) return RLX_FAIL(RLX_INVALID, "%s is not UTF-8", what);
  *out = t.v;
  return RLX_OK;
}

/* Documentation and similar text without effect: long or malformed text is dropped. */
static rlx_status read_remark(reader *r, const wire *w, const wire_field *f, const char **out) {
  onnx_text t;
  *out = "";
  if (f->type != WIRE_BYTES || f->bytes == 0 || f->bytes > MAX_NAME) return RLX_OK;
  RLX_TRY(read_bytes(r, w, f, &t));
  if (!memchr(t.v, 0, t.n) && rlx_text_is_utf8(t.v)) *out = t.v;
  return RLX_OK;
}

static rlx_status read_pair(reader *r, wire w, const char **key, const char **value) {
  wire_field f;
  *key = *value = "";
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) RLX_TRY(read_text(r, &w, &f, "a key", key));
    if (f.number == 2) RLX_TRY(read_text(r, &w, &f, "a value", value));
  } while (f.number);
  return RLX_OK;
}

/* ---- lists of numbers: packed into one field, or a field each ---- */

typedef struct numbers {
  wire_type type; /* of one */
  uint64_t *v;
  size_t n, cap;
} numbers;

static rlx_status count_numbers(const wire *w, const wire_field *f, wire_type type, size_t *n) {
  if (f->type == type) {
    ++*n;
    return RLX_OK;
  }
  RLX_TRY(wire_expect(f, WIRE_BYTES, "a list of numbers"));
  size_t size = type == WIRE_I32 ? 4 : 8;
  if (type != WIRE_VARINT) {
    if (f->bytes % size)
      return RLX_FAIL(RLX_INVALID, "a list of %zu-byte numbers has %" PRIu64 " bytes", size, f->bytes);
    *n += (size_t)(f->bytes / size);
    return RLX_OK;
  }
  wire inner = {w->source, f->at, f->at + f->bytes};
  for (uint64_t ignored; inner.at < inner.end; ++*n) RLX_TRY(wire_varint(&inner, &ignored));
  return RLX_OK;
}

static rlx_status add_numbers(const wire *w, const wire_field *f, numbers *out) {
  if (f->type == out->type) {
    if (out->n == out->cap) return changed();
    out->v[out->n++] = f->value;
    return RLX_OK;
  }
  wire inner = {w->source, f->at, f->at + f->bytes};
  while (inner.at < inner.end) {
    uint64_t x;
    if (out->type == WIRE_VARINT) RLX_TRY(wire_varint(&inner, &x));
    else RLX_TRY(wire_fixed(&inner, out->type == WIRE_I32 ? 4 : 8, &x));
    if (out->n == out->cap) return changed();
    out->v[out->n++] = x;
  }
  return RLX_OK;
}

static rlx_status read_numbers(reader *r, wire w, uint32_t number, wire_type type, numbers *out) {
  size_t n = 0;
  wire_field f;
  for (wire walk = w;;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    if (f.number == number) RLX_TRY(count_numbers(&walk, &f, type, &n));
  }
  *out = (numbers){.type = type, .cap = n};
  r->m->n_numbers += n;
  if (r->m->n_numbers > ONNX_MAX_NUMBERS)
    return RLX_FAIL(RLX_UNSUPPORTED, "lists of more than %d numbers", ONNX_MAX_NUMBERS);
  ALLOCATE(r, uint64_t, n, &out->v);
  for (wire walk = w; n;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    if (f.number == number) RLX_TRY(add_numbers(&walk, &f, out));
  }
  return RLX_OK;
}

/* ---- tensors ---- */

/* Which field holds the elements of a type that are not raw, and how a number of it is written. */
static uint32_t typed_field(onnx_type t, wire_type *type) {
  *type = WIRE_VARINT;
  switch (t) {
    case ONNX_FLOAT:
    case ONNX_COMPLEX64: *type = WIRE_I32; return 4;
    case ONNX_DOUBLE:
    case ONNX_COMPLEX128: *type = WIRE_I64; return 10;
    case ONNX_INT64: return 7;
    case ONNX_UINT32:
    case ONNX_UINT64: return 11;
    case ONNX_STRING: *type = WIRE_BYTES; return 6;
    default: return 5;
  }
}

static rlx_status read_dims(reader *r, wire w, uint32_t number, rlx_dims *out, size_t *elements) {
  numbers dims;
  RLX_TRY(read_numbers(r, w, number, WIRE_VARINT, &dims));
  if (dims.n > RLX_MAX_RANK)
    return RLX_FAIL(RLX_UNSUPPORTED, "%zu dimensions, and RLX has at most %d", dims.n, RLX_MAX_RANK);
  *out = (rlx_dims){.n = (int32_t)dims.n};
  *elements = 1;
  for (size_t i = 0; i < dims.n; i++) {
    int64_t size = (int64_t)dims.v[i];
    if (size < 0) return RLX_FAIL(RLX_INVALID, "dimension %zu is %" PRId64, i, size);
    out->v[i] = size;
  }
  RLX_TRY(onnx_check_extent(out));
  for (int i = 0; i < out->n; i++) *elements *= (size_t)out->v[i];
  return RLX_OK;
}

typedef struct external {
  const char *location, *offset, *length;
} external;

static rlx_status read_external(reader *r, wire w, external *e) {
  const char *key, *value;
  RLX_TRY(read_pair(r, w, &key, &value));
  if (strcmp(key, "location") == 0) e->location = value;
  if (strcmp(key, "offset") == 0) e->offset = value;
  if (strcmp(key, "length") == 0) e->length = value;
  return RLX_OK;
}

static rlx_status decimal(const char *what, const char *text, uint64_t *out) {
  uint64_t x = 0;
  const char *p = text;
  for (; *p >= '0' && *p <= '9'; p++) {
    if (x > (UINT64_MAX - 9) / 10) break;
    x = x * 10 + (uint64_t)(*p - '0');
  }
  if (*p || p == text)
    return RLX_FAIL(RLX_INVALID, "external data: %s is '%s', expected a number of bytes", what, text);
  *out = x;
  return RLX_OK;
}

static rlx_status place_external(reader *r, const external *e, onnx_tensor *t) {
  uint64_t offset = 0, length;
  size_t want;
  if (!e->location) return RLX_FAIL(RLX_INVALID, "external data without a location");
  RLX_TRY(onnx_external_open(r->m, e->location, &t->file));
  uint64_t there = r->m->files.v[t->file].source.bytes;
  if (e->offset) RLX_TRY(decimal("offset", e->offset, &offset));
  if (offset > there)
    return RLX_FAIL(RLX_INVALID, "external data '%s': offset %" PRIu64 " in a file of %" PRIu64 " bytes", e->location,
                    offset, there);
  length = there - offset;
  if (e->length) RLX_TRY(decimal("length", e->length, &length));
  if (length > there - offset)
    return RLX_FAIL(RLX_INVALID, "external data '%s': %" PRIu64 " bytes from %" PRIu64 " on in a file of %" PRIu64,
                    e->location, length, offset, there);
  RLX_TRY(onnx_raw_bytes(t->type, t->elements, &want));
  if (e->length ? length != want : length < want)
    return RLX_FAIL(RLX_INVALID, "external data '%s': %" PRIu64 " bytes for a tensor that takes %zu", e->location,
                    length, want);
  t->at = offset;
  t->bytes = want;
  t->is_raw = true;
  return RLX_OK;
}

/* How many elements the typed fields hold. */
static rlx_status count_typed(wire w, uint32_t number, wire_type type, size_t *n) {
  wire_field f;
  *n = 0;
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number == number && type == WIRE_BYTES) ++*n;
    else if (f.number == number) RLX_TRY(count_numbers(&w, &f, type, n));
  } while (f.number);
  return RLX_OK;
}

static rlx_status read_strings(reader *r, wire w, uint32_t number, size_t n, const onnx_text **out) {
  onnx_text *v;
  wire_field f;
  ALLOCATE(r, onnx_text, n, &v);
  for (size_t i = 0; i < n;) {
    RLX_TRY(wire_next(&w, &f));
    if (!f.number) return changed();
    if (f.number == number) RLX_TRY(read_bytes(r, &w, &f, &v[i++]));
  }
  *out = v;
  return RLX_OK;
}

/* The bytes of a tensor that is in the model's own file: its one field of raw bytes, or its typed fields. */
static rlx_status place_inside(reader *r, wire w, const uint32_t *counts, const wire_field *raw, onnx_tensor *t) {
  wire_type type;
  size_t n, want;
  uint32_t number = typed_field(t->type, &type);
  static const uint32_t typed[] = {4, 5, 6, 7, 10, 11};
  for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
    if (!counts[typed[i]]) continue;
    if (raw->number && raw->bytes) return RLX_FAIL(RLX_INVALID, "both raw and typed data");
    if (typed[i] != number) return RLX_FAIL(RLX_INVALID, "%s data in a field of another type", onnx_type_name(t->type));
  }
  if (raw->number && (raw->bytes || !counts[number])) {
    if (t->type == ONNX_STRING) return RLX_FAIL(RLX_INVALID, "strings as raw data");
    RLX_TRY(onnx_raw_bytes(t->type, t->elements, &want));
    if (raw->bytes != want)
      return RLX_FAIL(RLX_INVALID, "%" PRIu64 " bytes for a tensor that takes %zu", raw->bytes, want);
    t->is_raw = true;
    t->at = raw->at;
    t->bytes = raw->bytes;
    return RLX_OK;
  }
  RLX_TRY(count_typed(w, number, type, &n));
  want = t->elements;
  if (t->type == ONNX_COMPLEX64 || t->type == ONNX_COMPLEX128) want *= 2;
  if (t->type == ONNX_UINT4 || t->type == ONNX_INT4 || t->type == ONNX_FLOAT4E2M1) want = want / 2 + want % 2;
  if (t->type == ONNX_UINT2 || t->type == ONNX_INT2) want = want / 4 + (want % 4 != 0);
  if (n != want) return RLX_FAIL(RLX_INVALID, "%zu numbers for a tensor that takes %zu", n, want);
  t->at = w.at;
  t->bytes = w.end - w.at;
  return t->type == ONNX_STRING ? read_strings(r, w, number, n, &t->strings) : RLX_OK;
}

static rlx_status read_tensor_of(reader *r, wire w, onnx_tensor *t) {
  uint32_t counts[MAX_FIELDS];
  wire_field f, raw = {0};
  external e = {0};
  uint64_t location = 0;
  *t = (onnx_tensor){.name = ""};
  if (++r->m->n_tensors > ONNX_MAX_TENSORS) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d tensors", ONNX_MAX_TENSORS);
  RLX_TRY(count_fields(w, counts));
  for (wire walk = w;;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    if (f.number == 2) {
      RLX_TRY(wire_expect(&f, WIRE_VARINT, "a tensor's type"));
      t->type = f.value < ONNX_TYPES ? (onnx_type)f.value : ONNX_UNDEFINED;
      if (!t->type) return RLX_FAIL(RLX_UNSUPPORTED, "a tensor of element type %" PRIu64, f.value);
    }
    if (f.number == 3) return RLX_FAIL(RLX_UNSUPPORTED, "a tensor in segments");
    if (f.number == 8) RLX_TRY(read_text(r, &walk, &f, "a tensor's name", &t->name));
    if (f.number == 9) {
      RLX_TRY(wire_expect(&f, WIRE_BYTES, "raw data"));
      raw = f;
    }
    if (f.number == 13) {
      wire inner;
      RLX_TRY(wire_enter(&walk, &f, &inner));
      RLX_TRY(read_external(r, inner, &e));
    }
    if (f.number == 14) location = f.value;
  }
  if (!t->type) return RLX_FAIL(RLX_INVALID, "tensor '%s' has no element type", t->name);
  RLX_TRY_AT(read_dims(r, w, 1, &t->dims, &t->elements), "tensor '%s'", t->name);
  if (location > 1) return RLX_FAIL(RLX_INVALID, "tensor '%s': data at location %" PRIu64, t->name, location);
  RLX_TRY_AT(location == 1 ? place_external(r, &e, t) : place_inside(r, w, counts, &raw, t), "tensor '%s'", t->name);
  return RLX_OK;
}

rlx_status onnx_read_tensor(rlx_onnx *m, wire w, onnx_tensor *out) {
  reader r = {.m = m};
  return read_tensor_of(&r, w, out);
}

static rlx_status read_sparse(reader *r, wire w, onnx_sparse *out) {
  wire_field f;
  wire inner;
  size_t elements;
  *out = (onnx_sparse){.values.name = ""};
  RLX_TRY(read_dims(r, w, 3, &out->dims, &elements));
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number != 1 && f.number != 2) continue;
    RLX_TRY(wire_enter(&w, &f, &inner));
    RLX_TRY_AT(read_tensor_of(r, inner, f.number == 1 ? &out->values : &out->indices), "a sparse tensor");
  } while (f.number);
  if (!out->values.type || !out->indices.type) return RLX_FAIL(RLX_INVALID, "a sparse tensor lacks values or indices");
  return RLX_OK;
}

/* ---- declared values ---- */

static rlx_status read_dim(reader *r, wire w, struct onnx_dim *out) {
  wire_field f;
  *out = (struct onnx_dim){.size = -1};
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) {
      RLX_TRY(wire_expect(&f, WIRE_VARINT, "a size"));
      out->size = (int64_t)f.value >= 0 ? (int64_t)f.value : -1; /* exporters write -1 for "any" */
    }
    if (f.number == 2) RLX_TRY(read_text(r, &w, &f, "a symbol", &out->symbol));
  } while (f.number);
  if (out->symbol && !*out->symbol) out->symbol = NULL;
  return RLX_OK;
}

static rlx_status read_shape(reader *r, wire w, onnx_value_info *out) {
  uint32_t counts[MAX_FIELDS], n = 0;
  wire_field f;
  struct onnx_dim *dims;
  RLX_TRY(count_fields(w, counts));
  if ((r->m->n_numbers += counts[1]) > ONNX_MAX_NUMBERS)
    return RLX_FAIL(RLX_UNSUPPORTED, "more than %d sizes", ONNX_MAX_NUMBERS);
  ALLOCATE(r, struct onnx_dim, counts[1], &dims);
  do {
    wire inner;
    RLX_TRY(wire_next(&w, &f));
    if (f.number != 1) continue;
    if (n == counts[1]) return changed();
    RLX_TRY(wire_enter(&w, &f, &inner));
    RLX_TRY(read_dim(r, inner, &dims[n++]));
  } while (f.number);
  out->dims = dims;
  out->rank = (int32_t)n;
  return RLX_OK;
}

static rlx_status read_tensor_type(reader *r, wire w, onnx_value_info *out) {
  wire_field f;
  do {
    wire inner;
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) {
      RLX_TRY(wire_expect(&f, WIRE_VARINT, "an element type"));
      out->type = f.value < ONNX_TYPES ? (onnx_type)f.value : ONNX_UNDEFINED;
    }
    if (f.number != 2) continue;
    RLX_TRY(wire_enter(&w, &f, &inner));
    RLX_TRY(read_shape(r, inner, out));
  } while (f.number);
  return RLX_OK;
}

static rlx_status read_type(reader *r, wire w, onnx_value_info *out) {
  wire_field f;
  do {
    wire inner;
    RLX_TRY(wire_next(&w, &f));
    switch (f.number) {
      case 1:
        RLX_TRY(wire_enter(&w, &f, &inner));
        out->kind = "tensor";
        RLX_TRY(read_tensor_type(r, inner, out));
        break;
      case 4: out->kind = "sequence"; break;
      case 5: out->kind = "map"; break;
      case 7: out->kind = "opaque value"; break;
      case 8: out->kind = "sparse tensor"; break;
      case 9: out->kind = "optional"; break;
      default: break;
    }
  } while (f.number);
  return RLX_OK;
}

static rlx_status read_value_info(reader *r, wire w, onnx_value_info *out) {
  wire_field f;
  *out = (onnx_value_info){.name = "", .kind = "", .rank = -1};
  do {
    wire inner;
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) RLX_TRY(read_text(r, &w, &f, "a value's name", &out->name));
    if (f.number != 2) continue;
    RLX_TRY(wire_enter(&w, &f, &inner));
    RLX_TRY_AT(read_type(r, inner, out), "'%s'", out->name);
  } while (f.number);
  return RLX_OK;
}

/* ---- attributes ---- */

static rlx_status read_graph(reader *r, wire w, onnx_graph *out);

static rlx_status read_sub_graph(reader *r, wire w, const onnx_graph **out) {
  onnx_graph *g;
  if (r->depth >= ONNX_MAX_DEPTH)
    return RLX_FAIL(RLX_UNSUPPORTED, "graphs in graphs more than %d deep", ONNX_MAX_DEPTH);
  ALLOCATE(r, onnx_graph, 1, &g);
  *out = g;
  r->depth++;
  rlx_status s = read_graph(r, w, g);
  r->depth--;
  return s;
}

static rlx_status read_floats(reader *r, wire w, onnx_attribute *a) {
  numbers n;
  double *v;
  RLX_TRY(read_numbers(r, w, 7, WIRE_I32, &n));
  ALLOCATE(r, double, n.n, &v);
  for (size_t i = 0; i < n.n; i++) v[i] = wire_float(n.v[i]);
  a->floats = v;
  a->n = n.n;
  return RLX_OK;
}

static rlx_status read_ints(reader *r, wire w, onnx_attribute *a) {
  numbers n;
  RLX_TRY(read_numbers(r, w, 8, WIRE_VARINT, &n));
  a->ints = (const int64_t *)n.v; /* two's complement on the wire as in memory */
  a->n = n.n;
  return RLX_OK;
}

/* Fields that are one value each. */
static rlx_status read_attribute_field(reader *r, const wire *w, const wire_field *f, onnx_attribute *a) {
  wire inner;
  onnx_tensor *t;
  onnx_sparse *sparse;
  switch (f->number) {
    case 1: return read_text(r, w, f, "an attribute's name", &a->name);
    case 2: a->f = wire_float(f->value); return wire_expect(f, WIRE_I32, "f");
    case 3: a->i = (int64_t)f->value; return wire_expect(f, WIRE_VARINT, "i");
    case 4: return read_bytes(r, w, f, &a->s);
    case 5:
      RLX_TRY(wire_enter(w, f, &inner));
      ALLOCATE(r, onnx_tensor, 1, &t);
      a->tensor = t;
      return read_tensor_of(r, inner, t);
    case 6: RLX_TRY(wire_enter(w, f, &inner)); return read_sub_graph(r, inner, &a->graph);
    case 20:
      a->kind = f->value < ONNX_KINDS ? (onnx_kind)f->value : ONNX_KIND_NONE;
      return wire_expect(f, WIRE_VARINT, "type");
    case 21: return read_text(r, w, f, "a reference to an attribute", &a->refers);
    case 22:
      RLX_TRY(wire_enter(w, f, &inner));
      ALLOCATE(r, onnx_sparse, 1, &sparse);
      a->sparse = sparse;
      return read_sparse(r, inner, sparse);
    default: return RLX_OK;
  }
}

/* Old files may omit the type: it follows from the field that is present. */
static onnx_kind guess_kind(const uint32_t *counts) {
  static const struct {
    uint8_t field, kind;
  } of[] = {{2, ONNX_KIND_FLOAT},  {3, ONNX_KIND_INT},     {4, ONNX_KIND_STRING},
            {5, ONNX_KIND_TENSOR}, {6, ONNX_KIND_GRAPH},   {7, ONNX_KIND_FLOATS},
            {8, ONNX_KIND_INTS},   {9, ONNX_KIND_STRINGS}, {22, ONNX_KIND_SPARSE}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    if (counts[of[i].field]) return (onnx_kind)of[i].kind;
  return ONNX_KIND_NONE;
}

static rlx_status check_attribute(const onnx_attribute *a, const uint32_t *counts) {
  if (*a->refers) return RLX_OK;
  switch (a->kind) {
    case ONNX_KIND_NONE: return RLX_FAIL(RLX_INVALID, "no value");
    case ONNX_KIND_TENSOR: return a->tensor ? RLX_OK : RLX_FAIL(RLX_INVALID, "a tensor that is not there");
    case ONNX_KIND_GRAPH: return a->graph ? RLX_OK : RLX_FAIL(RLX_INVALID, "a graph that is not there");
    case ONNX_KIND_SPARSE: return a->sparse ? RLX_OK : RLX_FAIL(RLX_INVALID, "a sparse tensor that is not there");
    default: break;
  }
  onnx_kind there = guess_kind(counts);
  if (there != ONNX_KIND_NONE && there != a->kind)
    return RLX_FAIL(RLX_INVALID, "expected %s, got %s", onnx_kind_name(a->kind), onnx_kind_name(there));
  return RLX_OK;
}

static rlx_status read_attribute(reader *r, wire w, onnx_attribute *a) {
  uint32_t counts[MAX_FIELDS];
  wire_field f;
  *a = (onnx_attribute){.name = "", .refers = "", .s.v = ""};
  if (++r->m->n_attributes > ONNX_MAX_ATTRIBUTES)
    return RLX_FAIL(RLX_UNSUPPORTED, "more than %d attributes", ONNX_MAX_ATTRIBUTES);
  RLX_TRY(count_fields(w, counts));
  for (wire walk = w;;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    RLX_TRY_AT(read_attribute_field(r, &walk, &f, a), "attribute '%s'", a->name);
  }
  if (!*a->name) return RLX_FAIL(RLX_INVALID, "an attribute without a name");
  if (a->kind == ONNX_KIND_NONE) a->kind = guess_kind(counts);
  RLX_TRY_AT(check_attribute(a, counts), "attribute '%s'", a->name);
  if (a->kind == ONNX_KIND_FLOATS) RLX_TRY_AT(read_floats(r, w, a), "attribute '%s'", a->name);
  if (a->kind == ONNX_KIND_INTS) RLX_TRY_AT(read_ints(r, w, a), "attribute '%s'", a->name);
  if (a->kind == ONNX_KIND_STRINGS) {
    a->n = counts[9];
    RLX_TRY_AT(read_strings(r, w, 9, a->n, &a->strings), "attribute '%s'", a->name);
  }
  return RLX_OK;
}

/* ---- nodes and graphs ---- */

/* How often each repeated field comes, as arrays. */
static rlx_status read_node(reader *r, wire w, onnx_node *n) {
  uint32_t counts[MAX_FIELDS], n_in = 0, n_out = 0, n_attributes = 0;
  wire_field f;
  const char **in, **out;
  onnx_attribute *attributes;
  uint32_t number = n->number;
  *n = (onnx_node){.name = "", .op = "", .domain = "", .overload = "", .number = number};
  if (++r->m->n_nodes > ONNX_MAX_NODES) return RLX_FAIL(RLX_UNSUPPORTED, "more than %d nodes", ONNX_MAX_NODES);
  RLX_TRY(count_fields(w, counts));
  if (counts[1] > ONNX_MAX_TEXTS || counts[2] > ONNX_MAX_TEXTS || counts[5] > ONNX_MAX_PER_NODE)
    return RLX_FAIL(RLX_UNSUPPORTED, "a node of %u inputs, %u outputs, %u attributes", counts[1], counts[2], counts[5]);
  ALLOCATE(r, const char *, counts[1], &in);
  ALLOCATE(r, const char *, counts[2], &out);
  ALLOCATE(r, onnx_attribute, counts[5], &attributes);
  do {
    wire inner;
    RLX_TRY(wire_next(&w, &f));
    switch (f.number) {
      case 1:
        if (n_in == counts[1]) return changed();
        RLX_TRY(read_text(r, &w, &f, "an input's name", &in[n_in++]));
        break;
      case 2:
        if (n_out == counts[2]) return changed();
        RLX_TRY(read_text(r, &w, &f, "an output's name", &out[n_out++]));
        break;
      case 3: RLX_TRY(read_text(r, &w, &f, "a node's name", &n->name)); break;
      case 4: RLX_TRY(read_text(r, &w, &f, "a node's op", &n->op)); break;
      case 5:
        if (n_attributes == counts[5]) return changed();
        RLX_TRY(wire_enter(&w, &f, &inner));
        RLX_TRY(read_attribute(r, inner, &attributes[n_attributes++]));
        break;
      case 7: RLX_TRY(read_text(r, &w, &f, "a node's domain", &n->domain)); break;
      case 8: RLX_TRY(read_text(r, &w, &f, "a node's overload", &n->overload)); break;
      default: break;
    }
  } while (f.number);
  if (!*n->op) return RLX_FAIL(RLX_INVALID, "no op");
  if (strcmp(n->domain, "ai.onnx") == 0) n->domain = "";
  n->in = in;
  n->out = out;
  n->attributes = attributes;
  n->n_in = n_in;
  n->n_out = n_out;
  n->n_attributes = n_attributes;
  return RLX_OK;
}

/* All fields of one number as items of an array: `read` is called for each. */
#define READ_ALL(r, w, field, n, v, read, what)                                            \
  do {                                                                                     \
    wire_field all_field_;                                                                 \
    uint32_t all_i_ = 0;                                                                   \
    for (wire all_walk_ = (w); all_i_ < (n);) {                                            \
      wire all_inner_;                                                                     \
      RLX_TRY(wire_next(&all_walk_, &all_field_));                                         \
      if (!all_field_.number) return changed();                                            \
      if (all_field_.number != (field)) continue;                                          \
      RLX_TRY_AT(wire_enter(&all_walk_, &all_field_, &all_inner_), "%s %u", what, all_i_); \
      RLX_TRY_AT(read(r, all_inner_, &(v)[all_i_]), "%s %u", what, (unsigned)all_i_);      \
      all_i_++;                                                                            \
    }                                                                                      \
  } while (0)

static rlx_status read_nodes(reader *r, wire w, uint32_t field, uint32_t n, const onnx_node **out) {
  onnx_node *v;
  if (n > ONNX_MAX_NODES)
    return RLX_FAIL(RLX_UNSUPPORTED, "%u nodes, expected at most %d", (unsigned)n, ONNX_MAX_NODES);
  ALLOCATE(r, onnx_node, n, &v);
  for (uint32_t i = 0; i < n; i++) v[i].number = i;
  READ_ALL(r, w, field, n, v, read_node, "node");
  *out = v;
  return RLX_OK;
}

static rlx_status read_value_infos(reader *r, wire w, uint32_t field, uint32_t n, const onnx_value_info **out) {
  onnx_value_info *v;
  if (n > ONNX_MAX_NODES) return RLX_FAIL(RLX_UNSUPPORTED, "%u values", (unsigned)n);
  ALLOCATE(r, onnx_value_info, n, &v);
  READ_ALL(r, w, field, n, v, read_value_info, field == 11 ? "input" : "output");
  *out = v;
  return RLX_OK;
}

static rlx_status read_graph(reader *r, wire w, onnx_graph *g) {
  uint32_t counts[MAX_FIELDS];
  wire_field f;
  onnx_tensor *initializers;
  onnx_sparse *sparse;
  *g = (onnx_graph){.name = ""};
  RLX_TRY(count_fields(w, counts));
  for (wire walk = w;;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    if (f.number == 2) RLX_TRY(read_text(r, &walk, &f, "a graph's name", &g->name));
  }
  g->n_nodes = counts[1];
  g->n_initializers = counts[5];
  g->n_inputs = counts[11];
  g->n_outputs = counts[12];
  g->n_sparse = counts[15];
  if (g->n_initializers > ONNX_MAX_TENSORS || g->n_sparse > ONNX_MAX_TENSORS)
    return RLX_FAIL(RLX_UNSUPPORTED, "more than %d tensors", ONNX_MAX_TENSORS);
  ALLOCATE(r, onnx_tensor, g->n_initializers, &initializers);
  READ_ALL(r, w, 5, g->n_initializers, initializers, read_tensor_of, "initializer");
  ALLOCATE(r, onnx_sparse, g->n_sparse, &sparse);
  READ_ALL(r, w, 15, g->n_sparse, sparse, read_sparse, "sparse initializer");
  g->initializers = initializers;
  g->sparse = sparse;
  RLX_TRY(read_value_infos(r, w, 11, g->n_inputs, &g->inputs));
  RLX_TRY(read_value_infos(r, w, 12, g->n_outputs, &g->outputs));
  return read_nodes(r, w, 1, g->n_nodes, &g->nodes);
}

/* ---- functions ---- */

static rlx_status read_opset(reader *r, wire w, onnx_opset *out) {
  wire_field f;
  *out = (onnx_opset){.domain = ""};
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) RLX_TRY(read_text(r, &w, &f, "a domain", &out->domain));
    if (f.number == 2) {
      RLX_TRY(wire_expect(&f, WIRE_VARINT, "an opset's version"));
      out->version = (int64_t)f.value;
    }
  } while (f.number);
  if (strcmp(out->domain, "ai.onnx") == 0) out->domain = "";
  return RLX_OK;
}

static rlx_status read_opsets(reader *r, wire w, uint32_t field, uint32_t n, const onnx_opset **out) {
  onnx_opset *v;
  if (n > ONNX_MAX_OPSETS) return RLX_FAIL(RLX_UNSUPPORTED, "%u opsets", (unsigned)n);
  ALLOCATE(r, onnx_opset, n, &v);
  READ_ALL(r, w, field, n, v, read_opset, "opset");
  *out = v;
  return RLX_OK;
}

static rlx_status read_function(reader *r, wire w, onnx_function *fn) {
  uint32_t counts[MAX_FIELDS], n_in = 0, n_out = 0, n_names = 0;
  wire_field f;
  const char **in, **out, **names;
  onnx_attribute *defaults;
  *fn = (onnx_function){.domain = "", .name = "", .overload = ""};
  RLX_TRY(count_fields(w, counts));
  if (counts[4] > ONNX_MAX_TEXTS || counts[5] > ONNX_MAX_TEXTS || counts[6] > ONNX_MAX_TEXTS ||
      counts[11] > ONNX_MAX_PER_NODE)
    return RLX_FAIL(RLX_UNSUPPORTED, "a function of %u inputs", (unsigned)counts[4]);
  ALLOCATE(r, const char *, counts[4], &in);
  ALLOCATE(r, const char *, counts[5], &out);
  ALLOCATE(r, const char *, counts[6], &names);
  ALLOCATE(r, onnx_attribute, counts[11], &defaults);
  for (wire walk = w;;) {
    RLX_TRY(wire_next(&walk, &f));
    if (!f.number) break;
    if (f.number == 1) RLX_TRY(read_text(r, &walk, &f, "a function's name", &fn->name));
    if (n_in + (f.number == 4) > counts[4] || n_out + (f.number == 5) > counts[5] ||
        n_names + (f.number == 6) > counts[6])
      return changed();
    if (f.number == 4) RLX_TRY(read_text(r, &walk, &f, "an input's name", &in[n_in++]));
    if (f.number == 5) RLX_TRY(read_text(r, &walk, &f, "an output's name", &out[n_out++]));
    if (f.number == 6) RLX_TRY(read_text(r, &walk, &f, "an attribute's name", &names[n_names++]));
    if (f.number == 10) RLX_TRY(read_text(r, &walk, &f, "a function's domain", &fn->domain));
    if (f.number == 13) RLX_TRY(read_text(r, &walk, &f, "a function's overload", &fn->overload));
  }
  if (!*fn->name) return RLX_FAIL(RLX_INVALID, "a function without a name");
  if (strcmp(fn->domain, "ai.onnx") == 0) fn->domain = "";
  READ_ALL(r, w, 11, counts[11], defaults, read_attribute, "attribute");
  RLX_TRY(read_opsets(r, w, 9, counts[9], &fn->opsets));
  fn->n_opsets = counts[9];
  RLX_TRY_AT(read_nodes(r, w, 7, counts[7], &fn->nodes), "function '%s'", fn->name);
  fn->n_nodes = counts[7];
  fn->in = in;
  fn->out = out;
  fn->attribute_names = names;
  fn->defaults = defaults;
  fn->n_in = n_in;
  fn->n_out = n_out;
  fn->n_attribute_names = n_names;
  fn->n_defaults = counts[11];
  return RLX_OK;
}

/* ---- the model ---- */

/* Metadata is for people and programs beside the model: its values may be long, and one that is no text is left out. */
static rlx_status read_pair_item(reader *r, wire w, struct onnx_pair *out) {
  wire_field f;
  onnx_text t;
  *out = (struct onnx_pair){"", ""};
  do {
    RLX_TRY(wire_next(&w, &f));
    if (f.number == 1) RLX_TRY(read_text(r, &w, &f, "a key", &out->key));
    if (f.number != 2) continue;
    RLX_TRY(read_bytes(r, &w, &f, &t));
    if (!memchr(t.v, 0, t.n) && rlx_text_is_utf8(t.v)) out->value = t.v;
  } while (f.number);
  return RLX_OK;
}

static rlx_status read_head(reader *r, wire w) {
  rlx_onnx *m = r->m;
  wire_field f;
  m->producer = m->producer_version = m->domain = m->doc = "";
  do {
    RLX_TRY(wire_next(&w, &f));
    switch (f.number) {
      case 1:
        RLX_TRY(wire_expect(&f, WIRE_VARINT, "ir_version"));
        m->ir_version = (int64_t)f.value;
        break;
      case 2: RLX_TRY(read_remark(r, &w, &f, &m->producer)); break;
      case 3: RLX_TRY(read_remark(r, &w, &f, &m->producer_version)); break;
      case 4: RLX_TRY(read_remark(r, &w, &f, &m->domain)); break;
      case 5:
        RLX_TRY(wire_expect(&f, WIRE_VARINT, "model_version"));
        m->model_version = (int64_t)f.value;
        break;
      case 6: RLX_TRY(read_remark(r, &w, &f, &m->doc)); break;
      case 20: return RLX_FAIL(RLX_UNSUPPORTED, "the model holds training steps, which RLX does not run");
      default: break;
    }
  } while (f.number);
  return RLX_OK;
}

static rlx_status read_model(reader *r, wire w) {
  rlx_onnx *m = r->m;
  uint32_t counts[MAX_FIELDS];
  struct onnx_pair *metadata;
  onnx_function *functions;
  onnx_graph *graph;
  RLX_TRY(count_fields(w, counts));
  if (counts[7] == 0) return RLX_FAIL(RLX_INVALID, "no graph");
  if (counts[7] > 1) return RLX_FAIL(RLX_INVALID, "%u graphs, expected one", (unsigned)counts[7]);
  RLX_TRY(read_head(r, w));
  RLX_TRY(read_opsets(r, w, 8, counts[8], &m->opsets));
  m->n_opsets = counts[8];
  if (counts[14] > ONNX_MAX_ATTRIBUTES || counts[25] > ONNX_MAX_NODES)
    return RLX_FAIL(RLX_UNSUPPORTED, "%u entries of metadata, %u functions", (unsigned)counts[14],
                    (unsigned)counts[25]);
  ALLOCATE(r, struct onnx_pair, counts[14], &metadata);
  READ_ALL(r, w, 14, counts[14], metadata, read_pair_item, "metadata");
  m->metadata = metadata;
  m->n_metadata = counts[14];
  ALLOCATE(r, onnx_function, counts[25], &functions);
  READ_ALL(r, w, 25, counts[25], functions, read_function, "function");
  m->functions = functions;
  m->n_functions = counts[25];
  ALLOCATE(r, onnx_graph, 1, &graph);
  m->graph = graph;
  READ_ALL(r, w, 7, 1u, graph, read_graph, "graph");
  return RLX_OK;
}

rlx_status onnx_read(rlx_onnx *m) {
  reader r = {.m = m};
  wire_source *s = &m->files.v[0].source;
  if (s->bytes == 0) return RLX_FAIL(RLX_INVALID, "the file is empty");
  /* files.v may move while external data is opened: the source has to stay where it is. */
  wire_source own = *s;
  rlx_status status = read_model(&r, (wire){&own, 0, own.bytes});
  m->files.v[0].source.window_n = 0; /* its window was used by the copy */
  return status;
}
