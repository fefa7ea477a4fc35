/* The dispatch report: for each input node of legalise, whether the target runs it natively, what it was rewritten
 * into, or that it runs on the host, and why. */
#ifndef RLX_PASS_REPORT_H
#define RLX_PASS_REPORT_H

#include "base/str.h"
#include "ir/graph.h"

typedef enum rlx_how { RLX_HOW_LEAF, RLX_HOW_NATIVE, RLX_HOW_REWRITTEN, RLX_HOW_HOST } rlx_how;

typedef struct rlx_report_row {
  rlx_how how;
  const char *why;       /* why it runs on the host or was rewritten; may be NULL */
  uint32_t first, count; /* its final nodes' ops: rlx_report.into[first ..] */
} rlx_report_row;

struct rlx_report {
  rlx_graph *graph;               /* the input of legalise: the rows' nodes */
  RLX_ARRAY(rlx_report_row) rows; /* by node id */
  RLX_ARRAY(struct rlx_report_into {
    rlx_op op;
    bool host;
  })
  into;
  uint32_t native, rewritten, host;
  uint32_t partly; /* rewritten nodes of which some parts run on the host */
};
typedef struct rlx_report rlx_report;

void rlx_report_deinit(rlx_report *r);
void rlx_report_text(const rlx_report *r, rlx_str *s);
void rlx_report_json(const rlx_report *r, rlx_str *s); /* without the last '}': the caller may add fields */

#endif
