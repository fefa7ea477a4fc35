/* What each system says of an Arm processor: bits of the auxiliary vector under Linux, named numbers under macOS,
 * numbered features under Windows. On x86 CPUID says what the processor has, and a control register which registers the
 * system saves when it switches between threads; compilers' own tests of both are not in every compiler's library. */
#include "base/os_cpu.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of the control register XCR0: vectors of 16 and 32 bytes; those of 64, of which there are more, and masks. */
enum { SAVES_AVX = 0x6, SAVES_AVX512 = 0xe6 };

static bool saves(uint32_t registers) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
#if defined(__APPLE__)
  low |= SAVES_AVX512 & ~SAVES_AVX; /* macOS saves these from their first use on, and only then says so */
#endif
  return (low & registers) == registers;
}

bool rlx_os_cpu_has(rlx_cpu_feature feature) {
  const uint32_t of_1 = bit_FMA | bit_OSXSAVE | bit_AVX | bit_F16C;
  const uint32_t of_7 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
  uint32_t a, b, c, d;
  if (feature != RLX_X86_AVX2 && feature != RLX_X86_AVX512) return false;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & of_1) != of_1 || !saves(SAVES_AVX)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return false;
  return feature == RLX_X86_AVX2 || ((b & of_7) == of_7 && (c & bit_AVX512VNNI) && saves(SAVES_AVX512));
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

bool rlx_os_cpu_has(rlx_cpu_feature feature) {
  static const struct {
    unsigned long word, bit;
  } in[] = {[RLX_ARM_DOTPROD] = {AT_HWCAP, 1ul << 20},
            [RLX_ARM_I8MM] = {AT_HWCAP2, 1ul << 13},
            [RLX_ARM_BF16] = {AT_HWCAP2, 1ul << 14}};
  return getauxval(in[feature].word) & in[feature].bit;
}
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/types.h>
/* after it */
#include <sys/sysctl.h>

bool rlx_os_cpu_has(rlx_cpu_feature feature) {
  static const char *const names[] = {[RLX_ARM_DOTPROD] = "hw.optional.arm.FEAT_DotProd",
                                      [RLX_ARM_I8MM] = "hw.optional.arm.FEAT_I8MM",
                                      [RLX_ARM_BF16] = "hw.optional.arm.FEAT_BF16"};
  int has = 0;
  size_t bytes = sizeof has;
  return sysctlbyname(names[feature], &has, &bytes, NULL, 0) == 0 && has;
}
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>

bool rlx_os_cpu_has(rlx_cpu_feature feature) {
  static const unsigned long numbers[] = {
    [RLX_ARM_DOTPROD] = 43, [RLX_ARM_I8MM] = 66, [RLX_ARM_BF16] = 68}; /* winnt.h */
  return IsProcessorFeaturePresent(numbers[feature]);
}
#else
bool rlx_os_cpu_has(rlx_cpu_feature feature) { return (void)feature, false; }
#endif
