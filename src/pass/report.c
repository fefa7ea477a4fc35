/* The dispatch report as text and JSON. */
#include "pass/report.h"

#include "ir/text.h"

static const char *const how_words[] = {"leaf", "native", "rewritten", "host"};

void rlx_report_deinit(rlx_report *r) {
  rlx_graph_destroy(r->graph);
  rlx_array_deinit(&r->rows);
  rlx_array_deinit(&r->into);
  *r = (rlx_report){0};
}

static bool same_into(const struct rlx_report_into *a, const struct rlx_report_into *b) {
  return a->op == b->op && a->host == b->host;
}

/* "mul add x3 sort (host)": equal neighbours are counted. */
static void add_into(const rlx_report *r, const rlx_report_row *row, rlx_str *s) {
  const struct rlx_report_into *into = r->into.v + row->first;
  if (row->count == 0) rlx_str_add(s, " its input");
  for (uint32_t i = 0, run; i < row->count; i += run) {
    for (run = 1; i + run < row->count && same_into(&into[i + run], &into[i]);) run++;
    rlx_str_add(s, " %s", rlx_op_table_get(into[i].op)->name);
    if (run > 1) rlx_str_add(s, " x%u", (unsigned)run);
    if (into[i].host) rlx_str_add(s, " (host)");
  }
}

void rlx_report_text(const rlx_report *r, rlx_str *s) {
  for (rlx_node id = 1; id < r->rows.n; id++) {
    const rlx_report_row *row = &r->rows.v[id];
    if (row->how == RLX_HOW_LEAF) continue;
    rlx_str_add(s, "%-9s %%%u = %s : ", how_words[row->how], (unsigned)id,
                rlx_op_table_get(rlx_graph_at(r->graph, id)->op)->name);
    rlx_text_type(s, r->graph, &rlx_graph_at(r->graph, id)->type);
    if (row->how == RLX_HOW_REWRITTEN) {
      rlx_str_add(s, " ->");
      add_into(r, row, s);
    }
    if (row->why) rlx_str_add(s, " (%s)", row->why);
    rlx_str_add_char(s, '\n');
  }
  rlx_str_add(s, "%u native, %u rewritten (%u partly on the host), %u host\n", (unsigned)r->native,
              (unsigned)r->rewritten, (unsigned)r->partly, (unsigned)r->host);
}

void rlx_report_json(const rlx_report *r, rlx_str *s) {
  rlx_str_add(s, "{\"native\":%u,\"rewritten\":%u,\"partly\":%u,\"host\":%u,\"nodes\":[", (unsigned)r->native,
              (unsigned)r->rewritten, (unsigned)r->partly, (unsigned)r->host);
  const char *comma = "";
  for (rlx_node id = 1; id < r->rows.n; id++) {
    const rlx_report_row *row = &r->rows.v[id];
    if (row->how == RLX_HOW_LEAF) continue;
    rlx_str_add(s, "%s\n{\"node\":%u,\"op\":\"%s\",\"how\":\"%s\"", comma, (unsigned)id,
                rlx_op_table_get(rlx_graph_at(r->graph, id)->op)->name, how_words[row->how]);
    comma = ",";
    if (row->how == RLX_HOW_REWRITTEN) {
      rlx_str_add(s, ",\"into\":[");
      for (uint32_t i = 0; i < row->count; i++) {
        const struct rlx_report_into *into = &r->into.v[row->first + i];
        rlx_str_add(s, "%s{\"op\":\"%s\",\"how\":\"%s\"}", i ? "," : "", rlx_op_table_get(into->op)->name,
                    into->host ? "host" : "native");
      }
      rlx_str_add_char(s, ']');
    }
    if (row->why) {
      rlx_str_add(s, ",\"why\":");
      rlx_str_add_quoted(s, row->why);
    }
    rlx_str_add_char(s, '}');
  }
  rlx_str_add_char(s, ']');
}
