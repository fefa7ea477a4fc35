/* Compares a session with the evaluator: see run_check.h. */
#include "run_check.h"

#include <math.h>
#include <string.h>

#include "random_graph.h"
#include "ref/compare.h"
#include "ref/eval.h"
#include "runtime/executable.h"

rlx_status run_session(const char *device, uint32_t threads, rlx_session **out) {
  return rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = device, .n_threads = threads}, out);
}

/* ---- leaves ---- */

rlx_status run_write_leaves(rlx_executable *e, const rlx_graph *g, const rlx_tensor *leaves) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    if (rlx_node_name(g, id)) RLX_TRY(rlx_executable_write(e, rlx_node_name(g, id), &leaves[id]));
  return RLX_OK;
}

rlx_status run_set_leaves(rlx_evaluator *e, const rlx_graph *g, const rlx_tensor *leaves) {
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    if (rlx_node_name(g, id)) RLX_TRY(rlx_evaluator_set(e, rlx_node_name(g, id), &leaves[id]));
  return RLX_OK;
}

rlx_status run_read(rlx_executable *e, const char *name, rlx_tensor *out) {
  rlx_tensor type;
  *out = (rlx_tensor){0};
  RLX_TRY(rlx_executable_describe(e, name, &type));
  RLX_TRY(rlx_tensor_create(&(rlx_type){type.dtype, type.shape}, out));
  memset(out->data, 0xa5, out->bytes);
  rlx_status s = rlx_executable_read(e, name, out);
  if (s) rlx_tensor_deinit(out);
  return s;
}

/* ---- comparing ---- */

static bool same_bits(const rlx_tensor *y, const rlx_tensor *r) {
  if (y->dtype != r->dtype || y->bytes != r->bytes) return false;
  if (memcmp(y->data, r->data, y->bytes) == 0) return true;
  double error; /* no tolerance, but NaN equals NaN and 0 equals -0: so the bits are compared as well */
  if (rlx_compare(y, r, (rlx_tolerance){.whole = 0}, &error)) return false;
  for (size_t i = 0; rlx_dtype_is_float(y->dtype) && i < rlx_tensor_count(y); i++)
    if (!signbit(rlx_load(y, i)) != !signbit(rlx_load(r, i)) && !isnan(rlx_load(r, i))) return false;
  return true;
}

/* Errors of sums are relative to their largest terms, so the tolerance is relative to the tensor's largest value. */
static rlx_status check_close(const rlx_tensor *y, const rlx_tensor *r) {
  double size = 1, error;
  double tol = r->dtype == RLX_F16 ? 1e-2 : r->dtype == RLX_BF16 ? 6e-2 : 1e-3;
  for (size_t i = 0; rlx_dtype_is_float(r->dtype) && i < rlx_tensor_count(r); i++)
    if (isfinite(rlx_load(r, i))) size = fmax(size, fabs(rlx_load(r, i)));
  if (r->dtype == RLX_C64)
    for (size_t i = 0; i < 2 * rlx_tensor_count(r); i++) size = fmax(size, fabs((double)((float *)r->data)[i]));
  return rlx_compare(y, r, (rlx_tolerance){.rtol = tol, .atol = tol * size}, &error);
}

static rlx_status compare_one(rlx_executable *e, const rlx_evaluator *want, const char *name, bool bits) {
  rlx_tensor y, r;
  RLX_TRY(rlx_evaluator_get(want, name, &r));
  RLX_TRY(run_read(e, name, &y));
  rlx_status s = !bits ? check_close(&y, &r) : same_bits(&y, &r) ? RLX_OK : RLX_FAIL(RLX_INVALID, "the bits differ");
  rlx_tensor_deinit(&y);
  return s ? rlx_fail_frame(s, "'%s'", name) : RLX_OK;
}

rlx_status run_compare(rlx_executable *e, const rlx_evaluator *want, const rlx_graph *g, bool bits) {
  for (size_t i = 0; i < g->outputs.n; i++) RLX_TRY(compare_one(e, want, g->outputs.v[i].name, bits));
  uint32_t output;
  for (rlx_node id = 1; id < rlx_graph_end(g); id++)
    if (rlx_graph_at(g, id)->op == RLX_OP_state && !rlx_name_map_get(&g->output_names, rlx_node_name(g, id), &output))
      RLX_TRY(compare_one(e, want, rlx_node_name(g, id), bits));
  return RLX_OK;
}

/* ---- all of it ---- */

static bool is_gpu(const rlx_executable *e) {
  const char *backend = e->session->device->backend->name;
  return strcmp(backend, "cpu") != 0 && strcmp(backend, "null") != 0;
}

static rlx_status run_both(rlx_executable *e, rlx_evaluator *want, const rlx_graph *g, uint64_t seed, int runs,
                           bool bits) {
  rlx_tensor *leaves = NULL;
  rlx_status s = random_leaves(g, seed, &leaves);
  if (!s) s = run_set_leaves(want, g, leaves);
  if (!s) s = run_write_leaves(e, g, leaves);
  for (int i = 0; i < runs && !s; i++) {
    rlx_status wanted = rlx_evaluator_run(want);
    s = rlx_executable_run(e);
    /* The evaluator rejects an index out of range. A GPU cannot report it: it reads zero and writes nothing. */
    if (wanted) s = s || is_gpu(e) ? RLX_OK : RLX_FAIL(RLX_INVALID, "the evaluator refuses and the session runs");
    else if (!s) s = run_compare(e, want, g, bits);
    if (s) rlx_fail_frame(s, "run %d", i);
    if (wanted) break;
  }
  random_leaves_free(g, leaves);
  return s;
}

rlx_status run_check(rlx_session *session, const rlx_graph *g, const rlx_compile_options *options, uint64_t seed,
                     int runs, bool bits) {
  rlx_executable *e = NULL;
  rlx_evaluator *want = NULL;
  rlx_status s = rlx_compile(session, g, options, &e);
  if (!s) s = rlx_evaluator_create(g, &want);
  if (!s) s = run_both(e, want, g, seed, runs, bits);
  rlx_evaluator_destroy(want);
  rlx_executable_destroy(e);
  return s;
}
