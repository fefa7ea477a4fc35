/* Times narrow products of f32 (or f16) rows with a weight [n, k] of f16, bf16 or a block type: the kernels for matrix
 * units (gpu/matmul_narrow.c), in every shape of a workgroup, and the kernels used without them. Checks the results.
 *
 *   bench/vk_rows [--device NAME] [--check] [--quick] [PATTERN]
 *
 * For each shape it times a graph of several copies of the product, with 160 MB of weights in all, each used four
 * times: the median run, divided by the products. 1,000 of the results, including the edges, are compared with sums in
 * double, with weights of block types decoded. --check: small and ragged shapes. --quick: only the library's choice.
 * PATTERN: shapes whose name contains it. Prints a line per measurement, with the bandwidth of the weight in GB/s. */
#include <stdio.h>
#include <string.h>

#include "device_time.h"
#include "gpu/matmul_plan.h"
#include "gpu_choice.h"
#include "products.h"

typedef struct shape {
  rlx_dtype x, w;
  int64_t m, n, k;
} shape;

static const shape checks[] = {
  {RLX_F32, RLX_F16, 2, 64, 256},      {RLX_F32, RLX_F16, 16, 96, 1024},   {RLX_F32, RLX_F16, 17, 130, 2056},
  {RLX_F32, RLX_F16, 33, 67, 4096},    {RLX_F32, RLX_F16, 64, 1000, 520},  {RLX_F16, RLX_F16, 8, 130, 2056},
  {RLX_F16, RLX_F16, 31, 128, 4096},   {RLX_F16, RLX_F16, 50, 4096, 264},  {RLX_F32, RLX_BF16, 7, 130, 2056},
  {RLX_F32, RLX_BF16, 40, 130, 1024},  {RLX_BF16, RLX_BF16, 9, 130, 2056}, {RLX_F32, RLX_Q4_0, 5, 333, 1056},
  {RLX_F32, RLX_Q4_1, 8, 333, 1056},   {RLX_F32, RLX_Q5_0, 16, 333, 1056}, {RLX_F32, RLX_Q5_1, 17, 333, 1056},
  {RLX_F32, RLX_Q8_0, 33, 333, 1056},  {RLX_F32, RLX_Q8_0, 64, 1024, 512}, {RLX_F32, RLX_Q2_K, 8, 333, 1280},
  {RLX_F32, RLX_Q3_K, 8, 333, 1280},   {RLX_F32, RLX_Q4_K, 8, 333, 1280},  {RLX_F32, RLX_Q4_K, 33, 333, 2304},
  {RLX_F32, RLX_Q5_K, 8, 333, 1280},   {RLX_F32, RLX_Q6_K, 8, 333, 1280},  {RLX_F32, RLX_Q6_K, 20, 64, 8192},
  {RLX_F32, RLX_IQ4_NL, 3, 333, 1056}, {RLX_F32, RLX_F32, 8, 130, 2056},   {RLX_F32, RLX_F32, 20, 67, 1024},
  {RLX_F32, RLX_F32, 64, 1000, 520},   {RLX_F32, RLX_Q4_K, 2, 130, 256},   {RLX_F32, RLX_Q4_K, 16, 333, 1280},
  {RLX_F32, RLX_Q4_K, 31, 1001, 4352}, {RLX_F32, RLX_Q8_0, 3, 130, 256},   {RLX_F32, RLX_Q8_0, 8, 4096, 4096},
  {RLX_F32, RLX_Q8_0, 15, 333, 2304},
};
static const shape shapes[] = {
  {RLX_F32, RLX_F16, 8, 4096, 4096},    {RLX_F32, RLX_F16, 32, 4096, 4096},  {RLX_F32, RLX_F16, 64, 4096, 4096},
  {RLX_F32, RLX_F16, 8, 11008, 4096},   {RLX_F32, RLX_F16, 32, 11008, 4096}, {RLX_F32, RLX_F16, 2, 4096, 4096},
  {RLX_F32, RLX_F16, 4, 4096, 4096},    {RLX_F32, RLX_F16, 16, 4096, 4096},  {RLX_F32, RLX_F16, 8, 1024, 3072},
  {RLX_F32, RLX_F16, 8, 3072, 1024},    {RLX_F16, RLX_F16, 8, 4096, 4096},   {RLX_F16, RLX_F16, 32, 4096, 4096},
  {RLX_F16, RLX_F16, 64, 4096, 4096},   {RLX_F32, RLX_BF16, 8, 4096, 4096},  {RLX_F32, RLX_BF16, 32, 4096, 4096},
  {RLX_F32, RLX_Q8_0, 8, 4096, 4096},   {RLX_F32, RLX_Q8_0, 32, 4096, 4096}, {RLX_F32, RLX_Q8_0, 64, 4096, 4096},
  {RLX_F32, RLX_Q8_0, 2, 4096, 4096},   {RLX_F32, RLX_Q8_0, 4, 4096, 4096},  {RLX_F32, RLX_Q8_0, 8, 11008, 4096},
  {RLX_F32, RLX_Q4_K, 8, 4096, 4096},   {RLX_F32, RLX_Q4_K, 32, 4096, 4096}, {RLX_F32, RLX_Q4_K, 64, 4096, 4096},
  {RLX_F32, RLX_Q4_K, 2, 4096, 4096},   {RLX_F32, RLX_Q4_K, 4, 4096, 4096},  {RLX_F32, RLX_Q4_K, 8, 11008, 4096},
  {RLX_F32, RLX_Q6_K, 8, 4096, 4096},   {RLX_F32, RLX_F32, 8, 4096, 4096},   {RLX_F32, RLX_F32, 2, 4096, 4096},
  {RLX_F32, RLX_F32, 4, 4096, 4096},    {RLX_F32, RLX_F32, 32, 4096, 4096},  {RLX_F32, RLX_F32, 64, 4096, 4096},
  {RLX_F32, RLX_F32, 8, 11008, 4096},   {RLX_F32, RLX_Q4_K, 1, 4096, 4096},  {RLX_F32, RLX_Q4_K, 1, 11008, 4096},
  {RLX_F32, RLX_Q8_0, 1, 4096, 4096},   {RLX_F32, RLX_Q8_0, 1, 11008, 4096}, {RLX_F32, RLX_Q8_0, 32, 11008, 4096},
  {RLX_F32, RLX_Q4_K, 32, 11008, 4096}, {RLX_F32, RLX_F16, 16, 11008, 4096}, {RLX_F32, RLX_F32, 16, 4096, 4096},
  {RLX_F32, RLX_Q8_0, 16, 4096, 4096},  {RLX_F32, RLX_Q4_K, 16, 4096, 4096},
};
static const product_narrow none;
static const product_narrow ways[] = {
  {.subs = 4, .ahead = 1}, {.subs = 4, .ahead = 2},  {.subs = 8, .ahead = 1},  {.subs = 8, .ahead = 2},
  {.subs = 8, .ahead = 4}, {.subs = 16, .ahead = 1}, {.subs = 16, .ahead = 2}, {.subs = 8, .ahead = 2, .down = 2}};

static bench_values of_x, of_w;
enum { MAX_COPIES = 20 };

/* ---- one measurement ---- */

static double weight_bytes(const shape *s) {
  const rlx_dtype_info *info = rlx_dtype_describe(s->w);
  return (double)s->n * (double)s->k / info->block_elements * info->block_bytes;
}

/* Names differ between measurements, so no executable comes from a cache. */
static rlx_status measure(rlx_session *session, const shape *sh, bool check, double *seconds, double *error) {
  static int number;
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  char name[3][32];
  rlx_dims dx = RLX_DIMS(sh->m, sh->k), dw = RLX_DIMS(sh->n, sh->k);
  int copies = check ? 1 : (int)(160e6 / weight_bytes(sh)) + 1;
  if (copies > MAX_COPIES) copies = MAX_COPIES;
  rlx_status s = rlx_graph_create(&g);
  rlx_node w[MAX_COPIES];
  int products = check ? 1 : 4 * copies;
  for (int i = 0; i < products && !s; i++) {
    for (int j = 0; j < 3; j++) snprintf(name[j], sizeof name[j], "%c%d_%d", "xwy"[j], i, number);
    rlx_node x = rlx_op_input(g, name[0], sh->x, dx);
    if (i < copies) w[i] = rlx_op_param(g, name[1], sh->w, dw);
    rlx_graph_add_output(g, name[2], rlx_op_matmul_t(g, x, w[i % copies]));
  }
  if (!s) s = rlx_graph_finish(g);
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST};
  if (!s) s = rlx_compile(session, g, &options, &e);
  for (int i = 0; i < products && !s; i++) {
    for (int j = 0; j < 2; j++) snprintf(name[j], sizeof name[j], "%c%d_%d", "xw"[j], i, number);
    s = bench_values_write(e, name[0], sh->x, dx, &of_x);
    if (!s && i < copies) s = bench_values_write(e, name[1], sh->w, dw, &of_w);
  }
  if (!s) s = bench_device_time(e, check ? 0 : 0.25, seconds);
  *seconds /= products;
  bench_product p = {sh->m, sh->n, sh->k, true, sh->x, &of_x, &of_w, false};
  if (!s) s = bench_product_error(e, name[2], &p, error);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  number++;
  return s;
}

/* With weights of block types, x is rounded to 8 bits or f16. */
static bool is_right(const shape *s, double error) {
  if (rlx_dtype_is_block(s->w)) return error < 8e-3;
  return error < (s->x == RLX_F32 ? 1e-5 : s->x == RLX_F16 ? 1e-3 : 8e-3);
}

/* way NULL: the library's choice. Prints a line; returns 1 if the result is wrong. */
static int report(rlx_session *session, const shape *s, const product_narrow *way, bool check) {
  char what[64] = "(the library's choice)", name[64];
  double error = 0, seconds = 0;
  if (way == &none) snprintf(what, sizeof what, "without");
  else if (way)
    snprintf(what, sizeof what, "%u sub-groups, %u ahead, %u parts", (unsigned)way->subs, (unsigned)way->ahead,
             (unsigned)way->splits);
  gpu_choose(session, (gpu_choices){.narrow = way});
  rlx_status status = measure(session, s, check, &seconds, &error);
  gpu_choose(session, (gpu_choices){0});
  snprintf(name, sizeof name, "%s %s %dx%dx%d", rlx_dtype_name(s->x), rlx_dtype_name(s->w), (int)s->m, (int)s->n,
           (int)s->k);
  bool right = !status && is_right(s, error);
  if (status) printf("%-26s %-34s %s\n", name, what, rlx_message());
  else
    printf("%-26s %-34s %8.1f us %6.0f GB/s  error %.1e%s\n", name, what, seconds * 1e6,
           weight_bytes(s) / seconds * 1e-9, error, right ? "" : "  WRONG");
  fflush(stdout);
  return !right;
}

static int run_shape(rlx_session *session, const shape *s, bool check, bool quick) {
  if (bench_values_draw(&of_x, s->x) || bench_values_draw(&of_w, s->w)) return printf("%s\n", rlx_message()), 1;
  int wrong = report(session, s, NULL, check);
  if (quick) return wrong;
  wrong += report(session, s, &none, check);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) wrong += report(session, s, &ways[i], check);
  return wrong;
}

int main(int argc, char **argv) {
  const char *device = "vulkan", *pattern = "";
  bool check = false, quick = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) check = true;
    else if (strcmp(argv[i], "--quick") == 0) quick = true;
    else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
    else pattern = argv[i];
  }
  rlx_session *session;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device};
  if (rlx_session_create(&desc, &session)) return printf("SKIP: %s\n", rlx_message()), 0;
  const shape *list = check ? checks : shapes;
  size_t n = check ? sizeof checks / sizeof *checks : sizeof shapes / sizeof *shapes;
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s %s %dx%dx%d", rlx_dtype_name(list[i].x), rlx_dtype_name(list[i].w), (int)list[i].m,
             (int)list[i].n, (int)list[i].k);
    if (strstr(name, pattern)) wrong += run_shape(session, &list[i], check, quick);
  }
  printf("%d wrong\n", wrong);
  rlx_session_destroy(session);
  return wrong != 0;
}
