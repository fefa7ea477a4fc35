/* Golden files: the results of PyTorch, NumPy and SciPy for each case, one file per op.
 *
 * A file is a sequence of records: a line "case NAME HASH DTYPE d0,d1,..\n" (rank 0: "-"), the result's bytes and a
 * newline. HASH is of the inputs' bytes: a golden made for other inputs is refused instead of compared. */
#ifndef RLX_CONFORM_GOLDEN_H
#define RLX_CONFORM_GOLDEN_H

#include "conform/conform.h"

uint64_t rlx_golden_inputs_hash(const rlx_case_built *b);

/* Finds a case in a golden file's bytes; *out views them. RLX_NOT_FOUND if it is not there. */
rlx_status rlx_golden_find(const unsigned char *file, size_t bytes, const char *case_name, uint64_t inputs_hash,
                           rlx_tensor *out);

#endif
