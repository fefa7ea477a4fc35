/* Bump allocator: for many small objects with one lifetime (a graph's shapes, names, attributes). Memory comes in
 * chunks that double up to a limit; objects are not freed one by one. A zeroed rlx_bump is ready for use. */
#ifndef RLX_BASE_BUMP_H
#define RLX_BASE_BUMP_H

#include <stddef.h>

typedef struct rlx_bump_chunk rlx_bump_chunk;
typedef struct rlx_bump {
  rlx_bump_chunk *head; /* the newest chunk */
  size_t used, cap;     /* bytes of the newest chunk */
  size_t total;         /* bytes of all chunks */
  size_t dirty;         /* bytes of the newest chunk that were written before a reset, and so must be cleared again */
} rlx_bump;

void *rlx_bump_alloc(rlx_bump *b, size_t count, size_t size); /* cleared, 16-byte aligned; NULL: no memory */
void *rlx_bump_copy(rlx_bump *b, const void *src, size_t count, size_t size);
char *rlx_bump_text(rlx_bump *b, const char *text, size_t n); /* n bytes and a NUL */
void rlx_bump_deinit(rlx_bump *b);
/* Frees all objects and keeps the memory, joined into one chunk: work that needs as much as last time then makes no
 * heap allocation. */
void rlx_bump_reset(rlx_bump *b);

#define rlx_bump_new(b, T) ((T *)rlx_bump_alloc((b), 1, sizeof(T)))
#define rlx_bump_array(b, T, n) ((T *)rlx_bump_alloc((b), (n), sizeof(T)))

#endif
