/* The reference: what each op means, as plain loops.
 *
 * One function per op, rlx_ref_<op>, declared from the op table; dispatch.c holds them in a table, so a missing one is
 * a link error. A kernel gets its inputs and an uninitialised result of the right type and shape, all contiguous host
 * memory, already checked by inference: it needs no shape checks, only checks of run-time values (an index, a
 * position). Sums run in double; a result element is rounded once, when stored. Kernels are written to be read, not to
 * be fast. */
#ifndef RLX_REF_REF_H
#define RLX_REF_REF_H

#include <string.h>

#include "ir/element.h"
#include "ir/graph.h"
#include "ir/walk.h"

typedef struct rlx_ref_call {
  const rlx_node_rec *node;
  const void *attrs;           /* node->attrs: use RLX_ATTRS(softmax, c)->axis */
  const rlx_tensor *const *in; /* n_in of them; NULL where an optional input is absent */
  uint32_t n_in;
  rlx_tensor *out;
  uint64_t draw;     /* the run's number, for random ops */
  rlx_bump *scratch; /* temporary memory, freed by the caller after the call (so no clean-up on errors) */
  /* Runs sub-graphs (runner.h); NULL outside an evaluator. */
  struct rlx_subgraph_runner *runner;
  size_t visits; /* of elements, since the budget was told: rlx_ref_goes_on */
  bool stopped;  /* the budget said so: what the kernel has filled so far is not whole */
} rlx_ref_call;

typedef rlx_status (*rlx_ref_fn)(rlx_ref_call *c);

#define OP(name, types, inputs, result, shape, attrs, traits, doc) rlx_status rlx_ref_##name(rlx_ref_call *c);
#include "ir/ops.def"
#undef OP

rlx_ref_fn rlx_ref_get(rlx_op op);

/* The activation RLX_ACT_.. of a fused op. */
double rlx_ref_activate(int32_t act, double x);

/* Input i or NULL, also past the end. */
static inline const rlx_tensor *rlx_ref_in(const rlx_ref_call *c, uint32_t i) { return i < c->n_in ? c->in[i] : NULL; }

/* The condition of a kernel's loops: counts the elements that the next trip visits, and every so often asks whether there is to
 * be one. Once the answer was no, it stays no: all loops end. A kernel that is stopped returns as if it were done; who called it
 * asks the budget. Scratch memory is cleared, so a table of places that is not whole still holds places that exist. */
#define RLX_REF_TICK \
  ((size_t)1 << 16) /* visits between two askings: some milliseconds where a visit is a call of pow */
bool rlx_ref_tick(rlx_ref_call *c);
static inline bool rlx_ref_goes_on(rlx_ref_call *c, size_t visits) {
  c->visits += visits;
  return c->visits < RLX_REF_TICK || rlx_ref_tick(c);
}

/* for (size_t i = 0; i < n; i++), asking between runs of some thousand elements. The body has no break. */
#define RLX_REF_EACH(c, i, n)                                               \
  for (size_t i = 0, i##_end = 0; rlx_ref_next_run((c), i, (n), &i##_end);) \
    for (; i < i##_end; i++)
static inline bool rlx_ref_next_run(rlx_ref_call *c, size_t at, size_t n, size_t *end) {
  enum { RUN = 4096 };
  size_t run = n - at < RUN ? n - at : RUN;
  *end = at + run;
  return run && rlx_ref_goes_on(c, run);
}

/* memcpy, asking in between. */
void rlx_ref_copy(rlx_ref_call *c, void *to, const void *from, size_t bytes);
/* n elements of a block type as f32, asking in between. */
rlx_status rlx_ref_decode(rlx_ref_call *c, rlx_dtype dtype, const void *blocks, float *out, size_t n);

/* A weight as f32 values, whatever its type (decoded into scratch; f32 itself is returned as it is). */
rlx_status rlx_ref_as_f32(rlx_ref_call *c, const rlx_tensor *t, const float **out);
/* Temporary memory of the call: n elements of `size` bytes, cleared. */
rlx_status rlx_ref_scratch(rlx_ref_call *c, size_t n, size_t size, void *out_pointer);

#endif
