/* Graphs in text form: parse, compile, run, report; and the conformance cases of a device. */
#include <string.h>

#include "base/mem.h"
#include "rlx/experimental.h"
#include "web/web.h"

typedef struct web_graph {
  rlx_graph *graph;
  rlx_session *session;
  rlx_weights *weights;
  rlx_executable *executable; /* NULL until the first run: params may be set before */
  web_tensors outputs;
  web_user user;
} web_graph;

WEB_EXPORT(rlx_web_graph_close) void rlx_web_graph_close(web_graph *g) {
  if (!g) return;
  rlx_executable_destroy(g->executable);
  rlx_weights_destroy(g->weights);
  rlx_session_destroy(g->session);
  rlx_graph_destroy(g->graph);
  web_tensors_clear(&g->outputs);
  rlx_mem_free(g);
}

static rlx_status open_graph(web_graph *g, const char *text, size_t bytes, const char *device, uint32_t n_threads,
                             double memory) {
  RLX_TRY(rlx_graph_parse(text, bytes, &g->graph));
  RLX_TRY(web_session_create(device, n_threads, memory, &g->session));
  return rlx_weights_create(g->session, &g->weights);
}

WEB_EXPORT(rlx_web_graph_open)
web_graph *rlx_web_graph_open(const char *text, size_t bytes, const char *device, uint32_t n_threads, double memory) {
  web_graph *g = rlx_new(web_graph);
  if (!g) {
    web_end(RLX_FAIL(RLX_NO_MEMORY, "a graph"));
    return NULL;
  }
  g->outputs.is_owner = true;
  rlx_status s = open_graph(g, text, bytes, device, n_threads, memory);
  if (s) {
    rlx_saved_message message;
    rlx_message_save(&message);
    rlx_web_graph_close(g);
    rlx_message_restore(&message);
    g = NULL;
  }
  web_end(s);
  return g;
}

/* ---- Description ---- */

/* A size that inputs decide is the name of its symbol, or null. */
static void add_node(const rlx_graph *g, const char *name, rlx_node n, rlx_str *out) {
  rlx_dims shape = rlx_node_shape(g, n);
  rlx_str_add(out, "{\"name\":");
  rlx_str_add_quoted(out, name);
  rlx_str_add(out, ",\"op\":\"%s\",\"dtype\":\"%s\",\"shape\":[", rlx_node_op(g, n),
              rlx_dtype_describe(rlx_node_dtype(g, n))->name);
  for (int32_t i = 0; i < shape.n; i++) {
    const char *symbol = rlx_graph_symbol_name(g, shape.v[i]);
    if (i) rlx_str_add_char(out, ',');
    if (shape.v[i] >= 0) rlx_str_add(out, "%lld", (long long)shape.v[i]);
    else if (symbol) rlx_str_add_quoted(out, symbol);
    else rlx_str_add(out, "null");
  }
  rlx_str_add(out, "]}");
}

/* {"inputs":[..],"outputs":[..]}; inputs: also params and states, told apart by `op`. */
static rlx_status describe(const web_graph *g, rlx_str *out) {
  rlx_device_info device = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(rlx_session_device(g->session, &device));
  const char *name, *comma = "";
  rlx_str_add(out, "{\"inputs\":[");
  for (uint32_t i = 1; i <= rlx_graph_size(g->graph); i++) {
    if (!(name = rlx_node_name(g->graph, i))) continue;
    rlx_str_add(out, "%s", comma);
    add_node(g->graph, name, i, out);
    comma = ",";
  }
  rlx_str_add(out, "],\"outputs\":[");
  for (uint32_t i = 0; i < rlx_graph_output_count(g->graph); i++) {
    rlx_node n = rlx_graph_output_at(g->graph, i, &name);
    if (i) rlx_str_add_char(out, ',');
    add_node(g->graph, name, n, out);
  }
  rlx_str_add(out, "],\"device\":");
  web_device_json(&device, out);
  rlx_str_add_char(out, '}');
  return RLX_OK;
}

WEB_EXPORT(rlx_web_graph_info) char *rlx_web_graph_info(const web_graph *g) {
  rlx_str out = {0};
  return web_end_text(describe(g, &out), &out);
}

/* ---- Running ---- */

static bool is_op(const web_graph *g, const char *name, const char *op) {
  const char *found = rlx_node_op(g->graph, rlx_graph_find(g->graph, name));
  return found && strcmp(found, op) == 0;
}

static rlx_status compile(web_graph *g) {
  if (g->executable) return RLX_OK;
  const rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .weights = g->weights, .watch = web_watch(&g->user)};
  return rlx_compile(g->session, g->graph, &options, &g->executable);
}

/* Params go to the weights, states are written, the rest are the inputs of the run. */
static rlx_status run_with(web_graph *g, const web_tensors *given, rlx_named_tensor *inputs) {
  size_t n = 0;
  for (size_t i = 0; i < given->n; i++) {
    const rlx_named_tensor *x = &given->v[i];
    if (is_op(g, x->name, "param")) RLX_TRY(rlx_weights_set(g->weights, x->name, &x->tensor));
    else if (!is_op(g, x->name, "state")) inputs[n++] = *x;
  }
  RLX_TRY(compile(g));
  for (size_t i = 0; i < given->n; i++)
    if (is_op(g, given->v[i].name, "state"))
      RLX_TRY(rlx_executable_write(g->executable, given->v[i].name, &given->v[i].tensor));
  const rlx_watch watch = web_watch(&g->user);
  rlx_executable_set_watch(g->executable, &watch);
  return rlx_run(g->executable, inputs, n, NULL, 0);
}

static rlx_status read_output(web_graph *g, const char *name) {
  rlx_tensor x;
  RLX_TRY(rlx_executable_describe(g->executable, name, &x));
  RLX_TRY(rlx_tensor_bytes(x.dtype, x.shape, &x.bytes));
  x.data = rlx_mem_alloc(x.bytes);
  rlx_status s = x.data ? rlx_executable_read(g->executable, name, &x) : RLX_FAIL(RLX_NO_MEMORY, "output '%s'", name);
  if (!s) s = web_tensors_add(&g->outputs, name, &x);
  if (s) rlx_mem_free(x.data);
  return s;
}

static rlx_status run(web_graph *g, const web_tensors *given, rlx_str *out) {
  web_tensors_clear(&g->outputs);
  rlx_named_tensor *inputs = rlx_mem_calloc(given->n + 1, sizeof *inputs);
  rlx_status s = inputs ? run_with(g, given, inputs) : RLX_FAIL(RLX_NO_MEMORY, "%zu inputs", given->n);
  rlx_mem_free(inputs);
  RLX_TRY(s);
  for (uint32_t i = 0; i < rlx_graph_output_count(g->graph); i++) {
    const char *name;
    rlx_graph_output_at(g->graph, i, &name);
    RLX_TRY(read_output(g, name));
  }
  rlx_str_add_char(out, '[');
  web_tensors_json(&g->outputs, out);
  rlx_str_add_char(out, ']');
  return RLX_OK;
}

/* Returns the outputs as JSON; their bytes live until the next run of this graph. */
WEB_EXPORT(rlx_web_graph_run) char *rlx_web_graph_run(web_graph *g, const web_tensors *given, int32_t user) {
  rlx_str out = {0};
  g->user = (web_user){.id = user};
  return web_end_text(run(g, given, &out), &out);
}

/* Compiles if that has not happened; a graph with symbols must have been run. */
WEB_EXPORT(rlx_web_graph_report) char *rlx_web_graph_report(web_graph *g, int32_t kind, int32_t format) {
  if (!g->executable && rlx_graph_symbol_count(g->graph) == 0) {
    g->user = (web_user){.id = -1};
    rlx_status s = compile(g);
    if (web_end(s)) return NULL;
  }
  return web_report(g->executable, kind, format);
}

/* ---- Conformance ---- */

static bool on_row(void *user, const rlx_conform_row *row) {
  const int32_t *id = user;
  return rlx_js_row(*id, row->op, row->name, (int32_t)row->result, row->why ? row->why : "", row->error) != 0;
}

/* pattern: "" is every op. */
WEB_EXPORT(rlx_web_conform) int32_t rlx_web_conform(const char *device, const char *pattern, int32_t user) {
  rlx_session *session = NULL;
  rlx_status s = web_session_create(device, 0, 0, &session);
  if (!s) s = rlx_conform(session, pattern && *pattern ? pattern : NULL, on_row, &user);
  rlx_session_destroy(session);
  return (int32_t)web_end(s);
}
