/* Blocks of middle size in slabs of large pages: see slab.c. Any thread. */
#ifndef RLX_CPU_SLAB_H
#define RLX_CPU_SLAB_H

#include <stddef.h>

typedef struct cpu_slab cpu_slab;

/* Memory of that many bytes aligned to `align`, and the slab it is a piece of (NULL: it lies by itself). NULL: no memory. */
void *cpu_slab_alloc(size_t bytes, size_t align, cpu_slab **slab);
void cpu_slab_free(void *p, cpu_slab *slab); /* what alloc gave */

#endif
