/* Upper, lower and title case.
 *
 * utf8proc maps one character to one. A few have more (sharp s, ligatures, Greek with a iota below), and the small
 * sigma depends on its place in the word: what is not mapped here as Python does it is refused by its code. */
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "text/jinja.h"

typedef enum letter_case { TO_UPPER, TO_LOWER, TO_TITLE } letter_case;

/* Characters that become several in upper case, as ranges; between them are some that do not. */
static bool has_long_upper(int32_t c) {
  static const int32_t ranges[][2] = {{0x149, 0x149},   {0x1f0, 0x1f0},   {0x390, 0x390},
                                      {0x3b0, 0x3b0},   {0x587, 0x587},   {0x1e96, 0x1e9a},
                                      {0x1f50, 0x1f57}, {0x1f80, 0x1ffc}, {0xfb00, 0xfb17}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
  return false;
}

/* Appends one character in another case, with the origin of the bytes from `at` on. */
static rlx_status add_mapped(jinja_run *r, jinja_builder *b, const jinja_text *t, size_t at, size_t size, int32_t code,
                             letter_case to) {
  char mapped[8];
  size_t n;
  if (code < 0) return jinja_add_part(r, b, t, at, at + size);
  if (code == 0xdf && to != TO_LOWER) {
    memcpy(mapped, to == TO_UPPER ? "SS" : "Ss", n = 2);
  } else if ((to != TO_LOWER && has_long_upper(code)) || (to == TO_LOWER && (code == 0x3a3 || code == 0x130))) {
    return jinja_fail(r, RLX_UNSUPPORTED, "another case of the character U+%04X is not supported", (unsigned)code);
  } else {
    int32_t c = to == TO_UPPER   ? utf8proc_toupper(code)
                : to == TO_LOWER ? utf8proc_tolower(code)
                                 : utf8proc_totitle(code);
    n = text_put(mapped, c);
  }
  if (n == size && memcmp(mapped, t->p + at, n) == 0) return jinja_add_part(r, b, t, at, at + size);
  return jinja_add(r, b, mapped, n, jinja_text_is_content(t, at));
}

/* Maps a text; is_first of the first character and of those after a `boundary`. */
typedef bool (*boundary_fn)(int32_t code);

static rlx_status map_case(jinja_run *r, const jinja_value *v, letter_case first, letter_case rest,
                           boundary_fn boundary, jinja_value *out) {
  const jinja_text *t;
  jinja_builder b = {0};
  RLX_TRY(jinja_to_text(r, v, &t));
  RLX_TRY(jinja_count(r, t->n));
  bool is_first = true;
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    RLX_TRY(add_mapped(r, &b, t, at, size, code, is_first ? first : rest));
    is_first = boundary && boundary(code);
  }
  RLX_TRY(jinja_built(r, &b, out));
  out->is_markup = v->kind == JINJA_TEXT && v->is_markup;
  return RLX_OK;
}

JINJA_FN(jinja_upper) {
  (void)args;
  return map_case(r, self, TO_UPPER, TO_UPPER, NULL, out);
}
JINJA_FN(jinja_lower) {
  (void)args;
  return map_case(r, self, TO_LOWER, TO_LOWER, NULL, out);
}
JINJA_FN(jinja_capitalize) {
  (void)args;
  return map_case(r, self, TO_TITLE, TO_LOWER, NULL, out);
}

/* The filter's words begin after blanks and some brackets. */
static bool is_word_start(int32_t code) {
  return jinja_is_space(code) || (code > 0 && code < 0x80 && strchr("-({[<", (char)code));
}
JINJA_FN(jinja_title_filter) {
  (void)args;
  return map_case(r, self, TO_UPPER, TO_LOWER, is_word_start, out);
}

/* Whether a character has case; *unclear: Python's tables say more than its category. */
static bool is_cased(int32_t code, bool *unclear) {
  utf8proc_category_t k = utf8proc_category(code);
  *unclear = k == UTF8PROC_CATEGORY_LT ||
             (code >= 0x80 && (k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_SO ||
                               k == UTF8PROC_CATEGORY_MN || code == 0xaa || code == 0xba));
  return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL;
}

static rlx_status check_case(jinja_run *r, const jinja_text *t) {
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    bool unclear;
    size = jinja_character(t->p + at, t->n - at, &code);
    (void)is_cased(code, &unclear);
    if (code >= 0 && unclear)
      return jinja_fail(r, RLX_UNSUPPORTED, "the case of the character U+%04X is not supported", (unsigned)code);
  }
  return RLX_OK;
}

/* The method's words begin after anything that has no case. */
static bool is_caseless(int32_t code) {
  bool unclear;
  return !is_cased(code, &unclear);
}
JINJA_FN(jinja_title_method) {
  const jinja_text *t;
  (void)args;
  RLX_TRY(jinja_to_text(r, self, &t));
  RLX_TRY(check_case(r, t));
  return map_case(r, self, TO_TITLE, TO_LOWER, is_caseless, out);
}

static rlx_status all_of_case(jinja_run *r, const jinja_value *v, utf8proc_category_t other, jinja_value *out) {
  const jinja_text *t;
  bool any = false, all = true, unclear;
  RLX_TRY(jinja_to_text(r, v, &t));
  RLX_TRY(jinja_count(r, t->n));
  RLX_TRY(check_case(r, t));
  for (size_t at = 0, size; at < t->n; at += size) {
    int32_t code;
    size = jinja_character(t->p + at, t->n - at, &code);
    if (code < 0 || !is_cased(code, &unclear)) continue;
    any = true;
    all = all && utf8proc_category(code) != other;
  }
  *out = jinja_bool(any && all);
  return RLX_OK;
}
JINJA_FN(jinja_is_upper) {
  (void)args;
  return all_of_case(r, self, UTF8PROC_CATEGORY_LL, out);
}
JINJA_FN(jinja_is_lower) {
  (void)args;
  return all_of_case(r, self, UTF8PROC_CATEGORY_LU, out);
}
