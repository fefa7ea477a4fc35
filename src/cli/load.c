/* Loads a graph from a file or from standard input, and binds its symbolic sizes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

enum { LIMIT_BYTES = 1 << 30, FIRST_BYTES = 1 << 16, STANDARD_INPUT = 0 };

/* ---- Files --------------------------------------------------------------------------------------------------- */

/* Reads to the end into a growing buffer with room for one more byte. Returns 0 or errno; more than `max` bytes are
 * an error. */
static int read_all(int fd, size_t max, char **text, size_t *bytes) {
  size_t cap = 0;
  for (;;) {
    if (*bytes + 1 >= cap) {
      cap = cap ? cap * 2 : FIRST_BYTES;
      char *grown = realloc(*text, cap);
      if (!grown) return ENOMEM;
      *text = grown;
    }
    ptrdiff_t got = cli_read(fd, *text + *bytes, cap - 1 - *bytes);
    if (got <= 0) return got ? errno : 0;
    *bytes += (size_t)got;
    if (*bytes > max) return EFBIG;
  }
}

static int load_input(rlx_graph **out) {
  char *text = NULL;
  size_t bytes = 0;
  int error = read_all(STANDARD_INPUT, LIMIT_BYTES, &text, &bytes), code = CLI_DONE;
  if (error) code = cli_fail("cannot read standard input: %s", strerror(error));
  else code = cli_check(rlx_graph_parse(text, bytes, out), "standard input", NULL);
  free(text);
  return code;
}

int cli_read_bytes(const char *path, size_t max, char **text, size_t *bytes) {
  bool is_input = strcmp(path, "-") == 0;
  *text = NULL;
  *bytes = 0;
  int fd = is_input ? STANDARD_INPUT : cli_open(path, false), error = fd < 0 ? errno : 0;
  if (!error && !is_input && !cli_open_is_regular(fd)) {
    cli_close(fd);
    return cli_fail("%s: expected a regular file", path);
  }
  if (!error) error = read_all(fd, max, text, bytes);
  if (!is_input && fd >= 0) cli_close(fd);
  if (!error) {
    (*text)[*bytes] = '\0';
    return CLI_DONE;
  }
  free(*text);
  *text = NULL;
  if (is_input) return cli_fail("cannot read standard input: %s", strerror(error));
  return cli_fail("cannot read '%s': %s", path, strerror(error));
}

int cli_read_file(const char *path, char **text) {
  size_t bytes;
  if (cli_read_bytes(path, LIMIT_BYTES, text, &bytes)) return CLI_FAILED;
  if (!memchr(*text, 0, bytes)) return CLI_DONE;
  free(*text);
  *text = NULL;
  return cli_fail("%s: expected text, got a zero byte", path);
}

/* Writes directly into a pipe or a device. */
static int write_special(const char *path, const char *text, size_t bytes) {
  int fd = cli_open(path, true), error = fd < 0 ? errno : 0;
  while (bytes && !error) {
    ptrdiff_t n = cli_write(fd, text, bytes);
    if (n < 0) error = errno;
    if (n <= 0) continue;
    text += n;
    bytes -= (size_t)n;
  }
  if (fd >= 0 && !cli_close(fd) && !error) error = errno;
  return error ? cli_fail("cannot write '%s': %s", path, strerror(error)) : CLI_DONE;
}

int cli_write_file(const char *path, const char *text, size_t bytes) {
  cli_stat st;
  if (cli_look(path, &st) && !st.is_regular) return write_special(path, text, bytes);
  cli_hold_interrupts();
  rlx_status s = rlx_file_write(path, text, bytes);
  cli_release_interrupts();
  return cli_check(s, NULL, NULL);
}

int cli_write_array(const char *path, const rlx_tensor *t) {
  cli_hold_interrupts();
  rlx_status s = rlx_npy_write(path, t);
  cli_release_interrupts();
  return cli_check(s, NULL, NULL);
}

void cli_json_array(const char *path, const rlx_tensor *t) {
  cli_json_begin();
  fputs("{\"file\":", stdout);
  cli_print_quoted(path);
  printf(",\"dtype\":\"%s\",\"shape\":", rlx_dtype_describe(t->dtype)->name);
  cli_print_sizes(t->shape);
}

int cli_load_graph(const char *path, rlx_graph **out) {
  *out = NULL;
  if (strcmp(path, "-") == 0) return load_input(out);
  return cli_check(rlx_graph_read(path, out), NULL, NULL);
}

bool cli_is_weight_file(const char *path) {
  const char *dot = strrchr(path, '.');
  cli_stat st;
  bool is_folder = cli_look(path, &st) && st.is_folder;
  return is_folder ||
         (dot && (strcmp(dot, ".gguf") == 0 || strcmp(dot, ".safetensors") == 0 || strcmp(dot, ".json") == 0));
}

/* ---- Sizes --------------------------------------------------------------------------------------------------- */

static rlx_binding *find_binding(rlx_binding *v, size_t n, const char *symbol) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(v[i].symbol, symbol) == 0) return &v[i];
  return NULL;
}

/* Binds symbols without a size from the shape of one value. A contradiction is reported later, when the value is
 * set. */
static void bind_from_shape(const rlx_graph *g, rlx_dims leaf, rlx_dims value, rlx_binding *v, size_t *n) {
  for (int i = 0; leaf.n == value.n && i < leaf.n; i++) {
    const char *symbol = leaf.v[i] < 0 ? rlx_graph_symbol_name(g, leaf.v[i]) : NULL;
    if (symbol && !find_binding(v, *n, symbol)) v[(*n)++] = (rlx_binding){symbol, value.v[i]};
  }
}

/* Reports all unbound symbols in one line, with the option that sets them. */
static int report_unbound(const char *path, const rlx_graph *g, rlx_binding *v, size_t n) {
  char names[1024] = "", *end = names;
  const char *first = NULL;
  for (uint32_t i = 0; i < rlx_graph_symbol_count(g); i++) {
    const char *symbol = rlx_graph_symbol_at(g, i);
    size_t bytes = strlen(symbol);
    if (find_binding(v, n, symbol)) continue;
    if (!first) first = symbol;
    if (bytes + 3 > sizeof names - (size_t)(end - names)) break;
    if (end != names) *end++ = ',', *end++ = ' ';
    memcpy(end, symbol, bytes + 1);
    end += bytes;
  }
  if (!first) return CLI_DONE;
  return cli_fail("%s: no size is given for %s; add --dim %s=SIZE", path, names, first);
}

static int bind(const char *path, const cli_list *dims, const rlx_tensor *values, rlx_binding *v, rlx_graph **g) {
  size_t n = 0;
  for (size_t i = 0; i < dims->n; i++) {
    v[n].symbol = dims->v[i].name;
    cli_to_number(dims->v[i].value, 0, INT64_MAX, &v[n++].size); /* validated when the option was parsed */
  }
  for (rlx_node id = 1; values && id <= rlx_graph_size(*g); id++)
    if (values[id].data && values[id].dtype == rlx_node_dtype(*g, id))
      bind_from_shape(*g, rlx_node_shape(*g, id), values[id].shape, v, &n);
  if (report_unbound(path, *g, v, n)) return CLI_FAILED;
  rlx_graph *bound;
  if (cli_check(rlx_graph_bind(*g, v, n, &bound), path, NULL)) return CLI_FAILED;
  rlx_graph_destroy(*g);
  *g = bound;
  return CLI_DONE;
}

int cli_bind(const char *path, const cli_list *dims, const rlx_tensor *values, rlx_graph **g) {
  if (!dims->n && !rlx_graph_symbol_count(*g)) return CLI_DONE;
  rlx_binding *v = calloc(dims->n + rlx_graph_symbol_count(*g), sizeof *v);
  int code = v ? bind(path, dims, values, v, g) : cli_fail("out of memory");
  free(v);
  return code;
}
