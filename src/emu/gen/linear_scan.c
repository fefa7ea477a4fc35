/* Made by tools/kernels from kernels/linear_scan.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/linear_scan.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  MODE = constants[1];
  LANES = constants[2];
  FOURS = constants[3];
  STEPS = constants[4];
  HAS_D = constants[5];
  HAS_H0 = constants[6];
  WANTS_H = constants[7];
  T_Y = constants[8];
  RED = constants[9];
  PADDED = constants[10];
  x = windows[0];
  dt = windows[1];
  a = windows[2];
  first = windows[3];
  second = windows[4];
  d = windows[5];
  h0 = windows[6];
  y = windows[7];
}
static void k_group(void) {
  firsts = emu_shared(sizeof *firsts * (STEPS * LANES * FOURS));
  seconds = emu_shared(sizeof *seconds * (STEPS * LANES * FOURS));
  xs = emu_shared(sizeof *xs * (STEPS * (GROUP / LANES)));
  dts = emu_shared(sizeof *dts * (STEPS * (GROUP / LANES)));
  decays = emu_shared(sizeof *decays * (STEPS));
  parts = emu_shared(sizeof *parts * (STEPS * GROUP));
  red = emu_shared(sizeof *red * (RED));
}
extern const emu_kernel emu_kernel_linear_scan;
const emu_kernel emu_kernel_linear_scan = {"linear_scan", k_bind, k_group, k_main};
