/* Custom ops: the process-wide registry of ops that programs register by name (public header, "Custom ops").
 *
 * It is global because a graph's text names an op, and the parser must find it without a table as argument. A mutex
 * protects it. Callbacks run outside the lock, so they may build and evaluate graphs. */
#ifndef RLX_IR_CUSTOM_H
#define RLX_IR_CUSTOM_H

#include "base/status.h"

typedef struct rlx_custom_entry {
  const char *name;
  rlx_custom_fn shape, kernel;
  void *user;
  struct rlx_custom_entry *next;
} rlx_custom_entry;

/* Adds an entry in static memory of the caller: the library registers its own ops ("rlx.*") this way, without the heap.
 * Adding an entry that is already registered does nothing. */
rlx_status rlx_custom_add(rlx_custom_entry *entry);
/* Copies the entry. RLX_NOT_FOUND if there is none. */
rlx_status rlx_custom_find(const char *name, rlx_custom_entry *out);
/* Calls a callback of the entry and reports its failure. `what` is "shape rule" or "kernel". */
rlx_status rlx_custom_invoke(const rlx_custom_entry *entry, const char *what, rlx_custom_fn fn, rlx_custom_call *call);

#endif
