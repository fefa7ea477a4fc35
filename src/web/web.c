/* Version, messages, memory, devices and sessions: what all other files of this room need. */
#include "web/web.h"

#include <inttypes.h>

#include "base/mem.h"

static rlx_status last_status;

rlx_status web_end(rlx_status s) { return last_status = s; }

char *web_end_text(rlx_status s, rlx_str *text) {
  char *taken = NULL;
  if (!s) s = rlx_str_take(text, &taken);
  rlx_str_deinit(text);
  web_end(s);
  return taken;
}

/* ---- Status and memory ---- */

WEB_EXPORT(rlx_web_version) const char *rlx_web_version(void) { return rlx_version(); } /* not to be freed */

WEB_EXPORT(rlx_web_status) int32_t rlx_web_status(void) { return (int32_t)last_status; }

/* Of the last call that failed; not to be freed. */
WEB_EXPORT(rlx_web_message) const char *rlx_web_message(void) { return rlx_message(); }
WEB_EXPORT(rlx_web_status_name) const char *rlx_web_status_name(int32_t s) { return rlx_status_name((rlx_status)s); }

WEB_EXPORT(rlx_web_alloc) void *rlx_web_alloc(size_t bytes) {
  void *p = rlx_mem_alloc(bytes);
  web_end(p ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu bytes for a value of the page", bytes));
  return p;
}

WEB_EXPORT(rlx_web_free) void rlx_web_free(void *p) { rlx_mem_free(p); }

/* Live blocks of the heap: 0 more after an object is closed than before it was opened. */
WEB_EXPORT(rlx_web_live) double rlx_web_live(void) { return (double)rlx_mem_live(); }

/* ---- Log ---- */

static void write_log(void *user, rlx_log_level level, const char *text) {
  (void)user;
  rlx_js_log((int32_t)level, text);
}

WEB_EXPORT(rlx_web_log) void rlx_web_log(int32_t on) { rlx_set_log(on ? write_log : NULL, NULL); }

/* ---- Devices ---- */

void web_device_json(const rlx_device_info *d, rlx_str *out) {
  rlx_str_add(out, "{\"name\":");
  rlx_str_add_quoted(out, d->name);
  rlx_str_add(out, ",\"backend\":\"%s\",\"uuid\":\"%s\",\"kind\":\"%s\",\"driver\":", d->backend, d->uuid,
              rlx_device_kind_name(d->kind));
  rlx_str_add_quoted(out, d->driver);
  rlx_str_add(out, ",\"features\":");
  rlx_str_add_quoted(out, d->features);
  rlx_str_add(out, ",\"units\":%" PRIu32 ",\"memory\":%" PRIu64 ",\"free\":%" PRIu64, d->n_units, d->memory_bytes,
              d->free_bytes);
  rlx_str_add(out, ",\"maxBlock\":%" PRIu64 ",\"maxWindow\":%" PRIu64 "}", d->max_block_bytes, d->max_window_bytes);
}

/* {"devices":[..],"absent":[{"backend":..,"why":..}]} */
WEB_EXPORT(rlx_web_devices) char *rlx_web_devices(void) {
  rlx_str out = {0};
  rlx_status s = RLX_OK;
  rlx_str_add(&out, "{\"devices\":[");
  for (uint32_t i = 0; i < rlx_device_count() && !s; i++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    s = rlx_device_describe(i, &info);
    if (i) rlx_str_add_char(&out, ',');
    if (!s) web_device_json(&info, &out);
  }
  rlx_str_add(&out, "],\"absent\":[");
  const char *why, *name, *comma = "";
  for (uint32_t i = 0; (name = rlx_backend_name(i, &why)); i++) {
    if (!why) continue;
    rlx_str_add(&out, "%s{\"backend\":\"%s\",\"why\":", comma, name);
    rlx_str_add_quoted(&out, why);
    rlx_str_add_char(&out, '}');
    comma = ",";
  }
  rlx_str_add(&out, "]}");
  return web_end_text(s, &out);
}

/* ---- Sessions ---- */

static void report_progress(void *user, const char *stage, uint64_t done, uint64_t total) {
  web_user *u = user;
  if (u->stage != stage) rlx_js_stage(u->id, stage);
  u->stage = stage;
  (void)rlx_js_progress(u->id, (double)done, (double)total); /* the cancel function below asks for the answer */
}

static bool is_cancelled(void *user) {
  const web_user *u = user;
  return rlx_js_poll(u->id) != 0;
}

rlx_watch web_watch(web_user *user) {
  return (rlx_watch){.progress = report_progress, .cancel = is_cancelled, .user = user};
}

rlx_status web_session_create(const char *device, uint32_t n_threads, double memory_bytes, rlx_session **out) {
  uint64_t limit = memory_bytes >= 1 && memory_bytes < 1e18 ? (uint64_t)memory_bytes : 0;
  const rlx_session_desc desc = {RLX_SESSION_DESC_INIT, .device = device && *device ? device : NULL,
                                 .n_threads = n_threads, .limits = {.host_bytes = limit, .device_bytes = limit}};
  return rlx_session_create(&desc, out);
}

char *web_report(const rlx_executable *e, int32_t kind, int32_t format) {
  char *text = NULL;
  web_end(e ? rlx_executable_report(e, (rlx_report_kind)kind, (rlx_report_format)format, &text)
            : RLX_FAIL(RLX_NOT_FOUND, "there is no program yet: run it once"));
  return text;
}
