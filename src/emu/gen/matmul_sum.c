/* Made by tools/kernels from kernels/matmul_sum.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/matmul_sum.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  VEC_Y = constants[0];
  TY = constants[1];
  EXTRA = constants[2];
  ACT = constants[3];
  TE = constants[4];
  SCALED = constants[5];
  part = windows[0];
  part4 = windows[1];
  extra = windows[2];
  y = windows[3];
  y4 = windows[4];
  scales = windows[5];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_matmul_sum;
const emu_kernel emu_kernel_matmul_sum = {"matmul_sum", k_bind, k_group, k_main};
