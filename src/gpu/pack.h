/* The compression model of packed kernel code, shared by the decoder (unpack.c) and the encoder (tools/kernel_pack.c).
 *
 * Code is a sequence of symbols, SPIR-V words or the bytes of a text. For each symbol two contexts are looked up: the
 * last eight symbols and the last three. Each context stores the two symbols that followed it most recently. These
 * guesses are tried in order, one binary decision each. If none is right, the symbol is coded bit by bit. All decisions
 * go through a binary arithmetic coder with adaptive probabilities, so a guess that is nearly always right costs nearly
 * nothing.
 *
 * SPIR-V is full of ids, whose numbers differ even where the code is the same. So an id is coded as its distance to the
 * newest id (0: a new one), an id of a type or constant as itself, and the first word of an instruction as its index in
 * the list of such words seen so far. This needs only the lengths of instructions, no grammar of SPIR-V: any words can
 * be packed.
 *
 * The includer defines pack_bit, which codes one decision: the encoder writes `bit`, the decoder ignores it and returns
 * the decoded bit. Both call pack_word(pack_guess(..)) for every symbol, so their models cannot diverge; the decoder
 * passes zeros for what it has not decoded yet. tools/kernels packs 7.2 MB of SPIR-V into 0.5 MB. */
#ifndef RLX_GPU_PACK_H
#define RLX_GPU_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  PACK_ODDS_BITS = 17,
  PACK_MAX_SLOT_BITS = 17,
  PACK_CONTEXTS = 2,
  PACK_MAX_OPS = 512,
  PACK_MAX_HITS = 15,
  PACK_MAX_SEEN = 14, /* decisions after which the adaptation rate stays constant */
  PACK_HEAD_BYTES = 8,
  PACK_MAX_SYMBOLS = 1 << 18, /* three times the size of the largest kernel */
  PACK_OP_FUNCTION = 54,      /* SPIR-V's OpFunction */
};
#define PACK_IS_TEXT (1u << 31) /* flag in the word of the head that holds the number of symbols */

/* The two symbols that followed a context most recently, the newer first. */
typedef struct pack_slot {
  uint32_t symbol[2];
  uint16_t check; /* bits of the context's hash: a slot of another context gives no guess */
  uint16_t hits;  /* consecutive correct guesses of the first symbol; 0: empty */
} pack_slot;

/* The kind of a SPIR-V word, in the top two bits of its symbol. */
enum { PACK_ID, PACK_GLOBAL, PACK_RAW, PACK_OP };
enum { PACK_KIND_SHIFT = 30, PACK_VALUE_MASK = (1 << PACK_KIND_SHIFT) - 1 };

typedef struct pack_model {
  uint32_t *odds;   /* 1 << PACK_ODDS_BITS of: 22 bits probability of a 1, 10 bits number of decisions */
  pack_slot *slots; /* 1 << slot_bits */
  uint32_t slot_bits;
  bool is_text;
  uint32_t context[PACK_CONTEXTS]; /* hashes of the last eight symbols and of the last three */
  uint32_t newest;                 /* the last symbol */
  uint32_t ops[PACK_MAX_OPS], n_ops;
  uint32_t newest_id, last_global;
  uint32_t op, at, left; /* current instruction: 1 + its index in ops, the word in it, words left */
  size_t n;              /* symbols so far */
} pack_model;

typedef struct pack_coder pack_coder;
static uint32_t pack_bit(pack_coder *c, uint32_t *odds, uint32_t bit);

static inline uint32_t pack_mix(uint32_t a, uint32_t b) {
  uint32_t x = (a * 31 + b + 0x7ed55d16u) * 0x9e3779b1u;
  return x ^ x >> 15;
}

/* Splits the coder's range: 1 up to and including the result, 0 above. */
static inline uint32_t pack_middle(uint32_t low, uint32_t high, uint32_t odds) {
  uint32_t p = odds >> 16 ? odds >> 16 : 1;
  return low + (uint32_t)((uint64_t)(high - low) * p >> 16);
}

static inline uint32_t pack_checksum(const uint32_t *symbols, size_t n) {
  uint32_t h = 0x811c9dc5u;
  for (size_t i = 0; i < n; i++) h = (h ^ symbols[i]) * 0x01000193u, h ^= h >> 15;
  return h;
}

/* Slots for n_symbols symbols: each uses one per context. */
static inline uint32_t pack_slot_bits(size_t n_symbols) {
  uint32_t bits = 8;
  while (bits < PACK_MAX_SLOT_BITS && (size_t)1 << bits < 2 * n_symbols) bits++;
  return bits;
}

static inline void pack_start(pack_model *m, uint32_t *odds, pack_slot *slots, uint32_t slot_bits, bool is_text) {
  *m =
    (pack_model){.odds = odds, .slots = slots, .slot_bits = slot_bits, .is_text = is_text, .last_global = UINT32_MAX};
  for (size_t i = 0; i < (size_t)1 << PACK_ODDS_BITS; i++) odds[i] = 1u << 31;
  memset(slots, 0, ((size_t)1 << slot_bits) * sizeof *slots);
}

/* Moves the probability towards the decision, by less the more decisions it has seen. */
static inline void pack_learn(uint32_t *odds, uint32_t bit) {
  static const uint16_t rate[PACK_MAX_SEEN + 1] = {40960, 25206, 18204, 14246, 11703, 9930, 8623, 7620,
                                                   6827,  6183,  5650,  5201,  4819,  4489, 4201};
  uint32_t seen = *odds & 1023, p = *odds >> 10;
  uint32_t target = bit ? (1u << 22) - 1 : 0;
  int64_t step = ((int64_t)target - (int64_t)p) * rate[seen < PACK_MAX_SEEN ? seen : PACK_MAX_SEEN] / 65536;
  *odds = (uint32_t)((int64_t)p + step) << 10 | (seen < PACK_MAX_SEEN ? seen + 1 : seen);
}

static inline uint32_t pack_decide(pack_model *m, pack_coder *c, uint32_t context, uint32_t bit) {
  uint32_t *odds = &m->odds[context * 0x2545f491u >> (32 - PACK_ODDS_BITS)];
  uint32_t got = pack_bit(c, odds, bit);
  pack_learn(odds, got);
  return got;
}

/* Codes a number: its bit length, then the bits below the leading one. The first `deep` of them use all higher bits as
 * context. */
static inline uint32_t pack_number(pack_model *m, pack_coder *c, uint32_t context, uint32_t deep, uint32_t number) {
  uint32_t bits = 0, node = 1, made;
  while (bits < 32 && number >> bits) bits++;
  for (int i = 5; i >= 0; i--) node = node * 2 + pack_decide(m, c, pack_mix(context, node), bits >> i & 1);
  bits = node - 64 < 32 ? node - 64 : 32;
  made = bits != 0;
  for (uint32_t i = 1; i < bits; i++) {
    uint32_t place = i <= deep ? pack_mix(context + bits * 64, made + 1000) : pack_mix(bits * 64 + i, 1);
    made = made * 2 + pack_decide(m, c, place, number >> (bits - 1 - i) & 1);
  }
  return made;
}

/* Codes a symbol that no context predicted. */
static inline uint32_t pack_spell(pack_model *m, pack_coder *c, uint32_t place, uint32_t symbol) {
  static const uint8_t deep[] = {[PACK_ID] = 4, [PACK_GLOBAL] = 20, [PACK_RAW] = 2, [PACK_OP] = 20};
  if (m->is_text) return pack_number(m, c, pack_mix(m->newest, 5), 20, symbol);
  uint32_t kind = symbol >> PACK_KIND_SHIFT;
  kind = pack_decide(m, c, pack_mix(place, 500), kind >> 1) << 1 | (kind & 1);
  kind = (kind & 2) | pack_decide(m, c, pack_mix(place, 501 + (kind >> 1)), kind & 1);
  uint32_t value = pack_number(m, c, pack_mix(place, 600 + kind), deep[kind], symbol & PACK_VALUE_MASK);
  return kind << PACK_KIND_SHIFT | (value & PACK_VALUE_MASK);
}

static inline void pack_remember(pack_slot *s, uint16_t check, uint32_t symbol) {
  if (!s->hits || s->check != check) *s = (pack_slot){{symbol, symbol}, check, 1};
  else if (s->symbol[0] == symbol) s->hits = s->hits < PACK_MAX_HITS ? (uint16_t)(s->hits + 1) : s->hits;
  else *s = (pack_slot){{symbol, s->symbol[0]}, check, s->hits > 3 ? (uint16_t)(s->hits / 2) : 1};
}

/* Codes a symbol with the guesses of its contexts. A context's hash is multiplied, per symbol, by a number whose low 4
 * (or 11) bits are zero, so symbols older than 8 (or 3) are shifted out of its 32 bits. */
static inline uint32_t pack_guess(pack_model *m, pack_coder *c, uint32_t symbol) {
  static const uint32_t ages[PACK_CONTEXTS] = {0x9e3779b1u << 4, 0x9e3779b1u << 11};
  const uint32_t place = m->is_text ? 5 : pack_mix(m->op * 16, m->left ? m->at < 15 ? m->at : 15 : 16);
  pack_slot *slots[PACK_CONTEXTS];
  uint16_t checks[PACK_CONTEXTS];
  uint32_t failed[2 * PACK_CONTEXTS], n_failed = 0;
  bool is_right = false;
  for (uint32_t k = 0; k < PACK_CONTEXTS; k++) {
    uint32_t h = pack_mix(pack_mix(place, k), m->context[k]);
    slots[k] = &m->slots[h >> (32 - m->slot_bits)];
    checks[k] = (uint16_t)h;
  }
  for (uint32_t g = 0; g < 2 * PACK_CONTEXTS && !is_right; g++) {
    const pack_slot *s = slots[g / 2];
    const uint32_t guess = s->symbol[g % 2];
    bool is_new = s->hits && s->check == checks[g / 2];
    for (uint32_t i = 0; i < n_failed && is_new; i++) is_new = failed[i] != guess;
    if (!is_new) continue;
    is_right = pack_decide(m, c, pack_mix(place, g * 64 + s->hits * 4u + n_failed), symbol == guess);
    if (is_right) symbol = guess;
    failed[n_failed++] = guess;
  }
  if (!is_right) symbol = pack_spell(m, c, place, symbol);
  for (uint32_t k = 0; k < PACK_CONTEXTS; k++) {
    pack_remember(slots[k], checks[k], symbol);
    m->context[k] = (m->context[k] + symbol + 1) * ages[k];
  }
  m->newest = symbol;
  return symbol;
}

/* Converts a symbol to its word and updates the state for the next one. Every symbol has a word. */
static inline uint32_t pack_word(pack_model *m, pack_coder *c, uint32_t symbol, uint32_t word) {
  const uint32_t kind = symbol >> PACK_KIND_SHIFT, value = symbol & PACK_VALUE_MASK;
  if (m->is_text) return symbol;
  if (kind == PACK_OP) {
    word = value < m->n_ops ? m->ops[value] : pack_number(m, c, 98, 0, word);
    if (value >= m->n_ops && m->n_ops < PACK_MAX_OPS) m->ops[m->n_ops++] = word;
    m->op = value + 1, m->at = 0, m->left = word >> 16 ? (word >> 16) - 1 : 0;
    if ((word & 0xffff) == PACK_OP_FUNCTION && m->last_global == UINT32_MAX) m->last_global = m->newest_id;
    m->n++;
    return word;
  }
  if (kind == PACK_ID) word = m->newest_id + 1 - value;
  else if (kind == PACK_GLOBAL) word = value;
  else word = value | pack_number(m, c, pack_mix(m->op, 97), 0, word >> PACK_KIND_SHIFT) << PACK_KIND_SHIFT;
  if (m->n >= 5 && word == m->newest_id + 1) m->newest_id++;
  if (m->left) m->left--, m->at++;
  m->n++;
  return word;
}

#endif
