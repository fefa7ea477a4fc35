/* Made by tools/kernels from kernels/sort_block.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/sort_block.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TO = constants[1];
  DESCENDING = constants[2];
  SIZE = constants[3];
  CAPACITY = constants[4];
  HIGHS = constants[5];
  FROM_ITEMS = constants[6];
  FINAL = constants[7];
  x = windows[0];
  from_items = windows[1];
  y = windows[2];
  to_items = windows[3];
}
static void k_group(void) {
  keys = emu_shared(sizeof *keys * (CAPACITY));
  highs = emu_shared(sizeof *highs * (HIGHS));
  places = emu_shared(sizeof *places * (CAPACITY));
}
extern const emu_kernel emu_kernel_sort_block;
const emu_kernel emu_kernel_sort_block = {"sort_block", k_bind, k_group, k_main};
