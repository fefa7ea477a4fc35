/* Cases of products with packed and integer weights. They include odd K with two codes per byte, and K that is not a
 * multiple of the block of a scale. Integer results are exact, so scales avoid sums that are ties (or are powers of
 * two, where ties are exact). */
#include "conform/conform.h"

/* clang-format off */
CASES(dequant_matmul,
  {"int8_tiny",        "x: f32[2,4]; w: i8[4,3]; s: f32[1,3]",
                       "dequant_matmul(%x, %w, %s)"},
  {"int8_block",       "x: f32[3,64]; w: i8[64,5] range(-128,128); s: f32[2,5]",
                       "dequant_matmul(%x, %w, %s) {block=32}"},
  {"int8_ragged_block", "x: f32[3,37]; w: i8[37,5] range(-128,128); s: f32[3,5]",
                        "dequant_matmul(%x, %w, %s) {block=16}"},
  {"int8_batch",       "x: f32[2,3,2,8]; w: i8[8,5]; s: f32[1,5]",
                       "dequant_matmul(%x, %w, %s)"},
  {"int8_large_block", "x: f32[3,5]; w: i8[5,2]; s: f32[1,2]",
                       "dequant_matmul(%x, %w, %s) {block=1000000000000}"},
  {"int8_one",         "x: f32[1,1]; w: i8[1,1]; s: f32[1,1]",
                       "dequant_matmul(%x, %w, %s)"},
  {"int8_empty_m",     "x: f32[0,4]; w: i8[4,3]; s: f32[1,3]",
                       "dequant_matmul(%x, %w, %s)"},
  {"int8_empty_k",     "x: f32[2,0]; w: i8[0,3]; s: f32[0,3]",
                       "dequant_matmul(%x, %w, %s) {block=8}"},
  {"int8_larger",      "x: f32[9,300]; w: i8[300,33] range(-128,128); s: f32[10,33] range(0.001,0.01)",
                       "dequant_matmul(%x, %w, %s) {block=32}"},
  {"int8_asym",        "x: f32[3,8]; w: i8[8,5] range(-128,128); s: f32[1,5]; z: i8[1,5]",
                       "dequant_matmul(%x, %w, %s, %z) {scheme=int8_asym}"},
  {"int8_asym_block",  "x: f32[3,20]; w: i8[20,4] range(-128,128); s: f32[3,4]; z: i8[3,4] range(-128,128)",
                       "dequant_matmul(%x, %w, %s, %z) {scheme=int8_asym, block=8}"},
  {"int4",             "x: f32[3,8]; w: u8[4,5] range(0,256); s: f32[1,5]",
                       "dequant_matmul(%x, %w, %s) {scheme=int4}"},
  {"int4_odd_k",       "x: f32[3,7]; w: u8[4,5] range(0,256); s: f32[1,5]",
                       "dequant_matmul(%x, %w, %s) {scheme=int4}"},
  {"int4_block",       "x: f32[2,96]; w: u8[48,7] range(0,256); s: f32[3,7]",
                       "dequant_matmul(%x, %w, %s) {scheme=int4, block=32}"},
  {"int4_zero",        "x: f32[2,33]; w: u8[17,3] range(0,256); s: f32[3,3]; z: u8[3,3]",
                       "dequant_matmul(%x, %w, %s, %z) {scheme=int4, block=16}"},
  {"fp8_e4m3",         "x: f32[3,16]; w: u8[16,4] range(0,127)",
                       "dequant_matmul(%x, %w) {scheme=fp8_e4m3}"},
  {"fp8_e4m3_negative", "x: f32[3,16]; w: u8[16,4] range(128,255); s: f32[4]",
                        "dequant_matmul(%x, %w, %s) {scheme=fp8_e4m3}"},
  {"fp8_e4m3_all",     "x: f32[1,1] values(1); w: u8[1,256] index",
                       "dequant_matmul(%x, %w) {scheme=fp8_e4m3}"},
  {"fp8_e5m2",         "x: f32[3,16]; w: u8[16,4] range(0,124)",
                       "dequant_matmul(%x, %w) {scheme=fp8_e5m2}"},
  {"fp8_e5m2_scale",   "x: f32[2,9]; w: u8[9,5] range(128,252); s: f32[5]",
                       "dequant_matmul(%x, %w, %s) {scheme=fp8_e5m2}"},
  {"fp8_e5m2_all",     "x: f32[1,1] values(1); w: u8[1,256] index",
                       "dequant_matmul(%x, %w) {scheme=fp8_e5m2}"},
  {"nvfp4",            "x: f32[3,32]; w: u8[16,5] range(0,256); s: u8[2,5] range(40,72); g: f32[] values(0.75)",
                       "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}"},
  {"nvfp4_ragged",     "x: f32[2,19]; w: u8[10,3] range(0,256); s: u8[2,3] range(40,72); g: f32[1] values(0.01)",
                       "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}"},
  {"nvfp4_larger",     "x: f32[5,256]; w: u8[128,33] range(0,256); s: u8[16,33] range(1,100); g: f32[] values(0.001)",
                       "dequant_matmul(%x, %w, %s, _, %g) {scheme=nvfp4}"});

CASES(dequant_grouped_matmul,
  {"tiny",             "x: f32[2,32]; param w: q8_0[2,3,32]; idx: i32[2] values(1,0)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"odd",              "x: f32[7,64]; param w: q4_0[3,5,64]; idx: i32[7] range(0,3)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"not_transposed",   "x: f32[4,5]; param w: q4_0[3,5,32]; idx: i64[4] range(0,3)",
                       "dequant_grouped_matmul(%x, %w, %idx) {trans_b=false}"},
  {"q4_k",             "x: f32[3,256]; param w: q4_k[2,4,256]; idx: i32[3] values(1,1,0)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"q6_k",             "x: f32[3,256]; param w: q6_k[2,4,256]; idx: i32[3] values(0,1,0)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"mxfp4",            "x: f32[3,64]; param w: mxfp4[4,3,64]; idx: i32[3] values(3,0,3)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"iq4_nl",           "x: f32[3,32]; param w: iq4_nl[2,3,32]; idx: i64[3] values(0,1,1)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"one",              "x: f32[1,32]; param w: q5_1[1,1,32]; idx: i32[1] values(0)",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"empty",            "x: f32[0,32]; param w: q8_0[2,3,32]; idx: i32[0]",
                       "dequant_grouped_matmul(%x, %w, %idx)"},
  {"larger",           "x: f32[33,128]; param w: q8_0[5,17,128]; idx: i32[33] range(0,5)",
                       "dequant_grouped_matmul(%x, %w, %idx)"});

CASES(dequant_moe_weights,
  {"tiny",             "param w: q8_0[2,32]",                                               "dequant_moe_weights(%w)"},
  {"odd",              "param w: q4_0[3,5,32]",                                             "dequant_moe_weights(%w)"},
  {"chosen",           "param w: q4_1[4,2,32]; idx: i32[3] values(3,0,3)",
                       "dequant_moe_weights(%w, %idx)"},
  {"chosen_i64",       "param w: q5_0[4,2,32]; idx: i64[2] values(2,1)",
                       "dequant_moe_weights(%w, %idx)"},
  {"none_chosen",      "param w: q8_0[2,3,32]; idx: i32[0]",
                       "dequant_moe_weights(%w, %idx)"},
  {"empty",            "param w: q8_0[2,0,32]",                                             "dequant_moe_weights(%w)"},
  {"f16",              "param w: q6_k[2,256]",
                       "dequant_moe_weights(%w) {to=f16}"},
  {"bf16",             "param w: q4_k[2,1,256]; idx: i32[1] values(1)",
                       "dequant_moe_weights(%w, %idx) {to=bf16}"},
  {"larger",           "param w: q3_k[3,2,256]; idx: i32[2] values(2,0)",
                       "dequant_moe_weights(%w, %idx)"},
  {"mxfp4",            "param w: mxfp4[2,2,64]",                                            "dequant_moe_weights(%w)"});

CASES(q_matmul,
  {"tiny",             "a: i8[2,3]; b: i8[3,2]; sa: f32[] values(0.5); sb: f32[] values(0.25); sy: f32[] values(2)",
                       "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"odd",              "a: i8[5,13] range(-128,128); b: i8[13,7] range(-128,128); sa: f32[] values(0.013); "
                       "sb: f32[] values(0.021); sy: f32[] values(0.17)", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"zero_points",      "a: u8[5,9] range(0,256); b: u8[9,4] range(0,256); sa: f32[] values(0.013); "
                       "sb: f32[] values(0.021); sy: f32[] values(0.11); za: u8[] values(113); zb: u8[] values(127); "
                       "zy: u8[] values(121)", "q_matmul(%a, %b, %sa, %sb, %sy, %za, %zb, %zy) {to=u8}"},
  {"per_channel",      "a: u8[3,8] range(0,256); b: i8[8,5] range(-128,128); sa: f32[] values(0.02); "
                       "sb: f32[5] range(0.01,0.05); sy: f32[] values(0.3); za: u8[] values(128); zb: i8[5]; "
                       "zy: i8[] values(-7)", "q_matmul(%a, %b, %sa, %sb, %sy, %za, %zb, %zy)"},
  {"bias",             "a: i8[3,8] range(-128,128); b: i8[8,5] range(-128,128); sa: f32[] values(0.02); "
                       "sb: f32[] values(0.03); sy: f32[] values(0.41); c: i32[5] range(-1000,1000)",
                       "q_matmul(%a, %b, %sa, %sb, %sy, _, _, _, %c)"},
  {"halves",           "a: i8[4,1] values(1,3,5,-7); b: i8[1,4] values(1,-1,3,5); sa: f32[] values(0.5); "
                       "sb: f32[] values(1); sy: f32[] values(1)", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"saturates",        "a: i8[2,4] values(127,127,127,127,-128,-128,-128,-128); b: i8[4,2] values(127); "
                       "sa: f32[] values(1); sb: f32[] values(1); sy: f32[] values(1)",
                       "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"sums_wrap",        "a: i8[2,1] values(127,1); b: i8[1,2] values(127,-1); sa: f32[] values(1); sb: f32[] values(1); "
                       "sy: f32[] values(1e8); c: i32[2] values(2147483647,-2147483648)",
                       "q_matmul(%a, %b, %sa, %sb, %sy, _, _, _, %c)"},
  {"batch",            "a: i8[2,3,4]; b: i8[2,4,5]; sa: f32[] values(0.3); sb: f32[] values(0.7); "
                       "sy: f32[] values(1.1)", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"batch_broadcast",  "a: i8[2,1,3,4]; b: i8[3,4,2]; sa: f32[1] values(0.3); sb: f32[1] values(0.7); "
                       "sy: f32[1] values(1.1)", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"one",              "a: i8[1,1] values(-3); b: i8[1,1] values(5); sa: f32[] values(1); sb: f32[] values(1); "
                       "sy: f32[] values(1)", "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"empty_m",          "a: i8[0,4]; b: i8[4,2]; sa: f32[]; sb: f32[]; sy: f32[] values(1)",
                       "q_matmul(%a, %b, %sa, %sb, %sy)"},
  {"empty_k",          "a: i8[3,0]; b: i8[0,2]; sa: f32[] values(1); sb: f32[] values(1); sy: f32[] values(1); "
                       "zy: i8[] values(5)", "q_matmul(%a, %b, %sa, %sb, %sy, _, _, %zy)"},
  {"larger",           "a: i8[17,300] range(-128,128); b: u8[300,33] range(0,256); sa: f32[] values(0.0123); "
                       "sb: f32[] values(0.0071); sy: f32[] values(1.37); zb: u8[] values(128)",
                       "q_matmul(%a, %b, %sa, %sb, %sy, _, %zb)"});

CASES(q_conv2d,
  {"tiny",             "x: i8[1,1,3,3]; w: i8[1,1,2,2]; sx: f32[] values(0.5); sw: f32[] values(0.25); "
                       "sy: f32[] values(1)", "q_conv2d(%x, %w, %sx, %sw, %sy)"},
  {"odd",              "x: i8[2,3,7,5] range(-128,128); w: i8[4,3,3,2] range(-128,128); sx: f32[] values(0.013); "
                       "sw: f32[] values(0.021); sy: f32[] values(0.37)", "q_conv2d(%x, %w, %sx, %sw, %sy)"},
  {"stride_pad",       "x: u8[1,2,6,7] range(0,256); w: u8[3,2,3,3] range(0,256); sx: f32[] values(0.013); "
                       "sw: f32[] values(0.021); sy: f32[] values(0.37); zx: u8[] values(100); zw: u8[] values(130); "
                       "zy: u8[] values(90)", "q_conv2d(%x, %w, %sx, %sw, %sy, %zx, %zw, %zy) {to=u8, stride=[2,1], "
                       "pad_lo=[1,0], pad_hi=[2,1]}"},
  {"dilation",         "x: i8[1,2,8,8]; w: i8[2,2,3,2]; sx: f32[] values(0.3); sw: f32[] values(0.7); "
                       "sy: f32[] values(2.3)", "q_conv2d(%x, %w, %sx, %sw, %sy) {dilation=[2,3], pad_lo=[2,0]}"},
  {"groups",           "x: i8[1,4,5,5]; w: i8[6,2,3,3]; sx: f32[] values(0.3); sw: f32[] values(0.7); "
                       "sy: f32[] values(2.3)", "q_conv2d(%x, %w, %sx, %sw, %sy) {groups=2}"},
  {"depthwise",        "x: u8[2,5,4,4] range(0,256); w: i8[5,1,3,3] range(-128,128); sx: f32[] values(0.02); "
                       "sw: f32[5] range(0.01,0.05); sy: f32[] values(0.9); zx: u8[] values(128); zw: i8[5]",
                       "q_conv2d(%x, %w, %sx, %sw, %sy, %zx, %zw) {groups=5, pad_lo=[1,1], pad_hi=[1,1]}"},
  {"bias",             "x: i8[1,2,4,4]; w: i8[3,2,1,1]; sx: f32[] values(0.3); sw: f32[] values(0.7); "
                       "sy: f32[] values(2.3); c: i32[3] range(-300,300)",
                       "q_conv2d(%x, %w, %sx, %sw, %sy, _, _, _, %c)"},
  {"one",              "x: i8[1,1,1,1] values(3); w: i8[1,1,1,1] values(-4); sx: f32[] values(1); sw: f32[] values(1); "
                       "sy: f32[] values(8)", "q_conv2d(%x, %w, %sx, %sw, %sy)"},
  {"empty",            "x: i8[0,2,4,4]; w: i8[3,2,3,3]; sx: f32[] values(1); sw: f32[] values(1); sy: f32[] values(1)",
                       "q_conv2d(%x, %w, %sx, %sw, %sy)"},
  {"larger",           "x: i8[1,8,9,9] range(-128,128); w: i8[8,8,3,3] range(-128,128); sx: f32[] values(0.0123); "
                       "sw: f32[] values(0.0071); sy: f32[] values(0.57)",
                       "q_conv2d(%x, %w, %sx, %sw, %sy) {pad_lo=[1,1], pad_hi=[1,1]}"});
/* clang-format on */
