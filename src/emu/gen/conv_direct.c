/* Made by tools/kernels from kernels/conv_direct.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/conv_direct.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TW = constants[1];
  HAS_BIAS = constants[2];
  x = windows[0];
  w = windows[1];
  bias = windows[2];
  y = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_conv_direct;
const emu_kernel emu_kernel_conv_direct = {"conv_direct", k_bind, k_group, k_main};
