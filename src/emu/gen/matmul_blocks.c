/* Made by tools/kernels from kernels/matmul_blocks.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/matmul_blocks.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  PLANES = constants[19];
  WX = constants[0];
  WY = constants[1];
  BK = constants[2];
  STAGES = constants[3];
  SIZE_A = constants[4];
  SIZE_B = constants[5];
  SIZE_ROWS = constants[6];
  TA = constants[7];
  TB = constants[8];
  TRANS = constants[9];
  VEC_A = constants[10];
  VEC_B = constants[11];
  VEC_Y = constants[12];
  AXES = constants[13];
  GATHER = constants[14];
  TY = constants[15];
  EXTRA = constants[16];
  ACT = constants[17];
  TE = constants[18];
  a = windows[0];
  a4 = windows[1];
  b = windows[2];
  grid = windows[3];
  extra = windows[4];
  rows = windows[5];
  y = windows[6];
  y4 = windows[7];
}
static void k_group(void) {
  tile_a = emu_shared(sizeof *tile_a * (SIZE_A));
  tile_b = emu_shared(sizeof *tile_b * (SIZE_B));
  row_of = emu_shared(sizeof *row_of * (SIZE_ROWS));
}
extern const emu_kernel emu_kernel_matmul_blocks;
const emu_kernel emu_kernel_matmul_blocks = {"matmul_blocks", k_bind, k_group, k_main};
