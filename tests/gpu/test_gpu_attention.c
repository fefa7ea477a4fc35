/* GPU attention and rotary position embedding against the reference: random shapes around the edges of the tiles (64
 * keys, 8 to 64 rows, slices of 16 or 32 elements of a head, splits of the keys), every mask, type and run-time length;
 * and masked keys must not affect the result. */
#include "gpu_check.h"
#include "test.h"

/* ---- attention ---- */

typedef struct sizes {
  int b, h, hkv, sq, sk, d, dv;
} sizes;

/* An attention of the given sizes, with types, layout and masks drawn from the seed. */
static void write_attention(uint64_t *seed, sizes z, gpu_check_line *l) {
  const char *type = GPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  bool is_f32 = strcmp(type, "f32") == 0, bhsd = gpu_check_int(seed, 0, 1) == 1;
  const char *k_type = is_f32 ? GPU_CHECK_PICK(seed, "f32", "f16", "bf16") : type;
  const char *v_type = is_f32 && gpu_check_int(seed, 0, 2) == 0 ? GPU_CHECK_PICK(seed, "f32", "f16", "bf16") : k_type;
  char shapes[3][64], extra[512] = "", attrs[160];
  int n[3] = {z.h, z.hkv, z.hkv}, s[3] = {z.sq, z.sk, z.sk}, w[3] = {z.d, z.d, z.dv};
  for (int i = 0; i < 3; i++)
    snprintf(shapes[i], sizeof shapes[i], "[%d,%d,%d,%d]", z.b, bhsd ? n[i] : s[i], bhsd ? s[i] : n[i], w[i]);
  bool mask = gpu_check_int(seed, 0, 3) == 0, bias = gpu_check_int(seed, 0, 3) == 0,
       sinks = gpu_check_int(seed, 0, 3) == 0;
  bool len = gpu_check_int(seed, 0, 1) == 1, causal = gpu_check_int(seed, 0, 2) > 0,
       offset = causal && gpu_check_int(seed, 0, 2) == 0, per_batch = gpu_check_int(seed, 0, 1) == 1;
#define MORE(...) snprintf(extra + strlen(extra), sizeof extra - strlen(extra), __VA_ARGS__)
  if (mask) MORE("; m: bool[%d,%d]", z.b, z.sk);
  if (bias)
    MORE("; bias: %s[%d,%d,%d,%d]", type, gpu_check_int(seed, 0, 1) ? z.b : 1, gpu_check_int(seed, 0, 1) ? z.h : 1,
         gpu_check_int(seed, 0, 1) ? z.sq : 1, gpu_check_int(seed, 0, 1) ? z.sk : 1);
  if (sinks) MORE("; sink: %s[%d]", type, z.h);
  int at = gpu_check_int(seed, 0, z.sk), more = gpu_check_int(seed, 0, z.sk),
      own = gpu_check_int(seed, -z.sq, z.sk + 3);
  if (len && per_batch) MORE("; len: i32[%d] values(%d,%d)", z.b, at, more);
  else if (len) MORE("; len: i32[] values(%d)", at);
  if (offset && per_batch) MORE("; off: i32[%d] values(%d,%d)", z.b, own, z.sk - z.sq);
  else if (offset) MORE("; off: i32[] values(%d)", own);
#undef MORE
  snprintf(attrs, sizeof attrs, "layout=%s, causal=%s, window=%d, softcap=%s", bhsd ? "bhsd" : "bshd",
           causal ? "true" : "false", causal && gpu_check_int(seed, 0, 2) == 0 ? gpu_check_int(seed, 1, 100) : 0,
           gpu_check_int(seed, 0, 3) ? "0.0" : "1.5");
  gpu_check_print(&l->inputs, "q: %s%s; k: %s%s; v: %s%s%s", type, shapes[0], k_type, shapes[1], v_type, shapes[2],
                  extra);
  gpu_check_print(&l->expr, "attention(%%q, %%k, %%v, %s, %s, %s, %s, %s) {%s}", mask ? "%m" : "_",
                  bias ? "%bias" : "_", sinks ? "%sink" : "_", len ? "%len" : "_", offset ? "%off" : "_", attrs);
}

static void any_decode(uint64_t *seed, gpu_check_line *l) {
  sizes z = {.b = gpu_check_int(seed, 1, 2), .hkv = gpu_check_int(seed, 1, 2), .sq = gpu_check_int(seed, 1, 3)};
  z.h = z.hkv * gpu_check_int(seed, 1, 5);
  z.sk = gpu_check_int(seed, 1, 700);
  z.d = 8 * gpu_check_int(seed, 1, 9);
  z.dv = gpu_check_int(seed, 0, 1) ? z.d : 8 * gpu_check_int(seed, 1, 9);
  write_attention(seed, z, l);
}

static void any_rows(uint64_t *seed, gpu_check_line *l) {
  sizes z = {.b = gpu_check_int(seed, 1, 2), .hkv = gpu_check_int(seed, 1, 2), .sq = gpu_check_int(seed, 1, 70)};
  bool by_16 = gpu_check_int(seed, 0, 1);
  z.h = z.hkv * gpu_check_int(seed, 1, 3);
  z.sk = gpu_check_int(seed, 0, 1) ? z.sq : gpu_check_int(seed, 1, 300);
  z.d = by_16 ? 8 * gpu_check_int(seed, 1, 6) : gpu_check_int(seed, 1, 45);
  z.dv = by_16 ? 8 * gpu_check_int(seed, 1, 10) : gpu_check_int(seed, 1, 80);
  write_attention(seed, z, l);
}

TEST(attention_few_rows) { CHECK(gpu_check_random(RLX_OP_attention, TEST_IS_SANITIZED ? 6 : 10, any_decode)); }
TEST(attention_many_rows) { CHECK(gpu_check_random(RLX_OP_attention, TEST_IS_SANITIZED ? 5 : 8, any_rows)); }

/* Prompts: whole tiles of 128 rows and of 128 keys and parts of them, for the kernels on matrix units, and f32 queries
 * with a cache of f16 as language models have. */
static void any_prompt(uint64_t *seed, gpu_check_line *l) {
  const char *type = GPU_CHECK_PICK(seed, "f32", "f16", "bf16");
  const char *cache = strcmp(type, "f32") == 0 ? "f16" : type;
  int kv = gpu_check_int(seed, 1, 2), group = gpu_check_int(seed, 1, 3), b = gpu_check_int(seed, 1, 2);
  int sq = gpu_check_int(seed, 128 / group + 1, 300 / group), sk = gpu_check_int(seed, 1, 700);
  int d = gpu_check_int(seed, 0, 1) ? 64 * gpu_check_int(seed, 1, 2) : 8 * gpu_check_int(seed, 1, 16);
  int dv = gpu_check_int(seed, 0, 2) ? d : 8 * gpu_check_int(seed, 1, 16);
  bool causal = gpu_check_int(seed, 0, 2) > 0, len = gpu_check_int(seed, 0, 1) == 1,
       own = gpu_check_int(seed, 0, 1) == 1;
  bool sinks = gpu_check_int(seed, 0, 3) == 0, offset = causal && own;
  gpu_check_print(&l->inputs,
                  "q: %s[%d,%d,%d,%d]; k: %s[%d,%d,%d,%d]; v: %s[%d,%d,%d,%d]; n: i32[] values(%d); o: i32[] "
                  "values(%d); s: %s[%d]",
                  type, b, sq, kv * group, d, cache, b, sk, kv, d, cache, b, sk, kv, dv, gpu_check_int(seed, 0, sk),
                  gpu_check_int(seed, -sq, sk), type, kv * group);
  gpu_check_print(&l->expr, "attention(%%q, %%k, %%v, _, _, %s, %s, %s) {causal=%s, window=%d, softcap=%s}",
                  sinks ? "%s" : "_", len ? "%n" : "_", offset ? "%o" : "_", causal ? "true" : "false",
                  causal && gpu_check_int(seed, 0, 2) == 0 ? gpu_check_int(seed, 1, 300) : 0,
                  gpu_check_int(seed, 0, 3) ? "0.0" : "1.5");
}
TEST(attention_of_prompts) {
  const int n = gpu_check_has("cuda") ? 40 : TEST_IS_SANITIZED ? 1 : 3;
  CHECK(gpu_check_random(RLX_OP_attention, (size_t)n, any_prompt));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f16[1,2,128,128]; k: f16[1,2,128,128]; v: f16[1,2,128,128]",
                       "attention(%q, %k, %v) {causal=true, layout=bhsd}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f16[1,1,200,64]; k: f16[1,1,333,64]; v: f16[1,1,333,64] range(-9,9)",
                       "attention(%q, %k, %v) {layout=bhsd}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f16[1,70,2,64]; k: f16[1,70,1,64]; v: f16[1,70,1,64] special",
                       "attention(%q, %k, %v) {causal=true}"));
}

/* So many keys that buffers are filled many times, and that keys are split. */
TEST(attention_of_long_prompts) {
  if (!gpu_check_has("cuda")) SKIP("no cuda device: takes long on the emulated one");
  static const char *const types[][2] = {{"f16", "f16"}, {"bf16", "bf16"}, {"f32", "f16"}};
  static const int all[][3] = {{512, 512, 128}, {300, 4000, 128}, {1024, 3000, 64}, {130, 9000, 72}}; /* sq, sk, d */
  for (size_t i = 0; i < 3 * 4 * 2; i++) {
    const int *z = all[i / 3 % 4];
    gpu_check_line l;
    gpu_check_print(&l.inputs, "q: %s[1,4,%d,%d]; k: %s[1,2,%d,%d]; v: %s[1,2,%d,%d]", types[i % 3][0], z[0], z[2],
                    types[i % 3][1], z[1], z[2], types[i % 3][1], z[1], z[2]);
    gpu_check_print(&l.expr, "attention(%%q, %%k, %%v) {layout=bhsd, causal=%s}", i / 12 ? "true" : "false");
    CHECK(gpu_check_text(RLX_OP_attention, l.inputs, l.expr));
  }
}

/* Keys that are masked, past the run-time length, or in the future hold NaN and infinity: these must not reach the
 * result. */
TEST(hidden_keys_do_not_leak) {
  CHECK(gpu_check_text(RLX_OP_attention,
                       "q: f32[1,3,2,8]; k: f32[1,70,1,8] special; v: f32[1,70,1,8] special; n: i32[] values(5)",
                       "attention(%q, %k, %v, _, _, _, %n) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,40,2,8]; k: f32[1,40,2,8]; v: f32[1,40,2,8] special",
                       "attention(%q, %k, %v) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,40,2,7]; k: f32[1,40,2,7]; v: f32[1,40,2,5] special",
                       "attention(%q, %k, %v) {causal=true, window=9}"));
  CHECK(gpu_check_text(RLX_OP_attention,
                       "q: f32[1,1,4,16]; k: f32[1,300,1,16]; v: f32[1,300,1,16] special; m: bool[1,300]",
                       "attention(%q, %k, %v, %m)"));
}

/* A bias as frameworks write masks: the lowest finite number instead of -inf; a row full of it gives a plain mean. */
TEST(lowest_number_as_a_mask) {
  CHECK(gpu_check_text(RLX_OP_attention,
                       "q: f32[1,2,1,8]; k: f32[1,3,1,8]; v: f32[1,3,1,8]; b: f32[2,3] "
                       "values(-3.4028234e38,-3.4028234e38,-3.4028234e38,0,-3.4028234e38,-inf)",
                       "attention(%q, %k, %v, _, %b)"));
}

/* Values far from 0: the whole result must be accurate to a tenth of the tolerance of an element. */
TEST(large_values) {
  CHECK(gpu_check_text(RLX_OP_attention, "q: f16[1,40,2,64]; k: f16[1,90,2,64]; v: f16[1,90,2,64] range(-9,9)",
                       "attention(%q, %k, %v) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: bf16[1,2,70,128]; k: bf16[1,1,70,128]; v: bf16[1,1,70,128] range(-9,9)",
                       "attention(%q, %k, %v) {causal=true, layout=bhsd}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,1,4,64]; k: f16[1,300,2,64]; v: f16[1,300,2,64] range(-9,9)",
                       "attention(%q, %k, %v)"));
}

TEST(large_heads) {
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,5,2,512]; k: f32[1,9,1,512]; v: f32[1,9,1,33]",
                       "attention(%q, %k, %v) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f16[1,33,1,512]; k: f16[1,67,1,512]; v: f16[1,67,1,512]",
                       "attention(%q, %k, %v) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,1,4,512]; k: f32[1,150,1,512]; v: f32[1,150,1,512]",
                       "attention(%q, %k, %v)"));
  CHECK(gpu_check_text(RLX_OP_attention, "q: f32[1,20,1,256]; k: bf16[1,20,1,256]; v: bf16[1,20,1,192]",
                       "attention(%q, %k, %v) {causal=true}"));
}

/* Lengths and offsets beyond the keys: a device then sees fewer keys. */
TEST(far_offsets) {
  CHECK(gpu_check_text(RLX_OP_attention,
                       "q: f32[2,3,1,8]; k: f32[2,20,1,8]; v: f32[2,20,1,8]; o: i32[2] values(2147483647,-2147483648)",
                       "attention(%q, %k, %v, _, _, _, _, %o) {causal=true}"));
  CHECK(gpu_check_text(RLX_OP_attention,
                       "q: f32[2,3,1,8]; k: f32[2,20,1,8]; v: f32[2,20,1,8]; o: i32[2] values(30,2147483647)",
                       "attention(%q, %k, %v, _, _, _, _, %o) {causal=true, window=20}"));
}

/* ---- rope ---- */

/* Heads of whole 16-byte vectors and others, positions of every kind and size, factors, tables. */
static void any_rope(uint64_t *seed, gpu_check_line *l) {
  const char *type = GPU_CHECK_PICK(seed, "f32", "f16", "bf16"), *layout = GPU_CHECK_PICK(seed, "bshd", "bhsd");
  int d = gpu_check_int(seed, 0, 1) ? 16 * gpu_check_int(seed, 1, 8) : gpu_check_int(seed, 2, 80);
  int s = gpu_check_int(seed, 1, 60), b = gpu_check_int(seed, 1, 2), h = gpu_check_int(seed, 1, 11);
  bool first = strcmp(layout, "bshd") == 0;
  int n_rot = d % 2 || gpu_check_int(seed, 0, 1) ? 2 * gpu_check_int(seed, 1, d / 2) : d;
  const char *angles = GPU_CHECK_PICK(seed, "_, _, _", "%f, _, _", "_, %c, %s"),
             *places = GPU_CHECK_PICK(seed, "_, _", "_, %o", "%p, _", "%pb, _");
  bool tables = strstr(angles, "%c") != NULL;
  int max = tables ? 200 - s : gpu_check_int(seed, 0, 1) ? 1000000000 : 100000, min = tables ? 0 : -max;
  gpu_check_print(&l->inputs,
                  "x: %s[%d,%d,%d,%d]; o: i32[] values(%d); f: f32[%d] range(0.3,40); p: i32[%d] values(%d,%d,%d); "
                  "pb: i64[%d,%d] values(%d,%d,%d); c: f32[200,%d]; s: f32[200,%d]",
                  type, b, first ? s : h, first ? h : s, d, gpu_check_int(seed, min, max), n_rot / 2, s,
                  gpu_check_int(seed, min, max), gpu_check_int(seed, 0, tables ? 199 : 3), gpu_check_int(seed, 0, 199),
                  b, s, gpu_check_int(seed, min, max), gpu_check_int(seed, 0, 199), gpu_check_int(seed, 0, 199),
                  n_rot / 2, n_rot / 2);
  gpu_check_print(&l->expr, "rope(%%x, %s, %s) {layout=%s, style=%s, n_rot=%d, theta=%s}", places, angles, layout,
                  GPU_CHECK_PICK(seed, "neox", "gptj"), n_rot, GPU_CHECK_PICK(seed, "10000.0", "500000.0", "0.3"));
}
TEST(rope_random) { CHECK(gpu_check_random(RLX_OP_rope, TEST_IS_SANITIZED ? 12 : 20, any_rope)); }

/* Heads that are normalised before they are rotated, and rows rotated by an update: sizes with and without a kernel. */
static void any_normed_rope(uint64_t *seed, gpu_check_line *l) {
  bool odd = gpu_check_int(seed, 0, 4) == 0;
  int d = (odd ? 2 : 8) * gpu_check_int(seed, 1, 40), rot = gpu_check_int(seed, 0, 1) ? d / 16 * 8 : 0;
  int tokens = gpu_check_int(seed, 1, 4), heads = gpu_check_int(seed, 1, 6);
  bool places_first = gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->inputs,
                  "x: f32[2,%d,%d,%d] range(%s); p: i32[2,%d] range(0,500); o: i32[] values(%d); g: f32[%d]",
                  places_first ? tokens : heads, places_first ? heads : tokens, d,
                  GPU_CHECK_PICK(seed, "-1,1", "-1,1", "1e18,1e30"), tokens, gpu_check_int(seed, 0, 900), d);
  gpu_check_print(&l->expr, "fused_norm_rope(%%x, %s, _, _, _, %s) {layout=%s, style=%s, n_rot=%d, eps=1e-6}",
                  GPU_CHECK_PICK(seed, "%p, _", "_, %o"), GPU_CHECK_PICK(seed, "%g", "_"),
                  places_first ? "bshd" : "bhsd", GPU_CHECK_PICK(seed, "neox", "gptj"), rot);
}
static void any_rotated_update(uint64_t *seed, gpu_check_line *l) {
  int d = 8 * gpu_check_int(seed, 1, 20), tokens = gpu_check_int(seed, 1, 4), heads = gpu_check_int(seed, 1, 5);
  int room = tokens + gpu_check_int(seed, 0, 5), batch = gpu_check_int(seed, 1, 3);
  char each[16] = ""; /* one position for all rows, or one for each */
  if (gpu_check_int(seed, 0, 1)) snprintf(each, sizeof each, "%d", batch);
  gpu_check_print(&l->inputs,
                  "state s: %s[%d,%d,%d,%d]; r: f32[%d,%d,%d,%d]; a: i32[%s] range(0,%d); p: i32[%d,%d] "
                  "range(0,500); f: f32[%d] range(0.5,4); g: f32[%d]",
                  GPU_CHECK_PICK(seed, "f32", "f16", "bf16"), batch, room, heads, d, batch, tokens, heads, d, each,
                  room - tokens + 1, batch, tokens, d / 2, d);
  const char *norm = GPU_CHECK_PICK(seed, "true", "false");
  gpu_check_print(&l->expr, "fused_rope_update(%%s, %%r, %%a, %s, %s, %s) {style=%s, norm=%s, eps=1e-6}",
                  GPU_CHECK_PICK(seed, "%p", "_"), GPU_CHECK_PICK(seed, "%f", "_"), norm[0] == 't' ? "%g" : "_",
                  GPU_CHECK_PICK(seed, "neox", "gptj"), norm);
}
/* A decode step: the first position, the last one and others, groups of heads, windows, long states. */
static void any_step(uint64_t *seed, gpu_check_line *l) {
  int kv = gpu_check_int(seed, 1, 3), group = gpu_check_int(seed, 1, 9), batch = gpu_check_int(seed, 1, 3);
  int d = 8 * gpu_check_int(seed, 1, 20), room = gpu_check_int(seed, 1, gpu_check_int(seed, 0, 3) ? 60 : 700);
  bool each = gpu_check_int(seed, 0, 1), norm = gpu_check_int(seed, 0, 1), gptj = gpu_check_int(seed, 0, 1);
  int n_rot = gpu_check_int(seed, 0, 1) ? 0 : 8 * gpu_check_int(seed, 1, d / 8), rotated = n_rot ? n_rot : d;
  char count[16] = "";
  if (each) snprintf(count, sizeof count, "%d", batch);
  const char *k = GPU_CHECK_PICK(seed, "f32", "f16", "bf16"), *v = gpu_check_int(seed, 0, 3) ? k : "f32";
  gpu_check_print(
    &l->inputs,
    "rows: f32[%d,1,%d,%d] range(%s); k: %s[%d,%d,%d,%d]; v: %s[%d,%d,%d,%d]; at: i32[%s] values(%d,%d,%d); "
    "f: f32[%d] range(0.5,4); gq: f32[%d]; gk: f32[%d]",
    batch, kv * (group + 2), d, norm && v[1] == '3' ? GPU_CHECK_PICK(seed, "-1,1", "1e18,2e19") : "-1,1", k, batch,
    room, kv, d, v, batch, room, kv, d, count, gpu_check_int(seed, 0, 3) ? room - 1 : 0,
    gpu_check_int(seed, 0, room - 1), gpu_check_int(seed, 0, room - 1), rotated / 2, d, d);
  gpu_check_print(&l->expr,
                  "fused_rope_attention(%%rows, %%k, %%v, %%at, %s, %s, %s) {style=%s, n_rot=%d, norm=%s, eps=1e-6, "
                  "window=%d, softcap=%s}",
                  !norm && gpu_check_int(seed, 0, 1) ? "%f" : "_", norm ? "%gq" : "_",
                  norm && gpu_check_int(seed, 0, 3) ? "%gk" : "_", gptj ? "gptj" : "neox", n_rot,
                  norm ? "true" : "false", gpu_check_int(seed, 0, 2) ? 0 : gpu_check_int(seed, 1, 70),
                  gpu_check_int(seed, 0, 2) ? "0.0" : "1.5");
}
TEST(steps_random) { CHECK(gpu_check_random(RLX_OP_fused_rope_attention, TEST_IS_SANITIZED ? 10 : 20, any_step)); }

/* What a state holds from the new position on is not read. */
TEST(steps_do_not_read_what_is_not_written) {
  CHECK(gpu_check_text(RLX_OP_fused_rope_attention,
                       "rows: f32[1,1,4,16]; k: f16[1,3,1,16] values(nan); v: f32[1,3,1,16] values(nan); "
                       "at: i32[] values(0)",
                       "fused_rope_attention(%rows, %k, %v, %at)"));
}

TEST(normed_and_rotated_random) {
  CHECK(gpu_check_random(RLX_OP_fused_norm_rope, TEST_IS_SANITIZED ? 12 : 24, any_normed_rope));
  CHECK(gpu_check_random(RLX_OP_fused_rope_update, TEST_IS_SANITIZED ? 12 : 24, any_rotated_update));
}

static void any_axial(uint64_t *seed, gpu_check_line *l) {
  gpu_check_print(&l->inputs, "x: %s[%d,%d,%d,%d]", GPU_CHECK_PICK(seed, "f32", "f16", "bf16"),
                  gpu_check_int(seed, 1, 2), gpu_check_int(seed, 1, 40), gpu_check_int(seed, 1, 40),
                  gpu_check_int(seed, 0, 1) ? 4 * gpu_check_int(seed, 1, 20) : 64);
  gpu_check_print(&l->expr, "axial_rope_2d(%%x) {layout=%s, style=%s, width=%d}", GPU_CHECK_PICK(seed, "bshd", "bhsd"),
                  GPU_CHECK_PICK(seed, "neox", "gptj"), gpu_check_int(seed, 1, 50));
}
TEST(axial_rope_random) { CHECK(gpu_check_random(RLX_OP_axial_rope_2d, TEST_IS_SANITIZED ? 6 : 10, any_axial)); }

/* Factors that are zero, NaN or infinite, or negative. */
TEST(rope_odd_factors) {
  CHECK(gpu_check_text(RLX_OP_rope,
                       "x: f32[1,3,1,12]; o: i32[] values(77777); f: f32[6] values(inf,-3.7,0,nan,1e30,0.001)",
                       "rope(%x, _, %o, %f)"));
}
