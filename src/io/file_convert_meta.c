/* Metadata of a file that is converted.
 *
 * Between GGUFs, and from safetensors, values go as they are. A safetensors has texts alone, so what a GGUF has besides becomes the
 * text of its JSON there, and one more key, "rlx.types", says which types they had. On the way back these texts are read, and the
 * GGUF is what it was. (A list of lists stays a text.) */
#include <string.h>

#include "base/str.h"
#include "io/file_convert.h"
#include "io/file_json.h"
#include "ir/op.h"

static const char types_key[] = "rlx.types";

/* Keys that told of the old file, and are not true of the new one. */
static bool is_stale(const convert_types *c, const char *key) {
  if (strncmp(key, "split.", 6) == 0) return true;
  if (strcmp(key, types_key) == 0) return c->f->is_gguf != c->to_gguf;
  bool types_change = c->has_type || (c->f->is_gguf && !c->to_gguf);
  return types_change && (strcmp(key, "general.file_type") == 0 || strcmp(key, "general.quantization_version") == 0);
}

/* ---- Types as a text ---- */

static rlx_status write_types(const convert_types *c, rlx_file_writer *w) {
  rlx_meta m;
  rlx_str s = {0};
  char *text;
  for (uint32_t i = 0; rlx_file_meta_at(c->f, i, &m); i++) {
    bool is_nested = m.kind == RLX_META_LIST && m.elements == RLX_META_LIST;
    if (is_stale(c, m.key) || m.kind == RLX_META_TEXT || is_nested) continue;
    rlx_str_add_char(&s, s.n ? ',' : '{');
    rlx_str_add_quoted(&s, m.key);
    rlx_str_add(&s, ":\"%s\"", m.type);
  }
  if (s.n == 0 && !s.failed) return RLX_OK; /* all are texts */
  rlx_str_add_char(&s, '}');
  size_t n = s.n;
  RLX_TRY(rlx_str_take(&s, &text));
  m = (rlx_meta){.key = types_key, .kind = RLX_META_TEXT, .n = n, .text = text};
  rlx_status status = rlx_file_writer_meta(w, &m);
  rlx_mem_free(text);
  return status;
}

/* ---- Values from texts ---- */

/* A value of JSON as one of this type. Texts live as long as the JSON. */
static bool to_value(const json_t *v, const char *type, rlx_meta *out) {
  *out = (rlx_meta){.type = type, .integer = json_integer_value(v), .number = json_number_value(v)};
  const char *text = json_string_value(v);
  if (strcmp(type, "string") == 0) {
    out->kind = RLX_META_TEXT;
    out->text = text;
    out->n = json_string_length(v);
    return text != NULL;
  }
  if (strcmp(type, "bool") == 0) {
    out->kind = RLX_META_BOOL;
    out->integer = json_is_true(v);
    return json_is_boolean(v);
  }
  if (type[0] == 'f') {
    out->kind = RLX_META_FLOAT;
    return json_is_number(v) || (text && rlx_text_to_double(text, strlen(text), &out->number));
  }
  out->kind = RLX_META_INT;
  return json_is_integer(v);
}

static rlx_status write_list(rlx_file_writer *w, const char *key, const json_t *v, const char *type) {
  size_t n = json_array_size(v);
  rlx_meta *elements = rlx_mem_calloc(n ? n : 1, sizeof *elements);
  if (!elements) return RLX_FAIL(RLX_NO_MEMORY, "no memory for the list '%s'", key);
  bool ok = json_is_array(v);
  for (size_t i = 0; ok && i < n; i++) ok = to_value(json_array_get(v, i), type, &elements[i]);
  rlx_meta m = {.key = key, .kind = RLX_META_LIST, .n = n, .opaque = elements};
  rlx_status s = ok ? rlx_file_writer_meta(w, &m) : RLX_FAIL(RLX_INVALID, "'%s' is no list of %s", key, type);
  rlx_mem_free(elements);
  return s;
}

static rlx_status write_typed(rlx_file_writer *w, const rlx_meta *m, const char *type) {
  static const char list[] = "array of ";
  rlx_meta value;
  json_error_t e;
  json_t *v = json_loadb(m->text, m->n, JSON_DECODE_ANY, &e);
  rlx_status s;
  if (!v) return RLX_FAIL(RLX_INVALID, "the metadata '%s' is no JSON, but was %s: %s", m->key, type, e.text);
  if (strncmp(type, list, sizeof list - 1) == 0) {
    s = write_list(w, m->key, v, type + sizeof list - 1);
  } else if (to_value(v, type, &value)) {
    value.key = m->key;
    s = rlx_file_writer_meta(w, &value);
  } else {
    s = RLX_FAIL(RLX_INVALID, "the metadata '%s' is no %s", m->key, type);
  }
  json_decref(v);
  return s;
}

/* The types that a safetensors remembers of a GGUF; NULL: none. */
static rlx_status read_types(const convert_types *c, json_t **out) {
  rlx_meta m;
  json_error_t e;
  *out = NULL;
  if (c->f->is_gguf || !c->to_gguf || !rlx_file_meta_find(c->f, types_key, &m)) return RLX_OK;
  *out = json_loadb(m.text, m.n, JSON_REJECT_DUPLICATES, &e);
  return *out ? RLX_OK : RLX_FAIL(RLX_INVALID, "the metadata '%s' is no JSON: %s", types_key, e.text);
}

static rlx_status write_values(const convert_types *c, rlx_file_writer *w) {
  rlx_meta m;
  json_t *types;
  RLX_TRY(read_types(c, &types));
  rlx_status s = RLX_OK;
  for (uint32_t i = 0; !s && rlx_file_meta_at(c->f, i, &m); i++) {
    const char *type = json_string_value(json_object_get(types, m.key));
    if (is_stale(c, m.key)) continue;
    s = type ? write_typed(w, &m, type) : rlx_file_writer_meta(w, &m);
  }
  json_decref(types);
  return s;
}

rlx_status convert_metas(const convert_types *c, rlx_file_writer *w) {
  RLX_TRY(write_values(c, w));
  if (!c->to_gguf) return c->f->is_gguf ? write_types(c, w) : RLX_OK;
  if (!c->has_type) return RLX_OK;
  int number = convert_file_type(c->type);
  rlx_meta m = {.key = "general.file_type", .type = "u32", .kind = RLX_META_INT, .integer = number};
  if (number >= 0) RLX_TRY(rlx_file_writer_meta(w, &m));
  m = (rlx_meta){.key = "general.quantization_version", .type = "u32", .kind = RLX_META_INT, .integer = 2};
  return rlx_dtype_is_block(c->type) ? rlx_file_writer_meta(w, &m) : RLX_OK;
}
