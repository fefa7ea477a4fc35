/* Made by tools/kernels from kernels/q_conv2d.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/q_conv2d.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TX = constants[0];
  TW = constants[1];
  TY = constants[2];
  x = windows[0];
  w = windows[1];
  channels = windows[2];
  y = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_q_conv2d;
const emu_kernel emu_kernel_q_conv2d = {"q_conv2d", k_bind, k_group, k_main};
