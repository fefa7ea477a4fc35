/* The encoder of packed kernel code (src/gpu/pack.h): for tools/kernel_pack.c and the tests; the library only
 * decodes. */
#ifndef RLX_TOOLS_KERNEL_PACK_H
#define RLX_TOOLS_KERNEL_PACK_H

#include <stdlib.h>

#include "gpu/pack.h"

struct pack_coder {
  uint32_t low, high;
  unsigned char *out; /* malloc'ed; NULL: there was no memory */
  size_t n, capacity;
};

static void put_byte(pack_coder *c, uint32_t byte) {
  if (c->n == c->capacity) {
    unsigned char *more = c->out ? realloc(c->out, c->capacity * 2) : NULL;
    if (!more) free(c->out);
    c->out = more, c->capacity *= 2;
  }
  if (c->out) c->out[c->n] = (unsigned char)byte;
  c->n++;
}

static void put_u32(pack_coder *c, uint32_t v) {
  for (int i = 0; i < 4; i++) put_byte(c, v >> 8 * i & 255);
}

static uint32_t pack_bit(pack_coder *c, uint32_t *odds, uint32_t bit) {
  uint32_t middle = pack_middle(c->low, c->high, *odds);
  if (bit) c->high = middle;
  else c->low = middle + 1;
  while ((c->low ^ c->high) < 1u << 24) {
    put_byte(c, c->high >> 24);
    c->low <<= 8, c->high = c->high << 8 | 255;
  }
  return bit;
}

/* The symbol of a word in the place where the model stands; the top two bits of a raw word are not in it. */
static inline uint32_t pack_symbol(const pack_model *m, uint32_t word) {
  uint32_t kind = PACK_RAW, value = word;
  if (m->is_text) return word;
  if (m->n >= 5 && !m->left) {
    kind = PACK_OP;
    for (value = 0; value < m->n_ops && m->ops[value] != word;) value++;
  } else if (m->n >= 5 && word == m->newest_id + 1) {
    kind = PACK_ID, value = 0;
  } else if (m->n >= 5 && word <= m->newest_id) {
    kind = word <= m->last_global ? PACK_GLOBAL : PACK_ID;
    value = kind == PACK_GLOBAL ? word : m->newest_id + 1 - word;
  }
  return kind << PACK_KIND_SHIFT | (value & PACK_VALUE_MASK);
}

/* The blob of n words, or of the bytes of a text one to a word: its head, then the coded bytes. To be freed with
 * free; NULL: no memory. */
static inline unsigned char *pack_encode(const uint32_t *symbols, size_t n, bool is_text, size_t *n_bytes) {
  const uint32_t slot_bits = pack_slot_bits(n);
  uint32_t *odds = malloc(sizeof *odds << PACK_ODDS_BITS);
  pack_slot *slots = malloc(sizeof *slots << slot_bits);
  pack_coder c = {.high = UINT32_MAX, .out = odds && slots ? malloc(256) : NULL, .capacity = 256};
  if (c.out) {
    pack_model m;
    pack_start(&m, odds, slots, slot_bits, is_text);
    put_u32(&c, (uint32_t)n | (is_text ? PACK_IS_TEXT : 0));
    put_u32(&c, pack_checksum(symbols, n));
    for (size_t i = 0; i < n && c.out; i++)
      (void)pack_word(&m, &c, pack_guess(&m, &c, pack_symbol(&m, symbols[i])), symbols[i]);
    for (int i = 3; i >= 0; i--) put_byte(&c, c.high >> 8 * i & 255);
    while (c.out && c.n > PACK_HEAD_BYTES && !c.out[c.n - 1]) c.n--; /* behind the end the decoder reads zeros */
  }
  free(odds);
  free(slots);
  *n_bytes = c.n;
  return c.out;
}

#endif
