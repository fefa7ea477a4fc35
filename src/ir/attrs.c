/* Attributes: generic routines for all ops, driven by the op's field table. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "ir/algebra.h"

static int32_t count_names(const char *names) {
  int32_t n = 1;
  for (const char *p = names; *p; p++) n += *p == ' ';
  return n;
}

const rlx_attr_field *rlx_attr_find(const rlx_op_table_row *row, const char *name, size_t n) {
  for (uint32_t i = 0; i < row->n_attrs; i++)
    if (strlen(row->attrs[i].name) == n && memcmp(row->attrs[i].name, name, n) == 0) return &row->attrs[i];
  return NULL;
}

void *rlx_attr_named(const rlx_op_table_row *row, const void *attrs, const char *name) {
  const rlx_attr_field *f = rlx_attr_find(row, name, strlen(name));
  return f ? rlx_attr_at(attrs, f) : NULL;
}

rlx_status rlx_attrs_check(const rlx_graph *g, const rlx_op_table_row *row, const void *attrs) {
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const rlx_attr_field *f = &row->attrs[i];
    const void *at = rlx_attr_at(attrs, f);
    switch (f->kind) {
      case RLX_ATTR_ENUM: {
        int32_t v = *(const int32_t *)at;
        if (v < 0 || v >= count_names(f->names))
          return RLX_FAIL(RLX_INVALID, "%s is %d, not one of: %s", f->name, (int)v, f->names);
        break;
      }
      case RLX_ATTR_TYPE: {
        rlx_dtype t = *(const rlx_dtype *)at;
        if ((unsigned)t >= RLX_DTYPE_COUNT) return RLX_FAIL(RLX_INVALID, "%s is the unknown dtype %d", f->name, (int)t);
        break;
      }
      case RLX_ATTR_DIMS:
      case RLX_ATTR_FLOATS: {
        int32_t n = f->kind == RLX_ATTR_DIMS ? ((const rlx_dims *)at)->n : ((const rlx_floats *)at)->n;
        if (n < 0 || n > RLX_MAX_RANK)
          return RLX_FAIL(RLX_INVALID, "%s has %d entries; rank is 0..%d", f->name, (int)n, RLX_MAX_RANK);
        for (int32_t k = 0; f->kind == RLX_ATTR_DIMS && k < n; k++) {
          int64_t d = ((const rlx_dims *)at)->v[k];
          if (rlx_dim_is_open(d) && !rlx_graph_has_size(g, d))
            return RLX_FAIL(RLX_INVALID, "entry %d of %s is not a number or a symbol of this graph", (int)k, f->name);
        }
        break;
      }
      case RLX_ATTR_GRAPH: {
        const rlx_graph *sub = *(rlx_graph *const *)at;
        if (!sub) return RLX_FAIL(RLX_INVALID, "%s is missing", f->name);
        if (!sub->finished) return RLX_FAIL(RLX_INVALID, "%s is not a finished graph", f->name);
        break;
      }
      case RLX_ATTR_TEXT: {
        const char *text = *(const char *const *)at;
        if (text && !rlx_text_is_utf8(text)) return RLX_FAIL(RLX_INVALID, "%s is not UTF-8", f->name);
        break;
      }
      default: break;
    }
  }
  return RLX_OK;
}

void *rlx_attrs_copy(rlx_graph *g, const rlx_op_table_row *row, const void *attrs) {
  if (!row->attrs_bytes) return (void *)(uintptr_t)row->attrs_default;
  char *copy = rlx_bump_copy(&g->bump, attrs, 1, row->attrs_bytes);
  if (!copy) return NULL;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const rlx_attr_field *f = &row->attrs[i];
    double *number = rlx_attr_at(copy, f);
    /* one canonical NaN, so that text round-trips */
    if (f->kind == RLX_ATTR_FLOAT && isnan(*number)) *number = (double)NAN;
    if (f->kind != RLX_ATTR_TEXT) continue;
    const char **text = rlx_attr_at(copy, f);
    if (*text && !(*text = rlx_bump_text(&g->bump, *text, strlen(*text)))) return NULL;
  }
  for (uint32_t i = 0; i < row->n_attrs; i++) { /* retained last, because nothing can fail after this */
    void *at = rlx_attr_at(copy, &row->attrs[i]);
    if (row->attrs[i].kind == RLX_ATTR_GRAPH) rlx_graph_retain(*(rlx_graph **)at);
    if (row->attrs[i].kind == RLX_ATTR_DATA) rlx_blob_retain(*(rlx_blob **)at);
  }
  return copy;
}

void rlx_attrs_release(const rlx_op_table_row *row, const void *attrs) {
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    void *at = rlx_attr_at(attrs, &row->attrs[i]);
    if (row->attrs[i].kind == RLX_ATTR_GRAPH) rlx_graph_destroy(*(rlx_graph **)at);
    if (row->attrs[i].kind == RLX_ATTR_DATA) rlx_blob_release(*(rlx_blob **)at);
  }
}

static bool text_equal(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

bool rlx_attr_equal(const rlx_attr_field *f, const void *a, const void *b) {
  switch (f->kind) {
    case RLX_ATTR_INT: return *(const int64_t *)a == *(const int64_t *)b;
    case RLX_ATTR_FLOAT: return memcmp(a, b, sizeof(double)) == 0; /* by bits: 0 and -0 differ, NaN equals itself */
    case RLX_ATTR_BOOL: return *(const bool *)a == *(const bool *)b;
    case RLX_ATTR_ENUM: return *(const int32_t *)a == *(const int32_t *)b;
    case RLX_ATTR_TYPE: return *(const rlx_dtype *)a == *(const rlx_dtype *)b;
    case RLX_ATTR_DIMS: return rlx_dims_equal(a, b);
    case RLX_ATTR_FLOATS: {
      const rlx_floats *x = a, *y = b;
      return x->n == y->n && memcmp(x->v, y->v, (size_t)x->n * sizeof(double)) == 0;
    }
    case RLX_ATTR_TEXT: return text_equal(*(const char *const *)a, *(const char *const *)b);
    case RLX_ATTR_GRAPH: return rlx_graph_same(*(rlx_graph *const *)a, *(rlx_graph *const *)b);
    case RLX_ATTR_DATA: {
      const rlx_blob *x = *(rlx_blob *const *)a, *y = *(rlx_blob *const *)b;
      return x == y || (x && y && x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0);
    }
  }
  return false;
}

bool rlx_attrs_equal(const rlx_op_table_row *row, const void *a, const void *b) {
  if (a == b) return true;
  for (uint32_t i = 0; i < row->n_attrs; i++)
    if (!rlx_attr_equal(&row->attrs[i], rlx_attr_at(a, &row->attrs[i]), rlx_attr_at(b, &row->attrs[i]))) return false;
  return true;
}

uint64_t rlx_hash_bytes(uint64_t seed, const void *data, size_t bytes) {
  /* FNV-1a over 8-byte words, then the tail, with a final mix: fast enough for constants of megabytes. */
  const unsigned char *p = data;
  uint64_t h = seed ^ 0xcbf29ce484222325u;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    h = (h ^ word) * 0x100000001b3u;
    h ^= h >> 29;
  }
  for (; bytes; bytes--, p++) h = (h ^ *p) * 0x100000001b3u;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

uint64_t rlx_attrs_hash(const rlx_op_table_row *row, const void *attrs) {
  uint64_t h = 0;
  for (uint32_t i = 0; i < row->n_attrs; i++) {
    const void *at = rlx_attr_at(attrs, &row->attrs[i]);
    switch (row->attrs[i].kind) {
      case RLX_ATTR_INT: h = rlx_hash_bytes(h, at, sizeof(int64_t)); break;
      case RLX_ATTR_FLOAT: h = rlx_hash_bytes(h, at, sizeof(double)); break;
      case RLX_ATTR_BOOL: h = rlx_hash_bytes(h, at, sizeof(bool)); break;
      case RLX_ATTR_ENUM: h = rlx_hash_bytes(h, at, sizeof(int32_t)); break;
      case RLX_ATTR_TYPE: h = rlx_hash_bytes(h, at, sizeof(rlx_dtype)); break;
      case RLX_ATTR_DIMS:
        h = rlx_hash_bytes(h + (uint64_t)((const rlx_dims *)at)->n, ((const rlx_dims *)at)->v,
                           (size_t)((const rlx_dims *)at)->n * 8);
        break;
      case RLX_ATTR_FLOATS:
        h = rlx_hash_bytes(h + (uint64_t)((const rlx_floats *)at)->n, ((const rlx_floats *)at)->v,
                           (size_t)((const rlx_floats *)at)->n * 8);
        break;
      case RLX_ATTR_TEXT: {
        const char *text = *(const char *const *)at;
        h = rlx_hash_bytes(h + 1, text ? text : "", text ? strlen(text) : 0);
        break;
      }
      case RLX_ATTR_GRAPH: h = h * 31 + rlx_graph_hash(*(rlx_graph *const *)at); break;
      case RLX_ATTR_DATA: {
        const rlx_blob *b = *(rlx_blob *const *)at;
        if (b) h = rlx_hash_bytes(h, b->data, b->bytes);
        break;
      }
    }
  }
  return h;
}
