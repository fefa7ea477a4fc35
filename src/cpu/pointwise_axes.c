/* Merges the axes of a broadcast loop nest. Adjacent axes that every operand traverses with one stride become one axis,
 * and axes of size 1 are dropped. A bias added to [8, 16, 128] becomes [128, 128] with strides 0 and 1. */
#include "cpu/pointwise.h"
#include "ir/walk.h"

void cpu_axes_begin(cpu_axes *x, const rlx_dims *shape) {
  *x = (cpu_axes){.n = shape->n};
  for (int i = 0; i < shape->n; i++) x->size[i] = (size_t)shape->v[i];
}

void cpu_axes_broadcast(cpu_axes *x, const rlx_dims *shape) {
  rlx_dims to = {.n = x->n};
  for (int i = 0; i < x->n; i++) to.v[i] = (int64_t)x->size[i];
  rlx_broadcast_strides(shape, &to, x->stride[x->n_operands++]);
}

/* Whether axis i and the next can be one axis for every operand. */
static bool merges(const cpu_axes *x, int i) {
  for (int k = 0; k < x->n_operands; k++)
    if (x->stride[k][i] != x->stride[k][i + 1] * x->size[i + 1]) return false;
  return true;
}

static void remove_axis(cpu_axes *x, int i) {
  x->n--;
  for (int j = i; j < x->n; j++) {
    x->size[j] = x->size[j + 1];
    for (int k = 0; k < x->n_operands; k++) x->stride[k][j] = x->stride[k][j + 1];
  }
}

void cpu_axes_collapse(cpu_axes *x) {
  for (int i = x->n - 1; i >= 0; i--)
    if (x->size[i] == 1) remove_axis(x, i);
  for (int i = x->n - 2; i >= 0; i--) {
    if (!merges(x, i)) continue;
    x->size[i + 1] *= x->size[i];
    remove_axis(x, i);
  }
}
