/* Made by tools/kernels from kernels/fft_out.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/fft_out.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  OUT_MODE = constants[0];
  INVERSE = constants[1];
  BLUE = constants[2];
  z = windows[0];
  y = windows[1];
  tw = windows[2];
}
static void k_group(void) {
}
extern const emu_kernel emu_kernel_fft_out;
const emu_kernel emu_kernel_fft_out = {"fft_out", k_bind, k_group, k_main};
