/* GBNF, llama.cpp's notation of grammars.
 *
 *   root   ::= "[" ws item ("," ws item)* "]"    # rules; the text is what `root` matches
 *   item   ::= [a-z]+ | "\"" [^"]{1,20} "\""
 *   ws     ::= [ \t\n]*
 *
 * Rules, alternatives, groups, texts and classes in quotes and brackets with escapes, `.` for any character, and the
 * repetitions * + ? {m} {m,} {m,n}. A rule ends with its line, except within a group, after ::= and around |. Tokens in
 * angle brackets, a later addition there, are refused. */
#include <string.h>

#include "text/grammar.h"
#include "text/text.h"

typedef struct reader {
  grammar_tree *t;
  const char *text, *at, *end;
  RLX_ARRAY(grammar_ref) parts;    /* of the sequences and choices that are being read */
  RLX_ARRAY(grammar_range) ranges; /* of the class that is being read */
  RLX_ARRAY(uint32_t) slots;       /* of rules, by name: rule + 1 */
  uint32_t depth;
} reader;

typedef struct place {
  unsigned line, column; /* in characters */
} place;

static place place_of(const reader *r, const char *at) {
  place p = {1, 1};
  for (const char *c = r->text; c < at; c++) {
    if (*c == '\n') p = (place){p.line + 1, 1};
    else p.column += (*c & 0xc0) != 0x80;
  }
  return p;
}

static rlx_status fail_at(const reader *r, const char *at, rlx_status code, const char *what) {
  place p = place_of(r, at);
  return RLX_FAIL(code, "grammar: line %u, column %u: %s", p.line, p.column, what);
}

static rlx_status invalid(const reader *r, const char *what) { return fail_at(r, r->at, RLX_INVALID, what); }
static rlx_status no_memory(void) { return RLX_FAIL(RLX_NO_MEMORY, "reading a grammar"); }

static bool has(const reader *r, char c) { return r->at < r->end && *r->at == c; }

static bool take(reader *r, char c) {
  if (!has(r, c)) return false;
  r->at++;
  return true;
}

static void skip(reader *r, bool lines) {
  while (r->at < r->end) {
    if (*r->at == '#')
      while (r->at < r->end && *r->at != '\n' && *r->at != '\r') r->at++;
    else if (*r->at == ' ' || *r->at == '\t' || (lines && (*r->at == '\n' || *r->at == '\r'))) r->at++;
    else return;
  }
}

/* Whether the next line goes on with |. */
static bool goes_on_with_choice(reader *r) {
  const char *before = r->at;
  skip(r, true);
  if (has(r, '|')) return true;
  r->at = before;
  return false;
}

/* ---- Names ---- */

static bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static size_t name_length(const reader *r) {
  size_t n = 0;
  while (r->at + n < r->end && is_name(r->at[n])) n++;
  return n;
}

static uint64_t hash_name(const reader *r, const char *name, size_t n) {
  return text_hash((uint64_t)(uintptr_t)r->slots.v ^ 0xcbf29ce484222325u, name, n);
}

static rlx_status grow_slots(reader *r) {
  size_t size = r->slots.n ? 2 * r->slots.n : 64;
  uint32_t *fresh = rlx_mem_calloc(size, sizeof *fresh);
  if (!fresh) return no_memory();
  rlx_mem_free(r->slots.v);
  r->slots.v = fresh;
  r->slots.n = r->slots.cap = size;
  for (size_t i = 0; i < r->t->rules.n; i++) {
    const grammar_rule *rule = &r->t->rules.v[i];
    size_t at = (size_t)hash_name(r, r->t->bytes.v + rule->name, rule->name_bytes) & (size - 1);
    while (fresh[at]) at = (at + 1) & (size - 1);
    fresh[at] = (uint32_t)i + 1;
  }
  return RLX_OK;
}

/* The rule of a name, made if it is new. */
static rlx_status find_rule(reader *r, const char *name, size_t n, uint32_t *rule) {
  if (2 * (r->t->rules.n + 1) > r->slots.n) RLX_TRY(grow_slots(r));
  size_t mask = r->slots.n - 1, at = (size_t)hash_name(r, name, n) & mask;
  for (; r->slots.v[at]; at = (at + 1) & mask) {
    const grammar_rule *o = &r->t->rules.v[ *rule = r->slots.v[at] - 1];
    if (o->name_bytes == n && memcmp(r->t->bytes.v + o->name, name, n) == 0) return RLX_OK;
  }
  *rule = grammar_rule_add(r->t, name, n);
  RLX_TRY(grammar_tree_check(r->t));
  r->t->rules.v[*rule].at = (uint32_t)(name - r->text);
  r->slots.v[at] = *rule + 1;
  return RLX_OK;
}

/* ---- Characters ---- */

static rlx_status read_hex(reader *r, unsigned digits, uint32_t *code) {
  *code = 0;
  for (unsigned i = 0; i < digits; i++, r->at++) {
    char c = r->at < r->end ? *r->at : '\0';
    unsigned v = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                        : 16;
    if (v == 16) return invalid(r, "expected a hexadecimal digit");
    *code = *code * 16 + v;
  }
  if (*code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)) return invalid(r, "the escape is no character");
  return RLX_OK;
}

static rlx_status read_character(reader *r, uint32_t *code) {
  static const char escapes[] = "trn\\\"[]-^'/", values[] = "\t\r\n\\\"[]-^'/";
  if (!take(r, '\\')) {
    int32_t c;
    size_t n = text_character(r->at, (size_t)(r->end - r->at), &c);
    if (!n) return invalid(r, "the text is not UTF-8");
    r->at += n;
    *code = (uint32_t)c;
    return RLX_OK;
  }
  char c = r->at < r->end ? *r->at : '\0';
  const char *found = c ? strchr(escapes, c) : NULL;
  if (!found && c != 'x' && c != 'u' && c != 'U') return invalid(r, "unknown escape");
  r->at++;
  if (found) *code = (unsigned char)values[found - escapes];
  return found ? RLX_OK : read_hex(r, c == 'x' ? 2 : c == 'u' ? 4 : 8, code);
}

static rlx_status read_text(reader *r, grammar_ref *out) {
  const char *begin = r->at++;
  rlx_str bytes = {0};
  rlx_status s = RLX_OK;
  uint32_t code;
  while (!s && !has(r, '"')) {
    char utf8[4];
    if (r->at >= r->end) s = fail_at(r, begin, RLX_INVALID, "the text has no closing quote");
    else s = read_character(r, &code);
    if (!s) rlx_str_add_bytes(&bytes, utf8, text_put(utf8, (int32_t)code));
  }
  r->at++;
  if (!s && bytes.failed) s = no_memory();
  if (!s) *out = grammar_text(r->t, bytes.v, bytes.n);
  rlx_str_deinit(&bytes);
  return s;
}

static rlx_status read_class(reader *r, grammar_ref *out) {
  const char *begin = r->at++;
  bool is_inverted = take(r, '^');
  r->ranges.n = 0;
  while (!has(r, ']')) {
    grammar_range range;
    if (r->at >= r->end) return fail_at(r, begin, RLX_INVALID, "the class has no closing bracket");
    RLX_TRY(read_character(r, &range.first));
    range.last = range.first;
    if (has(r, '-') && r->at + 1 < r->end && r->at[1] != ']') {
      r->at++;
      RLX_TRY(read_character(r, &range.last));
    }
    if (range.last < range.first) return invalid(r, "the range ends before it begins");
    if (!rlx_array_push(&r->ranges, range)) return no_memory();
  }
  r->at++;
  *out =
    is_inverted ? grammar_class_but(r->t, r->ranges.v, r->ranges.n) : grammar_class(r->t, r->ranges.v, r->ranges.n);
  RLX_TRY(grammar_tree_check(r->t));
  return *out == GRAMMAR_NEVER ? fail_at(r, begin, RLX_INVALID, "the class has no character") : RLX_OK;
}

/* ---- Expressions ---- */

static rlx_status read_choice(reader *r, bool in_group, grammar_ref *out);

static rlx_status read_number(reader *r, uint32_t *n) {
  if (!grammar_read_count(&r->at, r->end, n)) return invalid(r, "expected a number");
  return *n <= GRAMMAR_MAX_REPEAT ? RLX_OK : fail_at(r, r->at, RLX_LIMIT, "more than 1000000 repetitions");
}

static rlx_status read_repeats(reader *r, grammar_ref *node) {
  for (;;) {
    uint32_t min = 0, max = GRAMMAR_MANY;
    const char *begin = r->at;
    if (take(r, '?')) max = 1;
    else if (take(r, '+')) min = 1;
    else if (take(r, '{')) {
      skip(r, true);
      RLX_TRY(read_number(r, &min));
      skip(r, true);
      if (take(r, ',')) {
        skip(r, true);
        if (!has(r, '}')) RLX_TRY(read_number(r, &max));
        skip(r, true);
      } else {
        max = min;
      }
      if (!take(r, '}')) return invalid(r, "expected '}'");
      if (max < min) return fail_at(r, begin, RLX_INVALID, "the repetition ends before it begins");
    } else if (!take(r, '*')) {
      return RLX_OK;
    }
    *node = grammar_repeat(r->t, *node, min, max);
    skip(r, false);
  }
}

static rlx_status read_item(reader *r, grammar_ref *out) {
  const char *begin = r->at;
  const size_t name = name_length(r);
  if (name) {
    uint32_t rule;
    RLX_TRY(find_rule(r, r->at, name, &rule));
    r->at += name;
    *out = grammar_call(r->t, rule);
    return RLX_OK;
  }
  switch (*r->at) {
    case '"': return read_text(r, out);
    case '[': return read_class(r, out);
    case '.':
      r->at++;
      *out = grammar_class_but(r->t, NULL, 0);
      return RLX_OK;
    case '(':
      r->at++;
      skip(r, true);
      if (++r->depth > GRAMMAR_MAX_DEPTH) return fail_at(r, begin, RLX_LIMIT, "groups are nested too deep");
      RLX_TRY(read_choice(r, true, out));
      r->depth--;
      return take(r, ')') ? RLX_OK : fail_at(r, begin, RLX_INVALID, "the group has no closing parenthesis");
    case '<':
    case '!': return fail_at(r, begin, RLX_UNSUPPORTED, "tokens by name or number are not supported");
    default: return invalid(r, "expected a name, a text, a class or a group");
  }
}

static rlx_status read_sequence(reader *r, bool in_group, grammar_ref *out) {
  const size_t base = r->parts.n;
  while (r->at < r->end && !strchr("|)\r\n", *r->at)) {
    grammar_ref item;
    RLX_TRY(read_item(r, &item));
    skip(r, false);
    RLX_TRY(read_repeats(r, &item));
    if (!rlx_array_push(&r->parts, item)) return no_memory();
    skip(r, in_group);
  }
  *out = grammar_sequence(r->t, r->parts.v + base, r->parts.n - base);
  r->parts.n = base;
  return RLX_OK;
}

static rlx_status read_choice(reader *r, bool in_group, grammar_ref *out) {
  const size_t base = r->parts.n;
  do {
    grammar_ref sequence = GRAMMAR_NEVER;
    skip(r, base != r->parts.n || in_group);
    RLX_TRY(read_sequence(r, in_group, &sequence));
    if (!rlx_array_push(&r->parts, sequence)) return no_memory();
    if (!in_group) goes_on_with_choice(r);
  } while (take(r, '|'));
  *out = grammar_choice(r->t, r->parts.v + base, r->parts.n - base);
  r->parts.n = base;
  return RLX_OK;
}

static rlx_status read_rule(reader *r) {
  const char *name = r->at;
  const size_t n = name_length(r);
  uint32_t rule;
  grammar_ref body;
  if (!n) return invalid(r, "expected the name of a rule");
  RLX_TRY(find_rule(r, name, n, &rule));
  if (r->t->rules.v[rule].is_set) return fail_at(r, name, RLX_INVALID, "the rule is there already");
  r->at += n;
  skip(r, false);
  if (r->end - r->at < 3 || memcmp(r->at, "::=", 3) != 0) return invalid(r, "expected '::='");
  r->at += 3;
  skip(r, true);
  RLX_TRY(read_choice(r, false, &body));
  grammar_rule_set(r->t, rule, body);
  RLX_TRY(grammar_tree_check(r->t));
  if (r->at < r->end && *r->at != '\n' && *r->at != '\r') return invalid(r, "expected the end of the line");
  return RLX_OK;
}

static rlx_status read_all(reader *r, grammar_ref *root) {
  for (skip(r, true); r->at < r->end; skip(r, true)) RLX_TRY(read_rule(r));
  uint32_t root_rule = UINT32_MAX;
  for (uint32_t i = 0; i < r->t->rules.n; i++) {
    const grammar_rule *rule = &r->t->rules.v[i];
    const char *name = r->t->bytes.v + rule->name;
    if (!rule->is_set) {
      const place p = place_of(r, r->text + rule->at);
      return RLX_FAIL(RLX_INVALID, "grammar: line %u, column %u: rule '%.100s' is not defined", p.line, p.column, name);
    }
    if (strcmp(name, "root") == 0) root_rule = i;
  }
  if (root_rule == UINT32_MAX) return RLX_FAIL(RLX_INVALID, "grammar: there is no rule 'root'");
  *root = grammar_call(r->t, root_rule);
  return grammar_tree_check(r->t);
}

rlx_status grammar_read_gbnf(grammar_tree *t, const char *text, size_t bytes, grammar_ref *root) {
  reader r = {.t = t, .text = text, .at = text, .end = text + bytes};
  rlx_status s = rlx_array_reserve(&r.parts, 16) ? read_all(&r, root) : no_memory();
  rlx_array_deinit(&r.parts);
  rlx_array_deinit(&r.ranges);
  rlx_array_deinit(&r.slots);
  return s;
}
