/* Growable arrays: `RLX_ARRAY(int64_t) dims = {0};`, `if (!rlx_array_push(&dims, 3)) ...`, `rlx_array_deinit(&dims)`. A
 * push doubles the capacity when needed. If the allocation fails, the array is unchanged. */
#ifndef RLX_BASE_ARRAY_H
#define RLX_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

#define RLX_ARRAY(T) \
  struct {           \
    T *v;            \
    size_t n, cap;   \
  }

/* Makes room for `more` elements beyond n. The array's pointer is passed as void **, so one function serves all
 * types. */
bool rlx_array_grow(void **v, size_t *cap, size_t n, size_t more, size_t size);

#define rlx_array_reserve(a, more) rlx_array_grow((void **)&(a)->v, &(a)->cap, (a)->n, (more), sizeof *(a)->v)
#define rlx_array_push(a, x) (rlx_array_reserve((a), 1) ? ((a)->v[(a)->n] = (x), (a)->n++, true) : false)
#define rlx_array_deinit(a) (rlx_mem_free((a)->v), (a)->v = NULL, (a)->n = (a)->cap = 0)

#endif
