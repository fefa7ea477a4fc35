/* The text around the kernels that one kernel is composed of (walk.h). Before their texts: what K_BEGIN and the other
 * open words of k_cuda.h mean here. A block has K_T invocations. A kernel with groups of K_C0 has K_T / K_C0 groups at
 * work in a block, each with a slice of shared memory and a barrier of its own. All kernels use the same shared memory,
 * k_all: walk.c numbers their arrays, and k_place<I> is where array I of a kernel is. Each kernel is a function of its
 * own: inlined into one, some of them take the compiler hours. After the texts: the walk itself, with a case for each
 * kernel in the middle. */
#ifndef RLX_CUDA_WALK_TEXT_H
#define RLX_CUDA_WALK_TEXT_H

static const char walk_words[] =
  "#undef K_ENTER\n"
  "#undef K_NEXT\n"
  "#undef K_WAIT\n"
  "#define K_ENTER\n"
  "#define K_NEXT\n"
  "#define K_WAIT\n"
  "#define K_BEGIN(name, ...) \\\n"
  "  static __device__ __forceinline__ void body(const u32 k_wg, __VA_ARGS__, const Params p)\n"
  "#define K_SHARED(I, T, name, N) \\\n"
  "  template <> struct k_place<I> { \\\n"
  "    static constexpr unsigned at = k_place<I - 1>::end, each = (sizeof(T) * (N) + 15) / 16 * 16, \\\n"
  "                              end = at + each * (K_T / K_C0); \\\n"
  "    static_assert(end <= sizeof k_all, \"a kernel that takes too much shared memory\"); \\\n"
  "  }; \\\n"
  "  struct name##_view { \\\n"
  "    __device__ __forceinline__ T &operator[](unsigned i) const { \\\n"
  "      return ((T *)(k_all + k_place<I>::at + (K_T == K_C0 ? 0 : threadIdx.x / K_C0 * k_place<I>::each)))[i]; \\\n"
  "    } \\\n"
  "  }; \\\n"
  "  static __device__ const name##_view name = {};\n"
  "#define K_LID (threadIdx.x % K_C0)\n"
  "#define K_WG k_wg\n"
  "#define K_BARRIER k_barrier<K_C0>()\n"
  "static __shared__ __align__(16) unsigned char k_all[46 << 10];\n"
  "template <unsigned G> static __device__ __forceinline__ void k_barrier() {\n"
  "  if (G == K_T) __syncthreads();\n"
  "  else if (G == 32) __syncwarp();\n"
  "  else asm volatile(\"bar.sync %0, %1;\" ::\"r\"(1 + threadIdx.x / G), \"n\"(G) : \"memory\");\n"
  "}\n"
  "struct k_any {\n" /* an address of global memory, which the compiler would not know otherwise */
  "  unsigned long long at;\n"
  "  template <class T> __device__ __forceinline__ operator T *() const { return (T *)__cvta_global_to_generic(at); }\n"
  "};\n"
  "struct k_range {\n"
  "  unsigned long long at, bytes;\n"
  "};\n"
  "struct __align__(16) k_step {\n"
  "  unsigned long long windows[8];\n"
  "  unsigned params[32], kernel, groups, turn, ends;\n"
  "  k_range ahead[6];\n"
  "};\n"
  /* The first group of a slice; the next ones follow at distances of all slices of all blocks. */
  "static __device__ __forceinline__ unsigned k_first(const k_step &s, unsigned g) {\n"
  "  return (blockIdx.x + gridDim.x - s.turn) % gridDim.x + gridDim.x * (threadIdx.x / g);\n"
  "}\n";

static const char walk_begin[] =
  "static __device__ __forceinline__ void k_get(const k_step *from, k_step *to) {\n"
  "  if (threadIdx.x >= sizeof(k_step) / 16) return;\n"
  "#if __CUDA_ARCH__ >= 800\n"
  "  const unsigned at = (unsigned)__cvta_generic_to_shared((uint4 *)to + threadIdx.x);\n"
  "  asm volatile(\"cp.async.ca.shared.global [%0], [%1], 16;\" ::\"r\"(at), \"l\"((const uint4 *)from + "
  "threadIdx.x) : \"memory\");\n"
  "#else\n"
  "  ((uint4 *)to)[threadIdx.x] = ((const uint4 *)from)[threadIdx.x];\n"
  "#endif\n"
  "}\n"
  "static __device__ __forceinline__ void k_got() {\n"
  "#if __CUDA_ARCH__ >= 800\n"
  "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"
  "#endif\n"
  "  __syncthreads();\n"
  "}\n"
  "static __device__ __forceinline__ void k_fetch_ahead(const k_range r) {\n"
  "  for (unsigned long long i = 128ull * (blockIdx.x * K_T + threadIdx.x); i < r.bytes;\n"
  "       i += 128ull * K_T * gridDim.x)\n"
  "    asm volatile(\"prefetch.global.L2 [%0];\" ::\"l\"(r.at + i));\n"
  "}\n"
  /* All blocks. The counter's top bit flips when the last one arrives, so it needs no reset between launches; `phase`
   * is its value before, which does not change until this block has arrived too. */
  "static __device__ __forceinline__ void k_meet(unsigned *counter, unsigned &phase) {\n"
  "  if (threadIdx.x == 0) {\n"
  "    const unsigned mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1u;\n"
  "    unsigned now;\n"
  "    asm volatile(\"red.release.gpu.global.add.u32 [%0], %1;\" ::\"l\"(counter), \"r\"(mine) : \"memory\");\n"
  "    do asm volatile(\"ld.acquire.gpu.global.u32 %0, [%1];\" : \"=r\"(now) : \"l\"(counter) : \"memory\");\n"
  "    while (((phase ^ now) & 0x80000000u) == 0);\n"
  "    phase = now;\n"
  "  }\n"
  "  __syncthreads();\n"
  "}\n"
  "extern \"C\" __global__ void __launch_bounds__(K_T, 1)\n"
  "  walk(const k_step *steps, const unsigned n, unsigned *counter) {\n"
  "  __shared__ k_step now[2];\n"
  "  unsigned phase;\n"
  "  asm volatile(\"ld.relaxed.gpu.global.u32 %0, [%1];\" : \"=r\"(phase) : \"l\"(counter) : \"memory\");\n"
  "  k_get(steps, &now[0]);\n"
  "  k_got();\n"
  "  for (unsigned i = 0; i < n; i++) {\n"
  "    const k_step &s = now[i & 1];\n"
  "    const unsigned ends = s.ends;\n"
  "    if (i + 1 < n) k_get(steps + i + 1, &now[~i & 1]);\n"
  "    for (unsigned r = 0; r < 6 && s.ahead[r].bytes; r++) k_fetch_ahead(s.ahead[r]);\n"
  "    switch (s.kernel) {\n";

static const char walk_end[] = "    }\n"
                               "    k_got();\n"
                               "    if (ends) k_meet(counter, phase);\n"
                               "  }\n"
                               "}\n";

#endif
