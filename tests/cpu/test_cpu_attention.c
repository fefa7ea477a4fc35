/* CPU attention against the reference: every conformance case, and random shapes around the sizes of its tiles (64
 * keys, two vectors of rows, chunks of 512 keys), with masks, dtypes and run-time lengths. */
#include "cpu_check.h"
#include "test.h"

TEST(attention_cases) { CHECK(cpu_check_cases(RLX_OP_attention, NULL)); }

/* Few rows and many keys, or many rows; each kind of mask in some of them. */
static void any_attention(uint64_t *seed, cpu_check_line *l) {
  const char *type = CPU_CHECK_PICK(seed, "f32", "f32", "f16", "bf16");
  bool is_f32 = strcmp(type, "f32") == 0, bhsd = cpu_check_int(seed, 0, 1) == 1;
  const char *kv = is_f32 ? CPU_CHECK_PICK(seed, "f32", "f16", "bf16") : type;
  int b = cpu_check_int(seed, 1, 2), hkv = cpu_check_int(seed, 1, 2), h = hkv * cpu_check_int(seed, 1, 4);
  bool is_decode = cpu_check_int(seed, 0, 2) == 0;
  int sq = is_decode ? cpu_check_int(seed, 1, 2) : cpu_check_int(seed, 1, 40);
  int sk = is_decode ? cpu_check_int(seed, 1, 1100) : sq + cpu_check_int(seed, 0, 70);
  int d = cpu_check_int(seed, 1, 40), dv = cpu_check_int(seed, 1, 40);
  char shapes[3][64];
  int n[3] = {h, hkv, hkv}, s[3] = {sq, sk, sk}, w[3] = {d, d, dv};
  for (int i = 0; i < 3; i++)
    snprintf(shapes[i], sizeof shapes[i], "[%d,%d,%d,%d]", b, bhsd ? n[i] : s[i], bhsd ? s[i] : n[i], w[i]);
  bool mask = cpu_check_int(seed, 0, 3) == 0, bias = cpu_check_int(seed, 0, 3) == 0,
       sinks = cpu_check_int(seed, 0, 3) == 0;
  bool len = cpu_check_int(seed, 0, 1) == 1, causal = cpu_check_int(seed, 0, 1) == 1;
  char extra[512] = "", call[128] = "", attrs[160];
  if (mask) snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "; m: bool[%d,%d]", b, sk);
  if (bias)
    snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "; bias: %s[%d,%d,%d,%d]", type,
             cpu_check_int(seed, 0, 1) ? b : 1, cpu_check_int(seed, 0, 1) ? h : 1, cpu_check_int(seed, 0, 1) ? sq : 1,
             cpu_check_int(seed, 0, 1) ? sk : 1);
  if (sinks) snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "; sink: %s[%d]", type, h);
  if (len)
    snprintf(extra + strlen(extra), sizeof extra - strlen(extra), "; len: i32[] values(%d)",
             cpu_check_int(seed, 0, sk));
  snprintf(call, sizeof call, "%s, %s, %s, %s", mask ? "%m" : "_", bias ? "%bias" : "_", sinks ? "%sink" : "_",
           len ? "%len" : "_");
  snprintf(attrs, sizeof attrs, "layout=%s, causal=%s, window=%d, softcap=%s", bhsd ? "bhsd" : "bshd",
           causal ? "true" : "false", causal && cpu_check_int(seed, 0, 2) == 0 ? cpu_check_int(seed, 1, 80) : 0,
           cpu_check_int(seed, 0, 3) ? "0.0" : "1.5");
  cpu_check_print(&l->inputs, "q: %s%s; k: %s%s; v: %s%s%s", type, shapes[0], kv, shapes[1], kv, shapes[2], extra);
  cpu_check_print(&l->expr, "attention(%%q, %%k, %%v, %s) {%s}", call, attrs);
}

TEST(attention_random) { CHECK(cpu_check_random(RLX_OP_attention, TEST_IS_SANITIZED ? 40 : 150, any_attention, NULL)); }

/* Keys past the run-time length and keys hidden by causality hold NaN and infinity, which must not reach the result. */
TEST(hidden_keys_do_not_leak) {
  CHECK(cpu_check_text(RLX_OP_attention,
                       "q: f32[1,3,2,8]; k: f32[1,70,1,8] special; v: f32[1,70,1,8] special; n: i32[] values(5)",
                       "attention(%q, %k, %v, _, _, _, %n) {causal=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_attention, "q: f32[1,40,2,8]; k: f32[1,40,2,8]; v: f32[1,40,2,8] special",
                       "attention(%q, %k, %v) {causal=true}", NULL));
  CHECK(cpu_check_text(RLX_OP_attention,
                       "q: f32[1,1,4,16]; k: f32[1,1500,1,16]; v: f32[1,1500,1,16] special; m: bool[1,1500]",
                       "attention(%q, %k, %v, %m)", NULL));
}

TEST(large_heads) {
  CHECK(cpu_check_text(RLX_OP_attention, "q: f32[1,5,2,512]; k: f32[1,9,1,512]; v: f32[1,9,1,33]",
                       "attention(%q, %k, %v) {causal=true}", NULL));
}

TEST(lengths_are_checked) {
  CHECK(cpu_check_fails(RLX_OP_attention, "q: f32[1,1,1,8]; k: f32[1,4,1,8]; v: f32[1,4,1,8]; n: i32[] values(5)",
                        "attention(%q, %k, %v, _, _, _, %n)", RLX_INVALID, "kv_len is 5"));
  CHECK(cpu_check_fails(RLX_OP_attention, "q: f32[1,1,1,8]; k: f32[1,4,1,8]; v: f32[1,4,1,8]; n: i32[] values(-1)",
                        "attention(%q, %k, %v, _, _, _, %n)", RLX_INVALID, "kv_len is -1"));
}

/* ---- rope ---- */

TEST(rope_cases) { CHECK(cpu_check_cases(RLX_OP_rope, NULL)); }
TEST(axial_rope_cases) { CHECK(cpu_check_cases(RLX_OP_axial_rope_2d, NULL)); }

static void any_rope(uint64_t *seed, cpu_check_line *l) {
  const char *type = CPU_CHECK_PICK(seed, "f32", "f16", "bf16"), *layout = CPU_CHECK_PICK(seed, "bshd", "bhsd");
  int d = 2 * cpu_check_int(seed, 1, 40), s = cpu_check_int(seed, 1, 50), b = cpu_check_int(seed, 1, 2),
      h = cpu_check_int(seed, 1, 3);
  bool first = strcmp(layout, "bshd") == 0, factors = cpu_check_int(seed, 0, 2) == 0;
  int n_rot = cpu_check_int(seed, 0, 1) ? 0 : 2 * cpu_check_int(seed, 1, d / 2);
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d,%d]; o: i32[] values(%d); f: f32[%d] range(1,4)", type, b, first ? s : h,
                  first ? h : s, d, cpu_check_int(seed, 0, 100000), (n_rot ? n_rot : d) / 2);
  cpu_check_print(&l->expr, "rope(%%x, _, %%o%s) {layout=%s, style=%s, n_rot=%d}", factors ? ", %f" : "", layout,
                  CPU_CHECK_PICK(seed, "neox", "gptj"), n_rot);
}

TEST(rope_random) { CHECK(cpu_check_random(RLX_OP_rope, TEST_IS_SANITIZED ? 40 : 150, any_rope, NULL)); }

TEST(positions_are_checked) {
  CHECK(cpu_check_fails(RLX_OP_rope, "x: f32[1,2,1,4]; p: i32[2] values(0,3); c: f32[3,2]; s: f32[3,2]",
                        "rope(%x, %p, _, _, %c, %s)", RLX_INVALID, "position 3 is not in the tables"));
}
