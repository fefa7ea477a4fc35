/* Made by tools/kernels from kernels/matvec_kn.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/matvec_kn.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TEAM_N = constants[0];
  MR = constants[1];
  TX = constants[2];
  TW = constants[3];
  VEC_X = constants[4];
  VEC = constants[5];
  DUAL = constants[6];
  INDEXED = constants[7];
  TI = constants[8];
  AXES = constants[9];
  TY = constants[10];
  EXTRA = constants[11];
  ACT = constants[12];
  TE = constants[13];
  x = windows[0];
  x4 = windows[1];
  w = windows[2];
  w4 = windows[3];
  up = windows[4];
  up4 = windows[5];
  extra = windows[6];
  y = windows[7];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
}
extern const emu_kernel emu_kernel_matvec_kn;
const emu_kernel emu_kernel_matvec_kn = {"matvec_kn", k_bind, k_group, k_main};
