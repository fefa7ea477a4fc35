/* Made by tools/kernels from kernels/matvec8.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/matvec8.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TEAM = constants[0];
  MR = constants[1];
  TX = constants[2];
  TW = constants[3];
  VEC = constants[4];
  DUAL = constants[5];
  INDEXED = constants[6];
  TI = constants[7];
  AXES = constants[8];
  TY = constants[9];
  EXTRA = constants[10];
  ACT = constants[11];
  TE = constants[12];
  AHEAD = constants[13];
  x = windows[0];
  x4 = windows[1];
  w = windows[2];
  w4 = windows[3];
  up = windows[4];
  up4 = windows[5];
  extra = windows[6];
  y = windows[7];
  w4.is_early = true;
  up4.is_early = true;
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (2u * GROUP));
}
extern const emu_kernel emu_kernel_matvec8;
const emu_kernel emu_kernel_matvec8 = {"matvec8", k_bind, k_group, k_main};
