/* Block types and quantised numbers on GPUs: every type, few rows and many, weights in planes and plain, along k and
 * along n, exact and with x rounded to 8 bits; experts; the layout itself. Unless RLX_TEST_DEVICES is set, only on the
 * emulated GPU: nearly every line needs its own pipeline, for which software drivers take half a second.
 * test_gpu_quant_devices.c has a selection for all devices. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/quant.h"
#include "gpu_check.h"
#include "quant/blocks.h"
#include "test.h"

__attribute__((constructor)) static void emulated_alone(void) { setenv("RLX_TEST_DEVICES", "emu", 0); }

typedef struct block_type {
  rlx_dtype dtype;
  const char *name;
  size_t bytes;
} block_type;

static const block_type types[] = {
#define RLX_BLOCK_BLOCK(T, name) {RLX_##T, #name, T##_BYTES},
#define TYPE(T, number, name, class_, ...) RLX_BLOCK_##class_(T, name)
  RLX_TYPE_TABLE(TYPE)
#undef TYPE
};
enum { N_TYPES = sizeof types / sizeof *types };

static int elements_of(rlx_dtype t) { return (int)rlx_dtype_describe(t)->block_elements; }

/* ---- the layout ---- */

/* A packed weight that is made in parts of any multiple of 16 bytes is the whole one. */
static void check_packed_in_parts(uint32_t layout, const rlx_type *type, const void *plain, const uint8_t *whole,
                                  size_t bytes) {
  static const size_t steps[] = {16, 48, 1040, 4096};
  uint8_t *part = rlx_mem_alloc(bytes + 1);
  CHECK(part);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    memset(part, 0xdd, bytes + 1);
    for (size_t at = 0; at < bytes; at += steps[i])
      gpu_repack_part(NULL, layout, type, plain, at, part + at, bytes - at < steps[i] ? bytes - at : steps[i]);
    CHECK(memcmp(part, whole, bytes) == 0 && part[bytes] == 0xdd);
  }
  rlx_mem_free(part);
}

/* Any bytes survive the round trip, including those that no encoder produces. */
TEST(planes_round_trip) {
  static const int64_t shapes[][3] = {{1, 1, 1}, {1, 5, 2}, {3, 37, 3}, {2, 0, 1}, {1, 20, 0}, {1, 700, 9}};
  uint32_t seed = 12345;
  for (size_t t = 0; t < N_TYPES; t++)
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      rlx_type type = {.dtype = types[t].dtype};
      type.shape = RLX_DIMS(shapes[i][0], shapes[i][1], shapes[i][2] * elements_of(types[t].dtype));
      if (!gpu_planes_of(type.dtype)->bytes) { /* always stored plain */
        CHECK_EQ_INT(gpu_layout_bytes(NULL, GPU_LAYOUT_PLANES, &type), 0);
        continue;
      }
      size_t n = (size_t)(shapes[i][0] * shapes[i][1] * shapes[i][2]) * types[t].bytes;
      size_t packed_bytes = (size_t)gpu_layout_bytes(NULL, GPU_LAYOUT_PLANES, &type);
      CHECK(n == 0 ? packed_bytes == 0 : packed_bytes >= n && packed_bytes < n + GPU_MAX_PLANES * GPU_ALIGN);
      uint8_t *from = rlx_mem_alloc(n + 1), *packed = rlx_mem_alloc(packed_bytes + 1), *back = rlx_mem_alloc(n + 1);
      CHECK(from && packed && back);
      for (size_t j = 0; j < n; j++) from[j] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
      memset(packed, 0xee, packed_bytes), memset(back, 0xee, n);
      CHECK_OK(gpu_repack(NULL, GPU_LAYOUT_PLANES, &type, true, from, packed, NULL));
      CHECK_OK(gpu_repack(NULL, GPU_LAYOUT_PLANES, &type, false, packed, back, NULL));
      CHECK(memcmp(from, back, n) == 0);
      check_packed_in_parts(GPU_LAYOUT_PLANES, &type, from, packed, packed_bytes);
      rlx_mem_free(from), rlx_mem_free(packed), rlx_mem_free(back);
    }
}

/* The planes' fields cover the block: none is missing and none occurs twice. */
TEST(planes_are_the_whole_block) {
  for (size_t t = 0; t < N_TYPES; t++) {
    uint8_t met[292] = {0};
    const gpu_plane *p = gpu_planes_of(types[t].dtype);
    if (!p->bytes) continue; /* always stored plain */
    for (int i = 0; i < GPU_MAX_PLANES; i++)
      for (int j = 0; j < p[i].bytes; j++) met[p[i].offset + j]++;
    for (size_t j = 0; j < types[t].bytes; j++) CHECK_EQ_INT(met[j], 1);
  }
}

TEST(layouts_that_are_not_ours) {
  rlx_type dense = {.dtype = RLX_F32, .shape = RLX_DIMS(16, 32)},
           block = {.dtype = RLX_Q8_0, .shape = RLX_DIMS(16, 32)};
  CHECK_EQ_INT(gpu_layout_bytes(NULL, GPU_LAYOUT_PLANES, &dense), 0);
  CHECK_EQ_INT(gpu_layout_bytes(NULL, GPU_LAYOUT_PLANES + 1, &block), 0);
  CHECK_FAILS(gpu_repack(NULL, GPU_LAYOUT_PLANES, &dense, true, "", NULL, NULL), RLX_INVALID, "f32[16,32]");
  CHECK_FAILS(gpu_repack(NULL, 77, &block, true, "", NULL, NULL), RLX_INVALID, "77");
}

/* ---- decoding ---- */

TEST(decoding_every_type) {
  for (size_t t = 0; t < N_TYPES; t++) {
    gpu_check_line l;
    int k = 3 * elements_of(types[t].dtype);
    const char *leaf = t % 2 ? "param " : ""; /* an input is stored plain, a param in planes */
    for (int i = 0; i < 2; i++) {
      leaf = i ? "param " : "";
      gpu_check_print(&l.inputs, "%sx: %s[5,%d]", leaf, types[t].name, k);
      CHECK(gpu_check_bits(RLX_OP_cast, l.inputs, "cast(%x) {to=f32}"));
    }
    gpu_check_print(&l.inputs, "%sx: %s[3,2,%d]; idx: i32[4] range(0,3)", leaf, types[t].name, k);
    CHECK(gpu_check_bits(RLX_OP_dequant_moe_weights, l.inputs, "dequant_moe_weights(%x, %idx) {to=f16}"));
  }
}

/* ---- products ---- */

static bool check_both(rlx_op op, const gpu_check_line *l) {
  bool exact = gpu_check_text(op, l->inputs, l->expr);
  return gpu_check_rounded(op, l->inputs, l->expr) && exact;
}

/* Every type with every number of rows that selects another kernel; a weight small enough not to be rounded, and larger
 * ones that are. */
TEST(every_type_in_planes) {
  static const struct {
    int m, n, k; /* k in blocks of 256 */
  } sizes[] = {{1, 7, 1}, {1, 67, 2}, {2, 64, 2}, {3, 35, 4}, {8, 65, 2}, {11, 70, 2}};
  for (size_t i = 0; i < N_TYPES; i++)
    for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
      gpu_check_line l;
      int k = 256 * sizes[j].k;
      gpu_check_print(&l.inputs, "a: f32[%d,%d]; param w: %s[%d,%d]", sizes[j].m, k, types[i].name, sizes[j].n, k);
      gpu_check_print(&l.expr, "matmul(%%a, %%w) {trans_b=true}");
      CHECK(check_both(RLX_OP_matmul, &l));
    }
}

/* A weight that is an input of the run is not repacked. */
TEST(every_type_plain) {
  for (size_t i = 0; i < N_TYPES; i++) {
    gpu_check_line l;
    gpu_check_print(&l.inputs, "a: f32[%d,256]; w: %s[9,256]", i % 2 ? 1 : 10, types[i].name);
    gpu_check_print(&l.expr, "matmul(%%a, %%w) {trans_b=true}");
    CHECK(check_both(RLX_OP_matmul, &l));
  }
}

static const block_type *any_type(uint64_t *seed) { return &types[gpu_check_int(seed, 0, N_TYPES - 1)]; }

static void any_product(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed);
  int blocks = elements_of(t->dtype), k = blocks * gpu_check_int(seed, 1, blocks == 32 ? 20 : 3);
  int m = gpu_check_int(seed, 0, 20), n = gpu_check_int(seed, 1, 130);
  const char *act = GPU_CHECK_PICK(seed, "none", "relu", "gelu", "silu", "tanh");
  gpu_check_print(&l->inputs, "a: f32[%d,%d] range(-0.05,0.05); param w: %s[%d,%d]; c: f32[%d]", m, k, t->name, n, k,
                  n);
  gpu_check_print(&l->expr, "fused_matmul_bias_act(%%a, %%w, %%c) {act=%s, trans_b=true}", act);
}
TEST(random_products) { CHECK(gpu_check_random(RLX_OP_fused_matmul_bias_act, 40, any_product)); }

static void any_along_n(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed);
  int blocks = elements_of(t->dtype), n = blocks * gpu_check_int(seed, 1, blocks == 32 ? 12 : 2);
  int m = gpu_check_int(seed, 0, 20), k = gpu_check_int(seed, 1, 30);
  gpu_check_print(&l->inputs, "a: f32[%d,%d]; param w: %s[%d,%d]", m, k, t->name, k, n);
  gpu_check_print(&l->expr, "matmul(%%a, %%w)");
}
TEST(random_products_along_n) { CHECK(gpu_check_random(RLX_OP_matmul, 20, any_along_n)); }

static void any_batch(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed);
  int k = elements_of(t->dtype) * gpu_check_int(seed, 1, 3), n = gpu_check_int(seed, 1, 40);
  gpu_check_print(&l->inputs, "a: f32[%s%d,%d]; param w: %s[3,%d,%d]", GPU_CHECK_PICK(seed, "", "3,", "2,1,"),
                  gpu_check_int(seed, 1, 5), k, t->name, n, k);
  gpu_check_print(&l->expr, "matmul(%%a, %%w) {trans_b=true}");
}
TEST(random_batches) { CHECK(gpu_check_random(RLX_OP_matmul, 16, any_batch)); }

static void any_gate_up(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed), *u = gpu_check_int(seed, 0, 2) ? t : any_type(seed);
  int m = gpu_check_int(seed, 1, 10), n = gpu_check_int(seed, 1, 60), k = 256 * gpu_check_int(seed, 1, 2);
  gpu_check_print(&l->inputs, "x: f32[%d,%d] range(-0.1,0.1); param g: %s[%d,%d]; param u: %s[%d,%d]", m, k, t->name, n,
                  k, u->name, n, k);
  gpu_check_print(&l->expr, "fused_gate_up(%%x, %%g, %%u) {trans_b=true, act=%s}",
                  GPU_CHECK_PICK(seed, "silu", "gelu", "relu"));
}
TEST(random_gate_up) { CHECK(gpu_check_random(RLX_OP_fused_gate_up, 24, any_gate_up)); }

static void any_normed(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed);
  int n = gpu_check_int(seed, 1, 130), k = 256 * gpu_check_int(seed, 1, 3);
  gpu_check_print(&l->inputs, "a: f32[1,1,%d] range(%s); param w: %s[%d,%d]; c: f32[%d]; g: f32[%d]", k,
                  GPU_CHECK_PICK(seed, "-1,1", "-1,1", "1e18,1e30"), t->name, n, k, n, k);
  gpu_check_print(&l->expr, "fused_norm_matmul(%%a, %%w, %s, %%g) {act=%s, trans_b=true, eps=1e-6}",
                  GPU_CHECK_PICK(seed, "%c", "_"), GPU_CHECK_PICK(seed, "none", "relu"));
}
static void any_normed_gate(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed), *u = gpu_check_int(seed, 0, 3) ? t : any_type(seed);
  int n = gpu_check_int(seed, 1, 60), k = 256 * gpu_check_int(seed, 1, 2);
  gpu_check_print(&l->inputs, "x: f32[1,%d]; param g: %s[%d,%d]; param u: %s[%d,%d]; n: f32[%d] range(-0.1,0.1)", k,
                  t->name, n, k, u->name, n, k, k);
  gpu_check_print(&l->expr, "fused_norm_gate_up(%%x, %%g, %%u, %%n) {trans_b=true, eps=1e-6}");
}
TEST(random_norms_before) {
  CHECK(gpu_check_random(RLX_OP_fused_norm_matmul, 40, any_normed));
  CHECK(gpu_check_random(RLX_OP_fused_norm_gate_up, 24, any_normed_gate));
}

TEST(norms_before_rounded) {
  CHECK(gpu_check_rounded(RLX_OP_fused_norm_matmul, "x: f32[1,1024]; param w: q4_k[70,1024]; n: f32[1024]",
                          "fused_norm_matmul(%x, %w, _, %n) {trans_b=true, eps=1e-6}"));
  CHECK(gpu_check_rounded(RLX_OP_fused_norm_matmul,
                          "x: f32[1,1024] range(1e29,1e30); param w: q8_0[70,1024]; n: f32[1024] range(-2,2)",
                          "fused_norm_matmul(%x, %w, _, %n) {trans_b=true, eps=1e-6}"));
  CHECK(gpu_check_rounded(RLX_OP_fused_norm_gate_up,
                          "x: f32[1,512]; param g: q6_k[70,512]; param u: q6_k[70,512]; n: f32[512]",
                          "fused_norm_gate_up(%x, %g, %u, %n) {trans_b=true, eps=1e-6}"));
}

TEST(gate_up_rounded) {
  CHECK(gpu_check_rounded(RLX_OP_fused_gate_up, "x: f32[1,512]; param g: q4_k[70,512]; param u: q4_k[70,512]",
                          "fused_gate_up(%x, %g, %u) {trans_b=true}"));
  CHECK(gpu_check_rounded(RLX_OP_fused_gate_up, "x: f32[5,512]; param g: q6_k[70,512]; param u: q6_k[70,512]",
                          "fused_gate_up(%x, %g, %u) {trans_b=true}"));
}

/* Infinities, NaN and tiny values, which 8 bits cannot represent and which must not enter sums of codes. With the
 * weights of one row all positive, an infinity stays one. */
TEST(specials_come_out) {
  static const char *const x[] = {"range(-1e-36,1e-36)", "values(1,inf,0.5,-2,0.25)", "values(nan,1)",
                                  "values(1.27e37,-6.4e36,3.2e36)", "values(0)"};
  static const char *const type[] = {"q4_k", "q8_0", "q4_0", "q4_1", "q6_k", "q2_k"};
  for (size_t i = 0; i < sizeof x / sizeof *x; i++)
    for (size_t t = 0; t < sizeof type / sizeof *type; t++)
      for (int m = 1; m <= 4; m += 3) {
        gpu_check_line l;
        gpu_check_print(&l.inputs, "a: f32[%d,512] %s; param w: %s[70,512] range(0.001,0.01)", m, x[i], type[t]);
        gpu_check_print(&l.expr, "matmul(%%a, %%w) {trans_b=true}");
        CHECK(check_both(RLX_OP_matmul, &l));
      }
}

/* ---- experts ---- */

static void any_experts(uint64_t *seed, gpu_check_line *l) {
  const block_type *t = any_type(seed);
  int k = elements_of(t->dtype) * gpu_check_int(seed, 1, 3), n = gpu_check_int(seed, 1, 70);
  int m = gpu_check_int(seed, 1, 40), e = gpu_check_int(seed, 1, 6);
  gpu_check_print(&l->inputs, "x: f32[%d,%d]; param w: %s[%d,%d,%d]; idx: %s[%d] range(0,%d)", m, k, t->name, e, n, k,
                  GPU_CHECK_PICK(seed, "i32", "i64"), m, e);
  gpu_check_print(&l->expr, "dequant_grouped_matmul(%%x, %%w, %%idx)");
}
TEST(random_experts) { CHECK(gpu_check_random(RLX_OP_dequant_grouped_matmul, 24, any_experts)); }

TEST(experts_out_of_range_give_zeros) {
  static const float zeros[2 * 3] = {0};
  CHECK(gpu_check_values(RLX_OP_dequant_grouped_matmul, "x: f32[2,32]; param w: q8_0[2,3,32]; idx: i32[2] values(2,-1)",
                         "dequant_grouped_matmul(%x, %w, %idx)", RLX_DIMS(2, 3), zeros));
}

/* ---- 8-bit integers: bit-exact ---- */

/* Scales of every size: results that stay small, saturate or vanish; powers of two, which give ties. */
static const char *any_scale(uint64_t *seed) {
  return GPU_CHECK_PICK(seed, "range(0.001,0.1)", "range(0.5,2)", "values(0.5)", "values(0.0078125)", "values(1e-40)",
                        "values(3e38)", "range(-0.1,0.1)", "values(0.1)", "special");
}

static void any_q_matmul(uint64_t *seed, gpu_check_line *l) {
  int m = gpu_check_int(seed, 1, 9), k = gpu_check_int(seed, 0, 70), n = gpu_check_int(seed, 1, 40);
  const char *a = GPU_CHECK_PICK(seed, "i8", "u8"), *b = GPU_CHECK_PICK(seed, "i8", "u8");
  const char *y = GPU_CHECK_PICK(seed, "i8", "u8");
  bool each = gpu_check_int(seed, 0, 1);
  char channels[16] = "";
  if (each) snprintf(channels, sizeof channels, "%d", n);
  gpu_check_print(&l->inputs,
                  "a: %s[%s%d,%d] range(%s); b: %s[%d,%d] range(%s); sa: f32[] %s; sb: f32[%s] %s; sy: f32[] %s; "
                  "za: %s[]; zb: %s[%s]; zy: %s[]; c: i32[%d] range(-2000,2000)",
                  a, GPU_CHECK_PICK(seed, "", "3,"), m, k, *a == 'i' ? "-128,128" : "0,256", b, k, n,
                  *b == 'i' ? "-128,128" : "0,256", any_scale(seed), channels, any_scale(seed), any_scale(seed), a, b,
                  channels, y, n);
  gpu_check_print(&l->expr, "q_matmul(%%a, %%b, %%sa, %%sb, %%sy, %%za, %%zb, %%zy, %%c) {to=%s}", y);
}
TEST(random_q_matmul) { CHECK(gpu_check_random_bits(RLX_OP_q_matmul, 60, any_q_matmul)); }

/* Sums on ties, and next to them by less than the precision of a double: 1/3 of 3/2, and so on. */
TEST(requantisation_of_ties) {
  static const char *const scales[][3] = {{"0.5", "1", "1"}, {"1", "1", "3"},        {"3", "0.5", "3"},
                                          {"7", "1", "14"},  {"0.1", "0.1", "0.02"}, {"1e-20", "1e-20", "2e-40"}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    gpu_check_line l;
    gpu_check_print(&l.inputs,
                    "a: i8[256,1] range(-128,128); b: i8[1,8] values(1,-1,3,5,-7,127,-128,2); sa: f32[] values(%s); "
                    "sb: f32[] values(%s); sy: f32[] values(%s)",
                    scales[i][0], scales[i][1], scales[i][2]);
    CHECK(gpu_check_bits(RLX_OP_q_matmul, l.inputs, "q_matmul(%a, %b, %sa, %sb, %sy)"));
  }
}

static void any_q_conv2d(uint64_t *seed, gpu_check_line *l) {
  int groups = gpu_check_int(seed, 1, 3), c = groups * gpu_check_int(seed, 1, 3),
      o = groups * gpu_check_int(seed, 1, 4);
  int h = gpu_check_int(seed, 4, 9), w = gpu_check_int(seed, 4, 9);
  const char *x = GPU_CHECK_PICK(seed, "i8", "u8"), *y = GPU_CHECK_PICK(seed, "i8", "u8");
  gpu_check_print(&l->inputs,
                  "x: %s[%d,%d,%d,%d]; w: i8[%d,%d,%d,%d]; sx: f32[] %s; sw: f32[%d] %s; sy: f32[] %s; zx: %s[]; "
                  "zw: i8[%d]; zy: %s[]; c: i32[%d] range(-2000,2000)",
                  x, gpu_check_int(seed, 1, 2), c, h, w, o, c / groups, gpu_check_int(seed, 1, 3),
                  gpu_check_int(seed, 1, 3), any_scale(seed), o, any_scale(seed), any_scale(seed), x, o, y, o);
  gpu_check_print(&l->expr,
                  "q_conv2d(%%x, %%w, %%sx, %%sw, %%sy, %%zx, %%zw, %%zy, %%c) {to=%s, groups=%d, stride=[%d,%d], "
                  "pad_lo=[%d,1], pad_hi=[0,%d]}",
                  y, groups, gpu_check_int(seed, 1, 2), gpu_check_int(seed, 1, 3), gpu_check_int(seed, 0, 2),
                  gpu_check_int(seed, 0, 2));
}
TEST(random_q_conv2d) { CHECK(gpu_check_random_bits(RLX_OP_q_conv2d, 30, any_q_conv2d)); }

/* ---- other schemes ---- */

static void any_dequant_matmul(uint64_t *seed, gpu_check_line *l) {
  int m = gpu_check_int(seed, 1, 12), k = gpu_check_int(seed, 1, 90), n = gpu_check_int(seed, 1, 70);
  int block = gpu_check_int(seed, 1, 40), parts = (k + block - 1) / block;
  const char *scheme = GPU_CHECK_PICK(seed, "int8", "int8_asym", "int4", "fp8_e4m3", "fp8_e5m2", "nvfp4");
  const char *x = GPU_CHECK_PICK(seed, "", "2,");
  if (strcmp(scheme, "int8") == 0) {
    gpu_check_print(&l->inputs, "x: f32[%s%d,%d]; w: i8[%d,%d] range(-128,128); s: f32[%d,%d] range(0.001,0.01)", x, m,
                    k, k, n, parts, n);
    gpu_check_print(&l->expr, "dequant_matmul(%%x, %%w, %%s) {block=%d}", block);
  } else if (strcmp(scheme, "int8_asym") == 0) {
    gpu_check_print(&l->inputs,
                    "x: f32[%s%d,%d]; w: i8[%d,%d] range(-128,128); s: f32[%d,%d] range(0.001,0.01); z: i8[%d,%d]", x,
                    m, k, k, n, parts, n, parts, n);
    gpu_check_print(&l->expr, "dequant_matmul(%%x, %%w, %%s, %%z) {scheme=int8_asym, block=%d}", block);
  } else if (strcmp(scheme, "int4") == 0) {
    gpu_check_print(&l->inputs,
                    "x: f32[%s%d,%d]; w: u8[%d,%d] range(0,256); s: f32[%d,%d] range(0.001,0.01); z: u8[%d,%d]", x, m,
                    k, (k + 1) / 2, n, parts, n, parts, n);
    gpu_check_print(&l->expr, "dequant_matmul(%%x, %%w, %%s%s) {scheme=int4, block=%d}",
                    gpu_check_int(seed, 0, 1) ? ", %z" : "", block);
  } else if (strcmp(scheme, "nvfp4") == 0) {
    gpu_check_print(&l->inputs,
                    "x: f32[%s%d,%d]; w: u8[%d,%d] range(0,256); s: u8[%d,%d] range(1,100); g: f32[] values(0.1)", x, m,
                    k, (k + 1) / 2, n, (k + 15) / 16, n);
    gpu_check_print(&l->expr, "dequant_matmul(%%x, %%w, %%s, _, %%g) {scheme=nvfp4}");
  } else {
    gpu_check_print(&l->inputs, "x: f32[%s%d,%d]; w: u8[%d,%d] range(%d,%d); s: f32[%d]", x, m, k, k, n,
                    m % 2 * 128 + 40, m % 2 * 128 + 72, n);
    gpu_check_print(&l->expr, "dequant_matmul(%%x, %%w%s) {scheme=%s}", gpu_check_int(seed, 0, 1) ? ", %s" : "",
                    scheme);
  }
}
TEST(random_dequant_matmul) { CHECK(gpu_check_random(RLX_OP_dequant_matmul, 40, any_dequant_matmul)); }
