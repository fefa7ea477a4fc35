/* Memory: all heap allocation of the library.
 *
 * Every allocation goes through these functions, so one hook sees every request. If the hook returns false, the
 * allocation returns NULL as if the machine were out of memory: tests make the Nth allocation fail this way, and count
 * live blocks. Sizes that overflow return NULL as well. Memory comes from the process's heap, or during a call on a
 * session that has an allocator, from that (mem_source.h). */
#ifndef RLX_BASE_MEM_H
#define RLX_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *rlx_mem_alloc(size_t bytes);                         /* not cleared; 16-byte aligned; 0 bytes: a unique pointer */
void *rlx_mem_calloc(size_t count, size_t size);           /* cleared, product checked */
void *rlx_mem_realloc(void *p, size_t count, size_t size); /* product checked; on NULL the old block stays valid */
void *rlx_mem_alloc_aligned(size_t bytes, size_t align);   /* not cleared; align: a power of two */
void rlx_mem_free(void *p);                                /* any of the above; NULL is allowed */

/* Returns the whole pages of a range of a block to the system. The content of that range is lost; the block stays
 * valid. */
void rlx_mem_discard(void *p, size_t bytes);

#define rlx_new(T) ((T *)rlx_mem_calloc(1, sizeof(T)))

/* The hook is called before each allocation, including growth by realloc. Set it while no other thread allocates. */
typedef bool (*rlx_mem_hook)(void *user, size_t bytes);
void rlx_mem_set_hook(rlx_mem_hook hook, void *user);
/* Live blocks of all threads. */
size_t rlx_mem_live(void);

#endif
