/* An allocator for a session that knows what it gave: how many blocks are out, and whether all that came back was its own. */
#ifndef RLX_TESTS_OWN_MEMORY_H
#define RLX_TESTS_OWN_MEMORY_H

#include <stdatomic.h>

#include "rlx/rlx.h"

typedef struct own_memory {
  atomic_size_t n_asked, n_live, bytes_live;
  atomic_size_t n_wrong; /* blocks that came back and were not its own, or with another size or alignment */
  size_t fail_at;        /* the request that fails, counted from 1, and all after it; 0: none */
  bool is_misaligned;    /* what it gives is no multiple of align */
} own_memory;

void *own_alloc(void *user, size_t bytes, size_t align);
void own_dealloc(void *user, void *p, size_t bytes, size_t align);
/* A session with it on a device by name. */
rlx_status own_session(own_memory *m, const char *device, uint32_t threads, rlx_session **out);
/* All blocks are back, and no other ones came. */
bool own_is_whole(const own_memory *m);

#endif
