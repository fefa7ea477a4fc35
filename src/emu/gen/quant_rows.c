/* Made by tools/kernels from kernels/quant_rows.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/quant_rows.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  x = windows[0];
  y = windows[1];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_quant_rows;
const emu_kernel emu_kernel_quant_rows = {"quant_rows", k_bind, k_group, k_main};
