/* See the header. A mutation that the parser rejects at its first letter tests little, so words are replaced by words
 * of their own kind, and whole lines are moved: the result is wrong in the ways that users and programs are wrong. */
#include "text_mutate.h"

#include <string.h>

#include "conform/conform.h"

static uint32_t random_below(uint64_t *random, size_t n) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return n ? (uint32_t)(((*random >> 32) * (uint32_t)n) >> 32) : 0;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

#define PICK(list) (list)[random_below(random, sizeof(list) / sizeof *(list))]

static const char *random_number(uint64_t *random) {
  static const char *const small[] = {
    "0", "1", "2", "3", "4", "5", "-1", "-2", "-3", "7", "8", "0.5", "-0", "1e-5", "0.12345678901234567"};
  /* clang-format off */
  static const char *const edges[] = {
    "16", "255", "4096", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807",
    "-9223372036854775808", "4611686018427387904", "-9223372036853727233", "1e300", "1e999", "nan", "inf", "-inf",
    "3.0", "1e-320", "00", "true"};
  /* clang-format on */
  return random_below(random, 3) ? PICK(small) : PICK(edges);
}

static const char *random_op(uint64_t *random) {
  return rlx_op_table_get((rlx_op)(1 + random_below(random, RLX_OP_COUNT - 1)))->name;
}

/* A replacement for a word: mostly of its own kind, otherwise the parser would reject nearly all. */
static const char *random_word(const char *old, size_t n, uint64_t *random) {
  /* clang-format off */
  static const char *const words[] = {
    "B", "?", "_", "output", "symbols", "graph", "hex", "[]", "[0]", "[1]", "[2,3]", "[0,0]", "[-1]",
    "[1,1,1,1,1,1,1,1]", "\"x\"", "\"\"", "%1", "%2", "%x", "", ";", ",", "{", "}", "(", ")", "true", "false",
    "axis=0", "{axis=0}", "# "};
  /* clang-format on */
  char name[64] = {0};
  if (n < sizeof name) memcpy(name, old, n);
  const rlx_op_table_row *row = rlx_op_table_get((rlx_op)(1 + random_below(random, RLX_OP_COUNT - 1)));
  if (random_below(random, 8) == 0) return PICK(words);
  if ((*name >= '0' && *name <= '9') || *name == '-') return random_number(random);
  if (strcmp(name, "true") == 0) return "false";
  if (strcmp(name, "false") == 0) return "true";
  if (rlx_dtype_from_name(name) != RLX_DTYPE_UNKNOWN)
    return rlx_dtype_name((rlx_dtype)random_below(random, RLX_DTYPE_COUNT));
  if (rlx_op_table_from_name(name, strlen(name)) != RLX_OP_INVALID) return random_op(random);
  return row->n_attrs ? row->attrs[random_below(random, row->n_attrs)].name : random_op(random);
}

/* Removes the types of results, which are only checked: a changed op or number would nearly always contradict them. */
static size_t drop_types(char *text, size_t bytes) {
  size_t to = 0;
  for (size_t from = 0; from < bytes;) {
    size_t end = from, call = 0, type = 0;
    for (; end < bytes && text[end] != '\n'; end++) {
      if (text[end] == ')' || text[end] == '}') call = end;
      if (call && end + 2 < bytes && memcmp(text + end, " : ", 3) == 0) type = end;
    }
    size_t kept = (type > call ? type : end) - from;
    memmove(text + to, text + from, kept);
    to += kept;
    if (end < bytes) text[to++] = '\n';
    from = end + 1;
  }
  return to;
}

size_t text_random_case(char *text, size_t cap, uint64_t *random) {
  rlx_op op = (rlx_op)(1 + random_below(random, RLX_OP_COUNT - 1));
  const rlx_case_table *cases = rlx_case_table_get(op);
  rlx_case_built built = {0};
  char *printed = NULL;
  size_t bytes = 0;
  if (cases->n && rlx_case_build(op, &cases->v[random_below(random, cases->n)], &built) == RLX_OK) {
    if (rlx_graph_print(built.graph, &printed) == RLX_OK) bytes = strlen(printed);
    if (bytes > cap) bytes = 0;
    if (bytes) memcpy(text, printed, bytes);
    bytes = drop_types(text, bytes);
  }
  rlx_free(printed);
  rlx_case_deinit(&built);
  return bytes;
}

typedef struct span {
  size_t at, n;
} span;

static span random_span(const char *text, size_t bytes, bool lines, uint64_t *random) {
  if (!bytes) return (span){0, 0};
  size_t from = random_below(random, bytes), to = from;
  if (lines) {
    while (from > 0 && text[from - 1] != '\n' && text[from - 1] != ';') from--;
    while (to < bytes && text[to] != '\n' && text[to] != ';') to++;
    if (to < bytes) to++;
    return (span){from, to - from};
  }
  while (from < bytes && !is_word(text[from])) from++; /* the next word; numbers with their sign */
  if (from == bytes) return (span){random_below(random, bytes), 1};
  to = from;
  while (from > 0 && is_word(text[from - 1])) from--;
  if (from > 0 && text[from - 1] == '-') from--;
  while (to < bytes && is_word(text[to])) to++;
  return (span){from, to - from};
}

/* Replaces text[s.at .. s.at + s.n) by with[0 .. n); `with` may lie inside text. */
static size_t replace(char *text, size_t bytes, size_t cap, span s, const char *with, size_t n) {
  char kept[512];
  if (n > sizeof kept) n = sizeof kept;
  if (bytes - s.n + n > cap) return bytes;
  if (n) memcpy(kept, with, n);
  memmove(text + s.at + n, text + s.at + s.n, bytes - s.at - s.n);
  if (n) memcpy(text + s.at, kept, n);
  return bytes - s.n + n;
}

static size_t mutate_once(char *text, size_t bytes, size_t cap, const char *other, size_t other_bytes,
                          uint64_t *random) {
  uint32_t dice = random_below(random, 20);
  bool lines = dice >= 12;
  span s = random_span(text, bytes, lines, random), from = random_span(text, bytes, lines, random);
  const char *word = random_word(text + s.at, s.n, random);
  if (dice < 8) return replace(text, bytes, cap, s, word, strlen(word));
  if (dice < 12) return replace(text, bytes, cap, s, text + from.at, from.n); /* a word of the text itself */
  if (dice < 14) return replace(text, bytes, cap, (span){s.at, 0}, text + from.at, from.n);
  if (dice < 15) return replace(text, bytes, cap, s, "", 0);
  if (dice < 18 && other) {
    from = random_span(other, other_bytes, true, random);
    return replace(text, bytes, cap, (span){s.at, 0}, other + from.at, from.n);
  }
  char byte = (char)random_below(random, 256);
  span at = {random_below(random, bytes), 0}; /* one call at a time: the evaluation order of arguments is unspecified */
  if (bytes) at.n = random_below(random, 2);
  uint32_t n = random_below(random, 2);
  return replace(text, bytes, cap, at, &byte, n);
}

size_t text_mutate(char *text, size_t bytes, size_t cap, const char *other, size_t other_bytes, uint64_t *random) {
  uint32_t n = 1;
  while (n < 4 && random_below(random, 3) == 0) n++;
  for (; n; n--) bytes = mutate_once(text, bytes, cap, other, other_bytes, random);
  return bytes;
}
