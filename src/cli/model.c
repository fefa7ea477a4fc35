/* A graph and values for its leaves: the start of eval, run, compare, bench and trace.
 *
 * All arrays are read, and all that are wrong or missing are reported, before anything runs. Values are indexed by
 * the nodes of the graph as loaded. Passes may drop or add leaves, so later stages match them by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "rlx/experimental.h"

/* ---- Values that are given ----------------------------------------------------------------------------------- */

uint32_t cli_leaf_number(const rlx_graph *g, const char *name) { return rlx_node_number(g, rlx_graph_find(g, name)); }

static int read_value(const cli_model *m, const cli_word *input) {
  uint32_t n = cli_leaf_number(m->graph, input->name);
  if (!n) return cli_fail("--input '%s': %s has no input, param or state of this name", input->name, m->path);
  return cli_check(rlx_npy_read(input->value, &m->values[n]), "--input", input->name);
}

/* Whether a leaf needs a value and has none; a state starts with zeros. */
static bool lacks_value(const cli_model *m, rlx_node n) {
  if (m->onnx) return false; /* inputs are completed before the graph is built, params are in the file */
  return rlx_node_name(m->graph, n) && !m->values[n].data && strcmp(rlx_node_op(m->graph, n), "state") != 0;
}

static bool is_given(const cli_model *m, const char *name) {
  for (size_t i = 0; i < m->options->inputs.n; i++)
    if (strcmp(m->options->inputs.v[i].name, name) == 0) return true;
  return false;
}

static int read_values(const cli_model *m) {
  int code = CLI_DONE;
  for (size_t i = 0; i < m->options->inputs.n; i++)
    if (read_value(m, &m->options->inputs.v[i])) code = CLI_FAILED;
  for (rlx_node n = 1; m->options->seed < 0 && n <= rlx_graph_size(m->graph); n++) {
    const char *name = rlx_node_name(m->graph, n);
    if (lacks_value(m, n) && !is_given(m, name)) /* an array that could not be read was already reported */
      code = cli_fail("%s '%s' has no value; add --input %s=FILE.npy, or --random SEED", rlx_node_op(m->graph, n), name,
                      name);
  }
  return code;
}

static bool is_block(rlx_dtype dtype) { return rlx_dtype_describe(dtype)->block_elements > 1; }

/* .npy has no block types: such a param takes its bytes from a u8 array. */
static void reinterpret_as_blocks(const rlx_graph *g, rlx_node n, rlx_tensor *t) {
  size_t bytes;
  rlx_dims shape = rlx_node_shape(g, n);
  rlx_dtype dtype = rlx_node_dtype(g, n);
  if (!t->data || t->dtype != RLX_U8 || !is_block(dtype)) return;
  if (rlx_tensor_bytes(dtype, shape, &bytes) || bytes != t->bytes) return; /* setting the value reports it */
  t->dtype = dtype;
  t->shape = shape;
}

/* ---- Random values ------------------------------------------------------------------------------------------- */

/* Floats in -1 .. 1, integers and bools 0 or 1 (valid for most indices). The draw number is the number of the leaf,
 * so equal seeds give equal values however many leaves are given. */
static rlx_node random_node(rlx_graph *g, rlx_dtype dtype, rlx_dims shape, int64_t seed, rlx_node leaf) {
  bool is_real = dtype == RLX_F32 || dtype == RLX_F16 || dtype == RLX_BF16 || dtype == RLX_F64;
  bool is_complex = dtype == RLX_C64 && shape.n < RLX_MAX_RANK;
  if (is_complex) shape.v[shape.n++] = 2;
  rlx_node x = rlx_op_rng_uniform(g, rlx_op_scalar(g, RLX_I64, (double)leaf), shape, RLX_F32, seed, -1, 1);
  if (is_complex) return rlx_op_view_as_complex(g, x);
  return rlx_op_cast(g, is_real ? x : rlx_op_gt(g, x, rlx_op_scalar(g, RLX_F32, 0)), dtype);
}

/* Encodes random floats into blocks that the model owns. */
static rlx_status encode_random(cli_model *m, rlx_node n, const rlx_tensor *floats) {
  rlx_tensor *t = &m->values[n];
  rlx_dtype dtype = rlx_node_dtype(m->graph, n);
  size_t bytes;
  rlx_status s = rlx_tensor_bytes(dtype, floats->shape, &bytes);
  if (s) return s;
  void *blocks = malloc(bytes ? bytes : 1);
  if (!blocks) return RLX_NO_MEMORY;
  *t = (rlx_tensor){dtype, floats->shape, {blocks}, bytes};
  m->encoded[n] = true;
  return rlx_quant_encode(dtype, floats->data, blocks, floats->bytes / sizeof(float));
}

static rlx_status set_random(cli_model *m, rlx_node n) {
  rlx_tensor t;
  rlx_status s = rlx_evaluator_get(m->random, rlx_node_name(m->graph, n), &t);
  if (s) return s;
  if (is_block(rlx_node_dtype(m->graph, n))) return encode_random(m, n, &t);
  m->values[n] = t;
  return RLX_OK;
}

static int fill_random(cli_model *m) {
  rlx_graph *g;
  rlx_status s = rlx_graph_create(&g);
  bool any = false;
  for (rlx_node n = 1; !s && n <= rlx_graph_size(m->graph); n++) {
    rlx_dtype dtype = rlx_node_dtype(m->graph, n);
    if (!lacks_value(m, n)) continue;
    rlx_dtype made = is_block(dtype) ? RLX_F32 : dtype;
    rlx_graph_add_output(g, rlx_node_name(m->graph, n),
                         random_node(g, made, rlx_node_shape(m->graph, n), m->options->seed, n));
    any = true;
  }
  if (!s && any) s = rlx_graph_finish(g);
  if (!s && any) s = rlx_evaluator_create(g, &m->random);
  if (!s && m->random) s = rlx_evaluator_run(m->random);
  for (rlx_node n = 1; !s && m->random && n <= rlx_graph_size(m->graph); n++)
    if (lacks_value(m, n)) s = set_random(m, n);
  rlx_graph_destroy(g);
  return cli_check(s, "--random", NULL);
}

rlx_status cli_random_tensor(rlx_dtype dtype, rlx_dims shape, int64_t seed, uint32_t number, rlx_tensor *out) {
  rlx_graph *g = NULL;
  rlx_evaluator *e = NULL;
  rlx_tensor view;
  *out = (rlx_tensor){0};
  rlx_status s = rlx_graph_create(&g);
  if (!s) rlx_graph_add_output(g, "x", random_node(g, dtype, shape, seed, number));
  if (!s) s = rlx_graph_finish(g);
  if (!s) s = rlx_evaluator_create(g, &e);
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_get(e, "x", &view);
  if (!s) {
    *out = view;
    out->data = malloc(view.bytes ? view.bytes : 1);
    if (out->data) memcpy(out->data, view.data, view.bytes);
    else s = RLX_NO_MEMORY;
  }
  rlx_evaluator_destroy(e);
  rlx_graph_destroy(g);
  return s;
}

/* ---- Loading ------------------------------------------------------------------------------------------------- */

int cli_model_load(const char *path, const cli_model_options *options, cli_model *m) {
  rlx_graph *g;
  *m = (cli_model){.options = options, .path = path};
  if (cli_is_onnx(path)) return cli_model_load_onnx(path, options, m);
  return cli_load_graph(path, &g) ? CLI_FAILED : cli_model_take(path, g, options, m);
}

int cli_model_take(const char *path, rlx_graph *g, const cli_model_options *options, cli_model *m) {
  *m = (cli_model){.options = options, .path = path, .graph = g};
  size_t n = (size_t)rlx_graph_size(g) + 1;
  m->values = calloc(n, sizeof *m->values);
  m->encoded = calloc(n, sizeof *m->encoded);
  if (!m->values || !m->encoded) return cli_fail("out of memory");
  return read_values(m);
}

int cli_model_bind(cli_model *m) {
  if (m->onnx) return CLI_DONE; /* ONNX graphs have no symbols */
  if (cli_bind(m->path, &m->options->dims, m->values, &m->graph)) return CLI_FAILED;
  for (rlx_node n = 1; n <= rlx_graph_size(m->graph); n++) reinterpret_as_blocks(m->graph, n, &m->values[n]);
  return m->options->seed >= 0 ? fill_random(m) : CLI_DONE;
}

void cli_model_deinit(cli_model *m) {
  for (size_t i = 0; m->values && !m->onnx && i < m->options->inputs.n;
       i++) /* unknown names are at entry 0, which is empty */
    rlx_free(m->values[cli_leaf_number(m->graph, m->options->inputs.v[i].name)].data);
  for (rlx_node n = 1; m->encoded && n <= rlx_graph_size(m->graph); n++)
    if (m->encoded[n]) m->onnx ? rlx_free(m->values[n].data) : free(m->values[n].data);
  free(m->values);
  free(m->encoded);
  rlx_evaluator_destroy(m->random);
  rlx_graph_destroy(m->graph);
  if (m->onnx) cli_onnx_close(m->onnx);
  free(m->onnx);
}

void cli_model_options_deinit(cli_model_options *o) {
  cli_list_deinit(&o->inputs);
  cli_list_deinit(&o->dims);
}
