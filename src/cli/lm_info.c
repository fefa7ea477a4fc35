/* rlx info: what is in a weight file, or in a text graph: format, metadata, tensors, and what each type takes.
 *
 * Long lists and texts are cut; --key shows one value whole, and nothing else, for scripts. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/lm.h"

enum { SHOWN_BYTES = 60, JSON_BYTES = 4096, SHOWN_ELEMENTS = 6, JSON_ELEMENTS = 16 };

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* At most `most` bytes of a text, in quotes, cut between characters. */
static void print_text(const rlx_meta *m, size_t most) {
  char cut[JSON_BYTES + 1];
  size_t n = m->n < most ? m->n : most;
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
  for (int digits = 1; digits <= 17; digits++) { /* the shortest that reads back as the same number */
    snprintf(text, sizeof text, "%.*g", digits, x);
    double back = strtod(text, NULL);
    if (is_f32 ? (float)back == (float)x : !(back < x || back > x)) break;
  }
  fputs(text, stdout);
}

static void print_value(const rlx_meta *m, bool json);

static void print_list(const rlx_meta *m, bool json) {
  size_t most = json ? JSON_ELEMENTS : SHOWN_ELEMENTS;
  bool is_cut = json && m->n > most;
  if (is_cut) printf("{\"length\":%zu,\"first\":", m->n);
  putchar('[');
  for (size_t i = 0; i < m->n && i < most; i++) {
    rlx_meta e;
    if (!rlx_meta_element(m, i, &e)) break;
    if (i) fputs(json ? "," : ", ", stdout);
    print_value(&e, json);
  }
  if (!json && m->n > most) printf(", ... %zu in all", m->n);
  putchar(']');
  if (is_cut) putchar('}');
}

static void print_value(const rlx_meta *m, bool json) {
  size_t most = json ? JSON_BYTES : SHOWN_BYTES;
  bool is_cut = json && m->kind == RLX_META_TEXT && m->n > most;
  switch (m->kind) {
    case RLX_META_BOOL: fputs(m->integer ? "true" : "false", stdout); break;
    case RLX_META_INT: printf("%" PRId64, m->integer); break;
    case RLX_META_FLOAT:
      if (json && !isfinite(m->number)) printf("\"%g\"", m->number);
      else print_float(m->number, m->type && strcmp(m->type, "f32") == 0);
      break;
    case RLX_META_TEXT:
      if (is_cut) printf("{\"bytes\":%zu,\"first\":", m->n);
      print_text(m, most);
      if (is_cut) putchar('}');
      else if (m->n > most) printf("... %zu bytes", m->n);
      break;
    case RLX_META_LIST: print_list(m, json); break;
    default: fputs("null", stdout);
  }
}

/* A value alone: a text as it is, a list's elements a line each. */
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

enum { MOST_TYPES = RLX_DTYPE_COUNT + 32 };

typedef struct totals {
  struct {
    const char *name;
    uint64_t n_tensors, elements, bytes;
  } of[MOST_TYPES]; /* by dtype; behind them, in the order they come, types that RLX does not have */
  uint64_t all_elements, all_bytes;
} totals;

static size_t place_of(const totals *t, const rlx_file_tensor *x) {
  size_t i = x->dtype;
  while (i < MOST_TYPES - 1 && t->of[i].name && strcmp(t->of[i].name, x->type) != 0) i++;
  return i;
}

static totals add_up(const rlx_file *f) {
  totals t = {.all_bytes = 0};
  for (uint32_t i = 0; i < rlx_file_tensors(f); i++) {
    const rlx_file_tensor *x = rlx_file_tensor_at(f, i);
    uint64_t elements = 1;
    for (int d = 0; d < x->shape.n; d++) elements *= (uint64_t)x->shape.v[d];
    size_t at = place_of(&t, x);
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
  for (uint32_t i = 0; i < rlx_file_tensors(f); i++) {
    size_t n = strlen(rlx_file_tensor_at(f, i)->name);
    if (n > widest && n <= 64) widest = n;
  }
  for (uint32_t i = 0; i < rlx_file_tensors(f); i++) {
    const rlx_file_tensor *t = rlx_file_tensor_at(f, i);
    size_t n = strlen(t->name);
    fputs("  ", stdout);
    cli_print_plain(t->name);
    printf("%*s  %s", n < widest ? (int)(widest - n) : 0, "", t->type);
    cli_print_sizes(t->shape);
    fputs("  ", stdout);
    cli_print_bytes(t->bytes);
    if (rlx_file_parts(f) > 1) printf("  file %u", t->part + 1);
    putchar('\n');
  }
}

static void print_metas(const rlx_file *f) {
  rlx_meta m;
  if (rlx_file_metas(f)) printf("\nmetadata: %u\n", rlx_file_metas(f));
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
  if (rlx_file_parts(f) > 1) printf(", %u files", rlx_file_parts(f));
  printf(", %u tensors, ", rlx_file_tensors(f));
  print_count(t.all_elements);
  fputs(" parameters, ", stdout);
  cli_print_bytes(t.all_bytes);
  putchar('\n');
  print_metas(f);
  if (rlx_file_tensors(f)) printf("\ntensors: %u\n", rlx_file_tensors(f));
  if (all_tensors) print_tensors(f);
  uint64_t n_strange = 0;
  for (int d = 0; d < MOST_TYPES; d++) {
    if (d >= RLX_DTYPE_COUNT) n_strange += t.of[d].n_tensors;
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
  for (uint32_t i = 0; i < rlx_file_parts(f); i++) {
    if (i) putchar(',');
    cli_print_quoted(rlx_file_part(f, i));
  }
  fputs("],\"types\":[", stdout);
  for (int d = 0; d < MOST_TYPES; d++) {
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
  for (uint32_t i = 0; i < rlx_file_tensors(f); i++) json_tensor(rlx_file_tensor_at(f, i), i == 0);
  fputs("]}", stdout);
}

/* ---- Text graphs --------------------------------------------------------------------------------------------- */

static bool is_graph(const char *path) {
  size_t n = strlen(path);
  return strcmp(path, "-") == 0 || (n > 4 && strcmp(path + n - 4, ".rlx") == 0);
}

static void print_leaf(const char *kind, const char *name, const rlx_graph *g, rlx_node n, bool json, bool is_first) {
  if (json) {
    printf("%s{\"kind\":\"%s\",\"name\":", is_first ? "" : ",", kind);
    cli_print_quoted(name);
    putchar(',');
    cli_json_type(g, n);
    putchar('}');
    return;
  }
  printf("  %-7s ", kind);
  cli_print_plain(name);
  fputs(": ", stdout);
  cli_print_type(g, n);
  putchar('\n');
}

static int show_graph(const cli_common *common, const char *path) {
  rlx_graph *g;
  bool is_first = true;
  if (cli_load_graph(path, &g)) return CLI_FAILED;
  if (common->json) {
    fputs("{\"file\":", stdout);
    cli_print_quoted(path);
    printf(",\"format\":\"text graph\",\"nodes\":%u,\"leaves\":[", rlx_graph_size(g));
  } else {
    cli_print_plain(path);
    printf(": text graph, %u nodes\n", rlx_graph_size(g));
  }
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    if (!rlx_node_name(g, n)) continue;
    print_leaf(rlx_node_op(g, n), rlx_node_name(g, n), g, n, common->json, is_first);
    is_first = false;
  }
  if (common->json) fputs("],\"outputs\":[", stdout);
  for (uint32_t i = 0; i < rlx_graph_outputs(g); i++) {
    const char *name;
    rlx_node n = rlx_graph_output(g, i, &name);
    print_leaf("output", name, g, n, common->json, i == 0);
  }
  if (common->json) fputs("]}", stdout);
  rlx_graph_destroy(g);
  return CLI_DONE;
}

/* ---- The command --------------------------------------------------------------------------------------------- */

typedef struct request {
  cli_common common;
  cli_list words;
  const char *key;
  bool tensors;
} request;

static int show_key(const request *r, const char *path, const rlx_file *f) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, r->key, &m)) return cli_fail("%s: there is no metadata '%.200s'", path, r->key);
  if (r->common.json) print_value(&m, true);
  else print_bare(&m);
  return CLI_DONE;
}

static int show(const request *r, const char *path) {
  rlx_file *f;
  if (is_graph(path) && !r->key) return show_graph(&r->common, path);
  if (cli_is_onnx(path) && !r->key) return cli_onnx_info(&r->common, path, r->tensors);
  if (cli_check(rlx_file_open(path, NULL, &f), NULL, NULL)) return CLI_FAILED;
  int code = CLI_DONE;
  if (r->key) code = show_key(r, path, f);
  else if (r->common.json) json_file(path, f);
  else print_file(path, f, r->tensors);
  rlx_file_close(f);
  return code;
}

/* Of several files the JSON is a list, with null for one that failed and was told. */
static int show_all(const request *r) {
  int code = CLI_DONE;
  bool is_list = r->common.json && r->words.n > 1;
  if (is_list) putchar('[');
  for (size_t i = 0; i < r->words.n; i++) {
    if (i) putchar(is_list ? ',' : '\n');
    if (show(r, r->words.v[i].value) == CLI_DONE) continue;
    code = CLI_FAILED;
    if (is_list) fputs("null", stdout);
  }
  if (is_list) putchar(']');
  if (r->common.json && (is_list || code == CLI_DONE)) putchar('\n');
  return code;
}

int cli_info(const cli_command *self, int argc, char **argv) {
  request r = {0};
  int code;
  const cli_option options[] = {
    {"--tensors", NULL, "each tensor, not only what their types take", CLI_FLAG, &r.tensors, 0, 0},
    {"--key", "KEY", "the value of one key of the metadata, whole, and nothing else", CLI_TEXT, &r.key, 0, 0},
  };
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = r.words.n ? show_all(&r) : cli_wrong(self, "expected a file");
  cli_list_deinit(&r.words);
  return code;
}
