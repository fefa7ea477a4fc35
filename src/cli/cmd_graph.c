/* rlx graph: verifies a graph, prints it as text or for Graphviz, and shows the effect of passes.
 *
 * Printed text can always be read back as a graph. Everything else that is requested (the graph before, after each
 * pass, the load-time part, the report) is printed in comments around it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct request {
  const cli_command *self;
  cli_common common;
  const char *pass, *without;
  cli_list words;
  cli_model_options model; /* --dim; for ONNX also --input */
  bool dot, report, before, each, passes;
} request;

/* ---- Text ---------------------------------------------------------------------------------------------------- */

static void print_comment(const char *text) {
  for (const char *end; *text; text = end + (*end != 0)) {
    end = text + strcspn(text, "\n");
    printf("# %.*s\n", (int)(end - text), text);
  }
}

static int print_text(const rlx_graph *g, bool as_comment) {
  char *text;
  if (cli_check(rlx_graph_print(g, &text), NULL, NULL)) return CLI_FAILED;
  if (as_comment) print_comment(text);
  else cli_put_plain(stdout, text, true);
  rlx_free(text);
  return CLI_DONE;
}

/* ---- Graphviz ------------------------------------------------------------------------------------------------ */

static void print_dot(const rlx_graph *g) {
  puts("digraph rlx {\n  node [shape=box, fontname=\"monospace\"];");
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    const char *name = rlx_node_name(g, n);
    printf("  n%u [label=\"%%%u %s\\n", (unsigned)n, (unsigned)n, rlx_node_op(g, n));
    cli_print_type(g, n);
    putchar('"');
    if (name) {
      fputs(", style=rounded, xlabel=", stdout);
      cli_print_quoted(name);
    }
    puts("];");
    for (uint32_t i = 0; i < rlx_node_input_count(g, n); i++) {
      rlx_node in = rlx_node_input_at(g, n, i);
      if (in) printf("  n%u -> n%u;\n", (unsigned)in, (unsigned)n);
    }
  }
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    const char *name;
    rlx_node n = rlx_graph_output_at(g, i, &name);
    printf("  out%u [shape=ellipse, label=", (unsigned)i);
    cli_print_quoted(name);
    printf("];\n  n%u -> out%u;\n", (unsigned)n, (unsigned)i);
  }
  puts("}");
}

/* ---- JSON ---------------------------------------------------------------------------------------------------- */

static void json_leaves(const rlx_graph *g) {
  const char *comma = "";
  fputs(",\"leaves\":[", stdout);
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    if (!rlx_node_name(g, n)) continue;
    printf("%s{\"kind\":\"%s\",\"name\":", comma, rlx_node_op(g, n));
    cli_print_quoted(rlx_node_name(g, n));
    putchar(',');
    cli_json_type(g, n);
    putchar('}');
    comma = ",";
  }
  putchar(']');
}

static void json_outputs(const rlx_graph *g) {
  fputs(",\"outputs\":[", stdout);
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    const char *name;
    rlx_node n = rlx_graph_output_at(g, i, &name);
    fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
    cli_print_quoted(name);
    putchar(',');
    cli_json_type(g, n);
    putchar('}');
  }
  putchar(']');
}

typedef struct named_graph {
  const char *key;
  const rlx_graph *graph; /* NULL: omitted */
  char *text;
} named_graph;

/* Everything that can fail comes before the first output, so an entry is complete or absent. */
static int print_json(const char *path, const rlx_graph *g, const rlx_graph *before, const rlx_graph *load,
                      const char *report) {
  named_graph texts[] = {{"text", g, NULL}, {"before", before, NULL}, {"load", load, NULL}};
  enum { N_TEXTS = sizeof texts / sizeof *texts };
  int code = CLI_DONE;
  for (size_t i = 0; i < N_TEXTS && !code; i++)
    if (texts[i].graph) code = cli_check(rlx_graph_print(texts[i].graph, &texts[i].text), NULL, NULL);
  if (!code) {
    fputs("{\"file\":", stdout);
    cli_print_quoted(path);
    printf(",\"nodes\":%u,\"symbols\":[", (unsigned)rlx_graph_size(g));
    for (uint32_t i = 0; i < rlx_graph_symbol_count(g); i++) {
      if (i) putchar(',');
      cli_print_quoted(rlx_graph_symbol_at(g, i));
    }
    putchar(']');
    json_leaves(g);
    json_outputs(g);
    for (size_t i = 0; i < N_TEXTS; i++) {
      if (!texts[i].text) continue;
      printf(",\"%s\":", texts[i].key);
      cli_print_quoted(texts[i].text);
    }
    if (report) printf(",\"report\":%s", report);
    putchar('}');
  }
  for (size_t i = 0; i < N_TEXTS; i++) rlx_free(texts[i].text);
  return code;
}

/* ---- One file ------------------------------------------------------------------------------------------------ */

static int show_plain(const request *r, const char *path, const rlx_graph *g) {
  if (r->common.json) return print_json(path, g, NULL, NULL, NULL);
  if (r->common.quiet) return CLI_DONE;
  if (!r->dot) return print_text(g, false);
  print_dot(g);
  return CLI_DONE;
}

/* Prints the graph after each pass in comments. `user` is the last text printed, so an unchanged graph is one line. */
static void show_after(void *user, const char *pass, const rlx_graph *g) {
  char **last = user, *text;
  if (cli_check(rlx_graph_print(g, &text), pass, NULL)) return;
  bool same = *last && strcmp(*last, text) == 0;
  printf("# after %s: %u nodes%s\n", pass, (unsigned)rlx_graph_size(g), same ? ", unchanged" : "");
  if (!same) print_comment(text);
  rlx_free(*last);
  *last = text;
}

static int show_optimized(const request *r, const char *path, const rlx_graph *before, const rlx_optimized *o,
                          const char *report) {
  const rlx_graph *g = rlx_optimized_graph(o), *load = rlx_optimized_load(o);
  if (r->common.json) return print_json(path, g, r->before ? before : NULL, load, report);
  if (r->dot || r->common.quiet) return show_plain(r, path, g);
  if (r->before || r->each) printf("# result: %u nodes\n", (unsigned)rlx_graph_size(g));
  int code = print_text(g, false);
  if (!code && load) {
    puts("# once, when the weights are loaded:");
    code = print_text(load, true);
  }
  if (!code && report) {
    puts("# dispatch report:");
    print_comment(report);
  }
  return code;
}

static int run_passes(const request *r, const char *path, const rlx_graph *g) {
  bool text = !r->common.json && !r->dot && !r->common.quiet;
  if (text && r->before) {
    printf("# before: %u nodes\n", (unsigned)rlx_graph_size(g));
    if (print_text(g, true)) return CLI_FAILED;
  }
  char *report = NULL, *last = NULL;
  rlx_optimize_options options = {RLX_OPTIMIZE_OPTIONS_INIT, .without = r->without, .after_user = &last};
  if (r->pass && strcmp(r->pass, "all") != 0) options.passes = r->pass;
  if (r->each && text) options.after = show_after;
  rlx_optimized *o;
  int code = cli_check(rlx_optimize(g, &options, &o), path, NULL);
  rlx_free(last);
  if (code) return code;
  if (r->report || r->common.json) code = cli_check(rlx_optimized_report(o, r->common.json, &report), path, NULL);
  if (!code) code = show_optimized(r, path, g, o, report);
  rlx_free(report);
  rlx_optimized_destroy(o);
  return code;
}

static int show_file(const request *r, const char *path) {
  rlx_graph *g;
  if (cli_load_any(path, &r->model, &r->common, &g)) return CLI_FAILED;
  bool passes = r->pass || r->without || r->report || r->each || r->before;
  int code = !cli_is_onnx(path) && (passes || r->model.dims.n) ? cli_bind(path, &r->model.dims, NULL, &g) : CLI_DONE;
  if (!code) code = passes ? run_passes(r, path, g) : show_plain(r, path, g);
  if (!code && r->common.verbose) cli_note("%s: %u nodes, valid", path, (unsigned)rlx_graph_size(g));
  rlx_graph_destroy(g);
  return code;
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static int list_passes(bool json) {
  if (json) fputs("{\"passes\":[", stdout);
  for (size_t i = 0; i < rlx_pass_count(); i++) {
    const char *doc, *name = rlx_pass_name(i, &doc);
    if (json) {
      printf("%s{\"name\":\"%s\",\"doc\":", i ? "," : "", name);
      cli_print_quoted(doc);
      putchar('}');
    } else {
      printf("%-10s %s\n", name, doc);
    }
  }
  if (json) puts("]}");
  return CLI_DONE;
}

static int run(const request *r) {
  if (r->passes && !r->words.n) return list_passes(r->common.json);
  if (r->passes) return cli_wrong(r->self, "--passes takes no file");
  if (!r->words.n) return cli_wrong(r->self, "which file?");
  if (r->common.json && (r->dot || r->each)) return cli_wrong(r->self, "--json goes without --dot and --each");
  if (r->dot && (r->each || r->before || r->report))
    return cli_wrong(r->self, "--dot goes without --each, --before and --report");
  int code = CLI_DONE;
  if (r->common.json) cli_json_files_begin();
  for (size_t i = 0; i < r->words.n; i++) { /* all files are processed, all failures reported */
    const char *path = r->words.v[i].value;
    size_t before = cli_failures();
    if (i && r->common.json) putchar(',');
    if (show_file(r, path) == CLI_DONE) continue;
    code = CLI_FAILED;
    if (r->common.json) cli_json_file_error(path, before);
  }
  if (r->common.json) cli_json_files_end();
  return code;
}

int cli_graph(const cli_command *self, int argc, char **argv) {
  request r = {.self = self, .model.seed = -1};
  const cli_option options[] = {
    {"--pass", "LIST", "run these passes (comma-separated, or 'all'), show the result", CLI_TEXT, &r.pass, 0, 0},
    {"--without", "LIST", "leave these out", CLI_TEXT, &r.without, 0, 0},
    {"--dim", "NAME=SIZE", "give a symbol its size; repeat for each", CLI_PAIRS, &r.model.dims, 0, INT64_MAX},
    {"--input", "NAME=FILE.npy", "of an ONNX model: an input's sizes, and its value where that decides", CLI_PAIRS,
     &r.model.inputs, 0, 0},
    {"--before", NULL, "show the graph before the passes too", CLI_FLAG, &r.before, 0, 0},
    {"--each", NULL, "show the graph after each pass", CLI_FLAG, &r.each, 0, 0},
    {"--report", NULL, "show the dispatch report", CLI_FLAG, &r.report, 0, 0},
    {"--dot", NULL, "print for Graphviz", CLI_FLAG, &r.dot, 0, 0},
    {"--passes", NULL, "list the passes and stop", CLI_FLAG, &r.passes, 0, 0},
  };
  int code;
  if (cli_parse(self, argc, argv, options, sizeof options / sizeof *options, &r.common, &r.words, &code))
    code = run(&r);
  cli_list_deinit(&r.words);
  cli_model_options_deinit(&r.model);
  return code;
}
