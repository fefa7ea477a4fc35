/* Conversations: the caller passes all messages each time; the tokens that the sequence already holds are kept and
 * only the rest is computed.
 *
 * A conversation outgrows any context. With `shift`, its oldest messages are then left out, except the leading
 * system messages. Only whole turns are dropped, and the first remaining message is the user's, because a model that
 * sees half a turn answers nonsense. Enough turns are dropped to leave half of the context free, so that the
 * beginning stays computed over the next turns. The sequence stores how many were dropped, since the next call
 * passes all messages again. */
#include <string.h>

#include "base/mem.h"
#include "model/engine.h"
#include "text/text.h"

typedef struct conversation {
  rlx_lm *lm;
  const char *chat_template;  /* a name of the table .. */
  rlx_chat_template *program; /* .. or what the file has, run */
  const rlx_chat_message *messages;
  size_t n, head; /* head: leading system messages, which stay */
  const rlx_lm_options *options;
  rlx_chat_message *kept; /* room for n */
  int32_t *ids;
  size_t n_ids;
} conversation;

static bool is_role(const rlx_chat_message *m, const char *role) { return m->role && strcmp(m->role, role) == 0; }

/* Encodes the conversation without messages `head` .. `from` - 1. */
static rlx_status encode_from(conversation *c, size_t from) {
  unsigned flags = c->options->special == RLX_LM_SPECIAL_PARSE ? RLX_TOKENS_PARSE_SPECIAL : 0u;
  size_t n = c->head;
  for (size_t i = 0; i < c->head; i++) c->kept[i] = c->messages[i];
  for (size_t i = from; i < c->n; i++) c->kept[n++] = c->messages[i];
  rlx_free(c->ids);
  c->ids = NULL;
  flags |= RLX_TOKENS_ADD_SPECIAL;
  if (c->program)
    return text_chat_program_encode(c->program, c->lm->tokenizer, c->kept, n, true, flags, &c->ids, &c->n_ids);
  return rlx_chat_encode(c->lm->tokenizer, c->chat_template, c->kept, n, true, flags, &c->ids, &c->n_ids);
}

/* The next user message at or after `from`; the last message if there is none. */
static size_t next_start(const conversation *c, size_t from) {
  while (from + 1 < c->n && !is_role(&c->messages[from], "user")) from++;
  return from < c->n ? from : c->n - 1;
}

/* Whether there is room for an answer: max_tokens, but at most a quarter of the context. */
static bool leaves_room(const conversation *c) {
  size_t quarter = c->lm->context / 4, room = c->options->max_tokens;
  if (!room || room > quarter) room = quarter;
  return c->n_ids + room <= c->lm->context;
}

/* Binary search for the first message to keep so that the tokens fill at most half of the context: fewer messages
 * never have more tokens. */
static rlx_status find_start(conversation *c, size_t *start) {
  size_t low = c->head, high = c->n - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    RLX_TRY(encode_from(c, next_start(c, middle)));
    if (c->n_ids <= c->lm->context / 2) high = middle;
    else low = middle + 1;
  }
  *start = next_start(c, low);
  return encode_from(c, *start);
}

/* *dropped: the number of messages left out. */
static rlx_status fit_context(conversation *c, size_t *dropped) {
  lm_sequence *q = &c->lm->sequences[c->options->sequence];
  *dropped = 0;
  RLX_TRY(encode_from(c, c->head));
  if (!c->options->shift || leaves_room(c) || c->n <= c->head + 1) return RLX_OK;
  size_t start = c->head + q->dropped;
  bool goes_on = q->dropped && start < c->n && next_start(c, start) == start;
  if (goes_on) RLX_TRY(encode_from(c, start));
  if (!goes_on || !leaves_room(c)) RLX_TRY(find_start(c, &start));
  *dropped = start - c->head;
  return RLX_OK;
}

/* The name that was given, the row that matches the file's template, or that template itself. */
static rlx_status find_template(conversation *c, const char *name) {
  rlx_saved_message none;
  c->chat_template = name ? name : rlx_chat_template_of(c->lm->file);
  if (c->chat_template) return RLX_OK;
  rlx_message_save(&none);
  rlx_status s = rlx_chat_template_load(c->lm->file, &c->program);
  if (s == RLX_NOT_FOUND) rlx_message_restore(&none); /* it lists the names */
  return s == RLX_NOT_FOUND ? RLX_UNSUPPORTED : s;
}

static rlx_status reply(conversation *c, rlx_lm_text_fn fn, void *user, rlx_lm_stats *stats) {
  lm_sequence *q = &c->lm->sequences[c->options->sequence];
  size_t same = 0, dropped;
  RLX_TRY(fit_context(c, &dropped));
  if (c->options->shift && c->n_ids >= c->lm->context)
    return RLX_FAIL(RLX_INVALID,
                    "the last message and what comes with it have %zu tokens: the context holds %u, an answer included",
                    c->n_ids, (unsigned)c->lm->context);
  while (same < q->ids.n && same < c->n_ids && q->ids.v[same] == c->ids[same]) same++;
  RLX_TRY(lm_truncate(c->lm, c->options->sequence, (uint32_t)same));
  q->dropped = dropped;
  stats->n_dropped = (uint32_t)dropped;
  return lm_generate_text(c->lm, c->ids + same, c->n_ids - same, c->options, fn, user, stats);
}

rlx_status lm_reply(rlx_lm *lm, const char *chat_template, const rlx_chat_message *messages, size_t n,
                    const rlx_lm_options *options, rlx_lm_text_fn fn, void *user, rlx_lm_stats *stats) {
  RLX_TRY(lm_check_text_call(lm, "rlx_lm_reply", options, fn != NULL));
  if (!messages || !n) return RLX_FAIL(RLX_INVALID, "rlx_lm_reply: there are no messages");
  if (n > UINT32_MAX) return RLX_FAIL(RLX_INVALID, "rlx_lm_reply: %zu messages", n);
  conversation c = {.lm = lm, .messages = messages, .n = n, .options = options};
  RLX_TRY(find_template(&c, chat_template));
  while (c.head < n && is_role(&messages[c.head], "system")) c.head++;
  if (c.head == n) c.head = 0;
  c.kept = rlx_mem_calloc(n, sizeof *c.kept);
  rlx_status s = c.kept ? reply(&c, fn, user, stats) : RLX_FAIL(RLX_NO_MEMORY, "a conversation of %zu messages", n);
  rlx_mem_free(c.kept);
  rlx_free(c.ids);
  rlx_chat_template_destroy(c.program);
  return s;
}
