/* The parts of JSON as expressions.
 *
 * Blanks: after an opening bracket, a comma and a colon, and before a closing bracket, there may be nothing, one blank,
 * or a line end and up to 20 blanks or tabs; nowhere else. That is what programs print, compact and indented, and a
 * model cannot go on with blanks for ever.
 *
 * Strings that may be anything may spell characters as they like, without halves of surrogate pairs. Where the
 * characters matter (patterns, names, constants) each has one spelling: itself, or the short escape, or \u00xx. */
#include <stdio.h>
#include <string.h>

#include "text/grammar.h"
#include "text/text.h"

static grammar_ref characters(grammar_tree *t, const char *all) {
  grammar_range r[24];
  size_t n = 0;
  for (const char *c = all; *c && n < 24; c++) r[n++] = (grammar_range){(unsigned char)*c, (unsigned char)*c};
  return grammar_class(t, r, n);
}

static grammar_ref digits(grammar_tree *t, uint32_t min, uint32_t max) {
  return grammar_repeat(t, grammar_class(t, &(grammar_range){'0', '9'}, 1), min, max);
}

/* An expression as a rule of its own. */
static grammar_ref named(grammar_tree *t, const char *name, bool is_shared, grammar_ref body) {
  uint32_t rule = grammar_rule_add(t, name, strlen(name));
  grammar_rule_set(t, rule, body);
  if (!t->failed) t->rules.v[rule].is_shared = is_shared;
  return grammar_call(t, rule);
}

grammar_ref grammar_json_blank(grammar_json *j) {
  grammar_tree *t = j->tree;
  if (j->blank) return j->blank;
  grammar_ref indent = grammar_repeat(t, characters(t, " \t"), 0, 20);
  grammar_ref line = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "\n"), indent);
  return j->blank = named(t, "blank", true, grammar_optional(t, GRAMMAR_CHOICE_OF(t, GRAMMAR_LITERAL(t, " "), line)));
}

/* ---- Strings ---- */

grammar_ref grammar_json_class(grammar_tree *t, const grammar_range *ranges, size_t n) {
  static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  grammar_ref parts[40];
  size_t n_parts = 0;
  grammar_range *plain = rlx_mem_calloc(3 * n + 3, sizeof *plain);
  if (!plain) {
    if (!t->failed) t->failed = RLX_NO_MEMORY;
    return GRAMMAR_NEVER;
  }
  bool has[128] = {0};
  size_t n_plain = 0;
  for (size_t i = 0; i < n; i++) {
    static const uint32_t cuts[][2] = {{' ', '!'}, {'#', '['}, {']', 0x10ffff}};
    for (uint32_t c = ranges[i].first; c < 128 && c <= ranges[i].last; c++) has[c] = true;
    for (size_t k = 0; k < 3; k++) {
      uint32_t first = ranges[i].first > cuts[k][0] ? ranges[i].first : cuts[k][0];
      uint32_t last = ranges[i].last < cuts[k][1] ? ranges[i].last : cuts[k][1];
      if (first <= last) plain[n_plain++] = (grammar_range){first, last};
    }
  }
  parts[n_parts++] = grammar_class(t, plain, n_plain);
  rlx_mem_free(plain);
  for (unsigned c = 0; c < 128; c++) {
    const char *letter = c ? strchr(codes, (int)c) : NULL;
    char text[8];
    if (!has[c] || (c >= ' ' && !letter)) continue;
    if (letter) snprintf(text, sizeof text, "\\%c", letters[letter - codes]);
    else snprintf(text, sizeof text, "\\u%04x", c);
    parts[n_parts++] = grammar_text(t, text, strlen(text));
  }
  return grammar_choice(t, parts, n_parts);
}

grammar_ref grammar_json_text(grammar_tree *t, const char *text, size_t bytes) {
  rlx_str out = {0};
  for (size_t i = 0; i < bytes; i++) {
    static const char codes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *letter = text[i] ? strchr(codes, text[i]) : NULL;
    if (letter) rlx_str_add(&out, "\\%c", letters[letter - codes]);
    else if ((unsigned char)text[i] < ' ') rlx_str_add(&out, "\\u%04x", (unsigned)(unsigned char)text[i]);
    else rlx_str_add_char(&out, text[i]);
  }
  if (out.failed && !t->failed) t->failed = RLX_NO_MEMORY;
  grammar_ref node = grammar_text(t, out.v, out.n);
  rlx_str_deinit(&out);
  return node;
}

static grammar_ref hex(grammar_tree *t, const char *first) {
  static const grammar_range all[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  grammar_ref digit = grammar_class(t, all, 3);
  return GRAMMAR_SEQUENCE_OF(t, characters(t, first), digit, digit);
}

static grammar_ref escape(grammar_tree *t) {
  static const grammar_range all[] = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  static const char no_surrogate[] = "01234567", low_half[] = "cdefCDEF", high_half[] = "89abAB";
  grammar_ref digit = grammar_class(t, all, 3), d = characters(t, "dD");
  grammar_ref other = GRAMMAR_SEQUENCE_OF(t, characters(t, "0123456789abcefABCEF"), digit, digit, digit);
  grammar_ref below = GRAMMAR_SEQUENCE_OF(t, d, hex(t, no_surrogate));
  grammar_ref pair = GRAMMAR_SEQUENCE_OF(t, d, hex(t, high_half), GRAMMAR_LITERAL(t, "\\u"), d, hex(t, low_half));
  grammar_ref code = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "u"), GRAMMAR_CHOICE_OF(t, other, below, pair));
  return GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "\\"), GRAMMAR_CHOICE_OF(t, characters(t, "\"\\/bfnrt"), code));
}

grammar_ref grammar_json_character(grammar_json *j) {
  static const grammar_range not_plain[] = {{0, 31}, {'"', '"'}, {'\\', '\\'}};
  grammar_tree *t = j->tree;
  if (j->any_character) return j->any_character;
  grammar_ref plain = grammar_class_but(t, not_plain, 3);
  return j->any_character = named(t, "character", false, GRAMMAR_CHOICE_OF(t, plain, escape(t)));
}

grammar_ref grammar_json_string(grammar_json *j) {
  grammar_tree *t = j->tree;
  if (j->string) return j->string;
  grammar_ref quote = GRAMMAR_LITERAL(t, "\""), all = grammar_repeat(t, grammar_json_character(j), 0, GRAMMAR_MANY);
  return j->string = named(t, "string", true, GRAMMAR_SEQUENCE_OF(t, quote, all, quote));
}

/* ---- Numbers ---- */

grammar_ref grammar_json_integer(grammar_json *j) {
  grammar_tree *t = j->tree;
  if (j->integer) return j->integer;
  grammar_ref first = grammar_class(t, &(grammar_range){'1', '9'}, 1);
  grammar_ref many = GRAMMAR_SEQUENCE_OF(t, first, digits(t, 0, GRAMMAR_MANY));
  grammar_ref whole = GRAMMAR_CHOICE_OF(t, GRAMMAR_LITERAL(t, "0"), many);
  grammar_ref minus = grammar_optional(t, GRAMMAR_LITERAL(t, "-"));
  return j->integer = named(t, "integer", true, GRAMMAR_SEQUENCE_OF(t, minus, whole));
}

/* An exponent has at most what a double can have: no number becomes infinite in a program that reads it. */
grammar_ref grammar_json_number(grammar_json *j) {
  grammar_tree *t = j->tree;
  if (j->number) return j->number;
  grammar_ref first = grammar_class(t, &(grammar_range){'1', '9'}, 1);
  grammar_ref many = GRAMMAR_SEQUENCE_OF(t, first, digits(t, 0, GRAMMAR_MANY));
  grammar_ref whole = GRAMMAR_CHOICE_OF(t, GRAMMAR_LITERAL(t, "0"), many);
  grammar_ref fraction = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "."), digits(t, 1, GRAMMAR_MANY));
  grammar_ref hundreds = GRAMMAR_SEQUENCE_OF(t, characters(t, "12"), digits(t, 2, 2));
  grammar_ref most = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, "30"), characters(t, "01234567"));
  grammar_ref power = GRAMMAR_CHOICE_OF(t, digits(t, 1, 2), hundreds, most);
  grammar_ref exponent = GRAMMAR_SEQUENCE_OF(t, characters(t, "eE"), grammar_optional(t, characters(t, "+-")), power);
  grammar_ref minus = grammar_optional(t, GRAMMAR_LITERAL(t, "-"));
  grammar_ref all = GRAMMAR_SEQUENCE_OF(t, minus, whole, grammar_optional(t, fraction), grammar_optional(t, exponent));
  return j->number = named(t, "number", true, all);
}

/* ---- Values ---- */

grammar_ref grammar_json_list(grammar_json *j, char open, grammar_ref item, uint32_t min, uint32_t max, char close) {
  grammar_tree *t = j->tree;
  grammar_ref blank = grammar_json_blank(j), begin = grammar_text(t, &open, 1), end = grammar_text(t, &close, 1);
  begin = GRAMMAR_SEQUENCE_OF(t, begin, blank);
  if (!max) return GRAMMAR_SEQUENCE_OF(t, begin, end);
  grammar_ref next = GRAMMAR_SEQUENCE_OF(t, GRAMMAR_LITERAL(t, ","), blank, item);
  grammar_ref rest = grammar_repeat(t, next, min ? min - 1 : 0, max == GRAMMAR_MANY ? max : max - 1);
  grammar_ref all = GRAMMAR_SEQUENCE_OF(t, item, rest, blank);
  return GRAMMAR_SEQUENCE_OF(t, begin, min ? all : grammar_optional(t, all), end);
}

static grammar_ref member(grammar_json *j) {
  grammar_tree *t = j->tree;
  return GRAMMAR_SEQUENCE_OF(t, grammar_json_string(j), GRAMMAR_LITERAL(t, ":"), grammar_json_blank(j),
                             grammar_json_value(j));
}

grammar_ref grammar_json_object(grammar_json *j) {
  if (j->object || j->tree->failed) return j->object;
  uint32_t rule = grammar_rule_add(j->tree, "object", 6);
  j->object = grammar_call(j->tree, rule);
  grammar_rule_set(j->tree, rule, grammar_json_list(j, '{', member(j), 0, GRAMMAR_MANY, '}'));
  return j->object;
}

grammar_ref grammar_json_array(grammar_json *j) {
  if (j->array || j->tree->failed) return j->array;
  uint32_t rule = grammar_rule_add(j->tree, "array", 5);
  j->array = grammar_call(j->tree, rule);
  grammar_rule_set(j->tree, rule, grammar_json_list(j, '[', grammar_json_value(j), 0, GRAMMAR_MANY, ']'));
  return j->array;
}

grammar_ref grammar_json_value(grammar_json *j) {
  grammar_tree *t = j->tree;
  if (j->value || t->failed) return j->value;
  uint32_t rule = grammar_rule_add(t, "value", 5);
  j->value = grammar_call(t, rule);
  grammar_rule_set(t, rule,
                   GRAMMAR_CHOICE_OF(t, grammar_json_object(j), grammar_json_array(j), grammar_json_string(j),
                                     grammar_json_number(j), GRAMMAR_LITERAL(t, "true"), GRAMMAR_LITERAL(t, "false"),
                                     GRAMMAR_LITERAL(t, "null")));
  return j->value;
}

/* ---- Formats ---- */

#define DATE                                                                                                          \
  "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))" \
  "|([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)"
#define TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define LABEL "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define H16 "[0-9A-Fa-f]{1,4}"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"

const char *grammar_json_format(const char *name) {
  static const char *const formats[][2] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^P([0-9]{1,9}W|([0-9]{1,9}Y([0-9]{1,9}M([0-9]{1,9}D)?)?|[0-9]{1,9}M([0-9]{1,9}D)?|[0-9]{1,9}D)"
                 "(T([0-9]{1,9}H([0-9]{1,9}M([0-9]{1,9}S)?)?|[0-9]{1,9}M([0-9]{1,9}S)?|[0-9]{1,9}S))?"
                 "|T([0-9]{1,9}H([0-9]{1,9}M([0-9]{1,9}S)?)?|[0-9]{1,9}M([0-9]{1,9}S)?|[0-9]{1,9}S))$"},
    {"email", "^" ATOM "(\\." ATOM ")*@" LABEL "(\\." LABEL ")*$"},
    {"hostname", "^" LABEL "(\\." LABEL ")*$"},
    {"ipv4", "^" BYTE "(\\." BYTE "){3}$"},
    /* Eight groups, or fewer around one ::, without an IPv4 address at the end. */
    {"ipv6", "^((" H16 ":){7}" H16 "|(" H16 ":){1,7}:|(" H16 ":){1,6}:" H16 "|(" H16 ":){1,5}(:" H16 "){2}|(" H16
             ":){1,4}(:" H16 "){3}|(" H16 ":){1,3}(:" H16 "){4}|(" H16 ":){1,2}(:" H16 "){5}|" H16 ":(:" H16
             "){6}|:(:" H16 "){1,7}|::)$"},
    {"uuid", "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"},
  };
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp(formats[i][0], name) == 0) return formats[i][1];
  return NULL;
}
