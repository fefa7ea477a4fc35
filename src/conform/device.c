/* Conformance of a device: compiles every case of every op for a session, runs it, and compares with the reference.
 *
 * A case passes if its result is within the tolerance of SPEC section 8. Whether the host ran any step is read from the
 * compiled executable, so "PASS" means that the device ran every step. Outputs are poisoned before the run. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/sized.h"
#include "conform/conform.h"
#include "ir/element.h"
#include "ir/switches.h"
#include "ref/compare.h"
#include "ref/eval.h"
#include "runtime/executable.h"

const char *rlx_conform_result_name(rlx_conform_result r) {
  static const char *const names[] = {"PASS", "HOST", "UNSUPPORTED", "FAIL"};
  return (unsigned)r < sizeof names / sizeof *names ? names[r] : "?";
}

/* The reference's value of the case's only output. */
static rlx_status reference(const rlx_case_built *b, rlx_tensor *want) {
  rlx_evaluator *e;
  rlx_tensor view;
  RLX_TRY(rlx_evaluator_create(b->graph, &e));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < b->n_values && !s; i++) s = rlx_evaluator_set(e, b->names[i], &b->values[i]);
  if (!s) s = rlx_evaluator_run(e);
  if (!s) s = rlx_evaluator_get(e, b->graph->outputs.v[0].name, &view);
  if (!s) s = rlx_tensor_create(&rlx_graph_at(b->graph, b->graph->outputs.v[0].node)->type, want);
  if (!s && want->bytes) memcpy(want->data, view.data, want->bytes);
  rlx_evaluator_destroy(e);
  return s;
}

static rlx_status run_case(rlx_executable *e, const rlx_case_built *b, rlx_tensor *found) {
  for (size_t i = 0; i < b->n_values; i++) RLX_TRY(rlx_executable_write(e, b->names[i], &b->values[i]));
  RLX_TRY(rlx_executable_run(e));
  return rlx_executable_read(e, b->graph->outputs.v[0].name, found);
}

static bool has_blocks(const rlx_case_built *b) {
  bool any = false;
  for (size_t i = 0; i < b->n_values; i++) any = any || rlx_dtype_is_block(b->values[i].dtype);
  return any;
}

/* The device's reason for the first step that it leaves to the host. */
static const char *why_host(const rlx_executable *e) {
  const rlx_compiled *c = e->compiled;
  for (size_t i = 0; i < c->plan->n_steps; i++) {
    if (!c->plan->steps[i].host) continue;
    const rlx_claim *claim;
    return rlx_claims_get(c->claims, c->graph, c->plan->steps[i].node, NULL, &claim) || !claim->why ? "" : claim->why;
  }
  return "";
}

/* Errors as parts of the values' size; those of the worse of two runs count. */
static void note_sizes(const rlx_tensor *found, const rlx_tensor *want, rlx_conform_row *row) {
  double errors = 0, values = 0, largest = 0;
  const size_t n = rlx_dims_count(&want->shape);
  size_t counted = 0;
  if (!rlx_dtype_is_float(want->dtype)) return;
  for (size_t i = 0; i < n; i++) {
    const double r = rlx_load(want, i), e = fabs(rlx_load(found, i) - r);
    if (!isfinite(r) || !isfinite(e)) continue;
    errors += e * e;
    values += r * r;
    largest = fmax(largest, e);
    counted++;
  }
  if (values <= 0) return;
  row->largest = fmax(row->largest, largest / sqrt(values / (double)counted));
  row->whole = fmax(row->whole, sqrt(errors / values));
}

/* Compares the device's value with the reference's. *unsupported: the case was rejected before it ran. */
static rlx_status check_run(rlx_session *session, const rlx_case_built *b, const rlx_tensor *want, uint32_t switches,
                            rlx_conform_row *row, bool *unsupported) {
  rlx_executable *e = NULL;
  rlx_tensor found = {0};
  rlx_memory_info memory = {RLX_MEMORY_INFO_INIT};
  double error = 0;
  const rlx_node result = b->graph->outputs.v[0].node;
  const bool exact = switches & RLX_SWITCH_EXACT;
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .switches = switches};
  rlx_tolerance tol =
    exact || !has_blocks(b) ? rlx_tolerance_strict(b->graph, result) : rlx_tolerance_rounded(b->graph, result);
  if (!exact && (switches & RLX_SWITCH_FAST_F16)) tol = rlx_tolerance_fast_f16(b->graph, tol);
  rlx_status s = rlx_compile(session, b->graph, &options, &e);
  *unsupported = s == RLX_UNSUPPORTED;
  if (!s) s = rlx_executable_memory(e, &memory);
  if (!s) s = rlx_tensor_create(&rlx_graph_at(b->graph, result)->type, &found);
  if (!s) memset(found.data, 0xa5, found.bytes);
  if (!s) s = run_case(e, b, &found);
  if (!s) note_sizes(&found, want, row);
  if (!s) s = rlx_compare(&found, want, tol, &error);
  if (error > row->error || error != error) row->error = error;
  if (!s && memory.n_host) {
    row->result = RLX_CONFORM_HOST;
    row->why = why_host(e);
  }
  rlx_tensor_deinit(&found);
  rlx_executable_destroy(e);
  return s;
}

/* With weights of a block type two tolerances apply. `exact` keeps the tolerance of the op. The default, which may
 * quantise activations to 8 bits, keeps that of SPEC 8 where the result itself is such a product. */
static rlx_status check_case(rlx_session *session, const rlx_case_built *b, uint32_t switches, rlx_conform_row *row,
                             bool *unsupported) {
  rlx_tensor want = {0};
  RLX_TRY(reference(b, &want));
  row->result = RLX_CONFORM_PASS;
  const uint32_t exact = switches | RLX_SWITCH_EXACT;
  rlx_status s = check_run(session, b, &want, has_blocks(b) ? exact : switches, row, unsupported);
  rlx_tolerance rounded = rlx_tolerance_rounded(b->graph, b->graph->outputs.v[0].node);
  if (!s && switches != exact && isinf(rounded.atol) && !isinf(rounded.whole))
    s = check_run(session, b, &want, switches, row, unsupported);
  if (s) row->result = *unsupported ? RLX_CONFORM_UNSUPPORTED : RLX_CONFORM_FAIL;
  rlx_tensor_deinit(&want);
  return s;
}

static rlx_status run_one(rlx_session *session, rlx_op op, const rlx_case *c, uint32_t switches, rlx_conform_row *row) {
  rlx_case_built b;
  bool unsupported = false;
  *row = (rlx_conform_row){.op = rlx_op_table_get(op)->name, .name = c->name, .result = RLX_CONFORM_FAIL, .why = ""};
  RLX_TRY(rlx_case_build(op, c, &b));
  rlx_status s = check_case(session, &b, switches, row, &unsupported);
  rlx_case_deinit(&b);
  if (s) row->why = rlx_message();
  return RLX_OK;
}

rlx_status rlx_conform_with(rlx_session *session, const rlx_conform_options *options,
                            bool (*fn)(void *user, const rlx_conform_row *row), void *user) {
  rlx_conform_options o;
  if (!session || !fn) return RLX_FAIL(RLX_INVALID, "rlx_conform: %s is NULL", session ? "fn" : "the session");
  RLX_TRY_AT(RLX_SIZED_READ("rlx_conform_options", options, &o), "rlx_conform_with");
  if (o.switches > UINT32_MAX)
    return RLX_FAIL(RLX_UNSUPPORTED, "rlx_conform_with: there is no switch above bit 31 yet, got %#llx",
                    (unsigned long long)o.switches);
  RLX_TRY(rlx_switches_check((uint32_t)o.switches));
  for (rlx_op op = 1; op < RLX_OP_COUNT; op++) {
    const rlx_case_table *table = rlx_case_table_get(op);
    if (o.pattern && !rlx_os_fits(o.pattern, rlx_op_table_get(op)->name)) continue;
    for (size_t i = 0; i < table->n; i++) {
      rlx_conform_row row;
      RLX_TRY_AT(run_one(session, op, &table->v[i], (uint32_t)o.switches, &row), "case %s/%s",
                 rlx_op_table_get(op)->name, table->v[i].name);
      if (fn(user, &row)) return RLX_FAIL(RLX_CANCELLED, "stopped by the caller");
    }
  }
  return RLX_OK;
}

rlx_status rlx_conform(rlx_session *session, const char *pattern, bool (*fn)(void *user, const rlx_conform_row *row),
                       void *user) {
  return rlx_conform_with(session, &(rlx_conform_options){RLX_CONFORM_OPTIONS_INIT, .pattern = pattern}, fn, user);
}
