/* Importance matrices, internals: what has been measured of the inputs of each matrix (file_importance.c), and their
 * files (file_importance_file.c). */
#ifndef RLX_IO_FILE_IMPORTANCE_H
#define RLX_IO_FILE_IMPORTANCE_H

#include "base/array.h"
#include "rlx/lm.h"

enum { IMPORTANCE_MAX_NAME = 255, IMPORTANCE_MAX_ENTRIES = 1 << 16 };

/* The inputs of one matrix, or of one per expert. */
typedef struct importance_entry {
  char *name;     /* of the tensor, as in a GGUF */
  size_t experts; /* 1 for a plain matrix */
  size_t columns;
  double *sums;   /* [experts, columns]: of squares, over all tokens */
  double *counts; /* [experts]: tokens */
} importance_entry;

struct rlx_importance {
  RLX_ARRAY(importance_entry) entries; /* sorted by name */
  uint32_t chunks, window;             /* texts that were measured, and tokens of each */
};

/* Adds measured sums: to the entry of this name and these sizes, or to a new one. RLX_INVALID where one of other sizes
 * is there, or a number is negative or not finite. */
rlx_status importance_add(rlx_importance *im, const char *name, size_t experts, size_t columns, const float *sums,
                          const float *counts);
const importance_entry *importance_find(const rlx_importance *im, const char *name);

/* The weights of the columns of a tensor, [experts, columns], 1 on average (free with rlx_mem_free); NULL: nothing was
 * measured. RLX_INVALID where the sizes do not match. *experts: 1, or the tensor's. */
rlx_status importance_weights(const rlx_importance *im, const rlx_file_tensor *t, size_t *experts, float **out);

#endif
