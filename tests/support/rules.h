/* Ops under test by a line of text: what a rule gives or refuses, and what an expression computes.
 *
 * Leaves and expressions are in the language of conformance cases (conform.h), so one line says what would take a graph
 * written out: "x: f32[B,8,8]; param w: q4_0[V,32]" and "reshape(%x) {shape=[-1,64]}". Everything here returns a status
 * whose message names the line at fault: none of it depends on the test harness.
 *
 * Values that a device or the reference must have are the conformance cases' business (test_conform.c). */
#ifndef RLX_TESTS_RULES_H
#define RLX_TESTS_RULES_H

#include "conform/conform.h"
#include "ref/eval.h"

/* ---- rules ---- */

typedef struct rule {
  const char *leaves, *node;
  const char *type; /* of the result, as the text form writes it; NULL: refused as invalid */
  const char *part; /* of the message, where refused */
} rule;

/* The first rule that does not hold. */
rlx_status rules_check(const rule *rules, size_t n);
#define CHECK_RULES(rules) CHECK_OK(rules_check((rules), sizeof(rules) / sizeof *(rules)))

/* ---- expressions ---- */

/* The graph of an expression, with its result as output "y". It may be a template. */
rlx_status expr_graph(const char *leaves, const char *expr, rlx_graph **out);
/* Runs it; y has memory of its own (rlx_tensor_deinit). The values of a leaf depend on its name and generator alone. */
rlx_status expr_run(const char *leaves, const char *expr, rlx_tensor *y);
/* The same, for whether it can be done. */
rlx_status expr_runs(const char *leaves, const char *expr);
/* An expression against the same thing said otherwise, on the same values. tolerance 0: the same bits. */
rlx_status expr_same(const char *leaves, const char *one, const char *other, double tolerance);

/* Runs g on the values of a case, made from its graph or not; *y is a view of output "y". The caller destroys *e, after
 * a failure too. */
rlx_status case_run(const rlx_graph *g, const rlx_case_built *b, rlx_evaluator **e, rlx_tensor *y);

#endif
