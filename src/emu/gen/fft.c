/* Made by tools/kernels from kernels/fft.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/fft.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  IN_MODE = constants[0];
  OUT_MODE = constants[1];
  INVERSE = constants[2];
  BLUE = constants[3];
  x = windows[0];
  y = windows[1];
  tw = windows[2];
  chirped = windows[3];
}
static void k_group(void) {
  s_re = emu_shared(sizeof *s_re * ((GROUP * 8u + GROUP / 4u)));
  s_im = emu_shared(sizeof *s_im * ((GROUP * 8u + GROUP / 4u)));
}
extern const emu_kernel emu_kernel_fft;
const emu_kernel emu_kernel_fft = {"fft", k_bind, k_group, k_main};
