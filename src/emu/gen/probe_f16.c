/* Made by tools/kernels from kernels/probe_f16.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/probe_f16.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  y = windows[0];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_probe_f16;
const emu_kernel emu_kernel_probe_f16 = {"probe_f16", k_bind, k_group, k_main};
