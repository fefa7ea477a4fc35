/* Made by tools/kernels from kernels/reduce.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/reduce.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  OP = constants[1];
  LANES = constants[2];
  STRIDED = constants[3];
  STAGE = constants[4];
  EACH = constants[5];
  AXES = constants[6];
  BATCH = constants[7];
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
  red_high = emu_shared(sizeof *red_high * (GROUP));
}
extern const emu_kernel emu_kernel_reduce;
const emu_kernel emu_kernel_reduce = {"reduce", k_bind, k_group, k_main};
