/* Loops whose body becomes a sub-graph of one node (inner.c). */
#ifndef RLX_ONNX_INNER_H
#define RLX_ONNX_INNER_H

#include "onnx/importer.h"

typedef struct onnx_loop {
  const onnx_graph *body;
  int64_t trips;
  onnx_value **carried; /* body inputs from carried_at on, outputs from first_out on */
  uint32_t n_carried, carried_at, first_out;
  /* Scanned values, body inputs from scanned_at on: the node with the scanned axis first, and the type of a slice. */
  rlx_node (*scanned)(onnx_call *c, void *user, uint32_t i);
  void *user;
  const onnx_type *scanned_type;
  const rlx_type *slice;
  uint32_t n_scanned, scanned_at;
  bool reverse;
  onnx_value
    *always; /* a Loop's condition, constant true: body input always_at; output 0 must be true as well. NULL: a Scan */
  uint32_t always_at;
  /* Results: final carried values, then scan outputs, concatenated along axis 0. */
  rlx_node *results;
  onnx_type *result_type; /* caller's array, one entry per body output */
} onnx_loop;

/* The remaining iterations of a Loop that a computed condition ends. */
typedef struct onnx_while {
  const onnx_graph *body;
  int64_t first;        /* number of the next iteration */
  int64_t max_trips;    /* maximum number of iterations, counted from the Loop's first; negative: none */
  int64_t fails_at;     /* iterations after which it fails if the condition still holds */
  onnx_value *cond;     /* condition of the next iteration */
  onnx_value **carried; /* body inputs from 2 on, outputs from 1 on; there must be no other outputs */
  uint32_t n_carried;
} onnx_while;

/* *done: w->carried are the results of one node. Otherwise the caller reads the condition after each iteration. */
rlx_status onnx_while_as_graph(onnx_call *c, onnx_while *w, bool *done);

/* *done: l->results are the results of one node. Otherwise the caller unrolls the loop. */
rlx_status onnx_loop_as_graph(onnx_call *c, onnx_loop *l, bool *done);

#endif
