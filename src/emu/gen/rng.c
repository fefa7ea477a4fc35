/* Made by tools/kernels from kernels/rng.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/rng.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  IS_NORMAL = constants[1];
  DRAW = constants[2];
  draw = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_rng;
const emu_kernel emu_kernel_rng = {"rng", k_bind, k_group, k_main};
