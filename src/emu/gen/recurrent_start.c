/* Made by tools/kernels from kernels/recurrent_start.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/recurrent_start.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  WHAT = constants[1];
  HAS_H0 = constants[2];
  HAS_C0 = constants[3];
  h0 = windows[0];
  c0 = windows[1];
  y = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_recurrent_start;
const emu_kernel emu_kernel_recurrent_start = {"recurrent_start", k_bind, k_group, k_main};
