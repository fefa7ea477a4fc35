/* Decoder of packed kernel code: decodes symbols with the model of pack.h until it has the number in the head. Reads
 * past the end return zeros and every symbol has a word, so any bytes decode; the checksum then rejects wrong ones. */
#include "gpu/unpack.h"

#include "base/mem.h"
#include "gpu/pack.h"

struct pack_coder {
  const unsigned char *next, *end;
  uint32_t low, high, code;
};

static uint32_t next_byte(pack_coder *c) { return c->next < c->end ? *c->next++ : 0; }

static uint32_t pack_bit(pack_coder *c, uint32_t *odds, uint32_t bit) {
  uint32_t middle = pack_middle(c->low, c->high, *odds);
  bit = c->code <= middle;
  if (bit) c->high = middle;
  else c->low = middle + 1;
  while ((c->low ^ c->high) < 1u << 24) {
    c->low <<= 8, c->high = c->high << 8 | 255;
    c->code = c->code << 8 | next_byte(c);
  }
  return bit;
}

static uint32_t read_u32(const unsigned char *b) {
  return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void decode(pack_model *m, pack_coder *c, uint32_t *symbols, size_t n) {
  c->high = UINT32_MAX;
  for (int i = 0; i < 4; i++) c->code = c->code << 8 | next_byte(c);
  for (size_t i = 0; i < n; i++) symbols[i] = pack_word(m, c, pack_guess(m, c, 0), 0);
}

/* Converts the symbols of a text to bytes, in place. */
static void narrow(gpu_code *code) {
  char *text = (char *)code->words;
  for (size_t i = 0; i < code->n; i++) text[i] = (char)(code->words[i] & 255);
  text[code->n] = 0;
  code->text = text, code->words = NULL;
}

rlx_status gpu_unpack(const unsigned char *bytes, size_t n_bytes, gpu_code *out) {
  *out = (gpu_code){0};
  const uint32_t head = n_bytes < PACK_HEAD_BYTES ? UINT32_MAX : read_u32(bytes), n = head & ~PACK_IS_TEXT;
  if (n > PACK_MAX_SYMBOLS) return RLX_FAIL(RLX_INVALID, "packed kernel: %zu bytes without a valid head", n_bytes);
  const uint32_t slot_bits = pack_slot_bits(n);
  gpu_code code = {.words = rlx_mem_alloc((n + (size_t)1) * sizeof(uint32_t)), .n = n};
  uint32_t *odds = rlx_mem_alloc(sizeof *odds << PACK_ODDS_BITS);
  pack_slot *slots = rlx_mem_alloc(sizeof *slots << slot_bits);
  bool has_memory = code.words && odds && slots, is_whole = false;
  if (has_memory) {
    pack_model m;
    pack_coder c = {.next = bytes + PACK_HEAD_BYTES, .end = bytes + n_bytes};
    pack_start(&m, odds, slots, slot_bits, head & PACK_IS_TEXT);
    decode(&m, &c, code.words, n);
    is_whole = pack_checksum(code.words, n) == read_u32(bytes + 4);
    if (head & PACK_IS_TEXT) narrow(&code);
  }
  rlx_mem_free(odds);
  rlx_mem_free(slots);
  if (is_whole) *out = code;
  else gpu_code_deinit(&code);
  if (!has_memory) return RLX_FAIL(RLX_NO_MEMORY, "a kernel of %u words", (unsigned)n);
  return is_whole ? RLX_OK : RLX_FAIL(RLX_INVALID, "packed kernel: %zu bytes with a wrong checksum", n_bytes);
}

void gpu_code_deinit(gpu_code *code) {
  rlx_mem_free(code->words);
  rlx_mem_free(code->text);
  *code = (gpu_code){0};
}
