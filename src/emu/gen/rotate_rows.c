/* Made by tools/kernels from kernels/rotate_rows.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/rotate_rows.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  T_INDEX = constants[1];
  POSITIONS = constants[2];
  ANGLES = constants[3];
  IS_GPTJ = constants[4];
  LANES = constants[5];
  PER = constants[6];
  NORM = constants[7];
  GAMMA = constants[8];
  PLACED = constants[9];
  AT_T = constants[10];
  TO = constants[11];
  x = windows[0];
  positions = windows[1];
  factors = windows[2];
  sines = windows[3];
  turns = windows[4];
  y = windows[5];
  gamma = windows[6];
  places = windows[7];
  factors.is_early = true;
  turns.is_early = true;
  gamma.is_early = true;
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (2u * GROUP));
}
extern const emu_kernel emu_kernel_rotate_rows;
const emu_kernel emu_kernel_rotate_rows = {"rotate_rows", k_bind, k_group, k_main};
