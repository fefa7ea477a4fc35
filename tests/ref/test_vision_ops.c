/* Vision and signal ops: the window arithmetic against counting, what shape inference gives for open sizes and rejects,
 * and long transforms forward and back. The conformance cases check values. */
#include <math.h>

#include "faults.h"
#include "ir/conv_dims.h"
#include "ref/ref.h"
#include "rules.h"
#include "test.h"

/* ---- windows, by counting ---- */

/* The window of one spatial axis, from attributes. */
static rlx_status window_1d(int64_t kernel, int64_t stride, int64_t dilation, int64_t lo, int64_t hi,
                            rlx_conv_window *w) {
  rlx_dims s = RLX_DIMS(stride), d = RLX_DIMS(dilation), l = RLX_DIMS(lo), h = RLX_DIMS(hi);
  return rlx_window_read(&s, &d, &l, &h, &kernel, 1, w);
}

/* Positions found by sliding: the whole window inside the padded input; or with ceil its start inside the input and the
 * leading padding, as long as the previous window does not reach the end. */
static int64_t count_positions(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t lo, int64_t hi,
                               bool ceil) {
  int64_t n = 0, padded = in + lo + hi, last_end = -1;
  for (int64_t start = 0; start < padded; start += stride) {
    int64_t end = start + dilation * (kernel - 1);
    bool whole = end < padded, begun = ceil && last_end < padded - 1 && start < in + lo;
    if (whole || begun) n++, last_end = end;
  }
  return n;
}

static void check_window(const int64_t v[6]) {
  rlx_conv_window w;
  int64_t in = v[0], kernel = v[1], stride = v[2], dilation = v[3], lo = v[4], hi = v[5];
  CHECK_OK(window_1d(kernel, stride, dilation, lo, hi, &w));
  int64_t reach = dilation * (kernel - 1);
  for (int ceil = 0; ceil < 2; ceil++) {
    if (ceil && (lo > reach || hi > reach)) continue; /* pooling rejects such padding */
    int64_t places, first, end;
    rlx_status s = rlx_window_out(&w, 2, in, ceil, &places);
    if (in + lo + hi <= reach) {
      CHECK_EQ_INT(s, RLX_INVALID);
      continue;
    }
    CHECK_OK(s);
    CHECK_EQ_INT(places, count_positions(in, kernel, stride, dilation, lo, hi, ceil));
    for (int64_t o = 0; o < places; o++) {
      rlx_window_taps(&w, 2, o, in, &first, &end);
      CHECK(0 <= first && first <= end && end <= kernel);
      for (int64_t k = 0; k < kernel; k++) {
        int64_t at = o * stride + k * dilation - lo;
        CHECK_EQ_INT(k >= first && k < end, at >= 0 && at < in);
      }
    }
  }
}

TEST(windows_agree_with_counting) {
  const int64_t max[6] = {6, 4, 4, 3, 4, 4}, min[6] = {0, 1, 1, 1, 0, 0};
  int64_t v[6];
  memcpy(v, min, sizeof v);
  for (int i = 0; i < 6;) {
    check_window(v);
    if (test_has_failed()) return;
    for (i = 0; i < 6 && ++v[i] > max[i]; i++) v[i] = min[i];
  }
}

/* A transposed convolution inverts the sizes of a convolution, up to the remainder that output_pad restores. */
TEST(transposed_windows_invert_windows) {
  for (int64_t in = 1; in < 12; in++)
    for (int64_t kernel = 1; kernel < 5; kernel++)
      for (int64_t stride = 1; stride < 5; stride++)
        for (int64_t lo = 0; lo < 3; lo++) {
          rlx_conv_window w;
          int64_t places, back;
          CHECK_OK(window_1d(kernel, stride, 2, lo, 1, &w));
          int64_t rest = in + lo + 1 - 2 * (kernel - 1) - 1;
          if (rest < 0) continue;
          CHECK_OK(rlx_window_out(&w, 2, in, false, &places));
          CHECK_OK(rlx_window_out_transposed(&w, 2, places, rest % stride, &back));
          CHECK_EQ_INT(back, in);
        }
}

/* ---- rules ---- */

#define HUGE_INT "9223372036854775807"

// clang-format off
TEST(rules_of_convolutions) {
  static const rule rules[] = {
    {"x: f32[N,3,H,W]; w: f32[8,3,3,3]", "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1]}", "f32[N,8,H,W]", NULL},
    {"x: f32[N,3,H,W]; w: f32[8,3,3,1]", "conv(%x, %w)", "f32[N,8,?,W]", NULL},
    {"x: f32[N,3,H,8]; w: f32[O,3,3,3]", "conv(%x, %w) {stride=[2,2]}", "f32[N,O,?,3]", NULL},
    {"x: f32[N,C,9]; w: f32[4,3,K]", "conv(%x, %w) {groups=2}", "f32[N,4,?]", NULL},
    {"x: f32[1,3,5]; w: f32[0,3,3]", "conv(%x, %w)", "f32[1,0,3]", NULL},
    {"x: f32[1,3,0]; w: f32[2,3,3]", "conv(%x, %w) {pad_lo=[2], pad_hi=[2]}", "f32[1,2,2]", NULL},
    {"x: f32[1,3,5]; w: f16[2,3,3]; b: f32[2]", "conv(%x, %w, %b)", "f32[1,2,3]", NULL},
    {"x: f16[1,3,5]; w: f32[2,3,3]", "conv(%x, %w)", NULL, "must be f16"},
    {"x: f32[1,3]; w: f32[2,3]", "conv(%x, %w)", NULL, "1 to 3 spatial axes"},
    {"x: f32[1,3,2,2,2,2]; w: f32[2,3,2,2,2,2]", "conv(%x, %w)", NULL, "1 to 3 spatial axes"},
    {"x: f32[1,3,5]; w: f32[2,3,3,3]", "conv(%x, %w)", NULL, "must have rank 3"},
    {"x: f32[1,3,5]; w: f32[2,4,3]", "conv(%x, %w)", NULL, "input 1 (w) is [2,4,3] but must be"},
    {"x: f32[1,3,5]; w: f32[2,3,3]; b: f32[3]", "conv(%x, %w, %b)", NULL, "input 2 (b"},
    {"x: f32[1,3,5]; w: f32[2,3,0]", "conv(%x, %w)", NULL, "needs at least 1"},
    {"x: f32[1,3,5]; w: f32[2,3,6]", "conv(%x, %w)", NULL, "does not fit"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {dilation=[3]}", NULL, "does not fit"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {stride=[0]}", NULL, "stride [0] must be at least 1"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {dilation=[0]}", NULL, "dilation [0] must be at least 1"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {pad_lo=[-1]}", NULL, "pad_lo [-1] must be at least 0"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {pad_hi=[1,1]}", NULL, "pad_hi [1,1] must be empty or have one"},
    {"x: f32[1,3,S]; w: f32[2,3,3]", "conv(%x, %w) {stride=[S]}", NULL, "must be at least 1"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {groups=0}", NULL, "groups is 0"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {groups=-" HUGE_INT "}", NULL, "groups is -"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {groups=2}", NULL, "2 groups do not divide the 3 input channels"},
    {"x: f32[1,4,5]; w: f32[3,2,3]", "conv(%x, %w) {groups=2}", NULL, "2 groups do not divide the 3 output channels"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {pad_lo=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {pad_lo=[" HUGE_INT "], pad_hi=[" HUGE_INT "]}", NULL,
                                     "too large to add up"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {stride=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv(%x, %w) {pad_lo=[4611686018427387904]}", NULL,
                                     "f32[1,2,4611686018427387907] overflows"},

    {"x: f32[N,3,H]; w: f32[3,8,3]", "conv_transpose(%x, %w) {pad_lo=[1], pad_hi=[1]}", "f32[N,8,H]", NULL},
    {"x: f32[N,4,H]; w: f32[4,O,3]", "conv_transpose(%x, %w) {stride=[2], groups=2}", "f32[N,?,?]", NULL},
    {"x: f32[N,4,5]; w: f32[4,3,3]", "conv_transpose(%x, %w) {stride=[2], groups=2, output_pad=[1]}", "f32[N,6,12]",
                                     NULL},
    {"x: f32[1,1,1]; w: f32[1,1,2]", "conv_transpose(%x, %w) {pad_lo=[1], pad_hi=[1]}", "f32[1,1,0]", NULL},
    {"x: f32[1,1,1]; w: f32[1,1,2]", "conv_transpose(%x, %w) {pad_lo=[2], pad_hi=[1]}", NULL,
                                     "cut more than the 2 elements"},
    {"x: f32[1,1,0]; w: f32[1,1,2]", "conv_transpose(%x, %w)", NULL, "spatial axis 0 is empty"},
    {"x: f32[1,3,5]; w: f32[2,3,3]", "conv_transpose(%x, %w)", NULL, "input 1 (w) is [2,3,3] but must be"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {output_pad=[1]}", NULL, "output_pad 1 on spatial axis 0"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {stride=[2], output_pad=[-1]}", NULL, "output_pad -1"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {output_pad=[0,0]}", NULL,
                                     "output_pad [0,0] must be empty"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {groups=3}", NULL, "do not divide"},
    {"x: f32[1,0,5]; w: f32[0,3,3]", "conv_transpose(%x, %w) {groups=" HUGE_INT "}", NULL, "too many"},
    {"x: f32[1,2,5]; w: f32[2,3,3]; b: f32[4]", "conv_transpose(%x, %w, %b)", NULL, "must be [3]"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {stride=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,2,5]; w: f32[2,3,3]", "conv_transpose(%x, %w) {dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_pools_and_columns) {
  static const rule rules[] = {
    {"x: f32[N,C,H,W]", "pool_max(%x) {kernel=[3,1], stride=[1,1], pad_lo=[1,0], pad_hi=[1,0]}", "f32[N,C,H,W]", NULL},
    {"x: f32[N,C,H,8]", "pool_avg(%x) {kernel=[2,2]}", "f32[N,C,?,4]", NULL},
    {"x: f32[N,C,H,8]", "pool_avg(%x)", "f32[N,C,1,1]", NULL},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2]}", "f32[1,1,2]", NULL},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2], ceil=true}", "f32[1,1,3]", NULL},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2], stride=[4], pad_lo=[1], pad_hi=[1], ceil=true}", "f32[1,1,2]", NULL},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2], stride=[6], pad_lo=[1], pad_hi=[1], ceil=true}", "f32[1,1,1]", NULL},
    {"x: f32[1,1]", "pool_max(%x)", NULL, "1 to 3 spatial axes"},
    {"x: f32[1,1,0]", "pool_max(%x)", NULL, "spatial axis 0 is empty"},
    {"x: f32[1,1,0]", "pool_avg(%x) {kernel=[2], pad_lo=[1], pad_hi=[1]}", NULL, "spatial axis 0 is empty"},
    {"x: f32[1,1,5]", "pool_max(%x) {stride=[2]}", NULL, "takes no stride"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2,2]}", NULL, "kernel [2,2] must have one number"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[0]}", NULL, "kernel [0] must be at least 1"},
    {"x: f32[1,1,K]", "pool_max(%x) {kernel=[K]}", NULL, "must be at least 1"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[6]}", NULL, "does not fit"},
    {"x: f32[1,1,5]", "pool_avg(%x) {kernel=[2], pad_lo=[2]}", NULL, "must not pass dilation * (kernel - 1), here 1"},
    {"x: f32[1,1,5]", "pool_avg(%x) {kernel=[2], stride=[-1]}", NULL, "stride [-1]"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[3], dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
    {"x: f32[1,1,5]", "pool_max(%x) {kernel=[2], dilation=[" HUGE_INT "], pad_lo=[" HUGE_INT "], ceil=true}", NULL,
                      "too large to add up"},

    {"x: i8[N,C,H,W]", "im2col(%x) {kernel=[3,3], pad_lo=[1,1], pad_hi=[1,1]}", "i8[N,?,?]", NULL},
    {"x: c64[N,2,3,3]", "im2col(%x) {kernel=[2,2]}", "c64[N,8,4]", NULL},
    {"x: f32[N,C,1,W]", "im2col(%x) {kernel=[1,1]}", "f32[N,C,W]", NULL},
    {"x: f32[1,2,3]", "im2col(%x) {kernel=[2,2]}", NULL, "must have rank 4"},
    {"x: f32[1,2,3,3]", "im2col(%x)", NULL, "kernel [] must have one number for each of 2"},
    {"x: f32[1,2,3,3]", "im2col(%x) {kernel=[4,1]}", NULL, "does not fit"},
    {"x: f32[1,2,3,3]", "im2col(%x) {kernel=[" HUGE_INT ",1]}", NULL, "too large to add up"},
    {"x: f32[1,8,3,3]", "im2col(%x) {kernel=[2000000000,2000000000], pad_lo=[2000000000,2000000000]}", NULL,
                        "too many columns"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_sampling) {
  static const rule rules[] = {
    {"x: f32[N,C,4]", "resize(%x) {size=[N,C,8]}", "f32[N,C,8]", NULL},
    {"x: f32[N,C,H]", "resize(%x) {size=[N,C,W], mode=linear}", "f32[N,C,W]", NULL},
    {"x: f32[1,2]", "resize(%x) {size=[2]}", NULL, "must give every axis"},
    {"x: f32[1,2]", "resize(%x) {size=[1,-4]}", NULL, "negative on axis 1"},
    {"x: f32[1,0]", "resize(%x) {size=[1,4]}", NULL, "is empty and cannot become 4"},
    {"x: f32[1,2]", "resize(%x) {size=[1,4], scale=[1]}", NULL, "scale has 1 entries"},
    {"x: f32[1,2]", "resize(%x) {size=[1,4], scale=[1,0]}", NULL, "scale of axis 1 is 0"},
    {"x: f32[1,2]", "resize(%x) {size=[1,4], scale=[-1,1]}", NULL, "scale of axis 0 is -1"},
    {"x: f32[1,2]", "resize(%x) {size=[1,4], scale=[1,inf]}", NULL, "scale of axis 1 is inf"},
    {"x: f32[1,2]", "resize(%x) {size=[1,4], scale=[1,nan]}", NULL, "must be finite"},
    {"x: f32[1,2]", "resize(%x) {size=[" HUGE_INT "," HUGE_INT "]}", NULL, "overflows"},

    {"x: f32[N,C,H,W]; w: f32[N,OH,5,2]", "grid_sample(%x, %w)", "f32[N,C,OH,5]", NULL},
    {"x: f32[N,C,H,W]; w: f32[2,OH,5,G]", "grid_sample(%x, %w)", "f32[2,C,OH,5]", NULL},
    {"x: f32[N,C,D,H,W]; w: f32[N,2,3,4,3]", "grid_sample(%x, %w)", "f32[N,C,2,3,4]", NULL},
    {"x: f32[1,1,4]; w: f32[1,2,1]", "grid_sample(%x, %w)", NULL, "2 to 3 spatial axes"},
    {"x: f32[1,1,4,4]; w: f32[1,2,2,3]", "grid_sample(%x, %w)", NULL, "must be [1,2,2,2]"},
    {"x: f32[1,1,4,4]; w: f32[2,2,2,2]", "grid_sample(%x, %w)", NULL, "must be [1,2,2,2]"},
    {"x: f32[1,1,4,4]; w: f32[1,2,2]", "grid_sample(%x, %w)", NULL, "must have rank 4"},
    {"x: f32[1,1,0,4]; w: f32[1,2,2,2]", "grid_sample(%x, %w)", NULL, "is empty"},
    {"x: f32[1,1,2,2,2]; w: f32[1,2,2,2,3]", "grid_sample(%x, %w) {mode=cubic}", NULL, "mode cubic"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_transforms) {
  static const rule rules[] = {
    {"x: c64[B,T]", "fft(%x)", "c64[B,T]", NULL},
    {"x: f32[B,T]", "fft(%x) {axis=0, n=8}", "c64[8,T]", NULL},
    {"x: c64[B,T]", "ifft(%x)", "c64[B,T]", NULL},
    {"x: f32[B,T]", "rfft(%x)", "c64[B,?]", NULL},
    {"x: f32[B,T]", "rfft(%x) {n=7}", "c64[B,4]", NULL},
    {"x: c64[B,T]", "irfft(%x)", "f32[B,?]", NULL},
    {"x: c64[B,T]", "irfft(%x) {n=7}", "f32[B,7]", NULL},
    {"x: c64[B,5]", "irfft(%x)", "f32[B,8]", NULL},
    {"x: f64[4]", "fft(%x)", NULL, "does not take f64"},
    {"x: c64[]", "fft(%x)", NULL, "axis -1 is not in"},
    {"x: c64[4]", "fft(%x) {axis=1}", NULL, "axis 1 is not in"},
    {"x: c64[4]", "fft(%x) {n=-1}", NULL, "n is -1"},
    {"x: c64[2,0]", "ifft(%x)", NULL, "nothing to transform"},
    {"x: f32[2,0]", "rfft(%x)", NULL, "nothing to transform"},
    {"x: c64[2,1]", "irfft(%x)", NULL, "nothing to transform"},
    {"x: c64[2,0]", "irfft(%x)", NULL, "n cannot be 2 (m - 1)"},
    {"x: c64[4]", "fft(%x) {n=" HUGE_INT "}", NULL, "the bytes of c64[" HUGE_INT "] overflow"},
    {"x: c64[0,4]", "fft(%x) {n=" HUGE_INT "}", "c64[0," HUGE_INT "]", NULL},

    {"x: f32[B,T]", "stft(%x) {n_fft=16}", "c64[B,9,?]", NULL},
    {"x: f32[B,100]; w: f32[M]", "stft(%x, %w) {n_fft=16, onesided=false}", "c64[B,16,26]", NULL},
    {"x: f32[100]", "stft(%x) {n_fft=16, hop=10, center=false}", "c64[9,9]", NULL},
    {"x: f32[2,2,9]", "stft(%x) {n_fft=4}", NULL, "must be [T] or [B, T]"},
    {"x: f32[9]", "stft(%x) {n_fft=0}", NULL, "n_fft is 0"},
    {"x: f32[9]", "stft(%x) {n_fft=3}", NULL, "hop is 0"},
    {"x: f32[9]", "stft(%x) {n_fft=4, hop=-1}", NULL, "hop is -1"},
    {"x: f32[9]; w: f32[5]", "stft(%x, %w) {n_fft=4}", NULL, "window has 5 elements"},
    {"x: f32[9]; w: f32[0]", "stft(%x, %w) {n_fft=4}", NULL, "window has 0 elements"},
    {"x: f32[9]; w: f32[2,2]", "stft(%x, %w) {n_fft=4}", NULL, "must have rank 1"},
    {"x: f32[3]", "stft(%x) {n_fft=4, center=false}", NULL, "does not fit 3 elements"},
    {"x: f32[8]", "stft(%x) {n_fft=16}", NULL, "cannot pad 8 elements with 8 on each side by reflect"},
    {"x: f32[7]", "stft(%x) {n_fft=16, pad=wrap}", NULL, "by wrap"},
    {"x: f32[0]", "stft(%x) {n_fft=4, pad=edge}", NULL, "by edge"},
    {"x: f32[9]", "stft(%x) {n_fft=" HUGE_INT ", pad=constant}", NULL, "are too many"},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* ---- runs ---- */

/* A large prime: takes a moment, or minutes if the algorithm were quadratic. The result is the input only if precision
 * holds. */
TEST(long_prime_transforms_return) {
  rlx_tensor y;
  CHECK_OK(expr_run("x: f32[200003] range(-50,50)", "%t = rfft(%x); %u = irfft(%t) {n=200003}; sub(%u, %x)", &y));
  double worst = 0;
  for (size_t i = 0; i < rlx_tensor_count(&y); i++)
    if (!(fabs(rlx_load(&y, i)) <= worst)) worst = fabs(rlx_load(&y, i)); /* NaN included */
  rlx_tensor_deinit(&y);
  CHECK(worst > 0 && worst < 1e-3); /* the intermediate spectrum is stored as f32 */
}

/* Empty tensors with enormous sizes: no loop and no scratch may depend on those sizes. */
TEST(empty_results_cost_nothing) {
  static const struct {
    const char *leaves, *node;
  } runs[] = {
    {"x: c64[0,4]", "fft(%x) {n=1000000000000000}"},
    {"x: f32[0,4]", "resize(%x) {size=[0,1000000000000000]}"},
    {"x: f32[0,1,4]", "pool_max(%x) {kernel=[2], stride=[1], dilation=[1000000000000], pad_lo=[1000000000000]}"},
    {"x: f32[1,0,4,4]", "im2col(%x) {kernel=[2,2], pad_lo=[1000000000,1000000]}"},
    {"x: f32[0,9]", "stft(%x) {n_fft=1000000000000, pad=constant}"},
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    rlx_tensor y;
    CHECK_OK(expr_run(runs[i].leaves, runs[i].node, &y));
    rlx_tensor_deinit(&y);
    CHECK_EQ_INT(y.bytes, 0);
  }
}

/* Pooling with a kernel far larger than its input visits only the input. */
TEST(huge_kernels_visit_the_input_only) {
  rlx_tensor y;
  CHECK_OK(expr_run("x: f32[1,1,4] values(1,5,2,4)",
                    "pool_max(%x) {kernel=[1000000000000], stride=[1], pad_lo=[999999999998], pad_hi=[2]}", &y));
  size_t count = rlx_tensor_count(&y);
  bool all_largest = true;
  for (size_t i = 0; i < count; i++) all_largest = all_largest && rlx_load(&y, i) == 5;
  rlx_tensor_deinit(&y);
  CHECK_EQ_INT(count, 5);
  CHECK(all_largest);
}

/* ---- memory ---- */

static rlx_status every_op(void *user) {
  (void)user;
  return expr_runs(
    "x: f32[1,2,5]",
    "%w = conv(%x, %x); %t = conv_transpose(%w, %w); %p = pool_avg(%x) {kernel=[2], stride=[1], pad_lo=[1]};"
    "%r = resize(%p) {size=[1,2,66], mode=linear}; %b = add(%r, %t); %f = rfft(%b); %i = irfft(%f);"
    "%s = reshape(%i) {shape=[132]}; stft(%s) {n_fft=70}");
}

TEST(allocation_sweep) { CHECK_OK(alloc_sweep(every_op, NULL)); }
