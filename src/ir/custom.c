/* Custom ops: a linked list under a mutex. Registration is rare and the list is short. */
#include "ir/custom.h"

#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/sized.h"

enum { MAX_NAME = 255 };

static rlx_mutex lock = RLX_MUTEX_INIT;
static rlx_custom_entry *entries;

/* No thread is changing the list when the process forks. */
static void hold_list(void) { rlx_mutex_lock(&lock); }
static void free_list(void) { rlx_mutex_unlock(&lock); }
__attribute__((constructor)) static void survive_fork(void) { rlx_os_at_fork(hold_list, free_list, free_list); }

static bool is_own_name(const char *name) { return strncmp(name, "rlx.", 4) == 0; }

/* The link that points to the entry of this name, or the list's last link. With the lock held. */
static rlx_custom_entry **place_of(const char *name) {
  rlx_custom_entry **at = &entries;
  while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
  return at;
}

rlx_status rlx_custom_add(rlx_custom_entry *entry) {
  rlx_mutex_lock(&lock);
  rlx_custom_entry **at = place_of(entry->name);
  bool taken = *at && *at != entry;
  if (!*at) {
    entry->next = NULL;
    *at = entry;
  }
  rlx_mutex_unlock(&lock);
  return taken ? RLX_FAIL(RLX_INVALID, "custom op '%s' is registered already", entry->name) : RLX_OK;
}

rlx_status rlx_custom_find(const char *name, rlx_custom_entry *out) {
  rlx_mutex_lock(&lock);
  const rlx_custom_entry *entry = *place_of(name);
  if (entry) *out = *entry;
  rlx_mutex_unlock(&lock);
  return entry ? RLX_OK : RLX_FAIL(RLX_NOT_FOUND, "no custom op is registered as '%s'", name);
}

/* ---- public ---- */

static rlx_status check_name(const char *function, const char *name) {
  if (!name || !*name) return RLX_FAIL(RLX_INVALID, "%s: the name is missing", function);
  if (strlen(name) > MAX_NAME)
    return RLX_FAIL(RLX_INVALID, "%s: the name has %zu bytes, at most %d", function, strlen(name), MAX_NAME);
  if (is_own_name(name))
    return RLX_FAIL(RLX_INVALID, "%s: '%s': names that begin with 'rlx.' are reserved", function, name);
  return RLX_OK;
}

rlx_status rlx_custom_register(const rlx_custom_desc *desc) {
  if (!desc) return RLX_FAIL(RLX_INVALID, "rlx_custom_register: desc is NULL");
  rlx_custom_desc own;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_custom_desc", desc, &own), "rlx_custom_register");
  desc = &own;
  RLX_TRY(check_name("rlx_custom_register", desc->name));
  if (!desc->shape || !desc->kernel)
    return RLX_FAIL(RLX_INVALID, "rlx_custom_register: '%s' has no %s", desc->name,
                    desc->shape ? "kernel" : "shape rule");
  size_t name_bytes = strlen(desc->name) + 1;
  rlx_custom_entry *entry = rlx_mem_calloc(1, sizeof *entry + name_bytes); /* the name is stored after the entry */
  if (!entry) return RLX_FAIL(RLX_NO_MEMORY, "custom op '%s'", desc->name);
  char *name = (char *)(entry + 1);
  memcpy(name, desc->name, name_bytes);
  *entry = (rlx_custom_entry){.name = name, .shape = desc->shape, .kernel = desc->kernel, .user = desc->user};
  rlx_status s = rlx_custom_add(entry);
  if (s) rlx_mem_free(entry);
  return s;
}

rlx_status rlx_custom_unregister(const char *name) {
  RLX_TRY(check_name("rlx_custom_unregister", name));
  rlx_mutex_lock(&lock);
  rlx_custom_entry **at = place_of(name), *entry = *at;
  if (entry) *at = entry->next;
  rlx_mutex_unlock(&lock);
  if (!entry) return RLX_FAIL(RLX_NOT_FOUND, "no custom op is registered as '%s'", name);
  rlx_mem_free(entry);
  return RLX_OK;
}

/* ---- calling ---- */

rlx_status rlx_custom_invoke(const rlx_custom_entry *entry, const char *what, rlx_custom_fn fn, rlx_custom_call *call) {
  call->user = entry->user;
  rlx_status s = fn(call);
  if (s == RLX_OK) return RLX_OK;
  call->message[sizeof call->message - 1] = 0;
  bool known = (unsigned)s < RLX_STATUS_COUNT;
  if (!call->message[0])
    return RLX_FAIL(known ? s : RLX_INVALID, "the %s of '%s' returned %s", what, entry->name,
                    known ? rlx_status_name(s) : "an unknown status");
  return RLX_FAIL(known ? s : RLX_INVALID, "the %s of '%s': %s", what, entry->name, call->message);
}
