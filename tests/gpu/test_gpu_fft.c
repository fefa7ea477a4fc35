/* GPU Fourier transforms against the reference: lengths below and above the limit of one workgroup, powers of two and
 * others, real and complex, along any axis, truncated and zero-padded. */
#include "gpu_check.h"
#include "test.h"

enum { N_RANDOM = TEST_IS_SANITIZED ? 6 : 25 };

TEST(a_vulkan_device_is_tested_too) {
  if (!gpu_check_has("vulkan")) SKIP("no Vulkan device: the emulated GPU alone");
}

/* Mostly small lengths; often powers of two and their neighbours. */
static int any_length(uint64_t *seed) {
  switch (gpu_check_int(seed, 0, 3)) {
    case 0: return 1 << gpu_check_int(seed, 0, 11);
    case 1: return (1 << gpu_check_int(seed, 1, 10)) + gpu_check_int(seed, -1, 1);
    case 2: return gpu_check_int(seed, 1, 40);
    default: return gpu_check_int(seed, 41, 700);
  }
}

/* A tensor with an axis of that length and lines before or after it; returns the axis. */
static int any_lines(uint64_t *seed, const char *type, int length, char *text, size_t cap) {
  int axis = gpu_check_int(seed, 0, 2), sizes[3];
  for (int i = 0; i < 3; i++) sizes[i] = i == axis ? length : gpu_check_int(seed, 1, length > 300 ? 2 : 5);
  snprintf(text, cap, "x: %s[%d,%d,%d]", type, sizes[0], sizes[1], sizes[2]);
  return axis;
}

static const char *any_norm(uint64_t *seed) { return GPU_CHECK_PICK(seed, "backward", "forward", "ortho"); }

/* n: the length itself, or one to which lines are truncated or padded. */
static int any_n(uint64_t *seed, int length) { return gpu_check_int(seed, 0, 1) ? length : any_length(seed); }

static void any_fft(uint64_t *seed, gpu_check_line *l) {
  int length = any_length(seed);
  int axis = any_lines(seed, GPU_CHECK_PICK(seed, "c64", "c64", "f32"), length, l->inputs, sizeof l->inputs);
  gpu_check_print(&l->expr, "fft(%%x) {axis=%d, n=%d, norm=%s}", axis, any_n(seed, length), any_norm(seed));
}
TEST(random_fft) { CHECK(gpu_check_random(RLX_OP_fft, 2 * N_RANDOM, any_fft)); }

static void any_ifft(uint64_t *seed, gpu_check_line *l) {
  int length = any_length(seed), axis = any_lines(seed, "c64", length, l->inputs, sizeof l->inputs);
  gpu_check_print(&l->expr, "ifft(%%x) {axis=%d, n=%d, norm=%s}", axis, any_n(seed, length), any_norm(seed));
}
TEST(random_ifft) { CHECK(gpu_check_random(RLX_OP_ifft, N_RANDOM, any_ifft)); }

static void any_rfft(uint64_t *seed, gpu_check_line *l) {
  int length = any_length(seed), axis = any_lines(seed, "f32", length, l->inputs, sizeof l->inputs);
  gpu_check_print(&l->expr, "rfft(%%x) {axis=%d, n=%d, norm=%s}", axis, any_n(seed, length), any_norm(seed));
}
TEST(random_rfft) { CHECK(gpu_check_random(RLX_OP_rfft, 2 * N_RANDOM, any_rfft)); }

static void any_irfft(uint64_t *seed, gpu_check_line *l) {
  int length = any_length(seed), axis = any_lines(seed, "c64", length, l->inputs, sizeof l->inputs);
  int n = gpu_check_int(seed, 0, 1) ? any_length(seed) : 2 * length - gpu_check_int(seed, 0, 1);
  gpu_check_print(&l->expr, "irfft(%%x) {axis=%d, n=%d, norm=%s}", axis, n, any_norm(seed));
}
TEST(random_irfft) { CHECK(gpu_check_random(RLX_OP_irfft, 2 * N_RANDOM, any_irfft)); }

/* Every length up to past two radix-8 steps. */
TEST(all_short_lengths) {
  for (int n = 1; n <= 70; n += TEST_IS_SANITIZED ? 3 : 1) {
    char inputs[32];
    snprintf(inputs, sizeof inputs, "x: c64[3,%d]", n);
    CHECK(gpu_check_text(RLX_OP_fft, inputs, "fft(%x)"));
  }
}

/* More than one workgroup: several passes, the filter of a convolution computed on the device, results from work
 * memory. */
TEST(several_passes) {
  CHECK(gpu_check_text(RLX_OP_fft, "x: c64[2,4096]", "fft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_fft, "x: c64[8192,3]", "fft(%x) {axis=0, norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_ifft, "x: c64[16384]", "ifft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_rfft, "x: f32[3,8192]", "rfft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_irfft, "x: c64[3,4097]", "irfft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_irfft, "x: c64[2,4097,2]", "irfft(%x) {axis=1, norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_fft, "x: c64[2,3001]", "fft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_ifft, "x: c64[2,2500,2]", "ifft(%x) {axis=1, norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_rfft, "x: f32[2,6002]", "rfft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_irfft, "x: c64[2,2400]", "irfft(%x) {n=4799, norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_irfft, "x: c64[2,2400]", "irfft(%x) {n=4798, norm=ortho}"));
}

/* On devices whose workgroups take at most 1024 numbers. */
TEST(three_passes) {
  if (TEST_IS_SANITIZED) SKIP("so many numbers take too long here");
  CHECK(gpu_check_text(RLX_OP_fft, "x: c64[131072]", "fft(%x) {norm=ortho}"));
  CHECK(gpu_check_text(RLX_OP_rfft, "x: f32[70001]", "rfft(%x) {norm=ortho}"));
}

TEST(stft) {
  CHECK(gpu_check_text(RLX_OP_stft, "x: f32[2,3000]; w: f32[400] range(0,1)", "stft(%x, %w) {hop=160}"));
  CHECK(gpu_check_text(RLX_OP_stft, "x: f32[3000]; w: f32[512] range(0,1)", "stft(%x, %w) {n_fft=512, hop=128}"));
  CHECK(gpu_check_text(RLX_OP_stft, "x: f32[2,900]", "stft(%x) {n_fft=201, hop=50, onesided=false, pad=wrap}"));
}
