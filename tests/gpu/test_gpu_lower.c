/* Lowers every conformance case for devices that are not present: large ones with matrix units, and the minimal one.
 * Nothing runs. It detects lowerings that fail (a kernel with the wrong number of constants, a workgroup larger than
 * the device's), which otherwise would show only on such a device. Also tests which attention kernels a large GPU
 * gets. */
#include <stdio.h>
#include <stdlib.h>

#include "conform/conform.h"
#include "faults.h"
#include "gpu/gpu.h"
#include "test.h"

static const gpu_caps large = {.max_group = 1024,
                               .max_shared = 48 * 1024,
                               .max_groups_x = 65535,
                               .max_window_bytes = (uint64_t)4 << 30,
                               .units = 132,
                               .subgroup = 32,
                               .has_dot8 = true,
                               .has_f16 = true,
                               .has_coopmat = true,
                               .has_coopmat_bf16 = true,
                               .knows_fragments = true,
                               .knows_fragments_bf16 = true};
static gpu_caps hopper_of(gpu_caps caps) {
  caps.has_wgmma = true;
  caps.max_dynamic = 227 * 1024;
  return caps;
}
static const gpu_caps odd = {.max_group = 384, /* not a power of two */
                             .max_shared = 32 * 1024,
                             .max_groups_x = 65535,
                             .max_window_bytes = (uint64_t)1 << 30,
                             .units = 7,
                             .subgroup = 64,
                             .has_f16 = true,
                             .device_class = GPU_INTEGRATED};
static const gpu_caps min = {.max_group = 128,
                             .max_shared = 16 * 1024,
                             .max_groups_x = 65535,
                             .max_window_bytes = 128 << 20,
                             .units = 1,
                             .device_class = GPU_SOFTWARE};

/* Lowers once before layouts are decided, and once with the layouts it prefers. */
static rlx_status lower_node(const gpu_caps *caps, const rlx_graph *g, rlx_node node, uint32_t switches,
                             size_t *native) {
  gpu_lowering l;
  uint32_t n = rlx_graph_at(g, node)->n_in, *layout = calloc((size_t)n + 1, sizeof *layout);
  if (!layout) return RLX_FAIL(RLX_NO_MEMORY, "layouts");
  rlx_status s = gpu_lower(caps, &(rlx_claim_query){.graph = g, .node = node, .switches = switches}, &l);
  for (uint32_t i = 0; i < n && i < RLX_OP_MAX_INPUTS; i++) layout[i] = l.claim.layout[i];
  gpu_lowering_deinit(&l);
  if (!s) {
    s = gpu_lower(caps, &(rlx_claim_query){.graph = g, .node = node, .layout = layout, .switches = switches}, &l);
    *native += !s && l.claim.native;
    gpu_lowering_deinit(&l);
  }
  free(layout);
  return s;
}

static bool lower_case(const gpu_caps *caps, rlx_op op, const rlx_case *c, size_t *native) {
  rlx_case_built b;
  if (rlx_case_build(op, c, &b)) return false;
  static const uint32_t switches[] = {0, RLX_SWITCH_EXACT, RLX_SWITCH_FAST_F16};
  rlx_status s = RLX_OK;
  for (rlx_node id = 1; id < rlx_graph_end(b.graph) && !s; id++)
    for (int i = 0; i < 3 && !s; i++)
      if (gpu_lower_get(rlx_graph_at(b.graph, id)->op)) s = lower_node(caps, b.graph, id, switches[i], native);
  if (s) printf("  %s/%s: %s\n", rlx_op_table_get(op)->name, c->name, rlx_message());
  rlx_case_deinit(&b);
  return !s;
}

static bool lower_all(const gpu_caps *caps) {
  bool ok = true;
  size_t native = 0;
  for (rlx_op op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get(op);
    for (size_t i = 0; i < table->n; i++) ok &= lower_case(caps, op, &table->v[i], &native);
  }
  printf("  %zu lowerings\n", native);
  return ok && native > 4000;
}

TEST(large_device) { CHECK(lower_all(&large)); }
TEST(hopper_device) {
  const gpu_caps hopper = hopper_of(large);
  CHECK(lower_all(&hopper));
}
TEST(odd_device) { CHECK(lower_all(&odd)); }
TEST(least_device) { CHECK(lower_all(&min)); }

/* ---- claims ---- */

static rlx_status claim(void *user) {
  const rlx_graph *g = user;
  rlx_claim claimed = {0};
  RLX_TRY(gpu_claim(&large, &(rlx_claim_query){.graph = g, .node = g->outputs.v[0].node}, &claimed));
  if (claimed.lowering) gpu_lowering_destroy(claimed.lowering);
  return claimed.native ? RLX_OK : RLX_FAIL(RLX_INVALID, "refused: %s", claimed.why);
}

static rlx_status compile(void *user) {
  rlx_session *session = NULL;
  rlx_executable *e = NULL;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "emu", .n_threads = 1};
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_FORBID_HOST};
  rlx_status s = rlx_session_create(&desc, &session);
  if (!s) s = rlx_compile(session, user, &options, &e);
  rlx_executable_destroy(e);
  rlx_session_destroy(session);
  return s;
}

/* Out of memory while a node is lowered is a status, not a reason to run it on the host. */
TEST(short_memory_is_no_refusal) {
  rlx_graph *g;
  CHECK_OK(rlx_case_graph(
    &(rlx_case){"claim", "x: f32[70,9]; i: i32[3,1] range(0,70); u: f32[3,9]", "scatter_nd(%x, %i, %u)"}, &g));
  rlx_status s = alloc_sweep(claim, g);
  if (!s && compile(g) != RLX_NOT_FOUND) s = alloc_sweep(compile, g); /* if the emulated GPU exists */
  rlx_graph_destroy(g);
  CHECK_OK(s);
}

/* The number of idle dispatches if the result aliases x, or has its own memory. */
static size_t idle_of(const gpu_lowering *l, bool in_place) {
  static rlx_block x, others;
  rlx_bound in[3] = {{&x, 0, 4096}, {&others, 0, 4096}, {&others, 4096, 4096}}, out = {&others, 8192, 4096};
  rlx_bound table = {&others, 1 << 20, 1 << 20}, run = {&others, 1 << 21, 16};
  rlx_bound_step step = {.n_in = 3, .n_out = 1, .in = in, .out = in_place ? &in[0] : &out};
  step.work = (rlx_bound){&others, 1 << 22, 1 << 20};
  size_t idle = 0;
  for (size_t i = 0; i < l->dispatches.n; i++) {
    rlx_bound windows[GPU_MAX_WINDOWS];
    const gpu_dispatch *d = &l->dispatches.v[i];
    for (uint32_t w = 0; w < d->kernel->n_windows; w++)
      if (gpu_bind(&d->windows[w], &step, &table, &run, &windows[w])) return SIZE_MAX;
    idle += gpu_is_idle(d, windows);
  }
  return idle;
}

TEST(scatter_in_place_copies_nothing) {
  rlx_graph *g;
  gpu_lowering l;
  CHECK_OK(rlx_case_graph(
    &(rlx_case){"place", "x: f32[32,32]; i: i32[4,1] range(0,32); u: f32[4,32]", "scatter_nd(%x, %i, %u)"}, &g));
  CHECK_OK(gpu_lower(&large, &(rlx_claim_query){.graph = g, .node = g->outputs.v[0].node}, &l));
  size_t in_place = idle_of(&l, true), beside = idle_of(&l, false), n = l.dispatches.n;
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  CHECK_EQ_INT(n, 3);
  CHECK_EQ_INT(in_place, 1);
  CHECK_EQ_INT(beside, 0);
}

/* ---- which kernels attention gets ---- */

static const char *kernels_of(const gpu_caps *caps, const char *inputs, const char *expr) {
  static char names[128];
  gpu_lowering l;
  rlx_graph *g;
  names[0] = 0;
  if (rlx_case_graph(&(rlx_case){"choice", inputs, expr}, &g)) return rlx_message();
  rlx_status s = gpu_lower(caps, &(rlx_claim_query){.graph = g, .node = g->outputs.v[0].node}, &l);
  for (size_t i = 0; i < l.dispatches.n && !s; i++)
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "", l.dispatches.v[i].kernel->name);
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return s ? rlx_message() : names;
}

static const char *prefill(const gpu_caps *caps, const char *type, int places, int d) {
  char inputs[256];
  snprintf(inputs, sizeof inputs, "q: %s[1,%d,16,%d]; k: %s[1,%d,16,%d]; v: %s[1,%d,16,%d]", type, places, d, type,
           places, d, type, places, d);
  return kernels_of(caps, inputs, "attention(%q, %k, %v) {causal=true}");
}

static const char *prompt_of_lm(const gpu_caps *caps, int tokens, const char *attrs) {
  char inputs[256], expr[128];
  snprintf(inputs, sizeof inputs, "q: f32[1,%d,32,128]; k: f16[1,4096,8,128]; v: f16[1,4096,8,128]; n: i32[]; o: i32[]",
           tokens);
  snprintf(expr, sizeof expr, "attention(%%q, %%k, %%v, _, _, _, %%n, %%o) {causal=true%s}", attrs);
  return kernels_of(caps, inputs, expr);
}

TEST(attention_on_matrix_units) {
  CHECK_EQ_STR(prefill(&large, "f16", 2048, 128), "attention_coop128");
  CHECK_EQ_STR(prefill(&large, "f16", 2048, 64), "attention_coop64");
  CHECK_EQ_STR(prefill(&large, "bf16", 2048, 128), "attention_coop128_bf16");
  CHECK_EQ_STR(prefill(&large, "bf16", 2048, 64), "attention_coop64_bf16");
  CHECK_EQ_STR(prefill(&large, "f32", 2048, 128), "attention4");
  CHECK_EQ_STR(prefill(&large, "f16", 2048, 256), "attention4");
  gpu_caps without = large;
  without.has_coopmat_bf16 = false;
  CHECK_EQ_STR(prefill(&without, "bf16", 2048, 128), "attention4");
  gpu_caps chosen = large;
  chosen.choices.attention.no_coop = true;
  CHECK_EQ_STR(prefill(&chosen, "f16", 2048, 128), "attention4");
  CHECK_EQ_STR(prompt_of_lm(&chosen, 512, ""), "attention4");
  CHECK_EQ_STR(prompt_of_lm(&large, 512, ""), "attention_coop128");
  CHECK_EQ_STR(prompt_of_lm(&large, 3, ""), "attention_decode attention_combine"); /* 12 rows for a head of keys */
}

TEST(attention_on_warp_groups) {
  const gpu_caps hopper = hopper_of(large);
  CHECK_EQ_STR(prefill(&hopper, "f16", 2048, 128), "attention_wide128");
  CHECK_EQ_STR(prefill(&hopper, "f16", 2048, 64), "attention_wide64");
  CHECK_EQ_STR(prefill(&hopper, "f16", 2048, 72), "attention_wide128");
  CHECK_EQ_STR(prefill(&hopper, "bf16", 2048, 128), "attention_wide128_bf16");
  CHECK_EQ_STR(prefill(&hopper, "bf16", 2048, 64), "attention_wide64_bf16");
  CHECK_EQ_STR(prefill(&hopper, "f16", 100, 128), "attention_coop128"); /* less than a tile of rows */
  CHECK_EQ_STR(prefill(&hopper, "f32", 2048, 128), "attention4");
  CHECK_EQ_STR(prompt_of_lm(&hopper, 512, ""), "attention_wide128");
  CHECK_EQ_STR(prompt_of_lm(&hopper, 512, ", scale=-1.0"), "attention_coop128");
  gpu_caps chosen = hopper;
  chosen.choices.attention.subs = 8;
  CHECK_EQ_STR(prefill(&chosen, "f16", 2048, 128), "attention_coop128");
}

/* ---- f32 times f16 on matrix units ---- */

/* The products that a lowering has: rows of x times columns, in all batches and parts of k. */
static uint64_t products_of(uint32_t switches, uint32_t *rest) {
  rlx_graph *g;
  gpu_lowering l;
  uint64_t cost = 0;
  if (rlx_case_graph(
        &(rlx_case){"product", "x: f32[512,1024]; param w: f16[2048,1024]", "matmul(%x, %w) {trans_b=true}"}, &g))
    return 0;
  rlx_status s =
    gpu_lower(&large, &(rlx_claim_query){.graph = g, .node = g->outputs.v[0].node, .switches = switches}, &l);
  for (size_t i = 0; i < l.dispatches.n && !s; i++) {
    const gpu_dispatch *d = &l.dispatches.v[i];
    if (strncmp(d->kernel->name, "matmul_coop", 11) == 0) cost += d->cost;
    if (d->kernel == &gpu_kernel_quant_f16) *rest = d->constants[0];
  }
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return s ? 0 : cost;
}

TEST(activations_are_one_or_two_numbers) {
  uint32_t rest = 9, fast_rest = 9, exact_rest = 9;
  const uint64_t usual = products_of(0, &rest), fast = products_of(RLX_SWITCH_FAST_F16, &fast_rest);
  CHECK(usual && fast && usual == 2 * fast);
  CHECK(rest == 1 && fast_rest == 0);
  CHECK_EQ_INT(products_of(RLX_SWITCH_EXACT | RLX_SWITCH_FAST_F16, &exact_rest), 0); /* in f32 */
  CHECK_EQ_INT(exact_rest, 9);
}

/* A number left at 0 would divide by zero or disable a kernel. */
TEST(every_class_is_tuned) {
  for (int k = 0; k < GPU_CLASS_COUNT; k++) {
    uint32_t numbers[sizeof(gpu_tuning) / sizeof(uint32_t)];
    memcpy(numbers, &gpu_tunings[k], sizeof numbers);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) CHECK(numbers[i] > 0);
  }
}

/* The kernel's constants for queries of `type` and keys of `cache`; 9 in those that were not found. */
static gpu_constants_attention_coop64 coop_constants(const char *type, const char *cache, uint32_t switches) {
  gpu_constants_attention_coop64 c = {.split = 9, .q_f32 = 9, .q_split = 9};
  char inputs[128];
  rlx_graph *g;
  gpu_lowering l;
  snprintf(inputs, sizeof inputs, "q: %s[1,64,2,64]; k: %s[1,64,2,64]; v: %s[1,64,2,64]", type, cache, cache);
  if (rlx_case_graph(&(rlx_case){"weights", inputs, "attention(%q, %k, %v)"}, &g)) return c;
  rlx_status s =
    gpu_lower(&large, &(rlx_claim_query){.graph = g, .node = g->outputs.v[0].node, .switches = switches}, &l);
  if (!s && l.dispatches.n == 1 && strncmp(l.dispatches.v[0].kernel->name, "attention_coop64", 16) == 0)
    memcpy(&c, l.dispatches.v[0].constants, sizeof c);
  gpu_lowering_deinit(&l);
  rlx_graph_destroy(g);
  return c;
}

/* One number per weight is less accurate than SPEC section 8 requires, for f16 and bf16. With the option that rounds
 * activations to f16, it is enough where the result is f32 and so has the option's tolerance. */
TEST(weights_of_attention_are_two_numbers) {
  static const struct {
    const char *q, *k;
    uint32_t switches, split, q_f32, q_split;
  } all[] = {{"f16", "f16", 0, 1, 0, 0},
             {"bf16", "bf16", 0, 1, 0, 0},
             {"f16", "f16", RLX_SWITCH_FAST_F16, 1, 0, 0},
             {"f32", "f16", 0, 1, 1, 1},
             {"f32", "f16", RLX_SWITCH_FAST_F16, 0, 1, 0},
             {"f32", "f16", RLX_SWITCH_EXACT, 9, 9, 9},
             {"f32", "bf16", 0, 9, 9, 9},
             {"f32", "f32", 0, 9, 9, 9}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const gpu_constants_attention_coop64 c = coop_constants(all[i].q, all[i].k, all[i].switches);
    CHECK_EQ_INT(c.split, all[i].split);
    CHECK_EQ_INT(c.q_f32, all[i].q_f32);
    CHECK_EQ_INT(c.q_split, all[i].q_split);
  }
}

/* With so many keys the number of splits reaches the limit of a workgroup of the combine kernel, and never exceeds
 * it. */
TEST(splits_fit_the_combining_group) {
  const gpu_caps *const all[] = {&large, &odd, &min};
  for (size_t i = 0; i < 3; i++)
    CHECK_EQ_STR(
      kernels_of(all[i], "q: f16[1,1,4,128]; k: f16[1,65536,1,128]; v: f16[1,65536,1,128]", "attention(%q, %k, %v)"),
      "attention_decode attention_combine");
}
