/* Compares a device with the reference step by step: which node is the first to differ, and by how much.
 *
 * The reference also executes each device step, on the same input bytes as the device. An error in one step therefore
 * does not show up again in all later ones. Inputs are read before the step, because the result may overwrite them in
 * place. Otherwise the run is an ordinary one. */
#include "ref/compare.h"

#include <math.h>
#include <stdio.h>

#include "ir/element.h"
#include "ir/walk.h"
#include "runtime/executable.h"

typedef struct comparison {
  rlx_executable *e;
  void (*row)(void *user, const rlx_compare_row *row);
  void *user;
  uint32_t n_differ;
  /* of one step */
  rlx_bump values, scratch;
  rlx_tensor *in_values;
  const rlx_tensor **in;
} comparison;

static rlx_status new_tensor(comparison *c, const rlx_type *type, rlx_tensor *out) {
  *out = (rlx_tensor){.dtype = type->dtype, .shape = type->shape};
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &out->bytes));
  out->data = rlx_bump_alloc(&c->values, out->bytes, 1);
  return out->data ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "comparing %zu bytes", out->bytes);
}

static rlx_status read_window(comparison *c, const rlx_window *w, rlx_node n, rlx_tensor *out) {
  const rlx_compiled *compiled = c->e->now->compiled;
  const rlx_type *type = &rlx_graph_at(compiled->graph, n)->type;
  rlx_bound at = rlx_instance_bound(c->e->now, w);
  uint32_t layout = w->segment == RLX_SEGMENT_WEIGHTS ? compiled->layout[n] : 0;
  RLX_TRY(new_tensor(c, type, out));
  return out->bytes ? rlx_bound_read(rlx_executable_queue(c->e), &at, type, layout, type->dtype, out->data,
                                     rlx_dims_count(&type->shape))
                    : RLX_OK;
}

static bool is_compared(const rlx_step *s) { return !s->host && s->kind == RLX_STEP_NODE; }

static rlx_status read_inputs(void *user, size_t step) {
  comparison *c = user;
  const rlx_compiled *compiled = c->e->now->compiled;
  const rlx_step *s = &compiled->plan->steps[step];
  const rlx_node_rec *n = rlx_graph_at(compiled->graph, s->node);
  rlx_bump_reset(&c->values);
  if (!is_compared(s)) return RLX_OK;
  c->in_values = rlx_bump_array(&c->values, rlx_tensor, s->n_in);
  c->in = rlx_bump_alloc(&c->values, s->n_in, sizeof *c->in);
  if (!c->in_values || !c->in) return RLX_FAIL(RLX_NO_MEMORY, "comparing node %u", (unsigned)s->node);
  for (uint32_t k = 0; k < s->n_in; k++) {
    if (!n->in[k]) continue;
    RLX_TRY(read_window(c, &s->in[k], n->in[k], &c->in_values[k]));
    c->in[k] = &c->in_values[k];
  }
  return RLX_OK;
}

static size_t count_not_finite(const rlx_tensor *v) {
  size_t n = rlx_tensor_count(v), count = 0;
  rlx_tensor parts = *v;
  if (v->dtype == RLX_C64) parts.dtype = RLX_F32, n *= 2;
  if (!rlx_dtype_is_float(parts.dtype)) return 0;
  for (size_t i = 0; i < n; i++)
    if (!isfinite(rlx_load(&parts, i))) count++;
  return count;
}

static rlx_status compare_result(comparison *c, const rlx_step *s, uint32_t k, const rlx_tensor *want,
                                 rlx_compare_row *row) {
  const rlx_compiled *compiled = c->e->now->compiled;
  rlx_tensor got;
  RLX_TRY(read_window(c, &s->out[k], s->nodes[k], &got));
  rlx_tolerance tol = (compiled->key.switches & RLX_SWITCH_EXACT) ? rlx_tolerance_of(compiled->graph, s->nodes[k])
                                                                  : rlx_tolerance_rounded(compiled->graph, s->nodes[k]);
  rlx_difference d;
  row->ok = rlx_compare_values(&got, want, tol, &d) == RLX_OK;
  row->error = d.error, row->worst = d.worst, row->at = d.at;
  row->n_not_finite = count_not_finite(&got);
  if (!row->ok) snprintf(row->why, sizeof row->why, "%s", rlx_message());
  return RLX_OK;
}

static rlx_status compare_step(comparison *c, const rlx_step *s) {
  const rlx_compiled *compiled = c->e->now->compiled;
  rlx_eval_context ctx = {.draw = atomic_load(&c->e->draw)};
  rlx_tensor *want = rlx_bump_array(&c->values, rlx_tensor, s->n_out);
  if (!want) return RLX_FAIL(RLX_NO_MEMORY, "comparing node %u", (unsigned)s->node);
  for (uint32_t k = 0; k < s->n_out; k++)
    RLX_TRY(new_tensor(c, &rlx_graph_at(compiled->graph, s->nodes[k])->type, &want[k]));
  rlx_status status = rlx_eval_step(compiled->graph, s->nodes, s->n_out, &ctx, c->in, want, &c->scratch);
  rlx_bump_reset(&c->scratch);
  RLX_TRY(status);
  for (uint32_t k = 0; k < s->n_out; k++) {
    if (s->out[k].segment == RLX_SEGMENT_NONE && want[k].bytes) continue;
    rlx_node n = s->nodes[k];
    rlx_compare_row row = {.node = rlx_node_of(compiled->graph, n),
                           .op = rlx_op_table_get(rlx_graph_at(compiled->graph, n)->op)->name};
    RLX_TRY(compare_result(c, s, k, &want[k], &row));
    c->n_differ += !row.ok;
    if (c->row) c->row(c->user, &row);
  }
  return RLX_OK;
}

static rlx_status compare_after(void *user, size_t step) {
  comparison *c = user;
  const rlx_compiled *compiled = c->e->now->compiled;
  const rlx_step *s = &compiled->plan->steps[step];
  if (is_compared(s)) {
    RLX_TRY_AT(compare_step(c, s), "comparing node %u (%s)", (unsigned)s->node,
               rlx_op_table_get(rlx_graph_at(compiled->graph, s->node)->op)->name);
  } else if (s->host && c->row) {
    for (uint32_t k = 0; k < s->n_out; k++)
      c->row(c->user, &(rlx_compare_row){.node = s->nodes[k],
                                         .op = rlx_op_table_get(rlx_graph_at(compiled->graph, s->nodes[k])->op)->name,
                                         .host = true,
                                         .ok = true});
  }
  return RLX_OK;
}

rlx_status rlx_executable_compare(rlx_executable *e, void (*row)(void *user, const rlx_compare_row *row), void *user,
                                  uint32_t *n_differ) {
  if (n_differ) *n_differ = 0;
  RLX_TRY(rlx_enter_states(e, "rlx_executable_compare"));
  comparison c = {.e = e, .row = row, .user = user};
  rlx_status s = rlx_run_whole(e, &(rlx_step_visitor){.before = read_inputs, .after = compare_after, .user = &c});
  if (!s) s = rlx_feeds_run(e);
  if (!s && n_differ) *n_differ = c.n_differ;
  rlx_bump_deinit(&c.values);
  rlx_bump_deinit(&c.scratch);
  return rlx_leave_states(e, s);
}
