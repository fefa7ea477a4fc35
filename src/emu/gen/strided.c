/* Made by tools/kernels from kernels/strided.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/strided.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  LOG = constants[0];
  RANK = constants[1];
  MAPS = constants[2];
  TRI = constants[3];
  x = windows[0];
  x4 = windows[1];
  y = windows[2];
  y4 = windows[3];
  t = windows[4];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_strided;
const emu_kernel emu_kernel_strided = {"strided", k_bind, k_group, k_main};
