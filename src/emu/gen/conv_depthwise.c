/* Made by tools/kernels from kernels/conv_depthwise.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/conv_depthwise.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TW = constants[1];
  HAS_BIAS = constants[2];
  KY = constants[3];
  KX = constants[4];
  SY = constants[5];
  SX = constants[6];
  DY = constants[7];
  DX = constants[8];
  x = windows[0];
  w = windows[1];
  bias = windows[2];
  y = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_conv_depthwise;
const emu_kernel emu_kernel_conv_depthwise = {"conv_depthwise", k_bind, k_group, k_main};
