/* Growth of arrays: the function that the macros of array.h call.
 *
 * It receives the array's pointer as void **, for any element type. Reading a T * through a void * lvalue would violate
 * the aliasing rules, so the pointer is copied in and out with memcpy. */
#include "base/array.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 8 };

bool rlx_array_grow(void **v, size_t *cap, size_t n, size_t more, size_t size) {
  if (more <= *cap - n) return true;
  if (more > SIZE_MAX - n) return false;
  size_t wanted = *cap > SIZE_MAX / 2 ? SIZE_MAX : *cap * 2;
  if (wanted < FIRST_CAPACITY) wanted = FIRST_CAPACITY;
  if (wanted < n + more) wanted = n + more;

  void *old, *grown;
  memcpy(&old, (const void *)v, sizeof old);
  grown = rlx_mem_realloc(old, wanted, size);
  if (!grown) return false;
  memcpy((void *)v, &grown, sizeof grown);
  *cap = wanted;
  return true;
}
