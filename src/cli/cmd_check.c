/* rlx check: reads a whole weight file or ONNX model, or parses and verifies a text graph. All files are checked and
 * each result is reported. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#ifdef RLX_LM
#include "rlx/lm.h"
#endif

static bool is_graph(const char *path) {
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".rlx") == 0;
}

enum { MAX_REPORT = 50 };

/* Findings or remarks of one file: the first are printed, all are counted. */
typedef struct texts {
  char *v[MAX_REPORT];
  size_t reported, n;
} texts;

/* The result for one file: format, tensors and bytes; or for a graph, its nodes. */
typedef struct findings {
  char format[32];
  uint32_t n_tensors;
  uint64_t bytes;
  texts wrong, remarks;
  bool ended; /* stopped before the end: rlx_message() has the reason */
} findings;

static void add_text(texts *t, const char *text) {
  t->n++;
  if (t->reported < MAX_REPORT && (t->v[t->reported] = strdup(text))) t->reported++;
}

static void drop_texts(texts *t) {
  for (size_t i = 0; i < t->reported; i++) free(t->v[i]);
}

static void on_finding(void *user, bool is_remark, const char *text) {
  findings *out = user;
  add_text(is_remark ? &out->remarks : &out->wrong, text);
}

/* A check that completes returns its first finding as the message; any other message is an error that stopped it. */
static void note_end(rlx_status s, findings *r) {
  r->ended = s && !(r->wrong.reported && strncmp(rlx_message(), r->wrong.v[0], strlen(rlx_message())) == 0);
}

static rlx_status check_graph(const char *path, findings *out) {
  rlx_graph *g = NULL;
  snprintf(out->format, sizeof out->format, "text graph");
  rlx_status s = rlx_graph_read(path, &g);
  if (!s) s = rlx_graph_verify(g);
  note_end(s, out);
  out->n_tensors = rlx_graph_size(g);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status check_onnx(const char *path, findings *out) {
  snprintf(out->format, sizeof out->format, "ONNX");
  rlx_status s = cli_onnx_check(path, on_finding, out, &out->n_tensors, &out->bytes);
  note_end(s, out);
  return s;
}

#ifdef RLX_LM
static rlx_status check_weights(const char *path, cli_bar *bar, findings *out) {
  rlx_file *f = NULL;
  rlx_watch watch = {.progress = cli_bar_draw, .user = bar, .limits = cli_limited()->limits};
  rlx_status s = rlx_file_open(path, cli_limited(), &f);
  if (!s) s = rlx_file_check_each(f, &watch, on_finding, out);
  note_end(s, out);
  if (!out->ended) { /* findings in the data do not hide findings in the rest */
    rlx_status more = rlx_lm_check(f, on_finding, out);
    s = s ? s : more;
  }
  if (f) snprintf(out->format, sizeof out->format, "%s", rlx_file_format(f));
  out->n_tensors = rlx_file_tensor_count(f);
  for (uint32_t i = 0; i < out->n_tensors; i++) out->bytes += rlx_file_tensor_at(f, i)->bytes;
  rlx_file_close(f);
  return s;
}
#endif

/* Selects the check by file name; a file that is neither graph nor ONNX is a weight file. False: this build does not
 * read those. */
static bool check_by_name(const char *path, cli_bar *bar, findings *out, rlx_status *s) {
  if (is_graph(path)) *s = check_graph(path, out);
  else if (cli_is_onnx(path)) *s = check_onnx(path, out);
  else {
#ifdef RLX_LM
    *s = check_weights(path, bar, out);
#else
    (void)bar;
    return false;
#endif
  }
  return true;
}

static void print_texts(const char *key, const texts *t) {
  printf(",\"%s\":[", key);
  for (size_t i = 0; i < t->reported; i++) {
    if (i) putchar(',');
    cli_print_quoted(t->v[i]);
  }
  putchar(']');
}

/* "findings" is the total; "wrong" and "remarks" are the first of each. */
static void print_json(const char *path, rlx_status s, const findings *r, bool is_first) {
  printf("%s{\"file\":", is_first ? "" : ",");
  cli_print_quoted(path);
  printf(",\"ok\":%s,\"format\":", s ? "false" : "true");
  cli_print_quoted(r->format);
  printf(",\"tensors\":%u,\"bytes\":%" PRIu64 ",\"findings\":%zu,\"message\":", r->n_tensors, r->bytes,
         r->wrong.n + r->ended);
  cli_print_quoted(!s ? "" : r->wrong.reported ? r->wrong.v[0] : rlx_message());
  print_texts("wrong", &r->wrong);
  print_texts("remarks", &r->remarks);
  putchar('}');
}

static void print_good(const char *path, const findings *r) {
  cli_print_plain(path);
  printf(": ok: %s, %u %s", r->format, r->n_tensors, is_graph(path) ? "nodes" : "tensors");
  if (!is_graph(path)) fputs(", ", stdout), cli_print_bytes(r->bytes);
  putchar('\n');
}

/* Prints one line per finding, prefixed by the file name. */
static int print_bad(const char *path, rlx_status s, const findings *r) {
  for (size_t i = 0; i < r->wrong.reported; i++) {
    bool is_named = strstr(r->wrong.v[i], path) != NULL;
    cli_fail("%s%s%s", is_named ? "" : path, is_named ? "" : ": ", r->wrong.v[i]);
  }
  if (r->wrong.n > r->wrong.reported) cli_fail("%s: and %zu more findings", path, r->wrong.n - r->wrong.reported);
  return r->ended ? cli_check(s, strstr(rlx_message(), path) ? NULL : path, NULL) : CLI_FAILED;
}

static void print_remarks(const char *path, const findings *r) {
  for (size_t i = 0; i < r->remarks.reported; i++) {
    cli_print_plain(path);
    fputs(": remark: ", stdout);
    cli_print_plain(r->remarks.v[i]);
    putchar('\n');
  }
  if (r->remarks.n > r->remarks.reported) printf("and %zu more remarks\n", r->remarks.n - r->remarks.reported);
}

static int check_one(const cli_common *common, const char *path, bool is_first) {
  cli_bar bar;
  findings r = {0};
  cli_bar_begin(&bar, common);
  rlx_status s = RLX_UNSUPPORTED;
  bool is_read = check_by_name(path, &bar, &r, &s);
  cli_bar_end(&bar);
  if (common->json) print_json(path, s, &r, is_first);
  else if (!s && !common->quiet) print_good(path, &r);
  if (!common->json && !common->quiet) print_remarks(path, &r);
  int code = !s ? CLI_DONE : !is_read ? cli_without_lm(path) : print_bad(path, s, &r);
  drop_texts(&r.wrong);
  drop_texts(&r.remarks);
  return code;
}

int cli_check_files(const cli_command *self, int argc, char **argv) {
  cli_common common = {0};
  cli_list words = {0};
  int code;
  if (cli_parse(self, argc, argv, NULL, 0, &common, &words, &code)) {
    if (words.n == 0) code = cli_wrong(self, "expected files to check");
    if (words.n && common.json) cli_json_files_begin();
    for (size_t i = 0; i < words.n; i++)
      if (check_one(&common, words.v[i].value, i == 0)) code = CLI_FAILED;
    if (words.n && common.json) cli_json_files_end();
  }
  cli_list_deinit(&words);
  return code;
}
