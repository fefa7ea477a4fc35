/* Parts of the text form that reports and dumps also use. */
#ifndef RLX_IR_TEXT_H
#define RLX_IR_TEXT_H

#include "base/str.h"
#include "ir/graph.h"

void rlx_text_type(rlx_str *s, const rlx_graph *g, const rlx_type *t);       /* f32[B,4] */
void rlx_text_node(rlx_str *s, const rlx_graph *g, rlx_node id, int indent); /* one line (more with sub-graphs) */
/* One attribute's value. g provides the symbols' names; indent is for sub-graphs. */
void rlx_text_attr(rlx_str *s, const rlx_graph *g, const rlx_attr_field *f, const void *at, int indent);

/* Whether a constant of this type may be printed as a list of numbers; otherwise it is printed as bytes. */
static inline bool rlx_text_lists(rlx_dtype t) { return rlx_dtype_is_float(t) || rlx_dtype_is_int(t) || t == RLX_BOOL; }

#endif
