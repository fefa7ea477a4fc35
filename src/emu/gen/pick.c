/* Made by tools/kernels from kernels/pick.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/pick.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  LOG = constants[0];
  RANK = constants[1];
  DEPTH = constants[2];
  IDX_T = constants[3];
  x = windows[0];
  x4 = windows[1];
  idx = windows[2];
  y = windows[3];
  y4 = windows[4];
  t = windows[5];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_pick;
const emu_kernel emu_kernel_pick = {"pick", k_bind, k_group, k_main};
