/* Matrix products, attention and rotary position embeddings: what shape inference gives for open sizes and rejects,
 * what a run rejects, fused forms against their parts, and that empty results with enormous sizes cost nothing. The
 * conformance cases check values. */
#include "faults.h"
#include "rules.h"
#include "test.h"

/* ---- rules ---- */

#define HUGE_INT "9223372036854775807"
#define MIN_INT "-9223372036854775808"

// clang-format off
TEST(rules_of_products) {
  static const rule rules[] = {
    {"a: f32[B,M,K]; b: f32[K,N]", "matmul(%a, %b)", "f32[B,M,N]", NULL},
    {"a: f32[B,M,8]; b: f32[N,K]", "matmul(%a, %b) {trans_b=true}", "f32[B,M,N]", NULL},
    {"a: f32[B,1,4]; b: f32[B,4,5]", "matmul(%a, %b)", "f32[B,1,5]", NULL},
    {"a: f32[B,2,4]; b: f32[C,4,5]", "matmul(%a, %b)", "f32[?,2,5]", NULL},
    {"a: f32[S,64]; param w: q4_0[V,64]", "matmul(%a, %w) {trans_b=true}", "f32[S,V]", NULL},
    {"a: f32[2,3]; b: f32[2,3]", "matmul(%a, %b)", NULL, "a is [2,3] but b is [2,3]: the summed axes differ"},
    {"a: f32[2,3]; b: f32[2,3]", "matmul(%a, %b) {trans_b=true}", "f32[2,2]", NULL},
    {"a: f32[2,3]; b: f32[3,2]", "matmul(%a, %b) {trans_b=true}", NULL, "with trans_b: the summed axes differ"},
    {"a: f32[3]; b: f32[3,2]", "matmul(%a, %b)", NULL, "input 0 (a) is [3] but must have rank 2 or more"},
    {"a: f32[2,3]; b: f32[]", "matmul(%a, %b)", NULL, "input 1 (b) is [] but must have rank 2 or more"},
    {"a: f32[2,1,3]; b: f32[3,3,2]", "matmul(%a, %b)", NULL, "batch axes: shapes [2] and [3] do not broadcast"},
    {"a: f16[2,32]; param w: q4_0[3,32]", "matmul(%a, %w) {trans_b=true}", NULL, "must be f16"},
    {"a: f32[2,3]; b: f64[3,2]", "matmul(%a, %b)", NULL, "input 1 (b) is f64"},
    {"a: i32[2,3]; b: i32[3,2]", "matmul(%a, %b)", NULL, "does not take i32"},
    {"a: f32[4611686018427387904,0]; b: f32[0,4611686018427387904]", "matmul(%a, %b)", NULL, "overflows"},

    {"a: f32[B,M,K]; b: f32[N,B,K]", "dot_general(%a, %b) {batch_a=[0], batch_b=[1], contract_a=[-1], contract_b=[-1]}",
                                     "f32[B,M,N]", NULL},
    {"a: f32[B,3]; b: f32[4,C]", "dot_general(%a, %b) {batch_a=[0], batch_b=[0], contract_a=[1], contract_b=[1]}",
                                 "f32[4]", NULL},
    {"a: f32[2,3]; b: f32[3,4]", "dot_general(%a, %b) {contract_a=[0], contract_b=[0]}", NULL,
                                 "contract axes 0 and 0 differ"},
    {"a: f32[2,3]; b: f32[3,3]", "dot_general(%a, %b) {batch_a=[0], batch_b=[0]}", NULL, "batch axes 0 and 0 differ"},
    {"a: f32[2,3]; b: f32[3,4]", "dot_general(%a, %b) {contract_a=[1]}", NULL, "1 contract axes of a but 0 of b"},
    {"a: f32[2,3]; b: f32[3,4]", "dot_general(%a, %b) {contract_a=[2], contract_b=[0]}", NULL,
                                 "contract_a 2 is not in -2..1"},
    {"a: f32[3,3]; b: f32[3,3]", "dot_general(%a, %b) {contract_a=[1], contract_b=[-1000000000000]}", NULL,
                                 "contract_b -1000000000000 is not in -2..1"},
    {"a: f32[3,3]; b: f32[3,3]", "dot_general(%a, %b) {contract_a=[1,-1], contract_b=[0,1]}", NULL,
                                 "axis 1, which has a use already"},
    {"a: f32[3,3]; b: f32[3,3]", "dot_general(%a, %b) {batch_a=[1], batch_b=[0], contract_a=[1], contract_b=[1]}", NULL,
                                 "contract_a names axis 1"},
    {"a: f32[1,1,1,1,1]; b: f32[1,1,1,1]", "dot_general(%a, %b)", NULL, "rank 9, more than 8"},

    {"x: f32[B,S,8]; w: f32[8,N]; a: f32[8,R]; b: f32[R,N]", "lora_matmul(%x, %w, %a, %b)", "f32[B,S,N]", NULL},
    {"x: f32[2,8]; w: f32[8,4]; a: f32[7,2]; b: f32[2,4]", "lora_matmul(%x, %w, %a, %b)", NULL, "input 2 (a) is [7,2]"},
    {"x: f32[2,8]; w: f32[8,4]; a: f32[8,2]; b: f32[3,4]", "lora_matmul(%x, %w, %a, %b)", NULL,
     "input 3 (b) is [3,4] but must be [2,4]"},
    {"x: f32[2,8]; w: f32[8,4]; a: f32[8,2]; b: f32[2,5]", "lora_matmul(%x, %w, %a, %b)", NULL, "must be [2,4]"},
    {"x: f32[2,8]; w: f32[2,8,4]; a: f32[8,2]; b: f32[2,4]", "lora_matmul(%x, %w, %a, %b)", NULL,
     "input 1 (w) is [2,8,4] but must have rank 2"},

    {"x: f32[M,K]; w: f32[E,K,N]; i: i64[M]", "grouped_matmul(%x, %w, %i)", "f32[M,N]", NULL},
    {"x: f32[3,4]; w: f32[2,4,5]; i: i32[2]", "grouped_matmul(%x, %w, %i)", NULL,
     "input 2 (idx) is [2] but must be [3]"},
    {"x: f32[3,4]; w: f32[2,5,4]; i: i32[3]", "grouped_matmul(%x, %w, %i)", NULL,
     "input 1 (w) is [2,5,4] but must be [?,4,?]"},
    {"x: f32[1,3,4]; w: f32[2,4,5]; i: i32[3]", "grouped_matmul(%x, %w, %i)", NULL, "must have rank 2"},
    {"x: f32[3,32]; param w: q8_0[2,5,32]; i: i32[3]", "grouped_matmul(%x, %w, %i)", NULL, "input 1 (w) is q8_0"},
    {"x: f32[M,32]; param w: q8_0[E,N,32]; i: i32[M]", "dequant_grouped_matmul(%x, %w, %i)", "f32[M,N]", NULL},
    {"x: f32[3,4]; w: f32[2,5,4]; i: i32[3]", "dequant_grouped_matmul(%x, %w, %i)", NULL, "must be a block type"},
    {"param w: q8_0[E,N,32]; i: i32[K]", "dequant_moe_weights(%w, %i)", "f32[K,N,32]", NULL},
    {"param w: q8_0[2,32]; i: i32[]", "dequant_moe_weights(%w, %i)", NULL, "input 1 (idx) is [] but must have rank 1"},
    {"param w: q8_0[32]", "dequant_moe_weights(%w)", NULL, "rank 2 or more"},
    {"param w: q8_0[2,32]", "dequant_moe_weights(%w) {to=f64}", NULL, "not f64"},

    {"a: f32[B,N,N]; b: f32[4,K]", "dense_solve(%a, %b)", "f32[B,4,K]", NULL},
    {"a: f32[3,4]; b: f32[3,1]", "dense_solve(%a, %b)", NULL, "a is [3,4] but must be square"},
    {"a: f32[3,3]; b: f32[4,1]", "dense_solve(%a, %b)", NULL, "b needs a row per equation"},
    {"a: f32[3,3]; b: f32[3]", "dense_solve(%a, %b)", NULL, "rank 2 or more"},
    {"a: f32[2,3,3]; b: f32[4,3,1]", "dense_solve(%a, %b)", NULL, "do not broadcast"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_packed_products) {
  static const rule rules[] = {
    {"x: f32[B,K]; w: i8[K,N]; s: f32[G,N]", "dequant_matmul(%x, %w, %s) {block=32}", "f32[B,N]", NULL},
    {"x: f32[B,K]; w: u8[P,N]; s: f32[G,N]", "dequant_matmul(%x, %w, %s) {scheme=int4, block=32}", "f32[B,N]", NULL},
    {"x: f32[2,8]; w: i8[8,3]", "dequant_matmul(%x, %w)", NULL, "int8 needs input 2 (scale)"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {scheme=int8_asym}", NULL,
     "int8_asym needs input 3 (zero)"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[1,3]; z: i8[1,3]", "dequant_matmul(%x, %w, %s, %z)", NULL,
     "int8 takes no input 3 (zero)"},
    {"x: f32[2,8]; w: u8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s)", NULL, "input 1 (w) is u8 but int8 takes i8"},
    {"x: f32[2,8]; w: i8[8,3]; s: f64[1,3]", "dequant_matmul(%x, %w, %s)", NULL,
     "input 2 (scale) is f64 but int8 takes f32"},
    {"x: f32[2,8]; w: u8[4,3]; s: f32[1,3]; z: i8[1,3]", "dequant_matmul(%x, %w, %s, %z) {scheme=int4}", NULL,
     "input 3 (zero) is i8"},
    {"x: f32[2,8]; w: i8[7,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s)", NULL,
     "input 1 (w) is [7,3] but must be [8,3]"},
    {"x: f32[2,7]; w: u8[3,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {scheme=int4}", NULL, "must be [4,3]"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[2,3]", "dequant_matmul(%x, %w, %s) {block=3}", NULL,
     "input 2 (scale) is [2,3] but must be [3,3]"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[2,3]; z: i8[2,2]", "dequant_matmul(%x, %w, %s, %z) {scheme=int8_asym, block=4}",
     NULL, "input 3 (zero) is [2,2]"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {block=-1}", NULL, "block -1 is negative"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {block=" MIN_INT "}", NULL, "is negative"},
    {"x: f32[2,8]; w: i8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {block=" HUGE_INT "}", "f32[2,3]", NULL},
    {"x: f32[2,8]; w: u8[8,3]", "dequant_matmul(%x, %w) {scheme=fp8_e4m3, block=4}", NULL,
                                "block is for int8 and int4, not fp8_e4m3"},
    {"x: f32[2,8]; w: u8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s) {scheme=fp8_e5m2}", NULL, "must be [3]"},
    {"x: f32[2,8]; w: u8[4,3]; s: u8[1,3]", "dequant_matmul(%x, %w, %s) {scheme=nvfp4}", NULL,
                                            "nvfp4 needs input 4 (global)"},
    {"x: f32[2,8]; w: u8[4,3]; s: u8[1,3]; g: f32[3]", "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}", NULL,
     "must be a scalar"},
    {"x: f32[2,17]; w: u8[9,3]; s: u8[1,3]; g: f32[]", "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}", NULL,
     "must be [2,3]"},
    {"x: f32[8]; w: i8[8,3]; s: f32[1,3]", "dequant_matmul(%x, %w, %s)", NULL, "rank 2 or more"},

    {"a: i8[B,M,K]; b: u8[K,N]; s: f32[]; t: f32[N]", "q_matmul(%a, %b, %s, %t, %s) {to=u8}", "u8[B,M,N]", NULL},
    {"a: i16[2,3]; b: i8[3,2]; s: f32[]", "q_matmul(%a, %b, %s, %s, %s)", NULL,
                                          "takes and gives i8 or u8, not i16 x i8 -> i8"},
    {"a: i8[2,3]; b: f32[3,2]; s: f32[]", "q_matmul(%a, %b, %s, %s, %s)", NULL, "not i8 x f32 -> i8"},
    {"a: i8[2,3]; b: i8[3,2]; s: f32[]", "q_matmul(%a, %b, %s, %s, %s) {to=i32}", NULL, "-> i32"},
    {"a: i8[2,3]; b: i8[3,2]; s: f32[2]", "q_matmul(%a, %b, %s, %s, %s)", NULL,
                                          "input 2 (a_scale) is [2] but must be a scalar"},
    {"a: i8[2,3]; b: i8[3,2]; s: f32[]; t: f32[3]", "q_matmul(%a, %b, %s, %t, %s)", NULL, "input 3 (b_scale) is [3]"},
    {"a: i8[2,3]; b: u8[3,2]; s: f32[]; z: i8[]", "q_matmul(%a, %b, %s, %s, %s, %z, %z)", NULL,
     "input 6 (b_zero) is i8 but must be u8"},
    {"a: i8[2,3]; b: i8[3,2]; s: f32[]; z: i8[]", "q_matmul(%a, %b, %s, %s, %s, _, _, %z) {to=u8}", NULL,
     "input 7 (y_zero) is i8 but must be u8"},
    {"a: i8[2,3]; b: i8[3,2]; s: f32[]; c: i32[3]", "q_matmul(%a, %b, %s, %s, %s, _, _, _, %c)", NULL,
     "input 8 (bias) is [3] but must be [2]"},
    {"a: i8[2,3]; b: i8[2,2]; s: f32[]", "q_matmul(%a, %b, %s, %s, %s)", NULL, "summed axes differ"},

    {"x: i8[N,4,H,W]; w: i8[O,2,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {groups=2, pad_lo=[1,1], pad_hi=[1,1]}",
     "i8[N,O,H,W]", NULL},
    {"x: i8[1,4,5,5]; w: i8[3,2,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {groups=2}", NULL,
     "2 groups do not fit the channels"},
    {"x: i8[1,4,5,5]; w: i8[4,4,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {groups=2}", NULL,
     "do not fit the channels"},
    {"x: i8[1,4,5,5]; w: i8[4,4,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {groups=0}", NULL,
     "groups 0 must be 1 or more"},
    {"x: i8[1,4,5,5]; w: i8[4,4,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {groups=" HUGE_INT "}", NULL,
     "do not fit the channels"},
    {"x: i8[1,4,5,5]; w: i8[4,4,3,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s) {stride=[0,1]}", NULL, "stride [0,1]"},
    {"x: i8[1,4,5,5]; w: i8[4,4,6,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s)", NULL, "does not fit"},
    {"x: i8[1,4,5]; w: i8[4,4,3]; s: f32[]", "q_conv2d(%x, %w, %s, %s, %s)", NULL, "must have rank 4"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_attention) {
  static const rule rules[] = {
    {"q: f32[B,S,8,64]; k: f16[B,T,2,64]; v: f16[B,T,2,32]", "attention(%q, %k, %v)", "f32[B,S,8,32]", NULL},
    {"q: f32[B,8,S,D]; k: f32[2,K,T,64]; v: f32[B,K,T,V]", "attention(%q, %k, %v) {layout=bhsd}", "f32[2,8,S,V]", NULL},
    {"q: f32[B,1,8,64]; k: f32[B,T,8,64]; v: f32[B,T,8,64]; m: bool[B,T]; b: f32[S,T]; n: i32[]; o: i32[B]",
     "attention(%q, %k, %v, %m, %b, _, %n, %o)", "f32[B,1,8,64]", NULL},
    {"q: f32[1,2,3,4]; k: f32[1,5,2,4]; v: f32[1,5,2,4]", "attention(%q, %k, %v)", NULL,
     "2 key heads do not divide 3 query heads"},
    {"q: f32[1,2,3,4]; k: f32[1,5,0,4]; v: f32[1,5,0,4]", "attention(%q, %k, %v)", NULL, "0 key heads"},
    {"q: f32[1,2,4,4]; k: f32[1,5,2,4]; v: f32[1,6,2,4]", "attention(%q, %k, %v)", NULL, "(bshd): they do not fit"},
    {"q: f32[1,2,4,4]; k: f32[1,5,2,8]; v: f32[1,5,2,8]", "attention(%q, %k, %v)", NULL, "they do not fit"},
    {"q: f32[1,2,4,4]; k: f32[2,5,2,4]; v: f32[2,5,2,4]", "attention(%q, %k, %v)", NULL, "they do not fit"},
    {"q: f32[2,4,4]; k: f32[5,2,4]; v: f32[5,2,4]", "attention(%q, %k, %v)", NULL, "must have rank 4"},
    {"q: f32[1,2,1,513]; k: f32[1,2,1,513]; v: f32[1,2,1,8]", "attention(%q, %k, %v)", NULL,
     "heads of 513 elements, not 1 to 512"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,600]", "attention(%q, %k, %v)", NULL,
     "input 2 (v) has heads of 600"},
    {"q: f32[1,2,1,0]; k: f32[1,2,1,0]; v: f32[1,2,1,8]", "attention(%q, %k, %v)", NULL, "heads of 0 elements"},
    {"q: f64[1,2,1,8]; k: f16[1,2,1,8]; v: f16[1,2,1,8]", "attention(%q, %k, %v)", NULL,
     "input 1 (k) is f16 but must be f64"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,8]", "attention(%q, %k, %v) {window=2}", NULL,
     "window 2 needs causal"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,8]", "attention(%q, %k, %v) {causal=true, window=-1}", NULL,
     "window -1 is negative"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,8]", "attention(%q, %k, %v) {softcap=-1.0}", NULL, "softcap -1"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,8]", "attention(%q, %k, %v) {softcap=inf}", NULL, "softcap inf"},
    {"q: f32[1,2,1,8]; k: f32[1,2,1,8]; v: f32[1,2,1,8]", "attention(%q, %k, %v) {scale=nan}", NULL, "must be finite"},
    {"q: f32[1,2,1,8]; k: f32[1,3,1,8]; v: f32[1,3,1,8]; m: bool[3]", "attention(%q, %k, %v, %m)", NULL,
     "input 3 (key_mask) is [3] but must be [1,3]"},
    {"q: f32[1,2,1,8]; k: f32[1,3,1,8]; v: f32[1,3,1,8]; b: f32[3,3]", "attention(%q, %k, %v, _, %b)", NULL,
     "must broadcast to the scores [1,1,2,3]"},
    {"q: f32[1,2,1,8]; k: f32[1,3,1,8]; v: f32[1,3,1,8]; b: f32[1,1,1,2,3]", "attention(%q, %k, %v, _, %b)", NULL,
     "must broadcast"},
    {"q: f32[1,2,4,8]; k: f32[1,3,2,8]; v: f32[1,3,2,8]; s: f32[2]", "attention(%q, %k, %v, _, _, %s)", NULL,
     "input 5 (sinks) is [2] but must be [4]"},
    {"q: f32[3,2,1,8]; k: f32[3,3,1,8]; v: f32[3,3,1,8]; n: i32[2]", "attention(%q, %k, %v, _, _, _, %n)", NULL,
     "input 6 (kv_len) is [2]"},
    {"q: f32[3,2,1,8]; k: f32[3,3,1,8]; v: f32[3,3,1,8]; n: i32[3,1]", "attention(%q, %k, %v, _, _, _, _, %n)", NULL,
     "input 7 (kv_offset) is [3,1]"},
    {"q: f32[1,2,1,8]; k: f32[1,3,1,8]; v: f32[1,3,1,8]; n: i64[]", "attention(%q, %k, %v, _, _, _, %n)", NULL,
     "must be i32"},

    {"x: f32[B,S,H,D]; p: i64[B,S]", "rope(%x, %p)", "f32[B,S,H,D]", NULL},
    {"x: f32[B,S,H,64]; c: f32[P,32]; s: f32[P,32]", "rope(%x, _, _, _, %c, %s)", "f32[B,S,H,64]", NULL},
    {"x: f32[1,2,1,7]", "rope(%x)", NULL, "cannot rotate all of a head of 7 elements"},
    {"x: f32[1,2,1,8]", "rope(%x) {n_rot=3}", NULL, "n_rot 3 must be even"},
    {"x: f32[1,2,1,8]", "rope(%x) {n_rot=10}", NULL, "n_rot 10 must be even and at most"},
    {"x: f32[1,2,1,8]", "rope(%x) {n_rot=-2}", NULL, "n_rot -2"},
    {"x: f32[1,2,1,D]", "rope(%x) {n_rot=" MIN_INT "}", NULL, "n_rot " MIN_INT},
    {"x: f32[1,2,1,8]", "rope(%x) {theta=0.0}", NULL, "theta 0 must be finite and positive"},
    {"x: f32[1,2,1,8]", "rope(%x) {theta=nan}", NULL, "theta"},
    {"x: f32[2,8]", "rope(%x)", NULL, "must have rank 4"},
    {"x: f32[2,3,1,8]; p: i32[2]", "rope(%x, %p)", NULL, "input 1 (positions) is [2] but must be [3]"},
    {"x: f32[2,3,1,8]; p: i32[3,2]", "rope(%x, %p)", NULL, "must be [2,3]"},
    {"x: f32[2,3,1,8]; p: i32[3]; o: i32[]", "rope(%x, %p, %o)", NULL, "positions or offset, not both"},
    {"x: f32[2,3,1,8]; o: i32[3]", "rope(%x, _, %o)", NULL, "input 2 (offset) is [3]"},
    {"x: f32[2,3,1,8]; f: f32[8]", "rope(%x, _, _, %f)", NULL, "input 3 (factors) is [8] but must be [4]"},
    {"x: f32[2,3,1,8]; c: f32[9,4]", "rope(%x, _, _, _, %c)", NULL, "both tables"},
    {"x: f32[2,3,1,8]; c: f32[9,4]", "rope(%x, _, _, _, _, %c)", NULL, "both tables"},
    {"x: f32[2,3,1,8]; c: f32[9,4]; s: f32[8,4]", "rope(%x, _, _, _, %c, %s)", NULL,
     "input 5 (sin) is [8,4] but must be [9,4]"},
    {"x: f32[2,3,1,8]; c: f32[9,4]; f: f32[4]", "rope(%x, _, _, %f, %c, %c)", NULL, "factors have no meaning"},

    {"x: f32[B,S,H,D]", "axial_rope_2d(%x) {width=4}", "f32[B,S,H,D]", NULL},
    {"x: f32[1,4,1,6]", "axial_rope_2d(%x)", NULL, "4 does not divide the head size 6"},
    {"x: f32[1,4,1,8]", "axial_rope_2d(%x) {width=0}", NULL, "width 0 must be 1 or more"},
    {"x: f32[1,4,1,8]", "axial_rope_2d(%x) {theta=-1.0}", NULL, "theta -1"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_fused_ops) {
  static const rule rules[] = {
    {"a: f32[B,M,K]; b: f32[K,N]; c: f32[N]", "fused_matmul_bias_act(%a, %b, %c)", "f32[B,M,N]", NULL},
    {"a: f32[2,3]; b: f32[3,4]; c: f32[1,4]", "fused_matmul_bias_act(%a, %b, %c)", NULL,
     "input 2 (bias) is [1,4] but must be [4]"},
    {"a: f32[2,3]; b: f32[3,4]; c: f32[3]", "fused_matmul_bias_act(%a, %b, %c)", NULL, "must be [4]"},
    {"x: f32[M,32]; param g: q4_0[N,32]; param u: q8_0[7,32]", "fused_gate_up(%x, %g, %u) {trans_b=true}", "f32[M,7]",
     NULL},
    {"x: f32[2,3]; g: f32[3,4]; u: f32[3,5]", "fused_gate_up(%x, %g, %u)", NULL,
     "input 2 (w_up) is [3,5] but must be [3,4]"},
    {"x: f32[B,E]; r: f32[4,E]; g: f32[E]", "fused_residual_norm(%x, %r, %g)", "f32[4,E]", NULL},
    {"x: f32[2,3]; r: f32[3]", "fused_residual_norm(%x, %r)", NULL, "input 1 (residual) is [3]"},
    {"x: f32[2,3]; r: f32[2,3]; g: f32[2]", "fused_residual_norm(%x, %r, %g)", NULL,
                                            "input 2 (gamma) is [2] but must be [3]"},
    {"x: f32[]; r: f32[]", "fused_residual_norm(%x, %r)", NULL, "x is a scalar"},
    {"x: f32[2]; r: f32[2]", "fused_residual_norm(%x, %r) {eps=-1.0}", NULL, "eps -1"},
    {"x: f32[B,S,E]; w: f32[E,Q]; o: f32[J,E]", "fused_attention_block(%x, %w, %o) {heads=2}", "f32[B,S,E]", NULL},
    {"x: f32[B,S,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=2}", "f32[B,S,8]", NULL},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=3}", NULL,
     "3 heads do not divide x [1,2,8]"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=4, kv_heads=3}", NULL,
     "3 key heads do not divide 4"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=4, kv_heads=2}", NULL,
     "input 1 (w_qkv) is [8,24] but must be [8,16]"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[4,8]", "fused_attention_block(%x, %w, %o)", NULL,
     "input 2 (w_out) is [4,8] but must be [8,8]"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]; b: f32[8]", "fused_attention_block(%x, %w, %o, %b)", NULL,
     "input 3 (b_qkv) is [8] but must be [24]"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]; b: f32[9]", "fused_attention_block(%x, %w, %o, _, %b)", NULL,
     "input 4 (b_out) is [9]"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=0}", NULL, "heads 0"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=" HUGE_INT ", head_dim=2}",
     NULL, "overflow"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=" MIN_INT "}", NULL,
     "must not be negative"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {kv_heads=-1}", NULL,
     "must not be negative"},
    {"x: f32[1,2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {head_dim=" HUGE_INT "}", NULL,
     "not 1 to 512"},
    {"x: f32[2,8]; w: f32[8,24]; o: f32[8,8]", "fused_attention_block(%x, %w, %o)", NULL, "must have rank 3"},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* ---- runs ---- */

TEST(run_time_values_are_checked) {
  static const struct {
    const char *leaves, *expr, *part; /* part NULL: accepted */
  } runs[] = {
    {"x: f32[2,3]; w: f32[4,3,2]; i: i32[2] values(0,4)", "grouped_matmul(%x, %w, %i)", "idx[1] is expert 4 of 4"},
    {"x: f32[2,3]; w: f32[4,3,2]; i: i64[2] values(-1,0)", "grouped_matmul(%x, %w, %i)", "idx[0] is expert -1 of 4"},
    {"x: f32[1,3]; w: f32[0,3,2]; i: i32[1] values(0)", "grouped_matmul(%x, %w, %i)", "expert 0 of 0"},
    {"x: f32[1,32]; w: q8_0[2,3,32]; i: i32[1] values(2)", "dequant_grouped_matmul(%x, %w, %i)", "expert 2 of 2"},
    {"w: q8_0[2,32]; i: i32[1] values(2)", "dequant_moe_weights(%w, %i)", "expert 2 of 2"},
    {"q: f32[1,1,1,2]; k: f32[1,3,1,2]; v: f32[1,3,1,2]; n: i32[] values(4)", "attention(%q, %k, %v, _, _, _, %n)",
     "kv_len is 4 but there are 3 keys"},
    {"q: f32[1,1,1,2]; k: f32[1,3,1,2]; v: f32[1,3,1,2]; n: i32[] values(-1)", "attention(%q, %k, %v, _, _, _, %n)",
     "kv_len is -1"},
    {"q: f32[1,1,1,2]; k: f32[1,3,1,2]; v: f32[1,3,1,2]; n: i32[] values(3)", "attention(%q, %k, %v, _, _, _, %n)",
     NULL},
    {"q: f32[1,2,1,2]; k: f32[1,3,1,2]; v: f32[1,3,1,2]; o: i32[] values(-2147483648)",
     "attention(%q, %k, %v, _, _, _, _, %o) {causal=true, window=9223372036854775807}", NULL},
    {"q: f32[1,2,1,2]; k: f32[1,3,1,2]; v: f32[1,3,1,2]; o: i32[] values(2147483647)",
     "attention(%q, %k, %v, _, _, _, _, %o) {causal=true, window=1}", NULL},
    {"x: f32[1,2,1,4]; o: i32[] values(2); c: f32[3,2]", "rope(%x, _, %o, _, %c, %c)",
     "position 3 is not in the tables' 0..2"},
    {"x: f32[1,1,1,4]; p: i64[1] values(-1); c: f32[3,2]", "rope(%x, %p, _, _, %c, %c)", "position -1"},
    {"x: f32[1,2,1,4]; p: i64[2] values(-9e18,9e18)", "rope(%x, %p)", NULL},
    {"x: f32[1,2,1,4]; o: i32[] values(2147483647)", "rope(%x, _, %o)", NULL},
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    if (!runs[i].part) CHECK_OK(expr_runs(runs[i].leaves, runs[i].expr));
    else CHECK_FAILS(expr_runs(runs[i].leaves, runs[i].expr), RLX_INVALID, runs[i].part);
  }
}

TEST(fused_ops_equal_their_parts) {
  static const struct {
    const char *type;
    double tolerance;
  } types[] = {{"f32", 1e-6}, {"f16", 2e-2}, {"bf16", 1e-1}, {"f64", 1e-13}};
  static const char *const acts[] = {"relu", "gelu", "gelu_approx", "silu", "sigmoid", "tanh"};
  for (size_t t = 0; t < 4; t++)
    for (size_t a = 0; a < 6; a++) {
      char inputs[256], fused[256], parts[256];
      const char *type = types[t].type, *act = acts[a];
      snprintf(inputs, sizeof inputs, "g: %s[40,5] range(-9,9); u: %s[5]", type, type);
      snprintf(fused, sizeof fused, "fused_swiglu(%%g, %%u) {act=%s}", act);
      snprintf(parts, sizeof parts, "%%t = %s(%%g); mul(%%t, %%u)", act);
      CHECK_OK(expr_same(inputs, fused, parts, 0));
      snprintf(inputs, sizeof inputs, "x: %s[3,4] range(-1,1); w: %s[4,5] range(-1,1); c: %s[5]", type, type, type);
      snprintf(fused, sizeof fused, "fused_matmul_bias_act(%%x, %%w, %%c) {act=%s}", act);
      snprintf(parts, sizeof parts, "%%t = matmul(%%x, %%w); %%s = add(%%t, %%c); %s(%%s)", act);
      CHECK_OK(expr_same(inputs, fused, parts, types[t].tolerance));
      snprintf(fused, sizeof fused, "fused_gate_up(%%x, %%w, %%w) {act=%s}", act);
      snprintf(parts, sizeof parts, "%%t = matmul(%%x, %%w); %%s = %s(%%t); mul(%%s, %%t)", act);
      CHECK_OK(expr_same(inputs, fused, parts, types[t].tolerance));
    }
  CHECK_OK(expr_same("x: f32[3,9]; r: f32[3,9]; g: f32[9]", "fused_residual_norm(%x, %r, %g)",
                     "%t = add(%x, %r); rms_norm(%t, %g)", 1e-6));
  CHECK_OK(expr_same("x: f32[3,9]; r: f32[3,9]; g: f32[9]; b: f32[9]",
                     "fused_residual_norm(%x, %r, %g, %b) {kind=layer}", "%t = add(%x, %r); layer_norm(%t, %g, %b)",
                     1e-6));
  CHECK_OK(expr_same(
    "x: f32[2,5,8]; w: f32[8,16]; o: f32[8,8]", "fused_attention_block(%x, %w, %o) {heads=4, kv_heads=2, causal=true}",
    "%t = matmul(%x, %w); %a = slice(%t) {axes=[2], start=[0], stop=[8]}; %b = slice(%t) {axes=[2], start=[8],"
    " stop=[12]}; %c = slice(%t) {axes=[2], start=[12], stop=[16]}; %q = reshape(%a) {shape=[2,5,4,2]};"
    " %k = reshape(%b) {shape=[2,5,2,2]}; %v = reshape(%c) {shape=[2,5,2,2]};"
    " %y = attention(%q, %k, %v) {causal=true}; %z = reshape(%y) {shape=[2,5,8]}; matmul(%z, %o)",
    1e-5));
}

/* A decode step reads a cache longer than what it holds; the rest of it may be anything. */
TEST(a_key_past_the_length_changes_nothing) {
  CHECK_OK(
    expr_same("q: f32[1,1,2,4]; k: f32[1,3,2,4]; v: f32[1,3,2,4]; p: f32[1,2,2,4] values(nan,inf); n: i32[] values(3)",
              "%kk = concat(%k, %p) {axis=1}; %vv = concat(%v, %p) {axis=1};"
              " attention(%q, %kk, %vv, _, _, _, %n) {causal=true}",
              "attention(%q, %k, %v) {causal=true}", 0));
}

/* Empty tensors with enormous sizes: no loop and no scratch may depend on those sizes. */
TEST(empty_results_cost_nothing) {
  static const struct {
    const char *leaves, *expr;
  } runs[] = {
    {"a: f32[0,0]; b: f32[0,1000000000000000]", "matmul(%a, %b)"},
    {"a: f32[1000000000000000,0]; b: f32[0,0]", "matmul(%a, %b)"},
    {"a: f32[0,1000000000000000]; b: f32[0,3]", "dot_general(%a, %b) {batch_a=[0], batch_b=[0]}"},
    {"x: f32[0,0]; w: f32[0,5]; a: f32[0,1000000000000]; b: f32[1000000000000,0]; e: f32[0,0]",
     "lora_matmul(%x, %e, %a, %b)"},
    {"a: f32[0,0,0]; b: f32[0,0,1000000000000]", "dense_solve(%a, %b)"},
    {"q: f32[0,1,1,4]; k: f32[0,1000000000000,1,4]; v: f32[0,1000000000000,1,4]", "attention(%q, %k, %v)"},
    {"x: f32[1000000000000,0,1000,4]", "rope(%x)"},
    {"x: f32[1000000000,1000000000,0]; w: f32[0,12]; o: f32[4,0]", "fused_attention_block(%x, %w, %o) {head_dim=4}"},
    {"x: f32[1000000000000,0]", "fused_residual_norm(%x, %x)"},
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) CHECK_OK(expr_runs(runs[i].leaves, runs[i].expr));
}

/* ---- memory ---- */

static rlx_status every_op(void *user) {
  (void)user;
  return expr_runs(
    "x: f32[2,32] range(-1,1); w: q8_0[2,32]; e: q8_0[2,2,32]; i: i32[2] values(0,1); c: i8[32,2]; s: f32[1,2]",
    "%m = matmul(%x, %w) {trans_b=true}; %l = lora_matmul(%m, %m, %m, %m); %d = dot_general(%l, %l) {contract_a=[1],"
    " contract_b=[0]}; %z = dense_solve(%d, %m); %g = dequant_grouped_matmul(%x, %e, %i);"
    " %o = dequant_moe_weights(%e); %p = dequant_matmul(%x, %c, %s); %t = add(%z, %g); %u = add(%t, %p);"
    " %f = fused_matmul_bias_act(%u, %u); %h = fused_gate_up(%f, %f, %f); %r = fused_residual_norm(%h, %u);"
    " %q = reshape(%r) {shape=[1,2,1,2]}; %a = rope(%q); %v = attention(%a, %a, %q); %b = reshape(%v) {shape=[1,2,2]};"
    " %j = concat(%r, %r, %r) {axis=1}; fused_attention_block(%b, %j, %r)");
}

TEST(allocation_sweep) { CHECK_OK(alloc_sweep(every_op, NULL)); }
