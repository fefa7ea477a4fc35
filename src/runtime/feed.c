/* Feeds: after a run, outputs become inputs and states of the next run without leaving the device.
 *
 * All feeds of a run are simultaneous: each reads the output as the run stored it. If one would overwrite what another
 * still has to read (an output that is itself a fed input), all of them go through host memory, which is allocated when
 * the feeds are prepared. Otherwise each feed is one copy on the device, which can also be submitted after a run that
 * is not waited for. */
#include <string.h>

#include "base/arith.h"
#include "runtime/executable.h"

static bool place_of(const rlx_executable *e, rlx_node n, rlx_bound *at) {
  const rlx_arena_entry *entry = n ? rlx_arena_get(e->now->arena, n) : NULL;
  *at = entry ? entry->at : (rlx_bound){0};
  return entry != NULL;
}

static bool overlap(const rlx_bound *a, const rlx_bound *b) {
  return a->block == b->block && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static rlx_status check_types(const rlx_executable *e, const rlx_leaf *l) {
  const rlx_graph *g = e->now->compiled->graph;
  const char *output = e->key.graph->outputs.v[l->fed_by - 1].name;
  if (!l->here) return RLX_FAIL(RLX_UNSUPPORTED, "'%s' cannot be fed: nothing reads it", l->name);
  const rlx_type *from = &rlx_graph_at(g, e->results[l->fed_by - 1].here)->type, *to = &rlx_graph_at(g, l->here)->type;
  if (rlx_type_equal(from, to)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "output '%s' is %s%s and cannot be fed into '%s', which is %s%s", output,
                  rlx_dtype_name(from->dtype), RLX_DIMS_TEXT(from->shape), l->name, rlx_dtype_name(to->dtype),
                  RLX_DIMS_TEXT(to->shape));
}

/* Whether this feed overwrites the source of any feed. */
static bool is_hazard(const rlx_executable *e, const rlx_leaf *l) {
  rlx_bound to, from;
  if (!place_of(e, l->here, &to)) return false;
  for (size_t i = 0; i < e->n_leaves; i++) {
    const rlx_leaf *other = &e->leaves[i];
    if (!other->fed_by || !place_of(e, e->results[other->fed_by - 1].here, &from)) continue;
    bool itself = other == l && from.block == to.block && from.offset == to.offset;
    if (!itself && overlap(&to, &from)) return true;
  }
  return false;
}

static rlx_status make_staging(rlx_executable *e) {
  size_t bytes = 0;
  for (size_t i = 0; i < e->n_leaves; i++) {
    rlx_bound from;
    if (e->leaves[i].fed_by && place_of(e, e->results[e->leaves[i].fed_by - 1].here, &from) &&
        !rlx_add_size(bytes, (size_t)from.bytes, &bytes))
      return RLX_FAIL(RLX_NO_MEMORY, "the feeds are too large");
  }
  e->feed_staging = rlx_mem_alloc(bytes);
  return e->feed_staging ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%zu bytes for feeds", bytes);
}

rlx_status rlx_feeds_prepare(rlx_executable *e) {
  bool any_hazard = false;
  rlx_mem_free(e->feed_staging);
  e->feed_staging = NULL;
  for (size_t i = 0; i < e->n_leaves; i++) {
    if (!e->leaves[i].fed_by) continue;
    RLX_TRY(check_types(e, &e->leaves[i]));
    any_hazard = any_hazard || is_hazard(e, &e->leaves[i]);
  }
  return any_hazard ? make_staging(e) : RLX_OK;
}

/* ---- after a run ---- */

static rlx_status feed_directly(rlx_executable *e, const rlx_leaf *l) {
  rlx_node from = e->results[l->fed_by - 1].here;
  size_t count = rlx_dims_count(&rlx_graph_at(e->now->compiled->graph, from)->type.shape);
  if (!rlx_arena_has(e->now->arena, l->here)) return RLX_OK;
  return rlx_arena_copy_prefix(e->now->arena, l->here, e->now->arena, from, count);
}

/* Called twice: first all reads, then all writes. */
static rlx_status feed_staged(rlx_executable *e, const rlx_leaf *l, bool write, size_t *used) {
  rlx_node from = e->results[l->fed_by - 1].here;
  const rlx_type *type = &rlx_graph_at(e->now->compiled->graph, from)->type;
  size_t count = rlx_dims_count(&type->shape);
  rlx_bound at;
  place_of(e, from, &at);
  void *data = e->feed_staging + *used;
  *used += (size_t)at.bytes;
  if (!write) return rlx_arena_read(e->now->arena, from, type->dtype, data, count);
  return rlx_arena_has(e->now->arena, l->here) ? rlx_arena_write(e->now->arena, l->here, type->dtype, data, count)
                                               : RLX_OK;
}

rlx_status rlx_feeds_run(rlx_executable *e) {
  for (int round = 0; round < (e->feed_staging ? 2 : 1); round++) {
    size_t used = 0;
    for (size_t i = 0; i < e->n_leaves; i++) {
      rlx_leaf *l = &e->leaves[i];
      if (!l->fed_by) continue;
      RLX_TRY_AT(e->feed_staging ? feed_staged(e, l, round == 1, &used) : feed_directly(e, l), "feeding '%s'", l->name);
      l->has_value = true;
    }
  }
  return RLX_OK;
}

/* ---- after submitted runs ---- */

/* Source and destination of a feed; false: the destination is unused. */
static bool feed_path(const rlx_executable *e, const rlx_leaf *l, const rlx_arena_entry **from,
                      const rlx_arena_entry **to) {
  *from = rlx_arena_get(e->now->arena, e->results[l->fed_by - 1].here);
  *to = l->here ? rlx_arena_get(e->now->arena, l->here) : NULL;
  return *to != NULL;
}

bool rlx_feeds_can_submit(const rlx_executable *e) {
  const rlx_arena_entry *from, *to;
  if (e->feed_staging) return false;
  for (size_t i = 0; i < e->n_leaves; i++)
    if (e->leaves[i].fed_by && feed_path(e, &e->leaves[i], &from, &to) && (!from || from->layout || to->layout))
      return false;
  return true;
}

rlx_status rlx_feeds_submit(rlx_executable *e) {
  rlx_queue *q = rlx_executable_queue(e);
  const rlx_arena_entry *from, *to;
  for (size_t i = 0; i < e->n_leaves; i++) {
    rlx_leaf *l = &e->leaves[i];
    if (!l->fed_by) continue;
    l->has_value = true;
    if (!feed_path(e, l, &from, &to) || !to->at.bytes) continue;
    if (from->at.block == to->at.block && from->at.offset == to->at.offset) continue;
    RLX_TRY_AT(q->device->backend->copy(q, to->at.block, to->at.offset, from->at.block, from->at.offset, to->at.bytes),
               "feeding '%s'", l->name);
  }
  return RLX_OK;
}

/* ---- the call ---- */

static rlx_status feed(rlx_executable *e, const char *output, const char *to) {
  const char *call = "rlx_executable_feed";
  rlx_leaf *l = rlx_leaf_find(e, to);
  uint32_t from = output ? rlx_result_find(e, output) : 0;
  if (!to) return RLX_FAIL(RLX_INVALID, "%s: to is NULL", call);
  if (!l || l->op == RLX_OP_param) return RLX_FAIL(RLX_NOT_FOUND, "%s: the graph has no input or state '%s'", call, to);
  if (from == UINT32_MAX) return RLX_FAIL(RLX_NOT_FOUND, "%s: the graph has no output '%s'", call, output);
  if (output && l->bound) return RLX_FAIL(RLX_INVALID, "%s: input '%s' is bound to the caller's memory", call, to);
  if (output && e->is_open && l->op == RLX_OP_input)
    return RLX_FAIL(RLX_UNSUPPORTED, "%s: input '%s' cannot be fed while sizes are open: bind all symbols", call, to);
  uint32_t was = l->fed_by;
  l->fed_by = output ? from + 1 : 0;
  rlx_status s = e->now ? rlx_feeds_prepare(e) : RLX_OK;
  if (s) l->fed_by = was;
  if (s && e->now && rlx_feeds_prepare(e)) l->fed_by = 0; /* the old feeds cannot be restored: drop it */
  return s;
}

rlx_status rlx_executable_feed(rlx_executable *e, const char *output, const char *to) {
  RLX_TRY(rlx_enter(e, "rlx_executable_feed"));
  rlx_status s = feed(e, output, to);
  return rlx_leave(e, s);
}
