/* The layout of packed block types: 16 rows interleaved.
 *
 * A block is a list of fields; a field is a list of units of 1, 2 or 4 bytes. In a group of 16 rows each unit of row 0
 * is followed by that of row 1, and so on. What is at offset o of a block is at 16 o of the group's block, so a vector
 * load gets the same unit of many rows. Blocks follow each other along k as before. One field is also permuted inside:
 * the fifth bits of q5_0 and q5_1, bit 4i + c of 32, become bit i of byte c, next to the nibbles they belong to.
 *
 * Rows past the last whole group are stored unchanged, so the matrix has the same size as before. The packing is
 * reversible: reading a packed weight gives the original bytes. */
#include "base/arith.h"
#include "cpu/move.h"
#include "cpu/quant.h"
#include "quant/blocks.h"

/* ---- the fields of each type, in order ---- */

typedef struct field {
  uint16_t bytes;
  uint8_t unit;
  bool fifth_bits;
} field;

enum { MAX_FIELDS = 5 };
#define F16 \
  { 2, 2, false }
#define FIFTHS \
  { 4, 4, true }
#define BYTES(n) \
  { n, 1, false }
#define WORDS(n) \
  { n, 4, false }
static const field fields_of[RLX_DTYPE_COUNT][MAX_FIELDS] = {
  [RLX_Q4_0] = {F16, WORDS(16)},
  [RLX_Q4_1] = {F16, F16, WORDS(16)},
  [RLX_Q5_0] = {F16, FIFTHS, WORDS(16)},
  [RLX_Q5_1] = {F16, F16, FIFTHS, WORDS(16)},
  [RLX_Q8_0] = {F16, WORDS(32)},
  [RLX_IQ4_NL] = {F16, WORDS(16)},
  [RLX_MXFP4] = {BYTES(1), WORDS(16)},
  [RLX_Q2_K] = {BYTES(16), WORDS(64), F16, F16},
  [RLX_Q3_K] = {WORDS(32), WORDS(64), WORDS(12), F16},
  [RLX_Q4_K] = {F16, F16, WORDS(12), WORDS(128)},
  [RLX_Q5_K] = {F16, F16, WORDS(12), WORDS(32), WORDS(128)},
  [RLX_Q6_K] = {WORDS(128), WORDS(64), BYTES(16), F16},
  [RLX_Q8_K] = {WORDS(4), WORDS(256), WORDS(32)},
  [RLX_IQ4_XS] = {F16, F16, WORDS(4), WORDS(128)},
  [RLX_TQ1_0] = {WORDS(48), WORDS(4), F16},
  [RLX_TQ2_0] = {WORDS(64), F16},
};

/* ---- one group ---- */

/* Bit 4i + c to bit 8c + i, and back. */
static uint32_t fifths_to_bytes(uint32_t bits) {
  uint32_t out = 0;
  for (int i = 0; i < 8; i++) out |= ((bits >> 4 * i & 15) * 0x00204081u & 0x01010101u) << i;
  return out;
}
static uint32_t fifths_from_bytes(uint32_t bytes) {
  uint32_t out = 0;
  for (int i = 0; i < 8; i++) out |= ((bytes >> i & 0x01010101u) * 0x01020408u >> 24 & 15) << 4 * i;
  return out;
}

/* Copies the units of one field of one row; strides `from` and `to`. */
static void copy_units(const field *f, const uint8_t *src, size_t from, uint8_t *dst, size_t to) {
  size_t n = f->bytes / f->unit;
  switch (f->unit) {
    case 1:
      for (size_t i = 0; i < n; i++) dst[i * to] = src[i * from];
      break;
    case 2:
      for (size_t i = 0; i < n; i++) memcpy(dst + i * to, src + i * from, 2);
      break;
    default:
      for (size_t i = 0; i < n; i++) memcpy(dst + i * to, src + i * from, 4);
  }
}

/* One 2-byte unit of each of 16 rows. */
static void pack_pairs(const uint8_t *rows, size_t row_bytes, uint8_t *to) {
  for (size_t r = 0; r < CPU_QUANT_ROWS; r++) memcpy(to + 2 * r, rows + r * row_bytes, 2);
}

void cpu_quant_pack(cpu_isa isa, rlx_dtype dtype, const uint8_t *rows, size_t row_bytes, size_t n_rows, size_t n_blocks,
                    const uint8_t *next, uint8_t *group) {
  const cpu_move_table *move = cpu_move(isa);
  size_t block_bytes = rlx_dtype_describe(dtype)->block_bytes;
  if (n_rows < CPU_QUANT_ROWS) memset(group, 0, CPU_QUANT_ROWS * block_bytes * n_blocks);
  for (size_t b = 0; b < n_blocks; b++, rows += block_bytes, group += CPU_QUANT_ROWS * block_bytes) {
    /* 16 rows are too many streams for the hardware prefetcher. */
    for (size_t i = 0; i < CPU_QUANT_ROWS * block_bytes; i += 64)
      __builtin_prefetch(next + CPU_QUANT_ROWS * block_bytes * b + i, 0, 2);
    size_t offset = 0;
    for (const field *f = fields_of[dtype]; offset < block_bytes; offset += f->bytes, f++) {
      uint8_t *to = group + CPU_QUANT_ROWS * offset;
      if (n_rows == CPU_QUANT_ROWS && (f->bytes == 2 || (f->unit == 4 && !f->fifth_bits))) {
        if (f->bytes == 2) pack_pairs(rows + offset, row_bytes, to);
        else move->tile[2](rows + offset, (ptrdiff_t)row_bytes, to, 4 * CPU_QUANT_ROWS, f->bytes / 4, CPU_QUANT_ROWS);
        continue;
      }
      for (size_t r = 0; r < n_rows; r++) {
        const uint8_t *from = rows + r * row_bytes + offset;
        if (f->fifth_bits) store_le32(to + 4 * r, fifths_to_bytes(load_le32(from)));
        else copy_units(f, from, f->unit, to + f->unit * r, (size_t)CPU_QUANT_ROWS * f->unit);
      }
    }
  }
}

/* Extracts row `row` of a group. */
static void unpack(rlx_dtype dtype, const uint8_t *group, size_t row, size_t n_blocks, uint8_t *out) {
  size_t block_bytes = rlx_dtype_describe(dtype)->block_bytes;
  for (size_t b = 0; b < n_blocks; b++, out += block_bytes, group += CPU_QUANT_ROWS * block_bytes) {
    size_t offset = 0;
    for (const field *f = fields_of[dtype]; offset < block_bytes; offset += f->bytes, f++) {
      const uint8_t *from = group + CPU_QUANT_ROWS * offset + f->unit * row;
      if (f->fifth_bits) store_le32(out + offset, fifths_from_bytes(load_le32(from)));
      else copy_units(f, from, (size_t)CPU_QUANT_ROWS * f->unit, out + offset, f->unit);
    }
  }
}

/* ---- whole weights: the layout family ---- */

/* A weight [.., n, k] as matrices of rows. */
typedef struct rows_of {
  rlx_dtype dtype;
  size_t n_matrices, n, n_blocks, row_bytes;
  uint64_t bytes;
} rows_of;

static bool read_type(uint32_t layout, const rlx_type *type, rows_of *out) {
  if (layout != CPU_LAYOUT_QUANT_ROWS || !rlx_dtype_is_block(type->dtype) || type->shape.n < 2) return false;
  if (!fields_of[type->dtype][0].bytes) return false; /* a type without inner loops */
  const rlx_dtype_info *info = rlx_dtype_describe(type->dtype);
  const rlx_dims *s = &type->shape;
  size_t n_matrices = 1, k = (size_t)s->v[s->n - 1], n_rows, bytes;
  for (int i = 0; i < s->n - 2; i++)
    if (!rlx_mul_size(n_matrices, (size_t)s->v[i], &n_matrices)) return false;
  *out = (rows_of){.dtype = type->dtype, .n_matrices = n_matrices, .n = (size_t)s->v[s->n - 2]};
  out->n_blocks = k / info->block_elements;
  if (!rlx_mul_size(out->n_blocks, info->block_bytes, &out->row_bytes) || !rlx_mul_size(n_matrices, out->n, &n_rows) ||
      !rlx_mul_size(n_rows, out->row_bytes, &bytes))
    return false;
  out->bytes = bytes;
  return true;
}

static uint64_t layout_bytes(cpu_isa isa, uint32_t layout, const rlx_type *type) {
  (void)isa;
  rows_of w;
  return read_type(layout, type, &w) ? w.bytes : 0;
}

typedef struct repack_work {
  cpu_isa isa;
  rows_of w;
  bool to_layout;
  const uint8_t *src;
  uint8_t *dst;
  size_t n_groups; /* of a matrix, including a partial one */
} repack_work;

static void repack_groups(void *user, size_t begin, size_t end, unsigned thread) {
  (void)thread;
  const repack_work *p = user;
  const rows_of *w = &p->w;
  for (size_t g = begin; g < end; g++) {
    size_t row = g % p->n_groups * CPU_QUANT_ROWS, left = w->n - row;
    size_t at = (g / p->n_groups * w->n + row) * w->row_bytes;
    if (left < CPU_QUANT_ROWS) memcpy(p->dst + at, p->src + at, left * w->row_bytes);
    else if (p->to_layout)
      cpu_quant_pack(p->isa, w->dtype, p->src + at, w->row_bytes, CPU_QUANT_ROWS, w->n_blocks,
                     p->src + at + CPU_QUANT_ROWS * w->row_bytes, p->dst + at);
    else
      for (size_t r = 0; r < CPU_QUANT_ROWS; r++)
        unpack(w->dtype, p->src + at, r, w->n_blocks, p->dst + at + r * w->row_bytes);
  }
}

static rlx_status repack(cpu_isa isa, uint32_t layout, const rlx_type *type, bool to_layout, const void *src, void *dst,
                         rlx_pool *pool) {
  repack_work p = {.isa = isa, .to_layout = to_layout, .src = src, .dst = dst};
  if (!read_type(layout, type, &p.w))
    return RLX_FAIL(RLX_INVALID, "layout %u is not one of %s%s", (unsigned)layout, rlx_dtype_name(type->dtype),
                    RLX_DIMS_TEXT(type->shape));
  if (p.w.bytes == 0) return RLX_OK;
  p.n_groups = (p.w.n + CPU_QUANT_ROWS - 1) / CPU_QUANT_ROWS;
  size_t n = p.w.n_matrices * p.n_groups;
  cpu_parallel(pool, n, cpu_grain(n, (double)p.w.row_bytes * CPU_QUANT_ROWS), repack_groups, &p);
  return RLX_OK;
}

static void read_row(cpu_isa isa, uint32_t layout, const rlx_type *type, const void *matrix, size_t row, size_t first,
                     size_t count, void *out) {
  (void)isa;
  rows_of w;
  if (!read_type(layout, type, &w)) return;
  const rlx_dtype_info *info = rlx_dtype_describe(w.dtype);
  size_t group = row / CPU_QUANT_ROWS * CPU_QUANT_ROWS, at = first / info->block_elements * info->block_bytes;
  size_t n_blocks = count / info->block_elements;
  if (w.n - group < CPU_QUANT_ROWS) /* the last rows are stored unchanged */
    memcpy(out, (const uint8_t *)matrix + row * w.row_bytes + at, n_blocks * info->block_bytes);
  else unpack(w.dtype, (const uint8_t *)matrix + group * w.row_bytes + CPU_QUANT_ROWS * at, row - group, n_blocks, out);
}

const cpu_layout_family cpu_layout_quant = {layout_bytes, repack, read_row, NULL};
