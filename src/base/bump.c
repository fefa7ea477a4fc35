/* Bump allocator: returns the next bytes of the newest chunk, and allocates another chunk when it is full.
 *
 * A new chunk is as large as all chunks so far together, between 1 KiB and 1 MiB. So a small graph stays small, and a
 * large one calls the heap rarely. A request that would fill most of a new chunk gets a chunk of its own, inserted
 * after the current one, which stays in use: a large constant among small objects wastes nothing.
 *
 * Chunks come from calloc, so memory is zero without touching pages that are never used. */
#include "base/bump.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"

enum { ALIGN_BYTES = 16, FIRST_CHUNK_BYTES = 1024, MAX_CHUNK_BYTES = 1024 * 1024 };

struct rlx_bump_chunk {
  rlx_bump_chunk *next; /* older */
};

/* The chunk's header, rounded up so that the data after it is aligned. */
enum { HEAD_BYTES = (sizeof(rlx_bump_chunk) + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES };

static char *chunk_data(rlx_bump_chunk *c) { return (char *)c + HEAD_BYTES; }

static rlx_bump_chunk *chunk_create(rlx_bump *b, size_t data_bytes) {
  size_t bytes, total;
  if (!rlx_add_size(data_bytes, HEAD_BYTES, &bytes) || !rlx_add_size(b->total, bytes, &total)) return NULL;
  rlx_bump_chunk *c = rlx_mem_calloc(1, bytes);
  if (c) b->total = total;
  return c;
}

/* A chunk for this request alone. The very first chunk cannot go after another and becomes the current one, full. */
static void *alloc_alone(rlx_bump *b, size_t bytes) {
  rlx_bump_chunk *c = chunk_create(b, bytes);
  if (!c) return NULL;
  if (b->head) {
    c->next = b->head->next;
    b->head->next = c;
  } else {
    b->head = c;
    b->used = b->cap = bytes;
    b->dirty = 0;
  }
  return chunk_data(c);
}

static bool open_chunk(rlx_bump *b, size_t data_bytes) {
  rlx_bump_chunk *c = chunk_create(b, data_bytes);
  if (!c) return false;
  c->next = b->head;
  b->head = c;
  b->used = b->dirty = 0;
  b->cap = data_bytes;
  return true;
}

static size_t next_chunk_bytes(const rlx_bump *b) {
  size_t bytes = b->total < FIRST_CHUNK_BYTES ? FIRST_CHUNK_BYTES : b->total;
  if (bytes > MAX_CHUNK_BYTES) bytes = MAX_CHUNK_BYTES;
  return bytes / ALIGN_BYTES * ALIGN_BYTES - HEAD_BYTES;
}

void *rlx_bump_alloc(rlx_bump *b, size_t count, size_t size) {
  size_t bytes;
  if (!rlx_mul_size(count, size, &bytes) || !rlx_pad_size(bytes ? bytes : 1, ALIGN_BYTES, &bytes)) return NULL;
  if (bytes > b->cap - b->used) {
    size_t data_bytes = next_chunk_bytes(b);
    if (bytes > data_bytes / 2) return alloc_alone(b, bytes);
    if (!open_chunk(b, data_bytes)) return NULL;
  }
  void *p = chunk_data(b->head) + b->used;
  if (b->used < b->dirty) memset(p, 0, bytes < b->dirty - b->used ? bytes : b->dirty - b->used);
  b->used += bytes;
  return p;
}

void *rlx_bump_copy(rlx_bump *b, const void *src, size_t count, size_t size) {
  void *p = rlx_bump_alloc(b, count, size);
  /* The product fits, or the allocation would have failed. src may be NULL if there is nothing to copy. */
  if (p && count * size > 0) memcpy(p, src, count * size);
  return p;
}

char *rlx_bump_text(rlx_bump *b, const char *text, size_t n) {
  if (n == SIZE_MAX) return NULL;
  char *p = rlx_bump_alloc(b, n + 1, 1);
  if (p && n > 0) memcpy(p, text, n);
  return p;
}

void rlx_bump_reset(rlx_bump *b) {
  if (!b->head) return;
  if (!b->head->next) {
    if (b->used > b->dirty) b->dirty = b->used;
    b->used = 0;
    return;
  }
  size_t total = b->total / ALIGN_BYTES * ALIGN_BYTES;
  rlx_bump_deinit(b);
  open_chunk(b, total); /* if that fails the allocator is empty, which is a valid state */
}

void rlx_bump_deinit(rlx_bump *b) {
  for (rlx_bump_chunk *c = b->head, *older; c; c = older) {
    older = c->next;
    rlx_mem_free(c);
  }
  *b = (rlx_bump){0};
}
