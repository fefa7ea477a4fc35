/* Made by tools/kernels from kernels/im2col.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/im2col.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  BYTES = constants[0];
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_im2col;
const emu_kernel emu_kernel_im2col = {"im2col", k_bind, k_group, k_main};
