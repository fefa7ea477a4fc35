/* Control flow, resolved during the import.
 *
 * If reads its condition and imports one branch. Loop and Scan become one node if their body can be a sub-graph
 * (inner.c). Otherwise the body is imported once per iteration, so values may change shape between iterations, and
 * scan outputs are concatenated at the end. When the graph is cut in between, all collected values are held. */
#include <inttypes.h>
#include <stdio.h>

#include "onnx/compose.h"
#include "onnx/inner.h"

rlx_status onnx_op_if(onnx_call *c) {
  bool cond;
  onnx_body b = {.out = c->out, .n_out = c->n_out};
  RLX_TRY(onnx_need_bool(c, 0, &cond));
  RLX_TRY(onnx_graph_of(c, cond ? "then_branch" : "else_branch", &b.graph));
  onnx_pass_over(c, "then_branch else_branch");
  return onnx_import_body(c, &b);
}

/* ---- what a loop holds ---- */

typedef struct trips {
  const onnx_graph *body;
  onnx_value **in, **out;     /* of the body */
  onnx_value **held;          /* carried values, then the collected ones, iteration by iteration */
  uint32_t n_carried, n_scan; /* carried results; collected results (scan outputs) */
  uint64_t n, room;           /* iterations so far; capacity of `held` */
} trips;

static rlx_status begin_trips(onnx_call *c, trips *t) {
  if (!(t->in = onnx_alloc(c->imp, (size_t)t->body->n_inputs + 1, sizeof *t->in)) ||
      !(t->out = onnx_alloc(c->imp, (size_t)t->body->n_outputs + 1, sizeof *t->out)) ||
      !(t->held = onnx_alloc(c->imp, (size_t)t->n_carried + 1, sizeof *t->held)))
    return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  return RLX_OK;
}

static size_t n_held(const trips *t) { return t->n_carried + (size_t)t->n * t->n_scan; }

static rlx_status make_room(onnx_call *c, trips *t) {
  if (t->n < t->room) return RLX_OK;
  uint64_t room = t->room ? 2 * t->room : 16;
  onnx_value **held = onnx_alloc(c->imp, t->n_carried + (size_t)room * t->n_scan + 1, sizeof *held);
  if (!held) return RLX_FAIL(RLX_NO_MEMORY, "%" PRIu64 " trips of a loop", room);
  for (size_t i = 0; i < n_held(t); i++) held[i] = t->held[i];
  t->held = held;
  t->room = room;
  return RLX_OK;
}

/* One iteration. The first `skip` outputs of the body are skipped; carried and collected ones follow. */
static rlx_status one_trip(onnx_call *c, trips *t, uint32_t skip) {
  onnx_body b = {.graph = t->body,
                 .in = t->in,
                 .n_in = t->body->n_inputs,
                 .out = t->out,
                 .n_out = t->body->n_outputs,
                 .held = t->held,
                 .n_held = n_held(t)};
  RLX_TRY(make_room(c, t));
  b.held = t->held;
  RLX_TRY(onnx_import_body(c, &b));
  for (uint32_t i = 0; i < b.n_out; i++)
    if (t->out[i]->refused) return RLX_UNSUPPORTED;
  for (uint32_t i = 0; i < t->n_carried; i++) t->held[i] = t->out[skip + i];
  for (uint32_t i = 0; i < t->n_scan; i++) t->held[n_held(t) + i] = t->out[skip + t->n_carried + i];
  t->n++;
  return RLX_OK;
}

/* A value with an axis of size 1 inserted. */
static rlx_node with_axis(onnx_call *c, onnx_value *v, int axis) {
  rlx_dims d = v->is.shape;
  for (int i = d.n; i > axis; i--) d.v[i] = d.v[i - 1];
  d.v[axis] = 1;
  d.n++;
  return onnx_reshape(c, onnx_node_of(c, v), d);
}

/* No iterations: an empty result of the shape that the body declares. */
static rlx_status set_empty(onnx_call *c, const onnx_value_info *info, int axis, uint32_t to) {
  rlx_tensor t = {.dtype = onnx_type_carrier(info->type), .data = onnx_alloc(c->imp, 1, 1)};
  if (t.dtype == RLX_DTYPE_UNKNOWN) return onnx_refuse(c, "no trip, and '%s' has no type", info->name);
  t.shape.n = (info->rank > 0 ? info->rank : 0) + 1;
  if (!t.data) return RLX_FAIL(RLX_NO_MEMORY, "an empty result");
  if (t.shape.n > RLX_MAX_RANK || axis >= t.shape.n) return onnx_refuse(c, "a result with %d axes", (int)t.shape.n);
  for (int i = 0, k = 0; i < t.shape.n; i++)
    t.shape.v[i] = i == axis || info->dims[k++].size < 0 ? 0 : info->dims[k - 1].size;
  return onnx_value_known(c->imp, info->type, &t, &c->out[to]);
}

/* Concatenates collected value i of all iterations along a new axis, as output `to`. */
static rlx_status set_stacked(onnx_call *c, const trips *t, uint32_t i, int64_t axis, bool reverse, uint32_t to) {
  const onnx_value_info *info = &t->body->outputs[t->body->n_outputs - t->n_scan + i];
  int at;
  if (!onnx_wants(c, to)) return RLX_OK;
  if (!t->n) {
    RLX_TRY(onnx_axis(c, axis, (info->rank > 0 ? info->rank : 0) + 1, &at));
    return set_empty(c, info, at, to);
  }
  onnx_value **v = t->held + t->n_carried + i;
  rlx_node *parts = onnx_alloc(c->imp, (size_t)t->n, sizeof *parts);
  if (!parts) return RLX_FAIL(RLX_NO_MEMORY, "%" PRIu64 " trips of a loop", t->n);
  RLX_TRY(onnx_axis(c, axis, v[0]->is.shape.n + 1, &at));
  if (v[0]->is.shape.n >= RLX_MAX_RANK) return onnx_refuse(c, "a result with %d axes", (int)v[0]->is.shape.n + 1);
  for (size_t k = 0; k < t->n; k++) {
    onnx_value *one = v[k * t->n_scan];
    if (one->is.shape.n != v[0]->is.shape.n)
      return RLX_FAIL(RLX_INVALID, "trip %zu gives '%s' with %d axes, the first with %d", k, info->name,
                      (int)one->is.shape.n, (int)v[0]->is.shape.n);
    parts[reverse ? (size_t)t->n - 1 - k : k] = with_axis(c, one, at);
  }
  rlx_node y = t->n == 1 ? parts[0] : rlx_op_concat(c->g, parts, (size_t)t->n, at);
  return onnx_set_as(c, to, y, v[0]->type);
}

/* ---- Loop ---- */

static rlx_status known_int(onnx_call *c, int64_t x, onnx_value **out) {
  int64_t *p = onnx_alloc(c->imp, 1, sizeof *p);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a number");
  *p = x;
  return onnx_value_known(c->imp, ONNX_INT64, &(rlx_tensor){.dtype = RLX_I64, .data = p}, out);
}

static rlx_status known_bool(onnx_call *c, bool x, onnx_value **out) {
  uint8_t *p = onnx_alloc(c->imp, 1, 1);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a flag");
  *p = x;
  return onnx_value_known(c->imp, ONNX_BOOL, &(rlx_tensor){.dtype = RLX_BOOL, .data = p}, out);
}

/* Reads the condition that an iteration returned. */
static rlx_status goes_on(onnx_call *c, const trips *t, onnx_value *cond, bool *out) {
  rlx_tensor value;
  char why[200];
  snprintf(why, sizeof why, "node %u '%.100s' (Loop) needs its condition", (unsigned)c->node->number, c->node->name);
  RLX_TRY(onnx_force_holding(c, cond, why, t->held, n_held(t), &value));
  if (value.dtype != RLX_BOOL || value.bytes != 1) return RLX_FAIL(RLX_INVALID, "the condition is not one flag");
  *out = *(const uint8_t *)value.data != 0;
  return RLX_OK;
}

/* Imports the iterations from number `first` on as one `while` node, if the condition is only known in a run. */
static rlx_status rest_as_graph(onnx_call *c, trips *t, int64_t first, int64_t max, bool *done) {
  onnx_while w = {.body = t->body,
                  .first = first,
                  .max_trips = max,
                  .fails_at = (int64_t)(onnx_max_trips(c) < INT32_MAX ? onnx_max_trips(c) : INT32_MAX),
                  .cond = t->out[0],
                  .carried = t->held,
                  .n_carried = t->n_carried};
  *done = false;
  if (t->n_scan) return RLX_OK; /* the number of collected values is only known in a run */
  RLX_TRY(onnx_know(c->imp, w.cond));
  if (w.cond->known || w.cond->live) return RLX_OK;
  if (w.fails_at <= first) return RLX_OK;
  return onnx_while_as_graph(c, &w, done);
}

static rlx_status loop_trips(onnx_call *c, trips *t, int64_t max, bool cond) {
  bool done = false;
  uint64_t bound = onnx_max_trips(c);
  for (int64_t i = 0; (max < 0 || i < max) && cond; i++) {
    if (t->n >= bound) return RLX_FAIL(RLX_UNSUPPORTED, "loop has not ended after %" PRIu64 " trips", bound);
    RLX_TRY(known_int(c, i, &t->in[0]));
    RLX_TRY(known_bool(c, true, &t->in[1]));
    for (uint32_t k = 0; k < t->n_carried; k++) t->in[2 + k] = t->held[k];
    RLX_TRY(one_trip(c, t, 1));
    if (i == 0 && (max < 0 || max > 1)) RLX_TRY(rest_as_graph(c, t, 1, max, &done));
    if (done) return RLX_OK;
    if (max < 0 || i + 1 < max) RLX_TRY(goes_on(c, t, t->out[0], &cond));
  }
  return RLX_OK;
}

/* The iteration numbers, scanned by a loop's body. */
static rlx_node trip_numbers(onnx_call *c, void *user, uint32_t i) {
  const int64_t *n = user;
  int64_t *v = onnx_alloc(c->imp, (size_t)*n, sizeof *v);
  (void)i;
  if (!v) return rlx_graph_set_error(c->g, RLX_FAIL(RLX_NO_MEMORY, "%" PRId64 " trips", *n));
  for (int64_t k = 0; k < *n; k++) v[k] = k;
  return onnx_constant_i64(c, RLX_DIMS(*n), v);
}

/* A Loop with a known iteration count and a constant condition: a scan over the iteration numbers. */
static rlx_status loop_as_graph(onnx_call *c, trips *t, int64_t max, bool *done) {
  const rlx_type number = {RLX_I64, {.n = 0}};
  const onnx_type type = ONNX_INT64;
  onnx_loop l = {.body = t->body,
                 .trips = max,
                 .carried = t->held,
                 .n_carried = t->n_carried,
                 .carried_at = 2,
                 .first_out = 1,
                 .scanned = trip_numbers,
                 .user = &max,
                 .scanned_type = &type,
                 .slice = &number,
                 .n_scanned = 1,
                 .always_at = 1};
  *done = false;
  if (max < 1 || (uint64_t)max > onnx_max_trips(c)) return RLX_OK;
  RLX_TRY(known_bool(c, true, &l.always));
  if (!(l.result_type = onnx_alloc(c->imp, (size_t)t->body->n_outputs + 1, sizeof *l.result_type)))
    return RLX_FAIL(RLX_NO_MEMORY, "a loop");
  RLX_TRY(onnx_loop_as_graph(c, &l, done));
  for (uint32_t i = 0; *done && i < t->n_carried + t->n_scan; i++)
    if (onnx_wants(c, i)) RLX_TRY(onnx_set_as(c, i, l.results[i], l.result_type[i]));
  return RLX_OK;
}

rlx_status onnx_op_loop(onnx_call *c) {
  trips t = {0};
  int64_t max = -1;
  bool cond = true;
  if (onnx_has(c, 0)) {
    RLX_TRY(onnx_need_int(c, 0, &max));
    if (max < 0) max = 0;
  }
  if (onnx_has(c, 1)) RLX_TRY(onnx_need_bool(c, 1, &cond));
  RLX_TRY(onnx_graph_of(c, "body", &t.body));
  t.n_carried = c->node->n_in > 2 ? c->node->n_in - 2 : 0;
  if (t.body->n_inputs != t.n_carried + 2 || t.body->n_outputs < t.n_carried + 1)
    return RLX_FAIL(RLX_INVALID, "the body has %u inputs and %u outputs for %u carried values",
                    (unsigned)t.body->n_inputs, (unsigned)t.body->n_outputs, (unsigned)t.n_carried);
  t.n_scan = t.body->n_outputs - 1 - t.n_carried;
  if (c->n_out > t.n_carried + t.n_scan) return RLX_FAIL(RLX_INVALID, "%u outputs", (unsigned)c->n_out);
  RLX_TRY(begin_trips(c, &t));
  for (uint32_t i = 0; i < t.n_carried; i++)
    if (!(t.held[i] = i + 2 < c->n_in ? c->in[i + 2] : NULL))
      return RLX_FAIL(RLX_INVALID, "input %u is left out", i + 2);
  bool done = false;
  if (cond) RLX_TRY(loop_as_graph(c, &t, max, &done));
  if (done) return RLX_OK;
  RLX_TRY(loop_trips(c, &t, max, cond));
  for (uint32_t i = 0; i < t.n_carried; i++) onnx_set_value(c, i, t.held[i]);
  for (uint32_t i = 0; i < t.n_scan; i++) RLX_TRY(set_stacked(c, &t, i, 0, false, t.n_carried + i));
  return RLX_OK;
}

/* ---- Scan ---- */

typedef struct scan {
  trips t;
  uint32_t first, n_inputs; /* scanned values: inputs from `first` on */
  int64_t length;
  onnx_ints in_axes, out_axes, in_reverse, out_reverse;
} scan;

/* Slice i of a scanned input, without that axis. */
static rlx_status element(onnx_call *c, onnx_value *from, int axis, int64_t i, onnx_value **out) {
  rlx_dims d = from->is.shape;
  for (int k = axis; k + 1 < d.n; k++) d.v[k] = d.v[k + 1];
  d.n--;
  rlx_node x = onnx_part(c, onnx_node_of(c, from), axis, i, i + 1);
  return onnx_value_make(c, onnx_reshape(c, x, d), from->type, out);
}

static int64_t entry(const onnx_ints *v, size_t i) { return i < v->n ? v->v[i] : 0; }

static rlx_status scan_length(onnx_call *c, scan *s) {
  s->length = -1;
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    onnx_value *v = s->first + i < c->n_in ? c->in[s->first + i] : NULL;
    int axis;
    if (!v) return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)(s->first + i));
    RLX_TRY(onnx_axis(c, entry(&s->in_axes, i), v->is.shape.n, &axis));
    if (s->length >= 0 && v->is.shape.v[axis] != s->length)
      return RLX_FAIL(RLX_INVALID, "scanned inputs have %" PRId64 " and %" PRId64 " elements", s->length,
                      v->is.shape.v[axis]);
    s->length = v->is.shape.v[axis];
  }
  return (uint64_t)s->length <= onnx_max_trips(c)
           ? RLX_OK
           : RLX_FAIL(RLX_UNSUPPORTED, "scan has not ended after %" PRIu64 " trips", onnx_max_trips(c));
}

static rlx_status scan_trips(onnx_call *c, scan *s, uint32_t n_state) {
  for (int64_t i = 0; i < s->length; i++) {
    for (uint32_t k = 0; k < n_state; k++) s->t.in[k] = s->t.held[k];
    for (uint32_t k = 0; k < s->n_inputs; k++) {
      onnx_value *v = c->in[s->first + k];
      int axis;
      RLX_TRY(onnx_axis(c, entry(&s->in_axes, k), v->is.shape.n, &axis));
      RLX_TRY(element(c, v, axis, entry(&s->in_reverse, k) ? s->length - 1 - i : i, &s->t.in[n_state + k]));
    }
    RLX_TRY(one_trip(c, &s->t, 0));
  }
  return RLX_OK;
}

static rlx_status read_scan(onnx_call *c, scan *s, uint32_t *n_state) {
  int64_t n;
  RLX_TRY(onnx_graph_of(c, "body", &s->t.body));
  RLX_TRY(onnx_int(c, "num_scan_inputs", 0, &n));
  uint32_t given = c->node->n_in;
  if (n < 1 || n > given || s->t.body->n_inputs != given || s->t.body->n_outputs < given - (uint32_t)n)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " of %u inputs are scanned, the body has %u", n, (unsigned)given,
                    (unsigned)s->t.body->n_inputs);
  s->n_inputs = (uint32_t)n;
  s->first = *n_state = given - s->n_inputs;
  s->t.n_carried = *n_state;
  s->t.n_scan = s->t.body->n_outputs - *n_state;
  RLX_TRY(onnx_ints_of(c, "scan_input_axes", &s->in_axes));
  RLX_TRY(onnx_ints_of(c, "scan_output_axes", &s->out_axes));
  RLX_TRY(onnx_ints_of(c, "scan_input_directions", &s->in_reverse));
  return onnx_ints_of(c, "scan_output_directions", &s->out_reverse);
}

/* ---- as one node ---- */

typedef struct scan_graph {
  const scan *s;
  int *axis; /* of each scanned input */
} scan_graph;

/* Moves one axis; the others keep their order. */
static rlx_node move_axis(onnx_call *c, rlx_node x, int from, int to) {
  rlx_dims perm = {.n = onnx_dims(c, x).n};
  for (int i = 0, k = 0; i < perm.n; i++) perm.v[i] = i == to ? from : k == from ? (k += 2) - 1 : k++;
  return from == to ? x : rlx_op_transpose(c->g, x, perm);
}

static rlx_node walked(onnx_call *c, void *user, uint32_t i) {
  const scan_graph *g = user;
  return move_axis(c, onnx_node_of(c, c->in[g->s->first + i]), g->axis[i], 0);
}

/* All inputs and outputs must have the same direction, because the op has one. */
static bool is_one_way(const scan *s, bool *reverse) {
  *reverse = entry(&s->in_reverse, 0) != 0;
  for (uint32_t i = 0; i < s->n_inputs; i++)
    if ((entry(&s->in_reverse, i) != 0) != *reverse) return false;
  for (uint32_t i = 0; i < s->t.n_scan; i++)
    if ((entry(&s->out_reverse, i) != 0) != *reverse) return false;
  return true;
}

static rlx_status scan_as_graph(onnx_call *c, const scan *s, bool *done) {
  onnx_loop l = {.body = s->t.body,
                 .trips = s->length,
                 .carried = s->t.held,
                 .n_carried = s->t.n_carried,
                 .scanned = walked,
                 .n_scanned = s->n_inputs,
                 .scanned_at = s->t.n_carried};
  scan_graph g = {s, onnx_alloc(c->imp, s->n_inputs, sizeof *g.axis)};
  onnx_type *types = onnx_alloc(c->imp, s->n_inputs, sizeof *types);
  rlx_type *slice = onnx_alloc(c->imp, s->n_inputs, sizeof *slice);
  *done = false;
  l.user = &g, l.scanned_type = types, l.slice = slice;
  l.result_type = onnx_alloc(c->imp, (size_t)s->t.body->n_outputs + 1, sizeof *l.result_type);
  if (!g.axis || !types || !slice || !l.result_type) return RLX_FAIL(RLX_NO_MEMORY, "a scan");
  if (!is_one_way(s, &l.reverse)) return RLX_OK;
  for (uint32_t i = 0; i < s->n_inputs; i++) {
    const onnx_value *v = c->in[s->first + i];
    RLX_TRY(onnx_axis(c, entry(&s->in_axes, i), v->is.shape.n, &g.axis[i]));
    types[i] = v->type;
    slice[i] = (rlx_type){v->is.dtype, {.n = v->is.shape.n - 1}};
    for (int k = 0; k < slice[i].shape.n; k++) slice[i].shape.v[k] = v->is.shape.v[k + (k >= g.axis[i])];
  }
  RLX_TRY(onnx_loop_as_graph(c, &l, done));
  for (uint32_t i = 0; *done && i < s->t.body->n_outputs; i++) {
    int to = 0;
    rlx_node y = l.results[i];
    if (!onnx_wants(c, i)) continue;
    if (i >= s->t.n_carried) {
      RLX_TRY(onnx_axis(c, entry(&s->out_axes, i - s->t.n_carried), onnx_dims(c, y).n, &to));
      y = move_axis(c, y, 0, to);
    }
    RLX_TRY(onnx_set_as(c, i, y, l.result_type[i]));
  }
  return RLX_OK;
}

rlx_status onnx_op_scan(onnx_call *c) {
  scan s = {0};
  uint32_t n_state = 0;
  RLX_TRY(read_scan(c, &s, &n_state));
  RLX_TRY(scan_length(c, &s));
  RLX_TRY(begin_trips(c, &s.t));
  for (uint32_t i = 0; i < n_state; i++)
    if (!(s.t.held[i] = i < c->n_in ? c->in[i] : NULL))
      return RLX_FAIL(RLX_INVALID, "input %u is left out", (unsigned)i);
  bool done;
  RLX_TRY(scan_as_graph(c, &s, &done));
  if (done) return RLX_OK;
  RLX_TRY(scan_trips(c, &s, n_state));
  for (uint32_t i = 0; i < n_state; i++) onnx_set_value(c, i, s.t.held[i]);
  for (uint32_t i = 0; i < s.t.n_scan; i++)
    RLX_TRY(set_stacked(c, &s.t, i, entry(&s.out_axes, i), entry(&s.out_reverse, i), n_state + i));
  return RLX_OK;
}

/* ---- Scan of opset 8: separate for each batch element, along axis 1 ---- */

typedef struct batch_scan {
  scan s;
  uint32_t n_state;
  int64_t batch;
  onnx_value **done; /* per batch element: final states, then concatenated scan outputs */
} batch_scan;

static rlx_status scan_one(onnx_call *c, batch_scan *b, int64_t at) {
  scan *s = &b->s;
  onnx_value **walked = onnx_alloc(c->imp, s->n_inputs, sizeof *walked);
  if (!walked) return RLX_FAIL(RLX_NO_MEMORY, "a scan");
  s->t.n = s->t.room = 0;
  for (uint32_t i = 0; i < b->n_state; i++) RLX_TRY(element(c, c->in[1 + i], 0, at, &s->t.held[i]));
  for (uint32_t i = 0; i < s->n_inputs; i++) RLX_TRY(element(c, c->in[s->first + i], 0, at, &walked[i]));
  for (int64_t i = 0; i < s->length; i++) {
    for (uint32_t k = 0; k < b->n_state; k++) s->t.in[k] = s->t.held[k];
    for (uint32_t k = 0; k < s->n_inputs; k++)
      RLX_TRY(element(c, walked[k], 0, entry(&s->in_reverse, k) ? s->length - 1 - i : i, &s->t.in[b->n_state + k]));
    RLX_TRY(one_trip(c, &s->t, 0));
  }
  for (uint32_t i = 0; i < b->n_state; i++) onnx_set_value(c, i, s->t.held[i]);
  for (uint32_t i = 0; i < s->t.n_scan; i++) RLX_TRY(set_stacked(c, &s->t, i, 0, false, b->n_state + i));
  for (uint32_t i = 0; i < c->n_out; i++) b->done[(size_t)at * c->n_out + i] = c->out[i];
  return RLX_OK;
}

rlx_status onnx_op_scan_8(onnx_call *c) {
  batch_scan b = {0};
  scan *s = &b.s;
  int64_t n;
  RLX_TRY(onnx_graph_of(c, "body", &s->t.body));
  RLX_TRY(onnx_int(c, "num_scan_inputs", 0, &n));
  RLX_TRY(onnx_ints_of(c, "directions", &s->in_reverse));
  if (onnx_has(c, 0)) return onnx_refuse(c, "sequence_lens: sequences of several lengths");
  if (n < 1 || n >= c->n_in || s->t.body->n_inputs != c->n_in - 1 || s->t.body->n_outputs < c->n_in - 1 - (uint32_t)n)
    return RLX_FAIL(RLX_INVALID, "%" PRId64 " of %u inputs are scanned", n, (unsigned)c->n_in);
  s->n_inputs = (uint32_t)n;
  s->first = c->n_in - s->n_inputs;
  b.n_state = s->t.n_carried = s->first - 1;
  s->t.n_scan = s->t.body->n_outputs - b.n_state;
  b.batch = b.s.length = -1;
  for (uint32_t i = 1; i < c->n_in; i++) {
    bool walked = i >= s->first;
    rlx_dims d = onnx_shape(c, i);
    if (!c->in[i] || d.n < (walked ? 2 : 1) || (b.batch >= 0 && d.v[0] != b.batch) || d.v[0] < 1 ||
        (walked && s->length >= 0 && d.v[1] != s->length))
      return RLX_FAIL(RLX_INVALID, "input %u does not fit the others", (unsigned)i);
    b.batch = d.v[0];
    if (walked) s->length = d.v[1];
  }
  if ((uint64_t)s->length > onnx_max_trips(c) / (uint64_t)b.batch || c->n_out > b.n_state + s->t.n_scan)
    return RLX_FAIL(RLX_UNSUPPORTED, "scan has not ended after %" PRIu64 " trips", onnx_max_trips(c));
  RLX_TRY(begin_trips(c, &s->t));
  if (!(b.done = onnx_alloc(c->imp, (size_t)b.batch * c->n_out + 1, sizeof *b.done)))
    return RLX_FAIL(RLX_NO_MEMORY, "a scan");
  for (int64_t i = 0; i < b.batch; i++) RLX_TRY(scan_one(c, &b, i));
  for (uint32_t i = 0; i < c->n_out; i++) {
    rlx_node *parts = onnx_alloc(c->imp, (size_t)b.batch, sizeof *parts);
    if (!parts) return RLX_FAIL(RLX_NO_MEMORY, "a scan");
    for (int64_t k = 0; k < b.batch; k++) parts[k] = with_axis(c, b.done[(size_t)k * c->n_out + i], 0);
    rlx_node y = b.batch == 1 ? parts[0] : rlx_op_concat(c->g, parts, (size_t)b.batch, 0);
    RLX_TRY(onnx_set_as(c, i, y, b.done[i]->type));
  }
  return RLX_OK;
}
