/* Compares the attention kernels on one device, and checks their results:
 *
 *   bench/vk_attention [--device NAME] [--check] [--fast-f16] [PATTERN]
 *
 * For each shape and each kernel choice (matrix units with 4 or 8 subgroups per workgroup, tiles, few rows with more or
 * fewer keys in flight), and for the library's own choice, it times a graph of several copies with separate operands
 * (the median run, divided by the copies). 64 rows of the first copy's result, including the first and last, are
 * compared with sums in double. --check: only small and ragged shapes. --fast-f16: with that switch. PATTERN: shapes
 * whose name contains it. Prints a line per measurement. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "device_time.h"
#include "gpu_choice.h"
#include "rlx/rlx.h"

typedef struct shape {
  const char *name;
  rlx_dtype type, cache; /* of q and the result; of k and v */
  int64_t heads, kv_heads, n_q, n_keys, d;
  int copies;
} shape;

static const shape checks[] = {
  {"check f16 128", RLX_F16, RLX_F16, 4, 4, 333, 333, 128, 1},
  {"check f16 grouped", RLX_F16, RLX_F16, 6, 2, 200, 777, 128, 1},
  {"check f16 64", RLX_F16, RLX_F16, 3, 3, 129, 1500, 64, 1},
  {"check f16 80", RLX_F16, RLX_F16, 2, 1, 64, 4000, 80, 1},
  {"check bf16 128", RLX_BF16, RLX_BF16, 4, 2, 300, 300, 128, 1},
  {"check bf16 64", RLX_BF16, RLX_BF16, 2, 2, 65, 999, 64, 1},
  {"check f32 128", RLX_F32, RLX_F32, 4, 2, 100, 500, 128, 1},
  {"check few f16", RLX_F16, RLX_F16, 16, 2, 1, 3001, 128, 1},
  {"check few f32", RLX_F32, RLX_F32, 4, 4, 2, 1111, 128, 1},
  {"check mixed 128", RLX_F32, RLX_F16, 4, 2, 333, 777, 128, 1},
  {"check mixed 64", RLX_F32, RLX_F16, 3, 1, 129, 1500, 64, 1},
};
static const shape shapes[] = {
  {"prefill f16 8192", RLX_F16, RLX_F16, 16, 16, 8192, 8192, 128, 2},
  {"prefill f16 2048", RLX_F16, RLX_F16, 16, 16, 2048, 2048, 128, 8},
  {"prefill f16 512", RLX_F16, RLX_F16, 16, 16, 512, 512, 128, 16},
  {"prefill f16 64 wide 4096", RLX_F16, RLX_F16, 16, 16, 4096, 4096, 64, 2},
  {"prefill f16 grouped 4096", RLX_F16, RLX_F16, 32, 8, 4096, 4096, 128, 2},
  {"prefill bf16 2048", RLX_BF16, RLX_BF16, 16, 16, 2048, 2048, 128, 4},
  {"prefill f32 2048", RLX_F32, RLX_F32, 16, 16, 2048, 2048, 128, 2},
  {"prefill mixed 8192", RLX_F32, RLX_F16, 16, 8, 8192, 8192, 128, 2},
  {"prefill mixed 512", RLX_F32, RLX_F16, 32, 8, 512, 512, 128, 16},
  {"prefill mixed 512 of 8192", RLX_F32, RLX_F16, 16, 8, 512, 8192, 128, 4},
  {"prefill mixed 512 of 2048", RLX_F32, RLX_F16, 16, 8, 512, 2048, 128, 8},
  {"prefill mixed 64 wide 2048", RLX_F32, RLX_F16, 16, 4, 2048, 2048, 64, 4},
  {"few f16 4096", RLX_F16, RLX_F16, 16, 16, 1, 4096, 128, 16},
  {"few f16 32768", RLX_F16, RLX_F16, 16, 16, 1, 32768, 128, 4},
  {"few f32 4096", RLX_F32, RLX_F32, 16, 16, 1, 4096, 128, 16},
  {"few f16 grouped 32768", RLX_F16, RLX_F16, 32, 8, 1, 32768, 128, 8},
};

typedef struct way {
  const char *name;
  gpu_attention_choice choice;
} way;
static const way many[] = {{"own choice", {0}},
                           {"8 subgroups", {.subs = 8, .weights = 1}},
                           {"8 subgroups, two weights", {.subs = 8, .weights = 2}},
                           {"4 subgroups", {.subs = 4, .weights = 1}},
                           {"4 subgroups, two weights", {.subs = 4, .weights = 2}},
                           {"4 subgroups, whole", {.subs = 4, .weights = 2, .splits = 1}},
                           {"4 subgroups, 4 parts", {.subs = 4, .weights = 2, .splits = 4}},
                           {"8 subgroups, whole", {.subs = 8, .weights = 2, .splits = 1}},
                           {"8 subgroups, 2 parts", {.subs = 8, .weights = 2, .splits = 2}},
                           {"8 subgroups, 4 parts", {.subs = 8, .weights = 2, .splits = 4}},
                           {"tiles", {.no_coop = true}}};
static const way few[] = {{"own choice", {0}},
                          {"4 keys, 4 groups of 128", {.unroll = 4, .groups_per_unit = 4, .group_size = 128}},
                          {"4 keys, 8 groups of 128", {.unroll = 4, .groups_per_unit = 8, .group_size = 128}},
                          {"2 keys, 8 groups of 128", {.unroll = 2, .groups_per_unit = 8, .group_size = 128}},
                          {"4 keys, 3 groups of 256", {.unroll = 4, .groups_per_unit = 3, .group_size = 256}},
                          {"4 keys, 4 groups of 256", {.unroll = 4, .groups_per_unit = 4, .group_size = 256}}};

static bool is_fast; /* --fast-f16 */

/* ---- operands ---- */

static uint64_t seed = 1;
static float draw(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (float)((double)(seed >> 40) / 8388608.0 - 1.0);
}

static float value_at(const rlx_tensor *t, size_t i) {
  if (t->dtype == RLX_F32) return ((const float *)t->data)[i];
  uint16_t bits = ((const uint16_t *)t->data)[i];
  return t->dtype == RLX_F16 ? rlx_f16_to_f32(bits) : rlx_bf16_to_f32(bits);
}

static rlx_status make(rlx_executable *e, const char *name, rlx_tensor *out) {
  rlx_status s = rlx_executable_describe(e, name, out);
  if (!s) s = rlx_tensor_bytes(out->dtype, out->shape, &out->bytes);
  if (s) return s;
  out->data = malloc(out->bytes);
  return out->data ? RLX_OK : RLX_NO_MEMORY;
}

static rlx_status fill(rlx_executable *e, const char *name, rlx_tensor *out) {
  rlx_status s = make(e, name, out);
  if (s) return s;
  size_t n = out->bytes / (out->dtype == RLX_F32 ? 4 : 2);
  for (size_t i = 0; i < n; i++) {
    float v = draw();
    if (out->dtype == RLX_F32) ((float *)out->data)[i] = v;
    else ((uint16_t *)out->data)[i] = out->dtype == RLX_F16 ? rlx_f32_to_f16(v) : rlx_f32_to_bf16(v);
  }
  return rlx_executable_write(e, name, out);
}

/* ---- the check ---- */

/* Checks one row in double: head h, query i of [1, H, S, D]. Returns the largest error relative to the tolerance. */
static double row_error(const shape *c, const rlx_tensor t[3], const rlx_tensor *y, int64_t h, int64_t i) {
  int64_t kv = h / (c->heads / c->kv_heads), seen = i + c->n_keys - c->n_q + 1;
  if (c->n_q == 1) seen = c->n_keys;
  double *w = malloc((size_t)c->n_keys * sizeof *w), max = -INFINITY, total = 0, worst = 0;
  double allowed = c->type == RLX_BF16 ? 1e-2 : c->type == RLX_F16 || is_fast ? 2e-3 : 1e-4;
  if (!w) return INFINITY;
  for (int64_t j = 0; j < seen; j++) {
    double dot = 0;
    for (int64_t d = 0; d < c->d; d++)
      dot += (double)value_at(&t[0], (size_t)((h * c->n_q + i) * c->d + d)) *
             (double)value_at(&t[1], (size_t)((kv * c->n_keys + j) * c->d + d));
    w[j] = dot / sqrt((double)c->d);
    max = fmax(max, w[j]);
  }
  for (int64_t j = 0; j < seen; j++) total += w[j] = exp(w[j] - max);
  for (int64_t d = 0; d < c->d; d++) {
    double sum = 0;
    for (int64_t j = 0; j < seen; j++) sum += w[j] * (double)value_at(&t[2], (size_t)((kv * c->n_keys + j) * c->d + d));
    double want = total > 0 ? sum / total : 0, found = (double)value_at(y, (size_t)((h * c->n_q + i) * c->d + d));
    double error = fabs(found - want) / (allowed + allowed * fabs(want));
    if (!(error <= worst)) worst = error;
  }
  free(w);
  return worst;
}

static double check(const shape *c, const rlx_tensor t[3], const rlx_tensor *y) {
  double worst = 0;
  for (int64_t i = 0; i < 64; i++) {
    int64_t row = i == 0 ? 0 : i == 1 ? c->n_q - 1 : (int64_t)((draw() + 1) / 2 * (float)c->n_q), head = i % c->heads;
    double error = row_error(c, t, y, head, row < c->n_q ? row : c->n_q - 1);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

/* ---- measuring ---- */

static rlx_status build(const shape *c, rlx_graph **out) {
  rlx_status s = rlx_graph_create(out);
  char name[16];
  for (int i = 0; i < c->copies && !s; i++) {
    rlx_node in[3];
    for (int part = 0; part < 3; part++) {
      snprintf(name, sizeof name, "%c%d", "qkv"[part], i);
      in[part] = rlx_op_input(*out, name, part ? c->cache : c->type,
                              RLX_DIMS(1, part ? c->kv_heads : c->heads, part ? c->n_keys : c->n_q, c->d));
    }
    snprintf(name, sizeof name, "y%d", i);
    rlx_graph_add_output(*out, name,
                         rlx_op_attention(*out, in[0], in[1], in[2],
                                          &(rlx_op_attention_desc){RLX_OP_ATTENTION_DESC_INIT,
                                                                   .layout = RLX_LAYOUT_BHSD, .causal = c->n_q > 1}));
  }
  return s ? s : rlx_graph_finish(*out);
}

static rlx_status run_way(rlx_session *session, const shape *c, const way *w, bool is_check, int *wrong) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  rlx_tensor t[3] = {{0}}, y = {0};
  char name[16];
  gpu_choose(session, (gpu_choices){.attention = w->choice});
  rlx_status s = build(c, &g);
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST, .no_cache = true};
  if (is_fast) options.switches |= RLX_SWITCH_FAST_F16;
  if (!s) s = rlx_compile(session, g, &options, &e);
  for (int i = c->copies - 1; i >= 0 && !s; i--)
    for (int part = 0; part < 3 && !s; part++) {
      snprintf(name, sizeof name, "%c%d", "qkv"[part], i);
      free(t[part].data);
      s = fill(e, name, &t[part]);
    }
  double seconds = 0, error = INFINITY;
  if (!s) s = bench_device_time(e, is_check ? 0 : 0.3, &seconds);
  if (!s) s = make(e, "y0", &y);
  if (!s) s = rlx_executable_read(e, "y0", &y);
  if (!s) error = check(c, t, &y);
  if (s) printf("%-26s %-26s %s\n", c->name, w->name, rlx_message());
  else {
    double pairs = (double)c->n_q * (double)c->n_keys * (c->n_q > 1 ? 0.5 : 1);
    double bytes = (double)(t[0].bytes + t[1].bytes + t[2].bytes + y.bytes), one = seconds / c->copies;
    printf("%-26s %-26s %10.1f us %8.1f TFLOP/s %7.0f GB/s   error %.3f%s\n", c->name, w->name, one * 1e6,
           4e-12 * pairs * (double)c->d * (double)c->heads / one, bytes / one * 1e-9, error,
           error <= 1 ? "" : " WRONG");
  }
  *wrong += s || !(error <= 1);
  fflush(stdout);
  for (int part = 0; part < 3; part++) free(t[part].data);
  free(y.data);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

/* With q of f32 the switch decides how many numbers a weight is: a result of f32 is accurate only with two. */
static bool suits(const shape *c, const way *w) { return c->type == c->cache || is_fast || w->choice.weights != 1; }

int main(int argc, char **argv) {
  const char *device = "vulkan", *pattern = "";
  bool is_check = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
    else if (strcmp(argv[i], "--check") == 0) is_check = true;
    else if (strcmp(argv[i], "--fast-f16") == 0) is_fast = true;
    else pattern = argv[i];
  }
  rlx_session *session = NULL;
  if (rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device}, &session)) {
    fprintf(stderr, "bench/vk_attention: %s\n", rlx_message());
    return 1;
  }
  const shape *list = is_check ? checks : shapes;
  size_t n = is_check ? sizeof checks / sizeof *checks : sizeof shapes / sizeof *shapes;
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    if (!strstr(list[i].name, pattern)) continue;
    bool is_skinny = list[i].n_q <= 2;
    size_t ways = is_skinny ? sizeof few / sizeof *few : list[i].cache == RLX_F32 ? 1 : sizeof many / sizeof *many;
    for (size_t k = 0; k < ways; k++) {
      const way *w = &(is_skinny ? few : many)[k];
      if (suits(&list[i], w)) run_way(session, &list[i], w, is_check, &wrong);
    }
  }
  printf("%d wrong\n", wrong);
  rlx_session_destroy(session);
  return wrong != 0;
}
