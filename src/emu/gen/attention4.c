/* Made by tools/kernels from kernels/attention4.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/attention4.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T_Q = constants[0];
  T_K = constants[1];
  T_V = constants[2];
  ROWS_EACH = constants[3];
  COLS = constants[4];
  DEPTH = constants[5];
  V_STEP = constants[6];
  PIECE = constants[7];
  RED = constants[8];
  IN_LANES = constants[9];
  CAUSAL = constants[10];
  HAS_MASK = constants[11];
  HAS_BIAS = constants[12];
  HAS_CAP = constants[13];
  HAS_LEN = constants[14];
  EXTRA = constants[15];
  PARTIAL = constants[16];
  q = windows[0];
  k = windows[1];
  v = windows[2];
  mask = windows[3];
  bias = windows[4];
  len = windows[5];
  extra = windows[6];
  y = windows[7];
}
static void k_group(void) {
  piece = emu_shared(sizeof *piece * (PIECE));
  weight = emu_shared(sizeof *weight * ((GROUP / 16u) * ROWS_EACH * 17u));
  red = emu_shared(sizeof *red * (RED));
  view = emu_shared(sizeof *view * (2));
  q_at = emu_shared(sizeof *q_at * (((GROUP / 16u) * ROWS_EACH)));
}
extern const emu_kernel emu_kernel_attention4;
const emu_kernel emu_kernel_attention4 = {"attention4", k_bind, k_group, k_main};
