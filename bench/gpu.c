/* Times single ops at the sizes of models on a GPU, for the table of docs/performance.md: bench/gpu [--device NAME]
 * [--fast-f16] [PATTERN].
 *
 * Each case is a graph with several independent copies of one op, with separate tensors, so the data is far larger than
 * the caches and the cost of a submission is shared: the time of a run divided by the copies is the time of the op in a
 * model. Runs are repeated and the median is printed, one JSON line per case: name, seconds, flops, bytes, and the
 * seconds of a single op by the device's clock. tools/gpu_report runs PyTorch in the same session for comparison. The
 * first line is the device. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "device_time.h"
#include "rlx/rlx.h"

typedef enum kind { MATMUL, WEIGHT, UNARY, ADD, TRANSPOSE, ATTENTION, CONV } kind;

typedef struct bench_case {
  const char *name;
  kind kind;
  rlx_dtype type; /* of activations */
  rlx_dtype weight;
  /* WEIGHT: b is [n, k]; UNARY: [m, n]; ATTENTION: m queries, n keys, k batch; CONV: m images, n channels, k size */
  int64_t m, n, k;
  rlx_node (*op)(rlx_graph *g, rlx_node x);
  int copies;
} bench_case;

static rlx_node softmax(rlx_graph *g, rlx_node x) { return rlx_op_softmax(g, x, -1); }
static rlx_node rms_norm(rlx_graph *g, rlx_node x) { return rlx_op_rms_norm(g, x, 0, 0, -1, 1e-5); }
static rlx_node layer_norm(rlx_graph *g, rlx_node x) { return rlx_op_layer_norm(g, x, 0, 0, -1, 1e-5); }

#define SQUARE(type, n, copies) \
  { "matmul_" #type "_" #n, MATMUL, type, type, n, n, n, NULL, copies }
#define MATVEC(w, m, n, k, copies) \
  { "matvec_" #w "_" #m "x" #n "x" #k, WEIGHT, RLX_F32, w, m, n, k, NULL, copies }
#define MATVECS(w, copies)                                                                                    \
  MATVEC(w, 1, 4096, 4096, copies), MATVEC(w, 8, 4096, 4096, copies), MATVEC(w, 32, 4096, 4096, copies),      \
    MATVEC(w, 1, 11008, 4096, copies), MATVEC(w, 8, 11008, 4096, copies), MATVEC(w, 32, 11008, 4096, copies), \
    MATVEC(w, 64, 4096, 4096, copies), MATVEC(w, 64, 11008, 4096, copies)
#define ROWS(type, op) \
  { #op "_" #type, UNARY, type, type, 8192, 4096, 0, op, 8 }

static const bench_case cases[] = {
  SQUARE(RLX_F32, 1024, 32),
  SQUARE(RLX_F32, 2048, 8),
  SQUARE(RLX_F32, 4096, 4),
  SQUARE(RLX_F32, 8192, 1),
  SQUARE(RLX_F16, 1024, 32),
  SQUARE(RLX_F16, 2048, 16),
  SQUARE(RLX_F16, 4096, 8),
  SQUARE(RLX_F16, 8192, 2),
  SQUARE(RLX_BF16, 4096, 4),
  MATVECS(RLX_F32, 8),
  MATVECS(RLX_F16, 16),
  MATVECS(RLX_Q8_0, 24),
  MATVECS(RLX_Q4_K, 40),
  ROWS(RLX_F32, softmax),
  ROWS(RLX_F32, rms_norm),
  ROWS(RLX_F32, layer_norm),
  ROWS(RLX_F32, rlx_op_gelu),
  ROWS(RLX_F16, softmax),
  ROWS(RLX_F16, rms_norm),
  ROWS(RLX_F16, layer_norm),
  ROWS(RLX_F16, rlx_op_gelu),
  {"add_RLX_F32", ADD, RLX_F32, RLX_F32, 8192, 4096, 0, NULL, 8},
  {"add_RLX_F16", ADD, RLX_F16, RLX_F16, 8192, 4096, 0, NULL, 8},
  {"transpose_RLX_F32", TRANSPOSE, RLX_F32, RLX_F32, 8192, 4096, 0, NULL, 8},
  {"transpose_RLX_F16", TRANSPOSE, RLX_F16, RLX_F16, 8192, 4096, 0, NULL, 8},
  {"prefill_RLX_F16_512", ATTENTION, RLX_F16, RLX_F16, 512, 512, 1, NULL, 16},
  {"prefill_RLX_F16_2048", ATTENTION, RLX_F16, RLX_F16, 2048, 2048, 1, NULL, 8},
  {"prefill_RLX_F16_8192", ATTENTION, RLX_F16, RLX_F16, 8192, 8192, 1, NULL, 4},
  {"prefill_RLX_F16_32768", ATTENTION, RLX_F16, RLX_F16, 32768, 32768, 1, NULL, 1},
  {"prefill_RLX_F32_2048", ATTENTION, RLX_F32, RLX_F32, 2048, 2048, 1, NULL, 4},
  {"decode_RLX_F16_4096", ATTENTION, RLX_F16, RLX_F16, 1, 4096, 1, NULL, 16},
  {"decode_RLX_F16_32768", ATTENTION, RLX_F16, RLX_F16, 1, 32768, 1, NULL, 4},
  {"decode_RLX_F32_4096", ATTENTION, RLX_F32, RLX_F32, 1, 4096, 1, NULL, 16},
  {"conv_RLX_F32_64x56", CONV, RLX_F32, RLX_F32, 32, 64, 56, NULL, 8},
  {"conv_RLX_F32_256x14", CONV, RLX_F32, RLX_F32, 32, 256, 14, NULL, 8},
  {"conv_RLX_F32_512x7", CONV, RLX_F32, RLX_F32, 32, 512, 7, NULL, 8},
  {"conv_RLX_F16_64x56", CONV, RLX_F16, RLX_F16, 32, 64, 56, NULL, 8},
  {"conv_RLX_F16_256x14", CONV, RLX_F16, RLX_F16, 32, 256, 14, NULL, 8},
  {"conv_RLX_F16_512x7", CONV, RLX_F16, RLX_F16, 32, 512, 7, NULL, 8},
};

/* ---- graphs ---- */

enum { HEADS = 16, HEAD_SIZE = 128, MAX = 256 };

static rlx_node leaf(rlx_graph *g, char part, int copy, bool is_weight, rlx_dtype t, rlx_dims shape) {
  char name[16];
  snprintf(name, sizeof name, "%c%d", part, copy);
  return is_weight ? rlx_op_param(g, name, t, shape) : rlx_op_input(g, name, t, shape);
}

static rlx_node add_copy(rlx_graph *g, const bench_case *c, int i) {
  rlx_dtype t = c->type;
  switch (c->kind) {
    case MATMUL:
      return rlx_op_matmul(g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->k)),
                           leaf(g, 'b', i, false, t, RLX_DIMS(c->k, c->n)));
    case WEIGHT:
      return rlx_op_matmul_t(g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->k)),
                             leaf(g, 'b', i, true, c->weight, RLX_DIMS(c->n, c->k)));
    case UNARY: return c->op(g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->n)));
    case ADD:
      return rlx_op_add(g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->n)),
                        leaf(g, 'b', i, false, t, RLX_DIMS(c->m, c->n)));
    case TRANSPOSE: return rlx_op_transpose(g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->n)), RLX_DIMS(1, 0));
    case ATTENTION: {
      rlx_dims kv = RLX_DIMS(c->k, HEADS, c->n, HEAD_SIZE);
      return rlx_op_attention(
        g, leaf(g, 'a', i, false, t, RLX_DIMS(c->k, HEADS, c->m, HEAD_SIZE)), leaf(g, 'b', i, false, t, kv),
        leaf(g, 'c', i, false, t, kv),
        &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT, .layout = RLX_LAYOUT_BHSD, .causal = c->m > 1});
    }
    case CONV:
      return rlx_op_conv(
        g, leaf(g, 'a', i, false, t, RLX_DIMS(c->m, c->n, c->k, c->k)),
        leaf(g, 'b', i, true, t, RLX_DIMS(c->n, c->n, 3, 3)), 0,
        &(rlx_op_conv_desc){RLX_OP_CONV_DESC_INIT, .pad_lo = RLX_DIMS(1, 1), .pad_hi = RLX_DIMS(1, 1)});
  }
  return 0;
}

static double case_flops(const bench_case *c) {
  double m = (double)c->m, n = (double)c->n, k = (double)c->k;
  switch (c->kind) {
    case MATMUL:
    case WEIGHT: return 2 * m * n * k;
    case ATTENTION: return 4.0 * k * HEADS * HEAD_SIZE * m * n * (c->m > 1 ? 0.5 : 1);
    case CONV: return 2 * m * n * n * 9 * k * k;
    default: return 0;
  }
}

/* ---- values ---- */

static uint64_t seed = 1;
static float draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (float)((double)(seed >> 40) / 8388608.0 - 1.0);
}

/* Fills `bytes` with values of a type: repeats one block of them. */
static rlx_status fill(rlx_dtype t, unsigned char *data, size_t bytes) {
  enum { PIECE = 1 << 16 };
  static float values[PIECE];
  const rlx_dtype_info *info = rlx_dtype_describe(t);
  for (int i = 0; i < PIECE; i++) values[i] = draw();
  size_t piece = PIECE / info->block_elements * info->block_bytes;
  unsigned char *made = malloc(piece);
  if (!made) return RLX_NO_MEMORY;
  rlx_status s = RLX_OK;
  if (t == RLX_F32) memcpy(made, values, piece);
  else if (info->block_elements > 1) s = rlx_quant_encode(t, values, made, PIECE);
  for (int i = 0; i < PIECE && (t == RLX_F16 || t == RLX_BF16); i++)
    ((uint16_t *)(void *)made)[i] = t == RLX_F16 ? rlx_f32_to_f16(values[i]) : rlx_f32_to_bf16(values[i]);
  for (size_t at = 0; at < bytes; at += piece) memcpy(data + at, made, bytes - at < piece ? bytes - at : piece);
  free(made);
  return s;
}

static rlx_status fill_leaf(rlx_executable *e, const char *name, uint64_t *bytes) {
  rlx_tensor t;
  rlx_status s = rlx_executable_describe(e, name, &t);
  if (s) return s;
  s = rlx_tensor_bytes(t.dtype, t.shape, &t.bytes);
  if (s) return s;
  t.data = malloc(t.bytes);
  if (!t.data) return RLX_NO_MEMORY;
  s = fill(t.dtype, t.data, t.bytes);
  if (!s) s = rlx_executable_write(e, name, &t);
  free(t.data);
  *bytes += t.bytes;
  return s;
}

/* ---- measuring ---- */

/* Uses the device's clock: the minimum time of the fastest step, which is one op alone. */
static rlx_status measure_step(rlx_executable *e, double *seconds) {
  rlx_status s = rlx_executable_profile(e, true);
  for (int i = 0; i < 5 && !s; i++) s = rlx_executable_run(e);
  char *text = NULL;
  if (!s) s = rlx_executable_report(e, RLX_REPORT_PROFILE, RLX_JSON, &text);
  double min = 0;
  for (const char *at = text; !s && (at = strstr(at, "\"min_ns\":"));) {
    at += strlen("\"min_ns\":");
    double ns = strtod(at, NULL);
    if (ns > 0 && (min == 0 || ns < min)) min = ns;
  }
  *seconds = min * 1e-9;
  rlx_free(text);
  return s;
}

static rlx_status run_case(rlx_session *session, const bench_case *c, uint32_t switches) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  char name[16];
  rlx_status s = rlx_graph_create(&g);
  for (int i = 0; i < c->copies && !s; i++) {
    snprintf(name, sizeof name, "y%d", i);
    rlx_graph_add_output(g, name, add_copy(g, c, i));
  }
  if (!s) s = rlx_graph_finish(g);
  uint64_t begin = rlx_now_ns(), bytes = 0;
  const rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST | switches};
  if (!s) s = rlx_compile(session, g, &options, &e);
  for (int i = 0; i < c->copies && !s; i++)
    for (char part = 'a'; part <= 'c' && !s; part++) {
      snprintf(name, sizeof name, "%c%d", part, i);
      if (rlx_graph_find(g, name)) s = fill_leaf(e, name, &bytes);
    }
  double seconds = 0;
  if (!s) s = bench_device_time(e, 0.5, &seconds);
  double alone = 0;
  if (!s) s = measure_step(e, &alone);
  rlx_tensor y = {0};
  size_t out_bytes = 0;
  if (!s) s = rlx_executable_describe(e, "y0", &y);
  if (!s) s = rlx_tensor_bytes(y.dtype, y.shape, &out_bytes);
  double per_copy = (double)bytes / c->copies + (double)out_bytes;
  if (s) printf("{\"name\": \"%s\", \"error\": \"%s\"}\n", c->name, rlx_message());
  else
    printf(
      "{\"name\": \"%s\", \"seconds\": %.9g, \"flops\": %.6g, \"bytes\": %.6g, \"alone\": %.9g, \"setup\": %.3g}\n",
      c->name, seconds / c->copies, case_flops(c), per_copy, alone, (double)(rlx_now_ns() - begin) * 1e-9);
  fflush(stdout);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

int main(int argc, char **argv) {
  const char *device = "vulkan", *pattern = "*";
  bool no_pool = false;
  uint32_t switches = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
    else if (strcmp(argv[i], "--no-pool") == 0) no_pool = true;
    else if (strcmp(argv[i], "--fast-f16") == 0) switches = RLX_SWITCH_FAST_F16;
    else pattern = argv[i];
  }
  rlx_session *session = NULL;
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  if (rlx_session_create(
        &(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .pool_bytes = 1ull << 36, .no_pool = no_pool},
        &session) ||
      rlx_session_device(session, &info)) {
    fprintf(stderr, "bench/gpu: %s\n", rlx_message());
    return 1;
  }
  printf("{\"device\": \"%s\", \"driver\": \"%s\", \"features\": \"%s\"}\n", info.name, info.driver, info.features);
  int failed = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (fnmatch(pattern, cases[i].name, 0) == 0) failed += run_case(session, &cases[i], switches) != RLX_OK;
  rlx_session_destroy(session);
  return failed != 0;
}
