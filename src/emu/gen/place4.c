/* Made by tools/kernels from kernels/place4.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/place4.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  PARTS = constants[0];
  AT_T = constants[1];
  LOG = constants[2];
  ROUND_T = constants[3];
  x0 = windows[0];
  x1 = windows[1];
  x2 = windows[2];
  x3 = windows[3];
  x4 = windows[4];
  x5 = windows[5];
  at = windows[6];
  y = windows[7];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_place4;
const emu_kernel emu_kernel_place4 = {"place4", k_bind, k_group, k_main};
