/* A loop whose body becomes a graph of its own, where that can be and pays (inner.c). */
#ifndef RLX_ONNX_INNER_H
#define RLX_ONNX_INNER_H

#include "onnx/importer.h"

typedef struct onnx_loop {
  const onnx_graph *body;
  int64_t trips;
  onnx_value **carried; /* the body's inputs from carried_at on, and its outputs from first_out on */
  uint32_t n_carried, carried_at, first_out;
  /* What a slice is taken of for each trip: the node, with that axis first, and the slice's type. Inputs from scanned_at on. */
  rlx_node (*scanned)(onnx_call *c, void *user, uint32_t i);
  void *user;
  const onnx_type *scanned_type;
  const rlx_type *slice;
  uint32_t n_scanned, scanned_at;
  bool reverse;
  onnx_value *always; /* a Loop's condition, true: input always_at, and output 0 must say the same. NULL: a Scan */
  uint32_t always_at;
  /* Made: the carried values at the end, then what was collected, stacked along axis 0. */
  rlx_node *results;
  onnx_type *result_type; /* room for the body's outputs */
} onnx_loop;

/* The rest of a Loop that its condition ends. */
typedef struct onnx_while {
  const onnx_graph *body;
  int64_t first;        /* the number of its first trip */
  int64_t max_trips;    /* after which it ends, counted from the Loop's first; negative: none */
  int64_t fails_at;     /* trips, where its condition still holds */
  onnx_value *cond;     /* whether there is one */
  onnx_value **carried; /* inputs of the body from 2 on; outputs from 1 on, and no others */
  uint32_t n_carried;
} onnx_while;

/* *done: it is one node, and w->carried are its results; else each trip's condition is to be looked at. */
rlx_status onnx_while_as_graph(onnx_call *c, onnx_while *w, bool *done);

/* *done: it is one node, and its results are there; else its trips are to be written out. */
rlx_status onnx_loop_as_graph(onnx_call *c, onnx_loop *l, bool *done);

#endif
