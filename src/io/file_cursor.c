/* Checks JSON in one pass and walks it: see file_cursor.h.
 *
 * The check is a loop with a stack of open brackets. Names of all objects are in one hash table, which starts from a
 * random seed and the number of the object. Keys are kept where they are in the text and compared there, so a name
 * costs an entry and two slots, whatever its length. */
#include "io/file_cursor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/file_json.h"

/* ---- Characters ---- */

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The code after \u; -1: not four digits. */
static int32_t code_unit(const char *p, const char *end) {
  int32_t code = 0;
  if (end - p < 6 || p[0] != '\\' || p[1] != 'u') return -1;
  for (int i = 2; i < 6; i++) {
    int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    code = code * 16 + digit;
  }
  return code;
}

static size_t put_utf8(char *out, int32_t code) {
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)(first[n] | code);
  return n;
}

/* Decodes an escape at p. Returns the bytes of it; 0: invalid, or half of a surrogate pair. */
static size_t decode_escape(const char *p, const char *end, char out[4], size_t *n) {
  static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *letter = end - p >= 2 && p[1] ? strchr(letters, p[1]) : NULL;
  if (letter) {
    out[0] = values[letter - letters];
    *n = 1;
    return 2;
  }
  int32_t code = code_unit(p, end);
  if (code < 0 || (code >= 0xdc00 && code <= 0xdfff)) return 0;
  if (code < 0xd800 || code > 0xdbff) {
    *n = put_utf8(out, code);
    return 6;
  }
  int32_t low = code_unit(p + 6, end);
  if (low < 0xdc00 || low > 0xdfff) return 0;
  *n = put_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
  return 12;
}

/* The next character of a checked string; false at its closing quote. */
static bool next_character(const char **at, const char *end, char out[4], size_t *n) {
  const char *p = *at;
  if (*p == '"') return false;
  if (*p == '\\') {
    *at += decode_escape(p, end, out, n);
    return true;
  }
  unsigned char first = (unsigned char)*p;
  *n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  memcpy(out, p, *n);
  *at += *n;
  return true;
}

/* Whether two checked strings, from their opening quotes, have the same characters. */
static bool same_string(const char *a, const char *b, const char *end) {
  char one[4], other[4];
  size_t n = 0, m = 0;
  for (a++, b++;;) {
    bool has_one = next_character(&a, end, one, &n), has_other = next_character(&b, end, other, &m);
    if (!has_one || !has_other) return has_one == has_other;
    if (n != m || memcmp(one, other, n) != 0) return false;
  }
}

/* ---- Checking ---- */

typedef struct name_entry {
  const char *at; /* its opening quote */
  uint32_t object, hash;
} name_entry;

typedef struct checker {
  const char *start, *at, *end, *name;
  bool has_big_integers;
  name_entry *names;
  size_t n_names, max_names;
  uint32_t *slots; /* index + 1; a power of two */
  size_t mask;
  uint64_t seed;
  uint32_t n_objects;
  size_t n_values, depth;
  uint32_t open[JSON_MAX_DEPTH]; /* the number of each open object; 0: a list */
} checker;

static rlx_status wrong(const checker *c, const char *at, const char *what) {
  size_t line = 1, column = 1;
  for (const char *p = c->start; p < at; p++) {
    if (*p == '\n') line++, column = 1;
    else column += ((unsigned char)*p & 0xc0) != 0x80;
  }
  return RLX_FAIL(RLX_INVALID, "%s: line %zu, column %zu: %s", c->name, line, column, what);
}

static rlx_status expected(const checker *c, const char *what) {
  char text[96];
  if (c->at == c->end) snprintf(text, sizeof text, "expected %s, got the end", what);
  else snprintf(text, sizeof text, "expected %s, got byte 0x%02x", what, (unsigned)(unsigned char)*c->at);
  return wrong(c, c->at, text);
}

static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
  return p;
}

static bool accept(checker *c, char wanted) {
  c->at = skip_blanks(c->at, c->end);
  if (c->at == c->end || *c->at != wanted) return false;
  c->at++;
  return true;
}

static uint64_t hash_bytes(uint64_t h, const char *p, size_t n) {
  for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
  return h;
}

/* From the opening quote; hash: of a member's name, else NULL. */
static rlx_status check_string(checker *c, uint64_t *hash) {
  const char *open = c->at, *p = open + 1;
  while (p < c->end && *p != '"') {
    char out[4];
    const char *bytes = p;
    size_t used = 1, n = 1;
    if ((unsigned char)*p < 0x20) return wrong(c, p, "a control character in a string");
    if (*p == '\\') {
      used = decode_escape(p, c->end, out, &n);
      bytes = out;
      if (!used) return wrong(c, p, "an invalid escape, or half of a surrogate pair");
      if (hash && n == 1 && !out[0]) return wrong(c, p, "NUL in the name of a member");
    } else if ((unsigned char)*p >= 0x80) {
      used = n = rlx_utf8_length(p, (size_t)(c->end - p));
      if (!used) return wrong(c, p, "invalid UTF-8");
    }
    if (hash) *hash = hash_bytes(*hash, bytes, n);
    p += used;
  }
  if (p == c->end) return wrong(c, open, "a string without its closing quote");
  c->at = p + 1;
  return RLX_OK;
}

static rlx_status enter_name(checker *c, name_entry name) {
  size_t at = name.hash;
  for (; c->slots[at & c->mask]; at++) {
    const name_entry *other = &c->names[c->slots[at & c->mask] - 1];
    if (other->hash == name.hash && other->object == name.object && same_string(other->at, name.at, c->end))
      return wrong(c, name.at, "duplicate name in an object");
  }
  if (c->n_names == c->max_names) return wrong(c, name.at, "more names than colons");
  c->names[c->n_names++] = name;
  c->slots[at & c->mask] = (uint32_t)c->n_names;
  return RLX_OK;
}

static rlx_status check_name(checker *c) {
  uint32_t object = c->open[c->depth - 1];
  uint64_t hash = c->seed ^ object * 0x9e3779b97f4a7c15u;
  c->at = skip_blanks(c->at, c->end);
  if (c->at == c->end || *c->at != '"') return expected(c, "a name in quotes");
  const char *at = c->at;
  RLX_TRY(check_string(c, &hash));
  if (!accept(c, ':')) return expected(c, "':'");
  return enter_name(c, (name_entry){at, object, (uint32_t)(hash ^ hash >> 32)});
}

static size_t digits(checker *c) {
  const char *from = c->at;
  while (c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
  return (size_t)(c->at - from);
}

static bool accept_here(checker *c, const char *any) {
  if (c->at == c->end || !*c->at || !strchr(any, *c->at)) return false;
  c->at++;
  return true;
}

static rlx_status check_number(checker *c) {
  const char *from = c->at;
  bool is_integer = true, has_exponent = false;
  (void)accept_here(c, "-");
  bool is_zero = accept_here(c, "0");
  if (!is_zero && !digits(c)) return expected(c, "a value");
  if (accept_here(c, ".")) {
    is_integer = false;
    if (!digits(c)) return expected(c, "a digit");
  }
  if (accept_here(c, "eE")) {
    is_integer = false;
    has_exponent = true;
    (void)accept_here(c, "+-");
    if (!digits(c)) return expected(c, "a digit");
  }
  json_text number = {from, (size_t)(c->at - from)};
  int64_t i;
  double x;
  if (is_integer && !c->has_big_integers)
    return json_integer_of(number, &i) ? RLX_OK : wrong(c, from, "an integer beyond 64 bits");
  if (!has_exponent && number.n < 300) return RLX_OK; /* no such number is too large */
  if (!rlx_text_to_double(number.v, number.n, &x)) return wrong(c, from, "a number of too many digits");
  return isinf(x) ? wrong(c, from, "a number beyond the range of a double") : RLX_OK;
}

static rlx_status check_word(checker *c, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return expected(c, "a value");
  c->at += n;
  return RLX_OK;
}

/* A value that is no bracket. */
static rlx_status check_scalar(checker *c) {
  if (c->at == c->end) return expected(c, "a value");
  switch (*c->at) {
    case '"': return check_string(c, NULL);
    case 't': return check_word(c, "true");
    case 'f': return check_word(c, "false");
    case 'n': return check_word(c, "null");
    default: return check_number(c);
  }
}

/* Past an opening bracket; *is_empty: past the closing one as well. */
static rlx_status open_bracket(checker *c, bool *is_empty) {
  bool is_object = *c->at++ == '{';
  *is_empty = accept(c, is_object ? '}' : ']');
  if (*is_empty) return RLX_OK;
  if (c->depth == JSON_MAX_DEPTH) return wrong(c, c->at, "nested too deep");
  c->open[c->depth++] = is_object ? ++c->n_objects : 0;
  return is_object ? check_name(c) : RLX_OK;
}

/* After a value: past closing brackets, to the next value or the end. */
static rlx_status end_value(checker *c) {
  while (c->depth) {
    bool is_object = c->open[c->depth - 1] != 0;
    if (accept(c, ',')) return is_object ? check_name(c) : RLX_OK;
    if (!accept(c, is_object ? '}' : ']')) return expected(c, is_object ? "',' or '}'" : "',' or ']'");
    c->depth--;
  }
  return RLX_OK;
}

enum { VALUES_PER_POLL = 1 << 15 };

static rlx_status check_all(checker *c) {
  c->at = skip_blanks(c->at, c->end);
  if (c->at == c->end || (*c->at != '{' && *c->at != '[')) return expected(c, "'{' or '['");
  do {
    bool is_empty = true;
    c->at = skip_blanks(c->at, c->end);
    if (++c->n_values % VALUES_PER_POLL == 0 && rlx_budget_stops())
      return RLX_FAIL(RLX_CANCELLED, "%s: stopped by the caller", c->name);
    if (c->at < c->end && (*c->at == '{' || *c->at == '[')) RLX_TRY(open_bracket(c, &is_empty));
    else RLX_TRY(check_scalar(c));
    if (is_empty) RLX_TRY(end_value(c));
  } while (c->depth);
  c->at = skip_blanks(c->at, c->end);
  return c->at == c->end ? RLX_OK : expected(c, "nothing after the last bracket");
}

rlx_status json_check(json_text text, const char *name, size_t max_values, bool has_big_integers) {
  json_tally tally;
  RLX_TRY(json_check_tally(text, name, max_values, &tally));
  size_t slots = 16;
  while (slots < tally.members + tally.members / 2) slots *= 2;
  checker c = {.start = text.v,
               .at = text.v,
               .end = text.v + text.n,
               .name = name,
               .has_big_integers = has_big_integers,
               .max_names = tally.members,
               .mask = slots - 1};
  c.names = rlx_mem_calloc(tally.members + 1, sizeof *c.names);
  c.slots = rlx_mem_calloc(slots, sizeof *c.slots);
  c.seed = rlx_text_hash_seed(c.slots);
  rlx_status s =
    c.names && c.slots ? check_all(&c) : RLX_FAIL(RLX_NO_MEMORY, "%s: %zu JSON members", name, tally.members);
  rlx_mem_free(c.names);
  rlx_mem_free(c.slots);
  return s;
}

/* ---- Walking ---- */

json_cursor json_cursor_begin(json_text container) {
  json_cursor c = {container.v, container.n ? container.v + container.n : container.v};
  if (json_begins(container, '{') || json_begins(container, '[')) c.at++;
  else c.at = c.end;
  return c;
}

/* Past the string whose opening quote is at p. */
static const char *past_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++)
    if (*p == '\\') p++;
  return p < end ? p + 1 : end;
}

static const char *past_value(const char *p, const char *end) {
  size_t depth = 0;
  while (p < end) {
    char c = *p;
    if (c == '"') {
      p = past_string(p, end);
      if (!depth) return p;
      continue;
    }
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r')) return p;
    depth += c == '{' || c == '[';
    if (c == '}' || c == ']') depth--;
    p++;
    if (!depth && (c == '}' || c == ']')) return p;
  }
  return p;
}

/* To the next member or element. */
static bool advance(json_cursor *c) {
  c->at = skip_blanks(c->at, c->end);
  if (c->at < c->end && *c->at == ',') c->at = skip_blanks(c->at + 1, c->end);
  return c->at < c->end && *c->at != '}' && *c->at != ']';
}

bool json_cursor_element(json_cursor *c, json_text *value) {
  *value = (json_text){0};
  if (!advance(c)) return false;
  value->v = c->at;
  c->at = past_value(c->at, c->end);
  value->n = (size_t)(c->at - value->v);
  return true;
}

bool json_cursor_member(json_cursor *c, json_text *key, json_text *value) {
  *key = *value = (json_text){0};
  if (!advance(c) || *c->at != '"') return false; /* also if it is a list */
  key->v = c->at;
  c->at = past_string(c->at, c->end);
  key->n = (size_t)(c->at - key->v);
  c->at = skip_blanks(c->at, c->end);
  if (c->at == c->end || *c->at != ':') return false;
  c->at = skip_blanks(c->at + 1, c->end);
  value->v = c->at;
  c->at = past_value(c->at, c->end);
  value->n = (size_t)(c->at - value->v);
  return true;
}

size_t json_element_count(json_text list) {
  json_cursor c = json_cursor_begin(list);
  json_text value;
  size_t n = 0;
  while (json_cursor_element(&c, &value)) n++;
  return n;
}

/* ---- Values ---- */

bool json_integer_of(json_text value, int64_t *out) {
  bool is_negative = json_begins(value, '-');
  size_t i = is_negative;
  uint64_t x = 0, max = (uint64_t)INT64_MAX + is_negative;
  *out = 0;
  if (i == value.n) return false;
  for (; i < value.n; i++) {
    unsigned digit = (unsigned)(value.v[i] - '0');
    if (digit > 9 || x > (max - digit) / 10) return false;
    x = x * 10 + digit;
  }
  *out = is_negative ? -(int64_t)(x - (x > 0)) - (x > 0) : (int64_t)x;
  return true;
}

bool json_number_of(json_text value, double *out) {
  *out = 0;
  if (!value.n || (value.v[0] != '-' && (value.v[0] < '0' || value.v[0] > '9'))) return false;
  return rlx_text_to_double(value.v, value.n, out);
}

rlx_status json_string_of(json_text quoted, rlx_bump *pool, json_text *out) {
  const char *at = quoted.v + 1, *end = quoted.v + quoted.n;
  *out = (json_text){at, quoted.n - 2};
  if (!memchr(at, '\\', out->n)) return RLX_OK;
  char *to = rlx_bump_alloc(pool, out->n, 1); /* an escape is longer than its character */
  if (!to) return RLX_FAIL(RLX_NO_MEMORY, "a string of %zu bytes", out->n);
  size_t n = 0, more;
  char character[4];
  while (next_character(&at, end, character, &more)) {
    memcpy(to + n, character, more);
    n += more;
  }
  *out = (json_text){to, n};
  return RLX_OK;
}

bool json_string_is(json_text quoted, const char *text) {
  const char *at = quoted.v + 1, *end = quoted.v + quoted.n;
  char character[4];
  size_t n;
  if (!json_begins(quoted, '"')) return false;
  while (next_character(&at, end, character, &n)) {
    if (strncmp(text, character, n) != 0 || !character[0]) return false;
    text += n;
  }
  return *text == '\0';
}
