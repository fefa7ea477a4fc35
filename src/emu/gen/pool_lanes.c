/* Made by tools/kernels from kernels/pool_lanes.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/pool_lanes.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  IS_MAX = constants[1];
  COUNT_PAD = constants[2];
  LANES = constants[3];
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
  highest = emu_shared(sizeof *highest * (GROUP));
  red = emu_shared(sizeof *red * (GROUP));
}
extern const emu_kernel emu_kernel_pool_lanes;
const emu_kernel emu_kernel_pool_lanes = {"pool_lanes", k_bind, k_group, k_main};
