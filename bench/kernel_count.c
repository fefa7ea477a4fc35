/* Inner loops of the CPU backend alone, for a tool that counts instructions (bench/arm_count.py).
 *
 *   kernel_count                      names the loops
 *   kernel_count LOOP SET PASSES      runs one of them PASSES times and prints the elements of one pass
 *
 * The data is small and the same each time: what costs is the number of instructions, not where the data lies. Two runs
 * with different PASSES differ by whole passes, so what a program costs before and after cancels. An element is one
 * product of a product, else one element of the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/attention.h"
#include "cpu/conv.h"
#include "cpu/gemm.h"
#include "cpu/pointwise.h"
#include "cpu/quant.h"
#include "quant/quant.h"

enum { K = 512, ROWS = 64, BUFFER = 1 << 16 };
static _Alignas(64) float a[BUFFER], b[BUFFER], out[BUFFER];
static _Alignas(64) uint8_t weights[BUFFER * 4], rows8[ROWS][4 * K], expanded[4 * CPU_QUANT_EXPANDED_BYTES];
static _Alignas(64) float sums[ROWS][CPU_QUANT_ROWS];
static const char *what; /* the part of the loop's name after the slash */

static rlx_dtype dtype_of(const char *name) {
  for (int t = 0; t < RLX_DTYPE_COUNT; t++)
    if (strcmp(rlx_dtype_name((rlx_dtype)t), name) == 0) return (rlx_dtype)t;
  return RLX_F32;
}

/* ---- block types ---- */

static void quantise_rows(cpu_isa isa, rlx_dtype type, size_t n) {
  for (size_t i = 0; i < n; i++) cpu_quant(isa)->quantise(type, a + i, K, rows8[i]);
}

/* A group of 16 rows of K elements. */
static size_t make_group(cpu_isa isa, rlx_dtype type) {
  const rlx_dtype_info *info = rlx_dtype_describe(type);
  size_t n_blocks = K / info->block_elements, row_bytes = n_blocks * info->block_bytes;
  uint8_t *rows = weights + BUFFER * 2;
  for (size_t r = 0; r < CPU_QUANT_ROWS; r++)
    if (rlx_quant_encode(type, b + 3 * r, rows + r * row_bytes, K) != RLX_OK) exit(1);
  cpu_quant_pack(isa, type, rows, row_bytes, CPU_QUANT_ROWS, n_blocks, rows, weights);
  return n_blocks;
}

static size_t dot_one(cpu_isa isa, size_t passes) {
  rlx_dtype type = dtype_of(what);
  size_t n_blocks = make_group(isa, type);
  quantise_rows(isa, type, 1);
  const void *rows[1] = {rows8[0]};
  for (size_t i = 0; i < passes; i++) cpu_quant(isa)->dot[type][0](weights, n_blocks, rows, K, 0, sums);
  return K * CPU_QUANT_ROWS;
}

/* As quant.c does with many rows: 64 of them for each expanded group. */
static size_t dot_many(cpu_isa isa, size_t passes) {
  rlx_dtype type = dtype_of(what);
  const cpu_quant_table *table = cpu_quant(isa);
  const cpu_quant_expanded *e = &table->expanded[type];
  size_t n_blocks = make_group(isa, type), tile = table->dot[type][2] ? 8 : 4;
  quantise_rows(isa, type, ROWS);
  for (size_t i = 0; i < passes; i++) {
    if (e->dot) e->expand(weights, n_blocks, expanded);
    for (size_t r = 0; r < ROWS; r += tile) {
      const void *rows[8];
      for (size_t m = 0; m < tile; m++) rows[m] = rows8[r + m];
      if (e->dot) e->dot(expanded, n_blocks, rows, K, 0, sums + r);
      else table->dot[type][tile == 8 ? 2 : 1](weights, n_blocks, rows, K, 0, sums + r);
    }
  }
  return (size_t)K * CPU_QUANT_ROWS * ROWS;
}

static size_t exact_one(cpu_isa isa, size_t passes) {
  rlx_dtype type = dtype_of(what);
  size_t n_blocks = make_group(isa, type);
  const void *rows[1] = {a};
  for (size_t i = 0; i < passes; i++) cpu_quant_exact(isa)->dot[type][0](weights, n_blocks, rows, K, 0, sums);
  return K * CPU_QUANT_ROWS;
}

static size_t quantise(cpu_isa isa, size_t passes) {
  for (size_t i = 0; i < passes; i++) quantise_rows(isa, RLX_Q8_0, 1);
  return K;
}

/* ---- floats ---- */

static size_t gemv(cpu_isa isa, size_t passes) {
  const cpu_gemm_table *gemm = cpu_gemm(isa);
  for (size_t i = 0; i < passes; i++) gemm->row_panels[dtype_of(what)](K, a, b, out);
  return K * CPU_GEMM_ROW_PANELS * gemm->nr;
}

static size_t gemm(cpu_isa isa, size_t passes) {
  const cpu_gemm_table *gemm = cpu_gemm(isa);
  for (size_t i = 0; i < passes; i++) gemm->tile[dtype_of(what)](gemm->mr, K, a, b, gemm->nr, out, true);
  return K * gemm->mr * gemm->nr;
}

static size_t widen(cpu_isa isa, size_t passes) {
  for (size_t i = 0; i < passes; i++) cpu_attention(isa)->widen(dtype_of(what), b, K, 8, K, out);
  return 8 * K;
}

static size_t narrow(cpu_isa isa, size_t passes) {
  for (size_t i = 0; i < passes; i++) cpu_floats_store(isa, dtype_of(what), a, out, K);
  return K;
}

static size_t scores(cpu_isa isa, size_t passes) {
  const cpu_attention_table *t = cpu_attention(isa);
  for (size_t i = 0; i < passes; i++) t->scores_lanes(a, b, 64, 64, 64, out);
  return 64 * 64 * t->rows;
}

static size_t softmax(cpu_isa isa, size_t passes) {
  const cpu_attention_table *t = cpu_attention(isa);
  for (size_t i = 0; i < passes; i++) t->softmax_lanes(a, 64, out, out + 64, out + 128);
  return 64 * t->rows;
}

static size_t values(cpu_isa isa, size_t passes) {
  const cpu_attention_table *t = cpu_attention(isa);
  for (size_t i = 0; i < passes; i++) t->add_values(a, t->rows, 1, b, 64, 64, t->rows, 64, a, out);
  return 64 * 64 * t->rows;
}

static size_t conv(cpu_isa isa, size_t passes) {
  const cpu_conv_table *t = cpu_conv(isa);
  size_t columns = t->vecs * t->lanes;
  for (size_t i = 0; i < passes; i++)
    t->multiply(a, b, columns, K, columns, CPU_CONV_CHANNELS, false, out, columns, NULL);
  return K * columns * CPU_CONV_CHANNELS;
}

static size_t reduce(cpu_isa isa, size_t passes) {
  for (size_t i = 0; i < passes; i++) out[i] = cpu_conv(isa)->sum_all(a, K);
  return K;
}

static const struct {
  const char *name;
  size_t (*run)(cpu_isa isa, size_t passes);
} loops[] = {
  {"dot1/q8_0", dot_one},     {"dot1/q4_0", dot_one},     {"dot1/q4_k", dot_one},      {"dot1/q6_k", dot_one},
  {"dot512/q8_0", dot_many},  {"dot512/q4_0", dot_many},  {"dot512/q4_k", dot_many},   {"dot512/q6_k", dot_many},
  {"exact1/q8_0", exact_one}, {"exact1/q4_k", exact_one}, {"quantise/q8_0", quantise}, {"gemv/f32", gemv},
  {"gemv/f16", gemv},         {"gemv/bf16", gemv},        {"gemm/f32", gemm},          {"gemm/f16", gemm},
  {"widen/f16", widen},       {"widen/bf16", widen},      {"narrow/f16", narrow},      {"narrow/bf16", narrow},
  {"scores/f32", scores},     {"softmax/f32", softmax},   {"values/f32", values},      {"conv/f32", conv},
  {"reduce/f32", reduce},
};
enum { N_LOOPS = sizeof loops / sizeof *loops };

int main(int argc, char **argv) {
  cpu_isa isa;
  if (argc != 4) {
    for (size_t i = 0; i < N_LOOPS; i++) printf("%s\n", loops[i].name);
    return argc == 1 ? 0 : 2;
  }
  if (!cpu_isa_find(argv[2], &isa)) {
    fprintf(stderr, "kernel_count: this machine has no instruction set '%s'\n", argv[2]);
    return 1;
  }
  for (size_t i = 0; i < BUFFER; i++) a[i] = (float)(i % 97) / 97 - 0.5f, b[i] = (float)(i % 89) / 89 - 0.5f;
  for (size_t i = 0; i < N_LOOPS; i++)
    if (strcmp(loops[i].name, argv[1]) == 0) {
      what = strchr(argv[1], '/') + 1;
      printf("%zu\n", loops[i].run(isa, strtoul(argv[3], NULL, 10)));
      return 0;
    }
  fprintf(stderr, "kernel_count: no loop '%s'\n", argv[1]);
  return 2;
}
