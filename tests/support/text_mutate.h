/* Texts of graphs that are nearly valid, for the fuzz target and the mutation test. */
#ifndef RLX_TESTS_TEXT_MUTATE_H
#define RLX_TESTS_TEXT_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* The text of a random conformance case (they cover every op). Returns its length, or 0 if it has more than cap
 * bytes. */
size_t text_random_case(char *text, size_t cap, uint64_t *random);

/* Mutates text[0 .. bytes) in place, to at most cap bytes (cap >= bytes); returns the new length. Mostly replaces whole
 * words by words of the language (op names, attributes, types, numbers at the edges of ranges), sometimes moves or
 * copies lines, rarely single bytes. other, which may be NULL, is text to copy lines from. */
size_t text_mutate(char *text, size_t bytes, size_t cap, const char *other, size_t other_bytes, uint64_t *random);

#endif
