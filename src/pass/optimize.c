/* rlx_optimize: selects and runs the passes. */
#include <string.h>

#include "base/budget.h"
#include "base/sized.h"
#include "base/str.h"
#include "ir/switches.h"
#include "pass/pass.h"
#include "pass/report.h"

struct rlx_optimized {
  rlx_graph *graph, *load;
  rlx_report report;
  rlx_node *origin; /* by node of the source */
  uint32_t n_origin;
};

typedef RLX_ARRAY(const rlx_pass *) pass_list;

/* ---- which passes ---- */

static const rlx_pass *find_pass(const char *name, size_t n) {
  for (size_t i = 0; i < rlx_passes_count; i++)
    if (strlen(rlx_passes[i].name) == n && memcmp(rlx_passes[i].name, name, n) == 0) return &rlx_passes[i];
  return NULL;
}

static rlx_status unknown_pass(const char *name, size_t n) {
  char names[256] = "";
  for (size_t i = 0; i < rlx_passes_count; i++) {
    if (i) strncat(names, ", ", sizeof names - strlen(names) - 1);
    strncat(names, rlx_passes[i].name, sizeof names - strlen(names) - 1);
  }
  return RLX_FAIL(RLX_NOT_FOUND, "there is no pass '%.*s'; there are: %s", (int)(n < 64 ? n : 64), name, names);
}

/* The next name of a comma-separated list, trimmed; false at the end. Empty names are skipped. */
static bool next_name(const char **list, const char **name, size_t *n) {
  const char *p = *list;
  p += strspn(p, ", \t\n");
  *name = p;
  *n = strcspn(p, ", \t\n");
  *list = p + *n;
  return *n > 0;
}

static rlx_status list_passes(const char *text, pass_list *out) {
  const char *name;
  size_t n;
  for (size_t i = 0; !text && i < rlx_passes_count; i++)
    if (!rlx_array_push(out, &rlx_passes[i])) return RLX_FAIL(RLX_NO_MEMORY, "a list of passes");
  while (text && next_name(&text, &name, &n)) {
    const rlx_pass *pass = find_pass(name, n);
    if (!pass) return unknown_pass(name, n);
    if (!rlx_array_push(out, pass)) return RLX_FAIL(RLX_NO_MEMORY, "a list of passes");
  }
  return RLX_OK;
}

static rlx_status leave_out(const char *text, pass_list *list) {
  const char *name;
  size_t n;
  while (text && next_name(&text, &name, &n)) {
    const rlx_pass *pass = find_pass(name, n);
    if (!pass) return unknown_pass(name, n);
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
      if (list->v[i] != pass) list->v[kept++] = list->v[i];
    list->n = kept;
  }
  return RLX_OK;
}

/* forbid_host is checked by legalise, so it requires that pass. */
static rlx_status check_forbid(const rlx_optimize_options *o, const pass_list *list) {
  bool legalises = false;
  for (size_t i = 0; i < list->n; i++) legalises = legalises || list->v[i]->run == rlx_pass_legalise;
  return !(o->switches & RLX_SWITCH_FORBID_HOST) || legalises
           ? RLX_OK
           : RLX_FAIL(RLX_INVALID, "RLX_SWITCH_FORBID_HOST needs the pass 'legalise', which is left out");
}

static rlx_status choose_passes(const rlx_optimize_options *o, pass_list *list) {
  RLX_TRY(rlx_switches_check(o->switches));
  RLX_TRY_AT(list_passes(o->passes, list), "passes");
  RLX_TRY_AT(leave_out(o->without, list), "without");
  return check_forbid(o, list);
}

rlx_status rlx_optimize_check(const rlx_optimize_options *options) {
  pass_list list = {0};
  rlx_status s = choose_passes(options, &list);
  rlx_array_deinit(&list);
  return s;
}

/* ---- running them ---- */

static rlx_status begin_origin(const rlx_graph *g, rlx_optimized *out) {
  out->n_origin = rlx_graph_end(g);
  out->origin = rlx_mem_calloc(out->n_origin, sizeof *out->origin);
  if (!out->origin) return RLX_FAIL(RLX_NO_MEMORY, "mapping %u nodes", (unsigned)out->n_origin);
  for (rlx_node id = 0; id < out->n_origin; id++) out->origin[id] = id;
  return RLX_OK;
}

static rlx_status run_passes(const rlx_graph *g, const rlx_optimize_options *o, const rlx_rewrite_large *large,
                             const rlx_stop *stop, const pass_list *list, rlx_optimized *out) {
  rlx_status s = begin_origin(g, out);
  rlx_pass_context ctx = {.supports = o->supports,
                          .supports_user = o->supports_user,
                          .large = large,
                          .switches = o->switches,
                          .report = &out->report,
                          .origin = out->origin,
                          .n_origin = out->n_origin};
  out->graph = rlx_graph_retain(g);
  for (size_t i = 0; i < list->n && !s; i++) {
    rlx_graph *next;
    if (rlx_stops(stop ? stop->fn : NULL, stop ? stop->user : NULL)) {
      s = RLX_FAIL(RLX_CANCELLED, "stopped by the caller before pass %s", list->v[i]->name);
      break;
    }
    s = rlx_pass_run(list->v[i], out->graph, &ctx, &next);
    if (s) break;
    rlx_graph_destroy(out->graph);
    out->graph = next;
    if (o->after) o->after(o->after_user, list->v[i]->name, next);
  }
  out->load = ctx.load;
  return s;
}

void rlx_optimized_destroy(rlx_optimized *o) {
  if (!o) return;
  rlx_graph_destroy(o->graph);
  rlx_graph_destroy(o->load);
  rlx_report_deinit(&o->report);
  rlx_mem_free(o->origin);
  rlx_mem_free(o);
}

static rlx_status check_graph(const rlx_graph *g) {
  if (!g) return RLX_FAIL(RLX_INVALID, "rlx_optimize: the graph is NULL");
  RLX_TRY(rlx_graph_status(g));
  if (!g->finished) return RLX_FAIL(RLX_INVALID, "rlx_optimize: the graph is not finished");
  if (g->symbols.n)
    return RLX_FAIL(RLX_INVALID, "rlx_optimize: the graph has the symbol '%s'; bind it first", g->symbols.v[0]);
  return RLX_OK;
}

rlx_status rlx_optimize(const rlx_graph *g, const rlx_optimize_options *options, rlx_optimized **out) {
  return rlx_optimize_for(g, options, NULL, NULL, out);
}

rlx_status rlx_optimize_for(const rlx_graph *g, const rlx_optimize_options *options, const rlx_rewrite_large *large,
                            const rlx_stop *stop, rlx_optimized **out) {
  rlx_optimize_options own;
  const rlx_optimize_options *o = &own;
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_optimize: out is NULL");
  *out = NULL;
  RLX_TRY(check_graph(g));
  RLX_TRY_AT(RLX_SIZED_READ("rlx_optimize_options", options, &own), "rlx_optimize");
  pass_list list = {0};
  rlx_optimized *result = NULL;
  rlx_status s = choose_passes(o, &list);
  if (!s && !(result = rlx_new(rlx_optimized))) s = RLX_FAIL(RLX_NO_MEMORY, "an optimised graph");
  if (!s) s = run_passes(g, o, large, stop, &list, result);
  rlx_array_deinit(&list);
  if (s) rlx_optimized_destroy(result);
  else *out = result;
  return s;
}

/* ---- queries of the result ---- */

const rlx_graph *rlx_optimized_graph(const rlx_optimized *o) { return o ? o->graph : NULL; }
rlx_node rlx_optimized_origin(const rlx_optimized *o, rlx_node source) {
  return source < o->n_origin ? o->origin[source] : RLX_NONE;
}
const rlx_graph *rlx_optimized_load(const rlx_optimized *o) { return o ? o->load : NULL; }

void rlx_optimized_add_report(const rlx_optimized *o, bool json, rlx_str *s) {
  if (json) rlx_report_json(&o->report, s);
  else rlx_report_text(&o->report, s);
}

rlx_status rlx_optimized_report(const rlx_optimized *o, bool json, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_optimized_report: text is NULL");
  *text = NULL;
  if (!o) return RLX_FAIL(RLX_INVALID, "rlx_optimized_report: the optimised graph is NULL");
  rlx_str s = {0};
  rlx_optimized_add_report(o, json, &s);
  if (json) rlx_str_add(&s, "}\n");
  return rlx_str_take(&s, text);
}

size_t rlx_pass_count(void) { return rlx_passes_count; }

const char *rlx_pass_name(size_t i, const char **doc) {
  bool known = i < rlx_passes_count;
  if (doc) *doc = known ? rlx_passes[i].doc : NULL;
  return known ? rlx_passes[i].name : NULL;
}
