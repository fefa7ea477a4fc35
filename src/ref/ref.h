/* The reference: defines each op by a plain loop.
 *
 * There is one function per op, rlx_ref_<op>, declared from the op table; dispatch.c holds them in a table, so a
 * missing one fails to link. A kernel gets its inputs and an uninitialised result of the right type and shape, all
 * contiguous host memory. Shape inference has checked them, so a kernel only checks run-time values (an index, a
 * position). Sums are in f64; a result element is rounded once, when stored. Kernels are written for clarity, not for
 * speed. */
#ifndef RLX_REF_REF_H
#define RLX_REF_REF_H

#include <string.h>

#include "ir/element.h"
#include "ir/graph.h"
#include "ir/walk.h"

typedef struct rlx_ref_call {
  const rlx_node_rec *node;
  const void *attrs;           /* node->attrs: use RLX_ATTRS(softmax, c)->axis */
  const rlx_tensor *const *in; /* n_in entries; NULL where an optional input is absent */
  uint32_t n_in;
  rlx_tensor *out;
  uint64_t draw;     /* the run's number, for random ops */
  rlx_bump *scratch; /* temporary memory, freed by the caller after the call, errors included */
  /* Runs sub-graphs (runner.h); NULL outside an evaluator. */
  struct rlx_subgraph_runner *runner;
  size_t visits; /* elements visited since the last report to the budget: rlx_ref_continues */
  bool stopped;  /* stopped by the budget: the result is incomplete */
} rlx_ref_call;

typedef rlx_status (*rlx_ref_fn)(rlx_ref_call *c);

#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_status rlx_ref_##name(rlx_ref_call *c);
#include "ir/ops.def"
#undef OP

rlx_ref_fn rlx_ref_get(rlx_op op);

/* The activation RLX_ACT_.. of a fused op. */
double rlx_ref_activate(int32_t act, double x);

/* Input i, or NULL if absent or past the end. */
static inline const rlx_tensor *rlx_ref_in(const rlx_ref_call *c, uint32_t i) { return i < c->n_in ? c->in[i] : NULL; }

/* Visits between two polls: some milliseconds where a visit is a call of pow. */
#define RLX_REF_TICK ((size_t)1 << 16)
/* The condition of a kernel's loops. Counts the elements that the next iteration visits, and polls the budget now and
 * then. After a stop it stays false, so that all loops end. A stopped kernel returns RLX_OK; the caller checks the
 * budget. Scratch memory is zeroed, so an incomplete table of offsets still holds valid offsets. */
bool rlx_ref_tick(rlx_ref_call *c);
static inline bool rlx_ref_continues(rlx_ref_call *c, size_t visits) {
  c->visits += visits;
  return c->visits < RLX_REF_TICK || rlx_ref_tick(c);
}

/* for (size_t i = 0; i < n; i++), with a poll between runs of 4096 elements. The body must not use break. */
#define RLX_REF_EACH(c, i, n)                                               \
  for (size_t i = 0, i##_end = 0; rlx_ref_next_run((c), i, (n), &i##_end);) \
    for (; i < i##_end; i++)
static inline bool rlx_ref_next_run(rlx_ref_call *c, size_t at, size_t n, size_t *end) {
  enum { RUN = 4096 };
  size_t run = n - at < RUN ? n - at : RUN;
  *end = at + run;
  return run && rlx_ref_continues(c, run);
}

/* memcpy in chunks, with polls. */
void rlx_ref_copy(rlx_ref_call *c, void *to, const void *from, size_t bytes);
/* Decodes n elements of a block type to f32, with polls. */
rlx_status rlx_ref_decode(rlx_ref_call *c, rlx_dtype dtype, const void *blocks, float *out, size_t n);

/* A weight of any dtype as f32: decoded into scratch; f32 is returned unchanged. */
rlx_status rlx_ref_as_f32(rlx_ref_call *c, const rlx_tensor *t, const float **out);
/* Temporary memory of the call: n elements of `size` bytes, zeroed. */
rlx_status rlx_ref_scratch(rlx_ref_call *c, size_t n, size_t size, void *out_pointer);

#endif
