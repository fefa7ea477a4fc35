/* Made by tools/kernels from kernels/sample_sums.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/sample_sums.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  HAS_SETTINGS = constants[0];
  items = windows[0];
  settings = windows[1];
  sums = windows[2];
}
static void k_group(void) {
  low = emu_shared(sizeof *low * (GROUP));
  high = emu_shared(sizeof *high * (GROUP));
  count = emu_shared(sizeof *count * (GROUP));
}
extern const emu_kernel emu_kernel_sample_sums;
const emu_kernel emu_kernel_sample_sums = {"sample_sums", k_bind, k_group, k_main};
