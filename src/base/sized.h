/* Structs that begin with struct_bytes: reading one from a caller, and writing one to a caller, whose header may be
 * older or newer than the library.
 *
 * Fields that a shorter struct lacks are zero. A longer struct is accepted if the fields that this library does not
 * have are zero; a field that is set requests something this library cannot do: RLX_UNSUPPORTED. An impossible
 * struct_bytes is RLX_INVALID. No new field may lie in what was trailing padding of an older struct:
 * tests/tree/test_abi.py checks that there is none. */
#ifndef RLX_BASE_SIZED_H
#define RLX_BASE_SIZED_H

#include "base/status.h"

/* Copies the caller's struct `from` (NULL: all zeros) to the library's `to`, of `known` bytes. `what` names it in
 * messages. */
rlx_status rlx_sized_read(const char *what, const void *from, void *to, size_t known);
/* Copies the library's struct `from` (NULL: all zeros) to the caller's `to`, at most its struct_bytes; the rest of `to`
 * is zero. */
rlx_status rlx_sized_write(const char *what, const void *from, void *to, size_t known);

/* The same for two pointers to one type. */
#define RLX_SIZED_READ(what, from, to) rlx_sized_read((what), 1 ? (from) : (to), (to), sizeof *(to))
#define RLX_SIZED_WRITE(what, from, to) rlx_sized_write((what), 1 ? (from) : (to), (to), sizeof *(to))
#define RLX_SIZED_CLEAR(what, to) rlx_sized_write((what), NULL, (to), sizeof *(to))

#endif
