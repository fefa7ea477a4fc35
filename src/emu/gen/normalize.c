/* Made by tools/kernels from kernels/normalize.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/normalize.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TY = constants[1];
  UNIT = constants[2];
  LANES = constants[3];
  PER = constants[4];
  STRIDED = constants[5];
  STAGE = constants[6];
  CENTRE = constants[7];
  HAS_RESIDUAL = constants[8];
  HAS_GAMMA = constants[9];
  HAS_BETA = constants[10];
  x = windows[0];
  residual = windows[1];
  gamma = windows[2];
  beta = windows[3];
  y = windows[4];
  stats = windows[5];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (3u * GROUP));
}
extern const emu_kernel emu_kernel_normalize;
const emu_kernel emu_kernel_normalize = {"normalize", k_bind, k_group, k_main};
