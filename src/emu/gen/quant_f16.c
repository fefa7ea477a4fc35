/* Made by tools/kernels from kernels/quant_f16.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/quant_f16.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  REST = constants[0];
  EIGHTS = constants[1];
  CROSSED = constants[2];
  x = windows[0];
  y = windows[1];
  scales = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
}
extern const emu_kernel emu_kernel_quant_f16;
const emu_kernel emu_kernel_quant_f16 = {"quant_f16", k_bind, k_group, k_main};
