/* rlx info: shows the contents of a file. Text graphs are printed here, ONNX models by onnx_info.c, weight files by
 * lm_info.c. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

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
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    const char *name;
    rlx_node n = rlx_graph_output_at(g, i, &name);
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

static int show(const request *r, const char *path) {
  if (is_graph(path) && !r->key) return show_graph(&r->common, path);
  if (cli_is_onnx(path) && !r->key) return cli_onnx_info(&r->common, path, r->tensors);
#ifdef RLX_LM
  return cli_file_info(&r->common, path, r->key, r->tensors);
#else
  return cli_without_lm(path);
#endif
}

static int show_all(const request *r) {
  int code = CLI_DONE;
  if (r->common.json) cli_json_files_begin();
  for (size_t i = 0; i < r->words.n; i++) {
    const char *path = r->words.v[i].value;
    size_t before = cli_failures();
    if (i) putchar(r->common.json ? ',' : '\n');
    if (show(r, path) == CLI_DONE) continue;
    code = CLI_FAILED;
    if (r->common.json) cli_json_file_error(path, before);
  }
  if (r->common.json) cli_json_files_end();
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
