/* Reports about an executable. The text comes from the modules plan, pass and profile. */
#include <string.h>

#include "base/sized.h"
#include "ir/text.h"
#include "runtime/executable.h"

enum { PART_BYTES = 96 }; /* of a kernel's name */

static rlx_status check_known(const rlx_executable *e, const char *call) {
  if (e->compiled) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s: not all sizes are known yet: run once, or bind all symbols", call);
}

static rlx_status report_memory(const rlx_executable *e, rlx_memory_info *out) {
  RLX_TRY(check_known(e, "rlx_executable_memory"));
  const rlx_plan *p = e->compiled->plan;
  *out = (rlx_memory_info){RLX_MEMORY_INFO_INIT,
                           .weights = p->weights_bytes,
                           .state = p->state_bytes,
                           .scratch = p->scratch_bytes,
                           .lower_bound = p->lower_bound,
                           .naive = p->naive_bytes,
                           .n_native = (uint32_t)(p->n_steps - p->n_host),
                           .n_host = p->n_host,
                           .plan_seconds = p->seconds,
                           .compile_seconds = e->compiled->seconds};
  return RLX_OK;
}

rlx_status rlx_executable_memory(const rlx_executable *e, rlx_memory_info *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_executable_memory: out is NULL");
  rlx_memory_info info;
  RLX_TRY(RLX_SIZED_CLEAR("rlx_memory_info", out));
  RLX_TRY(rlx_enter_nested(e, "rlx_executable_memory"));
  rlx_status s = report_memory(e, &info);
  rlx_leave_nested(e);
  return s ? s : RLX_SIZED_WRITE("rlx_memory_info", &info, out);
}

typedef rlx_status (*report_fn)(const rlx_executable *e, rlx_report_format format, rlx_str *out);

static rlx_status report_plan(const rlx_executable *e, rlx_report_format format, rlx_str *out) {
  static const rlx_plan_format as[] = {RLX_PLAN_TEXT, RLX_PLAN_JSON, RLX_PLAN_SVG};
  return rlx_plan_report(e->compiled->plan, as[format], out);
}

/* What a device runs for a step; neighbours that are equal are counted: " convert, matmul8 x2". */
static void add_parts(const rlx_backend *b, const rlx_lowering *l, rlx_str *out) {
  char part[PART_BYTES], next[PART_BYTES];
  bool has_next = b->lowering_part(l, 0, part, sizeof part);
  if (!has_next) rlx_str_add(out, " nothing");
  for (size_t i = 1, n = 1; has_next; i++, n++) {
    has_next = b->lowering_part(l, i, next, sizeof next);
    if (has_next && strcmp(part, next) == 0) continue;
    rlx_str_add(out, " %s", part);
    if (n > 1) rlx_str_add(out, " x%zu", n);
    if (has_next) rlx_str_add_char(out, ',');
    memcpy(part, next, sizeof part);
    n = 0;
  }
}

static void add_parts_json(const rlx_backend *b, const rlx_lowering *l, rlx_str *out) {
  char part[PART_BYTES];
  rlx_str_add(out, ",\"kernels\":[");
  for (size_t i = 0; b->lowering_part(l, i, part, sizeof part); i++) rlx_str_add(out, "%s\"%s\"", i ? "," : "", part);
  rlx_str_add_char(out, ']');
}

static void add_step(const rlx_compiled *c, size_t i, bool json, bool is_first, rlx_str *out) {
  const rlx_step *step = &c->plan->steps[i];
  const rlx_node_rec *n = rlx_graph_at(c->graph, step->node);
  const rlx_lowering *l = c->step_claims[i] ? c->step_claims[i]->lowering : NULL;
  const bool copies = step->kind == RLX_STEP_COPY;
  if (json)
    rlx_str_add(out, "%s\n{\"step\":%zu,\"node\":%u,\"op\":\"%s\",\"type\":\"", is_first ? "" : ",", i,
                (unsigned)step->node, rlx_op_table_get(n->op)->name);
  else rlx_str_add(out, "step %-4zu %%%u = %s : ", i, (unsigned)step->node, rlx_op_table_get(n->op)->name);
  rlx_text_type(out, c->graph, &n->type);
  rlx_str_add(out, json ? "\"" : " ->");
  if (!l) rlx_str_add(out, json ? ",\"how\":\"%s\"" : " %s", copies ? "copy" : "host");
  else if (json) add_parts_json(c->device->backend, l, out);
  else add_parts(c->device->backend, l, out);
  rlx_str_add_char(out, json ? '}' : '\n');
}

/* The steps of the plan and the kernels of each, if the device is one whose claims have lowerings. Their nodes are
 * those of the compiled graph; the rows above are of the graph before it was rewritten. */
static void add_steps(const rlx_compiled *c, bool json, rlx_str *out) {
  if (!c->device->backend->lowering_part) return;
  if (json) rlx_str_add(out, ",\"steps\":[");
  for (size_t i = 0; i < c->plan->n_steps; i++) add_step(c, i, json, i == 0, out);
  if (json) rlx_str_add_char(out, ']');
}

static rlx_status report_dispatch(const rlx_executable *e, rlx_report_format format, rlx_str *out) {
  const bool json = format == RLX_JSON;
  rlx_optimized_add_report(e->compiled->optimized, json, out);
  add_steps(e->compiled, json, out);
  if (json) rlx_str_add(out, "}\n");
  return RLX_OK;
}

static rlx_status check_profile(const rlx_executable *e) {
  return e->profile ? RLX_OK : RLX_FAIL(RLX_INVALID, "nothing was profiled: call rlx_executable_profile, then run");
}

static rlx_status report_profile(const rlx_executable *e, rlx_report_format format, rlx_str *out) {
  RLX_TRY(check_profile(e));
  rlx_profile_text(e->profile, format == RLX_JSON, out);
  return RLX_OK;
}

static rlx_status report_trace(const rlx_executable *e, rlx_report_format format, rlx_str *out) {
  (void)format; /* a trace is always JSON */
  RLX_TRY(check_profile(e));
  rlx_profile_trace(e->profile, &e->session->device->info, out);
  return RLX_OK;
}

static const struct {
  report_fn fn;
  bool svg;
} reports[] = {[RLX_REPORT_PLAN] = {report_plan, true},
               [RLX_REPORT_DISPATCH] = {report_dispatch, false},
               [RLX_REPORT_PROFILE] = {report_profile, false},
               [RLX_REPORT_TRACE] = {report_trace, false}};

rlx_status rlx_executable_report(const rlx_executable *e, rlx_report_kind kind, rlx_report_format format, char **text) {
  const char *call = "rlx_executable_report";
  if (!text) return RLX_FAIL(RLX_INVALID, "%s: text is NULL", call);
  *text = NULL;
  if ((size_t)kind >= sizeof reports / sizeof *reports)
    return RLX_FAIL(RLX_INVALID, "%s: there is no report %d", call, (int)kind);
  if ((unsigned)format > RLX_SVG) return RLX_FAIL(RLX_INVALID, "%s: there is no format %d", call, (int)format);
  if (format == RLX_SVG && !reports[kind].svg)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: only the plan can be drawn as SVG", call);
  RLX_TRY(rlx_enter_nested(e, call));
  rlx_str out = {0};
  rlx_status s = check_known(e, call);
  if (!s) s = reports[kind].fn(e, format, &out);
  rlx_leave_nested(e);
  if (!s) return rlx_str_take(&out, text);
  rlx_str_deinit(&out);
  return s;
}
