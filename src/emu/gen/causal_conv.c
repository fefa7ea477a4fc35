/* Made by tools/kernels from kernels/causal_conv.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/causal_conv.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  T_Y = constants[1];
  HAS_BIAS = constants[2];
  HAS_STATE = constants[3];
  WANTS_STATE = constants[4];
  x = windows[0];
  w = windows[1];
  bias = windows[2];
  state = windows[3];
  y = windows[4];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_causal_conv;
const emu_kernel emu_kernel_causal_conv = {"causal_conv", k_bind, k_group, k_main};
