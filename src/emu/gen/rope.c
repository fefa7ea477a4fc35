/* Made by tools/kernels from kernels/rope.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/rope.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  T_INDEX = constants[1];
  POSITIONS = constants[2];
  ANGLES = constants[3];
  IS_GPTJ = constants[4];
  x = windows[0];
  positions = windows[1];
  factors = windows[2];
  sines = windows[3];
  turns = windows[4];
  y = windows[5];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_rope;
const emu_kernel emu_kernel_rope = {"rope", k_bind, k_group, k_main};
