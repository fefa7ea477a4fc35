/* String builder: append formatted text, check once. After a failed allocation it stays failed and appends nothing. `v`
 * is NUL-terminated or NULL. */
#ifndef RLX_BASE_STR_H
#define RLX_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct rlx_str {
  char *v;
  size_t n, cap;
  bool failed;
} rlx_str;

void rlx_str_add(rlx_str *s, const char *fmt, ...) RLX_PRINTF(2, 3);
void rlx_str_add_bytes(rlx_str *s, const char *bytes, size_t n);
void rlx_str_add_char(rlx_str *s, char c);
/* A quoted string with JSON escapes. A byte that is not UTF-8 becomes \u00XX of the byte. */
void rlx_str_add_quoted(rlx_str *s, const char *text);
/* The shortest decimal that reads back as the same double, or "nan", "inf", "-inf". */
void rlx_str_add_double(rlx_str *s, double x);
void rlx_str_add_float(rlx_str *s, float x); /* likewise for a float */
/* Transfers the text to the caller (free with rlx_mem_free). RLX_NO_MEMORY if any append failed. */
rlx_status rlx_str_take(rlx_str *s, char **out);
void rlx_str_deinit(rlx_str *s);

/* Parses all n bytes as a decimal number ("1", "-2.5e3", "inf", "nan"), whatever the locale. */
bool rlx_text_to_double(const char *text, size_t n, double *out);
bool rlx_text_ends_with(const char *text, const char *end);
bool rlx_text_is_utf8(const char *text);
size_t rlx_utf8_length(const char *p, size_t n); /* bytes of the character at p, of n bytes; 0: none, or invalid */

/* A seeded hash for tables of names from files: an attacker cannot predict the seed. `salt` is any address. A seed is
 * never 0. */
uint64_t rlx_text_hash(uint64_t seed, const char *text);
uint64_t rlx_text_hash_seed(const void *salt);

#endif
