/* Made by tools/kernels from kernels/sample_pick.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/sample_pick.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  HAS_SETTINGS = constants[0];
  DRAW = constants[1];
  items = windows[0];
  sums = windows[1];
  draw = windows[2];
  settings = windows[3];
  y = windows[4];
}
static void k_group(void) {
  low = emu_shared(sizeof *low * (GROUP));
  high = emu_shared(sizeof *high * (GROUP));
  found = emu_shared(sizeof *found * (4));
}
extern const emu_kernel emu_kernel_sample_pick;
const emu_kernel emu_kernel_sample_pick = {"sample_pick", k_bind, k_group, k_main};
