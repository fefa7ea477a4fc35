/* Made by tools/kernels from kernels/recurrent_step.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/recurrent_step.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  KIND = constants[1];
  GATES = constants[2];
  PHASE = constants[3];
  HAS_BIAS = constants[4];
  w = windows[0];
  bias = windows[1];
  from_x = windows[2];
  y = windows[3];
  state = windows[4];
  last = windows[5];
}
static void k_group(void) {
  parts = emu_shared(sizeof *parts * (2048));
  sums = emu_shared(sizeof *sums * (64));
}
extern const emu_kernel emu_kernel_recurrent_step;
const emu_kernel emu_kernel_recurrent_step = {"recurrent_step", k_bind, k_group, k_main};
