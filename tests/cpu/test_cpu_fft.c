/* CPU Fourier transforms against the reference: every conformance case, and random lengths and axes. */
#include "cpu_check.h"
#include "test.h"

TEST(fft_cases) { CHECK(cpu_check_cases(RLX_OP_fft, NULL)); }
TEST(ifft_cases) { CHECK(cpu_check_cases(RLX_OP_ifft, NULL)); }
TEST(rfft_cases) { CHECK(cpu_check_cases(RLX_OP_rfft, NULL)); }
TEST(irfft_cases) { CHECK(cpu_check_cases(RLX_OP_irfft, NULL)); }

/* Powers of two, products of small primes, primes; lines truncated or padded; first, middle or last axis. */
static void any_fft(uint64_t *seed, cpu_check_line *l, const char *op, bool from_real) {
  static const int lengths[] = {1,  2,  3,  4,  5,  6,   8,   12,  13,  15,  16,  17, 31,
                                32, 60, 64, 77, 97, 100, 128, 169, 210, 256, 341, 400};
  int n = lengths[cpu_check_int(seed, 0, (int)(sizeof lengths / sizeof *lengths) - 1)],
      axis = cpu_check_int(seed, 0, 2);
  int size[3] = {cpu_check_int(seed, 1, 7), cpu_check_int(seed, 1, 7), cpu_check_int(seed, 1, 7)};
  size[axis] = n;
  bool cut = cpu_check_int(seed, 0, 2) == 0;
  cpu_check_print(&l->inputs, "x: %s[%d,%d,%d]", from_real ? "f32" : "c64", size[0], size[1], size[2]);
  cpu_check_print(&l->expr, "%s(%%x) {axis=%d, n=%d, norm=%s}", op, axis,
                  cut || (strcmp(op, "irfft") == 0 && n == 1) ? cpu_check_int(seed, 1, 2 * n + 1) : 0,
                  CPU_CHECK_PICK(seed, "backward", "forward", "ortho"));
}

static void any_forward(uint64_t *seed, cpu_check_line *l) { any_fft(seed, l, "fft", cpu_check_int(seed, 0, 1) == 1); }
static void any_inverse(uint64_t *seed, cpu_check_line *l) { any_fft(seed, l, "ifft", false); }
static void any_real(uint64_t *seed, cpu_check_line *l) { any_fft(seed, l, "rfft", true); }
static void any_half(uint64_t *seed, cpu_check_line *l) { any_fft(seed, l, "irfft", false); }

enum { DRAWS = TEST_IS_SANITIZED ? 30 : 120 };
TEST(fft_random) { CHECK(cpu_check_random(RLX_OP_fft, DRAWS, any_forward, NULL)); }
TEST(ifft_random) { CHECK(cpu_check_random(RLX_OP_ifft, DRAWS, any_inverse, NULL)); }
TEST(rfft_random) { CHECK(cpu_check_random(RLX_OP_rfft, DRAWS, any_real, NULL)); }
TEST(irfft_random) { CHECK(cpu_check_random(RLX_OP_irfft, DRAWS, any_half, NULL)); }

/* Huge values in one line do not affect the precision of the others. */
TEST(lines_are_apart) {
  CHECK(cpu_check_text(RLX_OP_rfft, "x: f32[3,8] values(1,2,3,4,5,6,7,8,1e30,1,1,1,1,1,1,1,8,7,6,5,4,3,2,1)",
                       "rfft(%x)", NULL));
}
