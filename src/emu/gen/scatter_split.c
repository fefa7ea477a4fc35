/* Made by tools/kernels from kernels/scatter_split.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/scatter_split.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  TU = constants[0];
  KIND = constants[1];
  REDUCTION = constants[2];
  COLUMNS = constants[3];
  RANK = constants[4];
  places = windows[0];
  u = windows[1];
  y = windows[2];
  t = windows[3];
}
static void k_group(void) {
  list_place = emu_shared(sizeof *list_place * (4u * GROUP));
  list_lo = emu_shared(sizeof *list_lo * (4u * GROUP));
  list_hi = emu_shared(sizeof *list_hi * (4u * GROUP));
  counts = emu_shared(sizeof *counts * (GROUP));
  blocks = emu_shared(sizeof *blocks * (17u));
}
extern const emu_kernel emu_kernel_scatter_split;
const emu_kernel emu_kernel_scatter_split = {"scatter_split", k_bind, k_group, k_main};
