/* Made by tools/kernels from kernels/scatter.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/scatter.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TU = constants[0];
  KIND = constants[1];
  REDUCTION = constants[2];
  COLUMNS = constants[3];
  RANK = constants[4];
  places = windows[0];
  u = windows[1];
  y = windows[2];
  t = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_scatter;
const emu_kernel emu_kernel_scatter = {"scatter", k_bind, k_group, k_main};
