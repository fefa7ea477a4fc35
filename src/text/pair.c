/* Two texts as one input, for models that judge a text by another: rerankers read a question and a document together.
 *
 * The tokenizer's file says which tokens stand before, between and after the texts, and the type of each token. What
 * does not fit is left out at the end of the longer text, as the original tools do: both are shortened to half of the
 * room only where both are longer than that. */
#include <string.h>

#include "base/arith.h"
#include "base/mem.h"
#include "text/text.h"

typedef struct lengths {
  size_t first, second;
} lengths;

static lengths fit(lengths all, size_t room) {
  size_t small = all.first < all.second ? all.first : all.second;
  if (all.first + all.second <= room) return all;
  size_t large = small > room / 2 ? room - room / 2 : room - small;
  if (small > room / 2) small = room / 2;
  return all.first <= all.second ? (lengths){small, large} : (lengths){large, small};
}

static size_t count_tokens(const rlx_tokenizer *t) {
  size_t n = 0;
  for (size_t i = 0; i < t->n_parts; i++) n += t->parts[i].id >= 0;
  return n;
}

static void put(text_two *out, int32_t id, int32_t type) {
  out->ids[out->n] = id;
  out->types[out->n++] = type;
}

static rlx_status write_parts(const rlx_tokenizer *t, const int32_t *first, const int32_t *second, lengths n,
                              text_two *out) {
  size_t bytes = count_tokens(t) + n.first + n.second;
  if (!rlx_mul_size(bytes, 2 * sizeof *out->ids, &bytes)) return RLX_FAIL(RLX_NO_MEMORY, "a pair of texts");
  out->ids = rlx_mem_alloc(bytes);
  if (!out->ids) return RLX_FAIL(RLX_NO_MEMORY, "a pair of texts");
  out->types = out->ids + bytes / (2 * sizeof *out->ids);
  for (size_t i = 0; i < t->n_parts; i++) {
    const text_part *p = &t->parts[i];
    const int32_t *ids = p->id == TEXT_FIRST ? first : second;
    size_t length = p->id == TEXT_FIRST ? n.first : n.second;
    if (p->id >= 0) put(out, p->id, p->type);
    for (size_t k = 0; p->id < 0 && k < length; k++) put(out, ids[k], p->type);
  }
  return RLX_OK;
}

rlx_status text_encode_two(const rlx_tokenizer *t, text_span first, text_span second, size_t room, text_two *out) {
  int32_t *ids[2] = {NULL, NULL};
  lengths all = {0, 0};
  *out = (text_two){0};
  const size_t around = count_tokens(t);
  if (!t->n_parts) return RLX_FAIL(RLX_UNSUPPORTED, "the tokenizer does not say how a pair of texts is written");
  if (room <= around)
    return RLX_FAIL(RLX_INVALID, "a pair of texts with %zu tokens around them in a room of %zu", around, room);
  rlx_status s = rlx_tokenizer_encode(t, first.p, first.n, 0, &ids[0], &all.first);
  if (!s) s = rlx_tokenizer_encode(t, second.p, second.n, 0, &ids[1], &all.second);
  lengths n = fit(all, room - around);
  if (!s && !(around + n.first + n.second)) s = RLX_FAIL(RLX_INVALID, "a pair of texts without a token");
  if (!s) s = write_parts(t, ids[0], ids[1], n, out);
  out->n_cut = s ? 0 : all.first - n.first + all.second - n.second;
  rlx_free(ids[0]);
  rlx_free(ids[1]);
  return s;
}
