/* Made by tools/kernels from kernels/attention_decode_rope.k. */
#define K_HOST 1
#define VARIANT(n)
#include "emu/k_host.h"
#include "gpu/kernels/attention_decode_rope.k"

static void k_bind(const uint32_t *constants, const uint32_t *params, const emu_window *windows) {
  (void)constants;
  memcpy(&p, params, sizeof p);
  T_Q = constants[0];
  T_K = constants[1];
  T_V = constants[2];
  ROWS = constants[3];
  LANES = constants[4];
  K_VECS = constants[5];
  V_VECS = constants[6];
  UNROLL = constants[7];
  CAUSAL = constants[8];
  HAS_MASK = constants[9];
  HAS_BIAS = constants[10];
  HAS_CAP = constants[11];
  HAS_LEN = constants[12];
  EXTRA = constants[13];
  RED = constants[14];
  QUERY = constants[15];
  JOINED = constants[16];
  CAREFUL = constants[17];
  IN_REGS = constants[18];
  WHOLE = constants[19];
  ANGLES = constants[20];
  IS_GPTJ = constants[21];
  PER = constants[22];
  NORM = constants[23];
  HAS_GAMMA_Q = constants[24];
  HAS_GAMMA_K = constants[25];
  FRESH = constants[26];
  rows = windows[0];
  k = windows[1];
  v = windows[2];
  places = windows[3];
  turns = windows[4];
  gamma_q = windows[5];
  gamma_k = windows[6];
  y = windows[7];
  places.is_early = true;
  turns.is_early = true;
  gamma_q.is_early = true;
  gamma_k.is_early = true;
}
static void k_group(void) {
  query = emu_shared(sizeof *query * (QUERY));
  joined = emu_shared(sizeof *joined * (JOINED));
  stat = emu_shared(sizeof *stat * (2u * (GROUP / LANES)));
  red = emu_shared(sizeof *red * (RED));
  view = emu_shared(sizeof *view * (2));
  fresh = emu_shared(sizeof *fresh * (FRESH));
}
extern const emu_kernel emu_kernel_attention_decode_rope;
const emu_kernel emu_kernel_attention_decode_rope = {"attention_decode_rope", k_bind, k_group, k_main};
