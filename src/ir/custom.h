/* Custom ops: the registry of what programs registered by name (public header, "Custom ops").
 *
 * This is the library's one piece of global state that changes, beside hooks and the device registry: a graph's text
 * names an op, and parsing it must find the op without anyone passing a table around. A mutex guards it; callbacks run
 * outside the lock, so they may build and evaluate graphs of their own. */
#ifndef RLX_IR_CUSTOM_H
#define RLX_IR_CUSTOM_H

#include "base/status.h"

typedef struct rlx_custom_entry {
  const char *name;
  rlx_custom_fn shape, kernel;
  void *user;
  struct rlx_custom_entry *next;
} rlx_custom_entry;

/* Adds an entry whose memory is the caller's and stays: how the library registers its own ops ("rlx.*") without the
 * heap. Adding an entry that is already there does nothing. */
rlx_status rlx_custom_add(rlx_custom_entry *entry);
/* A copy of the entry; RLX_NOT_FOUND names it. */
rlx_status rlx_custom_find(const char *name, rlx_custom_entry *out);
/* Calls a callback of the entry and puts its failure into words. `what` is "shape rule" or "kernel". */
rlx_status rlx_custom_invoke(const rlx_custom_entry *entry, const char *what, rlx_custom_fn fn, rlx_custom_call *call);

#endif
