/* Made by tools/kernels from kernels/moe_rows.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/moe_rows.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TI = constants[0];
  idx = windows[0];
  rows = windows[1];
}
static void k_group(void) {
  own = emu_shared(sizeof *own * (GROUP));
  less = emu_shared(sizeof *less * (GROUP));
}
extern const emu_kernel emu_kernel_moe_rows;
const emu_kernel emu_kernel_moe_rows = {"moe_rows", k_bind, k_group, k_main};
