/* Made by tools/kernels from kernels/transpose.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/transpose.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  LOG = constants[0];
  SIDE_LOG = constants[1];
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
  tile = emu_shared(sizeof *tile * (4096));
}
extern const emu_kernel emu_kernel_transpose;
const emu_kernel emu_kernel_transpose = {"transpose", k_bind, k_group, k_main};
