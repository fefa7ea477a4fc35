/* Compares all tiles of the matrix products on one device, and checks their results:
 *
 *   bench/vk_matmul [--device NAME] [--check] [--fast-f16] [PATTERN]
 *
 * For each shape and each tile of gpu/matmul_tiles.c that fits it (with k split into 1, 2, 4, 8 parts if tiles are
 * few), and for the library's own choice, it times a graph of several copies of the product with separate operands (the
 * median run, divided by the copies). 1,000 of the results, including the edges, are compared with sums in double.
 * f32 times f16 is measured in the tiles of gpu_product_pair_tiles; with --fast-f16, which is that switch of the
 * compilation, in those of f16; gate and up in one dispatch and apart. --check: only small and ragged shapes. PATTERN:
 * shapes whose name contains it. Prints a line per measurement, and at the end the best tile of each shape and the
 * library's choice, from which the rates of the tables are set. */
#include <stdio.h>
#include <string.h>

#include "device_time.h"
#include "gpu/matmul_plan.h"
#include "gpu_choice.h"
#include "products.h"
#include "rlx/experimental.h"

typedef struct shape {
  const char *name;
  rlx_dtype a, b;
  int64_t m, n, k;
  bool trans;
  int copies;
  bool is_gated; /* relu(a b) * (a b'), with b' of the same values, in one dispatch and as two products */
} shape;

static const shape checks[] = {
  {"f16 whole", RLX_F16, RLX_F16, 512, 512, 256, false, 1, false},
  {"f16 whole t", RLX_F16, RLX_F16, 512, 512, 256, true, 1, false},
  {"f16 ragged", RLX_F16, RLX_F16, 333, 424, 200, false, 1, false},
  {"f16 ragged t", RLX_F16, RLX_F16, 261, 397, 1048, true, 1, false},
  {"f16 few t", RLX_F16, RLX_F16, 17, 130, 2056, true, 1, false},
  {"bf16 whole", RLX_BF16, RLX_BF16, 512, 512, 256, false, 1, false},
  {"bf16 ragged t", RLX_BF16, RLX_BF16, 261, 397, 1048, true, 1, false},
  {"f32 ragged", RLX_F32, RLX_F32, 333, 423, 1001, false, 1, false},
  {"f32xf16 ragged t", RLX_F32, RLX_F16, 261, 397, 1048, true, 1, false},
  {"f32xf16 ragged", RLX_F32, RLX_F16, 64, 424, 2056, false, 1, false},
  {"f32xf16 whole t", RLX_F32, RLX_F16, 64, 512, 1024, true, 1, false},
  {"f32xf16 gate and up t", RLX_F32, RLX_F16, 77, 500, 1032, true, 1, true},
};
static const shape shapes[] = {
  {"f16 4096", RLX_F16, RLX_F16, 4096, 4096, 4096, false, 4, false},
  {"f16 4096 t", RLX_F16, RLX_F16, 4096, 4096, 4096, true, 4, false},
  {"f16 8192", RLX_F16, RLX_F16, 8192, 8192, 8192, false, 1, false},
  {"f16 2048", RLX_F16, RLX_F16, 2048, 2048, 2048, false, 8, false},
  {"f16 1024", RLX_F16, RLX_F16, 1024, 1024, 1024, false, 32, false},
  {"f16 512 rows t", RLX_F16, RLX_F16, 512, 4096, 4096, true, 8, false},
  {"f16 128 rows t", RLX_F16, RLX_F16, 128, 4096, 4096, true, 8, false},
  {"f16 32 rows t", RLX_F16, RLX_F16, 32, 4096, 4096, true, 8, false},
  {"f16 16 rows t", RLX_F16, RLX_F16, 16, 11008, 4096, true, 8, false},
  {"bf16 4096", RLX_BF16, RLX_BF16, 4096, 4096, 4096, false, 4, false},
  {"f32 4096", RLX_F32, RLX_F32, 4096, 4096, 4096, false, 2, false},
  {"f32 4096 t", RLX_F32, RLX_F32, 4096, 4096, 4096, true, 2, false},
  {"f32 2048", RLX_F32, RLX_F32, 2048, 2048, 2048, false, 4, false},
  {"f32 1024", RLX_F32, RLX_F32, 1024, 1024, 1024, false, 16, false},
  {"f32 128 rows t", RLX_F32, RLX_F32, 128, 4096, 4096, true, 4, false},
  {"f32 32 rows t", RLX_F32, RLX_F32, 32, 4096, 4096, true, 4, false},
  {"f32xf16 32 rows t", RLX_F32, RLX_F16, 32, 4096, 4096, true, 4, false},
  {"f32xf16 64 rows t", RLX_F32, RLX_F16, 64, 4096, 4096, true, 4, false},
  {"f32xf16 64 rows wide t", RLX_F32, RLX_F16, 64, 14336, 4096, true, 2, false},
  {"f32xf16 64 rows deep t", RLX_F32, RLX_F16, 64, 4096, 14336, true, 2, false},
  {"f32xf16 64 rows narrow t", RLX_F32, RLX_F16, 64, 1024, 4096, true, 16, false},
  {"f32xf16 512 rows t", RLX_F32, RLX_F16, 512, 4096, 4096, true, 4, false},
  {"f32xf16 512 rows wide t", RLX_F32, RLX_F16, 512, 14336, 4096, true, 2, false},
  {"f32xf16 512 rows deep t", RLX_F32, RLX_F16, 512, 4096, 14336, true, 2, false},
  {"f32xf16 512 rows narrow t", RLX_F32, RLX_F16, 512, 1024, 4096, true, 16, false},
  {"f32xf16 64 gate and up t", RLX_F32, RLX_F16, 64, 14336, 4096, true, 2, true},
  {"f32xf16 512 gate and up t", RLX_F32, RLX_F16, 512, 14336, 4096, true, 2, true},
  {"rows f32 1 t", RLX_F32, RLX_F32, 1, 4096, 4096, true, 8, false},
  {"rows f32 1 wide t", RLX_F32, RLX_F32, 1, 11008, 4096, true, 4, false},
  {"rows f32 1", RLX_F32, RLX_F32, 1, 4096, 4096, false, 8, false},
  {"rows f32 8 t", RLX_F32, RLX_F32, 8, 4096, 4096, true, 8, false},
  {"rows f32 8", RLX_F32, RLX_F32, 8, 4096, 4096, false, 8, false},
  {"rows f16 1 t", RLX_F16, RLX_F16, 1, 4096, 4096, true, 16, false},
  {"rows f16 1", RLX_F16, RLX_F16, 1, 4096, 4096, false, 16, false},
  {"rows f16 8 t", RLX_F16, RLX_F16, 8, 4096, 4096, true, 16, false},
  {"rows f32xf16 1 t", RLX_F32, RLX_F16, 1, 4096, 4096, true, 16, false},
  {"rows f32xf16 8 wide t", RLX_F32, RLX_F16, 8, 11008, 4096, true, 8, false},
};

static bench_values of_a, of_b;
static bool is_fast; /* --fast-f16 */

/* ---- one measurement ---- */

/* Names differ between measurements, so no executable comes from a cache. */
static rlx_status measure(rlx_session *session, const shape *sh, int number, bool warm, double *seconds,
                          double *error) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  char name[4][32];
  rlx_status s = rlx_graph_create(&g);
  rlx_dims da = RLX_DIMS(sh->m, sh->k), db = sh->trans ? RLX_DIMS(sh->n, sh->k) : RLX_DIMS(sh->k, sh->n);
  for (int i = 0; i < sh->copies && !s; i++) {
    for (int j = 0; j < 4; j++) snprintf(name[j], sizeof name[j], "%c%d_%d", "abyu"[j], i, number);
    rlx_node a = rlx_op_input(g, name[0], sh->a, da), b = rlx_op_input(g, name[1], sh->b, db);
    rlx_node up = sh->is_gated ? rlx_op_input(g, name[3], sh->b, db) : RLX_NONE;
    rlx_graph_add_output(g, name[2],
                         up          ? rlx_op_fused_gate_up(g, a, b, up, sh->trans, RLX_ACT_RELU)
                         : sh->trans ? rlx_op_matmul_t(g, a, b)
                                     : rlx_op_matmul(g, a, b));
  }
  if (!s) s = rlx_graph_finish(g);
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST};
  if (is_fast) options.switches |= RLX_SWITCH_FAST_F16;
  if (!s) s = rlx_compile(session, g, &options, &e);
  for (int i = 0; i < sh->copies && !s; i++) {
    for (int j = 0; j < 3; j++) snprintf(name[j], sizeof name[j], "%c%d_%d", "abu"[j], i, number);
    s = bench_values_write(e, name[0], sh->a, da, &of_a);
    if (!s) s = bench_values_write(e, name[1], sh->b, db, &of_b);
    if (!s && sh->is_gated) s = bench_values_write(e, name[2], sh->b, db, &of_b);
  }
  if (!s) s = bench_device_time(e, warm ? 0.3 : 0, seconds);
  *seconds /= sh->copies;
  bench_product p = {sh->m, sh->n, sh->k, sh->trans, sh->a, &of_a, &of_b, sh->is_gated};
  snprintf(name[0], sizeof name[0], "y%d_%d", sh->copies - 1, number);
  if (!s) s = bench_product_error(e, name[0], &p, error);
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

static bool is_mixed(const shape *s) { return s->a == RLX_F32 && s->b == RLX_F16; }

static bool is_right(const shape *s, double error) {
  if (is_mixed(s) && is_fast) return error < 1e-3;
  return error < (s->a == RLX_F32 ? 1e-5 : s->a == RLX_F16 ? 1e-3 : 8e-3);
}

static void tile_name(char *to, size_t bytes, const gpu_choices *choices) {
  static const char *const units[] = {"8x8", "4x4", "coop4", "coop2"};
  const product_tile *t = choices->tile;
  const char *apart = choices->gate_up_apart ? ", apart" : "";
  if (!t) snprintf(to, bytes, "(the library's choice)%s", apart);
  else
    snprintf(to, bytes, "%s %ux%ux%u %u stages, %u parts%s", units[t->unit], (unsigned)gpu_tile_rows(t),
             (unsigned)gpu_tile_columns(t), (unsigned)t->depth, (unsigned)t->stages, (unsigned)choices->tile_splits,
             apart);
}

/* Prints a line; returns whether the result is right. *seconds is 0 if it is not. */
static bool report(rlx_session *session, const shape *s, const gpu_choices *choices, bool warm, double *seconds) {
  static int number;
  char what[64];
  double error = 0;
  gpu_choose(session, *choices);
  rlx_status status = measure(session, s, number++, warm, seconds, &error);
  gpu_choose(session, (gpu_choices){0});
  tile_name(what, sizeof what, choices);
  double size_a = s->a == RLX_F32 ? 4 : 2, size_b = s->b == RLX_F32 ? 4 : 2;
  double bytes = (double)(s->m * s->k) * size_a + (double)(s->k * s->n) * size_b + (double)(s->m * s->n) * size_a;
  bool right = !status && is_right(s, error);
  if (status) printf("%-22s %-34s %s\n", s->name, what, rlx_message());
  else
    printf("%-22s %-34s %9.1f us %7.1f TFLOP/s %6.0f GB/s  error %.1e%s\n", s->name, what, *seconds * 1e6,
           (s->is_gated ? 4e-12 : 2e-12) * (double)s->m * (double)s->n * (double)s->k / *seconds,
           bytes / *seconds * 1e-9, error, right ? "" : "  WRONG");
  fflush(stdout);
  if (!right) *seconds = 0;
  return right;
}

typedef struct tile_list {
  const product_tile *v;
  size_t n;
} tile_list;

/* The tiles with matrix units for a shape. */
static tile_list coop_tiles(const shape *s) {
  if (is_mixed(s) && !is_fast) return (tile_list){gpu_product_pair_tiles, gpu_product_pair_tile_count};
  return (tile_list){gpu_product_tiles, s->a == RLX_F32 && !is_mixed(s) ? 0 : gpu_product_tile_count};
}
static tile_list plain_tiles(const shape *s, bool check) {
  return (tile_list){gpu_product_tiles, s->a == RLX_F32 && (check || !is_mixed(s)) ? gpu_product_tile_count : 0};
}

/* Whether a tile is worth measuring: of the right kind, and not mostly empty. */
static bool suits(const shape *s, const product_tile *t, bool coop) {
  if (t->unit == PRODUCT_WIDE) return false; /* CUDA alone */
  return coop == (t->unit >= PRODUCT_COOP4) && gpu_tile_rows(t) < 4 * (uint64_t)s->m + 32 &&
         (coop || s->m > PRODUCT_SKINNY_ROWS) && s->m > 1;
}

typedef struct best_tile {
  gpu_choices choices;
  double seconds;
} best_tile;

/* Measures a choice; returns whether the result is wrong. */
static int run_choice(rlx_session *session, const shape *s, gpu_choices choices, bool check, best_tile *best) {
  double seconds;
  int wrong = !report(session, s, &choices, !check, &seconds);
  if (seconds > 0 && seconds < best->seconds) *best = (best_tile){choices, seconds};
  return wrong;
}

/* Measures the tiles of a list; returns how many results are wrong. */
static int run_tiles(rlx_session *session, const shape *s, tile_list tiles, bool coop, bool check, best_tile *best) {
  int wrong = 0;
  for (size_t i = 0; i < tiles.n; i++) {
    const product_tile *t = &tiles.v[i];
    if (!suits(s, t, coop)) continue;
    uint64_t groups =
      (uint64_t)gpu_ceil_div((uint32_t)s->m, gpu_tile_rows(t)) * gpu_ceil_div((uint32_t)s->n, gpu_tile_columns(t));
    uint32_t max = check ? 2 : groups > 200 ? 1 : groups > 64 ? 4 : groups > 16 ? 8 : 16;
    for (uint32_t splits = 1; splits <= max; splits *= 2) {
      gpu_choices choices = {.tile = t, .tile_splits = splits};
      if (s->is_gated && coop && splits == 1) wrong += run_choice(session, s, choices, check, best);
      choices.gate_up_apart = s->is_gated;
      wrong += run_choice(session, s, choices, check, best);
    }
  }
  return wrong;
}

static int run_shape(rlx_session *session, const shape *s, bool check) {
  double chosen = 0;
  best_tile best = {.seconds = INFINITY};
  if (bench_values_draw(&of_a, s->a) || bench_values_draw(&of_b, s->b)) return printf("%s\n", rlx_message()), 1;
  int wrong = !report(session, s, &(gpu_choices){0}, !check, &chosen);
  wrong += run_tiles(session, s, plain_tiles(s, check), false, check, &best);
  wrong += run_tiles(session, s, coop_tiles(s), true, check, &best);
  if (best.choices.tile && !check) {
    char what[64];
    tile_name(what, sizeof what, &best.choices);
    printf("BEST %-22s %s: %.1f us; the library's choice takes %.1f us\n", s->name, what, best.seconds * 1e6,
           chosen * 1e6);
  }
  return wrong;
}

int main(int argc, char **argv) {
  const char *device = "vulkan", *pattern = "";
  bool check = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--check") == 0) check = true;
    else if (strcmp(argv[i], "--fast-f16") == 0) is_fast = true;
    else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) device = argv[++i];
    else pattern = argv[i];
  }
  rlx_session *session;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device};
  if (rlx_session_create(&desc, &session)) return printf("SKIP: %s\n", rlx_message()), 0;
  const shape *list = check ? checks : shapes;
  size_t n = check ? sizeof checks / sizeof *checks : sizeof shapes / sizeof *shapes;
  int wrong = 0;
  for (size_t i = 0; i < n; i++)
    if (strstr(list[i].name, pattern)) wrong += run_shape(session, &list[i], check);
  printf("%d wrong\n", wrong);
  rlx_session_destroy(session);
  return wrong != 0;
}
