/* Made by tools/kernels. */

#include "emu/emu.h"

extern const emu_kernel emu_kernel_convert;
extern const emu_kernel emu_kernel_softmax;

const emu_kernel *const emu_kernels[] = {
  &emu_kernel_convert,
  &emu_kernel_softmax,
};
