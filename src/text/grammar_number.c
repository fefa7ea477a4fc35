/* Numbers within bounds as expressions over their digits.
 *
 * Bounds are compared digit by digit, so they are texts and may be longer than a double. A range of integers is split
 * by the number of digits, and then where the first digit differs from that of a bound. A fraction is followed digit by
 * digit for as long as it agrees with the fraction of a bound. Negative numbers are ranges of magnitudes behind a
 * minus. */
#include <string.h>

#include "text/grammar.h"

enum { MAX_DIGITS = 64 };

/* A bound without its sign: digits before the point without leading zeros ("0" at least), and behind it without
 * trailing ones. */
typedef struct magnitude {
  char whole[MAX_DIGITS + 2], part[MAX_DIGITS + 1];
  bool is_out; /* the number itself is not within */
} magnitude;

static grammar_ref digit(grammar_tree *t, char first, char last) {
  if (first > last) return GRAMMAR_NEVER;
  return grammar_class(t, &(grammar_range){(unsigned char)first, (unsigned char)last}, 1);
}

static grammar_ref digits(grammar_tree *t, size_t n) {
  return grammar_repeat(t, digit(t, '0', '9'), (uint32_t)n, (uint32_t)n);
}

static grammar_ref any_digits(grammar_tree *t, uint32_t min) {
  return grammar_repeat(t, digit(t, '0', '9'), min, GRAMMAR_MANY);
}

/* ---- Integers ---- */

/* Numbers of exactly n digits from a to b; NULL: no bound on that side. */
static grammar_ref same_length(grammar_tree *t, const char *a, const char *b, size_t n) {
  grammar_ref parts[3];
  if (!n) return GRAMMAR_EMPTY;
  if (!a && !b) return digits(t, n);
  const char low = a ? *a : '0', high = b ? *b : '9';
  if (a && b && low == high) return GRAMMAR_SEQUENCE_OF(t, digit(t, low, low), same_length(t, a + 1, b + 1, n - 1));
  size_t k = 0;
  if (a) parts[k++] = GRAMMAR_SEQUENCE_OF(t, digit(t, low, low), same_length(t, a + 1, NULL, n - 1));
  parts[k++] =
    GRAMMAR_SEQUENCE_OF(t, digit(t, (char)(low + (a != NULL)), (char)(high - (b != NULL))), digits(t, n - 1));
  if (b) parts[k++] = GRAMMAR_SEQUENCE_OF(t, digit(t, high, high), same_length(t, NULL, b + 1, n - 1));
  return grammar_choice(t, parts, k);
}

static int compare_whole(const char *a, const char *b) {
  const size_t n = strlen(a), m = strlen(b);
  return n != m ? (n < m ? -1 : 1) : strcmp(a, b);
}

/* Integers from a to b without leading zeros; b NULL: without end. */
static grammar_ref whole_range(grammar_tree *t, const char *a, const char *b) {
  static const char least[] = "1000000000000000000000000000000000000000000000000000000000000000000",
                    most[] = "9999999999999999999999999999999999999999999999999999999999999999999";
  grammar_ref parts[MAX_DIGITS + 4];
  size_t k = 0, first = strlen(a), last = b ? strlen(b) : first;
  if (b && compare_whole(a, b) > 0) return GRAMMAR_NEVER;
  for (size_t n = first; n <= last; n++) {
    const char *low = n == first ? a : least, *high = b && n == last ? b : most;
    parts[k++] = same_length(t, low, high, n);
  }
  if (!b) parts[k++] = GRAMMAR_SEQUENCE_OF(t, digit(t, '1', '9'), any_digits(t, (uint32_t)first));
  return grammar_choice(t, parts, k);
}

static void add_one(char *whole) {
  size_t n = strlen(whole);
  for (size_t i = n; i-- > 0;) {
    if (whole[i] != '9') {
      whole[i]++;
      return;
    }
    whole[i] = '0';
  }
  memmove(whole + 1, whole, n + 1);
  whole[0] = '1';
}

/* Of a number above 0. */
static void subtract_one(char *whole) {
  size_t n = strlen(whole), i = n;
  while (i-- > 0 && whole[i] == '0') whole[i] = '9';
  whole[i]--;
  if (n > 1 && whole[0] == '0') memmove(whole, whole + 1, n);
}

/* ---- Fractions ---- */

typedef struct fraction {
  grammar_tree *t;
  const magnitude *low, *high; /* NULL: no bound on that side */
} fraction;

static char digit_at(const magnitude *m, size_t i) { return i < strlen(m->part) ? m->part[i] : '0'; }

/* Whether the digits may end here, all i of them being those of `low` (if it is not NULL) and of `high`. */
static bool may_stop(const magnitude *low, const magnitude *high, size_t i) {
  if (low && (i < strlen(low->part) || low->is_out)) return false;
  return !high || i < strlen(high->part) || !high->is_out;
}

/* Behind the last digit of both bounds. */
static grammar_ref tail(grammar_tree *t, const magnitude *low, const magnitude *high, uint32_t min) {
  grammar_ref zeros = grammar_repeat(t, digit(t, '0', '0'), min, GRAMMAR_MANY);
  if (high) return high->is_out || (low && low->is_out) ? GRAMMAR_NEVER : zeros;
  if (!low || !low->is_out) return any_digits(t, min);
  grammar_ref more = grammar_repeat(t, digit(t, '0', '0'), 0, GRAMMAR_MANY);
  return GRAMMAR_SEQUENCE_OF(t, more, digit(t, '1', '9'), any_digits(t, 0));
}

/* The i-th digit and those after it. */
static grammar_ref follow(const fraction *f, const magnitude *low, const magnitude *high, size_t i) {
  grammar_tree *t = f->t;
  grammar_ref parts[12];
  size_t k = 0, longest = low ? strlen(low->part) : 0;
  if (high && strlen(high->part) > longest) longest = strlen(high->part);
  if (i >= longest) return tail(t, low, high, i == 0);
  if (i && may_stop(low, high, i)) parts[k++] = GRAMMAR_EMPTY;
  for (int c = '0'; c <= '9'; c++) {
    const char d = (char)c;
    if ((low && d < digit_at(low, i)) || (high && d > digit_at(high, i))) continue;
    const magnitude *l = low && d == digit_at(low, i) ? low : NULL, *h = high && d == digit_at(high, i) ? high : NULL;
    grammar_ref rest = l || h ? follow(f, l, h, i + 1) : any_digits(t, 0);
    parts[k++] = GRAMMAR_SEQUENCE_OF(t, digit(t, d, d), rest);
  }
  return grammar_choice(t, parts, k);
}

/* What may come behind a whole number that equals that of the bounds which are not NULL. */
static grammar_ref fraction_within(grammar_tree *t, const magnitude *low, const magnitude *high) {
  fraction f = {t, low, high};
  grammar_ref point = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "."), follow(&f, low, high, 0));
  return may_stop(low, high, 0) ? grammar_optional(t, point) : point;
}

/* ---- Magnitudes ---- */

static grammar_ref number_range(grammar_tree *t, const magnitude *low, const magnitude *high) {
  grammar_ref parts[3];
  char first[MAX_DIGITS + 2], last[MAX_DIGITS + 2];
  size_t k = 0;
  int order = high ? compare_whole(low->whole, high->whole) : -1;
  if (order > 0) return GRAMMAR_NEVER;
  grammar_ref bottom = grammar_text(t, low->whole, strlen(low->whole));
  if (order == 0) return GRAMMAR_SEQUENCE_OF(t, bottom, fraction_within(t, low, high));
  parts[k++] = GRAMMAR_SEQUENCE_OF(t, bottom, fraction_within(t, low, NULL));
  memcpy(first, low->whole, sizeof first);
  add_one(first);
  if (high) {
    memcpy(last, high->whole, sizeof last);
    subtract_one(last);
    grammar_ref top = grammar_text(t, high->whole, strlen(high->whole));
    parts[k++] = GRAMMAR_SEQUENCE_OF(t, top, fraction_within(t, NULL, high));
  }
  grammar_ref between = whole_range(t, first, high ? last : NULL);
  parts[k++] = GRAMMAR_SEQUENCE_OF(t, between, fraction_within(t, NULL, NULL));
  return grammar_choice(t, parts, k);
}

/* The least integer that is within a lower bound, the largest within an upper one. False: there is none. */
static bool round_bound(const magnitude *m, bool is_low, char whole[MAX_DIGITS + 2]) {
  memcpy(whole, m->whole, MAX_DIGITS + 2);
  if (is_low && (m->part[0] || m->is_out)) add_one(whole);
  if (is_low || m->part[0] || !m->is_out) return true;
  if (strcmp(whole, "0") == 0) return false;
  subtract_one(whole);
  return true;
}

static grammar_ref magnitude_range(grammar_tree *t, const magnitude *low, const magnitude *high, bool is_integer) {
  char first[MAX_DIGITS + 2], last[MAX_DIGITS + 2];
  if (!is_integer) return number_range(t, low, high);
  if (!round_bound(low, true, first) || (high && !round_bound(high, false, last))) return GRAMMAR_NEVER;
  return whole_range(t, first, high ? last : NULL);
}

/* ---- Both signs ---- */

static void read_bound(const char *text, bool is_out, magnitude *m, bool *is_negative) {
  *is_negative = *text == '-';
  text += *is_negative;
  *m = (magnitude){.is_out = is_out};
  const char *point = strchr(text, '.');
  size_t n = point ? (size_t)(point - text) : strlen(text), k = point ? strlen(point + 1) : 0;
  while (n > 1 && *text == '0') text++, n--;
  memcpy(m->whole, n ? text : "0", n ? n : 1);
  while (k && point[k] == '0') k--;
  if (k) memcpy(m->part, point + 1, k);
  if (!k && strcmp(m->whole, "0") == 0) *is_negative = false;
}

grammar_ref grammar_json_bounded(grammar_tree *t, const grammar_bounds *b, bool is_integer) {
  magnitude min = {0}, max = {0};
  const magnitude zero = {.whole = "0"};
  bool min_is_negative = !b->min, max_is_negative = false;
  if (b->min) read_bound(b->min, b->min_is_out, &min, &min_is_negative);
  if (b->max) read_bound(b->max, b->max_is_out, &max, &max_is_negative);
  grammar_ref positive = GRAMMAR_NEVER, negative = GRAMMAR_NEVER;
  if (!max_is_negative) positive = magnitude_range(t, min_is_negative ? &zero : &min, b->max ? &max : NULL, is_integer);
  if (min_is_negative) {
    magnitude nearest = max_is_negative ? max : zero;
    nearest.is_out = max_is_negative ? max.is_out : true; /* zero has no minus */
    negative = magnitude_range(t, &nearest, b->min ? &min : NULL, is_integer);
  }
  return GRAMMAR_CHOICE_OF(t, positive, GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "-"), negative));
}
