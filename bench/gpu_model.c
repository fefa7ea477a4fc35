/* A 28-layer language model's prefill and decode step on a GPU: bench/gpu_model [DEVICE [prefill|decode]].
 *
 * Prints, for each: how many dispatches a node becomes and how many barriers a dispatch needs; how long it takes until the
 * first run has ended (device opened, graph compiled, pipelines made) in a process that finds no pipelines on disk and in
 * one that finds them; and how long a run takes then. Weights are random; the numbers say nothing about a model. The driver
 * must not hide the first time behind a cache of its own: NVIDIA's is switched off for the first process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "plan_graphs.h"
#include "runtime/executable.h"
#ifdef RLX_VULKAN
#include "vulkan/program.h"
#endif

static double since(uint64_t begin) { return (double)(rlx_now_ns() - begin) * 1e-9; }

static rlx_status fill_leaf(rlx_executable *e, const char *name) {
  rlx_tensor t;
  RLX_TRY(rlx_executable_describe(e, name, &t));
  RLX_TRY(rlx_tensor_bytes(t.dtype, t.shape, &t.bytes));
  float *v = t.data = calloc(1, t.bytes + 4);
  if (!v) return RLX_FAIL(RLX_NO_MEMORY, "%s", name);
  uint32_t seed = 1;
  for (size_t i = 0; t.dtype == RLX_F32 && i < t.bytes / 4; i++) {
    seed = seed * 1664525u + 1013904223u;
    v[i] = (float)(int32_t)seed * 0x1p-36f;
  }
  if (strcmp(name, "length") == 0) ((int32_t *)(void *)v)[0] = 512;
  rlx_status s = rlx_executable_write(e, name, &t);
  free(v);
  return s;
}

static void print_counts(const rlx_executable *e, const char *name) {
  rlx_memory_info m = {RLX_MEMORY_INFO_INIT};
  if (rlx_executable_memory(e, &m)) return;
#ifdef RLX_VULKAN
  if (strcmp(e->session->device->backend->name, "vulkan") == 0) {
    vk_counts c;
    vk_program_counts(e->now->program, &c);
    printf(
      "%s: %u nodes run, %u on the host; %llu dispatches (%.2f per node), %llu barriers (%.2f per dispatch), %llu copies\n",
      name, (unsigned)m.n_native, (unsigned)m.n_host, (unsigned long long)c.dispatches,
      (double)c.dispatches / (m.n_native ? m.n_native : 1), (unsigned long long)c.barriers,
      (double)c.barriers / (double)(c.dispatches ? c.dispatches : 1), (unsigned long long)c.copies);
    return;
  }
#endif
  printf("%s: %u nodes run, %u on the host\n", name, (unsigned)m.n_native, (unsigned)m.n_host);
}

static rlx_status run_one(rlx_session *s, const plan_graph_kind *kind, bool is_warm) {
  rlx_graph *g = NULL;
  rlx_executable *e = NULL;
  RLX_TRY(plan_graph_build(kind, &g));
  uint64_t begin = rlx_now_ns();
  RLX_TRY(rlx_compile(s, g, NULL, &e));
  double compiled = since(begin);
  for (uint32_t i = 1; i < rlx_graph_end(g); i++) {
    const rlx_node_rec *n = rlx_graph_at(g, i);
    if (n->op == RLX_OP_param) RLX_TRY(fill_leaf(e, RLX_ATTRS(param, n)->name));
    if (n->op == RLX_OP_input) RLX_TRY(fill_leaf(e, RLX_ATTRS(input, n)->name));
  }
  begin = rlx_now_ns();
  RLX_TRY(rlx_executable_run(e));
  double first = since(begin), best = 1e9;
  /* A device that was idle runs at a fraction of its clock: busy it first. */
  for (uint64_t warm = rlx_now_ns(); is_warm && since(warm) < 0.5;) RLX_TRY(rlx_executable_run(e));
  for (int i = 0; i < 20 && is_warm; i++) {
    begin = rlx_now_ns();
    RLX_TRY(rlx_executable_run(e));
    if (since(begin) < best) best = since(begin);
  }
  if (is_warm) print_counts(e, kind->name);
  printf("%s, %s: compiled in %.3f s, first run %.3f s", kind->name, is_warm ? "pipelines on disk" : "no pipelines yet",
         compiled, first);
  if (is_warm) printf(", best of 20 runs %.3f ms", best * 1e3);
  printf("\n");
  rlx_executable_destroy(e);
  rlx_graph_destroy(g);
  return RLX_OK;
}

static rlx_status run_all(const char *device, const char *only, bool is_warm) {
  rlx_session *s = NULL;
  uint64_t begin = rlx_now_ns();
  RLX_TRY(rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device}, &s));
  printf("device opened in %.3f s\n", since(begin));
  rlx_status status = RLX_OK;
  for (size_t i = 0; i < plan_graph_kinds_count && !status; i++) {
    const char *name = plan_graph_kinds[i].name;
    if ((strcmp(name, "decode") == 0 || strcmp(name, "prefill") == 0) && (!only || strcmp(name, only) == 0))
      status = run_one(s, &plan_graph_kinds[i], is_warm);
  }
  rlx_session_destroy(s);
  return status;
}

int main(int argc, char **argv) {
  const char *device = argc > 1 ? argv[1] : "vulkan";
  char folder[] = "/tmp/rlx-gpu-model-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  setenv("XDG_CACHE_HOME", folder, 1);
  setenv("__GL_SHADER_DISK_CACHE", "0", 1);
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int is_warm = 0; is_warm < 2; is_warm++) {
    pid_t child = fork();
    if (child == 0) {
      rlx_status s = run_all(device, argc > 2 ? argv[2] : NULL, is_warm);
      if (s) printf("bench/gpu_model: %s\n", rlx_message());
      _exit(s != RLX_OK);
    }
    int code = 0;
    if (child < 0 || waitpid(child, &code, 0) < 0 || code) return 1;
  }
  return 0;
}
