/* Made by tools/kernels from kernels/recurrent_loop.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/recurrent_loop.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  KIND = constants[1];
  GATES = constants[2];
  HAS_BIAS = constants[3];
  HIDDEN = constants[4];
  ROW_MAX = constants[5];
  w = windows[0];
  bias = windows[1];
  from_x = windows[2];
  state = windows[3];
  y = windows[4];
  last = windows[5];
}
static void k_group(void) {
  h = emu_shared(sizeof *h * (HIDDEN));
  reset = emu_shared(sizeof *reset * (HIDDEN));
  product = emu_shared(sizeof *product * (GATES * HIDDEN));
}
extern const emu_kernel emu_kernel_recurrent_loop;
const emu_kernel emu_kernel_recurrent_loop = {"recurrent_loop", k_bind, k_group, k_main};
