/* Made by tools/kernels from kernels/resolve.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/resolve.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  DEPTH = constants[0];
  IDX_T = constants[1];
  idx = windows[0];
  t = windows[1];
  places = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_resolve;
const emu_kernel emu_kernel_resolve = {"resolve", k_bind, k_group, k_main};
