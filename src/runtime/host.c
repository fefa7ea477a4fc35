/* Host steps: the reference executes what the device does not, directly in the device's memory if the host can access
 * it, otherwise on copies of the windows.
 *
 * Everything that a host step needs is prepared when the instance is bound: tensors, staging memory for the largest
 * step, and a bump allocator for the kernels that keeps its memory. A run therefore allocates nothing except in control
 * flow. An input that the result overwrites (a state and its update) is copied first: reference kernels require that
 * results do not alias inputs. */
#include "base/arith.h"
#include "base/budget.h"
#include "runtime/instance.h"

enum { STAGE_ALIGN = 64 };

static bool overlap(const rlx_bound *a, const rlx_bound *b) {
  return a->block && a->block == b->block && a->bytes && b->bytes && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

/* ---- preparation ---- */

static rlx_status make_value(const rlx_instance *i, const rlx_window *w, rlx_node n, rlx_host_value *out) {
  const rlx_type *type = &rlx_graph_at(i->compiled->graph, n)->type;
  size_t bytes;
  RLX_TRY(rlx_tensor_bytes(type->dtype, type->shape, &bytes));
  *out = (rlx_host_value){.tensor = {type->dtype, type->shape, {NULL}, bytes},
                          .at = rlx_instance_bound(i, w),
                          .layout = w->segment == RLX_SEGMENT_WEIGHTS ? i->compiled->layout[n] : 0};
  out->staged = bytes > 0 && (out->layout || !out->at.block || !out->at.block->map);
  if (!out->staged && out->at.block && out->at.block->map)
    out->tensor.data = (unsigned char *)out->at.block->map + out->at.offset;
  return RLX_OK;
}

static rlx_status make_step(rlx_instance *i, const rlx_step *s, rlx_host_step *h) {
  const rlx_node_rec *n = rlx_graph_at(i->compiled->graph, s->node);
  h->in = rlx_bump_array(&i->bump, rlx_host_value, s->n_in);
  h->out = rlx_bump_array(&i->bump, rlx_host_value, s->n_out);
  h->in_tensors = rlx_bump_alloc(&i->bump, s->n_in, sizeof *h->in_tensors);
  h->out_tensors = rlx_bump_array(&i->bump, rlx_tensor, s->n_out);
  if (!h->in || !h->out || !h->in_tensors || !h->out_tensors) return RLX_FAIL(RLX_NO_MEMORY, "a host step");
  for (uint32_t k = 0; k < s->n_out; k++) RLX_TRY(make_value(i, &s->out[k], s->nodes[k], &h->out[k]));
  for (uint32_t k = 0; k < s->n_in; k++) {
    if (!n->in[k]) continue;
    RLX_TRY(make_value(i, &s->in[k], n->in[k], &h->in[k]));
    h->in_tensors[k] = &h->in[k].tensor;
    for (uint32_t o = 0; o < s->n_out; o++)
      if (overlap(&h->in[k].at, &h->out[o].at)) h->in[k].staged = true;
  }
  return RLX_OK;
}

/* Computes the staging bytes that a step needs; with `base`, also assigns them. */
static bool stage_step(const rlx_step *s, rlx_host_step *h, unsigned char *base, size_t *used) {
  *used = 0;
  for (uint32_t k = 0; k < s->n_in + s->n_out; k++) {
    rlx_host_value *v = k < s->n_in ? &h->in[k] : &h->out[k - s->n_in];
    if (base && (v->staged || !v->tensor.bytes)) v->tensor.data = base + *used;
    if (v->staged && (!rlx_add_size(*used, v->tensor.bytes, used) || !rlx_pad_size(*used, STAGE_ALIGN, used)))
      return false;
  }
  return true;
}

static rlx_status make_staging(rlx_instance *i) {
  const rlx_plan *p = i->compiled->plan;
  size_t max = STAGE_ALIGN, used;
  for (size_t k = 0; k < p->n_steps; k++) {
    if (!p->steps[k].host) continue;
    if (!stage_step(&p->steps[k], &i->host_steps[k], NULL, &used))
      return RLX_FAIL(RLX_NO_MEMORY, "node %u is too large for the host", (unsigned)p->steps[k].node);
    if (used > max) max = used;
  }
  i->staging = rlx_mem_alloc(max);
  if (!i->staging) return RLX_FAIL(RLX_NO_MEMORY, "%zu bytes to run steps on the host", max);
  for (size_t k = 0; k < p->n_steps; k++) {
    rlx_host_step *h = &i->host_steps[k];
    if (!p->steps[k].host) continue;
    stage_step(&p->steps[k], h, i->staging, &used);
    for (uint32_t o = 0; o < p->steps[k].n_out; o++) h->out_tensors[o] = h->out[o].tensor;
  }
  return RLX_OK;
}

rlx_status rlx_host_bind(rlx_instance *i) {
  const rlx_plan *p = i->compiled->plan;
  if (!p->n_host) return RLX_OK;
  i->host_steps = rlx_bump_array(&i->bump, rlx_host_step, p->n_steps);
  if (!i->host_steps) return RLX_FAIL(RLX_NO_MEMORY, "%zu steps", p->n_steps);
  for (size_t k = 0; k < p->n_steps; k++)
    if (p->steps[k].host) RLX_TRY(make_step(i, &p->steps[k], &i->host_steps[k]));
  return make_staging(i);
}

/* ---- running ---- */

/* Large values that need no conversion are copied in chunks; the caller may cancel between chunks. */
enum { PIECE_BYTES = 1 << 23 };

static bool goes_in_pieces(const rlx_host_value *v) {
  return v->at.bytes > PIECE_BYTES && !v->layout && v->tensor.dtype != RLX_BOOL; /* bool values are validated */
}

static rlx_status move_pieces(rlx_queue *q, const rlx_host_value *v, const rlx_type *type, bool reads) {
  RLX_TRY(rlx_bound_check(q->device, &v->at, type, v->layout));
  for (uint64_t at = 0, n; at < v->at.bytes; at += n) {
    n = v->at.bytes - at < PIECE_BYTES ? v->at.bytes - at : PIECE_BYTES;
    char *data = (char *)v->tensor.data + at;
    if (at && rlx_budget_stops()) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
    RLX_TRY(reads ? q->device->backend->read(q, v->at.block, v->at.offset + at, data, n)
                  : q->device->backend->write(q, v->at.block, v->at.offset + at, data, n));
  }
  return RLX_OK;
}

static rlx_status read_value(rlx_queue *q, const rlx_host_value *v) {
  rlx_type type = {v->tensor.dtype, v->tensor.shape};
  if (goes_in_pieces(v)) return move_pieces(q, v, &type, true);
  return rlx_bound_read(q, &v->at, &type, v->layout, type.dtype, v->tensor.data, rlx_dims_count(&type.shape));
}

static rlx_status write_value(rlx_queue *q, const rlx_host_value *v) {
  rlx_type type = {v->tensor.dtype, v->tensor.shape};
  if (!v->at.block) return RLX_OK; /* an unused result */
  if (goes_in_pieces(v)) RLX_TRY(move_pieces(q, v, &type, false));
  else RLX_TRY(rlx_bound_write(q, &v->at, &type, 0, type.dtype, v->tensor.data, rlx_dims_count(&type.shape)));
  return rlx_bound_end(q, &v->at);
}

rlx_status rlx_host_run_step(rlx_instance *i, size_t step, const rlx_eval_context *ctx) {
  const rlx_step *s = &i->compiled->plan->steps[step];
  rlx_host_step *h = &i->host_steps[step];
  for (uint32_t k = 0; k < s->n_in; k++)
    if (h->in[k].staged) RLX_TRY(read_value(i->queue, &h->in[k]));
  rlx_status status =
    rlx_eval_step(i->compiled->graph, s->nodes, s->n_out, ctx, h->in_tensors, h->out_tensors, &i->step_memory);
  rlx_bump_reset(&i->step_memory);
  for (uint32_t k = 0; k < s->n_out && !status; k++)
    if (h->out[k].staged) status = write_value(i->queue, &h->out[k]);
  return status;
}
