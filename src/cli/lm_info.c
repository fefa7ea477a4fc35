/* rlx info on a weight file: format, metadata, tensors, and the bytes of each type.
 *
 * Long lists and texts are cut; --key prints one value in full and nothing else, for scripts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/lm.h"

enum { SHOWN_BYTES = 60, JSON_BYTES = 4096, SHOWN_ELEMENTS = 6, JSON_ELEMENTS = 16 };

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* Prints at most `max` bytes of a text, quoted, cut between characters. */
static void print_text(const rlx_meta *m, size_t max) {
  char cut[JSON_BYTES + 1];
  size_t n = m->n < max ? m->n : max;
  memcpy(cut, m->text, n);
  while (n < m->n && n > 0 && ((unsigned char)m->text[n] & 0xc0) == 0x80) n--;
  cut[n] = '\0';
  cli_print_quoted(cut);
}

static void print_float(double x, bool is_f32) {
  char text[40];
  if (fabs(x) < 1e9 && !(x < floor(x) || x > floor(x))) {
    printf("%.1f", x);
    return;
  }
  for (int digits = 1; digits <= 17; digits++) { /* the shortest form that parses to the same number */
    snprintf(text, sizeof text, "%.*g", digits, x);
    double back = strtod(text, NULL);
    if (is_f32 ? (float)back == (float)x : !(back < x || back > x)) break;
  }
  fputs(text, stdout);
}

static void print_value(const rlx_meta *m, bool json);

static void print_list(const rlx_meta *m, bool json) {
  size_t max = json ? JSON_ELEMENTS : SHOWN_ELEMENTS;
  bool is_cut = json && m->n > max;
  if (is_cut) printf("{\"length\":%zu,\"first\":", m->n);
  putchar('[');
  for (size_t i = 0; i < m->n && i < max; i++) {
    rlx_meta e;
    if (!rlx_meta_element(m, i, &e)) break;
    if (i) fputs(json ? "," : ", ", stdout);
    print_value(&e, json);
  }
  if (!json && m->n > max) printf(", ... %zu in all", m->n);
  putchar(']');
  if (is_cut) putchar('}');
}

static void print_value(const rlx_meta *m, bool json) {
  size_t max = json ? JSON_BYTES : SHOWN_BYTES;
  bool is_cut = json && m->kind == RLX_META_TEXT && m->n > max;
  switch (m->kind) {
    case RLX_META_BOOL: fputs(m->integer ? "true" : "false", stdout); break;
    case RLX_META_INT: printf("%" PRId64, m->integer); break;
    case RLX_META_FLOAT:
      if (json && !isfinite(m->number)) cli_json_real(m->number, 17);
      else print_float(m->number, m->type && strcmp(m->type, "f32") == 0);
      break;
    case RLX_META_TEXT:
      if (is_cut) printf("{\"bytes\":%zu,\"first\":", m->n);
      print_text(m, max);
      if (is_cut) putchar('}');
      else if (m->n > max) printf("... %zu bytes", m->n);
      break;
    case RLX_META_LIST: print_list(m, json); break;
    default: fputs("null", stdout);
  }
}

/* Prints a bare value: a text unquoted, a list one element per line. */
static void print_bare(const rlx_meta *m) {
  rlx_meta e;
  if (m->kind == RLX_META_LIST) {
    for (size_t i = 0; rlx_meta_element(m, i, &e); i++) print_bare(&e);
    return;
  }
  if (m->kind == RLX_META_TEXT) fwrite(m->text, 1, m->n, stdout);
  else print_value(m, false);
  putchar('\n');
}

/* ---- Totals -------------------------------------------------------------------------------------------------- */

enum { MAX_TYPES = 128 };

typedef struct totals {
  struct {
    const char *name;
    uint64_t n_tensors, elements, bytes;
  } of[MAX_TYPES]; /* indexed by dtype; types that RLX does not have follow, in file order */
  uint64_t all_elements, all_bytes;
} totals;

static size_t type_index(const totals *t, const rlx_file_tensor *x) {
  size_t i = x->dtype == RLX_DTYPE_UNKNOWN ? rlx_dtype_count() : x->dtype;
  while (i < MAX_TYPES - 1 && t->of[i].name && strcmp(t->of[i].name, x->type) != 0) i++;
  return i;
}

static totals add_up(const rlx_file *f) {
  totals t = {.all_bytes = 0};
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    const rlx_file_tensor *x = rlx_file_tensor_at(f, i);
    uint64_t elements = 1;
    for (int d = 0; d < x->shape.n; d++) elements *= (uint64_t)x->shape.v[d];
    size_t at = type_index(&t, x);
    t.of[at].name = x->type;
    t.of[at].n_tensors++;
    t.of[at].elements += elements;
    t.of[at].bytes += x->bytes;
    t.all_elements += elements;
    t.all_bytes += x->bytes;
  }
  return t;
}

static void print_count(uint64_t n) {
  if (n < 100000) printf("%" PRIu64, n);
  else if (n < 1000000000) printf("%.1f M", (double)n * 1e-6);
  else printf("%.2f G", (double)n * 1e-9);
}

/* ---- People -------------------------------------------------------------------------------------------------- */

static void print_tensors(const rlx_file *f) {
  size_t widest = 0;
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    size_t n = strlen(rlx_file_tensor_at(f, i)->name);
    if (n > widest && n <= 64) widest = n;
  }
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
    size_t n = strlen(t->name);
    fputs("  ", stdout);
    cli_print_plain(t->name);
    printf("%*s  %s", n < widest ? (int)(widest - n) : 0, "", t->type);
    cli_print_sizes(t->shape);
    fputs("  ", stdout);
    cli_print_bytes(t->bytes);
    if (rlx_file_part_count(f) > 1) printf("  file %u", t->part + 1);
    putchar('\n');
  }
}

static void print_metas(const rlx_file *f) {
  rlx_meta m;
  if (rlx_file_meta_count(f)) printf("\nmetadata: %u\n", rlx_file_meta_count(f));
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++) {
    size_t n = strlen(m.key);
    fputs("  ", stdout);
    cli_print_plain(m.key);
    printf("%*s = ", n < 40 ? (int)(40 - n) : 0, "");
    print_value(&m, false);
    putchar('\n');
  }
}

static void print_file(const char *path, const rlx_file *f, bool all_tensors) {
  totals t = add_up(f);
  cli_print_plain(path);
  printf(": %s", rlx_file_format(f));
  if (rlx_file_part_count(f) > 1) printf(", %u files", rlx_file_part_count(f));
  printf(", %u tensors, ", rlx_file_tensor_count(f));
  print_count(t.all_elements);
  fputs(" parameters, ", stdout);
  cli_print_bytes(t.all_bytes);
  putchar('\n');
  print_metas(f);
  if (rlx_file_tensor_count(f)) printf("\ntensors: %u\n", rlx_file_tensor_count(f));
  if (all_tensors) print_tensors(f);
  uint64_t n_strange = 0;
  for (uint32_t d = 0; d < MAX_TYPES; d++) {
    if (d >= rlx_dtype_count()) n_strange += t.of[d].n_tensors;
    if (!t.of[d].n_tensors || all_tensors) continue;
    printf("  %-7s %6" PRIu64 " tensors  ", t.of[d].name, t.of[d].n_tensors);
    cli_print_bytes(t.of[d].bytes);
    putchar('\n');
  }
  if (n_strange)
    printf("\n%" PRIu64 " tensors are of types that RLX does not have: it cannot run this model\n", n_strange);
}

/* ---- Scripts ------------------------------------------------------------------------------------------------- */

static void json_tensor(const rlx_file_tensor *t, bool is_first) {
  printf("%s{\"name\":", is_first ? "" : ",");
  cli_print_quoted(t->name);
  printf(",\"dtype\":\"%s\",\"shape\":", t->type);
  cli_print_sizes(t->shape);
  printf(",\"bytes\":%zu,\"part\":%u,\"offset\":%" PRIu64 "}", t->bytes, t->part, t->offset);
}

static void json_file(const char *path, const rlx_file *f) {
  totals t = add_up(f);
  rlx_meta m;
  bool is_first = true;
  fputs("{\"file\":", stdout);
  cli_print_quoted(path);
  printf(",\"format\":\"%s\",\"parameters\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"parts\":[", rlx_file_format(f),
         t.all_elements, t.all_bytes);
  for (uint32_t i = 0; i < rlx_file_part_count(f); i++) {
    if (i) putchar(',');
    cli_print_quoted(rlx_file_part_at(f, i));
  }
  fputs("],\"types\":[", stdout);
  for (uint32_t d = 0; d < MAX_TYPES; d++) {
    if (!t.of[d].n_tensors) continue;
    printf("%s{\"dtype\":\"%s\",\"tensors\":%" PRIu64 ",\"elements\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
           is_first ? "" : ",", t.of[d].name, t.of[d].n_tensors, t.of[d].elements, t.of[d].bytes);
    is_first = false;
  }
  fputs("],\"metadata\":{", stdout);
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++) {
    if (i) putchar(',');
    cli_print_quoted(m.key);
    putchar(':');
    print_value(&m, true);
  }
  fputs("},\"tensors\":[", stdout);
  for (uint32_t i = 0; i < rlx_file_tensor_count(f); i++) json_tensor(rlx_file_tensor_at(f, i), i == 0);
  fputs("]}", stdout);
}

/* ---- One file ------------------------------------------------------------------------------------------------ */

static int show_key(const cli_common *common, const char *path, const rlx_file *f, const char *key) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, key, &m)) return cli_fail("%s: there is no metadata '%.200s'", path, key);
  if (!common->json) {
    print_bare(&m);
    return CLI_DONE;
  }
  fputs("{\"file\":", stdout);
  cli_print_quoted(path);
  fputs(",\"key\":", stdout);
  cli_print_quoted(key);
  fputs(",\"value\":", stdout);
  print_value(&m, true);
  putchar('}');
  return CLI_DONE;
}

int cli_file_info(const cli_common *common, const char *path, const char *key, bool tensors) {
  rlx_file *f;
  if (cli_check(rlx_file_open(path, cli_limited(), &f), NULL, NULL)) return CLI_FAILED;
  int code = CLI_DONE;
  if (key) code = show_key(common, path, f, key);
  else if (common->json) json_file(path, f);
  else print_file(path, f, tensors);
  rlx_file_close(f);
  return code;
}
