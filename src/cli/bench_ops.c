/* The graphs that `rlx bench ops` measures: single ops at sizes found in models. Each row is a graph in text form
 * with the work of one run. */
#include "cli/cli.h"

#define F32(...) 4.0 * (__VA_ARGS__)
#define MATMUL(name, m, n, k)                                                                \
  {                                                                                          \
    name,                                                                                    \
      "graph { %1 = input \"a\" : f32[" #m "," #k "] %2 = param \"b\" : f32[" #k "," #n "] " \
      "%3 = matmul(%1, %2) output \"y\" = %3 }",                                             \
      2.0 * m *n *k, F32((double)m *k + (double)k * n + (double)m * n)                       \
  }
/* A weight in file layout, [N, K]; bits: per element. */
#define WEIGHT(name, type, bits, m, n, k)                                                          \
  {                                                                                                \
    name,                                                                                          \
      "graph { %1 = input \"a\" : f32[" #m "," #k "] %2 = param \"b\" : " #type "[" #n "," #k "] " \
      "%3 = matmul(%1, %2) {trans_b=true} output \"y\" = %3 }",                                    \
      2.0 * m *n *k, bits / 8.0 * n *k + F32((double)m *k + (double)m * n)                         \
  }
#define UNARY(name, call) \
  { name, "graph { %1 = input \"x\" : f32[4096,1024] %2 = " call " output \"y\" = %2 }", 0, F32(2.0 * 4096 * 1024) }

const cli_bench_op cli_bench_ops[] = {
  MATMUL("matmul_512", 512, 512, 512),
  MATMUL("matmul_1024", 1024, 1024, 1024),
  MATMUL("matmul_2048", 2048, 2048, 2048),
  MATMUL("matmul_1x4096", 1, 4096, 4096),
  MATMUL("matmul_8x4096", 8, 4096, 4096),
  MATMUL("matmul_32x4096", 32, 4096, 4096),
  WEIGHT("matvec_f16", f16, 16.0, 1, 4096, 4096),
  WEIGHT("matvec_q8_0", q8_0, 8.5, 1, 4096, 4096),
  WEIGHT("matvec_q4_0", q4_0, 4.5, 1, 4096, 4096),
  WEIGHT("matvec_q4_k", q4_k, 4.5, 1, 4096, 4096),
  WEIGHT("matvec_q6_k", q6_k, 6.5625, 1, 4096, 4096),
  WEIGHT("matmul_q4_k_128", q4_k, 4.5, 128, 4096, 4096),
  {"attention_prefill",
   "graph { %1 = input \"q\" : f32[1,512,16,64] %2 = input \"k\" : f32[1,512,4,64] %3 = input \"v\" : f32[1,512,4,64] "
   "%4 = attention(%1, %2, %3) {causal=true} output \"y\" = %4 }",
   2.0 * 2 * 16 * 64 * 512 * 512 / 2, F32(2.0 * 512 * 16 * 64 + 2.0 * 512 * 4 * 64)},
  {"attention_decode",
   "graph { %1 = input \"q\" : f32[1,1,32,128] %2 = input \"k\" : f32[1,4096,8,128] "
   "%3 = input \"v\" : f32[1,4096,8,128] %4 = attention(%1, %2, %3) output \"y\" = %4 }",
   2.0 * 2 * 32 * 128 * 4096, F32(2.0 * 4096 * 8 * 128)},
  {"conv_3x3",
   "graph { %1 = input \"x\" : f32[1,64,56,56] %2 = param \"w\" : f32[64,64,3,3] "
   "%3 = conv(%1, %2) {pad_lo=[1,1], pad_hi=[1,1]} output \"y\" = %3 }",
   2.0 * 64 * 64 * 9 * 56 * 56, F32(2.0 * 64 * 56 * 56 + 64.0 * 64 * 9)},
  {"conv_depthwise",
   "graph { %1 = input \"x\" : f32[1,96,112,112] %2 = param \"w\" : f32[96,1,3,3] "
   "%3 = conv(%1, %2) {pad_lo=[1,1], pad_hi=[1,1], groups=96} output \"y\" = %3 }",
   2.0 * 96 * 9 * 112 * 112, F32(2.0 * 96 * 112 * 112)},
  UNARY("softmax", "softmax(%1)"),
  UNARY("layer_norm", "layer_norm(%1)"),
  UNARY("rms_norm", "rms_norm(%1)"),
  UNARY("gelu", "gelu(%1)"),
  UNARY("silu", "silu(%1)"),
  UNARY("exp", "exp(%1)"),
  UNARY("transpose", "transpose(%1) {perm=[1,0]}"),
  {"add",
   "graph { %1 = input \"a\" : f32[4096,1024] %2 = input \"b\" : f32[4096,1024] %3 = add(%1, %2) output \"y\" = %3 }",
   0, F32(3.0 * 4096 * 1024)},
  {"reduce_sum", "graph { %1 = input \"x\" : f32[4096,1024] %2 = reduce_sum(%1) {axes=[1]} output \"y\" = %2 }", 0,
   F32(4096.0 * 1024)},
  {"fft_4096", "graph { %1 = input \"x\" : f32[256,4096] %2 = rfft(%1) %3 = view_as_real(%2) output \"y\" = %3 }",
   2.5 * 256 * 4096 * 12, F32(2.0 * 256 * 4096)},
};
const size_t cli_bench_ops_count = sizeof cli_bench_ops / sizeof *cli_bench_ops;
