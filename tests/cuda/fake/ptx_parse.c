/* Reads PTX: see the header. Lines are statements; the text is what src/cuda/ptx.c writes and no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "ptx.h"

static const struct {
  const char *text, *operands;
} ops[] = {
#define PTX_OP(name, text, operands) {text, operands},
#include "ptx_ops.def"
#undef PTX_OP
};

enum { MAX_LABEL = 32, MAX_LINE = 16 << 10 };

typedef struct named { /* a label and its line */
  char name[MAX_LABEL];
  uint32_t line;
} named;

typedef struct place { /* a variable */
  char kind;           /* v, or t for a table */
  uint32_t number, offset;
} place;

typedef struct reader {
  ptx_program *p;
  size_t cap, n_labels, cap_labels, n_places;
  named *labels;
  place *places;
  const char *text;
  size_t at; /* of the current line: labels of branches are read again when all are known */
  uint32_t number;
  char *why;
} reader;

static bool refuse(reader *r, const char *what, const char *line) {
  snprintf(r->why, 256, "PTX line %u: %s: %.80s", (unsigned)r->number, what, line);
  r->why[strcspn(r->why, "\n")] = 0;
  return false;
}

/* ---- declarations ---- */

static void note_place(reader *r, place p) {
  r->places = realloc(r->places, (r->n_places + 1) * sizeof *r->places);
  if (!r->places) abort();
  r->places[r->n_places++] = p;
}

static bool add_place(reader *r, const char *line, bool is_local) {
  unsigned number, bytes;
  if (sscanf(line, "%*s .align 16 .b8 v%u[%u];", &number, &bytes) != 2) return refuse(r, "not a variable", line);
  uint32_t *total = is_local ? &r->p->local_bytes : &r->p->shared_bytes;
  note_place(r, (place){'v', number, *total});
  *total += (bytes + 15) / 16 * 16;
  return true;
}

static bool add_table(reader *r, const char *line) {
  unsigned number, n;
  if (sscanf(line, ".global .align 16 .b32 t%u[%u] = {", &number, &n) != 2) return refuse(r, "not a table", line);
  ptx_program *p = r->p;
  note_place(r, (place){'t', number, (uint32_t)(4 * p->n_table_words)});
  p->tables = realloc(p->tables, (p->n_table_words + n) * sizeof *p->tables);
  if (!p->tables) abort();
  char *at = strchr(line, '{');
  for (unsigned k = 0; k < n; k++) {
    if (*at != (k ? ',' : '{')) return refuse(r, "too few numbers", line);
    p->tables[p->n_table_words++] = (uint32_t)strtoul(at + 1, &at, 10);
  }
  return strcmp(at, "};\n") == 0 || refuse(r, "too many numbers", line);
}

static bool declare(reader *r, const char *line) {
  ptx_program *p = r->p;
  unsigned n;
  char end;
  if (sscanf(line, ".reg .b32 %%r<%u>;", &n) == 1) p->n_words = n;
  else if (sscanf(line, ".reg .pred %%p<%u>;", &n) == 1) p->n_flags = n;
  else if (sscanf(line, ".reg .b64 %%d<%u>;", &n) == 1) p->n_longs = n;
  else if (sscanf(line, ".reg .b16 %%h<%u>;", &n) == 1) p->n_halves = n;
  else if (strncmp(line, ".global ", 8) == 0) return add_table(r, line);
  else if (strncmp(line, ".shared ", 8) == 0) return add_place(r, line, false);
  else if (strncmp(line, ".local ", 7) == 0) return add_place(r, line, true);
  else if (sscanf(line, ".visible .entry %63[a-z0-9_](", p->name) == 1) return true;
  else if (sscanf(line, "  .param .u64 w%u%c", &n, &end) == 2 && end == ',' && n == p->n_windows) p->n_windows++;
  else if (sscanf(line, "  .param .align 4 .b8 params[%u]", &n) == 1) p->params_bytes = n;
  else if (sscanf(line, ") .maxntid %u, 1, 1", &n) == 1) p->group_size = n;
  else return refuse(r, "not a declaration of the subset", line);
  return true;
}

/* ---- operands ---- */

/* "v2" or "t1" and an offset. */
static bool find_place(const reader *r, char kind, uint32_t number, uint32_t offset, ptx_operand *x) {
  for (size_t i = 0; i < r->n_places; i++) {
    const place *p = &r->places[i];
    if (p->kind != kind || p->number != number) continue;
    *x = (ptx_operand){kind == 't' ? PTX_TABLE : PTX_PLACE, 0, p->offset + offset};
    return true;
  }
  return false;
}

static bool read_register(const reader *r, const char *text, ptx_operand *x) {
  const ptx_program *p = r->p;
  unsigned n;
  char kind;
  if (sscanf(text, "%%%c%u", &kind, &n) != 2) return false;
  const uint32_t limit = kind == 'r'   ? p->n_words
                         : kind == 'p' ? p->n_flags
                         : kind == 'd' ? p->n_longs
                         : kind == 'h' ? p->n_halves
                                       : 0;
  const ptx_operand_kind is = kind == 'r' ? PTX_WORD : kind == 'p' ? PTX_FLAG : kind == 'd' ? PTX_LONG : PTX_HALF;
  *x = (ptx_operand){is, n, 0};
  return n < limit;
}

static bool read_special(const char *text, ptx_operand *x) {
  static const struct {
    const char *name;
    ptx_special is;
  } specials[] = {{"%tid.x", PTX_TID},         {"%ctaid.x", PTX_CTAID_X}, {"%ctaid.y", PTX_CTAID_Y},
                  {"%nctaid.x", PTX_NCTAID_X}, {"%laneid", PTX_LANE},     {"%tid.y", PTX_ZERO},
                  {"%tid.z", PTX_ZERO},        {"%ctaid.z", PTX_ZERO},    {"%nctaid.z", PTX_ONE}};
  for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
    if (strcmp(text, specials[i].name) == 0) return *x = (ptx_operand){PTX_SPECIAL, specials[i].is, 0}, true;
  return false;
}

static bool read_number(const char *text, ptx_operand *x) {
  char *end;
  const bool is_float = strncmp(text, "0f", 2) == 0;
  *x = (ptx_operand){PTX_NUMBER, (uint32_t)strtoll(text + 2 * is_float, &end, is_float ? 16 : 10), 0};
  return *text && !*end;
}

static bool read_address(const reader *r, const char *text, ptx_operand *x) {
  unsigned n, offset = 0;
  char kind;
  if (sscanf(text, "[%%r%u+%u]", &n, &offset) == 2)
    return *x = (ptx_operand){PTX_IN_WORD, n, offset}, n < r->p->n_words;
  if (sscanf(text, "[%%d%u+%u]", &n, &offset) == 2)
    return *x = (ptx_operand){PTX_IN_LONG, n, offset}, n < r->p->n_longs;
  if (sscanf(text, "[%c%u+%u]", &kind, &n, &offset) == 3) return find_place(r, kind, n, offset, x);
  if (sscanf(text, "[params+%u]", &offset) == 1) {
    *x = (ptx_operand){PTX_IN_PARAM, 0, 8 * r->p->n_windows + offset};
    return offset + 4 <= r->p->params_bytes;
  }
  if (sscanf(text, "[w%u]", &n) != 1) return false;
  *x = (ptx_operand){PTX_IN_PARAM, 0, 8 * n};
  return n < r->p->n_windows;
}

static bool read_operand(const reader *r, char kind, const char *text, ptx_operand *x) {
  unsigned n;
  char space;
  switch (kind) {
    case 'r': return read_register(r, text, x) && x->kind == PTX_WORD;
    case 'p': return read_register(r, text, x) && x->kind == PTX_FLAG;
    case 'd': return read_register(r, text, x) && x->kind == PTX_LONG;
    case 'h': return read_register(r, text, x) && x->kind == PTX_HALF;
    case 'R': return (read_register(r, text, x) && x->kind == PTX_WORD) || read_number(text, x);
    case 'a': return read_address(r, text, x);
    case 'v': return sscanf(text, "%c%u", &space, &n) == 2 && find_place(r, space, n, 0, x);
    case 's':
      if (read_special(text, x) || read_number(text, x)) return true;
      return sscanf(text, "v%u", &n) == 1 && find_place(r, 'v', n, 0, x);
    default: return *x = (ptx_operand){0}, kind == 'l';
  }
}

/* ---- instructions ---- */

static const char *skip_guard(const reader *r, const char *line, ptx_line *l, bool *ok) {
  ptx_operand x;
  *ok = true;
  if (*line != '@') return line;
  l->guard = line[1] == '!' ? -1 : 1;
  line += line[1] == '!' ? 2 : 1;
  char name[16] = "";
  sscanf(line, "%15[^ ]", name);
  *ok = read_register(r, name, &x) && x.kind == PTX_FLAG;
  l->flag = x.v;
  return line + strcspn(line, " ") + 1;
}

static int find_op(const char *name, const char *operands) {
  char key[32];
  snprintf(key, sizeof key, "%s", name);
  if (strcmp(name, "mov.b32") == 0 && strchr(operands, '{')) strcat(key, *operands == '{' ? "}" : "{");
  for (int i = 0; i < PTX_OP_COUNT; i++)
    if (strcmp(ops[i].text, key) == 0) return i;
  return -1;
}

static bool read_instruction(reader *r, const char *line) {
  ptx_line l = {.number = r->number};
  char name[32] = "", operands[160] = "";
  bool ok;
  const char *at = skip_guard(r, line, &l, &ok);
  const size_t n_name = strcspn(at, " ;\n"), n_all = strcspn(at, ";\n");
  if (!ok || at[n_all] != ';' || at[n_all + 1] != '\n' || n_name >= sizeof name || n_all - n_name >= sizeof operands)
    return refuse(r, "not an instruction", line);
  memcpy(name, at, n_name);
  if (n_all > n_name) memcpy(operands, at + n_name + 1, n_all - n_name - 1);
  const int op = find_op(name, operands);
  if (op < 0) return refuse(r, "an instruction that is not of the subset", line);
  l.op = (uint16_t)op;
  char *save = NULL, *text = strtok_r(operands, ", {}", &save);
  for (const char *kind = ops[op].operands; *kind; kind++, text = strtok_r(NULL, ", {}", &save))
    if (!text || !read_operand(r, *kind, text, &l.x[l.n++])) return refuse(r, "not the operands it takes", line);
  if (text) return refuse(r, "too many operands", line);
  if (l.op == PTX_OP_BRA) l.target = (uint32_t)(r->at + (size_t)(at - line) + n_name + 1);
  if (r->p->n_lines == r->cap) {
    r->cap = 2 * r->cap + 256;
    r->p->lines = realloc(r->p->lines, r->cap * sizeof l);
    if (!r->p->lines) abort();
  }
  r->p->lines[r->p->n_lines++] = l;
  return true;
}

static bool add_label(reader *r, const char *line) {
  if (r->n_labels == r->cap_labels) {
    r->cap_labels = 2 * r->cap_labels + 64;
    r->labels = realloc(r->labels, r->cap_labels * sizeof *r->labels);
    if (!r->labels) abort();
  }
  named *l = &r->labels[r->n_labels++];
  l->line = (uint32_t)r->p->n_lines;
  if (sscanf(line, "%31[A-Z0-9_]:", l->name) != 1) return refuse(r, "not a label", line);
  return true;
}

static int compare_labels(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static bool resolve(reader *r) {
  if (r->n_labels) qsort(r->labels, r->n_labels, sizeof *r->labels, compare_labels);
  for (size_t i = 1; i < r->n_labels; i++)
    if (strcmp(r->labels[i - 1].name, r->labels[i].name) == 0) return refuse(r, "a label twice", r->labels[i].name);
  for (size_t i = 0; i < r->p->n_lines; i++) {
    ptx_line *l = &r->p->lines[i];
    if (l->op != PTX_OP_BRA) continue;
    named wanted = {{0}, 0};
    const char *label = r->text + l->target;
    for (size_t n = 0; n + 1 < sizeof wanted.name && label[n] && label[n] != ';'; n++) wanted.name[n] = label[n];
    const named *found = r->n_labels ? bsearch(&wanted, r->labels, r->n_labels, sizeof wanted, compare_labels) : NULL;
    if (!found) return refuse(r, "a branch to an unknown label", wanted.name);
    l->target = found->line;
  }
  return true;
}

static bool read_line(reader *r, const char *line) {
  static const char *const ignored[] = {".version 6.4\n", ".target sm_75\n", ".address_size 64\n", "{\n", "}\n", "\n"};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    if (strncmp(line, ignored[i], strlen(ignored[i])) == 0) return true;
  const size_t n = strcspn(line, "\n");
  if (n > 1 && line[n - 1] == ':') return add_label(r, line);
  if (*line == '.' || *line == ' ' || *line == ')') return declare(r, line);
  return read_instruction(r, line);
}

ptx_program *ptx_read(const char *text, char why[256]) {
  reader r = {.p = fake_new(sizeof(ptx_program)), .text = text, .why = why};
  /* A copy: sscanf looks for the end of the text it is given; in a sanitizer's build strcspn does as well. */
  char line[MAX_LINE];
  const size_t bytes = strlen(text);
  bool ok = true;
  while (ok && text[r.at]) {
    const char *end = memchr(text + r.at, '\n', bytes - r.at);
    const size_t n = end ? (size_t)(end - text) - r.at + 1 : sizeof line;
    r.number++;
    if (n >= sizeof line) ok = refuse(&r, "a line that is too long or has no end", "");
    if (!ok) break;
    memcpy(line, text + r.at, n);
    line[n] = 0;
    ok = read_line(&r, line);
    r.at += n;
  }
  ok = ok && resolve(&r);
  free(r.labels);
  free(r.places);
  if (ok) return r.p;
  ptx_free(r.p);
  return NULL;
}

void ptx_free(ptx_program *p) {
  if (!p) return;
  free(p->lines);
  free(p->tables);
  free(p);
}
