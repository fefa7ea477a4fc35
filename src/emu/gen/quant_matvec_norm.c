/* Made by tools/kernels from kernels/quant_matvec_norm.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/quant_matvec_norm.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  ROWS = constants[1];
  COLS = constants[2];
  LANES = constants[3];
  RED = constants[4];
  MODE = constants[5];
  DUAL = constants[6];
  EXTRA = constants[7];
  ACT = constants[8];
  TI = constants[9];
  RUNS = constants[10];
  AHEAD = constants[11];
  w4 = windows[0];
  wb = windows[1];
  x = windows[2];
  extra = windows[3];
  gamma = windows[4];
  v4 = windows[5];
  vb = windows[6];
  y = windows[7];
  w4.is_early = true;
  wb.is_early = true;
  v4.is_early = true;
  vb.is_early = true;
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (RED));
  x_codes = emu_shared(sizeof *x_codes * (RUNS));
  x_by = emu_shared(sizeof *x_by * (2u * RUNS + GROUP));
}
extern const emu_kernel emu_kernel_quant_matvec_norm;
const emu_kernel emu_kernel_quant_matvec_norm = {"quant_matvec_norm", k_bind, k_group, k_main};
