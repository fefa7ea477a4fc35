/* Memory sources: the process's heap, or the allocator of a session.
 *
 * A call on a session makes the session's source current in its thread (rlx_mem_use), and base/mem.c allocates from it
 * until the call ends. A block returns to the source it came from, in any thread and at any time. For this, blocks of
 * sources are in a table by address. Heap blocks are not: while no session has an allocator, a free costs one look at a
 * counter.
 *
 * Memory that outlives a session or is shared between sessions must not come from one of them: code that creates it
 * inside a call (an opened device and its caches) does so under rlx_mem_use(NULL). Pool threads have no source. */
#ifndef RLX_BASE_MEM_SOURCE_H
#define RLX_BASE_MEM_SOURCE_H

#include <stdatomic.h>

#include "rlx/rlx.h"

typedef struct rlx_mem_source rlx_mem_source;

/* NULL: no memory. It lives until it is released and its last block is freed. */
rlx_mem_source *rlx_mem_source_create(rlx_alloc_fn alloc, rlx_dealloc_fn dealloc, void *user);
void rlx_mem_source_release(rlx_mem_source *s); /* NULL is fine */

/* From now on the thread's blocks come from s (NULL: the heap), which must live meanwhile; returns what it was. */
rlx_mem_source *rlx_mem_use(rlx_mem_source *s);
rlx_mem_source *rlx_mem_source_now(void);

/* ---- for mem.c ---- */

typedef struct rlx_mem_piece {
  rlx_mem_source *source;
  size_t bytes, align;
} rlx_mem_piece;

extern atomic_size_t rlx_mem_pieces; /* blocks of all sources */

/* Not cleared. NULL: no memory. */
void *rlx_mem_source_alloc(rlx_mem_source *s, size_t bytes, size_t align);
/* Whether p is of a source, and what it is. */
bool rlx_mem_source_look(const void *p, rlx_mem_piece *out);
void rlx_mem_source_free(void *p); /* of one */

static inline bool rlx_mem_source_has(const void *p, rlx_mem_piece *out) {
  return atomic_load_explicit(&rlx_mem_pieces, memory_order_relaxed) && rlx_mem_source_look(p, out);
}

#endif
