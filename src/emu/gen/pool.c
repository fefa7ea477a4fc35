/* Made by tools/kernels from kernels/pool.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/pool.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  IS_MAX = constants[1];
  COUNT_PAD = constants[2];
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_pool;
const emu_kernel emu_kernel_pool = {"pool", k_bind, k_group, k_main};
