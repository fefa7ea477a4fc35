/* The lexer of the text form: white space, words, numbers, strings, and errors with line and column.
 *
 * Each function skips white space first and leaves the cursor after what it consumed, or unchanged if it consumed
 * nothing. ';' counts as white space and '#' begins a comment. Nothing depends on the locale. */
#ifndef RLX_IR_TEXT_LEX_H
#define RLX_IR_TEXT_LEX_H

#include "base/bump.h"
#include "base/status.h"

typedef struct rlx_lexer {
  const char *at, *end, *begin;
  rlx_bump scratch; /* copies of names and strings */
} rlx_lexer;

/* The line of a position, and its column. */
size_t rlx_lex_line(const rlx_lexer *p, const char *at, size_t *column);
/* "line 3, column 7: expected .., got '..'" at the cursor. */
rlx_status rlx_lex_fail(const rlx_lexer *p, const char *expected);
void rlx_lex_skip(rlx_lexer *p); /* white space and comments */
bool rlx_lex_accept(rlx_lexer *p, char c);
rlx_status rlx_lex_expect(rlx_lexer *p, char c);
/* A run of letters, digits, '_' and '.'; *n is 0 if there is none. */
const char *rlx_lex_word(rlx_lexer *p, size_t *n);
bool rlx_lex_accept_word(rlx_lexer *p, const char *text);
bool rlx_lex_is_letter(char c); /* or '_' */
rlx_status rlx_lex_copy(rlx_lexer *p, const char *text, size_t n, const char **out);
rlx_status rlx_lex_double(rlx_lexer *p, double *out);
rlx_status rlx_lex_int(rlx_lexer *p, int64_t *out);
bool rlx_lex_hex(char c, uint32_t *out);                   /* the value of a hex digit */
rlx_status rlx_lex_string(rlx_lexer *p, const char **out); /* quoted, with the escapes of JSON */

#endif
