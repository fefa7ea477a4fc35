/* Made by tools/kernels from kernels/attention_combine.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/attention_combine.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T_Q = constants[0];
  T_Y = constants[1];
  HAS_SINKS = constants[2];
  parts = windows[0];
  sinks = windows[1];
  y = windows[2];
}
static void k_group(void) {
  red = emu_shared(sizeof *red * (GROUP));
  share = emu_shared(sizeof *share * (256));
  sums = emu_shared(sizeof *sums * (2u * GROUP));
}
extern const emu_kernel emu_kernel_attention_combine;
const emu_kernel emu_kernel_attention_combine = {"attention_combine", k_bind, k_group, k_main};
