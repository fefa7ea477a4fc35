/* rlx check: reads all of a weight file or ONNX model, or parses and verifies a text graph. All files are tried, and each says how it
 * went. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#ifdef RLX_LM
#include "rlx/lm.h"
#endif

static bool is_graph(const char *path) {
  size_t n = strlen(path);
  return n > 4 && strcmp(path + n - 4, ".rlx") == 0;
}

/* What was found of a file: its format, tensors and bytes; or of a graph, its nodes. */
typedef struct findings {
  char format[32];
  uint32_t n_tensors, n_more;
  uint64_t bytes;
} findings;

static rlx_status check_graph(const char *path, findings *out) {
  rlx_graph *g = NULL;
  snprintf(out->format, sizeof out->format, "text graph");
  rlx_status s = rlx_graph_read(path, &g);
  if (!s) s = rlx_graph_verify(g);
  out->n_tensors = rlx_graph_size(g);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status check_onnx(const char *path, findings *out) {
  snprintf(out->format, sizeof out->format, "ONNX");
  return cli_onnx_check(path, &out->n_tensors, &out->bytes);
}

#ifdef RLX_LM
static rlx_status check_weights(const char *path, cli_bar *bar, findings *out) {
  rlx_file *f = NULL;
  rlx_watch watch = {.progress = cli_bar_draw, .user = bar};
  rlx_status s = rlx_file_open(path, NULL, &f);
  if (!s) s = rlx_file_check(f, &watch, &out->n_more);
  if (f) snprintf(out->format, sizeof out->format, "%s", rlx_file_format(f));
  out->n_tensors = rlx_file_tensors(f);
  for (uint32_t i = 0; i < out->n_tensors; i++) out->bytes += rlx_file_tensor_at(f, i)->bytes;
  rlx_file_close(f);
  return s;
}
#endif

/* What a file is, its name says; what is neither graph nor ONNX holds weights. False: this program does not read those. */
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

static void print_json(const char *path, rlx_status s, const findings *r, bool is_first) {
  printf("%s{\"file\":", is_first ? "" : ",");
  cli_print_quoted(path);
  printf(",\"ok\":%s,\"format\":", s ? "false" : "true");
  cli_print_quoted(r->format);
  printf(",\"tensors\":%u,\"bytes\":%" PRIu64 ",\"findings\":%u,\"message\":", r->n_tensors, r->bytes,
         s ? r->n_more + 1 : 0);
  cli_print_quoted(s ? rlx_message() : "");
  putchar('}');
}

static void print_good(const char *path, const findings *r) {
  cli_print_plain(path);
  printf(": ok: %s, %u %s", r->format, r->n_tensors, is_graph(path) ? "nodes" : "tensors");
  if (!is_graph(path)) fputs(", ", stdout), cli_print_bytes(r->bytes);
  putchar('\n');
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
  if (!s) return CLI_DONE;
  if (!is_read) return cli_without_lm(path);
  bool is_named = strstr(rlx_message(), path) != NULL;
  if (r.n_more)
    return cli_fail("%s%s%s (and %u more findings)", is_named ? "" : path, is_named ? "" : ": ", rlx_message(),
                    r.n_more);
  return cli_check(s, is_named ? NULL : path, NULL);
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
