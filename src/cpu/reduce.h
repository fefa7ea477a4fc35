/* Reductions of tiles: the interface of reduce.simd.c, used by reduce.c. */
#ifndef RLX_CPU_REDUCE_H
#define RLX_CPU_REDUCE_H

#include "cpu/pointwise.h"

typedef enum cpu_fold { CPU_FOLD_SUM, CPU_FOLD_PROD, CPU_FOLD_MAX, CPU_FOLD_MIN, CPU_FOLD_COUNT } cpu_fold;

/* The accumulator: floats in f64, integers in 64 bits. */
typedef union cpu_acc {
  double f;
  int64_t i;
} cpu_acc;

/* x is a tile of n elements in its form (floats or integers). `row` folds all of them into acc[0], `columns` each into
 * its own acc[i]. For floats, max and min propagate NaN. */
typedef void (*cpu_fold_fn)(cpu_acc *acc, const void *x, size_t n);
typedef struct cpu_fold_fns {
  cpu_fold_fn row[CPU_FOLD_COUNT], columns[CPU_FOLD_COUNT];
} cpu_fold_fns;
typedef struct cpu_fold_table {
  cpu_fold_fns floats, ints;
} cpu_fold_table;
CPU_TABLES(cpu_fold_table, cpu_folds)

#endif
