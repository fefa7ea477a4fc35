/* Cases of the norms and of softmax. */
#include "conform/conform.h"

/* clang-format off */

/* layer_norm and rms_norm have the same inputs and attributes. */
#define NORM_LAST_CASES(op) CASES(op,                                                                   \
  {"tiny", "x: f32[2,3]", #op "(%x)"},                                                                  \
  {"odd", "x: f32[7,13]; g: f32[13]; b: f32[13]", #op "(%x, %g, %b)"},                                  \
  {"gamma_only", "x: f32[3,5,11]; g: f32[11]", #op "(%x, %g)"},                                         \
  {"beta_only", "x: f32[3,5,11]; b: f32[11]", #op "(%x, _, %b)"},                                       \
  {"two_axes", "x: f32[4,5,6]; g: f32[5,6]; b: f32[5,6]", #op "(%x, %g, %b) {axis=-2}"},                \
  {"all_axes", "x: f32[3,4,5]; g: f32[3,4,5]", #op "(%x, %g) {axis=0}"},                                \
  {"axis_positive", "x: f32[2,3,7]", #op "(%x) {axis=2}"},                                              \
  {"vector", "x: f32[9]", #op "(%x)"},                                                                  \
  {"size_one", "x: f32[5,1]; g: f32[1]; b: f32[1]", #op "(%x, %g, %b)"},                                \
  {"no_rows", "x: f32[0,4]; g: f32[4]", #op "(%x, %g)"},                                                \
  {"empty_rows", "x: f32[3,0]", #op "(%x)"},                                                            \
  {"larger", "x: f32[3,300]; g: f32[300]; b: f32[300]", #op "(%x, %g, %b)"},                            \
  {"eps", "x: f32[4,8] range(-0.001,0.001)", #op "(%x) {eps=0.01}"},                                    \
  {"no_eps", "x: f32[4,8]", #op "(%x) {eps=0.0}"},                                                      \
  {"far_from_zero", "x: f32[4,64] range(1000,1001)", #op "(%x)"},                                       \
  {"equal_values", "x: f32[2,8] values(3)", #op "(%x)"},                                                \
  {"special", "x: f32[8,8] values(nan, 1, 2, inf, 3, 4, 5, 6, 7, -inf, 8, 9, 1, 1, 2)", #op "(%x)"},    \
  {"f16", "x: f16[5,33]; g: f16[33]; b: f16[33]", #op "(%x, %g, %b)"},                                  \
  {"bf16", "x: bf16[5,33]; g: bf16[33]; b: bf16[33]", #op "(%x, %g, %b)"},                              \
  {"f64", "x: f64[3,17]; g: f64[17]", #op "(%x, %g)"})
NORM_LAST_CASES(layer_norm);
NORM_LAST_CASES(rms_norm);

CASES(layer_norm_2d,
  {"tiny", "x: f32[1,3,2,2]", "layer_norm_2d(%x)"},
  {"odd", "x: f32[2,7,3,5]; g: f32[7]; b: f32[7]", "layer_norm_2d(%x, %g, %b)"},
  {"gamma_only", "x: f32[2,5,3,3]; g: f32[5]", "layer_norm_2d(%x, %g)"},
  {"beta_only", "x: f32[2,5,3,3]; b: f32[5]", "layer_norm_2d(%x, _, %b)"},
  {"one_channel", "x: f32[2,1,3,3]; b: f32[1]", "layer_norm_2d(%x, _, %b)"},
  {"one_pixel", "x: f32[3,8,1,1]", "layer_norm_2d(%x)"},
  {"no_pixels", "x: f32[2,8,0,3]", "layer_norm_2d(%x)"},
  {"no_channels", "x: f32[2,0,4,3]; g: f32[0]", "layer_norm_2d(%x, %g)"},
  {"larger", "x: f32[2,16,5,5]; g: f32[16]; b: f32[16]", "layer_norm_2d(%x, %g, %b)"},
  {"eps", "x: f32[1,4,3,3] range(-0.001,0.001)", "layer_norm_2d(%x) {eps=0.01}"},
  {"far_from_zero", "x: f32[1,32,2,2] range(1000,1001)", "layer_norm_2d(%x)"},
  {"f16", "x: f16[2,9,3,3]; g: f16[9]; b: f16[9]", "layer_norm_2d(%x, %g, %b)"},
  {"bf16", "x: bf16[2,9,3,3]; g: bf16[9]; b: bf16[9]", "layer_norm_2d(%x, %g, %b)"},
  {"f64", "x: f64[1,5,2,3]", "layer_norm_2d(%x)"});

CASES(group_norm,
  {"tiny", "x: f32[1,4,2]", "group_norm(%x) {groups=2}"},
  {"odd", "x: f32[3,6,5,7]; g: f32[6]; b: f32[6]", "group_norm(%x, %g, %b) {groups=3}"},
  {"one_group", "x: f32[2,5,7]; g: f32[5]; b: f32[5]", "group_norm(%x, %g, %b)"},
  {"all_groups", "x: f32[2,5,7]; g: f32[5]", "group_norm(%x, %g) {groups=5}"},
  {"gamma_only", "x: f32[2,8,3]; g: f32[8]", "group_norm(%x, %g) {groups=4}"},
  {"beta_only", "x: f32[2,8,3]; b: f32[8]", "group_norm(%x, _, %b) {groups=4}"},
  {"no_space", "x: f32[4,12]; g: f32[12]; b: f32[12]", "group_norm(%x, %g, %b) {groups=3}"},
  {"volume", "x: f32[1,4,2,3,3]", "group_norm(%x) {groups=2}"},
  {"one_sample_pixel", "x: f32[1,6,1,1]", "group_norm(%x) {groups=3}"},
  {"no_samples", "x: f32[0,6,4]; g: f32[6]", "group_norm(%x, %g) {groups=2}"},
  {"no_pixels", "x: f32[2,6,0]", "group_norm(%x) {groups=2}"},
  {"larger", "x: f32[2,32,4,3]; g: f32[32]; b: f32[32]", "group_norm(%x, %g, %b) {groups=8, eps=1e-6}"},
  {"far_from_zero", "x: f32[1,4,4,4] range(1000,1001)", "group_norm(%x) {groups=2}"},
  {"f16", "x: f16[2,6,9]; g: f16[6]; b: f16[6]", "group_norm(%x, %g, %b) {groups=2}"},
  {"bf16", "x: bf16[2,6,9]; g: bf16[6]; b: bf16[6]", "group_norm(%x, %g, %b) {groups=2}"},
  {"f64", "x: f64[1,4,5]", "group_norm(%x) {groups=2}"});

CASES(instance_norm,
  {"tiny", "x: f32[1,2,3]", "instance_norm(%x)"},
  {"odd", "x: f32[3,5,7,3]; g: f32[5]; b: f32[5]", "instance_norm(%x, %g, %b)"},
  {"gamma_only", "x: f32[2,4,9]; g: f32[4]", "instance_norm(%x, %g)"},
  {"beta_only", "x: f32[2,4,9]; b: f32[4]", "instance_norm(%x, _, %b)"},
  {"volume", "x: f32[1,3,2,3,4]", "instance_norm(%x)"},
  {"one_pixel", "x: f32[2,3,1]; b: f32[3]", "instance_norm(%x, _, %b)"},
  {"no_space", "x: f32[2,3]; b: f32[3]", "instance_norm(%x, _, %b)"},
  {"no_samples", "x: f32[0,3,4]; g: f32[3]", "instance_norm(%x, %g)"},
  {"no_pixels", "x: f32[2,3,0]", "instance_norm(%x)"},
  {"larger", "x: f32[2,4,9,11]; g: f32[4]; b: f32[4]", "instance_norm(%x, %g, %b) {eps=1e-3}"},
  {"far_from_zero", "x: f32[1,2,5,5] range(1000,1001)", "instance_norm(%x)"},
  {"f16", "x: f16[2,3,17]; g: f16[3]; b: f16[3]", "instance_norm(%x, %g, %b)"},
  {"bf16", "x: bf16[2,3,17]; g: bf16[3]; b: bf16[3]", "instance_norm(%x, %g, %b)"},
  {"f64", "x: f64[1,2,9]", "instance_norm(%x)"});

#define STATISTICS(c) "; m: f32[" c "]; v: f32[" c "] range(0.1,3)"
CASES(batch_norm_inference,
  {"tiny", "x: f32[1,2,3]" STATISTICS("2"), "batch_norm_inference(%x, %m, %v)"},
  {"odd", "x: f32[3,5,7,3]; g: f32[5]; b: f32[5]" STATISTICS("5"), "batch_norm_inference(%x, %m, %v, %g, %b)"},
  {"gamma_only", "x: f32[2,4,9]; g: f32[4]" STATISTICS("4"), "batch_norm_inference(%x, %m, %v, %g)"},
  {"beta_only", "x: f32[2,4,9]; b: f32[4]" STATISTICS("4"), "batch_norm_inference(%x, %m, %v, _, %b)"},
  {"no_space", "x: f32[9,4]; g: f32[4]; b: f32[4]" STATISTICS("4"), "batch_norm_inference(%x, %m, %v, %g, %b)"},
  {"volume", "x: f32[1,3,2,3,4]" STATISTICS("3"), "batch_norm_inference(%x, %m, %v)"},
  {"one", "x: f32[1,1,1,1]" STATISTICS("1"), "batch_norm_inference(%x, %m, %v)"},
  {"no_samples", "x: f32[0,3,4]" STATISTICS("3"), "batch_norm_inference(%x, %m, %v)"},
  {"larger", "x: f32[2,8,5,7]; g: f32[8]; b: f32[8]" STATISTICS("8"),
   "batch_norm_inference(%x, %m, %v, %g, %b) {eps=1e-3}"},
  {"no_variance", "x: f32[2,3,4]; m: f32[3]; v: f32[3] values(0, 1e-8, 4)", "batch_norm_inference(%x, %m, %v)"},
  {"f16", "x: f16[2,3,17]; m: f16[3]; v: f16[3] range(0.1,3); g: f16[3]; b: f16[3]",
   "batch_norm_inference(%x, %m, %v, %g, %b)"},
  {"bf16", "x: bf16[2,3,17]; m: bf16[3]; v: bf16[3] range(0.1,3); g: bf16[3]; b: bf16[3]",
   "batch_norm_inference(%x, %m, %v, %g, %b)"},
  {"f64", "x: f64[1,2,9]; m: f64[2]; v: f64[2] range(0.1,3)", "batch_norm_inference(%x, %m, %v)"});

#define SOFT_CASES(op) CASES(op,                                                                        \
  {"tiny", "x: f32[2,3]", #op "(%x)"},                                                                  \
  {"odd", "x: f32[7,13]", #op "(%x)"},                                                                  \
  {"axis_first", "x: f32[7,13]", #op "(%x) {axis=0}"},                                                  \
  {"axis_middle", "x: f32[3,5,4]", #op "(%x) {axis=1}"},                                                \
  {"axis_negative", "x: f32[3,5,4]", #op "(%x) {axis=-3}"},                                             \
  {"size_one", "x: f32[4,1]", #op "(%x)"},                                                              \
  {"vector", "x: f32[5]", #op "(%x)"},                                                                  \
  {"no_rows", "x: f32[0,5]", #op "(%x)"},                                                               \
  {"empty_rows", "x: f32[5,0]", #op "(%x)"},                                                            \
  {"larger", "x: f32[2,300]", #op "(%x)"},                                                              \
  {"huge", "x: f32[3,4] range(-1e4,1e4)", #op "(%x)"},                                                  \
  {"masked", "x: f32[4,4] values(1, -inf, 2, 3, -inf, -inf, 0.5)", #op "(%x)"},                         \
  {"all_masked", "x: f32[2,3] values(-inf)", #op "(%x)"},                                               \
  {"special", "x: f32[3,4] values(nan, 1, 2, 3, inf, 1, 2, 3, -inf, 4, 5, 6)", #op "(%x)"},             \
  {"f16", "x: f16[5,33] range(-9,9)", #op "(%x)"},                                                      \
  {"bf16", "x: bf16[5,33] range(-9,9)", #op "(%x)"},                                                    \
  {"f64", "x: f64[3,17] range(-9,9)", #op "(%x)"})
SOFT_CASES(softmax);
SOFT_CASES(log_softmax);
/* clang-format on */
