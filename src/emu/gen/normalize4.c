/* Made by tools/kernels from kernels/normalize4.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/normalize4.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  LANES = constants[1];
  VECS = constants[2];
  STAGE = constants[3];
  CENTRE = constants[4];
  HAS_RESIDUAL = constants[5];
  HAS_GAMMA = constants[6];
  HAS_BETA = constants[7];
  BY_CHANNEL = constants[8];
  EVEN = constants[9];
  x = windows[0];
  residual = windows[1];
  gamma4 = windows[2];
  beta4 = windows[3];
  y = windows[4];
  stats = windows[5];
  gamma = windows[6];
  beta = windows[7];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (3u * GROUP));
}
extern const emu_kernel emu_kernel_normalize4;
const emu_kernel emu_kernel_normalize4 = {"normalize4", k_bind, k_group, k_main};
