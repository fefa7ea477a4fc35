/* Made by tools/kernels from kernels/q_matmul.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/q_matmul.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TA = constants[0];
  TB = constants[1];
  TY = constants[2];
  PACKED = constants[3];
  AXES = constants[4];
  a = windows[0];
  b = windows[1];
  channels = windows[2];
  y = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_q_matmul;
const emu_kernel emu_kernel_q_matmul = {"q_matmul", k_bind, k_group, k_main};
