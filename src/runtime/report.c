/* Reports about an executable. The text comes from the modules plan, pass and profile. */
#include "base/sized.h"
#include "runtime/executable.h"

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

static rlx_status report_dispatch(const rlx_executable *e, rlx_report_format format, rlx_str *out) {
  char *text;
  RLX_TRY(rlx_optimized_report(e->compiled->optimized, format == RLX_JSON, &text));
  rlx_str_add(out, "%s", text);
  rlx_free(text);
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
