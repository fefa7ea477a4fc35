/* Properties that must hold for any bytes given to the parser: shared by the fuzz target and the mutation test.
 *
 * The text is rejected with a message, or it is a graph: then it verifies, prints and parses back to itself, and, if it
 * is small enough to run, the passes accept it, and what ran before them runs after them. Values are not compared here:
 * hostile graphs are full of NaN and of roundings that a comparison amplifies to a difference of 1 (test_equivalence
 * compares values, of graphs made for it). */
#ifndef RLX_TESTS_TEXT_CHECK_H
#define RLX_TESTS_TEXT_CHECK_H

#include "base/status.h"

typedef struct text_tally {
  unsigned refused, parsed, optimised, ran; /* how far the texts came */
} text_tally;

/* RLX_OK, or what did not hold (rlx_message()). tally may be NULL. */
rlx_status text_check(const char *text, size_t bytes, text_tally *tally);

#endif
