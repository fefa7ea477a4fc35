/* Made by tools/kernels from kernels/sort_merge.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/sort_merge.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T = constants[0];
  TO = constants[1];
  FINAL = constants[2];
  x = windows[0];
  from_items = windows[1];
  y = windows[2];
  to_items = windows[3];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_sort_merge;
const emu_kernel emu_kernel_sort_merge = {"sort_merge", k_bind, k_group, k_main};
