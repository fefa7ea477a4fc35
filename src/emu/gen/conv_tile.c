/* Made by tools/kernels from kernels/conv_tile.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/conv_tile.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TW = constants[1];
  COLS = constants[2];
  EACH = constants[3];
  SIZE_W = constants[4];
  MASKED = constants[5];
  TABLED = constants[6];
  W4 = constants[7];
  HAS_BIAS = constants[8];
  STEPPED = constants[9];
  x = windows[0];
  w = windows[1];
  w4 = windows[2];
  bias = windows[3];
  t = windows[4];
  tw = windows[5];
  y = windows[6];
}
static void k_group(void) {
  ws = emu_shared(sizeof *ws * (SIZE_W));
  xs = emu_shared(sizeof *xs * (512));
}
extern const emu_kernel emu_kernel_conv_tile;
const emu_kernel emu_kernel_conv_tile = {"conv_tile", k_bind, k_group, k_main};
