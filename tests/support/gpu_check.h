/* The GPU kernels against the reference, one small graph at a time, as a session runs it: on the emulated GPU and on
 * every Vulkan device that the name "vulkan" finds.
 *
 *   TEST(softmax_odd) { CHECK(gpu_check_text(RLX_OP_softmax, "x: f32[3,1025]", "softmax(%x)")); }
 *   static void any(uint64_t *seed, gpu_check_line *l) {
 *     gpu_check_print(&l->inputs, "x: f32[%d,%d]", gpu_check_int(seed, 1, 40), gpu_check_int(seed, 1, 300));
 *     gpu_check_print(&l->expr, "softmax(%%x)");
 *   }
 *   TEST(softmax_random) { CHECK(gpu_check_random(RLX_OP_softmax, 20, any)); }
 *
 * Lines are in the language of conform.h. Every node must be native: a step on the host is a failure. The result is
 * compared within rlx_tolerance_of; with `_bits` bit for bit (except NaN payloads), for ops that move elements. The
 * functions print a line for each failure and return whether there was none. RLX_TEST_DEVICES (default "emu,vulkan")
 * selects the devices.
 *
 * Values and shapes are new in each run of the program, or those of RLX_TEST_SEED=n. The seed is printed before
 * anything runs, so that a crash or an endless loop can be reproduced; a failure prints the whole command. */
#ifndef RLX_TESTS_GPU_CHECK_H
#define RLX_TESTS_GPU_CHECK_H

#include "conform/conform.h"
#include "gpu_choice.h"

bool gpu_check_text(rlx_op op, const char *inputs, const char *expr);
bool gpu_check_bits(rlx_op op, const char *inputs, const char *expr);
/* Weights of a block type, with activations rounded to 8 bits allowed, within rlx_tolerance_rounded. */
bool gpu_check_rounded(rlx_op op, const char *inputs, const char *expr);
/* A bit-exact f32 result where the reference has none: it rejects a bad index, a device reads zeros there. */
bool gpu_check_values(rlx_op op, const char *inputs, const char *expr, rlx_dims shape, const float *want);

/* Applies to all later checks, on all devices. */
void gpu_check_choose(gpu_choices choices);

typedef struct gpu_check_line {
  char inputs[1024], expr[1024];
} gpu_check_line;
typedef void (*gpu_check_write)(uint64_t *seed, gpu_check_line *line);
/* n lines that `write` generates. */
bool gpu_check_random(rlx_op op, size_t n, gpu_check_write write);
bool gpu_check_random_bits(rlx_op op, size_t n, gpu_check_write write);

/* For writers: a number in lo..hi, one of n texts, a formatted line. */
int gpu_check_int(uint64_t *seed, int lo, int hi);
const char *gpu_check_pick(uint64_t *seed, const char *const *texts, size_t n);
#define GPU_CHECK_PICK(seed, ...)                            \
  gpu_check_pick((seed), (const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void gpu_check_print(char (*to)[1024], const char *fmt, ...) RLX_PRINTF(2, 3);

/* Whether there is a device of this name, for tests that SKIP otherwise. */
bool gpu_check_has(const char *device);

#endif
