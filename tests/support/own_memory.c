/* Each block has its owner, size and alignment before it. */
#include "own_memory.h"

#include <string.h>

#include "base/os.h"

typedef struct head {
  const own_memory *owner;
  void *base;
  size_t bytes, align;
} head;

void *own_alloc(void *user, size_t bytes, size_t align) {
  own_memory *m = user;
  size_t n = atomic_fetch_add(&m->n_asked, 1) + 1;
  if (m->fail_at && n >= m->fail_at) return NULL;
  size_t before = (sizeof(head) + align - 1) / align * align;
  char *base = rlx_os_heap_alloc_aligned(before + bytes + 8, align < sizeof(void *) ? sizeof(void *) : align);
  if (!base) return NULL;
  char *p = base + before + (m->is_misaligned ? 8 : 0);
  memcpy(p - sizeof(head), &(head){m, base, bytes, align}, sizeof(head));
  memset(p, 0xa5, bytes);
  atomic_fetch_add(&m->n_live, 1);
  atomic_fetch_add(&m->bytes_live, bytes);
  return p;
}

void own_dealloc(void *user, void *p, size_t bytes, size_t align) {
  own_memory *m = user;
  head h;
  memcpy(&h, (char *)p - sizeof h, sizeof h);
  if (h.owner != m || h.bytes != bytes || h.align != align) {
    atomic_fetch_add(&m->n_wrong, 1);
    return;
  }
  atomic_fetch_sub(&m->n_live, 1);
  atomic_fetch_sub(&m->bytes_live, bytes);
  rlx_os_heap_free(h.base);
}

rlx_status own_session(own_memory *m, const char *device, uint32_t threads, rlx_session **out) {
  return rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = threads,
                                                .alloc = own_alloc, .dealloc = own_dealloc, .alloc_user = m},
                            out);
}

bool own_is_whole(const own_memory *m) {
  return atomic_load(&m->n_live) == 0 && atomic_load(&m->bytes_live) == 0 && atomic_load(&m->n_wrong) == 0;
}
