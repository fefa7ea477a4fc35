/* Made by tools/kernels from kernels/decode.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/decode.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  PLANES = constants[1];
  TY = constants[2];
  TI = constants[3];
  w = windows[0];
  idx = windows[1];
  y = windows[2];
  grid = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_decode;
const emu_kernel emu_kernel_decode = {"decode", k_bind, k_group, k_main};
