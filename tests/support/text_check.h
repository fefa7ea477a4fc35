/* What must hold for any bytes given to the parser, whoever made them: the fuzz target and the mutation test share it.
 *
 * The text is refused with a message, or it is a graph: then it verifies, prints and parses back to itself, and, where it
 * is small enough to run, the passes take it, and what ran before them runs after them. Values are not compared here:
 * hostile graphs are full of NaN and of roundings that a comparison turns into a difference of 1 (test_equivalence
 * compares values, of graphs made for it). */
#ifndef RLX_TESTS_TEXT_CHECK_H
#define RLX_TESTS_TEXT_CHECK_H

#include "base/status.h"

typedef struct text_tally {
  unsigned refused, parsed, optimised, ran; /* how far texts came */
} text_tally;

/* RLX_OK, or what did not hold (rlx_message()). tally may be NULL. */
rlx_status text_check(const char *text, size_t bytes, text_tally *tally);

#endif
