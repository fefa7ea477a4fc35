/* Errors become statuses. WebGPU's calls return none; how an error is reported differs:
 *
 *   wgpu-native   calls the device's error callback inside the call that failed. The innermost guard of the thread has
 *                 it before the call returns.
 *   all others    (Dawn, browsers) answer later. A guard is then a stack of error scopes, one per kind of error. When
 *                 it ends, the scopes are popped, and their answers go to a wg_late, which is read when the work is
 *                 waited for; or the guard waits for them itself.
 *
 * An answer that is missing is a wg_scope of the device. There is a fixed number of those, because runs allocate
 * nothing: where all are in use, a guard waits for one. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/os.h"
#include "webgpu/wg.h"

enum { NAP = 50000 }; /* nanoseconds */

static _Thread_local wg_guard *innermost;

/* ---- texts ---- */

void wg_copy_line(char *out, size_t bytes, WGPUStringView text) {
  const size_t n = !text.data ? 0 : text.length == SIZE_MAX ? strlen(text.data) : text.length;
  size_t at = 0;
  for (size_t i = 0; i < n && at + 1 < bytes; i++) {
    const bool is_space = (unsigned char)text.data[i] <= ' ';
    if (!is_space) out[at++] = text.data[i];
    else if (at && out[at - 1] != ' ') out[at++] = ' ';
  }
  while (at && out[at - 1] == ' ') at--;
  out[at] = 0;
}

static rlx_status fail(wg_device *d, uint32_t type, const char *what, const char *message) {
  if (atomic_load(&d->base.is_lost)) return RLX_FAIL(RLX_DEVICE_LOST, "webgpu: %s: %s", what, d->lost_why);
  if (type == WGPU_ERROR_OUT_OF_MEMORY) return RLX_FAIL(RLX_NO_MEMORY, "webgpu: %s: the device is out of memory", what);
  return RLX_FAIL(RLX_UNSUPPORTED, "webgpu: %s: %s", what, message);
}

rlx_status wg_check(wg_device *d) {
  if (!atomic_load(&d->base.is_lost)) return RLX_OK;
  return RLX_FAIL(RLX_DEVICE_LOST, "webgpu: %.100s was lost before (%s); a new session opens it anew",
                  d->base.info.name, d->lost_why);
}

/* ---- errors that come later ---- */

enum { LATE_NONE, LATE_BEGUN, LATE_THERE };

void wg_late_put(wg_late *late, uint32_t type, const char *what, WGPUStringView message) {
  unsigned none = LATE_NONE;
  if (!atomic_compare_exchange_strong(&late->state, &none, LATE_BEGUN)) return; /* the first one counts */
  late->type = type ? type : WGPU_ERROR_INTERNAL;
  snprintf(late->what, sizeof late->what, "%s", what);
  wg_copy_line(late->message, sizeof late->message, message);
  atomic_store(&late->state, LATE_THERE);
}

bool wg_late_is(const wg_late *late) { return atomic_load(&late->state) == LATE_THERE; }

rlx_status wg_late_status(wg_device *d, const wg_late *late) {
  return wg_late_is(late) ? fail(d, late->type, late->what, late->message) : RLX_OK;
}

rlx_status wg_late_take(wg_device *d, wg_late *late) {
  const rlx_status s = wg_late_status(d, late);
  if (s) atomic_store(&late->state, LATE_NONE);
  return s;
}

/* ---- what the library calls ---- */

static void lose(wg_device *d, const char *why) {
  if (atomic_exchange(&d->lost_begun, true)) return;
  snprintf(d->lost_why, sizeof d->lost_why, "%s", why);
  atomic_store(&d->base.is_lost, true);
  rlx_log_write(RLX_LOG_ERROR, "webgpu: %s: %s: the device is lost", d->base.info.name, why);
}

void wg_on_lost(WGPUDevice const *device, uint32_t reason, WGPUStringView message, void *user1, void *user2) {
  char why[200];
  (void)device, (void)user2;
  if (reason == WGPU_LOST_CALLBACK_CANCELLED) return; /* the device is closed */
  wg_copy_line(why, sizeof why, message);
  lose(user1, why[0] ? why : "no reason was reported");
}

/* An error that no scope caught. */
void wg_on_error(WGPUDevice const *device, uint32_t type, WGPUStringView message, void *user1, void *user2) {
  wg_device *d = user1;
  wg_guard *g = innermost;
  char text[sizeof g->message];
  (void)device, (void)user2;
  wg_copy_line(text, sizeof text, message);
  if (!g) {
    rlx_log_write(RLX_LOG_ERROR, "webgpu: %s: %s", d->base.info.name, text);
    if (d->is_late) wg_late_put(&d->late, type, "an earlier call", message);
  } else if (!g->type) {
    g->type = type ? type : WGPU_ERROR_INTERNAL;
    memcpy(g->message, text, sizeof text);
  }
}

static void on_scope(uint32_t status, uint32_t type, WGPUStringView message, void *user1, void *user2) {
  wg_scope *s = user1;
  (void)user2;
  if (status == WGPU_STATUS_SUCCESS && type > WGPU_ERROR_NONE) wg_late_put(s->to, type, s->what, message);
  atomic_fetch_sub(&s->n_open, 1);
}

/* ---- waiting for answers ---- */

void wg_pump(const wg_device *d) {
  d->f->InstanceProcessEvents(d->loader->instance);
  if (!d->loader->suspends) rlx_os_sleep(NAP);
}

void wg_answers_await(const wg_device *d) {
  for (uint32_t i = 0; i < WG_N_SCOPES; i++)
    while (atomic_load(&d->scopes[i].n_open)) wg_pump(d);
}

/* ---- guards ---- */

static const uint32_t filters[] = {WGPU_FILTER_VALIDATION, WGPU_FILTER_OUT_OF_MEMORY, WGPU_FILTER_INTERNAL};

/* wgpu-native does not know the last. */
static uint32_t n_filters(const wg_device *d) { return d->loader->has_internal_errors ? 3 : 2; }

void wg_catch_begin(wg_guard *g, wg_late *late) {
  *g = (wg_guard){.outer = innermost, .late = late || !innermost ? late : innermost->late};
  innermost = g;
}

void wg_guard_begin(wg_device *d, wg_guard *g, wg_late *late) {
  wg_catch_begin(g, late);
  if (!g->late) g->late = &d->late;
  for (uint32_t i = 0; d->is_late && i < n_filters(d); i++) d->f->DevicePushErrorScope(d->handle, filters[i]);
}

bool wg_catch_drop(wg_guard *g) {
  innermost = g->outer;
  return g->type != 0;
}

rlx_status wg_catch_end(wg_device *d, wg_guard *g, const char *what) {
  return wg_catch_drop(g) ? fail(d, g->type, what, g->message) : RLX_OK;
}

static wg_scope *find_scope(wg_device *d) {
  for (;; wg_pump(d))
    for (uint32_t i = 0; i < WG_N_SCOPES; i++) {
      unsigned none = 0;
      if (atomic_compare_exchange_strong(&d->scopes[i].n_open, &none, n_filters(d))) return &d->scopes[i];
    }
}

static wg_scope *pop(wg_device *d, wg_late *to, const char *what) {
  wg_scope *s = find_scope(d);
  s->to = to;
  snprintf(s->what, sizeof s->what, "%s", what);
  for (uint32_t i = 0; i < n_filters(d); i++)
    d->f->DevicePopErrorScope(d->handle, (WGPUPopErrorScopeCallbackInfo){
                                           .mode = WGPU_CALLBACK_ALLOW_SPONTANEOUS, .callback = on_scope, .user1 = s});
  return s;
}

/* The text of an operation; false: it is not needed, because all went well. */
static bool end(const wg_device *d, wg_guard *g, char *what, size_t bytes, const char *fmt, va_list args) {
  const bool has_error = wg_catch_drop(g);
  if (!has_error && !d->is_late) return false;
  rlx_format_fixed(what, bytes, fmt, args);
  return true;
}

rlx_status wg_guard_end(wg_device *d, wg_guard *g, const char *fmt, ...) {
  char what[sizeof g->late->what];
  va_list args;
  va_start(args, fmt);
  const bool is_open = end(d, g, what, sizeof what, fmt, args);
  va_end(args);
  if (!is_open) return RLX_OK;
  if (d->is_late) pop(d, g->late, what);
  return g->type ? fail(d, g->type, what, g->message) : RLX_OK;
}

void wg_guard_leave(wg_device *d, wg_guard *g, const char *fmt, ...) {
  char what[sizeof g->late->what];
  va_list args;
  va_start(args, fmt);
  const bool is_open = end(d, g, what, sizeof what, fmt, args);
  va_end(args);
  if (!is_open) return;
  if (g->type) wg_late_put(g->late, g->type, what, (WGPUStringView){g->message, SIZE_MAX});
  if (d->is_late) pop(d, g->late, what);
}

rlx_status wg_guard_wait(wg_device *d, wg_guard *g, const char *fmt, ...) {
  char what[sizeof g->late->what];
  wg_late late = {0};
  va_list args;
  va_start(args, fmt);
  const bool is_open = end(d, g, what, sizeof what, fmt, args);
  va_end(args);
  if (!is_open) return RLX_OK;
  if (g->type) wg_late_put(&late, g->type, what, (WGPUStringView){g->message, SIZE_MAX});
  const wg_scope *s = d->is_late ? pop(d, &late, what) : NULL;
  while (s && atomic_load(&s->n_open)) wg_pump(d);
  return wg_late_status(d, &late);
}
