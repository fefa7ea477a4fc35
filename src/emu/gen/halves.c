/* Made by tools/kernels from kernels/halves.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/halves.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  y = windows[0];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_halves;
const emu_kernel emu_kernel_halves = {"halves", k_bind, k_group, k_main};
