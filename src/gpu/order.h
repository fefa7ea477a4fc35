/* What the lowerings of ops that compare share: argmax and argmin, sort and top-k, and sampling, which needs both. */
#ifndef RLX_GPU_ORDER_H
#define RLX_GPU_ORDER_H

#include "gpu/fold.h"
#include "gpu/lines.h"

/* The index of the largest of each line of input 0, into the result. */
typedef struct gpu_arg {
  gpu_lines lines;
  rlx_dtype t, to;
  bool smallest;
  bool is_token; /* a line whose largest is not finite gives -1 */
} gpu_arg;
void gpu_arg_emit(gpu_lowering *l, const gpu_arg *a);

/* The first `take` of each sorted line of input 0: values or positions into `result` (elements widened to f32, i32, u32 or
 * i64), or, with to_items, as items (kernels/sort.kh) in work memory. */
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
  uint32_t per_line; /* at least `take`, sorted; only those count */
} gpu_items;
gpu_items gpu_sort_emit(gpu_lowering *l, const gpu_sort *s);

#endif
