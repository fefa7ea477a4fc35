/* libFuzzer target: any bytes as an ONNX model. What opens is described in every corner, imported as a graph for small inputs, and, where
 * the graph is small, run on the CPU. Nothing may be more than a status, and what is refused has words. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx_mutate.h"
#include "rlx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t cap);

/* Most mutations keep the message whole, which gets past the reader; the rest are the fuzzer's own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed) {
  uint64_t random = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1;
  size_t n = seed % 8 ? bytes : 0;
  for (unsigned i = 0; n && i <= seed % 3; i++) n = onnx_mutate(data, n, cap, &random);
  return n ? n : LLVMFuzzerMutate(data, bytes, cap);
}

enum { MAX_ELEMENTS = 1 << 10, MAX_INPUTS = 16, MAX_GRAPH = 1 << 20 };

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  abort();
}

/* Every text and number that is offered. */
static void look_at(const rlx_onnx *m) {
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
  rlx_onnx_op_use use = {RLX_ONNX_OP_USE_INIT};
  rlx_onnx_weight w = {RLX_ONNX_WEIGHT_INIT};
  const char *value;
  size_t sum = 0;
  if (rlx_onnx_describe(m, &info)) fail("describe");
  sum += strlen(info.producer) + strlen(info.graph) + strlen(info.doc) + strlen(info.domain);
  for (uint32_t i = 0; i < info.n_opsets; i++) sum += strlen(rlx_onnx_opset_at(m, i, NULL));
  for (uint32_t i = 0; i < info.n_metadata; i++) sum += strlen(rlx_onnx_metadata_at(m, i, &value)) + strlen(value);
  for (uint32_t i = 0; i < rlx_onnx_input_count(m); i++)
    if (!rlx_onnx_input_at(m, i, &v)) sum += strlen(v.name) + strlen(v.type);
  for (uint32_t i = 0; i < rlx_onnx_output_count(m); i++)
    if (!rlx_onnx_output_at(m, i, &v)) sum += strlen(v.name) + strlen(v.type);
  for (uint32_t i = 0; i < rlx_onnx_op_count(m); i++)
    if (rlx_onnx_op_at(m, i, &use) || !use.n_uses) fail("an op in use");
  for (uint32_t i = 0; i < info.n_initializers; i++) {
    rlx_tensor t;
    if (rlx_onnx_weight_at(m, i, &w)) fail("a weight");
    if (w.dtype == RLX_DTYPE_UNKNOWN || rlx_onnx_weight_read(m, w.name, &t)) continue;
    rlx_free(t.data);
  }
  if (sum > 64 * info.file_bytes + (1 << 20)) fail("more text than the file holds");
}

/* Inputs of the declared sizes, 2 where none is, with small numbers. */
static size_t make_inputs(const rlx_onnx *m, rlx_named_tensor *in, void **memory) {
  size_t n = 0;
  for (uint32_t i = 0; i < rlx_onnx_input_count(m) && n < MAX_INPUTS; i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    size_t bytes;
    if (rlx_onnx_input_at(m, i, &v) || v.has_default || v.dtype == RLX_DTYPE_UNKNOWN) continue;
    rlx_tensor t = {.dtype = v.dtype, .shape = {.n = v.rank < 0 ? 1 : v.rank}};
    int64_t elements = 1;
    for (int a = 0; a < t.shape.n && elements <= MAX_ELEMENTS; a++) {
      t.shape.v[a] = v.rank >= 0 && v.dim[a].size >= 0 ? v.dim[a].size : 2;
      elements = t.shape.v[a] > MAX_ELEMENTS ? MAX_ELEMENTS + 1 : elements * t.shape.v[a];
    }
    if (elements > MAX_ELEMENTS || rlx_tensor_bytes(t.dtype, t.shape, &bytes)) continue;
    memory[n] = t.data = calloc(1, bytes + 8);
    t.bytes = bytes;
    if (!t.data) abort();
    for (size_t k = 0; t.dtype == RLX_F32 && k < bytes / 4; k++) ((float *)t.data)[k] = (float)k - 1;
    for (size_t k = 0; t.dtype == RLX_I64 && k < bytes / 8; k++) ((int64_t *)t.data)[k] = (int64_t)k + 1;
    for (size_t k = 0; t.dtype == RLX_I32 && k < bytes / 4; k++) ((int32_t *)t.data)[k] = (int32_t)k + 1;
    for (size_t k = 0; t.dtype == RLX_BOOL && k < bytes; k++) ((uint8_t *)t.data)[k] = k % 2 == 0;
    in[n++] = (rlx_named_tensor){v.name, t};
  }
  return n;
}

/* Whether a run of it would be small. */
static bool is_small(const rlx_graph *g) {
  uint64_t sum = 0;
  if (rlx_graph_size(g) > 2000) return false;
  for (rlx_node id = 1; id <= rlx_graph_size(g); id++) {
    size_t bytes;
    if (rlx_tensor_bytes(rlx_node_dtype(g, id), rlx_node_shape(g, id), &bytes) || bytes > MAX_GRAPH) return false;
    sum += bytes;
  }
  return sum < MAX_GRAPH;
}

static void run(rlx_session *session, rlx_onnx *m, const rlx_onnx_options *o, const rlx_named_tensor *in, size_t n) {
  rlx_onnx_runner *r;
  if (rlx_onnx_runner_create(session, m, o, &r)) return;
  for (int round = 0; round < 2; round++) {
    if (rlx_onnx_run(r, in, n)) {
      if (!*rlx_message()) fail("no words");
      break;
    }
    for (uint32_t i = 0; i < rlx_onnx_output_count(m); i++) {
      rlx_tensor t;
      const char *name;
      if (rlx_onnx_runner_output(r, i, &name, &t)) fail("an output that is not there");
    }
  }
  rlx_onnx_runner_destroy(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static rlx_session *session;
  rlx_onnx *m;
  rlx_named_tensor in[MAX_INPUTS];
  void *memory[MAX_INPUTS] = {0};
  rlx_graph *g;
  char *cut;
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .max_trips = 100};
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1, .no_pool = true, .cache_bytes = 1};
  if (!session && rlx_session_create(&desc, &session)) fail("a session");
  if (rlx_onnx_open_memory(data, bytes, NULL, &m)) {
    if (m || !*rlx_message()) fail("refused without words");
    return 0;
  }
  look_at(m);
  size_t n = make_inputs(m, in, memory);
  if (rlx_onnx_graph(m, &o, in, n, &g, &cut) == RLX_OK) {
    if (is_small(g)) run(session, m, &o, in, n);
    rlx_free(cut);
    rlx_graph_destroy(g);
  } else if (!*rlx_message()) {
    fail("no words");
  }
  for (size_t i = 0; i < n; i++) free(memory[i]);
  rlx_onnx_close(m);
  return 0;
}
