/* The host prelude: compiles a kernel as C, one call per invocation, for tests under the sanitizers on machines without
 * a GPU. Windows are checked at every access, shared memory is allocated anew for each group so that the sanitizer
 * checks its bounds, and a barrier switches to the next invocation (fiber.c). gen/NAME.c includes this and the kernel,
 * and binds them. */
#ifndef RLX_EMU_K_HOST_H
#define RLX_EMU_K_HOST_H

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "emu/emu.h"

typedef float f32;
typedef uint32_t u32;
typedef int32_t i32;
typedef struct u32x2 {
  u32 x, y;
} u32x2;
typedef struct u32x4 {
  u32 x, y, z, w;
} u32x4;
typedef struct f32x4 {
  f32 x, y, z, w;
} f32x4;
#define f32(v) ((float)(v))
#define u32(v) ((uint32_t)(v))
#define i32(v) ((int32_t)(v))
#define U2(a, b) ((u32x2){a, b})
#define U4(a, b, c, d) ((u32x4){a, b, c, d})
#define F4(a, b, c, d) ((f32x4){a, b, c, d})
#define K_UNROLL

#define PARAMS_BEGIN typedef struct Params { u32 groups;
#define FIELD(T, n) T n;
#define PARAMS_END \
  } Params;        \
  static Params p;
#define CONST(id, n, d) static u32 n;
#define READS(i, n) static emu_window n;
#define WRITES(i, n) static emu_window n;
#define READS4(i, n) static emu_window n;
#define WRITES4(i, n) static emu_window n;
#define ATOMICS(i, n) static emu_window n;
#define SHARED(T, n, N) static T *n;

#define VAR(T, n) T n
#define PRECISE(T, n) T n
#define EXACT(T, n) T n
#define ARRAY(T, n, N) T n[N] /* N is a literal or an enumerator */
#define TABLE(T, n, N, ...) static const T n[N] = {__VA_ARGS__};
#define K_FN static inline __attribute__((unused))
#define FN1(R, n, A, a) K_FN R n(A a)
#define FN2(R, n, A, a, B, b) K_FN R n(A a, B b)
#define FN3(R, n, A, a, B, b, C, c) K_FN R n(A a, B b, C c)
#define FN4(R, n, A, a, B, b, C, c, D, d) K_FN R n(A a, B b, C c, D d)
#define FN5(R, n, A, a, B, b, C, c, D, d, E, e) K_FN R n(A a, B b, C c, D d, E e)
#define KERNEL(n)              \
  static void k_main(void) {   \
    enum { k_entered = 1 };    \
    if (WG >= p.groups) {      \
      return;                  \
    }
/* Before ENTER, windows that are not EARLY have no bytes. */
#define EARLY(i)
#define KERNEL_EARLY(n)        \
  static void k_main(void) {   \
    bool k_entered = false;    \
    if (WG >= p.groups) {      \
      return;                  \
    }
#define ENTER k_entered = true;
#define K_SEEN(w) (k_entered || (w).is_early ? &(w) : &emu_nothing)
#define END }

#define GROUP emu_group_size
#define LID emu_lid
#define WG emu_wg
#define BARRIER emu_barrier()
#define UNIFORM(shared_value) (shared_value)

#define LD(w, i) emu_load(K_SEEN(w), (i), #w)
#define ST(w, i, v) emu_store(&(w), (i), (v), #w)
static inline __attribute__((unused)) u32x4 k_load4(const emu_window *w, u32 i, const char *name) {
  return U4(emu_load(w, 4 * i, name), emu_load(w, 4 * i + 1, name), emu_load(w, 4 * i + 2, name),
            emu_load(w, 4 * i + 3, name));
}
static inline __attribute__((unused)) void k_store4(emu_window *w, u32 i, u32x4 v, const char *name) {
  emu_store(w, 4 * i, v.x, name);
  emu_store(w, 4 * i + 1, v.y, name);
  emu_store(w, 4 * i + 2, v.z, name);
  emu_store(w, 4 * i + 3, v.w, name);
}
#define LD4(w, i) k_load4(K_SEEN(w), (i), #w)
#define ST4(w, i, v) k_store4(&(w), (i), (v), #w)
static inline __attribute__((unused)) u32 k_atomic_add(emu_window *w, u32 i, u32 v, const char *name) {
  u32 old = emu_load(w, i, name);
  emu_store(w, i, old + v, name);
  return old;
}
static inline __attribute__((unused)) u32 k_atomic_max(emu_window *w, u32 i, u32 v, const char *name) {
  u32 old = emu_load(w, i, name);
  emu_store(w, i, v > old ? v : old, name);
  return old;
}
#define ATOMIC_ADD(w, i, v) k_atomic_add(&(w), (i), (v), #w)
#define ATOMIC_MAX(w, i, v) k_atomic_max(&(w), (i), (v), #w)
#define ATOMIC_LD(w, i) LD(w, i)
#define ATOMIC_ST(w, i, v) ST(w, i, v)

K_FN f32 AS_F32(u32 u) {
  f32 f;
  memcpy(&f, &u, 4);
  return f;
}
K_FN u32 AS_U32(f32 f) {
  u32 u;
  memcpy(&u, &f, 4);
  return u;
}
K_FN f32x4 AS_F4(u32x4 u) { return F4(AS_F32(u.x), AS_F32(u.y), AS_F32(u.z), AS_F32(u.w)); }
K_FN u32x4 AS_U4(f32x4 f) { return U4(AS_U32(f.x), AS_U32(f.y), AS_U32(f.z), AS_U32(f.w)); }
#define SELECT(c, t, f) ((c) ? (t) : (f))
#define RSQRT(x) (1.0f / sqrtf(x))
#define ROUND_EVEN(x) rintf(x)
#define TRUNC(x) truncf(x)
#define F16LO(u) emu_half((uint16_t)(u))
#define PACKS_F16 0u
#define HALF_PAIR(a, b) 0u
#define F16HI(u) emu_half((uint16_t)((u) >> 16u))
#define MULHI(a, b) ((u32)((uint64_t)(a) * (b) >> 32))
#define COUNT_ONES(u) ((u32)__builtin_popcount(u))
#define FIRST_ONE(u) (31u - (u32)__builtin_clz(u))
K_FN i32 k_dot4(u32 a, u32 b, i32 c) {
  u32 sum = (u32)c; /* wraps */
  for (u32 i = 0; i < 32u; i += 8u) sum += (u32)((i32)(int8_t)(a >> i) * (i32)(int8_t)(b >> i));
  return (i32)sum;
}
#define DOT4(a, b, c) k_dot4(a, b, c)

/* Functions that GLSL, WGSL and CUDA overload by type. */
K_FN f32 k_minf(f32 a, f32 b) { return b < a ? b : a; }
K_FN f32 k_maxf(f32 a, f32 b) { return b > a ? b : a; }
K_FN u32 k_minu(u32 a, u32 b) { return b < a ? b : a; }
K_FN u32 k_maxu(u32 a, u32 b) { return b > a ? b : a; }
K_FN i32 k_mini(i32 a, i32 b) { return b < a ? b : a; }
K_FN i32 k_maxi(i32 a, i32 b) { return b > a ? b : a; }
#define min(a, b) _Generic((a), f32: k_minf, u32: k_minu, i32: k_mini)(a, b)
#define max(a, b) _Generic((a), f32: k_maxf, u32: k_maxu, i32: k_maxi)(a, b)
#define clamp(x, lo, hi) min(max(x, lo), hi)
#define k_absi(x) ((x) < 0 ? (i32)(0u - (u32)(x)) : (x))
K_FN i32 k_absint(i32 x) { return k_absi(x); }
#define abs(x) _Generic((x), f32: fabsf, i32: k_absint)(x)
#define fma(a, b, c) fmaf(a, b, c)
#define exp(x) expf(x)
#define exp2(x) exp2f(x)
#define log(x) logf(x)
#define log2(x) log2f(x)
#define sqrt(x) sqrtf(x)
#define floor(x) floorf(x)
#define ceil(x) ceilf(x)
#define sin(x) sinf(x)
#define cos(x) cosf(x)
#define tanh(x) tanhf(x)
#define pow(x, y) powf(x, y)

#endif
