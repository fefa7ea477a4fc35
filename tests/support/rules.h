/* Tests of ops by a line of text: the type that a shape rule gives or its error, and the value of an expression.
 *
 * Leaves and expressions are in the language of conformance cases (conform.h): "x: f32[B,8,8]; param w: q4_0[V,32]" and
 * "reshape(%x) {shape=[-1,64]}". Everything here returns a status whose message names the line at fault; nothing
 * depends on the test harness.
 *
 * Values computed by a device or the reference are covered by the conformance cases (test_conform.c). */
#ifndef RLX_TESTS_RULES_H
#define RLX_TESTS_RULES_H

#include "conform/conform.h"
#include "ref/eval.h"

/* ---- rules ---- */

typedef struct rule {
  const char *leaves, *node;
  const char *type; /* of the result, in the text form; NULL: rejected as invalid */
  const char *part; /* part of the message, if rejected */
} rule;

/* Reports the first rule that does not hold. */
rlx_status rules_check(const rule *rules, size_t n);
#define CHECK_RULES(rules) CHECK_OK(rules_check((rules), sizeof(rules) / sizeof *(rules)))

/* ---- expressions ---- */

/* The graph of an expression, with its result as output "y". It may have symbols. */
rlx_status expr_graph(const char *leaves, const char *expr, rlx_graph **out);
/* Runs it; y has memory of its own (rlx_tensor_deinit). The values of a leaf depend on its name and generator alone. */
rlx_status expr_run(const char *leaves, const char *expr, rlx_tensor *y);
/* Only whether it runs. */
rlx_status expr_runs(const char *leaves, const char *expr);
/* Compares two equivalent expressions on the same values. tolerance 0: the same bits. */
rlx_status expr_same(const char *leaves, const char *one, const char *other, double tolerance);

/* Runs g on the values of a case; *y is a view of output "y". The caller destroys *e, even after a failure. */
rlx_status case_run(const rlx_graph *g, const rlx_case_built *b, rlx_evaluator **e, rlx_tensor *y);

#endif
