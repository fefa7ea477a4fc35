/* Reports of a plan as text and JSON; the SVG picture is in svg.c.
 *
 * The text has sizes with units, what each technique saved, and a table of values. The JSON has plain bytes; "peak",
 * "lower_bound", "seconds" and "offsets" are also in the output of `rlx plan --csv` for a bare placement problem. */
#include "plan/report.h"

#include <string.h>

/* ---- formatting ---- */

const report_family rlx_plan_report_families[REPORT_FAMILIES] = {
  {"workspace", "#9e9e9e"},    {"input", "#4caf50"}, {"product", "#1e88e5"}, {"norm, reduction", "#8e24aa"},
  {"element-wise", "#fb8c00"}, {"move", "#00acc1"},  {"control", "#e53935"}, {"other", "#6d4c41"},
};
enum { WORKSPACE, INPUT, PRODUCT, REDUCTION, POINTWISE, MOVE, CONTROL, OTHER };

int rlx_plan_report_family_of(const rlx_graph *g, rlx_node n) {
  static const struct {
    const char *part;
    int family;
  } names[] = {{"matmul", PRODUCT}, {"conv", PRODUCT},   {"attention", PRODUCT}, {"dot", PRODUCT},
               {"solve", PRODUCT},  {"norm", REDUCTION}, {"softmax", REDUCTION}, {"reduce", REDUCTION},
               {"pool", REDUCTION}, {"arg", REDUCTION},  {"sort", REDUCTION},    {"cum", REDUCTION},
               {"top_k", REDUCTION}};
  if (!n) return WORKSPACE;
  const rlx_op_table_row *row = rlx_op_table_get(rlx_graph_at(g, n)->op);
  if (row->traits & RLX_TRAIT_LEAF) return INPUT;
  if (row->traits & RLX_TRAIT_CONTROL) return CONTROL;
  if (row->traits & RLX_TRAIT_MOVES) return MOVE;
  if (row->traits & RLX_TRAIT_POINTWISE) return POINTWISE;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strstr(row->name, names[i].part)) return names[i].family;
  return OTHER;
}

void rlx_plan_report_add_bytes(rlx_str *s, uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double x = (double)bytes;
  size_t unit = 0;
  for (; x >= 1024.0 && unit < 6; unit++) x /= 1024.0;
  rlx_str_add(s, unit ? "%.2f %s" : "%.0f %s", x, units[unit]);
}

static const char *segment_name(rlx_segment segment) {
  static const char *const names[] = {"none", "weights", "state", "scratch"};
  return names[segment];
}

static double ratio(const rlx_plan *p) {
  return p->lower_bound ? (double)p->scratch_bytes / (double)p->lower_bound : 1.0;
}

/* ---- lifetimes ---- */

static void reach(report_life *life, rlx_node n, uint32_t step) {
  if (n && life[n].last < step) life[n].last = step;
}

report_life *rlx_plan_report_lives(const rlx_plan *p) {
  const rlx_graph *g = p->graph;
  uint32_t end = rlx_graph_end(g), last = p->n_steps ? (uint32_t)(p->n_steps - 1) : 0;
  report_life *life = rlx_mem_calloc(end, sizeof *life);
  bool *is_made = rlx_mem_calloc(end, sizeof *is_made);
  if (!life || !is_made) {
    rlx_mem_free(life);
    rlx_mem_free(is_made);
    return NULL;
  }
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const rlx_step *s = &p->steps[i];
    const rlx_node_rec *n = rlx_graph_at(g, s->node);
    bool makes = s->kind == RLX_STEP_NODE || memcmp(&s->out[0], &p->at[s->node], sizeof s->out[0]) == 0;
    for (uint32_t k = 0; makes && k < s->n_out; k++) {
      life[s->nodes[k]] = (report_life){i, i > life[s->nodes[k]].last ? i : life[s->nodes[k]].last};
      is_made[s->nodes[k]] = true;
    }
    if (s->kind == RLX_STEP_COPY) reach(life, s->node, i);
    for (uint32_t k = 0; makes && k < n->n_in; k++) reach(life, n->in[k], i);
  }
  for (size_t i = 0; i < g->outputs.n; i++) reach(life, g->outputs.v[i].node, last);
  for (rlx_node id = 1; id < end; id++) { /* a view is complete once everything that it shows is */
    const rlx_node_rec *n = rlx_graph_at(g, id);
    for (uint32_t k = 0; !is_made[id] && k < n->n_in; k++)
      if (n->in[k] && life[n->in[k]].first > life[id].first) life[id].first = life[n->in[k]].first;
  }
  for (rlx_node id = end - 1; id > 0; id--) {
    const rlx_node_rec *n = rlx_graph_at(g, id);
    if (life[id].last < life[id].first) life[id].last = life[id].first;
    if (n->op == RLX_OP_input) life[id] = (report_life){0, last};
    for (uint32_t k = 0; !is_made[id] && p->at[id].segment && k < n->n_in; k++) reach(life, n->in[k], life[id].last);
  }
  rlx_mem_free(is_made);
  return life;
}

/* ---- text ---- */

static void add_row(rlx_str *s, const char *what, uint64_t bytes) {
  rlx_str_add(s, "%-12s", what);
  rlx_plan_report_add_bytes(s, bytes);
}

static void add_summary(const rlx_plan *p, rlx_str *s) {
  uint64_t saved = p->view_bytes + p->in_place_bytes + p->scratch_bytes;
  add_row(s, "weights", p->weights_bytes);
  rlx_str_add(s, " in %u\n", (unsigned)p->n_weights);
  add_row(s, "state", p->state_bytes);
  rlx_str_add(s, " in %u\n", (unsigned)p->n_states);
  add_row(s, "scratch", p->scratch_bytes);
  rlx_str_add(s, " in %u block%s, %.3f times the lower bound\n", (unsigned)p->n_scratch, p->n_scratch == 1 ? "" : "s",
              ratio(p));
  add_row(s, "lower bound", p->lower_bound);
  rlx_str_add(s, "; in the graph's own order ");
  rlx_plan_report_add_bytes(s, p->order_bound);
  rlx_str_add_char(s, '\n');
  add_row(s, "greedy", p->greedy_bytes);
  rlx_str_add(s, " by size alone\n");
  add_row(s, "naive", p->naive_bytes);
  rlx_str_add(s, " with every value apart; of that views save ");
  rlx_plan_report_add_bytes(s, p->view_bytes);
  rlx_str_add(s, " (%u), in place ", (unsigned)p->n_views);
  rlx_plan_report_add_bytes(s, p->in_place_bytes);
  rlx_str_add(s, " (%u), reuse ", (unsigned)p->n_in_place);
  rlx_plan_report_add_bytes(s, p->naive_bytes > saved ? p->naive_bytes - saved : 0);
  rlx_str_add(s, "\nsteps       %zu, of them %u copies and %u on the host\n", p->n_steps, (unsigned)p->n_copies,
              (unsigned)p->n_host);
  rlx_str_add(s, "planned in  %.3f ms\n", p->seconds * 1e3);
}

static void add_text_value(const rlx_plan *p, rlx_node id, const report_life *life, rlx_str *s) {
  const rlx_node_rec *n = rlx_graph_at(p->graph, id);
  const char *name = rlx_node_name(p->graph, id);
  const rlx_window *w = &p->at[id];
  rlx_str_add(s, "%7u %7u..%-7u %-8s%4u %14llu %14llu  %s %s%s%s%s\n", (unsigned)id, (unsigned)life->first,
              (unsigned)life->last, segment_name(w->segment), (unsigned)w->block, (unsigned long long)w->offset,
              (unsigned long long)w->bytes, rlx_op_table_get(n->op)->name, rlx_dtype_name(n->type.dtype),
              RLX_DIMS_TEXT(n->type.shape), name ? " " : "", name ? name : "");
}

static void report_text(const rlx_plan *p, const report_life *life, rlx_str *s) {
  add_summary(p, s);
  rlx_str_add(s, "\n%7s %16s %-8s%4s %14s %14s  %s\n", "node", "steps     ", "segment", "blk", "offset", "bytes",
              "value");
  for (rlx_node id = 1; id < rlx_graph_end(p->graph); id++)
    if (p->at[id].segment) add_text_value(p, id, &life[id], s);
}

/* ---- JSON ---- */

static void add_field(rlx_str *s, const char *name, uint64_t value) {
  rlx_str_add(s, "\"%s\":%llu,", name, (unsigned long long)value);
}

static void add_window(rlx_str *s, const rlx_window *w) {
  if (!w->segment) {
    rlx_str_add(s, "null");
    return;
  }
  rlx_str_add(s, "{\"segment\":\"%s\",\"block\":%u,\"offset\":%llu,\"bytes\":%llu}", segment_name(w->segment),
              (unsigned)w->block, (unsigned long long)w->offset, (unsigned long long)w->bytes);
}

static void add_windows(rlx_str *s, const char *name, const rlx_window *w, uint32_t n) {
  rlx_str_add(s, ",\"%s\":[", name);
  for (uint32_t i = 0; i < n; i++) {
    if (i) rlx_str_add_char(s, ',');
    add_window(s, &w[i]);
  }
  rlx_str_add_char(s, ']');
}

static void add_json_value(const rlx_plan *p, rlx_node id, const report_life *life, rlx_str *s) {
  const rlx_node_rec *n = rlx_graph_at(p->graph, id);
  const char *name = rlx_node_name(p->graph, id);
  const rlx_window *w = &p->at[id];
  rlx_str_add(s, "{\"id\":%u,\"op\":\"%s\",\"name\":", (unsigned)id, rlx_op_table_get(n->op)->name);
  if (name) rlx_str_add_quoted(s, name);
  else rlx_str_add(s, "null");
  rlx_str_add(s, ",\"dtype\":\"%s\",\"shape\":%s,\"first\":%u,\"last\":%u,", rlx_dtype_name(n->type.dtype),
              RLX_DIMS_TEXT(n->type.shape), (unsigned)life->first, (unsigned)life->last);
  rlx_str_add(s, "\"segment\":\"%s\",\"block\":%u,\"offset\":%llu,\"bytes\":%llu}", segment_name(w->segment),
              (unsigned)w->block, (unsigned long long)w->offset, (unsigned long long)w->bytes);
}

static void add_json_step(const rlx_plan *p, size_t i, rlx_str *s) {
  const rlx_step *t = &p->steps[i];
  rlx_str_add(s, "%s\n{\"kind\":\"%s\",\"node\":%u,\"op\":\"%s\",\"host\":%s", i ? "," : "",
              t->kind == RLX_STEP_COPY ? "copy" : "node", (unsigned)t->node,
              rlx_op_table_get(rlx_graph_at(p->graph, t->node)->op)->name, t->host ? "true" : "false");
  add_windows(s, "in", t->in, t->n_in);
  add_windows(s, "out", t->out, t->n_out);
  rlx_str_add(s, ",\"work\":");
  add_window(s, &t->work);
  rlx_str_add_char(s, '}');
}

static void add_json_numbers(const rlx_plan *p, rlx_str *s) {
  add_field(s, "peak", p->scratch_bytes);
  add_field(s, "lower_bound", p->lower_bound);
  rlx_str_add(s, "\"seconds\":");
  rlx_str_add_double(s, p->seconds);
  rlx_str_add(s, ",\"ratio\":");
  rlx_str_add_double(s, ratio(p));
  rlx_str_add(s, ",\"segments\":{\"weights\":%llu,\"state\":%llu,\"scratch\":%llu},",
              (unsigned long long)p->weights_bytes, (unsigned long long)p->state_bytes,
              (unsigned long long)p->scratch_bytes);
  rlx_str_add(s, "\"blocks\":[");
  for (uint32_t i = 0; i < p->n_scratch; i++) rlx_str_add(s, "%s%llu", i ? "," : "", (unsigned long long)p->scratch[i]);
  rlx_str_add(s, "],");
  add_field(s, "align", p->align);
  add_field(s, "greedy", p->greedy_bytes);
  add_field(s, "naive", p->naive_bytes);
  add_field(s, "order_bound", p->order_bound);
  add_field(s, "view_bytes", p->view_bytes);
  add_field(s, "in_place_bytes", p->in_place_bytes);
  add_field(s, "views", p->n_views);
  add_field(s, "in_place", p->n_in_place);
  add_field(s, "copies", p->n_copies);
  add_field(s, "host", p->n_host);
}

static void report_json(const rlx_plan *p, const report_life *life, rlx_str *s) {
  rlx_str_add(s, "{");
  add_json_numbers(p, s);
  rlx_str_add(s, "\"offsets\":{");
  bool any = false;
  for (rlx_node id = 1; id < rlx_graph_end(p->graph); id++) {
    if (p->at[id].segment != RLX_SEGMENT_SCRATCH) continue;
    rlx_str_add(s, "%s\"%u\":%llu", any ? "," : "", (unsigned)id, (unsigned long long)p->at[id].offset);
    any = true;
  }
  rlx_str_add(s, "},\"values\":[");
  any = false;
  for (rlx_node id = 1; id < rlx_graph_end(p->graph); id++) {
    if (!p->at[id].segment) continue;
    rlx_str_add(s, any ? ",\n" : "\n");
    add_json_value(p, id, &life[id], s);
    any = true;
  }
  rlx_str_add(s, "],\"steps\":[");
  for (size_t i = 0; i < p->n_steps; i++) add_json_step(p, i, s);
  rlx_str_add(s, "]}\n");
}

rlx_status rlx_plan_report(const rlx_plan *p, rlx_plan_format format, rlx_str *out) {
  report_life *life = rlx_plan_report_lives(p);
  if (!life) return RLX_FAIL(RLX_NO_MEMORY, "the report of a plan");
  if (format == RLX_PLAN_SVG) rlx_plan_report_svg(p, out);
  else if (format == RLX_PLAN_JSON) report_json(p, life, out);
  else report_text(p, life, out);
  rlx_mem_free(life);
  return out->failed ? RLX_FAIL(RLX_NO_MEMORY, "the report of a plan") : RLX_OK;
}
