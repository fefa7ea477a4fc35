/* Loads a graph from a file in text form. Further formats would be detected here by their first bytes. */
#include "base/file.h"
#include "base/mem.h"

enum { LIMIT_BYTES = 1 << 30 }; /* a larger text is not a model */

rlx_status rlx_graph_read(const char *path, rlx_graph **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_graph_read: out is NULL");
  *out = NULL;
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_graph_read: path is NULL");
  char *text;
  size_t bytes;
  RLX_TRY(rlx_file_read(path, LIMIT_BYTES, &text, &bytes));
  rlx_status s = rlx_graph_parse(text, bytes, out);
  rlx_mem_free(text);
  return s ? rlx_fail_frame(s, "%s", path) : RLX_OK;
}
