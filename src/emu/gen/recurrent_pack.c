/* Made by tools/kernels from kernels/recurrent_pack.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/recurrent_pack.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T_Y = constants[0];
  forward = windows[0];
  backward = windows[1];
  y = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_recurrent_pack;
const emu_kernel emu_kernel_recurrent_pack = {"recurrent_pack", k_bind, k_group, k_main};
