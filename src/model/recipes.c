/* Recipes: conversion of a file's bytes to a weight's (names.c explains why they differ).
 *
 * A weight that the file stores in the required layout is read straight into place. The others pass through a
 * buffer: the rows of one head for the reordering, the whole tensor if every element changes. Those are small or
 * rare. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"
#include "base/mem.h"
#include "model/names.h"

/* Loads a whole tensor of the file into a new allocation. */
static rlx_status load(const lm_model *m, const rlx_file_tensor *t, void **out) {
  *out = rlx_mem_alloc(t->bytes);
  if (!*out) return RLX_FAIL(RLX_NO_MEMORY, "tensor '%s': %zu bytes", t->name, t->bytes);
  rlx_status s = rlx_file_read_tensor(m->file, t, 0, *out, t->bytes);
  if (s) {
    rlx_mem_free(*out);
    *out = NULL;
  }
  return s;
}

static float float_at(rlx_dtype dtype, const void *data, size_t i) {
  if (dtype == RLX_F32) return ((const float *)data)[i];
  uint16_t half = ((const uint16_t *)data)[i];
  return dtype == RLX_F16 ? rlx_f16_to_f32(half) : rlx_bf16_to_f32(half);
}

/* Index in Hugging Face's order of row i in GGUF's: within a head, row 2 i is row i and row 2 i + 1 is row i + head
 * / 2. */
size_t lm_paired_row(size_t head, size_t i) {
  size_t in = i % head;
  return i - in + in / 2 + (in % 2) * (head / 2);
}

/* Index in the file of row i of q, k and v: there each head of keys follows its queries, and its values follow it. */
static size_t grouped_row(const lm_config *c, size_t i) {
  const size_t head = (size_t)c->head, kv = (size_t)c->kv_heads, heads = (size_t)c->heads, each = heads / kv;
  const size_t of = i / head, in = i % head; /* the head among all of q, k and v */
  const size_t group = of < heads ? of / each : (of - heads) % kv;
  const size_t place = of < heads ? of % each : each + (of - heads) / kv;
  return (group * (each + 2) + place) * head + in;
}

static size_t row_in_file(const lm_config *c, lm_recipe recipe, size_t i) {
  switch (recipe) {
    case LM_PAIR_ROWS: return lm_paired_row((size_t)c->head, i);
    case LM_GROUPED_ROWS: return grouped_row(c, i);
    case LM_EVEN_ROWS: return 2 * i;
    case LM_ODD_ROWS: return 2 * i + 1;
    default: return i;
  }
}

/* Elements that change, and vectors, whose elements are rows. */
static rlx_status read_floats(const lm_model *m, const lm_source *s, lm_recipe recipe, float *out) {
  const rlx_file_tensor *t = s->from[0];
  void *raw;
  RLX_TRY(load(m, t, &raw));
  for (size_t i = 0, n = s->weight.bytes / sizeof *out; i < n; i++) {
    float x = float_at(t->dtype, raw, row_in_file(&m->config, recipe, i));
    out[i] = recipe == LM_PLUS_ONE ? 1 + x : recipe == LM_NEG_EXP ? -expf(x) : x;
  }
  rlx_mem_free(raw);
  return RLX_OK;
}

/* Transposes [in, out] to [out, in], of each expert if there are several; or takes every second of `out` only. */
static rlx_status read_transposed(const lm_model *m, const lm_source *s, lm_recipe recipe, unsigned char *out) {
  const rlx_file_tensor *t = s->from[0];
  const rlx_dims *shape = &s->weight.shape;
  const bool has_experts = recipe != LM_TRANSPOSED || shape->n == 3;
  const size_t size = rlx_dtype_describe(t->dtype)->block_bytes, experts = has_experts ? (size_t)shape->v[0] : 1;
  const size_t rows = (size_t)shape->v[has_experts];
  const size_t columns = shape->n == 1 + has_experts ? 1 : (size_t)shape->v[1 + has_experts];
  const size_t step = recipe == LM_TRANSPOSED ? 1 : 2, first = recipe == LM_ODD_ROWS;
  void *raw;
  RLX_TRY(load(m, t, &raw));
  const unsigned char *from = raw;
  for (size_t e = 0; e < experts; e++, from += step * rows * columns * size)
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++, out += size)
        memcpy(out, from + (j * step * rows + i * step + first) * size, size);
  rlx_mem_free(raw);
  return RLX_OK;
}

static rlx_status read_paired(const lm_model *m, const lm_source *s, unsigned char *out) {
  const rlx_file_tensor *t = s->from[0];
  size_t head = (size_t)m->config.head, n_heads = (size_t)s->weight.shape.v[0] / head, n = head * n_heads;
  size_t row = t->bytes / n, one = row * head;
  unsigned char *rows = rlx_mem_alloc(one);
  if (!rows) return RLX_FAIL(RLX_NO_MEMORY, "rows of one head of '%s'", t->name);
  rlx_status status = RLX_OK;
  for (size_t h = 0; h < n_heads && !status; h++) {
    status = rlx_file_read_tensor(m->file, t, h * one, rows, one);
    for (size_t i = 0; i < head && !status; i++)
      memcpy(out + h * one + i * row, rows + lm_paired_row(head, i) * row, row);
  }
  rlx_mem_free(rows);
  return status;
}

static rlx_status read_skipping(const lm_model *m, const lm_source *s, void *out) {
  const rlx_file_tensor *t = s->from[0];
  return rlx_file_read_tensor(m->file, t, t->bytes - s->weight.bytes, out, s->weight.bytes);
}

static rlx_status read_grouped(const lm_model *m, const lm_source *s, unsigned char *out) {
  const rlx_file_tensor *t = s->from[0];
  const size_t rows = (size_t)s->weight.shape.v[0], one = t->bytes / rows;
  void *raw;
  RLX_TRY(load(m, t, &raw));
  for (size_t i = 0; i < rows; i++) memcpy(out + i * one, (unsigned char *)raw + grouped_row(&m->config, i) * one, one);
  rlx_mem_free(raw);
  return RLX_OK;
}

/* 32 elements of mxfp4: in the file neighbours share a byte, in a block elements half a block apart. */
static void repack(const unsigned char *from, unsigned char scale, unsigned char *out) {
  out[0] = scale;
  for (int i = 0; i < 16; i++) {
    const int low = from[i / 2] >> 4 * (i % 2), high = from[8 + i / 2] >> 4 * (i % 2);
    out[1 + i] = (unsigned char)((low & 15) | (high & 15) << 4);
  }
}

/* All rows, or every second: gate and up of gpt-oss alternate. */
static rlx_status read_packed(const lm_model *m, const lm_source *s, lm_recipe recipe, unsigned char *out) {
  const int64_t *shape = s->weight.shape.v;
  const size_t n = (size_t)shape[0] * (size_t)shape[1], blocks = (size_t)shape[2] / 32;
  const size_t step = recipe == LM_TRANSPOSED ? 1 : 2, first = recipe == LM_ODD_ROWS;
  void *nibbles, *scales;
  RLX_TRY(load(m, s->from[0], &nibbles));
  rlx_status status = load(m, s->from[1], &scales);
  for (size_t i = 0; i < n && !status; i++)
    for (size_t k = 0; k < blocks; k++, out += 17) {
      const size_t at = (i * step + first) * blocks + k;
      repack((unsigned char *)nibbles + at * 16, ((unsigned char *)scales)[at], out);
    }
  rlx_mem_free(nibbles);
  rlx_mem_free(scales);
  return status;
}

/* Of each expert's rows the first half or the second. */
static rlx_status read_half(const lm_model *m, const lm_source *s, bool is_second, unsigned char *out) {
  const size_t experts = (size_t)s->weight.shape.v[0], half = s->weight.bytes / experts;
  for (size_t i = 0; i < experts; i++)
    RLX_TRY(rlx_file_read_tensor(m->file, s->from[0], (2 * i + is_second) * half, out + i * half, half));
  return RLX_OK;
}

static rlx_status read_in_order(const lm_model *m, const lm_source *s, unsigned char *out) {
  for (size_t i = 0, at = 0; i < s->n_from; at += s->from[i++]->bytes)
    RLX_TRY(rlx_file_read_tensor(m->file, s->from[i], 0, out + at, s->from[i]->bytes));
  return RLX_OK;
}

static lm_recipe recipe_of(const lm_model *m, const lm_source *s) {
  return m->config.is_hf ? s->spec->recipe : LM_AS_IS;
}

static rlx_status read_one(const lm_model *m, const lm_source *s, void *data) {
  const lm_config *c = &m->config;
  const lm_recipe recipe = recipe_of(m, s);
  if (recipe == LM_ROPE_FACTORS || recipe == LM_LONG_FACTORS) {
    memcpy(data, recipe == LM_LONG_FACTORS ? c->long_factors : c->rope_factors, s->weight.bytes);
    return RLX_OK;
  }
  if (s->is_packed) return read_packed(m, s, recipe, data);
  if (recipe == LM_PLUS_ONE || recipe == LM_NEG_EXP || s->weight.dtype != s->from[0]->dtype)
    return read_floats(m, s, recipe, data);
  if (recipe == LM_SKIP_ROWS) return read_skipping(m, s, data);
  if (recipe == LM_TRANSPOSED || recipe == LM_EVEN_ROWS || recipe == LM_ODD_ROWS)
    return read_transposed(m, s, recipe, data);
  if (recipe == LM_PAIR_ROWS) return read_paired(m, s, data);
  if (recipe == LM_GROUPED_ROWS) return read_grouped(m, s, data);
  if (recipe == LM_FIRST_HALF || recipe == LM_SECOND_HALF) return read_half(m, s, recipe == LM_SECOND_HALF, data);
  return read_in_order(m, s, data);
}

rlx_status lm_read_source(const lm_model *m, const lm_source *s, void *data) {
  unsigned char *to = data;
  if (!s->parts) return read_one(m, s, data);
  for (size_t i = 0; i < s->n_parts; to += s->parts[i++].weight.bytes) RLX_TRY(read_one(m, &s->parts[i], to));
  return RLX_OK;
}

/* ---- Parts ---- */

bool lm_source_has_parts(const lm_model *m, const lm_source *s) {
  for (size_t i = 0; s->parts && i < s->n_parts; i++)
    if (!lm_source_has_parts(m, &s->parts[i])) return false;
  return s->parts || (s->from && recipe_of(m, s) == LM_AS_IS && s->weight.dtype == s->from[0]->dtype);
}

/* The part of [from, until) that one tensor, which begins at `begin`, has. */
static rlx_status read_overlap(const lm_model *m, const rlx_file_tensor *t, size_t begin, size_t from, size_t until,
                               unsigned char *out) {
  const size_t end = begin + t->bytes, a = from > begin ? from : begin, b = until < end ? until : end;
  return a < b ? rlx_file_read_tensor(m->file, t, a - begin, out + (a - from), b - a) : RLX_OK;
}

rlx_status lm_read_source_part(const lm_model *m, const lm_source *s, size_t from, void *data, size_t bytes) {
  const lm_source *parts = s->parts ? s->parts : s;
  const size_t n_parts = s->parts ? s->n_parts : 1;
  size_t begin = 0;
  for (size_t i = 0; i < n_parts; i++)
    for (size_t k = 0; k < parts[i].n_from; begin += parts[i].from[k++]->bytes)
      RLX_TRY(read_overlap(m, parts[i].from[k], begin, from, from + bytes, data));
  return RLX_OK;
}
