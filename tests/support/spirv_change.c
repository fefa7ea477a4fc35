/* Mutation of one word of a SPIR-V module: see spirv_change.h. */
#include "spirv_change.h"

#include <string.h>

enum { HEADER = 5 };

/* The instruction that contains the word; n: none. */
static size_t instruction_at(const uint32_t *w, size_t n, size_t place) {
  size_t at = HEADER;
  while (at < n && w[at] >> 16 && at + (w[at] >> 16) <= place) at += w[at] >> 16;
  return at < n && w[at] >> 16 && w[at] >> 16 <= n - at ? at : n;
}

void spirv_change(uint32_t *words, size_t *n_words, uint32_t where, uint32_t kind, uint32_t value) {
  const size_t n = *n_words, place = n ? where % n : 0, at = instruction_at(words, n, place);
  if (!n) return;
  uint32_t *w = &words[place], length = at < n ? words[at] >> 16 : 0;
  switch (kind % SPIRV_CHANGES) {
    case 0: *w = value; return;
    case 1: *w ^= 1u << value % 32; return;
    case 2: *w = words[value % n]; return;                             /* mostly another id, or another instruction */
    case 3: *w = n > 3 && words[3] ? value % words[3] : value; return; /* an id within the bound */
    case 4:                                                            /* another instruction of the same length */
      if (at < n) words[at] = (words[at] & 0xffff0000u) | (value & 0xffff);
      return;
    case 5: /* shortened; its other words become an instruction */
      if (at < n && length > 1) {
        uint32_t keep = 1 + value % (length - 1);
        words[at] = keep << 16 | (words[at] & 0xffff);
        words[at + keep] = (length - keep) << 16 | (value >> 8 & 0xff);
      }
      return;
    case 6: /* removed */
      memmove(words + at, words + at + length, (n - at - length) * sizeof *words);
      *n_words = n - length;
      return;
    default:
      *n_words = value % 4 ? n : at;
      return; /* the module ends before it; not every time, because little is left then */
  }
}
