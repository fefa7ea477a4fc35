/* Results: printed, or written as .npy files into a folder. The folder is checked before the run, so no result is
 * lost; nothing is written before the run has succeeded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

enum { SHOWN_VALUES = 8, MAX_NAME = 255 }; /* NAME_MAX of common file systems */

/* ---- Outputs ------------------------------------------------------------------------------------------------- */

/* Path of an output file. Slashes, and what else the system refuses in names, become '_', so a name cannot leave the
 * folder. Free with free. */
static char *output_path(const char *folder, const char *name) {
  size_t bytes = strlen(folder) + strlen(name) + sizeof "/.npy";
  char *path = malloc(bytes);
  if (!path) return NULL;
  snprintf(path, bytes, "%s/%s.npy", folder, name);
  for (char *p = path + strlen(folder) + 1; *p; p++) *p = cli_in_name(*p);
  return path;
}

/* Orders outputs by file name. */
static int compare_names(const void *a, const void *b) {
  const char *x = *(const char *const *)a, *y = *(const char *const *)b;
  while (*x && cli_in_name(*x) == cli_in_name(*y)) x++, y++;
  return (unsigned char)cli_in_name(*x) - (unsigned char)cli_in_name(*y);
}

/* Refuses outputs whose names differ only in what becomes '_': they would overwrite each other. */
static int check_names(const rlx_graph *g) {
  uint32_t n = rlx_graph_output_count(g);
  const char **names = calloc(n, sizeof *names);
  if (!names) return cli_fail("out of memory");
  int code = CLI_DONE;
  for (uint32_t i = 0; i < n; i++) rlx_graph_output_at(g, i, &names[i]);
  qsort(names, n, sizeof *names, compare_names);
  for (uint32_t i = 1; i < n; i++)
    if (compare_names(&names[i - 1], &names[i]) == 0)
      code = cli_fail("--out: outputs '%s' and '%s' would be one file", names[i - 1], names[i]);
  free(names);
  return code;
}

/* Checks each file: not a directory, not a file that is read, name not too long. */
static int check_files(const char *folder, const rlx_graph *g, const cli_reads *reads) {
  int code = CLI_DONE;
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++) {
    const char *name;
    rlx_graph_output_at(g, i, &name);
    char *path = output_path(folder, name);
    size_t bytes = strlen(name) + sizeof "output ''";
    char *where = malloc(bytes);
    if (where) snprintf(where, bytes, "output '%s'", name);
    if (!path || !where) code = cli_fail("out of memory");
    else if (strlen(name) + strlen(".npy") > MAX_NAME) code = cli_fail("%s: its file's name would be too long", where);
    else if (cli_target_check_file(where, path, reads, false)) code = CLI_FAILED;
    free(where);
    free(path);
  }
  return code;
}

static void print_values(const rlx_tensor *t) {
  size_t count = t->bytes / rlx_dtype_describe(t->dtype)->block_bytes;
  if (cli_print_values(t, SHOWN_VALUES, false)) fputs("?", stdout);
  if (count > SHOWN_VALUES) printf(" .. (%zu in all)", count);
}

static void print_tensor(const cli_common *common, const char *name, const rlx_tensor *t, const char *path) {
  const char *type = rlx_dtype_describe(t->dtype)->name;
  if (common->json) {
    fputs("{\"name\":", stdout);
    cli_print_quoted(name);
    printf(",\"dtype\":\"%s\",\"shape\":", type);
    cli_print_sizes(t->shape);
    fputs(path ? ",\"file\":" : ",\"values\":[", stdout);
    if (path) cli_print_quoted(path);
    else fputs(cli_print_values(t, SIZE_MAX, true) ? "null]" : "]", stdout);
    putchar('}');
    return;
  }
  cli_print_plain(name);
  printf(": %s", type);
  cli_print_sizes(t->shape);
  fputs(path ? " -> " : " = ", stdout);
  if (path) cli_print_plain(path);
  else print_values(t);
  putchar('\n');
}

static int write_output(const cli_results *r, const char *name, const char **comma) {
  rlx_tensor t;
  char *path = NULL;
  if (cli_check(r->get(r->user, name, &t), "output", name)) return CLI_FAILED;
  if (r->folder && !(path = output_path(r->folder, name))) return cli_fail("out of memory");
  rlx_status s = r->folder ? rlx_npy_write(path, &t) : RLX_OK;
  if (!s && (r->common->json || !r->common->quiet)) {
    if (r->common->json) fputs(*comma, stdout);
    print_tensor(r->common, name, &t, path);
    *comma = ",";
  }
  free(path);
  return cli_check(s, "output", name);
}

static int write_all(const cli_results *r) {
  const char *comma = "";
  int code = CLI_DONE;
  bool made = r->folder && cli_make_folder(r->folder);
  if (r->folder && !made && errno != EEXIST) return cli_fail("--out %s: %s", r->folder, strerror(errno));
  if (r->common->json) {
    cli_json_begin();
    fputs("{\"outputs\":[", stdout);
  }
  for (uint32_t i = 0; i < rlx_graph_output_count(r->graph); i++) {
    const char *name;
    rlx_graph_output_at(r->graph, i, &name);
    if (write_output(r, name, &comma)) code = CLI_FAILED;
  }
  if (code && made) cli_remove_folder(r->folder); /* fails if something was written */
  if (r->common->json) {
    printf("],\"seconds\":%.6f", r->seconds);
    cli_json_end();
  }
  return code;
}

int cli_results_write(const cli_results *r) {
  cli_hold_interrupts();
  int code = write_all(r);
  cli_release_interrupts();
  return code;
}

int cli_results_check(const char *folder, const rlx_graph *g, const cli_reads *reads) {
  if (!folder) return CLI_DONE;
  int code = cli_folder_check("--out", folder);
  if (!code) code = check_files(folder, g, reads);
  return check_names(g) ? CLI_FAILED : code;
}
