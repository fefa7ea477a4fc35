/* Copies the metadata of a file that is converted.
 *
 * Values are copied unchanged. A safetensors file has only texts, so other GGUF values become the text of their
 * JSON, and one more key stores their types; opening the safetensors file restores the values (file_typed.c). A list
 * of lists stays a text. */
#include <string.h>

#include "base/str.h"
#include "io/file_convert.h"
#include "ir/op.h"

/* Keys about the old file that do not hold for the new one. */
typedef struct metas {
  const rlx_file *f;
  bool to_gguf, types_change;
} metas;

static bool is_stale(const metas *c, const char *key) {
  if (strncmp(key, "split.", 6) == 0) return true;
  if (strcmp(key, file_types_key) == 0) return true;
  return c->types_change && (strcmp(key, "general.file_type") == 0 || strcmp(key, "general.quantization_version") == 0);
}

/* ---- Types as a text ---- */

static rlx_status write_types(const metas *c, rlx_file_writer *w) {
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
  if (s.n == 0 && !s.failed) return RLX_OK; /* all values are texts */
  rlx_str_add_char(&s, '}');
  size_t n = s.n;
  RLX_TRY(rlx_str_take(&s, &text));
  m = (rlx_meta){.key = file_types_key, .kind = RLX_META_TEXT, .n = n, .text = text};
  rlx_status status = rlx_file_writer_meta(w, &m);
  rlx_mem_free(text);
  return status;
}

static rlx_status write_values(const metas *c, rlx_file_writer *w) {
  rlx_meta m;
  for (uint32_t i = 0; rlx_file_meta_at(c->f, i, &m); i++)
    if (!is_stale(c, m.key)) RLX_TRY(rlx_file_writer_meta(w, &m));
  return RLX_OK;
}

rlx_status convert_metas(const rlx_file *f, bool to_gguf, bool has_type, rlx_file_writer *w) {
  metas c = {f, to_gguf, has_type || (f->is_gguf && !to_gguf)};
  RLX_TRY(write_values(&c, w));
  return to_gguf ? RLX_OK : write_types(&c, w);
}

rlx_status convert_type_metas(const convert_types *c, rlx_file_writer *w) {
  if (!c->to_gguf || !c->has_type) return RLX_OK;
  int number = convert_file_type(c);
  rlx_meta m = {.key = "general.file_type", .type = "u32", .kind = RLX_META_INT, .integer = number};
  if (number >= 0) RLX_TRY(rlx_file_writer_meta(w, &m));
  m = (rlx_meta){.key = "general.quantization_version", .type = "u32", .kind = RLX_META_INT, .integer = 2};
  return rlx_dtype_is_block(c->type) ? rlx_file_writer_meta(w, &m) : RLX_OK;
}
