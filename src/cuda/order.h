/* The order of the dispatches of a span: which earlier ones each has to wait for, because their memory meets its own
 * and one of the two writes. record.c makes the edges of a graph of it, walk.c the levels of one kernel. */
#ifndef RLX_CUDA_ORDER_H
#define RLX_CUDA_ORDER_H

#include "base/array.h"
#include "base/status.h"
#include "gpu/hazards.h"

typedef struct cu_tracked { /* an access that later dispatches may have to wait for */
  gpu_access access;
  uint32_t number;
} cu_tracked;

typedef struct cu_order {    /* zeroed at first */
  uint32_t n;                /* dispatches so far: they are numbered from 0 */
  RLX_ARRAY(uint32_t) after; /* what the last one waits for, without those that another one of them waits for */
  RLX_ARRAY(cu_tracked) tracked;
  RLX_ARRAY(uint32_t) all, ends; /* the same of every dispatch: ends.v[i] is where those of dispatch i end in `all` */
} cu_order;

/* Adds a dispatch with these accesses and sets `after`. */
rlx_status cu_order_add(cu_order *o, const gpu_access *a, uint32_t n);
void cu_order_deinit(cu_order *o);

#endif
