/* The part of the CUDA prelude for kernels on matrix units (NAME.matrix.k): GLSL's names for subgroups, its 16-bit
 * floats (bf16 with K_BFLOAT16), and the instructions that matrices.h builds matrices of. From sm_80 on. */
#define gl_SubgroupID (LID >> 5u)
#define gl_SubgroupInvocationID (threadIdx.x & 31u)
K_DEVICE void subgroupBarrier() { __syncwarp(); }
template <class T> K_DEVICE T subgroupShuffleXor(T x, u32 mask) { return SG_XOR(x, mask); }
K_DEVICE bool subgroupAll(bool x) { return __all_sync(0xffffffffu, x); }
K_DEVICE bool subgroupAny(bool x) { return __any_sync(0xffffffffu, x); }
K_DEVICE void atomicOr(u32 &to, u32 v) { atomicOr(&to, v); }
K_DEVICE void atomicMax(u32 &to, u32 v) { atomicMax(&to, v); }

/* ---- elements ---- */

struct float16_t {
  unsigned short bits;
  float16_t() = default;
#ifdef K_BFLOAT16
  K_MEMBER explicit float16_t(f32 f) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(f)); }
  K_MEMBER explicit operator f32() const { return AS_F32((u32)bits << 16u); }
#else
  K_MEMBER explicit float16_t(f32 f) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(f)); }
  K_MEMBER explicit operator f32() const { return k_half(bits); }
#endif
};
K_DEVICE float16_t operator-(float16_t a) {
  a.bits ^= 0x8000u;
  return a;
}
struct f16vec2 {
  float16_t x, y;
  f16vec2() = default;
  K_MEMBER f16vec2(f32 a, f32 b) : x(a), y(b) {}
  K_MEMBER f16vec2(float16_t a, float16_t b) : x(a), y(b) {}
};
K_DEVICE u32 packFloat2x16(f16vec2 v) { return (u32)v.x.bits | ((u32)v.y.bits << 16u); }
K_DEVICE f16vec2 unpackFloat2x16(u32 w) {
  f16vec2 v;
  v.x.bits = (unsigned short)(w & 0xffffu);
  v.y.bits = (unsigned short)(w >> 16u);
  return v;
}
#ifndef K_BFLOAT16
K_DEVICE f16vec2 operator+(f16vec2 a, f16vec2 b) {
  u32 r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(packFloat2x16(a)), "r"(packFloat2x16(b)));
  return unpackFloat2x16(r);
}
K_DEVICE f16vec2 operator*(f16vec2 a, f16vec2 b) {
  u32 r;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(packFloat2x16(a)), "r"(packFloat2x16(b)));
  return unpackFloat2x16(r);
}
K_DEVICE f16vec2 fma(f16vec2 a, f16vec2 b, f16vec2 c) {
  u32 r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;"
      : "=r"(r) : "r"(packFloat2x16(a)), "r"(packFloat2x16(b)), "r"(packFloat2x16(c)));
  return unpackFloat2x16(r);
}
#endif

/* ---- instructions ---- */

/* Four 8 x 8 matrices from shared memory: invocation l gives the address of row l % 8 of matrix l / 8. Invocation
 * 4 g + t gets elements 2 t and 2 t + 1 of row g of each; `transposed`: of column g. */
K_DEVICE void k_load_matrices(const u32x4 *row, bool transposed, u32 w[4]) {
  const u32 at = (u32)__cvta_generic_to_shared(row);
  if (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at) : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at) : "memory");
  }
}
#ifdef K_BFLOAT16
#define K_MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
#else
#define K_MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
#endif
/* 16 x 8 sums plus 16 x 16 times 16 x 8. Invocation 4 g + t holds pairs of neighbours from column 2 t: of a, rows g and
 * g + 8 of the left half of its columns, then of the right half; of the sums, rows g (c0, c1) and g + 8 (c2, c3); of b,
 * column g, its rows from 2 t and from 2 t + 8. */
K_DEVICE void k_multiply(const u32 a[4], u32 b0, u32 b1, f32 &c0, f32 &c1, f32 &c2, f32 &c3) {
  asm(K_MMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#define K_STORE_PAIR(vector, i, a, b) *(float2 *)(&(vector).x + (i)) = make_float2(a, b)
#include "matrices.h"
