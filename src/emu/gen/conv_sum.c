/* Made by tools/kernels from kernels/conv_sum.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/conv_sum.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  HAS_BIAS = constants[1];
  sums = windows[0];
  bias = windows[1];
  y = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_conv_sum;
const emu_kernel emu_kernel_conv_sum = {"conv_sum", k_bind, k_group, k_main};
