/* rlx plan MODEL: the memory plan of the program that a language model runs most: the decode program of one token,
 * or the text program of an encoder. No weights are read. */
#include "cli/lm_cli.h"

static int load(const cli_plan_lm_request *r, rlx_session *session, rlx_lm **out) {
  rlx_lm_desc d = {RLX_LM_DESC_INIT,        .path = r->path, .session = session, .context = (uint32_t)r->context,
                   .switches = r->switches, .dry_run = true};
  return cli_check(rlx_lm_load(&d, out), NULL, NULL);
}

int cli_plan_lm(const cli_plan_lm_request *r) {
  rlx_session *session;
  rlx_lm *lm = NULL;
  if (cli_session_open(r->common, r->common->device, (uint32_t)r->common->threads, &session)) return CLI_FAILED;
  int code = load(r, session, &lm);
  rlx_session_destroy(session); /* the model holds its own reference */
  if (!code) code = r->show(r->user, rlx_lm_executable(lm));
  rlx_lm_destroy(lm);
  return code;
}
