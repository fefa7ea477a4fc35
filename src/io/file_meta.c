/* Metadata access: GGUF values are decoded here on demand.
 *
 * Nothing here can fail: the reader has checked lengths, counts and bools. List elements are found without walking
 * the list: numbers by index, texts from the nearest stored offset. A list is passed in rlx_meta as a pointer to its
 * record, which is valid as long as the file. */
#include <string.h>

#include "base/mem.h"
#include "io/file.h"

/* clang-format off */
static const struct {
  const char *name, *list;
  size_t size;
  rlx_meta_kind kind;
} types[GGUF_TYPES] = {
  [GGUF_U8] = {"u8", "array of u8", 1, RLX_META_INT},     [GGUF_I8] = {"i8", "array of i8", 1, RLX_META_INT},
  [GGUF_U16] = {"u16", "array of u16", 2, RLX_META_INT},  [GGUF_I16] = {"i16", "array of i16", 2, RLX_META_INT},
  [GGUF_U32] = {"u32", "array of u32", 4, RLX_META_INT},  [GGUF_I32] = {"i32", "array of i32", 4, RLX_META_INT},
  [GGUF_F32] = {"f32", "array of f32", 4, RLX_META_FLOAT}, [GGUF_BOOL] = {"bool", "array of bool", 1, RLX_META_BOOL},
  [GGUF_STRING] = {"string", "array of string", 0, RLX_META_TEXT},
  [GGUF_ARRAY] = {"array", "array of array", 0, RLX_META_LIST},
  [GGUF_U64] = {"u64", "array of u64", 8, RLX_META_INT},  [GGUF_I64] = {"i64", "array of i64", 8, RLX_META_INT},
  [GGUF_F64] = {"f64", "array of f64", 8, RLX_META_FLOAT},
};
/* clang-format on */

size_t gguf_type_size(gguf_type t) { return types[t].size; }
const char *gguf_type_name(gguf_type t) { return types[t].name; }
rlx_meta_kind gguf_type_kind(gguf_type t) { return types[t].kind; }

static double load_float(gguf_type type, uint64_t bits) {
  if (type == GGUF_F64) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
  }
  uint32_t narrow = (uint32_t)bits;
  float f;
  memcpy(&f, &narrow, sizeof f);
  return (double)f;
}

static int64_t sign_extend(uint64_t bits, size_t bytes) {
  unsigned shift = 64 - 8 * (unsigned)bytes;
  return (int64_t)(bits << shift) >> shift;
}

static void decode_number(gguf_type type, const unsigned char *p, rlx_meta *out) {
  uint64_t bits = gguf_load(p, types[type].size);
  switch (type) {
    case GGUF_F32:
    case GGUF_F64: out->number = load_float(type, bits); return;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64: out->integer = sign_extend(bits, types[type].size); break;
    default:
      if (bits > INT64_MAX) {
        out->kind = RLX_META_FLOAT;
        out->number = (double)bits;
        out->opaque = p; /* a writer needs all its bits */
        return;
      }
      out->integer = (int64_t)bits;
  }
  out->number = (double)out->integer;
}

static void decode(gguf_type type, const unsigned char *p, const gguf_list *list, rlx_meta *out) {
  out->type = types[type].name;
  out->kind = types[type].kind;
  if (type == GGUF_STRING) {
    out->n = gguf_text_bytes(p);
    out->text = gguf_text(p);
  } else if (type == GGUF_ARRAY) {
    out->type = types[list->type].list;
    out->elements = types[list->type].kind;
    out->n = list->n;
    out->opaque = list;
  } else {
    decode_number(type, p, out);
  }
}

static void fill(const rlx_file *f, const file_meta *m, rlx_meta *out) {
  *out = (rlx_meta){.key = m->key, .type = "string", .kind = RLX_META_TEXT, .n = m->n, .text = m->text};
  if (!m->value) return;
  *out = (rlx_meta){.key = m->key};
  decode(m->type, m->value, m->type == GGUF_ARRAY ? &f->parts.v[0].lists->list.v[m->list] : NULL, out);
}

uint32_t rlx_file_meta_count(const rlx_file *f) { return f ? (uint32_t)f->metas.n : 0; }

bool rlx_file_meta_at(const rlx_file *f, uint32_t i, rlx_meta *out) {
  if (!out) return false;
  *out = (rlx_meta){0};
  if (!f || i >= f->metas.n) return false;
  fill(f, &f->metas.v[i], out);
  return true;
}

bool rlx_file_meta_find(const rlx_file *f, const char *key, rlx_meta *out) {
  if (!out) return false;
  *out = (rlx_meta){0};
  if (!f || !key) return false;
  return rlx_file_meta_at(f, (uint32_t)file_names_find(&f->meta_names, f->metas.v, f->metas.n, sizeof *f->metas.v, key),
                          out);
}

static const unsigned char *text_at(const gguf_list *l, size_t i) {
  const unsigned char *p = l->all->head + l->all->marks.v[l->first + i / GGUF_MARK_EVERY];
  for (size_t k = i % GGUF_MARK_EVERY; k > 0; k--) p += 8 + gguf_text_bytes(p);
  return p;
}

enum { LONG_LIST = 4096 };

void file_drop_lists(rlx_file *f) {
  for (size_t i = 0; i < f->metas.n; i++) {
    const file_meta *m = &f->metas.v[i];
    gguf_list *l = m->value && m->type == GGUF_ARRAY ? &f->parts.v[0].lists->list.v[m->list] : NULL;
    if (!l || l->n < LONG_LIST || l->type == GGUF_ARRAY) continue;
    size_t end = l->at + l->n * types[l->type].size;
    if (l->type == GGUF_STRING) {
      const unsigned char *last = text_at(l, l->n - 1);
      end = (size_t)(last - l->all->head) + 8 + gguf_text_bytes(last);
    }
    rlx_mem_discard(f->parts.v[0].head + l->at, end - l->at);
    l->n = 0;
  }
}

static bool element_of_caller(const rlx_meta *list, size_t i, rlx_meta *out) {
  const rlx_meta *elements = list->opaque;
  bool has_it = elements && i < list->n;
  *out = has_it ? elements[i] : (rlx_meta){0};
  return has_it;
}

bool rlx_meta_element(const rlx_meta *list, size_t i, rlx_meta *out) {
  if (!out) return false;
  const char *key = list ? list->key : NULL; /* `out` may be `list` */
  if (list && list->kind == RLX_META_LIST && !list->type) return element_of_caller(list, i, out);
  const gguf_list *l = list && list->kind == RLX_META_LIST ? list->opaque : NULL;
  *out = (rlx_meta){.key = key};
  if (!l || i >= l->n) return false;
  const unsigned char *p = l->all->head;
  if (l->type == GGUF_ARRAY) {
    decode(GGUF_ARRAY, NULL, &l->all->list.v[l->first + i], out);
    return true;
  }
  if (l->type == GGUF_STRING) {
    p = text_at(l, i);
  } else {
    p += l->at + i * types[l->type].size;
  }
  decode(l->type, p, NULL, out);
  return true;
}
