/* Name lookup: an open-addressing hash table of indices next to the array of items.
 *
 * Items stay in their array; a slot holds an index, and the name is read through it. The table is at most half full,
 * so a search takes one or two steps. The seed of the hash differs between processes, so a file cannot choose
 * colliding names. */
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "io/file.h"

static const char *name_of(const void *items, size_t i, size_t stride) {
  const char *name;
  memcpy(&name, (const char *)items + i * stride, sizeof name);
  return name;
}

/* The slot of a name, or a free slot. */
static size_t seek(const file_names *t, const void *items, size_t stride, const char *name) {
  size_t at = (size_t)rlx_text_hash(t->seed, name) & t->mask;
  while (t->slots[at] && strcmp(name_of(items, t->slots[at] - 1, stride), name) != 0) at = (at + 1) & t->mask;
  return at;
}

rlx_status file_names_build(file_names *t, const void *items, size_t n, size_t stride, const char **twice) {
  size_t cap = 8;
  *twice = NULL;
  while (cap < 2 * n) cap *= 2; /* n is bounded by the limits of io/file.h */
  *t = (file_names){.slots = rlx_mem_calloc(cap, sizeof *t->slots), .mask = cap - 1};
  if (!t->slots) return RLX_FAIL(RLX_NO_MEMORY, "no memory to find %zu names", n);
  t->seed = rlx_text_hash_seed(t->slots);
  for (size_t i = 0; i < n; i++) {
    const char *name = name_of(items, i, stride);
    size_t at = seek(t, items, stride, name);
    if (t->slots[at] && !*twice) *twice = name;
    t->slots[at] = (uint32_t)i + 1;
  }
  return RLX_OK;
}

size_t file_names_find(const file_names *t, const void *items, size_t n, size_t stride, const char *name) {
  uint32_t slot = t->slots ? t->slots[seek(t, items, stride, name)] : 0;
  return slot ? slot - 1 : n;
}

void file_names_deinit(file_names *t) {
  rlx_mem_free(t->slots);
  *t = (file_names){0};
}
