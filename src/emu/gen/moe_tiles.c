/* Made by tools/kernels from kernels/moe_tiles.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/moe_tiles.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  rows = windows[0];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_moe_tiles;
const emu_kernel emu_kernel_moe_tiles = {"moe_tiles", k_bind, k_group, k_main};
