/* Made by tools/kernels from kernels/arg.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/arg.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  SMALLEST = constants[1];
  LANES = constants[2];
  STRIDED = constants[3];
  STAGE = constants[4];
  TO = constants[5];
  IS_TOKEN = constants[6];
  x = windows[0];
  y = windows[1];
  best = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
  red_high = emu_shared(sizeof *red_high * (GROUP));
  red_at = emu_shared(sizeof *red_at * (GROUP));
}
extern const emu_kernel emu_kernel_arg;
const emu_kernel emu_kernel_arg = {"arg", k_bind, k_group, k_main};
