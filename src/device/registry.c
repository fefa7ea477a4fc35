/* The registry: the table of backends and a list of the open devices, under one mutex.
 *
 * Opening and closing hold the mutex as well: a device must be completely closed before it is opened again. There is
 * one entry per variant, so "cpu" and "cpu:avx2" are two devices. A lost device stays valid for its current users but
 * is not handed out again. A device that was not opened here (one that a test made) can be retained and released
 * freely; its owner closes it. */
#include "device/registry.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mem_source.h"
#include "base/os.h"
#include "base/sized.h"
#include "device/find.h"

#define BACKEND(name) &rlx_backend_##name,
static const rlx_backend *const backends[] = {
#include "device/backends.def"
};
#undef BACKEND
enum { N_BACKENDS = sizeof backends / sizeof *backends };
static const rlx_backend_list all_backends = {backends, N_BACKENDS};

typedef struct open_device {
  rlx_device *device;
  rlx_device_place place;
  size_t refs;
  struct open_device *next;
} open_device;

static rlx_mutex lock = RLX_MUTEX_INIT;
static open_device *open_devices;

/* A forked child opens its own devices: those of the parent may have threads, and a driver's handles are not valid in
 * the child. The lock may have been held while a device was being opened, so it is initialised again. */
static void forget_devices(void) {
  static const rlx_mutex fresh = RLX_MUTEX_INIT;
  lock = fresh;
  open_devices = NULL;
}
__attribute__((constructor)) static void survive_fork(void) { rlx_os_at_fork(NULL, NULL, forget_devices); }

/* ---- queries ---- */

uint32_t rlx_device_count(void) {
  uint32_t total = 0;
  const char *why;
  for (uint32_t i = 0; i < N_BACKENDS; i++) total += rlx_backend_devices(backends[i], &why);
  return total;
}

rlx_status rlx_device_describe(uint32_t index, rlx_device_info *out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_device_describe: out is NULL");
  RLX_TRY(RLX_SIZED_CLEAR("rlx_device_info", out));
  rlx_device_info info;
  rlx_device_place place;
  if (!rlx_device_at(&all_backends, index, &place))
    return RLX_FAIL(RLX_NOT_FOUND, "device %u: there are %u, counted from 0", (unsigned)index,
                    (unsigned)rlx_device_count());
  RLX_TRY(place.backend->describe(place.index, &info));
  return RLX_SIZED_WRITE("rlx_device_info", &info, out);
}

const char *rlx_device_kind_name(rlx_device_kind kind) {
  static const char *const names[] = {[RLX_DEVICE_DISCRETE] = "discrete",
                                      [RLX_DEVICE_INTEGRATED] = "integrated",
                                      [RLX_DEVICE_CPU] = "cpu",
                                      [RLX_DEVICE_SOFTWARE] = "software",
                                      [RLX_DEVICE_NULL] = "null"};
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

const char *rlx_backend_name(uint32_t index, const char **why) {
  const char *reason = NULL;
  if (index < N_BACKENDS) rlx_backend_devices(backends[index], &reason);
  if (why) *why = reason;
  return index < N_BACKENDS ? backends[index]->name : NULL;
}

/* ---- opening and sharing: static functions are called under the lock ---- */

static bool is_same_place(const rlx_device_place *a, const rlx_device_place *b) {
  return a->backend == b->backend && a->index == b->index && strcmp(a->variant, b->variant) == 0;
}

static open_device **link_of(const rlx_device *d) {
  open_device **at = &open_devices;
  while (*at && (*at)->device != d) at = &(*at)->next;
  return at;
}

static rlx_status open_place(const rlx_device_place *place, open_device **out) {
  *out = NULL;
  open_device *o = rlx_new(open_device);
  if (!o) return RLX_FAIL(RLX_NO_MEMORY, "device %s:%u", place->backend->name, (unsigned)place->index);
  const rlx_open_options options = {.variant = place->variant};
  rlx_status s = place->backend->open(place->index, &options, &o->device);
  if (s) {
    rlx_mem_free(o);
    return rlx_fail_frame(s, "opening %s:%u", place->backend->name, (unsigned)place->index);
  }
  o->place = *place;
  o->next = open_devices;
  open_devices = o;
  *out = o;
  return RLX_OK;
}

rlx_status rlx_device_acquire(const char *name, rlx_device **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_device_acquire: out is NULL");
  *out = NULL;
  rlx_device_place place;
  RLX_TRY(rlx_device_find(&all_backends, name, &place));
  rlx_status s = RLX_OK;
  rlx_mem_source *before = rlx_mem_use(NULL); /* the device is shared with other sessions */
  rlx_log_lock(&lock);
  open_device *o = open_devices;
  while (o && (!is_same_place(&o->place, &place) || atomic_load(&o->device->is_lost))) o = o->next;
  bool is_new = !o;
  if (!o) s = open_place(&place, &o);
  if (o) {
    o->refs++;
    *out = o->device;
  }
  rlx_log_unlock(&lock);
  rlx_mem_use(before);
  if (is_new && !s)
    rlx_log_write(RLX_LOG_INFO, "device %s:%u (%s) opened", place.backend->name, (unsigned)place.index,
                  (*out)->info.name);
  return s;
}

rlx_device *rlx_device_retain(rlx_device *d) {
  rlx_log_lock(&lock);
  open_device *o = *link_of(d);
  if (o) o->refs++;
  rlx_log_unlock(&lock);
  return d;
}

void rlx_device_release(rlx_device *d) {
  if (!d) return;
  rlx_log_lock(&lock);
  open_device **at = link_of(d), *o = *at;
  if (o && --o->refs == 0) {
    *at = o->next;
    d->backend->close(d);
    rlx_mem_free(o);
  }
  rlx_log_unlock(&lock);
}
