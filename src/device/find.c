/* Finds a device by name. The rules are tried in the order of the `rules` table. The first rule that recognises the
 * name decides, even if it then fails: "vulkan:7" is never taken for a part of some device's own name. */
#include "device/find.h"

#include <stdio.h>
#include <string.h>

#include "ir/op.h"

uint32_t rlx_backend_devices(const rlx_backend *b, const char **why) {
  const char *reason = NULL;
  uint32_t n = b->count(&reason);
  *why = n ? NULL : reason ? reason : "it finds no device";
  return n;
}

bool rlx_device_at(const rlx_backend_list *all, uint32_t number, rlx_device_place *out) {
  const char *why;
  for (uint32_t i = 0; i < all->n; i++) {
    uint32_t n = rlx_backend_devices(all->v[i], &why);
    if (number < n) {
      *out = (rlx_device_place){.backend = all->v[i], .index = number};
      return true;
    }
    number -= n;
  }
  return false;
}

/* ---- text ---- */

/* ASCII only, independent of the locale. */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Whether `text` begins with the n bytes of `part`, ignoring case. */
static bool begins(const char *text, const char *part, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (text[i] == 0 || lower(text[i]) != lower(part[i])) return false;
  return true;
}
static bool same(const char *a, const char *b, size_t n) { return strlen(a) == n && begins(a, b, n); }
static bool contains(const char *text, const char *part) {
  size_t n = strlen(part);
  for (; *text; text++)
    if (begins(text, part, n)) return true;
  return false;
}

/* Parses a decimal number and nothing else; a value too large for any index becomes UINT32_MAX. */
static bool is_number(const char *text, uint32_t *out) {
  uint64_t v = 0;
  if (!*text) return false;
  for (; *text; text++) {
    if (*text < '0' || *text > '9') return false;
    v = v * 10 + (uint64_t)(*text - '0');
    if (v > UINT32_MAX) v = UINT32_MAX;
  }
  *out = (uint32_t)v;
  return true;
}

/* The list of devices, for error messages. The buffer is fixed because reporting a failure must not fail. */
typedef struct listing {
  char v[512];
  size_t n;
} listing;

static void list_add(listing *l, const char *fmt, ...) RLX_PRINTF(2, 3);
static void list_add(listing *l, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (l->n < sizeof l->v - 1) l->n += rlx_format_fixed(l->v + l->n, sizeof l->v - l->n, fmt, args);
  va_end(args);
}

static const char *list_devices(const rlx_backend_list *all, listing *l) {
  *l = (listing){{0}, 0};
  const char *why;
  uint32_t number = 0;
  for (uint32_t i = 0; i < all->n; i++) {
    const rlx_backend *b = all->v[i];
    uint32_t n = rlx_backend_devices(b, &why);
    if (n == 0) list_add(l, "%s%s: none (%s)", l->n ? "; " : "", b->name, why);
    for (uint32_t k = 0; k < n; k++, number++) {
      rlx_device_info info = {RLX_DEVICE_INFO_INIT};
      bool is_known = b->describe(k, &info) == RLX_OK;
      list_add(l, "%s%u is %s:%u (%s)", l->n ? "; " : "", (unsigned)number, b->name, (unsigned)k,
               is_known ? info.name : "it does not answer");
    }
  }
  return l->n ? l->v : "no backend was built in";
}

static rlx_status not_found(const rlx_backend_list *all, const char *name, const char *why) {
  listing l;
  return RLX_FAIL(RLX_NOT_FOUND, "device '%.100s': %s; there are: %s", name, why, list_devices(all, &l));
}

/* ---- the rules: each returns whether it recognises the name, and sets *status and *out if so ---- */

typedef bool (*find_rule)(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status);

static bool by_number(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status) {
  uint32_t number;
  if (!is_number(name, &number)) return false;
  *status = rlx_device_at(all, number, out) ? RLX_OK : not_found(all, name, "no device has this number");
  return true;
}

static bool by_backend(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status) {
  size_t n_name = strcspn(name, ":");
  const rlx_backend *b = NULL;
  for (uint32_t i = 0; i < all->n && !b; i++)
    if (same(all->v[i]->name, name, n_name)) b = all->v[i];
  if (!b) return false;
  const char *rest = name[n_name] ? name + n_name + 1 : NULL, *why;
  uint32_t index = 0, n = rlx_backend_devices(b, &why);
  bool is_index = rest && is_number(rest, &index);
  *status = RLX_OK;
  *out = (rlx_device_place){.backend = b, .index = index};
  if (rest && !*rest) *status = not_found(all, name, "nothing follows the colon");
  else if (rest && !is_index && strlen(rest) >= sizeof out->variant) *status = not_found(all, name, "no such variant");
  else if (n == 0) *status = not_found(all, name, "this backend has no device");
  else if (index >= n) *status = not_found(all, name, "no device of this backend has this index");
  else if (rest && !is_index) memcpy(out->variant, rest, strlen(rest) + 1);
  return true;
}

static bool fits_uuid(const rlx_device_info *info, const char *name) { return same(info->uuid, name, strlen(name)); }
static bool fits_name(const rlx_device_info *info, const char *name) { return same(info->name, name, strlen(name)); }
static bool fits_part(const rlx_device_info *info, const char *name) { return contains(info->name, name); }

/* WebGPU reports no UUID, so its backend makes one of the name: of version 8, which is the digit at 14. */
static bool is_made(const char *uuid) { return strlen(uuid) > 14 && uuid[14] == '8'; }

/* Whether a device that a backend describes is one of an earlier backend. */
static bool is_same(const rlx_device_info *a, const rlx_device_info *b) {
  if (strcmp(a->uuid, b->uuid) == 0) return true;
  return is_made(b->uuid) && strcmp(a->backend, b->backend) != 0 && strcmp(a->name, b->name) == 0;
}

/* Finds the one device whose description matches. Several matches are a failure: the choice is not guessed. A device
 * that several backends have (one UUID, or one name where a backend has no UUIDs) is one device, and the first of them
 * has it. */
static bool by_fit(const rlx_backend_list *all, const char *name, bool (*fits)(const rlx_device_info *, const char *),
                   rlx_device_place *out, rlx_status *status) {
  rlx_device_place place;
  rlx_device_info first = {RLX_DEVICE_INFO_INIT};
  uint32_t n_fit = 0;
  for (uint32_t number = 0; rlx_device_at(all, number, &place); number++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    if (place.backend->describe(place.index, &info) || !fits(&info, name)) continue;
    if (n_fit && is_same(&first, &info)) continue;
    if (n_fit++ == 0) {
      *out = place;
      first = info;
    }
  }
  *status = n_fit > 1 ? not_found(all, name, "several devices have this in their name, so a number or a UUID is needed")
                      : RLX_OK;
  return n_fit > 0;
}

static bool by_uuid(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status) {
  return by_fit(all, name, fits_uuid, out, status);
}
static bool by_name(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status) {
  return by_fit(all, name, fits_name, out, status);
}
static bool by_part(const rlx_backend_list *all, const char *name, rlx_device_place *out, rlx_status *status) {
  return by_fit(all, name, fits_part, out, status);
}

static const find_rule rules[] = {by_number, by_backend, by_uuid, by_name, by_part};

/* ---- the default device ---- */

/* Kinds are ordered best first. Null is last and never the default. Among equals the first device is used. */
static rlx_status find_best(const rlx_backend_list *all, rlx_device_place *out) {
  rlx_device_kind best = RLX_DEVICE_NULL;
  rlx_device_place place;
  for (uint32_t number = 0; rlx_device_at(all, number, &place); number++) {
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};
    if (place.backend->describe(place.index, &info) || info.kind >= best) continue;
    best = info.kind;
    *out = place;
  }
  listing l;
  if (best == RLX_DEVICE_NULL)
    return RLX_FAIL(RLX_NOT_FOUND, "there is no device that computes; there are: %s", list_devices(all, &l));
  return RLX_OK;
}

rlx_status rlx_device_find(const rlx_backend_list *all, const char *name, rlx_device_place *out) {
  *out = (rlx_device_place){0};
  if (!name) return find_best(all, out);
  if (!*name) return not_found(all, name, "the name is empty");
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    rlx_status s;
    if (rules[i](all, name, out, &s)) return s;
  }
  return not_found(all, name, "no device has this number, backend, UUID or name");
}
