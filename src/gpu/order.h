/* What the lowerings of argmax and argmin, sort and top-k, and sampling (which uses both) share. */
#ifndef RLX_GPU_ORDER_H
#define RLX_GPU_ORDER_H

#include "gpu/fold.h"
#include "gpu/lines.h"

/* The index of the largest (or smallest) element of each line of input 0, written to the result. */
typedef struct gpu_arg {
  gpu_lines lines;
  rlx_dtype t, to;
  bool smallest;
  bool is_token; /* returns -1 for a line whose largest element is not finite */
} gpu_arg;
void gpu_arg_emit(gpu_lowering *l, const gpu_arg *a);

/* The first `take` elements of each sorted line of input 0. Written are values or positions to `result` (elements
 * widened to f32, i32, u32 or i64) or, with to_items, items (kernels/sort.kh) to work memory. */
typedef struct gpu_sort {
  gpu_lines lines;
  rlx_dtype t, to;
  uint32_t take;
  bool descending, positions;
  bool to_items;
  gpu_window result;
} gpu_sort;
typedef struct gpu_items {
  gpu_window window;
  uint32_t per_line; /* at least `take`; only the first `take` are valid, and sorted */
} gpu_items;
gpu_items gpu_sort_emit(gpu_lowering *l, const gpu_sort *s);

#endif
