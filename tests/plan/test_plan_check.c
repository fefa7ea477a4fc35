/* The checker of plans: 1,000 plans, each corrupted in one place, must all be rejected.
 *
 * Every kind of damage below is harmful wherever it is applied: a window that is read or written moves or changes size,
 * a step comes too early, twice or not at all, bytes are freed while they are needed. Harmless changes (a storage that
 * lives longer than it must, for example) are excluded. */
#include <stdlib.h>

#include "faults.h"
#include "plan/plan.h"
#include "plan_graphs.h"
#include "test.h"

typedef struct damage {
  rlx_plan *p;
  uint64_t seed;
  rlx_step *steps; /* capacity: one more than the plan has */
  rlx_step *kept;  /* the plan's own */
  size_t n_kept;
  void *field; /* another overwritten field, and its original bytes */
  size_t field_bytes;
  unsigned char old[sizeof(rlx_step)];
} damage;

static uint32_t draw(damage *d, uint32_t below) {
  d->seed = d->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(d->seed >> 33) % below;
}

/* Saves a field before it is changed. Windows are const in the plan; here they are not. */
static void *change(damage *d, const void *field, size_t bytes) {
  d->field = (void *)(uintptr_t)field;
  d->field_bytes = bytes;
  memcpy(d->old, field, bytes);
  return d->field;
}

static void repair(damage *d) {
  if (d->field) memcpy(d->field, d->old, d->field_bytes);
  d->field = NULL;
  d->p->steps = d->kept;
  d->p->n_steps = d->n_kept;
}

/* ---- kinds of damage ---- */

/* The i-th step of the kind, counted cyclically from a random one; NULL: there is none. */
static const rlx_step *some_step(damage *d, rlx_step_kind kind) {
  size_t n = d->p->n_steps, from = n ? draw(d, (uint32_t)n) : 0;
  for (size_t i = 0; i < n; i++) {
    const rlx_step *s = &d->p->steps[(from + i) % n];
    if (s->kind == kind) return s;
  }
  return NULL;
}

/* A window with bytes that a node step reads. */
static const rlx_window *some_read(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s || !s->n_in) return NULL;
  const rlx_window *w = &s->in[draw(d, s->n_in)];
  return w->segment && w->bytes ? w : NULL;
}

static uint64_t other_offset(damage *d, uint64_t offset) {
  static const uint64_t by[] = {1, 4, 64, 256, 4096};
  uint64_t delta = by[draw(d, 5)];
  return draw(d, 2) && offset >= delta ? offset - delta : offset + delta;
}

static bool move(damage *d, const rlx_window *at) {
  if (!at) return false;
  rlx_window *w = change(d, at, sizeof *at);
  w->offset = other_offset(d, w->offset);
  return true;
}

static bool resize(damage *d, const rlx_window *at) {
  if (!at) return false;
  rlx_window *w = change(d, at, sizeof *at);
  w->bytes = draw(d, 2) ? w->bytes + 1 + draw(d, 300) : w->bytes - 1;
  return true;
}

static bool move_read(damage *d) { return move(d, some_read(d)); }
static bool resize_read(damage *d) { return resize(d, some_read(d)); }

static bool other_block(damage *d) {
  const rlx_window *at = some_read(d);
  if (!at) return false;
  rlx_window *w = change(d, at, sizeof *at);
  w->block += 1 + draw(d, 3);
  return true;
}

static bool absent_read(damage *d) {
  const rlx_window *at = some_read(d);
  if (!at) return false;
  *(rlx_window *)change(d, at, sizeof *at) = (rlx_window){0};
  return true;
}

static bool wild_read(damage *d) {
  const rlx_window *at = some_read(d);
  if (!at) return false;
  rlx_window *w = change(d, at, sizeof *at);
  w->offset = UINT64_MAX - draw(d, 1000);
  return true;
}

static bool contains(const rlx_window *a, const rlx_window *b) {
  return a->segment == b->segment && a->block == b->block && a->offset <= b->offset &&
         b->offset + b->bytes <= a->offset + a->bytes;
}

/* Whether a step reads what this copy writes: a part of a concat that is only read elsewhere would not be missed. */
static bool is_read(const damage *d, const rlx_step *copy) {
  const rlx_plan *p = d->p;
  const rlx_window *w = &copy->out[0];
  size_t at = (size_t)(copy - p->steps), last = 0;
  for (size_t i = 0; i < p->n_storages; i++)
    if (contains(&p->storages[i].at, w) && p->storages[i].first <= at && p->storages[i].last >= at)
      last = p->storages[i].last;
  for (size_t i = at + 1; i <= last && i < p->n_steps; i++)
    for (uint32_t k = 0; k < p->steps[i].n_in; k++)
      if (contains(&p->steps[i].in[k], w)) return true;
  for (size_t i = 0; last + 1 == p->n_steps && i < p->graph->outputs.n; i++)
    if (contains(&p->at[p->graph->outputs.v[i].node], w)) return true;
  return false;
}

static bool move_write(damage *d) {
  const rlx_step *s = some_step(d, draw(d, 3) ? RLX_STEP_NODE : RLX_STEP_COPY);
  return s && (s->kind == RLX_STEP_NODE || is_read(d, s)) && move(d, &s->out[draw(d, s->n_out)]);
}

static bool resize_write(damage *d) {
  const rlx_step *s = some_step(d, draw(d, 3) ? RLX_STEP_NODE : RLX_STEP_COPY);
  return s && resize(d, &s->out[draw(d, s->n_out)]);
}

static bool write_to_weights(damage *d) {
  const rlx_step *s = some_step(d, draw(d, 3) ? RLX_STEP_NODE : RLX_STEP_COPY);
  if (!s) return false;
  rlx_window *w = change(d, &s->out[0], sizeof s->out[0]);
  w->segment = draw(d, 2) ? RLX_SEGMENT_WEIGHTS : RLX_SEGMENT_NONE;
  return true;
}

/* By less than an element, so that no other copy of the value can be there. */
static bool move_copied(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_COPY);
  if (!s) return false;
  rlx_window *w = change(d, &s->in[0], sizeof s->in[0]);
  w->offset += 1 + draw(d, 3);
  return true;
}

static bool copy_onto_itself(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_COPY);
  if (!s || s->in[0].segment != RLX_SEGMENT_SCRATCH) return false;
  *(rlx_window *)change(d, &s->out[0], sizeof s->out[0]) = s->in[0];
  return true;
}

static bool move_work(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s || !s->work.bytes) return false;
  rlx_window *w = change(d, &s->work, sizeof s->work);
  const rlx_window *onto = draw(d, 2) ? &s->out[0] : &s->in[0];
  if (onto->segment != RLX_SEGMENT_SCRATCH) return false;
  w->block = onto->block;
  w->offset = onto->offset;
  return true;
}

static bool resize_work(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  return s && s->work.bytes && resize(d, &s->work);
}

static bool flip_host(damage *d) {
  const rlx_step *s = some_step(d, draw(d, 3) ? RLX_STEP_NODE : RLX_STEP_COPY);
  if (!s) return false;
  rlx_step *t = change(d, s, sizeof *s);
  t->host = !t->host;
  return true;
}

static bool fewer_windows(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s) return false;
  rlx_step *t = change(d, s, sizeof *s);
  if (draw(d, 2) && t->n_in) t->n_in--;
  else t->n_out = 0;
  return true;
}

static bool node_as_copy(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s) return false;
  rlx_step *t = change(d, s, sizeof *s);
  /* An op that only moves bytes may be a copy of the same bytes. */
  bool moves = rlx_op_table_has(rlx_graph_at(d->p->graph, s->node)->op, RLX_TRAIT_MOVES);
  t->kind = draw(d, 2) && !moves ? RLX_STEP_COPY : (rlx_step_kind)7;
  return true;
}

static bool wrong_node(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s) return false;
  rlx_node *id = change(d, draw(d, 2) ? &s->node : s->nodes, sizeof *id);
  *id = draw(d, 8)   ? 1 + (*id + draw(d, 20)) % (rlx_graph_end(d->p->graph) - 1)
        : draw(d, 2) ? 0
                     : UINT32_MAX - draw(d, 9);
  return *id != s->nodes[0] || *id != s->node;
}

/* ---- order ---- */

static void take_steps(damage *d) {
  memcpy(d->steps, d->kept, d->n_kept * sizeof *d->steps);
  d->p->steps = d->steps;
}

/* Exchanges a step and a reader of its result. */
static bool too_early(damage *d) {
  const rlx_step *s = some_step(d, RLX_STEP_NODE);
  if (!s) return false;
  size_t i = (size_t)(s - d->p->steps);
  for (size_t j = i + 1; j < d->n_kept; j++) {
    const rlx_step *t = &d->kept[j];
    const rlx_node_rec *n = rlx_graph_at(d->p->graph, t->node);
    for (uint32_t k = 0; t->kind == RLX_STEP_NODE && k < n->n_in; k++) {
      if (n->in[k] != s->node) continue;
      take_steps(d);
      d->steps[i] = d->kept[j];
      d->steps[j] = d->kept[i];
      return true;
    }
  }
  return false;
}

static bool drop_step(damage *d) {
  if (!d->n_kept) return false;
  take_steps(d);
  size_t i = draw(d, (uint32_t)d->n_kept);
  memmove(&d->steps[i], &d->steps[i + 1], (d->n_kept - i - 1) * sizeof *d->steps);
  d->p->n_steps--;
  return true;
}

static bool double_step(damage *d) {
  if (!d->n_kept) return false;
  take_steps(d);
  size_t i = draw(d, (uint32_t)d->n_kept);
  memmove(&d->steps[i + 1], &d->steps[i], (d->n_kept - i) * sizeof *d->steps);
  d->p->n_steps++;
  return true;
}

/* ---- blocks, locations, storages, slots ---- */

static bool resize_block(damage *d) {
  uint32_t b = draw(d, d->p->n_scratch);
  uint64_t *bytes = change(d, &d->p->scratch[b], sizeof *bytes);
  uint64_t by = 1 + draw(d, 400);
  *bytes = draw(d, 4) && *bytes ? *bytes - (by < *bytes ? by : *bytes) : *bytes + by;
  return true;
}

/* A location that is read: of a step's result, an input or an output. */
static bool move_place(damage *d) {
  const rlx_graph *g = d->p->graph;
  rlx_node id = 0;
  if (draw(d, 2)) id = g->outputs.v[draw(d, (uint32_t)g->outputs.n)].node;
  else {
    const rlx_step *s = some_step(d, RLX_STEP_NODE);
    if (!s) return false;
    id = s->node;
  }
  if (!d->p->at[id].bytes) return false;
  return draw(d, 2) ? move(d, &d->p->at[id]) : resize(d, &d->p->at[id]);
}

static bool no_place(damage *d) {
  rlx_node id = d->p->graph->outputs.v[0].node;
  *(rlx_window *)change(d, &d->p->at[id], sizeof(rlx_window)) = (rlx_window){0};
  return true;
}

static bool spoil_storage(damage *d) {
  if (!d->p->n_storages) return false;
  rlx_storage *s = &d->p->storages[draw(d, (uint32_t)d->p->n_storages)];
  change(d, s, sizeof *s);
  switch (draw(d, 5)) {
    case 0: s->at.offset = other_offset(d, s->at.offset); return true;
    case 1: s->at.bytes--; return true;
    case 2: s->last = s->last ? s->last - 1 : (uint32_t)d->n_kept; return true;
    case 3: s->first = s->last + 1; return true;
    default: s->at.block += 1; return true;
  }
}

static bool swap_slots(damage *d) {
  bool states = draw(d, 2);
  rlx_node *v = states ? d->p->states : d->p->weights;
  uint32_t n = states ? d->p->n_states : d->p->n_weights;
  if (n < 2) return false;
  uint32_t i = draw(d, n - 1);
  change(d, &v[i], 2 * sizeof *v);
  rlx_node t = v[i];
  v[i] = v[i + 1];
  v[i + 1] = t;
  return true;
}

static bool fewer_slots(damage *d) {
  uint32_t *n = draw(d, 2) ? &d->p->n_states : &d->p->n_weights;
  if (!*n) return false;
  change(d, n, sizeof *n);
  --*n;
  return true;
}

static bool wrong_total(damage *d) {
  uint64_t *n = draw(d, 2) ? &d->p->lower_bound : &d->p->scratch_bytes;
  change(d, n, sizeof *n);
  *n += 1 + draw(d, 1000);
  return true;
}

static const struct {
  const char *name;
  bool (*spoil)(damage *d); /* false: not applicable */
} kinds[] = {
  {"move a read", move_read},
  {"resize a read", resize_read},
  {"read another block", other_block},
  {"forget a read", absent_read},
  {"read far outside", wild_read},
  {"move a write", move_write},
  {"resize a write", resize_write},
  {"write to weights or nowhere", write_to_weights},
  {"copy from beside", move_copied},
  {"copy onto itself", copy_onto_itself},
  {"workspace over a value", move_work},
  {"resize workspace", resize_work},
  {"flip host", flip_host},
  {"fewer windows", fewer_windows},
  {"another kind of step", node_as_copy},
  {"wrong node", wrong_node},
  {"a step too early", too_early},
  {"a step dropped", drop_step},
  {"a step doubled", double_step},
  {"resize a block", resize_block},
  {"move a place", move_place},
  {"no place", no_place},
  {"spoil a storage", spoil_storage},
  {"swap slots", swap_slots},
  {"fewer slots", fewer_slots},
  {"wrong total", wrong_total},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- the tests ---- */

static void needs_work(void *user, const rlx_graph *g, rlx_node n, rlx_node_needs *out) {
  (void)user;
  rlx_op op = rlx_graph_at(g, n)->op;
  out->native = op != RLX_OP_exp;
  out->in_place = op == RLX_OP_relu || op == RLX_OP_add ? 3 : 0;
  out->work_bytes = op == RLX_OP_matmul ? 512 : 0;
}

static const rlx_plan_options options[] = {
  {.align = 64},
  {.align = 64, .needs = needs_work},
  {.align = 64, .switches = RLX_SWITCH_NO_VIEWS},
  {.align = 16, .view_align = 16},
};

/* Corrupts one plan in a few ways; counts the damage by kind. */
static void spoil_plan(rlx_plan *p, const rlx_plan_options *o, uint64_t seed, uint32_t *n_spoiled) {
  damage d = {.p = p, .seed = seed, .kept = p->steps, .n_kept = p->n_steps};
  d.steps = malloc((p->n_steps + 1) * sizeof *d.steps);
  CHECK(d.steps);
  for (uint32_t done = 0, tries = 0; done < 10 && tries < 200; tries++) {
    uint32_t kind = draw(&d, KINDS);
    bool is_spoiled = kinds[kind].spoil(&d);
    rlx_status s = rlx_plan_check(p, o);
    char why[256];
    snprintf(why, sizeof why, "%s", s ? rlx_message() : "");
    repair(&d);
    if (!is_spoiled) continue;
    if (s != RLX_INVALID) free(d.steps);
    if (s != RLX_INVALID)
      FAIL("plan %llu: '%s' was not caught (%s)", (unsigned long long)seed, kinds[kind].name, rlx_status_name(s));
    n_spoiled[kind]++;
    done++;
  }
  CHECK_OK(rlx_plan_check(p, o));
  free(d.steps);
}

TEST(every_spoiled_plan_is_caught) {
  uint32_t n_spoiled[KINDS] = {0}, total = 0;
  uint64_t n_plans = !getenv("RLX_SOAK") ? 120 : TEST_IS_SANITIZED ? 1200 : 12000;
  for (uint64_t seed = 1; seed <= n_plans; seed++) {
    rlx_graph *g;
    rlx_plan *p;
    const rlx_plan_options *o = &options[seed % (sizeof options / sizeof *options)];
    CHECK_OK(plan_graph_random(seed, 30 + (uint32_t)seed % 100, 256, &g));
    CHECK_OK(rlx_plan_build(g, o, &p));
    spoil_plan(p, o, seed, n_spoiled);
    rlx_plan_destroy(p);
    rlx_graph_destroy(g);
    if (test_has_failed()) return;
  }
  for (int i = 0; i < KINDS; i++) {
    if (!n_spoiled[i]) FAIL("no plan was spoiled by '%s'", kinds[i].name);
    total += n_spoiled[i];
  }
  CHECK(total >= 1000);
}

/* A plan that is valid under one set of options may be invalid under another. */
TEST(a_plan_is_checked_against_the_options) {
  rlx_graph *g;
  rlx_plan *p;
  CHECK_OK(plan_graph_random(3, 100, 256, &g));
  CHECK_OK(rlx_plan_build(g, NULL, &p));
  CHECK(p->n_in_place > 0);
  CHECK_FAILS(rlx_plan_check(p, &(rlx_plan_options){.switches = RLX_SWITCH_NO_IN_PLACE}), RLX_INVALID,
              "which is not permitted");
  CHECK_FAILS(rlx_plan_check(p, &(rlx_plan_options){.switches = RLX_SWITCH_KEEP_VALUES}), RLX_INVALID,
              "the plan is wrong");
  CHECK_FAILS(rlx_plan_check(p, &(rlx_plan_options){.needs = needs_work}), RLX_INVALID, "the plan is wrong");
  CHECK_FAILS(rlx_plan_check(p, &(rlx_plan_options){.align = 512}), RLX_INVALID, "alignment");
  CHECK_FAILS(rlx_plan_check(p, &(rlx_plan_options){.max_window_bytes = 16}), RLX_INVALID, "the limit is 16");
  CHECK_OK(rlx_plan_check(p, NULL));
  rlx_plan_destroy(p);
  rlx_graph_destroy(g);
}

static rlx_status check_again(void *user) { return rlx_plan_check(user, NULL); }

TEST(the_checker_may_run_out_of_memory) {
  rlx_graph *g;
  rlx_plan *p;
  CHECK_OK(plan_graph_random(5, 60, 256, &g));
  CHECK_OK(rlx_plan_build(g, NULL, &p));
  CHECK_OK(alloc_sweep(check_again, p));
  CHECK_FAILS(rlx_plan_check(NULL, NULL), RLX_INVALID, "NULL");
  rlx_plan_destroy(p);
  rlx_graph_destroy(g);
}
