/* Regular expressions, as ECMA-262 writes and means them, without what is not regular.
 *
 * Characters, classes, groups, alternatives, repetitions (lazy ones match the same texts), \d \w \s (of ASCII, blanks
 * of Unicode) and their opposites. ^ and $ may stand at the beginning and the end of a top-level alternative. Looking
 * around, word boundaries, references back, flags and Unicode properties are refused by name.
 *
 * In a schema the pattern is about a string's value, but the text has the string as JSON writes it. There each
 * character of a class becomes its spelling: a line end in [^x] is the two characters \n. */
#include <string.h>

#include "text/grammar.h"
#include "text/text.h"

typedef struct reader {
  grammar_tree *t;
  grammar_regex_mode mode;
  const char *text, *at, *end;
  RLX_ARRAY(grammar_ref) parts;    /* of the sequences and choices that are being read */
  RLX_ARRAY(grammar_range) ranges; /* of the class that is being read */
  uint32_t depth;
} reader;

static rlx_status fail_at(const reader *r, const char *at, rlx_status code, const char *what) {
  size_t column = 1;
  for (const char *c = r->text; c < at; c++) column += (*c & 0xc0) != 0x80;
  return RLX_FAIL(code, "pattern '%.*s', character %zu: %s", (int)(r->end - r->text < 200 ? r->end - r->text : 200),
                  r->text, column, what);
}

static rlx_status invalid(const reader *r, const char *what) { return fail_at(r, r->at, RLX_INVALID, what); }
static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "reading a pattern"); }

static bool has(const reader *r, char c) { return r->at < r->end && *r->at == c; }

static bool take(reader *r, char c) {
  if (!has(r, c)) return false;
  r->at++;
  return true;
}

static bool take_text(reader *r, const char *text) {
  const size_t n = strlen(text);
  if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0) return false;
  r->at += n;
  return true;
}

/* ---- Classes ---- */

static const grammar_range digits[] = {{'0', '9'}}, words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                           blanks[] = {{9, 13},          {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
                                       {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                       {0x3000, 0x3000}, {0xfeff, 0xfeff}},
                           line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

#define COUNT(a) (sizeof(a) / sizeof *(a))

static rlx_status add_ranges(reader *r, const grammar_range *v, size_t n, bool is_inverted) {
  grammar_range other[16];
  if (is_inverted) {
    n = grammar_ranges_invert(v, n, other);
    v = other;
  }
  for (size_t i = 0; i < n; i++)
    if (!rlx_array_push(&r->ranges, v[i])) return no_memory();
  return RLX_OK;
}

/* \d and the like; *found is false if the letter is none. */
static rlx_status add_named(reader *r, char letter, bool *found) {
  *found = true;
  switch (letter) {
    case 'd':
    case 'D': return add_ranges(r, digits, COUNT(digits), letter == 'D');
    case 'w':
    case 'W': return add_ranges(r, words, COUNT(words), letter == 'W');
    case 's':
    case 'S': return add_ranges(r, blanks, COUNT(blanks), letter == 'S');
    default: *found = false; return RLX_OK;
  }
}

/* The node of r->ranges. */
static rlx_status finish_class(reader *r, bool is_inverted, const char *begin, grammar_ref *out) {
  const size_t n = r->ranges.n;
  if (!rlx_array_reserve(&r->ranges, n + 8)) return no_memory();
  size_t kept = grammar_ranges_sort(r->ranges.v, n);
  const grammar_range *v = r->ranges.v;
  grammar_range *other = NULL;
  if (is_inverted) {
    other = rlx_mem_calloc(kept + 3, sizeof *other);
    if (!other) return no_memory();
    kept = grammar_ranges_invert(v, kept, other);
    v = other;
  }
  *out = r->mode.in_json ? grammar_json_class(r->t, v, kept) : grammar_class(r->t, v, kept);
  rlx_mem_free(other);
  RLX_TRY(grammar_tree_check(r->t));
  return *out == GRAMMAR_NEVER ? fail_at(r, begin, RLX_INVALID, "the class has no character") : RLX_OK;
}

static rlx_status named_class(reader *r, const grammar_range *v, size_t n, bool is_inverted, grammar_ref *out) {
  r->ranges.n = 0;
  RLX_TRY(add_ranges(r, v, n, is_inverted));
  return finish_class(r, false, r->at, out);
}

/* ---- Characters ---- */

static rlx_status read_hex(reader *r, unsigned n, uint32_t *code) {
  *code = 0;
  for (unsigned i = 0; i < n; i++, r->at++) {
    char c = r->at < r->end ? *r->at : '\0';
    unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                        : 16;
    if (v == 16) return invalid(r, "expected a hexadecimal digit");
    *code = *code * 16 + v;
  }
  return RLX_OK;
}

/* After \u: four digits, perhaps of a pair of surrogates, or digits in braces. */
static rlx_status read_unicode(reader *r, uint32_t *code) {
  const char *begin = r->at;
  uint32_t low;
  if (take(r, '{')) {
    unsigned n = 0;
    while (r->at + n < r->end && r->at[n] != '}') n++;
    if (!n || n > 6) return invalid(r, "expected 1 to 6 hexadecimal digits and '}'");
    RLX_TRY(read_hex(r, n, code));
    if (!take(r, '}')) return invalid(r, "expected '}'");
  } else {
    RLX_TRY(read_hex(r, 4, code));
    if (*code >= 0xd800 && *code < 0xdc00 && take_text(r, "\\u")) {
      RLX_TRY(read_hex(r, 4, &low));
      if (low >= 0xdc00 && low < 0xe000) *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  if (*code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
    return fail_at(r, begin, RLX_INVALID, "the escape is no character");
  return RLX_OK;
}

/* An escape that is one character; the backslash is read. */
static rlx_status read_escape(reader *r, bool in_class, uint32_t *code) {
  static const char escapes[] = "tnrvf", values[] = "\t\n\r\v\f", itself[] = "^$\\.*+?()[]{}|/-\"'`~!@#%&=:;,<>_ ";
  const char *begin = r->at, c = r->at < r->end ? *r->at++ : '\0', *found = c ? strchr(escapes, c) : NULL;
  if (found) *code = (unsigned char)values[found - escapes];
  else if (c == 'x') return read_hex(r, 2, code);
  else if (c == 'u') return read_unicode(r, code);
  else if (c == 'b' && in_class) *code = 8;
  else if (c == '0' && !(r->at < r->end && *r->at >= '0' && *r->at <= '9')) *code = 0;
  else if (c == 'c' && r->at < r->end && ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z')))
    *code = (uint32_t)(*r->at++ & 31);
  else if (c && strchr(itself, c)) *code = (unsigned char)c;
  else if (c == 'b' || c == 'B') return fail_at(r, begin, RLX_UNSUPPORTED, "word boundaries are not supported");
  else if (c == 'p' || c == 'P') return fail_at(r, begin, RLX_UNSUPPORTED, "Unicode properties are not supported");
  else if ((c >= '1' && c <= '9') || c == 'k')
    return fail_at(r, begin, RLX_UNSUPPORTED, "references to groups are not supported");
  else return fail_at(r, begin, RLX_INVALID, "unknown escape");
  return RLX_OK;
}

static rlx_status read_plain(reader *r, uint32_t *code) {
  int32_t c;
  size_t n = text_character(r->at, (size_t)(r->end - r->at), &c);
  if (!n) return invalid(r, "the pattern is not UTF-8");
  r->at += n;
  *code = (uint32_t)c;
  return RLX_OK;
}

static rlx_status read_class(reader *r, grammar_ref *out) {
  const char *begin = r->at++;
  bool is_inverted = take(r, '^'), is_named;
  r->ranges.n = 0;
  while (!has(r, ']')) {
    grammar_range range;
    if (r->at >= r->end) return fail_at(r, begin, RLX_INVALID, "the class has no closing bracket");
    if (has(r, '\\') && r->at + 1 < r->end) {
      RLX_TRY(add_named(r, r->at[1], &is_named));
      if (is_named) {
        r->at += 2;
        if (has(r, '-') && r->at + 1 < r->end && r->at[1] != ']')
          return invalid(r, "a range begins with a class"); /* ECMA's Unicode mode refuses it as well */
        continue;
      }
    }
    RLX_TRY(take(r, '\\') ? read_escape(r, true, &range.first) : read_plain(r, &range.first));
    range.last = range.first;
    if (has(r, '-') && r->at + 1 < r->end && r->at[1] != ']') {
      r->at++;
      if (has(r, '\\') && r->at + 1 < r->end && strchr("dDwWsS", r->at[1]))
        return invalid(r, "a range ends with a class");
      RLX_TRY(take(r, '\\') ? read_escape(r, true, &range.last) : read_plain(r, &range.last));
    }
    if (range.last < range.first) return invalid(r, "the range ends before it begins");
    if (!rlx_array_push(&r->ranges, range)) return no_memory();
  }
  r->at++;
  return finish_class(r, is_inverted, begin, out);
}

static rlx_status character_node(reader *r, uint32_t code, grammar_ref *out) {
  char utf8[4];
  const size_t n = text_put(utf8, (int32_t)code);
  *out = r->mode.in_json ? grammar_json_text(r->t, utf8, n) : grammar_text(r->t, utf8, n);
  return grammar_tree_check(r->t);
}

/* ---- Expressions ---- */

static rlx_status read_choice(reader *r, grammar_ref *out);

static rlx_status read_group(reader *r, grammar_ref *out) {
  const char *begin = r->at++;
  if (take(r, '?')) {
    bool is_named = take_text(r, "P<") || (has(r, '<') && !(r->at + 1 < r->end && strchr("=!", r->at[1])));
    if (is_named) {
      while (r->at < r->end && *r->at != '>') r->at++;
      if (!take(r, '>')) return fail_at(r, begin, RLX_INVALID, "the group's name has no end");
    } else if (!take(r, ':')) {
      bool looks = r->at < r->end && strchr("=!<", *r->at);
      return fail_at(r, begin, RLX_UNSUPPORTED,
                     looks ? "looking ahead or behind is not supported" : "this kind of group is not supported");
    }
  }
  if (++r->depth > GRAMMAR_MAX_DEPTH) return fail_at(r, begin, RLX_LIMIT, "groups are nested too deep");
  RLX_TRY(read_choice(r, out));
  r->depth--;
  return take(r, ')') ? RLX_OK : fail_at(r, begin, RLX_INVALID, "the group has no closing parenthesis");
}

static rlx_status read_atom(reader *r, grammar_ref *out) {
  uint32_t code;
  bool is_named;
  switch (*r->at) {
    case '(': return read_group(r, out);
    case '[': return read_class(r, out);
    case '.': r->at++; return named_class(r, line_ends, COUNT(line_ends), true, out);
    case '^':
    case '$':
      return invalid(r, r->depth ? "an anchor within a group" : "an anchor that is not at the beginning or the end");
    case '*':
    case '+':
    case '?':
    case '{': return invalid(r, "nothing to repeat");
    case '\\':
      r->at++;
      r->ranges.n = 0;
      if (r->at < r->end) {
        RLX_TRY(add_named(r, *r->at, &is_named));
        if (is_named) {
          r->at++;
          return finish_class(r, false, r->at, out);
        }
      }
      RLX_TRY(read_escape(r, false, &code));
      return character_node(r, code, out);
    default: RLX_TRY(read_plain(r, &code)); return character_node(r, code, out);
  }
}

static rlx_status read_number(reader *r, uint32_t *n) {
  if (!grammar_read_count(&r->at, r->end, n)) return invalid(r, "expected a number");
  return *n <= GRAMMAR_MAX_REPEAT ? RLX_OK : fail_at(r, r->at, RLX_LIMIT, "more than 1000000 repetitions");
}

static rlx_status read_repeat(reader *r, grammar_ref *node) {
  uint32_t min = 0, max = GRAMMAR_MANY;
  if (take(r, '?')) max = 1;
  else if (take(r, '+')) min = 1;
  else if (take(r, '{')) {
    RLX_TRY(read_number(r, &min));
    if (!take(r, ',')) max = min;
    else if (!has(r, '}')) RLX_TRY(read_number(r, &max));
    if (!take(r, '}')) return invalid(r, "expected '}'");
    if (max < min) return invalid(r, "the repetition ends before it begins");
  } else if (!take(r, '*')) {
    return RLX_OK;
  }
  take(r, '?'); /* the lazy form matches the same texts */
  if (has(r, '*') || has(r, '+') || has(r, '?')) return invalid(r, "a repetition of a repetition");
  *node = grammar_repeat(r->t, *node, min, max);
  return RLX_OK;
}

/* Any text before or after what a search looks for. */
static grammar_ref anything(reader *r) {
  const grammar_range all = {0, 0x10ffff};
  grammar_ref c = r->mode.in_json ? grammar_json_class(r->t, &all, 1) : grammar_class(r->t, &all, 1);
  return grammar_repeat(r->t, c, 0, GRAMMAR_MANY);
}

static rlx_status read_sequence(reader *r, grammar_ref *out) {
  const size_t base = r->parts.n;
  const bool is_top = !r->depth, begins = is_top && take(r, '^');
  bool ends = false;
  if (is_top && r->mode.search && !begins && !rlx_array_push(&r->parts, anything(r))) return no_memory();
  while (r->at < r->end && *r->at != '|' && *r->at != ')') {
    grammar_ref atom;
    if (is_top && has(r, '$') && (r->at + 1 == r->end || r->at[1] == '|')) {
      r->at++;
      ends = true;
      break;
    }
    RLX_TRY(read_atom(r, &atom));
    RLX_TRY(read_repeat(r, &atom));
    if (!rlx_array_push(&r->parts, atom)) return no_memory();
  }
  if (is_top && r->mode.search && !ends && !rlx_array_push(&r->parts, anything(r))) return no_memory();
  *out = grammar_sequence(r->t, r->parts.v + base, r->parts.n - base);
  r->parts.n = base;
  return RLX_OK;
}

static rlx_status read_choice(reader *r, grammar_ref *out) {
  const size_t base = r->parts.n;
  do {
    grammar_ref sequence = GRAMMAR_NEVER;
    RLX_TRY(read_sequence(r, &sequence));
    if (!rlx_array_push(&r->parts, sequence)) return no_memory();
  } while (take(r, '|'));
  *out = grammar_choice(r->t, r->parts.v + base, r->parts.n - base);
  r->parts.n = base;
  return RLX_OK;
}

rlx_status grammar_read_regex(grammar_tree *t, const char *text, size_t bytes, grammar_regex_mode mode,
                              grammar_ref *root) {
  reader r = {.t = t, .mode = mode, .text = text, .at = text, .end = text + bytes};
  rlx_status s = rlx_array_reserve(&r.parts, 16) ? read_choice(&r, root) : no_memory();
  if (!s && r.at < r.end) s = invalid(&r, "a closing parenthesis without an opening one");
  rlx_array_deinit(&r.parts);
  rlx_array_deinit(&r.ranges);
  if (s) return s;
  uint32_t rule = grammar_rule_add(t, "pattern", 7); /* a lexeme: one automaton, if it is not too large */
  if (!mode.in_json && !t->failed) {
    t->rules.v[rule].is_shared = true;
    grammar_rule_set(t, rule, *root);
    *root = grammar_call(t, rule);
  }
  return grammar_tree_check(t);
}
