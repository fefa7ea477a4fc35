/* Leftovers: the list of harmless items, matching, and the message. */
#include "io/file_leftover.h"

#include <string.h>

typedef struct row {
  leftover_kind kind;
  const char *families; /* "": all; "!a b": all but these */
  const char *name;     /* '*': any bytes; '%' at the start: the architecture */
  const char *value;    /* the value without effect; "": any */
  const char *reason;
} row;

static const row harmless[] = {
#define HARMLESS(KIND, FAMILIES, NAME, VALUE, REASON) {LEFT_##KIND, FAMILIES, NAME, VALUE, REASON},
#define NEEDS(KIND, NAME, WHAT)
#include "io/file_leftover.def"
};

static const row needs[] = {
#define HARMLESS(KIND, FAMILIES, NAME, VALUE, REASON)
#define NEEDS(KIND, NAME, WHAT) {LEFT_##KIND, "", NAME, "", WHAT},
#include "io/file_leftover.def"
};

bool leftover_has_word(const char *words, const char *word, size_t n) {
  for (const char *at = words; *at;) {
    size_t len = strcspn(at, " ");
    if (len == n && memcmp(at, word, n) == 0) return true;
    at += len;
    at += strspn(at, " ");
  }
  return false;
}

/* Iterative: on a mismatch the last star takes one more byte. */
static bool matches(const char *pattern, const char *text) {
  const char *star = NULL, *from = NULL;
  while (*text) {
    if (*pattern == '*') {
      star = pattern++;
      from = text;
    } else if (*pattern == *text) {
      pattern++;
      text++;
    } else if (star) {
      pattern = star + 1;
      text = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return !*pattern;
}

static bool matches_name(const row *r, const char *family, const char *name) {
  size_t n = strlen(family);
  bool all_but = *r->families == '!';
  if (*r->families && leftover_has_word(r->families + all_but, family, n) == all_but) return false;
  if (*r->name != '%') return matches(r->name, name);
  return strncmp(name, family, n) == 0 && matches(r->name + 1, name + n);
}

static bool matches_value(const char *want, const rlx_meta *v) {
  double number;
  if (!*want) return true;
  switch (v->kind) {
    case RLX_META_NONE: return true; /* null */
    case RLX_META_TEXT: return strlen(want) == v->n && memcmp(want, v->text, v->n) == 0;
    case RLX_META_LIST: return v->n == 0 && strcmp(want, "[]") == 0;
    default: break;
  }
  if (strcmp(want, "true") == 0 || strcmp(want, "false") == 0) number = *want == 't';
  else if (!rlx_text_to_double(want, strlen(want), &number)) return false;
  return number == (v->kind == RLX_META_FLOAT ? v->number : (double)v->integer);
}

/* What is harmless in the fields of the text model is harmless in the enclosing object. */
static bool is_of_kind(leftover_kind listed, leftover_kind kind) {
  return listed == kind || (kind == LEFT_OUTER && listed == LEFT_FIELD);
}

static bool is_harmless(const leftovers *all, const leftover *one) {
  bool is_json = one->kind == LEFT_FIELD || one->kind == LEFT_OUTER || one->kind == LEFT_TOKENIZER_FIELD;
  if (is_json && one->value.kind == RLX_META_NONE) return true;
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (is_of_kind(harmless[i].kind, one->kind) && matches_name(&harmless[i], all->family, one->name) &&
        matches_value(harmless[i].value, &one->value))
      return true;
  return false;
}

static const char *need_of(const leftovers *all, const leftover *one) {
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (is_of_kind(needs[i].kind, one->kind) && matches_name(&needs[i], all->family, one->name)) return needs[i].reason;
  return NULL;
}

static void add_value(rlx_str *s, const rlx_meta *v) {
  switch (v->kind) {
    case RLX_META_BOOL: rlx_str_add(s, " = %s", v->integer ? "true" : "false"); return;
    case RLX_META_INT: rlx_str_add(s, " = %lld", (long long)v->integer); return;
    case RLX_META_FLOAT: rlx_str_add(s, " = %g", v->number); return;
    case RLX_META_TEXT: rlx_str_add(s, " = '%.60s'", v->text); return;
    default: return;
  }
}

void leftover_add(leftovers *all, const leftover *one) {
  enum { MAX_REPORT = 1200 }; /* limit of a message, in bytes */
  static const char *const words[LEFT_KINDS] = {
    "tensor", "tensor", "key", "key", "config.json's", "config.json's", "tokenizer_config.json's", "file"};
  if (is_harmless(all, one)) return;
  all->n++;
  if (all->text.n >= MAX_REPORT) return;
  const char *need = need_of(all, one);
  rlx_str_add(&all->text, "%s%s '%.100s'", all->text.n ? ", " : "", words[one->kind], one->name);
  add_value(&all->text, &one->value);
  if (need) rlx_str_add(&all->text, " (needs %s)", need);
  if (all->text.n >= MAX_REPORT) rlx_str_add(&all->text, ", ..");
}

rlx_status leftover_refuse(const leftovers *all) {
  if (all->n == 0) return RLX_OK;
  if (all->text.failed) return RLX_FAIL(RLX_NO_MEMORY, "a list of %zu unread items", all->n);
  return RLX_FAIL(RLX_UNSUPPORTED, "%zu item%s of the file would be ignored: %s", all->n, all->n == 1 ? "" : "s",
                  all->text.v);
}

void leftovers_deinit(leftovers *all) { rlx_str_deinit(&all->text); }
