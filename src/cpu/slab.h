/* Allocator for blocks of 32 KiB to 4 MiB in slabs of large pages: see slab.c. Thread-safe. */
#ifndef RLX_CPU_SLAB_H
#define RLX_CPU_SLAB_H

#include <stddef.h>

typedef struct cpu_slab cpu_slab;

/* `bytes` of memory aligned to `align`, and the slab that contains it (NULL: allocated by itself). NULL: out of
 * memory. */
void *cpu_slab_alloc(size_t bytes, size_t align, cpu_slab **slab);
void cpu_slab_free(void *p, cpu_slab *slab); /* p and slab as cpu_slab_alloc returned them */

#endif
