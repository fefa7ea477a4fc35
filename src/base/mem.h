/* Memory: the only door to the heap.
 *
 * All library code allocates through these, so that one hook sees every request. The hook may refuse (return false):
 * then the allocation returns NULL as if the machine were out of memory. Tests fail the Nth allocation this way and
 * count live blocks. Sizes that overflow return NULL too. */
#ifndef RLX_BASE_MEM_H
#define RLX_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *rlx_mem_alloc(size_t bytes);                         /* not cleared; 16-byte aligned; 0 bytes: a unique pointer */
void *rlx_mem_calloc(size_t count, size_t size);           /* cleared, product checked */
void *rlx_mem_realloc(void *p, size_t count, size_t size); /* product checked; on NULL the old block stays valid */
void *rlx_mem_alloc_aligned(size_t bytes, size_t align);   /* not cleared; align: a power of two */
void rlx_mem_free(void *p);                                /* any of the above; NULL is fine */

/* Gives back the pages that lie wholly in a part of a block: what was in that part is lost, the block stays. */
void rlx_mem_discard(void *p, size_t bytes);

#define rlx_new(T) ((T *)rlx_mem_calloc(1, sizeof(T)))

/* The hook is called before each allocation (also growth by realloc). Set it while no other thread allocates. */
typedef bool (*rlx_mem_hook)(void *user, size_t bytes);
void rlx_mem_set_hook(rlx_mem_hook hook, void *user);
/* Blocks now live, all threads together. */
size_t rlx_mem_live(void);

#endif
