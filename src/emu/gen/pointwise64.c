/* Made by tools/kernels from kernels/pointwise64.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/pointwise64.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  S0 = constants[0];
  S1 = constants[1];
  S2 = constants[2];
  S3 = constants[3];
  S4 = constants[4];
  S5 = constants[5];
  S6 = constants[6];
  S7 = constants[7];
  S8 = constants[8];
  S9 = constants[9];
  S10 = constants[10];
  S11 = constants[11];
  S12 = constants[12];
  S13 = constants[13];
  S14 = constants[14];
  S15 = constants[15];
  STEPS = constants[16];
  TX = constants[17];
  TY = constants[18];
  USED = constants[19];
  RANK = constants[20];
  FLAT = constants[21];
  x0 = windows[0];
  x1 = windows[1];
  x2 = windows[2];
  x3 = windows[3];
  x4 = windows[4];
  x5 = windows[5];
  x6 = windows[6];
  y = windows[7];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_pointwise64;
const emu_kernel emu_kernel_pointwise64 = {"pointwise64", k_bind, k_group, k_main};
