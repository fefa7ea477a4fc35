/* The CPU's kernels against the reference, one node at a time, without the runtime.
 *
 *   TEST(softmax_cases) { CHECK(cpu_check_cases(RLX_OP_softmax, NULL)); }
 *   TEST(softmax_text)  { CHECK(cpu_check_text(RLX_OP_softmax, "x: f32[3,1025]", "softmax(%x)", NULL)); }
 *   static void any(uint64_t *seed, cpu_check_line *l) {
 *     cpu_check_print(&l->inputs, "x: f32[%d,%d]", cpu_check_int(seed, 1, 40), cpu_check_int(seed, 1, 300));
 *     cpu_check_print(&l->expr, "softmax(%%x)");
 *   }
 *   TEST(softmax_random) { CHECK(cpu_check_random(RLX_OP_softmax, 50, any, NULL)); }
 *
 * Cases are in the language of conform.h. The nodes of the op under test are run, each on the values that the reference
 * computed for its inputs, as a program of one step of the CPU backend: on every instruction set of this machine; with
 * plain weights and in the layout that the claim prefers; with and without `exact` if a weight is of a block type; with
 * 1, 2 and 4 threads, whose results must be bit-identical; at every alignment of an element; and in place of each input
 * that the claim allows. Results and work memory are poisoned, differently each time, and surrounded by guards. Inputs
 * must be unchanged, and a run must not allocate. Every window is a heap block of exactly its size, so that ASan
 * detects an access past its end.
 *
 * The functions print a line for each failure, and return whether there was none. */
#ifndef RLX_TESTS_CPU_CHECK_H
#define RLX_TESTS_CPU_CHECK_H

#include "conform/conform.h"

typedef struct cpu_check_counts { /* added to */
  size_t native, not_claimed;     /* nodes, once per instruction set */
  size_t runs;
  double worst; /* the largest error, as a fraction of the tolerance */
} cpu_check_counts;

/* All conformance cases of the op. counts may be NULL: then at least one node must be native. */
bool cpu_check_cases(rlx_op op, cpu_check_counts *counts);
/* One given line. counts NULL: its nodes of the op must be native. */
bool cpu_check_text(rlx_op op, const char *inputs, const char *expr, cpu_check_counts *counts);

typedef struct cpu_check_line {
  char inputs[1024], expr[1024];
} cpu_check_line;
typedef void (*cpu_check_write)(uint64_t *seed, cpu_check_line *line);
/* n lines that `write` generates. counts NULL: at least one must be native. */
bool cpu_check_random(rlx_op op, size_t n, cpu_check_write write, cpu_check_counts *counts);

/* For writers: a number in lo..hi, one of n texts, a formatted line. */
int cpu_check_int(uint64_t *seed, int lo, int hi);
const char *cpu_check_pick(uint64_t *seed, const char *const *texts, size_t n);
#define CPU_CHECK_PICK(seed, ...)                            \
  cpu_check_pick((seed), (const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void cpu_check_print(char (*to)[1024], const char *fmt, ...) RLX_PRINTF(2, 3);

/* A node that must fail at run time, on every instruction set, with this code and a message that contains `part`. */
bool cpu_check_fails(rlx_op op, const char *inputs, const char *expr, rlx_status code, const char *part);

#endif
