/* Made by tools/kernels from kernels/resize_rows.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/resize_rows.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  LINEAR = constants[1];
  x = windows[0];
  tx = windows[1];
  ty = windows[2];
  y = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_resize_rows;
const emu_kernel emu_kernel_resize_rows = {"resize_rows", k_bind, k_group, k_main};
