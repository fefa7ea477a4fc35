/* The page's files and their routes. */
#ifndef RLX_SERVE_PAGE_H
#define RLX_SERVE_PAGE_H

#include "serve/serve.h"

/* sv_page_NAME: the bytes, made by cmake/page_files.cmake. sv_get_NAME: the function of its route. */
#define SV_PAGE(path, name, type)      \
  extern const sv_file sv_page_##name; \
  rlx_status sv_get_##name(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, sv_job **job);
#include "serve/page.def"
#undef SV_PAGE

#endif
