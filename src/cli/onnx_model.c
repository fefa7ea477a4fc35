/* ONNX models for the commands that take graphs. Inputs are read or generated first, because their sizes determine
 * the graph. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

bool cli_is_onnx(const char *path) {
  static const char ending[] = ".onnx"; /* in any case */
  const size_t n = strlen(path), m = sizeof ending - 1;
  bool is = n > m;
  for (size_t i = 0; is && i < m; i++) is = tolower((unsigned char)path[n - m + i]) == ending[i];
  return is;
}

static bool is_pb(const char *path) {
  size_t n = strlen(path);
  return n > 3 && strcmp(path + n - 3, ".pb") == 0;
}

/* ---- Inputs -------------------------------------------------------------------------------------------------- */

static int read_input(const rlx_onnx *m, const cli_word *word, const char *path, rlx_named_tensor *out) {
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  bool known = false;
  for (uint32_t i = 0; i < rlx_onnx_input_count(m) && !known; i++)
    known = !rlx_onnx_input_at(m, i, &v) && strcmp(v.name, word->name) == 0;
  if (!known) return cli_fail("--input '%s': %s has no input of this name", word->name, path);
  out->name = word->name;
  rlx_status s = is_pb(word->value) ? rlx_onnx_tensor_read(word->value, NULL, 0, &out->tensor)
                                    : rlx_npy_read(word->value, &out->tensor);
  return cli_check(s, "--input", word->name);
}

static int64_t dim_of(const cli_list *dims, const char *symbol) {
  int64_t size = -1;
  for (size_t i = 0; symbol && i < dims->n; i++)
    if (strcmp(dims->v[i].name, symbol) == 0) cli_to_number(dims->v[i].value, 0, INT64_MAX, &size);
  return size;
}

/* Size of a symbol according to the given inputs. */
static int64_t size_given(const rlx_onnx *m, const rlx_named_tensor *given, size_t n, const char *symbol) {
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  for (uint32_t i = 0; symbol && i < rlx_onnx_input_count(m); i++)
    for (size_t k = 0; k < n && !rlx_onnx_input_at(m, i, &v); k++) {
      if (strcmp(given[k].name, v.name) != 0 || given[k].tensor.shape.n != v.rank) continue;
      for (int a = 0; a < v.rank; a++)
        if (v.dim[a].symbol && strcmp(v.dim[a].symbol, symbol) == 0) return given[k].tensor.shape.v[a];
    }
  return -1;
}

/* The shape of an input that is not given; reports sizes that are unknown. */
static int shape_of(const cli_onnx *o, const rlx_onnx_value *v, const cli_list *dims, rlx_dims *out) {
  if (v->rank < 0) return cli_fail("input '%s' has no declared shape; add --input %s=FILE.npy", v->name, v->name);
  *out = (rlx_dims){.n = v->rank};
  for (int a = 0; a < v->rank; a++) {
    out->v[a] = v->dim[a].size >= 0 ? v->dim[a].size : dim_of(dims, v->dim[a].symbol);
    if (out->v[a] < 0) out->v[a] = size_given(o->model, o->given, o->n_given, v->dim[a].symbol);
    if (out->v[a] >= 0) continue;
    if (v->dim[a].symbol)
      return cli_fail("input '%s': no size is given for %s; add --dim %s=SIZE", v->name, v->dim[a].symbol,
                      v->dim[a].symbol);
    return cli_fail("input '%s': axis %d has no declared size; add --input %s=FILE.npy", v->name, a, v->name);
  }
  return CLI_DONE;
}

static int draw_input(cli_onnx *o, const rlx_onnx_value *v, const cli_list *dims, int64_t seed, uint32_t number) {
  rlx_dims shape;
  if (v->dtype == RLX_DTYPE_UNKNOWN)
    return cli_fail("input '%s' is of type %s, which RLX does not have", v->name, v->type);
  if (shape_of(o, v, dims, &shape)) return CLI_FAILED;
  rlx_named_tensor *t = &o->given[o->n_given];
  t->name = v->name;
  if (cli_check(cli_random_tensor(v->dtype, shape, seed, number, &t->tensor), "--random", NULL)) return CLI_FAILED;
  o->n_given++;
  return CLI_DONE;
}

/* Generates or reports each input that needs a value and has none. Without a seed and with `shapes_only`, shapes are
 * enough. */
static int complete_inputs(cli_onnx *o, const cli_model_options *options, bool shapes_only) {
  int code = CLI_DONE;
  for (uint32_t i = 0; i < rlx_onnx_input_count(o->model); i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    bool is_given = false;
    if (cli_check(rlx_onnx_input_at(o->model, i, &v), NULL, NULL)) return CLI_FAILED;
    for (size_t k = 0; k < options->inputs.n; k++) is_given |= strcmp(options->inputs.v[k].name, v.name) == 0;
    if (is_given || v.has_default) continue;
    if (options->seed >= 0) {
      if (draw_input(o, &v, &options->dims, options->seed, i + 1)) code = CLI_FAILED;
    } else if (!shapes_only) {
      code = cli_fail("input '%s' has no value; add --input %s=FILE.npy, or --random SEED", v.name, v.name);
    }
  }
  return code;
}

static int check_dims(const cli_onnx *o, const cli_list *dims, const char *path) {
  int code = CLI_DONE;
  for (size_t k = 0; k < dims->n; k++) {
    bool known = false;
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    for (uint32_t i = 0; i < rlx_onnx_input_count(o->model); i++)
      for (int a = 0; !rlx_onnx_input_at(o->model, i, &v) && a < v.rank; a++)
        known |= v.dim[a].symbol && strcmp(v.dim[a].symbol, dims->v[k].name) == 0;
    if (!known) code = cli_fail("--dim %s: no input of %s has this symbol", dims->v[k].name, path);
  }
  return code;
}

int cli_onnx_open(const char *path, const cli_model_options *options, bool shapes_only, cli_onnx *o) {
  *o = (cli_onnx){.path = path};
  if (cli_check(rlx_onnx_open(path, cli_limited(), &o->model), NULL, NULL)) return CLI_FAILED;
  o->given = calloc(rlx_onnx_input_count(o->model) + options->inputs.n + 1, sizeof *o->given);
  o->bindings = calloc(options->dims.n + 1, sizeof *o->bindings);
  if (!o->given || !o->bindings) return cli_fail("out of memory");
  int code = check_dims(o, &options->dims, path);
  for (size_t i = 0; i < options->inputs.n; i++) {
    if (read_input(o->model, &options->inputs.v[i], path, &o->given[o->n_given])) code = CLI_FAILED;
    else o->n_read = ++o->n_given;
  }
  for (size_t i = 0; i < options->dims.n; i++) {
    o->bindings[i].symbol = options->dims.v[i].name;
    cli_to_number(options->dims.v[i].value, 0, INT64_MAX, &o->bindings[i].size);
  }
  o->n_bindings = options->dims.n;
  return complete_inputs(o, options, shapes_only) ? CLI_FAILED : code;
}

void cli_onnx_close(cli_onnx *o) {
  for (size_t i = 0; i < o->n_given; i++)
    i < o->n_read ? rlx_free(o->given[i].tensor.data) : free(o->given[i].tensor.data);
  free(o->given);
  free(o->bindings);
  rlx_onnx_close(o->model);
  *o = (cli_onnx){0};
}

int cli_onnx_graph(const cli_onnx *o, const cli_common *common, rlx_graph **out) {
  char *cut = NULL;
  rlx_onnx_options options = {RLX_ONNX_OPTIONS_INIT, .bindings = o->bindings, .n_bindings = o->n_bindings};
  if (cli_check(rlx_onnx_graph(o->model, &options, o->given, o->n_given, out, &cut), o->path, NULL)) return CLI_FAILED;
  if (cut && !(common && common->quiet))
    cli_note("%s: sizes depend on values, so this is the first of several graphs: %s", o->path, cut);
  rlx_free(cut);
  return CLI_DONE;
}

int cli_load_any(const char *path, const cli_model_options *options, const cli_common *common, rlx_graph **out) {
  cli_onnx o;
  *out = NULL;
  if (!cli_is_onnx(path)) return cli_load_graph(path, out);
  int code = cli_onnx_open(path, options, true, &o);
  if (!code) code = cli_onnx_graph(&o, common, out);
  cli_onnx_close(&o);
  return code;
}

/* ---- For the graph commands ---------------------------------------------------------------------------------- */

int cli_model_load_onnx(const char *path, const cli_model_options *options, cli_model *m) {
  *m = (cli_model){.options = options, .path = path};
  m->onnx = calloc(1, sizeof *m->onnx);
  if (!m->onnx) return cli_fail("out of memory");
  if (cli_onnx_open(path, options, false, m->onnx) || cli_onnx_graph(m->onnx, NULL, &m->graph)) return CLI_FAILED;
  size_t n = (size_t)rlx_graph_size(m->graph) + 1;
  m->values = calloc(n, sizeof *m->values);
  m->encoded = calloc(n, sizeof *m->encoded);
  if (!m->values || !m->encoded) return cli_fail("out of memory");
  for (size_t i = 0; i < m->onnx->n_given; i++) {
    uint32_t node = cli_leaf_number(m->graph, m->onnx->given[i].name);
    if (node) m->values[node] = m->onnx->given[i].tensor;
  }
  return CLI_DONE;
}

int cli_model_load_weights(cli_model *m) {
  for (rlx_node n = 1; m->onnx && n <= rlx_graph_size(m->graph); n++) {
    if (strcmp(rlx_node_op(m->graph, n), "param") != 0) continue;
    if (cli_check(rlx_onnx_weight_read(m->onnx->model, rlx_node_name(m->graph, n), &m->values[n]), m->path, NULL))
      return CLI_FAILED;
    m->encoded[n] = true;
  }
  return CLI_DONE;
}
