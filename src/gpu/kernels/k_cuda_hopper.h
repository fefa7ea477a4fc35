/* The part of the CUDA prelude for kernels NAME.hopper.k: the instructions of compute capability 9.0 (sm_90a) for
 * products of a warp group, which is 128 neighbouring invocations, the first of them at a multiple of 128.
 *
 * A product is 64 x N plus 64 x 16 times 16 x N, of f16 or bf16 (K_BFLOAT16) with f32 sums. Invocation 32 w + 4 g + t
 * holds d[4 j + 2 h + i], the sum of row 16 w + g + 8 h and column 8 j + 2 t + i. The left factor is in shared memory
 * or in registers (as matrices.h has it: row g of the left half of k, row g + 8, then the right half), the right one in
 * shared memory. Products run beside the invocations: k_products_begin before the first one of a batch, k_products_end
 * after its last, k_products_wait<n> until at most n batches are left. Until then nobody touches d, or the registers
 * of a left factor.
 *
 * A factor in shared memory is described by k_factor_by_k or k_factor_by_n. Its rows are 128 bytes (64 elements), and
 * its 16-byte vectors are permuted: vector v of row r is at k_swizzled(r, v). It starts at a multiple of 1024 bytes.
 * Memory that was written by ordinary stores or by k_copy_async needs k_shared_to_products before the barrier that
 * precedes the product. */
extern __shared__ __align__(1024) unsigned char k_dynamic_start[]; /* the launch gives its size: dynamic_bytes */
typedef unsigned long long u64;
#define K_UNROLL4 _Pragma("unroll 4")
#define K_UNROLL8 _Pragma("unroll 8")

K_DEVICE u32 k_shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
/* Where a factor may start in that memory: add 1024 to the bytes that are used. */
K_DEVICE u32 k_dynamic_address() { return (k_shared_address(k_dynamic_start) + 1023u) & ~1023u; }
/* 16 bytes at an address; four bytes; eight. */
K_DEVICE void k_shared_put(u32 at, u32x4 x) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
K_DEVICE void k_shared_put_word(u32 at, u32 x) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(x) : "memory");
}
K_DEVICE u32x4 k_shared_get(u32 at) {
  u32x4 x;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(at) : "memory");
  return x;
}
K_DEVICE u32x2 k_shared_get_two(u32 at) {
  u32x2 x;
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(at) : "memory");
  return x;
}
K_DEVICE u32 k_shared_get_word(u32 at) {
  u32 x;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
  return x;
}
#include "factors.h"

/* ---- copies into shared memory ---- */

/* 16 bytes; zeros if `there` is false. */
K_DEVICE void k_copy_async(u32 to, const void *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0) : "memory");
}
/* Vector i of a window; zeros if `there` is false. */
#define K_COPY4(to, w, i, there) k_copy_async(to, &(w)[(there) ? (i) : 0u], there)
K_DEVICE void k_copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> K_DEVICE void k_copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
K_DEVICE void k_shared_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Waits for `n` invocations, a multiple of 32, at barrier `id` (1 to 15); k_barrier_arrive does not wait. */
K_DEVICE void k_barrier_wait(u32 id, u32 n) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n) : "memory"); }
K_DEVICE void k_barrier_arrive(u32 id, u32 n) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(n) : "memory"); }
/* Registers of each invocation of a warp group from here on: a multiple of 8. */
template <int N> K_DEVICE void k_registers_more() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N)); }
template <int N> K_DEVICE void k_registers_fewer() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N)); }

/* ---- products ---- */

/* The same description, of which the compiler cannot compute others in advance: those would take registers. */
K_DEVICE u64 k_factor_now(u64 factor) {
  asm volatile("" : "+l"(factor));
  return factor;
}

K_DEVICE void k_products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
K_DEVICE void k_products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> K_DEVICE void k_products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* What uses d stays after this: the compiler does not know that sums are not there until k_products_wait. */
template <u32 N> K_DEVICE void k_products_done(f32 (&d)[N]) {
  K_UNROLL for (u32 i = 0u; i < N; i += 1u) asm volatile("" : "+f"(d[i]) :: "memory");
}
/* x, which is never negative, is computed before the wait that follows. The compiler moves a wait to the start of a run
 * of instructions without branches, and with it the end of what should be computed meanwhile; so this is a branch. */
K_DEVICE void k_before_wait(f32 x) {
  if (__any_sync(0xffffffffu, x < 0.0f)) asm volatile("nanosleep.u32 1;" ::: "memory");
}
/* Two elements of a left factor: the first is the lower. */
K_DEVICE u32 k_factor_pair(f32 a, f32 b) {
  u32 r;
#ifdef K_BFLOAT16
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
#else
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
#endif
  return r;
}
/* 2 to the power of x, to 22 bits, in one instruction; below 2^-126 it is 0. */
K_DEVICE f32 k_power_of_2(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

#ifdef K_BFLOAT16
#define K_WGMMA_TYPES ".f32.bf16.bf16 "
#else
#define K_WGMMA_TYPES ".f32.f16.f16 "
#endif
#define K_WGMMA(N) "wgmma.mma_async.sync.aligned.m64n" #N "k16" K_WGMMA_TYPES
#define K_SUMS4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define K_SUMS16(d, i) K_SUMS4(d, i), K_SUMS4(d, i + 4), K_SUMS4(d, i + 8), K_SUMS4(d, i + 12)
#define K_SUMS32(d, i) K_SUMS16(d, i), K_SUMS16(d, i + 16)
#define K_SUMS_OF_8(d) K_SUMS4(d, 0)
#define K_SUMS_OF_16(d) K_SUMS4(d, 0), K_SUMS4(d, 4)
#define K_SUMS_OF_32(d) K_SUMS16(d, 0)
#define K_SUMS_OF_64(d) K_SUMS32(d, 0)
#define K_SUMS_OF_128(d) K_SUMS32(d, 0), K_SUMS32(d, 32)
#define K_SUMS_OF_192(d) K_SUMS32(d, 0), K_SUMS32(d, 32), K_SUMS32(d, 64)
#define K_SUMS_OF_256(d) K_SUMS32(d, 0), K_SUMS32(d, 32), K_SUMS32(d, 64), K_SUMS32(d, 96)
#define K_NAMES_OF_8 "%0, %1, %2, %3"
#define K_NAMES_OF_16 K_NAMES_OF_8 ", %4, %5, %6, %7"
#define K_NAMES_OF_32 K_NAMES_OF_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define K_NAMES_OF_64 K_NAMES_OF_32 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define K_NAMES_OF_128 \
  K_NAMES_OF_64 ", " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define K_NAMES_OF_192 \
  K_NAMES_OF_128 ", " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, " \
  "%84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define K_NAMES_OF_256 \
  K_NAMES_OF_192 ", " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, " \
  "%113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

/* BY_N: the right factor is k_factor_by_n. `add`: false: the sums start from 0. */
template <int N, bool BY_N> struct k_wide;
#define K_WIDE(N, A, B, ADD, P1, P2, P3, Q0, Q1)                                                               \
  template <bool BY_N> struct k_wide<N, BY_N> {                                                                    \
    K_MEMBER static void both_shared(f32 (&d)[N / 2], u64 a, u64 b, bool add) {                                    \
      asm volatile("{.reg .pred p; setp.ne.b32 p, " ADD ", 0; " K_WGMMA(N) \
                   "{" K_NAMES_OF_##N "}, " A ", " B ", p, 1, 1, 0, %" #Q0 ";}"                                     \
                   : K_SUMS_OF_##N(d) : "l"(a), "l"(b), "r"((u32)add), "n"(BY_N ? 1 : 0));                          \
    }                                                                                                              \
    K_MEMBER static void left_in_registers(f32 (&d)[N / 2], const u32 (&a)[4], u64 b, bool add) {                  \
      asm volatile("{.reg .pred p; setp.ne.b32 p, %" #P3 ", 0; " K_WGMMA(N) \
                   "{" K_NAMES_OF_##N "}, {" A ", " B ", " ADD ", %" #P1 "}, %" #P2 ", p, 1, 1, %" #Q1 ";}"         \
                   : K_SUMS_OF_##N(d)                                                                              \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((u32)add), "n"(BY_N ? 1 : 0));         \
    }                                                                                                              \
  };
K_WIDE(8, "%4", "%5", "%6", 7, 8, 9, 7, 10)
K_WIDE(16, "%8", "%9", "%10", 11, 12, 13, 11, 14)
K_WIDE(32, "%16", "%17", "%18", 19, 20, 21, 19, 22)
K_WIDE(64, "%32", "%33", "%34", 35, 36, 37, 35, 38)
K_WIDE(128, "%64", "%65", "%66", 67, 68, 69, 67, 70)
K_WIDE(192, "%96", "%97", "%98", 99, 100, 101, 99, 102)
K_WIDE(256, "%128", "%129", "%130", 131, 132, 133, 131, 134)
