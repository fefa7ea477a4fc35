/* libFuzzer target: any bytes as an ONNX model, whose graph, where it is small, runs on the CPU, on a GPU (Vulkan's where
 * RLX_FUZZ_VULKAN is set, else the emulated one) and through the reference, with the same random values. What the reference computes,
 * all compute alike. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "onnx_mutate.h"
#include "rlx/onnx.h"
#include "run_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t cap);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t cap, unsigned seed) {
  uint64_t random = (uint64_t)seed * 0x9e3779b97f4a7c15u + 1;
  size_t n = seed % 32 ? bytes : 0;
  for (unsigned i = 0; n && i <= seed % 3; i++) n = onnx_mutate(data, n, cap, &random);
  return n ? n : LLVMFuzzerMutate(data, bytes, cap);
}

/* Chains of operations grow the difference of a last bit without bound (a step function behind a sum), so they are short. */
enum { MAX_INPUTS = 8, MAX_ELEMENTS = 4096, MAX_STEPS = 3 };

static void fail(const char *what, const rlx_graph *g) {
  char *text = NULL;
  fprintf(stderr, "%s: %s\n", what, rlx_message());
  if (g && !rlx_graph_print(g, &text)) fprintf(stderr, "%s\n", text);
  abort();
}

static size_t make_inputs(const rlx_onnx *m, rlx_named_tensor *in) {
  static char memory[MAX_INPUTS][MAX_ELEMENTS * 8];
  size_t n = 0;
  for (uint32_t i = 0; i < rlx_onnx_input_count(m) && n < MAX_INPUTS; i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    rlx_tensor t = {.data = memory[n]};
    int64_t elements = 1;
    if (rlx_onnx_input_at(m, i, &v) || v.has_default || v.dtype == RLX_DTYPE_UNKNOWN) continue;
    t.dtype = v.dtype;
    t.shape.n = v.rank < 0 ? 1 : v.rank;
    for (int a = 0; a < t.shape.n && elements <= MAX_ELEMENTS; a++) {
      t.shape.v[a] = v.rank >= 0 && v.dim[a].size >= 0 ? v.dim[a].size : 2;
      elements = t.shape.v[a] > MAX_ELEMENTS ? MAX_ELEMENTS + 1 : elements * t.shape.v[a];
    }
    if (elements > MAX_ELEMENTS || rlx_tensor_bytes(t.dtype, t.shape, &t.bytes) || t.bytes > sizeof memory[n]) continue;
    in[n++] = (rlx_named_tensor){v.name, t};
  }
  return n;
}

static bool is_small(const rlx_graph *g) {
  uint64_t sum = 0;
  int steps = 0;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++) {
    size_t bytes;
    if (rlx_tensor_bytes(rlx_node_dtype(g, id), rlx_node_shape(g, id), &bytes) || bytes > 1 << 16) return false;
    sum += bytes;
    rlx_op op = rlx_graph_at(g, id)->op;
    steps += op != RLX_OP_constant && !rlx_node_name(g, id);
  }
  return sum < 1 << 18 && steps <= MAX_STEPS;
}

static rlx_session *open(const char *device) {
  rlx_session *s = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1, .no_pool = true, .cache_bytes = 1};
  return rlx_session_create(&d, &s) ? NULL : s;
}

/* How much was really compared, for people who wonder. */
static unsigned long n_compared;
static void report(void) { fprintf(stderr, "%lu graphs compared\n", n_compared); }

static void check(rlx_session *s, const rlx_graph *g, const char *device, uint64_t seed) {
  rlx_status status = s ? run_check(s, g, NULL, seed, 1, false) : RLX_OK;
  n_compared += s && !status;
  /* refusals and limits are not differences; those begin with the run that found them */
  if (status == RLX_INVALID && strncmp(rlx_message(), "run 0: '", 8) == 0) fail(device, g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static rlx_session *cpu, *gpu;
  rlx_onnx *m;
  rlx_named_tensor in[MAX_INPUTS];
  rlx_graph *g = NULL;
  char *cut = NULL;
  rlx_onnx_options o = {RLX_ONNX_OPTIONS_INIT, .max_trips = 10};
  if (!cpu) {
    if (!(cpu = open("cpu"))) fail("a session", NULL);
    atexit(report);
  }
  if (!gpu) gpu = open(getenv("RLX_FUZZ_VULKAN") ? "vulkan" : "emu");
  if (rlx_onnx_open_memory(data, bytes, NULL, &m)) return 0;
  if (rlx_onnx_graph(m, &o, in, make_inputs(m, in), &g, &cut) == RLX_OK && !cut && is_small(g)) {
    check(cpu, g, "cpu", bytes);
    check(gpu, g, "gpu", bytes);
  }
  rlx_free(cut);
  rlx_graph_destroy(g);
  rlx_onnx_close(m);
  return 0;
}
