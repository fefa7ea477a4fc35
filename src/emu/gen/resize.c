/* Made by tools/kernels from kernels/resize.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/resize.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  x = windows[0];
  t = windows[1];
  y = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_resize;
const emu_kernel emu_kernel_resize = {"resize", k_bind, k_group, k_main};
