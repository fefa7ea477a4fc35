/* Reading and writing structs whose size may differ between caller and library: see sized.h. */
#include "base/sized.h"

#include <string.h>

/* Above it struct_bytes was never set, and reading that far would leave the caller's memory. */
enum { MAX_STRUCT_BYTES = 1 << 16 };

/* Every such struct contains a size_t, so its size is a multiple of that type's alignment. */
static rlx_status check_bytes(const char *what, size_t bytes, size_t known) {
  if (bytes >= sizeof(size_t) && bytes <= MAX_STRUCT_BYTES && bytes % _Alignof(size_t) == 0) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "%s: struct_bytes is %zu, expected %zu, as its RLX_*_INIT sets it", what, bytes, known);
}

rlx_status rlx_sized_read(const char *what, const void *from, void *to, size_t known) {
  size_t bytes = known;
  memset(to, 0, known);
  if (from) {
    memcpy(&bytes, from, sizeof bytes);
    RLX_TRY(check_bytes(what, bytes, known));
    const unsigned char *b = from;
    for (size_t i = known; i < bytes; i++)
      if (b[i])
        return RLX_FAIL(RLX_UNSUPPORTED, "%s: the field at byte %zu is set; version %s has only the first %zu bytes",
                        what, i, rlx_version(), known);
    memcpy(to, from, bytes < known ? bytes : known);
  }
  memcpy(to, &known, sizeof known);
  return RLX_OK;
}

rlx_status rlx_sized_write(const char *what, const void *from, void *to, size_t known) {
  size_t bytes;
  memcpy(&bytes, to, sizeof bytes);
  RLX_TRY(check_bytes(what, bytes, known));
  memset(to, 0, bytes);
  if (from) memcpy(to, from, bytes < known ? bytes : known);
  memcpy(to, &bytes, sizeof bytes);
  return RLX_OK;
}
