/* Structs that begin with struct_bytes: read from a caller and written to one whose header may be older or newer than the library.
 *
 * What a shorter struct does not have is zero. A longer one is taken as long as the fields that this library does not know are zero;
 * where one is set, the caller asks for something that cannot be done here: RLX_UNSUPPORTED. A struct_bytes that no struct can have is
 * RLX_INVALID. A field never lies in what was padding at the end of an older struct: tests/tree/test_abi.py checks that there is none. */
#ifndef RLX_BASE_SIZED_H
#define RLX_BASE_SIZED_H

#include "base/status.h"

/* The caller's struct `from` (NULL: all zeros) as the library's own `to`, of `known` bytes. `what` names it in messages. */
rlx_status rlx_sized_read(const char *what, const void *from, void *to, size_t known);
/* The library's struct `from` (NULL: all zeros) into the caller's `to`, as far as that reaches; the rest of it is zero. */
rlx_status rlx_sized_write(const char *what, const void *from, void *to, size_t known);

/* The same for two pointers to one type. */
#define RLX_SIZED_READ(what, from, to) rlx_sized_read((what), 1 ? (from) : (to), (to), sizeof *(to))
#define RLX_SIZED_WRITE(what, from, to) rlx_sized_write((what), 1 ? (from) : (to), (to), sizeof *(to))
#define RLX_SIZED_CLEAR(what, to) rlx_sized_write((what), NULL, (to), sizeof *(to))

#endif
