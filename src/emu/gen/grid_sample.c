/* Made by tools/kernels from kernels/grid_sample.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/grid_sample.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TO = constants[1];
  AXES = constants[2];
  MODE = constants[3];
  PADDING = constants[4];
  ALIGN = constants[5];
  x = windows[0];
  grid = windows[1];
  y = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_grid_sample;
const emu_kernel emu_kernel_grid_sample = {"grid_sample", k_bind, k_group, k_main};
