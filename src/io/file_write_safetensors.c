/* Writes safetensors: a JSON header, then the tensors in the given order, without gaps.
 *
 * __metadata__ holds only texts. Numbers, bools and lists are stored as the text of their JSON; texts that JSON
 * cannot hold (not UTF-8, a NUL) are refused. The header is padded with blanks so that the data starts at a multiple
 * of 8. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "io/file_types.h"
#include "io/file_write.h"

static rlx_status check_text(const rlx_meta *m) {
  RLX_TRY(file_check_text(m));
  if (m->n && memchr(m->text, 0, m->n)) return RLX_FAIL(RLX_UNSUPPORTED, "safetensors has no text with a NUL in it");
  if (m->n && !rlx_text_is_utf8(m->text)) return RLX_FAIL(RLX_UNSUPPORTED, "safetensors has no text that is not UTF-8");
  return RLX_OK;
}

static rlx_status add_json(rlx_str *s, const rlx_meta *m, int depth) {
  switch (m->kind) {
    case RLX_META_BOOL: rlx_str_add(s, m->integer ? "true" : "false"); return RLX_OK;
    case RLX_META_INT: rlx_str_add(s, "%" PRId64, m->integer); return RLX_OK;
    case RLX_META_FLOAT:
      if (m->opaque) { /* a u64 above INT64_MAX */
        rlx_str_add(s, "%" PRIu64, gguf_load(m->opaque, 8));
        return RLX_OK;
      }
      /* JSON has no non-finite numbers: "inf", "nan" */
      rlx_str_add(s, isfinite(m->number) ? "" : "\"");
      rlx_str_add_double(s, m->number);
      rlx_str_add(s, isfinite(m->number) ? "" : "\"");
      return RLX_OK;
    case RLX_META_TEXT:
      RLX_TRY(check_text(m));
      rlx_str_add_quoted(s, m->n ? m->text : "");
      return RLX_OK;
    case RLX_META_LIST: break;
    default: return RLX_FAIL(RLX_INVALID, "%d is no kind of a value that can be written", (int)m->kind);
  }
  if (depth == FILE_MAX_DEPTH) return RLX_FAIL(RLX_INVALID, "lists nested more than %d deep", FILE_MAX_DEPTH);
  rlx_str_add_char(s, '[');
  for (size_t i = 0; i < m->n; i++) {
    rlx_meta e;
    if (!rlx_meta_element(m, i, &e)) return RLX_FAIL(RLX_INVALID, "the list has no element %zu", i);
    if (i) rlx_str_add_char(s, ',');
    RLX_TRY_AT(add_json(s, &e, depth + 1), "element %zu", i);
  }
  rlx_str_add_char(s, ']');
  return RLX_OK;
}

static rlx_status add_meta(rlx_file_writer *w, const rlx_meta *m) {
  rlx_str text = {0};
  rlx_status s = RLX_OK;
  if (w->keys.n) rlx_str_add_char(&w->metas, ',');
  rlx_str_add_quoted(&w->metas, m->key);
  rlx_str_add_char(&w->metas, ':');
  if (m->kind == RLX_META_TEXT) {
    s = add_json(&w->metas, m, 0);
  } else {
    s = add_json(&text, m, 0);
    if (!s && text.failed) s = RLX_FAIL(RLX_NO_MEMORY, "no memory for its text");
    if (!s) rlx_str_add_quoted(&w->metas, text.v);
  }
  rlx_str_deinit(&text);
  if (!s && w->metas.n > FILE_MAX_JSON)
    s = RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d bytes of metadata", FILE_MAX_JSON);
  return s;
}

static rlx_status check_tensor(const rlx_file_tensor *t) {
  const char *name;
  if (strcmp(t->name, "__metadata__") == 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "safetensors has another use for this name");
  return safetensors_name(t->dtype, &name);
}

static rlx_status add_tensor(rlx_str *s, const rlx_file_tensor *t) {
  const char *dtype;
  RLX_TRY(safetensors_name(t->dtype, &dtype));
  rlx_str_add_quoted(s, t->name);
  rlx_str_add(s, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
  for (int i = 0; i < t->shape.n; i++) rlx_str_add(s, "%s%" PRId64, i ? "," : "", t->shape.v[i]);
  rlx_str_add(s, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", t->offset, t->offset + t->bytes);
  return RLX_OK;
}

static rlx_status make_head(const rlx_file_writer *w, rlx_str *head) {
  rlx_str_add_bytes(head, "\0\0\0\0\0\0\0\0{", 9); /* placeholder: the length is known at the end */
  if (w->keys.n) {
    rlx_str_add(head, "\"__metadata__\":{");
    rlx_str_add_bytes(head, w->metas.v, w->metas.n);
    rlx_str_add(head, w->tensors.n ? "}," : "}");
  }
  for (size_t i = 0; i < w->tensors.n; i++) {
    if (i) rlx_str_add_char(head, ',');
    RLX_TRY(add_tensor(head, &w->tensors.v[i]));
  }
  rlx_str_add_char(head, '}');
  while (!head->failed && head->n % 8) rlx_str_add_char(head, ' ');
  if (head->failed) return RLX_OK;
  uint64_t n = head->n - 8;
  if (n > FILE_MAX_JSON) return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d bytes of header", FILE_MAX_JSON);
  for (size_t i = 0; i < 8; i++) head->v[i] = (char)(n >> 8 * i & 255);
  return RLX_OK;
}

const file_format file_format_safetensors = {
  .ending = ".safetensors", .add_meta = add_meta, .check_tensor = check_tensor, .make_head = make_head};
