/* Made by tools/kernels from kernels/transpose8.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/transpose8.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_transpose8;
const emu_kernel emu_kernel_transpose8 = {"transpose8", k_bind, k_group, k_main};
