/* Made by tools/kernels from kernels/softmax4.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/softmax4.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  IS_LOG = constants[1];
  LANES = constants[2];
  VECS = constants[3];
  STAGE = constants[4];
  x = windows[0];
  y = windows[1];
  stats = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
}
extern const emu_kernel emu_kernel_softmax4;
const emu_kernel emu_kernel_softmax4 = {"softmax4", k_bind, k_group, k_main};
