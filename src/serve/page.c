/* The page that browsers get at /: a chat that asks this server's own routes. Its files (page/) are part of the
 * library, need no key, and hold nothing of the models; what the page asks for needs the key as for every client.
 *
 * What a model writes is hostile to the page that shows it. The page makes text nodes of it and never markup, and the
 * policy below is the second wall: scripts, styles and requests of this server alone, no frame around it. */
#include "serve/page.h"

static const sv_header headers[] = {
  {"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                              "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
  {"X-Content-Type-Options", "nosniff"},
  {"Referrer-Policy", "no-referrer"},
  {0},
};

static rlx_status answer(const struct rlx_server *s, const sv_file *file, const char *type, sv_reply *reply) {
  if (s->desc.no_page) return RLX_FAIL(RLX_NOT_FOUND, "this server was started without its page");
  reply->file = file;
  reply->type = type;
  reply->headers = headers;
  return RLX_OK;
}

#define SV_PAGE(path, name, type)                                                                        \
  rlx_status sv_get_##name(struct rlx_server *s, const char *rest, const rlx_str *body, sv_reply *reply, \
                           sv_job **job) {                                                               \
    (void)rest, (void)body, (void)job;                                                                   \
    return answer(s, &sv_page_##name, type, reply);                                                      \
  }
#include "serve/page.def"
#undef SV_PAGE
