/* Two tables generated from kernels.def and layouts.def: the kernel of each op, and the family of each weight layout.
 * An entry whose kernel does not exist fails to link. */
#include "cpu/cpu.h"

#define CPU_KERNEL(op, kernel) extern const cpu_kernel kernel;
#include "cpu/kernels.def"
#undef CPU_KERNEL

static const cpu_kernel *const kernels[RLX_OP_COUNT] = {
#define CPU_KERNEL(op, kernel) [RLX_OP_##op] = &kernel,
#include "cpu/kernels.def"
#undef CPU_KERNEL
};

enum { MAX_FAMILIES = 8 };
static const cpu_layout_family *const families[MAX_FAMILIES] = {
  [0] = NULL,
#define CPU_LAYOUT(name, first) [(first) >> 8] = &cpu_layout_##name,
#include "cpu/layouts.def"
#undef CPU_LAYOUT
};

const cpu_kernel *cpu_kernel_get(rlx_op op) { return kernels[op]; }

const cpu_layout_family *cpu_layout_family_of(uint32_t layout) {
  return layout >> 8 < MAX_FAMILIES ? families[layout >> 8] : NULL;
}
