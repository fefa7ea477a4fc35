/* Made by tools/kernels from kernels/scan.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/scan.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  OP = constants[1];
  LANES = constants[2];
  STRIDED = constants[3];
  EXCLUSIVE = constants[4];
  REVERSE = constants[5];
  PACKED = constants[6];
  CUT = constants[7];
  x = windows[0];
  y = windows[1];
  folds = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
  red_high = emu_shared(sizeof *red_high * (GROUP));
}
extern const emu_kernel emu_kernel_scan;
const emu_kernel emu_kernel_scan = {"scan", k_bind, k_group, k_main};
