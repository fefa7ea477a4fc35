/* Writes GGUF version 3, as file_gguf.c reads it and in the order that other programs expect: tensors in sequence,
 * each aligned, the last one padded.
 *
 * Numbers keep the types they were read with. A scalar tensor, which the format does not have, is written with one
 * element. */
#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "io/file_types.h"
#include "io/file_write.h"

void gguf_add_number(rlx_str *s, uint64_t v, size_t bytes) {
  char le[8];
  for (size_t i = 0; i < bytes; i++) le[i] = (char)(v >> 8 * i & 255);
  rlx_str_add_bytes(s, le, bytes);
}

void gguf_add_text(rlx_str *s, const char *text, size_t n) {
  gguf_add_number(s, n, 8);
  rlx_str_add_bytes(s, text, n);
}

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* The type that a value is written as: its own, or one chosen by its value. */
static rlx_status type_of(const rlx_meta *m, gguf_type *out) {
  bool fits_u32 = m->integer >= 0 && m->integer <= UINT32_MAX;
  *out = GGUF_TYPES;
  switch (m->kind) {
    case RLX_META_BOOL: *out = GGUF_BOOL; break;
    case RLX_META_INT: *out = fits_u32 ? GGUF_U32 : GGUF_I64; break;
    case RLX_META_FLOAT: *out = GGUF_F32; break;
    case RLX_META_TEXT: *out = GGUF_STRING; break;
    case RLX_META_LIST: *out = GGUF_ARRAY; break;
    case RLX_META_NONE: break;
  }
  if (*out == GGUF_TYPES) return RLX_FAIL(RLX_INVALID, "%d is no kind of a value that can be written", (int)m->kind);
  if (!m->type || m->kind == RLX_META_LIST) return RLX_OK;
  gguf_type t = GGUF_U8;
  while (t < GGUF_TYPES && strcmp(gguf_type_name(t), m->type) != 0) t++;
  bool is_huge = t == GGUF_U64 && m->kind == RLX_META_FLOAT;
  if (t == GGUF_TYPES || (gguf_type_kind(t) != m->kind && !is_huge))
    return RLX_FAIL(RLX_INVALID, "GGUF has no type '%s' for this value", m->type);
  *out = t;
  return RLX_OK;
}

static rlx_status add_int(rlx_str *s, gguf_type type, const rlx_meta *m) {
  bool is_signed = type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64;
  unsigned bits = 8 * (unsigned)gguf_type_size(type) - (is_signed ? 1u : 0u);
  int64_t min = is_signed ? -(int64_t)(((uint64_t)1 << bits) - 1) - 1 : 0;
  int64_t max = bits >= 63 ? INT64_MAX : (int64_t)(((uint64_t)1 << bits) - 1);
  if (m->integer < min || m->integer > max)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " does not fit %s", m->integer, gguf_type_name(type));
  gguf_add_number(s, (uint64_t)m->integer, gguf_type_size(type));
  return RLX_OK;
}

static rlx_status add_float(rlx_str *s, gguf_type type, const rlx_meta *m) {
  uint64_t bits = 0;
  float narrow = (float)m->number;
  uint32_t narrow_bits;
  memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
  memcpy(&bits, &m->number, sizeof bits);
  if (type == GGUF_F32) bits = narrow_bits;
  if (type == GGUF_U64) { /* above INT64_MAX: its bits are where it was read */
    if (!m->opaque) return RLX_FAIL(RLX_INVALID, "a float cannot be written as u64");
    bits = gguf_load(m->opaque, 8);
  }
  gguf_add_number(s, bits, gguf_type_size(type));
  return RLX_OK;
}

static rlx_status add_value(rlx_str *s, gguf_type type, const rlx_meta *m, int depth);

/* The element type of a list: that of the file, or of the first element of a list made by a caller. */
static rlx_status list_type(const rlx_meta *m, gguf_type *out) {
  rlx_meta first;
  const gguf_list *l = m->opaque;
  if (!l && (m->n || m->type)) return RLX_FAIL(RLX_INVALID, "a list of %zu elements has none", m->n);
  *out = GGUF_STRING;
  if (m->type) *out = l->type;
  else if (rlx_meta_element(m, 0, &first)) return type_of(&first, out);
  return RLX_OK;
}

static rlx_status add_list(rlx_str *s, const rlx_meta *m, int depth) {
  gguf_type type;
  if (depth > FILE_MAX_DEPTH) return RLX_FAIL(RLX_INVALID, "lists nested more than %d deep", FILE_MAX_DEPTH);
  RLX_TRY(list_type(m, &type));
  gguf_add_number(s, type, 4);
  gguf_add_number(s, m->n, 8);
  for (size_t i = 0; i < m->n; i++) {
    rlx_meta e;
    gguf_type own = type;
    if (!rlx_meta_element(m, i, &e)) return RLX_FAIL(RLX_INVALID, "the list has no element %zu", i);
    if (!m->type) RLX_TRY(type_of(&e, &own));
    if (own != type && gguf_type_kind(own) != gguf_type_kind(type))
      return RLX_FAIL(RLX_INVALID, "element %zu is %s in a list of %s", i, gguf_type_name(own), gguf_type_name(type));
    RLX_TRY_AT(add_value(s, type, &e, depth), "element %zu", i);
  }
  return RLX_OK;
}

static rlx_status add_value(rlx_str *s, gguf_type type, const rlx_meta *m, int depth) {
  switch (type) {
    case GGUF_ARRAY: return add_list(s, m, depth + 1);
    case GGUF_F32:
    case GGUF_F64: return add_float(s, type, m);
    case GGUF_BOOL: gguf_add_number(s, m->integer != 0, 1); return RLX_OK;
    case GGUF_STRING:
      RLX_TRY(file_check_text(m));
      gguf_add_text(s, m->text, m->n);
      return RLX_OK;
    default: return m->kind == RLX_META_FLOAT ? add_float(s, GGUF_U64, m) : add_int(s, type, m);
  }
}

rlx_status gguf_add_value(rlx_str *s, gguf_type type, const rlx_meta *m) { return add_value(s, type, m, 0); }

static rlx_status add_meta(rlx_file_writer *w, const rlx_meta *m) {
  gguf_type type;
  RLX_TRY(type_of(m, &type));
  if (strcmp(m->key, "general.alignment") == 0) {
    bool ok =
      type == GGUF_U32 && m->integer >= 8 && m->integer <= GGUF_MAX_ALIGNMENT && !(m->integer & (m->integer - 1));
    if (!ok) return RLX_FAIL(RLX_INVALID, "expected a power of two from 8 to %d as u32", GGUF_MAX_ALIGNMENT);
    w->alignment = (size_t)m->integer;
  }
  gguf_add_text(&w->metas, m->key, strlen(m->key));
  gguf_add_number(&w->metas, type, 4);
  RLX_TRY(add_value(&w->metas, type, m, 0));
  if (w->metas.n > FILE_MAX_HEAD)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d bytes of metadata", FILE_MAX_HEAD);
  return RLX_OK;
}

/* ---- Tensors ------------------------------------------------------------------------------------------------- */

static rlx_status check_tensor(const rlx_file_tensor *t) {
  uint32_t code;
  RLX_TRY(gguf_tensor_code(t->dtype, &code));
  if (t->shape.n > 4) return RLX_FAIL(RLX_UNSUPPORTED, "GGUF has at most 4 axes, got %d", (int)t->shape.n);
  for (int i = 0; i < t->shape.n; i++)
    if (t->shape.v[i] == 0) return RLX_FAIL(RLX_UNSUPPORTED, "GGUF has no tensors without elements");
  return RLX_OK;
}

static void add_tensor(rlx_str *s, const rlx_file_tensor *t) {
  uint32_t code = 0;
  if (gguf_tensor_code(t->dtype, &code)) return; /* check_tensor has refused these */
  gguf_add_text(s, t->name, strlen(t->name));
  gguf_add_number(s, t->shape.n ? (uint64_t)t->shape.n : 1, 4);
  if (t->shape.n == 0) gguf_add_number(s, 1, 8);
  for (int i = t->shape.n - 1; i >= 0; i--) gguf_add_number(s, (uint64_t)t->shape.v[i], 8);
  gguf_add_number(s, code, 4);
  gguf_add_number(s, t->offset, 8);
}

static rlx_status make_head(const rlx_file_writer *w, rlx_str *head) {
  size_t padded;
  rlx_str_add_bytes(head, "GGUF", 4);
  gguf_add_number(head, 3, 4);
  gguf_add_number(head, w->tensors.n, 8);
  gguf_add_number(head, w->keys.n, 8);
  rlx_str_add_bytes(head, w->metas.v, w->metas.n);
  for (size_t i = 0; i < w->tensors.n; i++) add_tensor(head, &w->tensors.v[i]);
  if (!rlx_pad_size(head->n, w->alignment, &padded) || padded > FILE_MAX_HEAD)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d bytes of metadata and tensor list", FILE_MAX_HEAD);
  while (!head->failed && head->n < padded) rlx_str_add_char(head, '\0');
  return RLX_OK;
}

const file_format file_format_gguf = {
  .ending = ".gguf", .pads = true, .add_meta = add_meta, .check_tensor = check_tensor, .make_head = make_head};
