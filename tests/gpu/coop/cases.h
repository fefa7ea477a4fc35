/* The program around random cases, for the programs beside this: PROGRAM NUMBER SEED, which closes with 'N passed, N
 * failed, N skipped'. Case i of a seed draws its numbers from `state`, so it can be repeated. */
#ifndef RLX_TESTS_COOP_CASES_H
#define RLX_TESTS_COOP_CASES_H

#include "k_coop.h"

static u32 state;
static inline u32 next() { return state = state * 1664525u + 1013904223u; }
static inline u32 draw(u32 lo, u32 hi) { return lo + (next() >> 10) % (hi - lo + 1); }
static inline f32 draw_value(f32 size = 1.0f) { return size * ((f32)(next() >> 8) / 8388608.0f - 1.0f); }

/* Draws a case, runs the kernel and checks the result. Says what the case is if it is wrong. */
static bool pass_case();

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 10, n_failed = 0;
  u32 seed = argc > 2 ? (u32)strtoul(argv[2], NULL, 10) : 1;
  for (int i = 0; i < n; i++) {
    state = seed + (u32)i * 7919u;
    if (pass_case()) continue;
    n_failed++;
    printf("FAIL case %d of seed %u\n", i, seed);
  }
  printf("%d passed, %d failed, 0 skipped\n", n - n_failed, n_failed);
  return n_failed > 0;
}
#endif
