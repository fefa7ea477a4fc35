/* Made by tools/kernels from kernels/softmax.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/softmax.k"

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
  IS_LOG = constants[7];
  x = windows[0];
  y = windows[1];
  stats = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
}
extern const emu_kernel emu_kernel_softmax;
const emu_kernel emu_kernel_softmax = {"softmax", k_bind, k_group, k_main};
