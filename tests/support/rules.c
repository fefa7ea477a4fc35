/* Tests of ops by a line of text: see rules.h. */
#include "rules.h"

#include <stdio.h>
#include <string.h>

/* ---- rules ---- */

static rlx_status try_rule(const rule *r) {
  char typed[4096];
  int n = snprintf(typed, sizeof typed, "%s : %s", r->node, r->type ? r->type : "");
  if (n < 0 || (size_t)n >= sizeof typed) return RLX_FAIL(RLX_UNSUPPORTED, "the line is too long for this test");
  rlx_graph *g;
  rlx_status s = expr_graph(r->leaves, r->type ? typed : r->node, &g);
  rlx_graph_destroy(g);
  return s;
}

static rlx_status check_rule(const rule *r) {
  if (!r->type && (!r->part || !*r->part)) return RLX_FAIL(RLX_INVALID, "the rule gives no words to look for");
  rlx_status s = try_rule(r);
  if (r->type) return s;
  if (s != RLX_INVALID)
    return RLX_FAIL(RLX_INVALID, "expected 'invalid', got '%s' (%s)", rlx_status_name(s), s ? rlx_message() : "");
  if (!strstr(rlx_message(), r->part))
    return RLX_FAIL(RLX_INVALID, "expected a message with <%s>, got <%s>", r->part, rlx_message());
  return RLX_OK;
}

rlx_status rules_check(const rule *rules, size_t n) {
  for (const rule *r = rules; r < rules + n; r++) RLX_TRY_AT(check_rule(r), "%s of %s", r->node, r->leaves);
  return RLX_OK;
}

/* ---- expressions ---- */

rlx_status expr_graph(const char *leaves, const char *expr, rlx_graph **out) {
  return rlx_case_graph(&(rlx_case){"test", leaves, expr}, out);
}

rlx_status case_run(const rlx_graph *g, const rlx_case_built *b, rlx_evaluator **e, rlx_tensor *y) {
  RLX_TRY(rlx_evaluator_create(g, e));
  for (size_t i = 0; i < b->n_values; i++) RLX_TRY(rlx_evaluator_set(*e, b->names[i], &b->values[i]));
  RLX_TRY(rlx_evaluator_run(*e));
  return rlx_evaluator_get(*e, "y", y);
}

static rlx_status copy_tensor(const rlx_tensor *t, rlx_tensor *out) {
  RLX_TRY(rlx_tensor_create(&(rlx_type){t->dtype, t->shape}, out));
  if (t->bytes) memcpy(out->data, t->data, t->bytes);
  return RLX_OK;
}

rlx_status expr_run(const char *leaves, const char *expr, rlx_tensor *y) {
  *y = (rlx_tensor){0};
  rlx_case_built b;
  /* The op seeds the values, which must be the same for every expression: so always the same op. */
  RLX_TRY(rlx_case_build(RLX_OP_custom, &(rlx_case){"test", leaves, expr}, &b));
  rlx_evaluator *e = NULL;
  rlx_tensor view;
  rlx_status s = case_run(b.graph, &b, &e, &view);
  if (!s) s = copy_tensor(&view, y);
  rlx_evaluator_destroy(e);
  rlx_case_deinit(&b);
  return s;
}

rlx_status expr_runs(const char *leaves, const char *expr) {
  rlx_tensor y;
  rlx_status s = expr_run(leaves, expr, &y);
  rlx_tensor_deinit(&y);
  return s;
}

static rlx_status compare(const rlx_tensor *a, const rlx_tensor *b, double tolerance) {
  double error;
  if (tolerance > 0)
    return rlx_compare(a, b, (rlx_tolerance){.rtol = tolerance, .atol = tolerance, .whole = tolerance}, &error);
  bool same = a->bytes == b->bytes && (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0);
  return same ? RLX_OK : RLX_FAIL(RLX_INVALID, "bits differ");
}

rlx_status expr_same(const char *leaves, const char *one, const char *other, double tolerance) {
  rlx_tensor a, b = {0};
  rlx_status s = expr_run(leaves, one, &a);
  if (!s) s = expr_run(leaves, other, &b);
  if (!s) s = compare(&a, &b, tolerance);
  rlx_tensor_deinit(&a);
  rlx_tensor_deinit(&b);
  return s ? rlx_fail_frame(s, "%s and %s of %s", one, other, leaves) : RLX_OK;
}
