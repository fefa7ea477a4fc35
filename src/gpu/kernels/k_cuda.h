/* The CUDA prelude. The generated text is compiled by NVRTC with K_C0, K_C1, .. defined as the specialisation
 * constants; the windows are declared by K_WINDOWS. Vectors are CUDA's uint4 and float4.
 *
 * K_BEGIN, K_SHARED, K_LID, K_WG and K_BARRIER stay in the text as they are. tools/kernels puts their usual meaning,
 * one kernel per launch, in front of it, unless they are defined already: src/cuda/walk.c makes one kernel of many
 * texts. K_ENTER, K_NEXT and K_WAIT are defined by the compiler's options (src/cuda/compile.c): a kernel that started
 * early waits, and lets the next one start. */
typedef float f32;
typedef unsigned int u32;
typedef int i32;
typedef uint2 u32x2;
#define U2 make_uint2
#define K_UNROLL _Pragma("unroll")
#define K_DEVICE static __device__ __forceinline__
#define K_MEMBER __device__ __forceinline__
#ifdef K_MATRIX /* kernels on matrix units also index vectors */
template <class T> struct __align__(16) k_vector {
  T x, y, z, w;
  K_MEMBER T &operator[](u32 i) { return (&x)[i]; }
};
typedef k_vector<u32> u32x4;
typedef k_vector<f32> f32x4;
K_DEVICE u32x4 U4(u32 a, u32 b, u32 c, u32 d) { return {a, b, c, d}; }
K_DEVICE f32x4 F4(f32 a, f32 b, f32 c, f32 d) { return {a, b, c, d}; }
K_DEVICE f32x4 operator*(f32x4 a, f32 s) { return {a.x * s, a.y * s, a.z * s, a.w * s}; }
K_DEVICE f32x4 operator-(f32x4 a, f32x4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
#else
typedef uint4 u32x4;
typedef float4 f32x4;
#define U4 make_uint4
#define F4 make_float4
#endif

#define PARAMS_BEGIN struct Params { u32 groups;
#define FIELD(T, n) T n;
#define PARAMS_END };
#define CONST(id, n, d) static constexpr u32 n = K_C##id;
#define READS(i, n)
#define WRITES(i, n)
#define READS4(i, n)
#define WRITES4(i, n)
#define ATOMICS(i, n)
#define SHARED(T, n, N) K_SHARED(T, n, N)

#define VAR(T, n) T n
#define PRECISE(T, n) T n
#define EXACT(T, n) T n
#define ARRAY(T, n, N) T n[N]
#define TABLE(T, n, N, ...) static __device__ const T n[N] = {__VA_ARGS__};
#define FN1(R, n, A, a) K_DEVICE R n(A a)
#define FN2(R, n, A, a, B, b) K_DEVICE R n(A a, B b)
#define FN3(R, n, A, a, B, b, C, c) K_DEVICE R n(A a, B b, C c)
#define FN4(R, n, A, a, B, b, C, c, D, d) K_DEVICE R n(A a, B b, C c, D d)
#define FN5(R, n, A, a, B, b, C, c, D, d, E, e) K_DEVICE R n(A a, B b, C c, D d, E e)
#define KERNEL(n) K_BEGIN(n, K_WINDOWS) { K_ENTER \
  if (WG >= p.groups) { return; }
#define EARLY(i)
#define KERNEL_EARLY(n) K_BEGIN(n, K_WINDOWS) { K_NEXT \
  if (WG >= p.groups) { return; }
#define ENTER K_WAIT
#define END }

#define GROUP ((u32)K_C0)
#define LID K_LID
#define WG K_WG
#define BARRIER K_BARRIER
#define UNIFORM(shared_value) (shared_value)

#define LD(w, i) w[i]
#define ST(w, i, v) w[i] = v
#define LD4(w, i) w[i]
#define ST4(w, i, v) w[i] = v
#define ATOMIC_ADD(w, i, v) atomicAdd(&w[i], v)
#define ATOMIC_MAX(w, i, v) atomicMax(&w[i], v)
#define ATOMIC_LD(w, i) atomicAdd(&w[i], 0u)
#define ATOMIC_ST(w, i, v) w[i] = v

#define AS_F32(u) __uint_as_float(u)
#define AS_U32(f) __float_as_uint(f)
K_DEVICE f32x4 AS_F4(u32x4 u) { return F4(AS_F32(u.x), AS_F32(u.y), AS_F32(u.z), AS_F32(u.w)); }
K_DEVICE u32x4 AS_U4(f32x4 f) { return U4(AS_U32(f.x), AS_U32(f.y), AS_U32(f.z), AS_U32(f.w)); }
#define SELECT(c, t, f) ((c) ? (t) : (f))
template <class T> K_DEVICE T clamp(T x, T lo, T hi) { return min(max(x, lo), hi); }
#define RSQRT(x) rsqrtf(x)
#define ROUND_EVEN(x) rintf(x)
#define TRUNC(x) truncf(x)
K_DEVICE f32 k_half(u32 h) {
  f32 r;
  unsigned short s = (unsigned short)h;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(s));
  return r;
}
#define F16LO(u) k_half((u) & 0xffffu)
K_DEVICE u32 k_half_pair(f32 lo, f32 hi) {
  u32 r;
  asm("{.reg .f16 a, b; cvt.rn.f16.f32 a, %1; cvt.rn.f16.f32 b, %2; mov.b32 %0, {a, b};}" : "=r"(r) : "f"(lo), "f"(hi));
  return r;
}
#define PACKS_F16 1u
#define HALF_PAIR(a, b) k_half_pair(a, b)
#define F16HI(u) k_half((u) >> 16u)
#define MULHI(a, b) __umulhi(a, b)
#define COUNT_ONES(u) ((u32)__popc(u))
#define FIRST_ONE(u) (31u - (u32)__clz(u))
#define DOT4(a, b, c) __dp4a((i32)(a), (i32)(b), c)
#define K_SUBGROUP 1
#define SG_SIZE 32u
#define SG_LANE (threadIdx.x & 31u)
#define SG_INDEX (LID >> 5u)
template <class T> K_DEVICE T SG_XOR(T x, u32 mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
template <class T> K_DEVICE T SG_FROM(T x, u32 lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class T> K_DEVICE T SG_ADD(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x += SG_XOR(x, m);
  return x;
}
template <class T> K_DEVICE T SG_MAX(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x = max(x, SG_XOR(x, m));
  return x;
}
template <class T> K_DEVICE T SG_MIN(T x) {
  for (u32 m = 16u; m > 0u; m >>= 1u) x = min(x, SG_XOR(x, m));
  return x;
}
#ifdef K_MATRIX
#include "k_cuda_matrix.h"
#endif
#ifdef K_HOPPER
#include "k_cuda_hopper.h"
#endif
