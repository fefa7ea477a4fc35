/* Extensions of 64-bit Arm. A processor says what it has in registers that programs may not read: the system is
 * asked. */
#ifndef RLX_BASE_OS_CPU_H
#define RLX_BASE_OS_CPU_H

#include <stdbool.h>

typedef enum rlx_cpu_feature { RLX_ARM_DOTPROD, RLX_ARM_I8MM, RLX_ARM_BF16 } rlx_cpu_feature;
/* False on other machines, and where the system has no name for it. */
bool rlx_os_cpu_has(rlx_cpu_feature feature);

#endif
