/* Typed metadata in safetensors files.
 *
 * The format has only texts. A file converted from a GGUF stores numbers and lists as the text of their JSON, and
 * under "rlx.types" an object with their types: {"llama.block_count": "u32", "tokenizer.ggml.tokens": "array of
 * string"}. This file restores the values: each is encoded as in a GGUF and parsed by the GGUF code. So readers of
 * metadata (a tokenizer, a model family) need not know the format.
 *
 * Lists are scanned element by element: their JSON trees would be many times the size of the file. */
#include <string.h>

#include "io/file.h"
#include "io/file_json.h"
#include "io/file_write.h"

const char file_types_key[] = "rlx.types";

typedef struct typed {
  rlx_file *f;
  rlx_str bytes;           /* keys and values in GGUF encoding */
  RLX_ARRAY(size_t) which; /* metadata indices, in that order */
  size_t n_elements;       /* list elements */
} typed;

/* ---- One value ---- */

static rlx_status find_type(const char *name, gguf_type *out) {
  *out = GGUF_U8;
  while (*out < GGUF_TYPES && strcmp(gguf_type_name(*out), name) != 0) (*out)++;
  if (*out == GGUF_TYPES || *out == GGUF_ARRAY) return RLX_FAIL(RLX_INVALID, "'%.32s' is no type", name);
  return RLX_OK;
}

/* Parses a u64: jansson's integers are signed. */
static bool to_u64(json_text text, uint64_t *out) {
  *out = 0;
  while (text.n && strchr(" \n\t\r", text.v[text.n - 1])) text.n--;
  for (size_t i = 0; i < text.n; i++) {
    uint64_t digit = (uint64_t)text.v[i] - '0';
    if (text.v[i] < '0' || text.v[i] > '9' || *out > (UINT64_MAX - digit) / 10) return false;
    *out = *out * 10 + digit;
  }
  return text.n > 0;
}

/* Texts of the value point into the JSON. */
static bool to_value(const json_t *v, gguf_type type, rlx_meta *out) {
  const char *text = json_string_value(v);
  *out = (rlx_meta){.kind = gguf_type_kind(type), .integer = json_integer_value(v), .number = json_number_value(v)};
  switch (out->kind) {
    case RLX_META_TEXT:
      out->text = text;
      out->n = json_string_length(v);
      return text != NULL;
    case RLX_META_BOOL: out->integer = json_is_true(v); return json_is_boolean(v);
    case RLX_META_FLOAT: /* non-finite values are texts: "inf" */
      return json_is_number(v) || (text && rlx_text_to_double(text, strlen(text), &out->number));
    default: return json_is_integer(v);
  }
}

static rlx_status add_value(rlx_str *s, gguf_type type, json_text text) {
  json_t *v;
  rlx_meta m;
  uint64_t bits;
  if (type == GGUF_U64) {
    if (!to_u64(text, &bits)) return RLX_FAIL(RLX_INVALID, "expected a u64");
    gguf_add_number(s, bits, 8);
    return RLX_OK;
  }
  RLX_TRY(json_load_text(text, text.v, &v));
  rlx_status status = to_value(v, type, &m)
                        ? gguf_add_value(s, type, &m)
                        : RLX_FAIL(RLX_INVALID, "expected a %s, got %s", gguf_type_name(type), json_kind_name(v));
  json_decref(v);
  return status;
}

static rlx_status add_list(typed *t, gguf_type type, json_text text) {
  rlx_str *s = &t->bytes;
  json_walk w = json_walk_begin(text, text.v);
  json_text element;
  uint64_t n = 0;
  gguf_add_number(s, type, 4);
  size_t at = s->n;
  gguf_add_number(s, 0, 8); /* placeholder: the count is known at the end */
  for (;; n++) {
    RLX_TRY(json_walk_element(&w, &element));
    if (!element.v) break;
    if (++t->n_elements > FILE_MAX_TYPED)
      return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d elements in all lists", FILE_MAX_TYPED);
    RLX_TRY_AT(add_value(s, type, element), "element %zu", (size_t)n);
  }
  for (size_t i = 0; !s->failed && i < 8; i++) s->v[at + i] = (char)(n >> 8 * i & 255);
  return RLX_OK;
}

/* ---- All of them ---- */

static rlx_status add_typed(typed *t, size_t i, const char *type_name) {
  static const char list[] = "array of ";
  const file_meta *m = &t->f->metas.v[i];
  gguf_type type;
  bool is_list = strncmp(type_name, list, sizeof list - 1) == 0;
  RLX_TRY(find_type(is_list ? type_name + sizeof list - 1 : type_name, &type));
  gguf_add_text(&t->bytes, m->key, strlen(m->key));
  gguf_add_number(&t->bytes, is_list ? GGUF_ARRAY : type, 4);
  json_text text = {m->text, m->n};
  RLX_TRY(is_list ? add_list(t, type, text) : add_value(&t->bytes, type, text));
  if (t->bytes.failed || !rlx_array_push(&t->which, i)) return RLX_FAIL(RLX_NO_MEMORY, "no memory for its value");
  if (t->bytes.n > FILE_MAX_HEAD)
    return RLX_FAIL(RLX_UNSUPPORTED, "expected at most %d bytes of metadata", FILE_MAX_HEAD);
  return RLX_OK;
}

static rlx_status add_member(typed *t, const json_t *key, json_text value) {
  const rlx_file *f = t->f;
  const char *name = json_string_value(key);
  size_t i = file_names_find(&f->meta_names, f->metas.v, f->metas.n, sizeof *f->metas.v, name);
  json_t *type;
  if (i == f->metas.n) return RLX_OK; /* the key does not exist */
  RLX_TRY(json_load_text(value, value.v, &type));
  rlx_status s = json_is_string(type) ? add_typed(t, i, json_string_value(type))
                                      : RLX_FAIL(RLX_INVALID, "expected a type's name, got %s", json_kind_name(type));
  json_decref(type);
  return s ? rlx_fail_frame(s, "the metadata '%s'", name) : RLX_OK;
}

static rlx_status add_all(typed *t, json_text types) {
  json_walk w = json_walk_begin(types, types.v);
  for (;;) {
    json_t *key;
    json_text value;
    RLX_TRY_AT(json_walk_next(&w, &key, &value), "the metadata '%s'", file_types_key);
    if (!key) return RLX_OK;
    rlx_status s = add_member(t, key, value);
    json_decref(key);
    RLX_TRY(s);
  }
}

/* Replaces the texts by values and removes the key with their types. */
static rlx_status replace(typed *t) {
  rlx_file *f = t->f;
  size_t n = t->which.n, n_bytes = t->bytes.n, kept = 0;
  file_meta *metas = rlx_mem_calloc(n + 1, sizeof *metas);
  char *bytes = NULL;
  rlx_status s = metas ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "no memory for typed metadata");
  if (!s && n) s = rlx_str_take(&t->bytes, &bytes);
  if (!s && n) s = file_parse_values(f, 0, (unsigned char *)bytes, n_bytes, n, metas);
  for (size_t i = 0; !s && i < n; i++) f->metas.v[t->which.v[i]] = metas[i];
  rlx_mem_free(metas);
  RLX_TRY(s);
  for (size_t i = 0; i < f->metas.n; i++)
    if (strcmp(f->metas.v[i].key, file_types_key) != 0) f->metas.v[kept++] = f->metas.v[i];
  f->metas.n = kept;
  return file_find_names(f);
}

rlx_status file_restore_types(rlx_file *f) {
  typed t = {.f = f};
  size_t i = file_names_find(&f->meta_names, f->metas.v, f->metas.n, sizeof *f->metas.v, file_types_key);
  if (i == f->metas.n) return RLX_OK;
  rlx_status s = add_all(&t, (json_text){f->metas.v[i].text, f->metas.v[i].n});
  if (!s) s = replace(&t);
  rlx_str_deinit(&t.bytes);
  rlx_array_deinit(&t.which);
  return s;
}
