/* Made by tools/kernels from kernels/one_hot.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/one_hot.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  LOG = constants[0];
  IDX_T = constants[1];
  idx = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_one_hot;
const emu_kernel emu_kernel_one_hot = {"one_hot", k_bind, k_group, k_main};
