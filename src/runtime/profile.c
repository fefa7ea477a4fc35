/* Profiles: time per step over all runs since profiling was enabled, and a trace of the last run.
 *
 * The device and the host record the times per step; text is generated only on request. The trace is the JSON that
 * Chrome's tracer and Perfetto read: one complete event per step, in microseconds, with device steps on one track and
 * host steps on another. */
#include <string.h>

#include "runtime/executable.h"

typedef struct step_time {
  uint64_t runs, sum_ns, min_ns, max_ns;
} step_time;

struct rlx_profile {
  rlx_compiled *compiled; /* whose steps these are; retained */
  size_t n_steps;
  uint64_t *begin_ns, *end_ns; /* of the last run */
  step_time *steps;
  uint64_t runs;
};

static void profile_clear(rlx_profile *p) {
  rlx_mem_free(p->begin_ns);
  rlx_mem_free(p->end_ns);
  rlx_mem_free(p->steps);
  rlx_compiled_release(p->compiled);
  *p = (rlx_profile){0};
}

void rlx_profile_destroy(rlx_profile *p) {
  if (!p) return;
  profile_clear(p);
  rlx_mem_free(p);
}

/* If a run has other sizes than the last, counting starts again: steps are those of one compiled graph. */
rlx_status rlx_profile_begin(rlx_profile *p, const rlx_compiled *c) {
  if (p->compiled == c) return RLX_OK;
  profile_clear(p);
  size_t n = c->plan->n_steps;
  p->begin_ns = rlx_mem_calloc(n, sizeof *p->begin_ns);
  p->end_ns = rlx_mem_calloc(n, sizeof *p->end_ns);
  p->steps = rlx_mem_calloc(n, sizeof *p->steps);
  if (!p->begin_ns || !p->end_ns || !p->steps) {
    profile_clear(p);
    return RLX_FAIL(RLX_NO_MEMORY, "a profile of %zu steps", n);
  }
  p->n_steps = n;
  p->compiled = rlx_compiled_retain((rlx_compiled *)(uintptr_t)c);
  return RLX_OK;
}

void rlx_profile_times(rlx_profile *p, uint64_t **begin_ns, uint64_t **end_ns) {
  *begin_ns = p->begin_ns;
  *end_ns = p->end_ns;
}

void rlx_profile_end(rlx_profile *p) {
  p->runs++;
  for (size_t i = 0; i < p->n_steps; i++) {
    uint64_t ns = p->end_ns[i] > p->begin_ns[i] ? p->end_ns[i] - p->begin_ns[i] : 0;
    step_time *t = &p->steps[i];
    t->min_ns = t->runs && t->min_ns < ns ? t->min_ns : ns;
    t->max_ns = t->max_ns > ns ? t->max_ns : ns;
    t->sum_ns += ns;
    t->runs++;
  }
}

rlx_status rlx_executable_profile(rlx_executable *e, bool on) {
  RLX_TRY(rlx_enter(e, "rlx_executable_profile"));
  rlx_profile_destroy(e->profile);
  e->profile = on ? rlx_new(rlx_profile) : NULL;
  rlx_status s = on && !e->profile ? RLX_FAIL(RLX_NO_MEMORY, "a profile") : RLX_OK;
  return rlx_leave(e, s);
}

/* ---- text and JSON ---- */

static const char *op_of(const rlx_compiled *c, const rlx_step *s) {
  return s->kind == RLX_STEP_COPY ? "copy" : rlx_op_table_get(rlx_graph_at(c->graph, s->node)->op)->name;
}

static uint64_t bytes_of(const rlx_step *s) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < s->n_in; i++) bytes += s->in[i].bytes;
  for (uint32_t i = 0; i < s->n_out; i++) bytes += s->out[i].bytes;
  return bytes;
}

static void add_type(rlx_str *out, const rlx_graph *g, rlx_node n) {
  const rlx_type *t = &rlx_graph_at(g, n)->type;
  rlx_str_add(out, "%s%s", rlx_dtype_name(t->dtype), RLX_DIMS_TEXT(t->shape));
}

static uint64_t total_of(const rlx_profile *p) {
  uint64_t total = 0;
  for (size_t i = 0; i < p->n_steps; i++) total += p->steps[i].sum_ns;
  return total;
}

static void text_row(const rlx_profile *p, const rlx_compiled *c, size_t i, uint64_t total, rlx_str *out) {
  const rlx_step *s = &c->plan->steps[i];
  const step_time *t = &p->steps[i];
  rlx_str_add(out, "%6zu %6u %-24s %-6s %12.3f %12.3f %12.3f %6.2f  ", i, (unsigned)s->node, op_of(c, s),
              s->host ? "host" : "device", (double)t->sum_ns * 1e-3 / (double)t->runs, (double)t->min_ns * 1e-3,
              (double)t->max_ns * 1e-3, total ? 100.0 * (double)t->sum_ns / (double)total : 0.0);
  add_type(out, c->graph, s->node);
  rlx_str_add(out, "\n");
}

static void json_row(const rlx_profile *p, const rlx_compiled *c, size_t i, rlx_str *out) {
  const rlx_step *s = &c->plan->steps[i];
  const step_time *t = &p->steps[i];
  rlx_str_add(out, "%s{\"step\":%zu,\"node\":%u,\"op\":\"%s\",\"host\":%s,\"type\":\"", i ? "," : "", i,
              (unsigned)s->node, op_of(c, s), s->host ? "true" : "false");
  add_type(out, c->graph, s->node);
  rlx_str_add(out, "\",\"bytes\":%llu,\"sum_ns\":%llu,\"min_ns\":%llu,\"max_ns\":%llu}",
              (unsigned long long)bytes_of(s), (unsigned long long)t->sum_ns, (unsigned long long)t->min_ns,
              (unsigned long long)t->max_ns);
}

void rlx_profile_text(const rlx_profile *p, bool json, rlx_str *out) {
  const rlx_compiled *c = p->compiled;
  uint64_t total = total_of(p);
  if (json)
    rlx_str_add(out, "{\"runs\":%llu,\"total_ns\":%llu,\"steps\":[", (unsigned long long)p->runs,
                (unsigned long long)total);
  else
    rlx_str_add(out,
                "%llu runs, %.3f us each\n"
                "  step   node op                       where     mean (us)     min (us)     max (us)      %%  type\n",
                (unsigned long long)p->runs, p->runs ? (double)total * 1e-3 / (double)p->runs : 0.0);
  for (size_t i = 0; i < p->n_steps && p->runs; i++) {
    if (json) json_row(p, c, i, out);
    else text_row(p, c, i, total, out);
  }
  if (json) rlx_str_add(out, "]}\n");
}

/* ---- the trace ---- */

enum { DEVICE_TRACK = 1, HOST_TRACK = 2 };

static void name_track(rlx_str *out, const char *what, int track, const char *name) {
  rlx_str_add(out, "{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":", track, what);
  rlx_str_add_quoted(out, name);
  rlx_str_add(out, "}},\n");
}

static void trace_event(const rlx_profile *p, const rlx_compiled *c, size_t i, uint64_t start, rlx_str *out) {
  const rlx_step *s = &c->plan->steps[i];
  uint64_t begin = p->begin_ns[i] > start ? p->begin_ns[i] - start : 0;
  uint64_t ns = p->end_ns[i] > p->begin_ns[i] ? p->end_ns[i] - p->begin_ns[i] : 0;
  rlx_str_add(out, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":\"%s\",\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f,",
              s->host ? HOST_TRACK : DEVICE_TRACK, op_of(c, s), s->host ? "host" : "device", (double)begin * 1e-3,
              (double)ns * 1e-3);
  rlx_str_add(out, "\"args\":{\"step\":%zu,\"node\":%u,\"bytes\":%llu,\"result\":\"", i, (unsigned)s->node,
              (unsigned long long)bytes_of(s));
  add_type(out, c->graph, s->node);
  rlx_str_add(out, "\",\"inputs\":[");
  const rlx_node_rec *n = rlx_graph_at(c->graph, s->node);
  for (uint32_t k = 0, reported = 0; s->kind == RLX_STEP_NODE && k < n->n_in; k++) {
    if (!n->in[k]) continue;
    rlx_str_add(out, "%s\"", reported++ ? "," : "");
    add_type(out, c->graph, n->in[k]);
    rlx_str_add(out, "\"");
  }
  rlx_str_add(out, "]}}%s\n", i + 1 < p->n_steps ? "," : "");
}

void rlx_profile_trace(const rlx_profile *p, const rlx_device_info *d, rlx_str *out) {
  const rlx_compiled *c = p->compiled;
  uint64_t start = UINT64_MAX;
  for (size_t i = 0; i < p->n_steps; i++)
    if (p->begin_ns[i] && p->begin_ns[i] < start) start = p->begin_ns[i];
  rlx_str_add(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  name_track(out, "process_name", 0, "RLX");
  name_track(out, "thread_name", DEVICE_TRACK, d->name);
  name_track(out, "thread_name", HOST_TRACK, "host");
  if (c)
    rlx_str_add(out,
                "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"name\":\"compile\",\"cat\":\"compile\",\"ts\":0,\"dur\":0,"
                "\"args\":{\"seconds\":%.6f,\"plan_seconds\":%.6f}}%s\n",
                HOST_TRACK, c->seconds, c->plan->seconds, p->n_steps ? "," : "");
  for (size_t i = 0; i < p->n_steps; i++) trace_event(p, c, i, start, out);
  rlx_str_add(out, "]}\n");
}
