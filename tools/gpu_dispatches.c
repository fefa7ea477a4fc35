/* Prints what nodes become on GPUs that need not be here: kernel, groups, constants, parameters and windows of every
 * dispatch. A change that must not change what runs is checked by comparing two of these:
 *
 *     build/release/tools/gpu_dispatches > before        # then the change
 *     build/release/tools/gpu_dispatches | cmp - before
 *
 * Lowered are all conformance cases, and products, convolutions, attention and rows of sizes around the thresholds of
 * tuning.def, each as a claim before layouts are decided and with the layouts that it asks for. About 110 MB. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "conform/conform.h"
#include "gpu/gpu.h"

/* ---- devices ---- */

enum { WITH_FRAGMENTS, WITH_MATRICES, WITHOUT_MATRICES, ODD, SOFTWARE, LEAST, N_DEVICES };
static gpu_caps devices[N_DEVICES];

static void make_devices(void) {
  const gpu_caps large = {.max_group = 1024,
                          .max_shared = 48 * 1024,
                          .max_groups_x = 65535,
                          .max_window_bytes = (uint64_t)4 << 30,
                          .units = 132,
                          .subgroup = 32,
                          .has_dot8 = true,
                          .has_f16 = true,
                          .packs_f16 = true};
  devices[WITHOUT_MATRICES] = devices[WITH_MATRICES] = devices[WITH_FRAGMENTS] = large;
  for (int i = WITH_FRAGMENTS; i <= WITH_MATRICES; i++) {
    devices[i].has_coopmat = devices[i].has_coopmat_bf16 = true;
    devices[i].knows_fragments = devices[i].knows_fragments_bf16 = i == WITH_FRAGMENTS;
  }
  devices[WITH_MATRICES].units = 20;
  devices[WITHOUT_MATRICES].units = 46;
  devices[ODD] = (gpu_caps){.max_group = 384,
                            .max_shared = 32 * 1024,
                            .max_groups_x = 65535,
                            .max_window_bytes = (uint64_t)1 << 30,
                            .units = 7,
                            .subgroup = 64,
                            .has_f16 = true,
                            .device_class = GPU_INTEGRATED};
  devices[SOFTWARE] = (gpu_caps){.max_group = 256,
                                 .max_shared = 32 * 1024,
                                 .max_groups_x = 65535,
                                 .max_window_bytes = 128 << 20,
                                 .units = 2,
                                 .subgroup = 8,
                                 .has_f16 = true,
                                 .device_class = GPU_SOFTWARE};
  devices[LEAST] = (gpu_caps){.max_group = 128,
                              .max_shared = 16 * 1024,
                              .max_groups_x = 65535,
                              .max_window_bytes = 128 << 20,
                              .units = 1,
                              .device_class = GPU_SOFTWARE};
}

/* ---- printing ---- */

static void print_dispatch(const gpu_dispatch *d) {
  printf("  %s: %u groups of %u, cost %llu%s; constants", d->kernel->name, (unsigned)d->groups, (unsigned)d->group_size,
         (unsigned long long)d->cost, d->copies ? ", copies" : "");
  for (uint32_t i = 0; i < d->kernel->n_constants; i++) printf(" %x", (unsigned)d->constants[i]);
  printf("; parameters");
  for (uint32_t i = 0; i < d->kernel->params_bytes / 4; i++) printf(" %x", (unsigned)d->params[i]);
  printf("; windows");
  for (uint32_t i = 0; i < d->kernel->n_windows; i++) {
    const gpu_window *w = &d->windows[i];
    printf(" %d.%u.%llu.%llu", (int)w->from, (unsigned)w->index, (unsigned long long)w->offset,
           (unsigned long long)w->bytes);
  }
  printf("\n");
}

/* Lowers a node with these layouts (NULL: open), prints it, and stores the layouts that it asks for. */
static void print_node(const char *name, int device, const rlx_claim_query *q, uint32_t *asked) {
  gpu_lowering l;
  rlx_status s = gpu_lower(&devices[device], q, &l);
  printf("%s, device %d, node %u%s%s: ", name, device, (unsigned)q->node,
         q->switches & RLX_SWITCH_EXACT ? ", exact" : "", q->layout ? ", with layouts" : "");
  if (s) printf("%s\n", rlx_status_name(s));
  else {
    printf("%s, in place %x, work %llu, layouts", l.claim.native ? "native" : l.claim.why, (unsigned)l.claim.in_place,
           (unsigned long long)l.claim.work_bytes);
    for (uint32_t i = 0; i < l.node->n_in && i < RLX_OP_MAX_INPUTS; i++) {
      printf(" %u", (unsigned)l.claim.layout[i]);
      if (asked) asked[i] = l.claim.layout[i];
    }
    printf("\n");
    for (size_t i = 0; i < l.dispatches.n; i++) print_dispatch(&l.dispatches.v[i]);
  }
  gpu_lowering_deinit(&l);
}

static void print_graph(const char *name, const rlx_graph *g) {
  for (int device = 0; device < N_DEVICES; device++)
    for (rlx_node node = 1; node < rlx_graph_end(g); node++)
      for (int exact = 0; exact < 2; exact++) {
        uint32_t *layout = calloc((size_t)rlx_graph_at(g, node)->n_in + 1, sizeof *layout);
        rlx_claim_query q = {.graph = g, .node = node, .switches = exact ? RLX_SWITCH_EXACT : 0};
        if (layout && gpu_lower_get(rlx_graph_at(g, node)->op)) {
          print_node(name, device, &q, layout);
          q.layout = layout;
          print_node(name, device, &q, NULL);
        }
        free(layout);
      }
}

static void print_cases(void) {
  for (rlx_op op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get(op);
    for (size_t i = 0; i < table->n; i++) {
      rlx_case_built b;
      char name[256];
      snprintf(name, sizeof name, "%s/%s", rlx_op_table_get(op)->name, table->v[i].name);
      if (rlx_case_build(op, &table->v[i], &b)) continue;
      print_graph(name, b.graph);
      rlx_case_deinit(&b);
    }
  }
}

/* A graph of one op on inputs that `format` describes (conform.h); what the op's types forbid is left out. */
static void __attribute__((format(printf, 2, 3))) print_op(const char *expr, const char *format, ...) {
  char inputs[512], name[1024];
  rlx_graph *g;
  va_list args;
  va_start(args, format);
  vsnprintf(inputs, sizeof inputs, format, args);
  va_end(args);
  snprintf(name, sizeof name, "%s of %s", expr, inputs);
  if (rlx_case_graph(&(rlx_case){"size", inputs, expr}, &g)) return;
  print_graph(name, g);
  rlx_graph_destroy(g);
}

/* ---- sizes ---- */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static const char *const floats[] = {"f32", "f16", "bf16"};
static const int rows_of_x[] = {1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 32, 33, 48, 64, 65, 100, 128, 256, 1024, 4096};

static void print_products(void) {
  static const int sizes[][2] = {{64, 64},      {576, 1536},   {1024, 1000}, {4096, 4096},
                                 {4096, 11008}, {896, 151936}, {100, 30},    {4096, 32}};
  for (size_t t = 0; t < COUNT(floats); t++)
    for (size_t i = 0; i < COUNT(rows_of_x); i++) {
      const char *f = floats[t];
      const int m = rows_of_x[i];
      for (size_t s = 0; s < COUNT(sizes); s++) {
        const int k = sizes[s][0], n = sizes[s][1];
        print_op("matmul(%a, %w)", "a: %s[%d,%d]; w: %s[%d,%d]", f, m, k, f, k, n);
        print_op("matmul(%a, %w) {trans_b=true}", "a: %s[%d,%d]; param w: %s[%d,%d]", f, m, k, f, n, k);
        print_op("fused_matmul_bias_act(%a, %w, %c) {act=gelu}", "a: f32[%d,%d]; param w: %s[%d,%d]; c: f32[%d]", m, k,
                 f, k, n, n);
        print_op("fused_matmul_bias_act(%a, %w, _, %g) {norm=true, eps=1e-5, trans_b=true}",
                 "a: f32[%d,%d]; param w: %s[%d,%d]; g: f32[%d]", m, k, f, n, k, k);
      }
      print_op("grouped_matmul(%x, %w, %idx)", "x: %s[%d,512]; w: %s[8,512,1024]; idx: i32[%d] range(0,8)", f, m, f, m);
    }
}

static void print_block_products(void) {
  static const char *const types[] = {"q4_0", "q5_1", "q8_0", "q2_k",   "q3_k",
                                      "q4_k", "q5_k", "q6_k", "iq4_nl", "mxfp4"};
  static const int sizes[][2] = {{256, 256}, {1024, 3072}, {4096, 4096}, {4096, 14336}, {2048, 32}};
  for (size_t t = 0; t < COUNT(types); t++)
    for (size_t i = 0; i < COUNT(rows_of_x); i++)
      for (size_t s = 0; s < COUNT(sizes); s++) {
        const int m = rows_of_x[i], k = sizes[s][0], n = sizes[s][1];
        print_op("matmul(%a, %w) {trans_b=true}", "a: f32[%d,%d]; param w: %s[%d,%d]", m, k, types[t], n, k);
        print_op("fused_matmul_bias_act(%a, %w, _, %g) {norm=true, eps=1e-5, trans_b=true}",
                 "a: f32[%d,%d]; param w: %s[%d,%d]; g: f32[%d]", m, k, types[t], n, k, k);
        print_op("dequant_grouped_matmul(%x, %w, %idx) {trans_b=true}",
                 "x: f32[%d,%d]; param w: %s[8,%d,%d]; idx: i32[%d] range(0,8)", m, k, types[t], n, k, m);
      }
}

static void print_convolutions(void) {
  static const int sizes[][4] = {/* channels, results, side, kernel */
                                 {3, 64, 224, 7},  {64, 64, 56, 1},  {64, 64, 56, 3}, {128, 128, 28, 3},
                                 {512, 512, 7, 3}, {16, 16, 112, 3}, {1, 32, 80, 3},  {256, 256, 14, 3}};
  for (size_t t = 0; t < COUNT(floats); t++)
    for (size_t i = 0; i < COUNT(sizes); i++)
      for (int batch = 1; batch <= 8; batch *= 8) {
        const char *f = floats[t];
        const int c = sizes[i][0], o = sizes[i][1], side = sizes[i][2], kernel = sizes[i][3];
        print_op("conv(%x, %w, %b)", "x: %s[%d,%d,%d,%d]; param w: %s[%d,%d,%d,%d]; b: %s[%d]", f, batch, c, side, side,
                 f, o, c, kernel, kernel, f, o);
        print_op("conv(%x, %w) {stride=[2,2]}", "x: %s[%d,%d,%d,%d]; w: %s[%d,%d,%d,%d]", f, batch, c, side, side, f, o,
                 c, kernel, kernel);
        print_op("conv_transpose(%x, %w) {stride=[2,2]}", "x: %s[%d,%d,%d,%d]; w: %s[%d,%d,4,4]", f, batch, c, side,
                 side, f, c, o);
        print_op("pool_max(%x) {kernel=[3,3], stride=[2,2]}", "x: %s[%d,%d,%d,%d]", f, batch, o, side, side);
        print_op("pool_avg(%x)", "x: %s[%d,%d,%d,%d]", f, batch, o, side, side);
      }
}

static void print_attention(void) {
  static const int queries[] = {1, 2, 4, 7, 16, 64, 100, 512, 2048}, keys[] = {16, 100, 512, 4096, 32768};
  static const int widths[] = {32, 64, 80, 128, 256};
  for (size_t t = 0; t < COUNT(floats); t++)
    for (size_t q = 0; q < COUNT(queries); q++)
      for (size_t k = 0; k < COUNT(keys); k++)
        for (size_t d = 0; d < COUNT(widths); d++)
          for (int heads = 4; heads <= 16; heads *= 4) {
            const char *f = floats[t];
            const int wide = widths[d];
            if (queries[q] > keys[k]) continue;
            print_op("attention(%q, %k, %v) {causal=true}", "q: %s[1,%d,16,%d]; k: %s[1,%d,%d,%d]; v: %s[1,%d,%d,%d]",
                     f, queries[q], wide, f, keys[k], heads, wide, f, keys[k], heads, wide);
            print_op("attention(%q, %k, %v, _, _, _, %n) {causal=true}",
                     "q: f32[1,%d,16,%d]; k: %s[1,%d,%d,%d]; v: %s[1,%d,%d,%d]; n: i32[1] values(7)", queries[q], wide,
                     f, keys[k], heads, wide, f, keys[k], heads, wide);
          }
}

static void print_rows(void) {
  static const int sizes[][2] = {{1, 1000},   {1, 151936},  {32, 4096},   {4096, 64},
                                 {100000, 7}, {3, 1000000}, {2048, 2048}, {17, 33}};
  static const char *const ops[] = {"softmax(%x)",
                                    "log_softmax(%x)",
                                    "rms_norm(%x)",
                                    "layer_norm(%x)",
                                    "reduce_sum(%x) {axes=[1]}",
                                    "reduce_sum(%x) {axes=[0]}",
                                    "reduce_max(%x)",
                                    "argmax(%x) {axis=1}",
                                    "sort(%x) {axis=1}",
                                    "cumsum(%x) {axis=1}",
                                    "cumsum(%x) {axis=0}",
                                    "topk(%x) {k=5}",
                                    "transpose(%x) {perm=[1,0]}",
                                    "exp(%x)",
                                    "add(%x, %x)"};
  for (size_t t = 0; t < COUNT(floats); t++)
    for (size_t s = 0; s < COUNT(sizes); s++)
      for (size_t o = 0; o < COUNT(ops); o++) print_op(ops[o], "x: %s[%d,%d]", floats[t], sizes[s][0], sizes[s][1]);
}

int main(void) {
  make_devices();
  print_cases();
  print_products();
  print_block_products();
  print_convolutions();
  print_attention();
  print_rows();
  return fflush(stdout) == 0 ? 0 : 1;
}
