/* The translation of SPIR-V to PTX: every kernel that the driver alone can run is translated, what is not known is
 * refused, and any words are taken without harm. That the text computes the same is shown by conformance on the fake
 * driver, which runs it; that NVIDIA's assembler takes it, by tools/kernels --validate. */
#include "test.h"

#ifndef RLX_CUDA
TEST(ptx) { SKIP("this library was built without CUDA"); }
#else
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cuda/ptx.h"
#include "faults.h"
#include "gpu/gpu.h"
#include "gpu/spirv.h"
#include "spirv_change.h"
#include "spirv_code.h"

enum { N_CONSTANTS = GPU_CONSTANT_PACKS_F16 + 1 };

/* The variants for devices without matrix units. */
static const gpu_code *code_of(uint32_t k, uint32_t variant) {
  gpu_variant v;
  if (!gpu_pack_at(&gpu_column_spirv[k], variant, &v)) return NULL;
  const uint32_t known = 1u << GPU_FEATURE_subgroup | 1u << GPU_FEATURE_dot8;
  return v.needs & ~known ? NULL : spirv_code(gpu_kernels[k], variant);
}

static cu_ptx_desc desc_of(const gpu_kernel *k, uint32_t group_size) {
  return (cu_ptx_desc){
    .name = k->name, .group_size = group_size, .n_windows = k->n_windows, .params_bytes = k->params_bytes};
}

static rlx_status translate(const gpu_kernel *k, const gpu_code *s, const uint32_t *constants, char **text) {
  uint32_t *words = NULL;
  size_t n = 0;
  *text = NULL;
  const cu_ptx_desc desc = desc_of(k, constants[0]);
  rlx_status status = gpu_spirv_specialise(s->words, s->n, constants, N_CONSTANTS, &words, &n);
  if (!status) status = gpu_spirv_unroll(&words, &n);
  if (!status) status = cu_ptx_make(words, n, &desc, text);
  rlx_mem_free(words);
  return status;
}

/* 1, 2 and 4 are sizes that every kernel's constants may have. */
TEST(every_kernel_is_translated) {
  uint32_t constants[N_CONSTANTS], n = 0;
  for (uint32_t k = 0; k < GPU_KERNEL_COUNT; k++)
    for (uint32_t v = 0; v < SPIRV_MAX_VARIANTS; v++)
      for (uint32_t value = 1; value <= 4; value *= 2) {
        const gpu_code *s = code_of(k, v);
        if (!s) continue;
        for (uint32_t i = 0; i < N_CONSTANTS; i++) constants[i] = i ? value : 64;
        char *text, entry[96];
        if (translate(gpu_kernels[k], s, constants, &text)) FAIL("constants %u: %s", (unsigned)value, rlx_message());
        snprintf(entry, sizeof entry, ".visible .entry %s(", gpu_kernels[k]->name);
        CHECK(strstr(text, entry) && strstr(text, ".maxntid 64, 1, 1") && strstr(text, "ret;\n}\n"));
        rlx_mem_free(text);
        n++;
      }
  CHECK(n > 200);
}

/* Rows of normalize4 are arrays whose every index is a number once loops are unrolled. */
TEST(arrays_are_registers) {
  const gpu_code *s = spirv_code(&gpu_kernel_normalize4, 1);
  uint32_t constants[N_CONSTANTS] = {256};
  memcpy(constants + 1, &(gpu_constants_normalize4){.lanes = 256, .vecs = 4, .centre = 1},
         sizeof(gpu_constants_normalize4));
  char *text;
  CHECK_OK(translate(&gpu_kernel_normalize4, s, constants, &text));
  CHECK(!strstr(text, ".local"));
  CHECK(strstr(text, "ld.global.v4.b32"));
  rlx_mem_free(text);
}

/* for (a = 1, b = 2, i = 0; i < a; i++) swap(a, b); w0[i] = a; */
static const uint32_t swap[] = {
  0x7230203, 0x10300,    0x70000, 24,      0,       0x20011, 1,       0x3000e, 0,  1,       0x5000f, 5,
  1,         0x6e69616d, 0,       0x60010, 1,       17,      1,       1,       1,  0x40047, 2,       6,
  4,         0x50048,    3,       0,       35,      0,       0x30047, 3,       2,  0x40047, 4,       34,
  0,         0x40047,    4,       33,      0,       0x20013, 5,       0x30021, 6,  5,       0x40015, 7,
  32,        0,          0x20014, 8,       0x3001d, 2,       7,       0x3001e, 3,  2,       0x40020, 9,
  12,        3,          0x40020, 10,      12,      7,       0x4003b, 9,       4,  12,      0x4002b, 7,
  11,        0,          0x4002b, 7,       12,      1,       0x4002b, 7,       13, 2,       0x50036, 5,
  1,         0,          6,       0x200f8, 14,      0x200f9, 15,      0x200f8, 15, 0x700f5, 7,       16,
  12,        14,         17,      18,      0x700f5, 7,       17,      13,      14, 16,      18,      0x700f5,
  7,         19,         11,      14,      20,      18,      0x500b0, 8,       21, 19,      16,      0x400f6,
  22,        18,         0,       0x400fa, 21,      18,      22,      0x200f8, 18, 0x50080, 7,       20,
  19,        12,         0x200f9, 15,      0x200f8, 22,      0x60041, 10,      23, 4,       11,      19,
  0x3003e,   23,         16,      0x100fd, 0x10038};

/* On the way back to the head, a takes b while b takes a: neither may be written before both are read. */
TEST(phis_are_written_at_once) {
  const cu_ptx_desc desc = {.name = "swap", .group_size = 32, .n_windows = 1, .params_bytes = 4};
  char *text;
  CHECK_OK(cu_ptx_make(swap, sizeof swap / sizeof *swap, &desc, &text));
  const char *back = strstr(text, "mov.b32 %r0, 1;\nmov.b32 %r1, 2;\nmov.b32 %r2, 0;\n");
  CHECK(back != NULL);
  const char *first = strstr(back, ", %r1;\n"), *second = strstr(back, ", %r0;\n");
  const char *write = strstr(back + 30, "mov.b32 %r0, "), *other = strstr(back + 30, "mov.b32 %r1, %r");
  CHECK(first && second && write && other);
  CHECK(first < write && second < write && first < other && second < other);
  rlx_mem_free(text);
}

TEST(what_is_not_known_is_refused) {
  const cu_ptx_desc desc = {.name = "swap", .group_size = 32, .n_windows = 1, .params_bytes = 4};
  const cu_ptx_desc none = {.name = "swap", .group_size = 32, .n_windows = 0, .params_bytes = 4};
  const size_t n = sizeof swap / sizeof *swap;
  uint32_t words[sizeof swap / sizeof *swap];
  char *text = NULL;
  CHECK_FAILS(cu_ptx_make(swap, n - 1, &desc, &text), RLX_INVALID, "not a SPIR-V module");
  CHECK_FAILS(cu_ptx_make(swap, n, &none, &text), RLX_UNSUPPORTED, "a window that the kernel does not have");
  memcpy(words, swap, sizeof swap);
  for (size_t i = 5; i < n; i += words[i] >> 16)
    if ((words[i] & 0xffff) == 128) words[i] = (words[i] & 0xffff0000u) | 141; /* IAdd: FMod */
  CHECK_FAILS(cu_ptx_make(words, n, &desc, &text), RLX_UNSUPPORTED, "instruction 141");
  CHECK(!text);
  const gpu_kernel *k = &gpu_kernel_matmul_coop2; /* on matrix units */
  const gpu_code *s = spirv_code(k, 0);
  const uint32_t constants[N_CONSTANTS] = {128, 1, 1, 1, 1};
  CHECK_FAILS(translate(k, s, constants, &text), RLX_UNSUPPORTED, "has no PTX");
}

static uint32_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

TEST(changed_words) {
  uint64_t seed = 17;
  size_t n_taken = 0, n_refused = 0;
  for (int round = 0; round < 25000; round++) {
    const uint32_t k = next(&seed) % GPU_KERNEL_COUNT;
    const gpu_code *s = code_of(k, next(&seed) % SPIRV_MAX_VARIANTS);
    if (!s || s->n > 12000) continue; /* not the largest, for time */
    uint32_t constants[N_CONSTANTS] = {64}, *made = NULL;
    for (int i = 1; i < N_CONSTANTS; i++) constants[i] = next(&seed) % 5;
    size_t n = 0;
    CHECK_OK(gpu_spirv_specialise(s->words, s->n, constants, N_CONSTANTS, &made, &n));
    for (uint32_t i = next(&seed) % 4; i; i--) {
      const uint32_t where = next(&seed), kind = next(&seed), value = next(&seed);
      spirv_change(made, &n, where, kind, value);
    }
    uint32_t *exact = rlx_mem_alloc(n * sizeof *exact + !n); /* exact size: a sanitizer detects a read past the end */
    memcpy(exact, made, n * sizeof *exact);
    const cu_ptx_desc desc = desc_of(gpu_kernels[k], 64);
    char *text = NULL;
    const rlx_status status = cu_ptx_make(exact, n, &desc, &text);
    CHECK(status == RLX_OK || status == RLX_INVALID || status == RLX_UNSUPPORTED);
    CHECK((status == RLX_OK) == (text != NULL));
    status ? n_refused++ : n_taken++;
    rlx_mem_free(text);
    rlx_mem_free(exact);
    rlx_mem_free(made);
  }
  CHECK(n_taken > 1000 && n_refused > 1000);
}

static rlx_status once(void *user) {
  (void)user;
  const uint32_t constants[N_CONSTANTS] = {64, 1, 1, 1};
  char *text;
  rlx_status status = translate(&gpu_kernel_softmax, spirv_code(&gpu_kernel_softmax, 0), constants, &text);
  rlx_mem_free(text);
  return status;
}
TEST(allocations_may_fail) { CHECK_OK(alloc_sweep(once, NULL)); }
#endif
