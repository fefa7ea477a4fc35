/* Instructions that not every processor of a kind has. On Arm the system is asked, because programs may not read the
 * registers that tell; on x86 the processor is, and which registers the system saves. */
#ifndef RLX_BASE_OS_CPU_H
#define RLX_BASE_OS_CPU_H

#include <stdbool.h>

typedef enum rlx_cpu_feature {
  RLX_ARM_DOTPROD,
  RLX_ARM_I8MM,
  RLX_ARM_BF16,
  RLX_X86_AVX2,  /* with FMA and F16C */
  RLX_X86_AVX512 /* F, BW, DQ, VL and VNNI */
} rlx_cpu_feature;
/* False on other machines, and where the system has no name for it. */
bool rlx_os_cpu_has(rlx_cpu_feature feature);

#endif
