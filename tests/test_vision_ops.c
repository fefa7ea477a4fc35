/* Vision and signal ops: the window arithmetic against counting by hand, what the rules say about open sizes, what they
 * refuse, and long transforms there and back. Single values are the conformance cases' business. */
#include <math.h>
#include <stdlib.h>

#include "alloc_sweep.h"
#include "ir/conv_dims.h"
#include "ref/eval.h"
#include "test.h"

/* ---- windows, counted ---- */

/* The window of one spatial axis, as an attribute reader sees it. */
static rlx_status window_1d(int64_t kernel, int64_t stride, int64_t dilation, int64_t lo, int64_t hi, rlx_window *w) {
  rlx_dims s = RLX_DIMS(stride), d = RLX_DIMS(dilation), l = RLX_DIMS(lo), h = RLX_DIMS(hi);
  return rlx_window_read(&s, &d, &l, &h, &kernel, 1, w);
}

/* Places found by sliding: the whole window inside the padded input, or with ceil its start inside input and near
 * padding, as long as the last place before was needed to reach the end. */
static int64_t count_places(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t lo, int64_t hi,
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
  rlx_window w;
  int64_t in = v[0], kernel = v[1], stride = v[2], dilation = v[3], lo = v[4], hi = v[5];
  CHECK_OK(window_1d(kernel, stride, dilation, lo, hi, &w));
  int64_t reach = dilation * (kernel - 1);
  for (int ceil = 0; ceil < 2; ceil++) {
    if (ceil && (lo > reach || hi > reach)) continue; /* pools refuse such padding */
    int64_t places, first, end;
    rlx_status s = rlx_window_out(&w, 2, in, ceil, &places);
    if (in + lo + hi <= reach) {
      CHECK_EQ_INT(s, RLX_INVALID);
      continue;
    }
    CHECK_OK(s);
    CHECK_EQ_INT(places, count_places(in, kernel, stride, dilation, lo, hi, ceil));
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
  const int64_t most[6] = {6, 4, 4, 3, 4, 4}, least[6] = {0, 1, 1, 1, 0, 0};
  int64_t v[6];
  memcpy(v, least, sizeof v);
  for (int i = 0; i < 6;) {
    check_window(v);
    if (test_has_failed()) return;
    for (i = 0; i < 6 && ++v[i] > most[i]; i++) v[i] = least[i];
  }
}

/* A transposed convolution undoes the sizes of a convolution, up to the remainder that output_pad gives back. */
TEST(transposed_windows_invert_windows) {
  for (int64_t in = 1; in < 12; in++)
    for (int64_t kernel = 1; kernel < 5; kernel++)
      for (int64_t stride = 1; stride < 5; stride++)
        for (int64_t lo = 0; lo < 3; lo++) {
          rlx_window w;
          int64_t places, back;
          CHECK_OK(window_1d(kernel, stride, 2, lo, 1, &w));
          int64_t rest = in + lo + 1 - 2 * (kernel - 1) - 1;
          if (rest < 0) continue;
          CHECK_OK(rlx_window_out(&w, 2, in, false, &places));
          CHECK_OK(rlx_window_out_transposed(&w, 2, places, rest % stride, &back));
          CHECK_EQ_INT(back, in);
        }
}

/* ---- rules, by text: the result's type is written out, and parsing checks it ---- */

typedef struct rule {
  const char *inputs, *node;
  const char *type; /* of the result; NULL: refused */
  const char *part; /* of the message, where refused */
} rule;

static void check_rules(const rule *rules, size_t n) {
  for (const rule *r = rules; r < rules + n; r++) {
    char text[1024];
    rlx_graph *g = NULL;
    snprintf(text, sizeof text, "graph { %s %%y = %s%s%s\noutput \"y\" = %%y }", r->inputs, r->node,
             r->type ? " : " : "", r->type ? r->type : "");
    rlx_status s = rlx_graph_parse(text, strlen(text), &g);
    rlx_graph_destroy(g);
    if (r->type && s) FAIL("%s of %s: %s", r->node, r->inputs, rlx_message());
    if (!r->type && s != RLX_INVALID)
      FAIL("%s of %s: expected 'invalid', found '%s'", r->node, r->inputs, rlx_status_name(s));
    if (!r->type && !strstr(rlx_message(), r->part))
      FAIL("%s of %s: expected a message with <%s>, found <%s>", r->node, r->inputs, r->part, rlx_message());
  }
}
#define CHECK_RULES(rules) check_rules(rules, sizeof rules / sizeof *rules)

#define X(type) "%x = input \"x\" : " type "\n"
#define W(type) "%w = input \"w\" : " type "\n"
#define B(type) "%b = input \"b\" : " type "\n"
#define HUGE_INT "9223372036854775807"

// clang-format off
TEST(rules_of_convolutions) {
  static const rule rules[] = {
    {X("f32[N,3,H,W]") W("f32[8,3,3,3]"), "conv(%x, %w) {pad_lo=[1,1], pad_hi=[1,1]}", "f32[N,8,H,W]", NULL},
    {X("f32[N,3,H,W]") W("f32[8,3,3,1]"), "conv(%x, %w)", "f32[N,8,?,W]", NULL},
    {X("f32[N,3,H,8]") W("f32[O,3,3,3]"), "conv(%x, %w) {stride=[2,2]}", "f32[N,O,?,3]", NULL},
    {X("f32[N,C,9]") W("f32[4,3,K]"), "conv(%x, %w) {groups=2}", "f32[N,4,?]", NULL},
    {X("f32[1,3,5]") W("f32[0,3,3]"), "conv(%x, %w)", "f32[1,0,3]", NULL},
    {X("f32[1,3,0]") W("f32[2,3,3]"), "conv(%x, %w) {pad_lo=[2], pad_hi=[2]}", "f32[1,2,2]", NULL},
    {X("f32[1,3,5]") W("f16[2,3,3]") B("f32[2]"), "conv(%x, %w, %b)", "f32[1,2,3]", NULL},
    {X("f16[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w)", NULL, "must be f16"},
    {X("f32[1,3]") W("f32[2,3]"), "conv(%x, %w)", NULL, "1 to 3 spatial axes"},
    {X("f32[1,3,2,2,2,2]") W("f32[2,3,2,2,2,2]"), "conv(%x, %w)", NULL, "1 to 3 spatial axes"},
    {X("f32[1,3,5]") W("f32[2,3,3,3]"), "conv(%x, %w)", NULL, "must have rank 3"},
    {X("f32[1,3,5]") W("f32[2,4,3]"), "conv(%x, %w)", NULL, "input 1 (w) is [2,4,3] but must be"},
    {X("f32[1,3,5]") W("f32[2,3,3]") B("f32[3]"), "conv(%x, %w, %b)", NULL, "input 2 (b"},
    {X("f32[1,3,5]") W("f32[2,3,0]"), "conv(%x, %w)", NULL, "needs at least 1"},
    {X("f32[1,3,5]") W("f32[2,3,6]"), "conv(%x, %w)", NULL, "does not fit"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {dilation=[3]}", NULL, "does not fit"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {stride=[0]}", NULL, "stride [0] must be at least 1"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {dilation=[0]}", NULL, "dilation [0] must be at least 1"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {pad_lo=[-1]}", NULL, "pad_lo [-1] must be at least 0"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {pad_hi=[1,1]}", NULL, "pad_hi [1,1] must be empty or have one"},
    {X("f32[1,3,S]") W("f32[2,3,3]"), "conv(%x, %w) {stride=[S]}", NULL, "must be at least 1"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {groups=0}", NULL, "groups is 0"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {groups=-" HUGE_INT "}", NULL, "groups is -"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {groups=2}", NULL, "2 groups do not divide the 3 input channels"},
    {X("f32[1,4,5]") W("f32[3,2,3]"), "conv(%x, %w) {groups=2}", NULL, "2 groups do not divide the 3 output channels"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {pad_lo=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {pad_lo=[" HUGE_INT "], pad_hi=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {stride=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv(%x, %w) {pad_lo=[4611686018427387904]}", NULL, ""},

    {X("f32[N,3,H]") W("f32[3,8,3]"), "conv_transpose(%x, %w) {pad_lo=[1], pad_hi=[1]}", "f32[N,8,H]", NULL},
    {X("f32[N,4,H]") W("f32[4,O,3]"), "conv_transpose(%x, %w) {stride=[2], groups=2}", "f32[N,?,?]", NULL},
    {X("f32[N,4,5]") W("f32[4,3,3]"), "conv_transpose(%x, %w) {stride=[2], groups=2, output_pad=[1]}", "f32[N,6,12]", NULL},
    {X("f32[1,1,1]") W("f32[1,1,2]"), "conv_transpose(%x, %w) {pad_lo=[1], pad_hi=[1]}", "f32[1,1,0]", NULL},
    {X("f32[1,1,1]") W("f32[1,1,2]"), "conv_transpose(%x, %w) {pad_lo=[2], pad_hi=[1]}", NULL, "cut more than the 2 elements"},
    {X("f32[1,1,0]") W("f32[1,1,2]"), "conv_transpose(%x, %w)", NULL, "spatial axis 0 is empty"},
    {X("f32[1,3,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w)", NULL, "input 1 (w) is [2,3,3] but must be"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {output_pad=[1]}", NULL, "output_pad 1 on spatial axis 0"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {stride=[2], output_pad=[-1]}", NULL, "output_pad -1"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {output_pad=[0,0]}", NULL, "output_pad [0,0] must be empty"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {groups=3}", NULL, "do not divide"},
    {X("f32[1,0,5]") W("f32[0,3,3]"), "conv_transpose(%x, %w) {groups=" HUGE_INT "}", NULL, "too many"},
    {X("f32[1,2,5]") W("f32[2,3,3]") B("f32[4]"), "conv_transpose(%x, %w, %b)", NULL, "must be [3]"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {stride=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,2,5]") W("f32[2,3,3]"), "conv_transpose(%x, %w) {dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_pools_and_columns) {
  static const rule rules[] = {
    {X("f32[N,C,H,W]"), "pool_max(%x) {kernel=[3,1], stride=[1,1], pad_lo=[1,0], pad_hi=[1,0]}", "f32[N,C,H,W]", NULL},
    {X("f32[N,C,H,8]"), "pool_avg(%x) {kernel=[2,2]}", "f32[N,C,?,4]", NULL},
    {X("f32[N,C,H,8]"), "pool_avg(%x)", "f32[N,C,1,1]", NULL},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2]}", "f32[1,1,2]", NULL},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2], ceil=true}", "f32[1,1,3]", NULL},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2], stride=[4], pad_lo=[1], pad_hi=[1], ceil=true}", "f32[1,1,2]", NULL},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2], stride=[6], pad_lo=[1], pad_hi=[1], ceil=true}", "f32[1,1,1]", NULL},
    {X("f32[1,1]"), "pool_max(%x)", NULL, "1 to 3 spatial axes"},
    {X("f32[1,1,0]"), "pool_max(%x)", NULL, "spatial axis 0 is empty"},
    {X("f32[1,1,0]"), "pool_avg(%x) {kernel=[2], pad_lo=[1], pad_hi=[1]}", NULL, "spatial axis 0 is empty"},
    {X("f32[1,1,5]"), "pool_max(%x) {stride=[2]}", NULL, "takes no stride"},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2,2]}", NULL, "kernel [2,2] must have one number"},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[0]}", NULL, "kernel [0] must be at least 1"},
    {X("f32[1,1,K]"), "pool_max(%x) {kernel=[K]}", NULL, "must be at least 1"},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[6]}", NULL, "does not fit"},
    {X("f32[1,1,5]"), "pool_avg(%x) {kernel=[2], pad_lo=[2]}", NULL, "must not pass dilation * (kernel - 1), here 1"},
    {X("f32[1,1,5]"), "pool_avg(%x) {kernel=[2], stride=[-1]}", NULL, "stride [-1]"},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[" HUGE_INT "]}", NULL, ""},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[3], dilation=[" HUGE_INT "]}", NULL, "too large to add up"},
    {X("f32[1,1,5]"), "pool_max(%x) {kernel=[2], dilation=[" HUGE_INT "], pad_lo=[" HUGE_INT "], ceil=true}", NULL, "too large to add up"},

    {X("i8[N,C,H,W]"), "im2col(%x) {kernel=[3,3], pad_lo=[1,1], pad_hi=[1,1]}", "i8[N,?,?]", NULL},
    {X("c64[N,2,3,3]"), "im2col(%x) {kernel=[2,2]}", "c64[N,8,4]", NULL},
    {X("f32[N,C,1,W]"), "im2col(%x) {kernel=[1,1]}", "f32[N,C,W]", NULL},
    {X("f32[1,2,3]"), "im2col(%x) {kernel=[2,2]}", NULL, "must have rank 4"},
    {X("f32[1,2,3,3]"), "im2col(%x)", NULL, "kernel [] must have one number for each of 2"},
    {X("f32[1,2,3,3]"), "im2col(%x) {kernel=[4,1]}", NULL, "does not fit"},
    {X("f32[1,2,3,3]"), "im2col(%x) {kernel=[" HUGE_INT ",1]}", NULL, ""},
    {X("f32[1,8,3,3]"), "im2col(%x) {kernel=[2000000000,2000000000], pad_lo=[2000000000,2000000000]}", NULL, "too many columns"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_sampling) {
  static const rule rules[] = {
    {X("f32[N,C,4]"), "resize(%x) {size=[N,C,8]}", "f32[N,C,8]", NULL},
    {X("f32[N,C,H]"), "resize(%x) {size=[N,C,W], mode=linear}", "f32[N,C,W]", NULL},
    {X("f32[1,2]"), "resize(%x) {size=[2]}", NULL, "must give every axis"},
    {X("f32[1,2]"), "resize(%x) {size=[1,-4]}", NULL, "negative on axis 1"},
    {X("f32[1,0]"), "resize(%x) {size=[1,4]}", NULL, "is empty and cannot become 4"},
    {X("f32[1,2]"), "resize(%x) {size=[1,4], scale=[1]}", NULL, "scale has 1 entries"},
    {X("f32[1,2]"), "resize(%x) {size=[1,4], scale=[1,0]}", NULL, "scale of axis 1 is 0"},
    {X("f32[1,2]"), "resize(%x) {size=[1,4], scale=[-1,1]}", NULL, "scale of axis 0 is -1"},
    {X("f32[1,2]"), "resize(%x) {size=[1,4], scale=[1,inf]}", NULL, "scale of axis 1 is inf"},
    {X("f32[1,2]"), "resize(%x) {size=[1,4], scale=[1,nan]}", NULL, "must be finite"},
    {X("f32[1,2]"), "resize(%x) {size=[" HUGE_INT "," HUGE_INT "]}", NULL, ""},

    {X("f32[N,C,H,W]") W("f32[N,OH,5,2]"), "grid_sample(%x, %w)", "f32[N,C,OH,5]", NULL},
    {X("f32[N,C,H,W]") W("f32[2,OH,5,G]"), "grid_sample(%x, %w)", "f32[2,C,OH,5]", NULL},
    {X("f32[N,C,D,H,W]") W("f32[N,2,3,4,3]"), "grid_sample(%x, %w)", "f32[N,C,2,3,4]", NULL},
    {X("f32[1,1,4]") W("f32[1,2,1]"), "grid_sample(%x, %w)", NULL, "2 to 3 spatial axes"},
    {X("f32[1,1,4,4]") W("f32[1,2,2,3]"), "grid_sample(%x, %w)", NULL, "must be [1,2,2,2]"},
    {X("f32[1,1,4,4]") W("f32[2,2,2,2]"), "grid_sample(%x, %w)", NULL, "must be [1,2,2,2]"},
    {X("f32[1,1,4,4]") W("f32[1,2,2]"), "grid_sample(%x, %w)", NULL, "must have rank 4"},
    {X("f32[1,1,0,4]") W("f32[1,2,2,2]"), "grid_sample(%x, %w)", NULL, "is empty"},
    {X("f32[1,1,2,2,2]") W("f32[1,2,2,2,3]"), "grid_sample(%x, %w) {mode=cubic}", NULL, "mode cubic"},
  };
  CHECK_RULES(rules);
}

TEST(rules_of_transforms) {
  static const rule rules[] = {
    {X("c64[B,T]"), "fft(%x)", "c64[B,T]", NULL},
    {X("f32[B,T]"), "fft(%x) {axis=0, n=8}", "c64[8,T]", NULL},
    {X("c64[B,T]"), "ifft(%x)", "c64[B,T]", NULL},
    {X("f32[B,T]"), "rfft(%x)", "c64[B,?]", NULL},
    {X("f32[B,T]"), "rfft(%x) {n=7}", "c64[B,4]", NULL},
    {X("c64[B,T]"), "irfft(%x)", "f32[B,?]", NULL},
    {X("c64[B,T]"), "irfft(%x) {n=7}", "f32[B,7]", NULL},
    {X("c64[B,5]"), "irfft(%x)", "f32[B,8]", NULL},
    {X("f64[4]"), "fft(%x)", NULL, "does not take f64"},
    {X("c64[]"), "fft(%x)", NULL, "axis -1 is not in"},
    {X("c64[4]"), "fft(%x) {axis=1}", NULL, "axis 1 is not in"},
    {X("c64[4]"), "fft(%x) {n=-1}", NULL, "n is -1"},
    {X("c64[2,0]"), "ifft(%x)", NULL, "nothing to transform"},
    {X("f32[2,0]"), "rfft(%x)", NULL, "nothing to transform"},
    {X("c64[2,1]"), "irfft(%x)", NULL, "nothing to transform"},
    {X("c64[2,0]"), "irfft(%x)", NULL, "n cannot be 2 (m - 1)"},
    {X("c64[4]"), "fft(%x) {n=" HUGE_INT "}", NULL, ""},
    {X("c64[0,4]"), "fft(%x) {n=" HUGE_INT "}", "c64[0," HUGE_INT "]", NULL},

    {X("f32[B,T]"), "stft(%x) {n_fft=16}", "c64[B,9,?]", NULL},
    {X("f32[B,100]") W("f32[M]"), "stft(%x, %w) {n_fft=16, onesided=false}", "c64[B,16,26]", NULL},
    {X("f32[100]"), "stft(%x) {n_fft=16, hop=10, center=false}", "c64[9,9]", NULL},
    {X("f32[2,2,9]"), "stft(%x) {n_fft=4}", NULL, "must be [T] or [B, T]"},
    {X("f32[9]"), "stft(%x) {n_fft=0}", NULL, "n_fft is 0"},
    {X("f32[9]"), "stft(%x) {n_fft=3}", NULL, "hop is 0"},
    {X("f32[9]"), "stft(%x) {n_fft=4, hop=-1}", NULL, "hop is -1"},
    {X("f32[9]") W("f32[5]"), "stft(%x, %w) {n_fft=4}", NULL, "window has 5 elements"},
    {X("f32[9]") W("f32[0]"), "stft(%x, %w) {n_fft=4}", NULL, "window has 0 elements"},
    {X("f32[9]") W("f32[2,2]"), "stft(%x, %w) {n_fft=4}", NULL, "must have rank 1"},
    {X("f32[3]"), "stft(%x) {n_fft=4, center=false}", NULL, "does not fit 3 elements"},
    {X("f32[8]"), "stft(%x) {n_fft=16}", NULL, "cannot pad 8 elements with 8 on each side by reflect"},
    {X("f32[7]"), "stft(%x) {n_fft=16, pad=wrap}", NULL, "by wrap"},
    {X("f32[0]"), "stft(%x) {n_fft=4, pad=edge}", NULL, "by edge"},
    {X("f32[9]"), "stft(%x) {n_fft=" HUGE_INT ", pad=constant}", NULL, ""},
  };
  CHECK_RULES(rules);
}
// clang-format on

/* ---- runs ---- */

/* Runs a graph of one input "x" and one output "y". */
static rlx_status run_text(const char *text, const rlx_tensor *x, rlx_evaluator **e, rlx_tensor *y) {
  rlx_graph *g = NULL;
  *e = NULL;
  rlx_status s = rlx_graph_parse(text, strlen(text), &g);
  if (!s) s = rlx_evaluator_create(g, e);
  if (!s) s = rlx_evaluator_set(*e, "x", x);
  if (!s) s = rlx_evaluator_run(*e);
  if (!s) s = rlx_evaluator_get(*e, "y", y);
  rlx_graph_destroy(g);
  return s;
}

/* A large prime: a moment, or minutes if it were quadratic; and back where it began only if precision holds. */
TEST(long_prime_transforms_return) {
  enum { n = 200003 };
  float *values = malloc(n * sizeof *values);
  CHECK(values);
  for (int i = 0; i < n; i++) values[i] = (float)((i * 37) % 101) - 50;
  rlx_tensor x = {RLX_F32, RLX_DIMS(n), values, n * sizeof *values}, y = {0};
  rlx_evaluator *e;
  rlx_status s = run_text("graph { %x = input \"x\" : f32[200003]\n%t = rfft(%x)\n%y = irfft(%t) {n=200003}\n"
                          "output \"y\" = %y }",
                          &x, &e, &y);
  double worst = 0;
  for (int i = 0; !s && i < n; i++) worst = fmax(worst, fabs((double)((const float *)y.data)[i] - (double)values[i]));
  rlx_evaluator_destroy(e);
  free(values);
  CHECK_OK(s);
  CHECK(worst < 1e-3); /* the spectrum between is stored as f32 */
}

/* Whole tensors of nothing beside enormous sizes: no loop and no scratch may follow the size. */
TEST(empty_results_cost_nothing) {
  static const struct {
    const char *type, *node;
    rlx_dtype dtype;
    rlx_dims shape;
  } runs[] = {
    {"c64[0,4]", "fft(%x) {n=1000000000000000}", RLX_C64, {{0, 4}, 2}},
    {"f32[0,4]", "resize(%x) {size=[0,1000000000000000]}", RLX_F32, {{0, 4}, 2}},
    {"f32[0,1,4]",
     "pool_max(%x) {kernel=[2], stride=[1], dilation=[1000000000000], pad_lo=[1000000000000]}",
     RLX_F32,
     {{0, 1, 4}, 3}},
    {"f32[1,0,4,4]", "im2col(%x) {kernel=[2,2], pad_lo=[1000000000,1000000]}", RLX_F32, {{1, 0, 4, 4}, 4}},
    {"f32[0,9]", "stft(%x) {n_fft=1000000000000, pad=constant}", RLX_F32, {{0, 9}, 2}},
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    char text[512];
    snprintf(text, sizeof text, "graph { %%x = input \"x\" : %s\n%%y = %s\noutput \"y\" = %%y }", runs[i].type,
             runs[i].node);
    rlx_tensor x = {runs[i].dtype, runs[i].shape, &(double){0}, 0}, y = {0};
    rlx_evaluator *e;
    rlx_status s = run_text(text, &x, &e, &y);
    rlx_evaluator_destroy(e);
    if (s) FAIL("%s: %s", runs[i].node, rlx_message());
    CHECK_EQ_INT(y.bytes, 0);
  }
}

/* A pool whose kernel is far larger than its input visits the input only. */
TEST(huge_kernels_visit_the_input_only) {
  float values[4] = {1, 5, 2, 4};
  rlx_tensor x = {RLX_F32, RLX_DIMS(1, 1, 4), values, sizeof values}, y = {0};
  rlx_evaluator *e;
  rlx_status s =
    run_text("graph { %x = input \"x\" : f32[1,1,4]\n%y = pool_max(%x) {kernel=[1000000000000], stride=[1],"
             " pad_lo=[999999999998], pad_hi=[2]}\noutput \"y\" = %y }",
             &x, &e, &y);
  float got[5] = {0};
  if (!s && y.bytes == sizeof got) memcpy(got, y.data, sizeof got);
  rlx_evaluator_destroy(e);
  CHECK_OK(s);
  CHECK(got[0] == 5 && got[4] == 5);
}

/* ---- memory ---- */

static rlx_status every_op(void *user) {
  (void)user;
  static const char text[] =
    "graph { %x = input \"x\" : f32[1,2,5]\n%w = conv(%x, %x)\n%t = conv_transpose(%w, %w)\n"
    "%p = pool_avg(%x) {kernel=[2], stride=[1], pad_lo=[1]}\n%r = resize(%p) {size=[1,2,66], mode=linear}\n"
    "%f = rfft(%r)\n%i = irfft(%f)\n%s = reshape(%i) {shape=[132]}\n%y = stft(%s) {n_fft=70}\noutput \"y\" = %y\n"
    "output \"w\" = %w output \"t\" = %t }";
  float values[10] = {0};
  rlx_tensor x = {RLX_F32, RLX_DIMS(1, 2, 5), values, sizeof values}, y;
  rlx_evaluator *e;
  rlx_status s = run_text(text, &x, &e, &y);
  rlx_evaluator_destroy(e);
  return s;
}

TEST(allocation_sweep) { CHECK_OK(alloc_sweep(every_op, NULL)); }
