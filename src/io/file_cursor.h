/* JSON without a tree: a text is checked once as a whole, then walked with cursors that return parts of it.
 *
 * A tree takes 80 to 230 bytes per value, a vocabulary has a million of them. json_check refuses all that a parser
 * refuses: wrong syntax, invalid UTF-8, half of a surrogate pair, a control character, a name with NUL or twice in one
 * object, an integer beyond 64 bits. It takes 20 bytes per member while it runs. Everything below it expects text that
 * was checked, and so cannot fail except for memory. */
#ifndef RLX_IO_FILE_CURSOR_H
#define RLX_IO_FILE_CURSOR_H

#include "base/bump.h"
#include "base/status.h"

typedef struct json_text {
  const char *v;
  size_t n;
} json_text;

/* `name` is the file in messages. More than max_values values (member names count) or too deep nesting is RLX_LIMIT.
 * has_big_integers: integers beyond 64 bits are allowed. */
rlx_status json_check(json_text text, const char *name, size_t max_values, bool has_big_integers);

/* ---- Text that was checked ---- */

/* A cursor over the members of an object or the elements of a list; false at the end. The key has its quotes; a value
 * is without blanks around it. A text that is neither has no members and no elements. */
typedef struct json_cursor {
  const char *at, *end;
} json_cursor;
json_cursor json_cursor_begin(json_text container);
bool json_cursor_member(json_cursor *c, json_text *key, json_text *value);
bool json_cursor_element(json_cursor *c, json_text *value);
size_t json_element_count(json_text list);

/* By the first byte: '{', '[', '"', 't', 'f', 'n'. False for absent text. */
static inline bool json_begins(json_text value, char first) { return value.n && value.v[0] == first; }
bool json_integer_of(json_text value, int64_t *out); /* false: it is no integer */
bool json_number_of(json_text value, double *out);   /* false: it is no number */
/* The characters of a string, which is in quotes: a part of the text, or in the pool if it has escapes. Not
 * NUL-terminated. */
rlx_status json_string_of(json_text quoted, rlx_bump *pool, json_text *out);
bool json_string_is(json_text quoted, const char *text);

#endif
