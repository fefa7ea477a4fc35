/* Conformance cases: one table per op, rlx_cases_<op>, linked from the op table.
 *
 * A case is three strings: its name, its inputs and an expression:
 *
 *     CASES(softmax,
 *       {"tiny",  "x: f32[2,3]",        "softmax(%x)"},
 *       {"axis0", "x: f16[17,5]",       "softmax(%x) {axis=0}"},
 *       {"huge",  "x: f32[3,4] range(-1e4,1e4)", "softmax(%x)"})
 *
 * inputs: "name: dtype[sizes] generator; ...". Without a generator float values are uniform in -2..2, integers in -8..7
 * (unsigned 0..15), and bools are random. The generators:
 *     range(lo,hi)    uniform floats in lo..hi, integers lo..hi-1
 *     values(a,b,..)  these, repeated
 *     special         uniform, mixed with NaN, +-inf, +-0, the largest, the smallest normal and a denormal value
 *     distinct        a shuffle of evenly spaced values, no two equal
 *     index           (i32, i64) 0, 1, 2, ..
 * Block types are encoded (or random valid blocks where there is no encoder) and become params; "state s" or "param w"
 * instead of a name selects the kind of leaf.
 *
 * expr: statements of the text form separated by ';'. The last one is the result (its "%y =" may be omitted). Types of
 * results are inferred and need not be written.
 *
 * Values depend only on op, case and input name (a hash seeds them), so every device and every run uses the same. */
#ifndef RLX_CONFORM_CONFORM_H
#define RLX_CONFORM_CONFORM_H

#include "ir/graph.h"
#include "ref/compare.h"

typedef struct rlx_case {
  const char *name;
  const char *inputs;
  const char *expr;
} rlx_case;

typedef struct rlx_case_table {
  const rlx_case *v;
  size_t n;
} rlx_case_table;

#define CASES(op, ...)                                 \
  static const rlx_case op##_cases_[] = {__VA_ARGS__}; \
  const rlx_case_table rlx_cases_##op = {op##_cases_, sizeof op##_cases_ / sizeof *op##_cases_}

const rlx_case_table *rlx_case_table_get(rlx_op op);

/* A case made ready: its graph and the values of its leaves, in the order of the graph's nodes. */
typedef struct rlx_case_built {
  rlx_graph *graph;
  rlx_tensor *values; /* n_values, by leaf */
  const char **names;
  size_t n_values;
} rlx_case_built;
rlx_status rlx_case_build(rlx_op op, const rlx_case *c, rlx_case_built *out);
void rlx_case_deinit(rlx_case_built *b);
/* Its graph alone, which may be a template. */
rlx_status rlx_case_graph(const rlx_case *c, rlx_graph **out);

#endif
