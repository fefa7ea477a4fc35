/* Programs of copies alone, submitted to a backend directly: a block of cells "0", "1", ... and copies from one cell to
 * another, so that what is in the cells says in which order the steps ran. The struct follows what must be in them.
 *
 *   copies c;
 *   copies_open(&c, "vulkan", (const uint8_t[][2]){{0, 4}, {4, 5}}, 2);
 *   STOP_UNLESS_PASSED;
 *   copies_run(&c, 0, 2, &(rlx_run_args){0});
 *   copies_expect(&c, "01230067");   or copies_expect(&c, c.cells)
 *   copies_close(&c); */
#ifndef RLX_TESTS_DEVICE_COPIES_H
#define RLX_TESTS_DEVICE_COPIES_H

#include "device_checks.h"

enum { CELL = 256, N_CELLS = 24, MAX_COPIES = 96 };

typedef struct copies {
  rlx_device *d;
  rlx_queue *q;
  rlx_graph *g;
  rlx_block *b;
  rlx_program *p;
  char cells[N_CELLS + 1]; /* what copies_run has made of them */
  rlx_bound windows[2 * MAX_COPIES];
  rlx_bound_step steps[MAX_COPIES];
  rlx_program_desc desc;
  uint64_t timed_from, begin[MAX_COPIES], end[MAX_COPIES]; /* of copies_run_timed */
} copies;

/* Each pair is a copy from one cell to another. The test is skipped if there is no such device. */
void copies_open(copies *c, const char *device, const uint8_t (*pairs)[2], size_t n);
/* On a device that the caller has acquired, and which copies_close releases. */
void copies_open_on(copies *c, rlx_device *d, const uint8_t (*pairs)[2], size_t n);
void copies_close(copies *c);

/* Submits n steps, which must succeed. */
void copies_run(copies *c, size_t first, size_t n, const rlx_run_args *args);
/* Notes n steps that ran in another way. */
void copies_follow(copies *c, size_t first, size_t n);
/* Compares the first cells, by their first and last bytes. */
void copies_expect(copies *c, const char *cells);

/* The third question whether to stop is answered with yes. With one step per submission (is_cut) that is after two
 * steps; otherwise there is one question, and all steps run. */
void copies_check_stop(copies *c, bool is_cut);
/* Runs all steps, with times; then checks that the times of the last run are in order and since the first. */
void copies_run_timed(copies *c, int runs);
void copies_expect_times(const copies *c);

/* Steps with wrong windows or without a kernel are reported, of a program with one copy. */
void check_wrong_programs(copies *c);

#endif
