/* Made by tools/kernels from kernels/q_channels.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/q_channels.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TA = constants[0];
  TB = constants[1];
  TY = constants[2];
  SCALES = constants[3];
  ZEROS = constants[4];
  HAS_A_ZERO = constants[5];
  HAS_Y_ZERO = constants[6];
  HAS_BIAS = constants[7];
  a_scale = windows[0];
  b_scale = windows[1];
  y_scale = windows[2];
  a_zero = windows[3];
  b_zero = windows[4];
  y_zero = windows[5];
  bias = windows[6];
  y = windows[7];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_q_channels;
const emu_kernel emu_kernel_q_channels = {"q_channels", k_bind, k_group, k_main};
