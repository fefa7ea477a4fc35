/* Compiling: how long it takes, and how much of it is asking the device. Three graphs: one step of a decoder of 28 layers, ResNet-50,
 * and 100,000 nodes; on each device that is named. Processor time, the best of a few; nothing is allocated on the device.
 *
 *   compile                       on cpu, and on emu where it is there
 *   compile vulkan cpu            on these */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rlx/rlx.h"

enum { ROUNDS = 5, LAYERS = 28, NODES = 100000 };

/* ---- a graph as text ---- */

typedef struct text {
  char *v;
  size_t n, cap;
  int last; /* the newest node */
} text;

static void add(text *t, const char *format, ...) {
  va_list args;
  if (t->cap - t->n < 512) t->v = realloc(t->v, t->cap = 2 * t->cap + 4096);
  if (!t->v) exit(1);
  va_start(args, format);
  t->n += (size_t)vsnprintf(t->v + t->n, 512, format, args);
  va_end(args);
}

/* A node from an expression; its number. */
#define NODE(t, ...) (add((t), "%%%d = ", (t)->last + 1), add((t), __VA_ARGS__), add((t), "\n"), ++(t)->last)

static int weight(text *t, const char *name, int layer, const char *type) {
  return NODE(t, "param \"%s.%d\" : %s", name, layer, type);
}

static int product(text *t, int x, const char *name, int layer, const char *type) {
  int w = weight(t, name, layer, type);
  return NODE(t, "matmul(%%%d, %%%d) {trans_b=true}", x, w);
}

static int norm(text *t, int x, const char *name, int layer) {
  int gamma = weight(t, name, layer, "f32[1024]");
  return NODE(t, "rms_norm(%%%d, %%%d) {eps=1e-6}", x, gamma);
}

/* Heads of one kind: into [1, 1, heads, 128], rotated where `at` is not 0. */
static int heads(text *t, int x, int n, int at) {
  int h = NODE(t, "reshape(%%%d) {shape=[1,1,%d,128]}", x, n);
  return at ? NODE(t, "rope(%%%d, _, %%%d) {theta=1000000}", h, at) : h;
}

static int remember(text *t, const char *name, int layer, int rows, int at) {
  int state = NODE(t, "state \"%s.%d\" : f16[1,2048,8,128]", name, layer);
  return NODE(t, "update(%%%d, %%%d, %%%d) {axis=1}", state, rows, at);
}

static int layer(text *t, int i, int x, int at, int length) {
  int h = norm(t, x, "norm", i);
  int q = heads(t, product(t, h, "q", i, "f16[2048,1024]"), 16, at);
  int k = remember(t, "keys", i, heads(t, product(t, h, "k", i, "f16[1024,1024]"), 8, at), at);
  int v = remember(t, "values", i, heads(t, product(t, h, "v", i, "f16[1024,1024]"), 8, 0), at);
  int a = NODE(t, "attention(%%%d, %%%d, %%%d, _, _, _, %%%d, %%%d) {causal=true}", q, k, v, length, at);
  a = NODE(t, "reshape(%%%d) {shape=[1,1,2048]}", a);
  int y = product(t, a, "o", i, "f16[1024,2048]");
  x = NODE(t, "add(%%%d, %%%d)", x, y);
  h = norm(t, x, "norm2", i);
  int gate = product(t, h, "gate", i, "f16[3072,1024]"), up = product(t, h, "up", i, "f16[3072,1024]");
  gate = NODE(t, "silu(%%%d)", gate);
  gate = NODE(t, "mul(%%%d, %%%d)", gate, up);
  y = product(t, gate, "down", i, "f16[1024,3072]");
  return NODE(t, "add(%%%d, %%%d)", x, y);
}

static int decoder(text *t) {
  int token = NODE(t, "input \"token\" : i32[1,1]"), at = NODE(t, "input \"at\" : i32[]");
  int length = NODE(t, "input \"length\" : i32[1]"), table = weight(t, "embedding", 0, "f32[151936,1024]");
  int x = NODE(t, "gather(%%%d, %%%d)", table, token);
  for (int i = 0; i < LAYERS; i++) x = layer(t, i, x, at, length);
  x = norm(t, x, "last", 0);
  return NODE(t, "matmul(%%%d, %%%d) {trans_b=true}", x, table);
}

static int conv(text *t, int x, const int size[3], int stride, int residual, bool relu) {
  char type[64];
  int pad = size[2] / 2, at = t->last;
  snprintf(type, sizeof type, "f32[%d,%d,%d,%d]", size[1], size[0], size[2], size[2]);
  int w = weight(t, "w", at, type);
  snprintf(type, sizeof type, "f32[%d]", size[1]);
  int bias = weight(t, "b", at, type);
  x = NODE(t, "conv(%%%d, %%%d, %%%d) {stride=[%d,%d], pad_lo=[%d,%d], pad_hi=[%d,%d]}", x, w, bias, stride, stride,
           pad, pad, pad, pad);
  if (residual) x = NODE(t, "add(%%%d, %%%d)", x, residual);
  return relu ? NODE(t, "relu(%%%d)", x) : x;
}

static int resnet(text *t) {
  static const int stages[][3] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}; /* width, blocks, stride */
  int x = conv(t, NODE(t, "input \"x\" : f32[1,3,224,224]"), (int[]){3, 64, 7}, 2, 0, true), in = 64;
  x = NODE(t, "pool_max(%%%d) {kernel=[3,3], stride=[2,2], pad_lo=[1,1], pad_hi=[1,1]}", x);
  for (int s = 0; s < 4; s++)
    for (int b = 0; b < stages[s][1]; b++) {
      int width = stages[s][0], stride = b ? 1 : stages[s][2];
      int past = b ? x : conv(t, x, (int[]){in, 4 * width, 1}, stride, 0, false);
      int y = conv(t, x, (int[]){in, width, 1}, 1, 0, true);
      y = conv(t, y, (int[]){width, width, 3}, stride, 0, true);
      x = conv(t, y, (int[]){width, 4 * width, 1}, 1, past, true);
      in = 4 * width;
    }
  x = NODE(t, "reduce_mean(%%%d) {axes=[2,3]}", x);
  return product(t, x, "head", 0, "f32[1000,2048]");
}

static int many(text *t) {
  int x = NODE(t, "input \"x\" : f32[4,64]"), w = weight(t, "w", 0, "f32[64,64]"), before = x;
  while (t->last < NODES) {
    int y = NODE(t, "matmul(%%%d, %%%d)", x, w);
    y = NODE(t, "softmax(%%%d)", y);
    y = NODE(t, "add(%%%d, %%%d)", y, before);
    y = NODE(t, "tanh(%%%d)", y);
    before = x;
    x = NODE(t, "reverse(%%%d) {axes=[0]}", y);
  }
  return x;
}

/* ---- compiling ---- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rlx_status compile(const char *device, const char *graph, double *seconds) {
  rlx_graph *g = NULL;
  rlx_session *s = NULL;
  rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 1};
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .plan_only = true, .no_cache = true};
  rlx_status status = rlx_graph_parse(graph, strlen(graph), &g);
  if (!status) status = rlx_session_create(&desc, &s);
  *seconds = 1e9;
  for (int i = 0; i < ROUNDS && !status; i++) {
    rlx_executable *e = NULL;
    double begin = now();
    status = rlx_compile(s, g, &options, &e);
    double took = now() - begin;
    if (took < *seconds) *seconds = took;
    rlx_executable_destroy(e);
  }
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
  return status;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*make)(text *t);
  } graphs[] = {{"decoder, 28 layers", decoder}, {"ResNet-50", resnet}, {"100,000 nodes", many}};
  char *devices[] = {"cpu", "emu"};
  int n = argc > 1 ? argc - 1 : 2, failed = 0;
  printf("%-20s %-10s %10s\n", "graph", "device", "ms");
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    text t = {0};
    add(&t, "graph {\n");
    int y = graphs[i].make(&t);
    add(&t, "output \"y\" = %%%d\n}\n", y);
    for (int k = 0; k < n; k++) {
      const char *device = argc > 1 ? argv[k + 1] : devices[k];
      double seconds;
      rlx_status s = compile(device, t.v, &seconds);
      if (s) printf("%-20s %-10s %s\n", graphs[i].name, device, rlx_message());
      else printf("%-20s %-10s %10.1f\n", graphs[i].name, device, seconds * 1e3);
      failed += s && argc > 1;
    }
    free(t.v);
  }
  return failed ? 1 : 0;
}
