/* What each system says of an Arm processor: bits of the auxiliary vector under Linux, named numbers under macOS,
 * numbered features under Windows. */
#include "base/os_cpu.h"

#include <stddef.h>

#if defined(__aarch64__) && defined(__linux__)
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
