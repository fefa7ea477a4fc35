/* One step of all requests: which tokens it computes, in which pages, by which program.
 *
 * A request that has one token to compute is a single; one with more is in its prompt, and gets runs of SLOTS tokens.
 * A program has room for certain numbers of both (model.h, step graph), so that a few programs serve all mixtures.
 * While others generate, prompts get half of the room, so that one long prompt does not hold up everybody. Prompts come
 * in the order in which they joined. */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "model/requests.h"

enum { SLOTS = 32 };

/* ---- Pages ---- */

enum { MIN_COPY = 8 }; /* tokens of a page that are worth copying */

void lm_request_release_pages(struct lm_requests *q, lm_request *r) {
  const uint32_t page = lm_pages_size(q->pages), last = r->done / page, n = r->done % page;
  if (n >= MIN_COPY && last < r->pages.n && !lm_scales_any(&r->scales))
    lm_pages_publish(q->pages, r->pages.v[last], last ? r->pages.v[last - 1] : LM_NO_PAGE,
                     r->ids.v + (size_t)last * page, n);
  for (size_t i = 0; i < r->pages.n; i++) lm_pages_release(q->pages, r->pages.v[i]);
  r->pages.n = 0;
  r->done = 0;
}

static uint32_t pages_for(const struct lm_requests *q, size_t tokens) {
  size_t page = lm_pages_size(q->pages);
  return (uint32_t)((tokens + page - 1) / page);
}

/* Copies the first n rows of a page, in every state. */
static rlx_status copy_rows(rlx_lm *lm, uint32_t from, uint32_t to, uint32_t n) {
  const uint64_t page = lm_pages_size(lm->requests->pages);
  lm_program *p;
  rlx_arena *a;
  void *rows = NULL;
  size_t room = 0;
  lm->scales = (lm_scales){0}; /* any program that has the states */
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = lm->n_sequences, .tokens = 1, .result = LM_TOKEN}, &p));
  RLX_TRY(rlx_executable_arena(p->executable, &a));
  const rlx_graph *g = rlx_executable_graph(p->executable);
  rlx_status s = RLX_OK;
  for (rlx_node i = 1; i <= rlx_graph_size(g) && !s; i++) {
    if (strcmp(rlx_node_op(g, i), "state") != 0) continue;
    rlx_dims row = rlx_node_shape(g, i); /* [sequences, context, ..] */
    size_t bytes;
    row.v[0] = 1;
    row.v[1] = n;
    s = rlx_tensor_bytes(rlx_node_dtype(g, i), row, &bytes);
    if (s) break;
    if (bytes > room) {
      rlx_mem_free(rows);
      rows = rlx_mem_alloc(room = bytes);
    }
    if (!rows) s = RLX_FAIL(RLX_NO_MEMORY, "%zu bytes of a page", bytes);
    if (!s) s = rlx_arena_read_raw(a, i, from * page * (bytes / n), rows, bytes);
    if (!s) s = rlx_arena_write_raw(a, i, to * page * (bytes / n), rows, bytes);
  }
  rlx_mem_free(rows);
  return s;
}

/* The page that its tokens go on in may begin as one that is there. At least one token is left to compute. */
static rlx_status copy_part(rlx_lm *lm, lm_request *r) {
  struct lm_requests *q = lm->requests;
  const uint32_t page = lm_pages_size(q->pages), left = (uint32_t)r->ids.n - r->done - 1;
  const uint32_t parent = r->pages.n ? r->pages.v[r->pages.n - 1] : LM_NO_PAGE;
  uint32_t n, from = lm_pages_find_part(q->pages, parent, r->ids.v + r->done, left < page ? left : page, &n);
  if (from == LM_NO_PAGE) return RLX_OK;
  uint32_t to = n < MIN_COPY ? LM_NO_PAGE : lm_pages_take(q->pages);
  rlx_status s = to == LM_NO_PAGE ? RLX_OK : copy_rows(lm, from, to, n);
  lm_pages_release(q->pages, from);
  if (to == LM_NO_PAGE) return s;
  r->pages.v[r->pages.n++] = to; /* there is room: take_held_pages */
  if (!s) r->done += n;
  return s;
}

/* Counts the pages that hold the beginning of its tokens already. At least one token is left to compute. What adapters
 * have changed is not shared: a page does not say which. */
static rlx_status take_held_pages(struct lm_requests *q, lm_request *r) {
  uint32_t page = lm_pages_size(q->pages), parent = LM_NO_PAGE;
  if (!rlx_array_reserve(&r->pages, pages_for(q, r->ids.n + 1)))
    return RLX_FAIL(RLX_NO_MEMORY, "the pages of a request");
  while ((r->pages.n + 1) * page < r->ids.n && !lm_scales_any(&r->scales)) {
    parent = lm_pages_find(q->pages, parent, r->ids.v + r->pages.n * page);
    if (parent == LM_NO_PAGE) break;
    r->pages.v[r->pages.n++] = parent;
  }
  r->done = (uint32_t)r->pages.n * page;
  return RLX_OK;
}

rlx_status lm_requests_admit(rlx_lm *lm) {
  struct lm_requests *q = lm->requests;
  while (q->waiting.n && q->running.n < lm->n_sequences) {
    lm_request *r = q->waiting.v[0];
    if (!rlx_array_reserve(&q->running, 1)) return RLX_FAIL(RLX_NO_MEMORY, "%zu requests", q->running.n + 1);
    RLX_TRY(take_held_pages(q, r));
    uint32_t missing = pages_for(q, r->ids.n + 1) - (uint32_t)r->pages.n;
    if (q->running.n && missing > lm_pages_available(q->pages)) {
      lm_request_release_pages(q, r);
      return RLX_OK;
    }
    if (!lm_scales_any(&r->scales)) RLX_TRY(copy_part(lm, r));
    if (!r->stats.n_tokens) {
      r->stats.n_held = r->done;
      r->stats.n_prompt_tokens = r->n_prompt - r->done;
    }
    q->running.v[q->running.n++] = r;
    q->waiting.n--;
    memmove(q->waiting.v, q->waiting.v + 1, q->waiting.n * sizeof *q->waiting.v);
  }
  return RLX_OK;
}

/* The request that joined last waits again, first of all. */
static rlx_status send_back(struct lm_requests *q) {
  if (!rlx_array_reserve(&q->waiting, 1)) return RLX_FAIL(RLX_NO_MEMORY, "%zu requests", q->waiting.n + 1);
  lm_request *r = q->running.v[--q->running.n];
  lm_request_release_pages(q, r);
  memmove(q->waiting.v + 1, q->waiting.v, q->waiting.n * sizeof *q->waiting.v);
  q->waiting.v[0] = r;
  q->waiting.n++;
  return RLX_OK;
}

/* Pages for the first `tokens` tokens of running request i; *is_there: it still runs. */
static rlx_status ensure_pages(struct lm_requests *q, size_t i, size_t tokens, bool *is_there) {
  lm_request *r = q->running.v[i];
  uint32_t wanted = pages_for(q, tokens);
  if (wanted > r->pages.n && !rlx_array_reserve(&r->pages, wanted - r->pages.n))
    return RLX_FAIL(RLX_NO_MEMORY, "the pages of a request");
  while (r->pages.n < wanted && i < q->running.n) {
    uint32_t page = lm_pages_take(q->pages);
    if (page == LM_NO_PAGE) RLX_TRY(send_back(q));
    else r->pages.v[r->pages.n++] = page;
  }
  *is_there = i < q->running.n;
  return RLX_OK;
}

/* ---- The size of the program ---- */

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ..: at least n, at most a half more. */
static uint32_t round_up(uint32_t n, uint32_t max) {
  uint32_t size = 1;
  while (size < n) size = size & (size - 1) ? size / 3 * 4 : size > 1 ? size / 2 * 3 : 2;
  return size < max ? size : max;
}

typedef struct step {
  uint32_t singles, groups, slots; /* runs in use; tokens of one of the second kind */
  bool has_result, has_guesses;
} step;

uint32_t lm_request_waiting(const lm_request *r) { return (uint32_t)r->ids.n - r->done; }

static uint32_t max_groups(const rlx_lm *lm, bool has_singles) {
  uint32_t room = (lm->pack ? lm->pack : lm->chunk) / SLOTS;
  if (has_singles) room /= 2;
  return room ? room : 1;
}

/* Decides what each request computes, and gets pages for it. */
static rlx_status plan_step(rlx_lm *lm, step *out) {
  struct lm_requests *q = lm->requests;
  *out = (step){.slots = SLOTS};
  uint32_t guess_slots;
  RLX_TRY(lm_requests_guess(lm, &guess_slots));
  out->has_guesses = guess_slots > 0;
  if (guess_slots) out->slots = guess_slots;
  for (size_t i = 0; i < q->running.n; i++) out->singles += lm_request_waiting(q->running.v[i]) == 1;
  uint32_t left = max_groups(lm, out->singles > 0);
  out->singles = 0;
  for (size_t i = 0; i < q->running.n; i++) {
    lm_request *r = q->running.v[i];
    if (r->has_ended) continue;
    uint32_t n = lm_request_waiting(r), room = left * SLOTS;
    r->step_tokens = n == 1 || n < room ? n + r->n_guess : room;
    if (!r->step_tokens) continue;
    bool is_there;
    RLX_TRY(ensure_pages(q, i, r->done + r->step_tokens, &is_there));
    if (!is_there) break; /* it was the last one */
    uint32_t groups = (r->step_tokens + SLOTS - 1) / SLOTS;
    if (r->n_guess) out->groups++;
    else if (n == 1) out->singles++;
    else out->groups += groups, left -= groups;
    out->has_result |= r->step_tokens >= n;
  }
  return RLX_OK;
}

/* ---- Inputs ---- */

static void clear_inputs(lm_program *p) {
  const lm_graph_desc *d = &p->desc;
  size_t runs = (size_t)d->singles + d->groups;
  memset(p->tokens, 0, d->tokens * sizeof *p->tokens);
  if (d->adapters) memset(p->scales, 0, (size_t)d->tokens * d->adapters * sizeof *p->scales);
  memset(p->positions, 0, d->tokens * sizeof *p->positions);
  for (uint32_t i = 0; i < d->tokens; i++) p->places[i] = -1;
  memset(p->pages, 0, runs * (d->context / d->page) * sizeof *p->pages);
  memset(p->picks, 0, runs * sizeof *p->picks);
  memset(p->position, 0, runs * sizeof *p->position);
  memset(p->length, 0, runs * sizeof *p->length);
}

static int32_t token_at(const lm_request *r, uint32_t i) { return i < r->ids.n ? r->ids.v[i] : r->guess[i - r->ids.n]; }

/* Writes n tokens of a request, from the `from`th on, as run `run`, whose first token is `at`. */
static void write_run(lm_program *p, const lm_request *r, uint32_t run, uint32_t at, uint32_t from, uint32_t n) {
  const uint32_t page = p->desc.page, width = p->desc.context / page;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t position = from + i;
    p->tokens[at + i] = token_at(r, position);
    p->positions[at + i] = (int32_t)position;
    p->places[at + i] = (int32_t)(r->pages.v[position / page] * page + position % page);
    for (uint32_t j = 0; j < p->desc.adapters; j++) p->scales[(at + i) * p->desc.adapters + j] = r->scales.v[j];
  }
  for (size_t i = 0; i < r->pages.n && i < width; i++) p->pages[run * width + i] = (int32_t)r->pages.v[i];
  p->position[run] = (int32_t)from;
  p->length[run] = (int32_t)n;
  p->picks[run] = (int32_t)(at + n - 1);
}

static void write_runs(const struct lm_requests *q, lm_program *p) {
  const uint32_t slots = p->desc.slots;
  const bool has_all = p->desc.result == LM_LOGITS; /* rows are tokens and not runs */
  uint32_t single = 0, group = 0;
  clear_inputs(p);
  for (size_t i = 0; i < q->running.n; i++) {
    lm_request *r = q->running.v[i];
    uint32_t n = r->step_tokens;
    bool is_last = n >= lm_request_waiting(r);
    r->row = UINT32_MAX;
    if (n == 1 && lm_request_waiting(r) == 1) {
      r->row = single;
      write_run(p, r, single, single, r->done, 1);
      single++;
      continue;
    }
    for (uint32_t k = 0; k < n; k += slots, group++) {
      uint32_t run = p->desc.singles + group, some = n - k < slots ? n - k : slots;
      uint32_t at = p->desc.singles + group * slots;
      write_run(p, r, run, at, r->done + k, some);
      if (is_last) r->row = has_all ? at : run;
    }
  }
}

/* ---- Running ---- */

void lm_request_advance(struct lm_requests *q, lm_request *r, uint32_t n) {
  uint32_t page = lm_pages_size(q->pages), before = r->done;
  r->done += n;
  if (lm_scales_any(&r->scales)) return;
  for (uint32_t k = before / page; (k + 1) * page <= r->done; k++)
    lm_pages_publish(q->pages, r->pages.v[k], k ? r->pages.v[k - 1] : LM_NO_PAGE, r->ids.v + (size_t)k * page, page);
}

rlx_status lm_requests_compute(rlx_lm *lm, lm_program **out) {
  struct lm_requests *q = lm->requests;
  step s;
  *out = NULL;
  for (size_t i = 0; i < q->running.n; i++) q->running.v[i]->step_tokens = q->running.v[i]->n_guess = 0;
  const uint64_t begin = rlx_now_ns();
  RLX_TRY(plan_step(lm, &s));
  const uint64_t planned = rlx_now_ns();
  if (!s.singles && !s.groups) return RLX_OK;
  lm_graph_desc d = {
    .sequences = lm->n_sequences,
    .page = lm_pages_size(q->pages),
    .singles = s.singles ? round_up(s.singles, lm->n_sequences) : 0,
    .groups = s.groups ? round_up(s.groups, s.has_guesses ? lm->n_sequences : max_groups(lm, s.singles > 0)) : 0,
    .slots = s.groups ? s.slots : 0,
    .result = s.has_guesses  ? LM_LOGITS
              : s.has_result ? LM_LAST
                             : LM_NONE};
  d.tokens = d.singles + d.groups * d.slots;
  lm_program *p;
  lm->scales = (lm_scales){0};
  for (size_t i = 0; i < q->running.n; i++) /* a program with adapters if one of them needs it */
    if (q->running.v[i]->step_tokens && lm_scales_any(&q->running.v[i]->scales)) lm->scales = q->running.v[i]->scales;
  RLX_TRY(lm_program_get(lm, &d, &p));
  write_runs(q, p);
  const uint64_t found = rlx_now_ns(); /* compiling a program does not count */
  RLX_TRY(lm_program_write(lm, p));
  RLX_TRY(rlx_executable_run(p->executable));
  q->step_ns = planned - begin + rlx_now_ns() - found;
  for (size_t i = 0; i < q->running.n; i++) /* which guesses are right is not known yet */
    lm_request_advance(q, q->running.v[i], q->running.v[i]->step_tokens - q->running.v[i]->n_guess);
  *out = p;
  return RLX_OK;
}
