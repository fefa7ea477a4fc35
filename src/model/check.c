/* Checks whether a file would load as a language model and reports what it would be refused for, without loading it.
 *
 * A file that holds no model (plain weights, an adapter, a projector) or a model of an unknown family may still be
 * valid, so that is a remark. A file of a supported family must load completely. */
#include <string.h>

#include "base/status.h"
#include "model/family.h"
#include "model/model.h"
#include "text/text.h"

typedef struct checker {
  rlx_found_fn found;
  void *user;
  char first[1024];
  rlx_status status;
} checker;

static void report(checker *c, rlx_status s, bool is_remark) {
  if (c->found) c->found(c->user, is_remark, rlx_message());
  if (is_remark || c->status) return;
  c->status = s;
  memcpy(c->first, rlx_message(), strnlen(rlx_message(), sizeof c->first - 1));
}

/* Whether the file holds a model of a supported family. */
static bool is_known(const rlx_file *f, checker *c) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, "general.architecture", &m) && !rlx_file_meta_find(f, "config.json", &m)) return false;
  if (rlx_file_tensor_count(f) == 0) return false; /* only a vocabulary */
  rlx_status s = lm_config_family(f);
  if (s == RLX_UNSUPPORTED) report(c, s, true);
  return s != RLX_UNSUPPORTED;
}

/* A vocabulary that cannot represent every byte works, but not all of its input reaches the model. */
static rlx_status check_bytes(checker *c, const rlx_tokenizer *t) {
  const char *what;
  RLX_TRY(text_broken_become(t, &what));
  if (what)
    report(c,
           RLX_FAIL(RLX_UNSUPPORTED,
                    "bytes that are not UTF-8 become %s: the vocabulary has neither byte tokens nor U+FFFD", what),
           true);
  return RLX_OK;
}

rlx_status rlx_lm_check(const rlx_file *f, rlx_found_fn found, void *user) {
  if (!f) return RLX_FAIL(RLX_INVALID, "rlx_lm_check: the file is NULL");
  checker c = {.found = found, .user = user};
  lm_model *m = NULL;
  rlx_tokenizer *t = NULL;
  rlx_status s = is_known(f, &c) ? lm_model_open(f, &m) : RLX_OK;
  if (s) report(&c, s, false);
  if (s != RLX_NO_MEMORY) {
    s = rlx_tokenizer_create(f, &t);
    if (!s) s = check_bytes(&c, t);
    if (s && s != RLX_NOT_FOUND) report(&c, s, false);
  }
  rlx_tokenizer_destroy(t);
  lm_model_close(m);
  return c.status ? RLX_FAIL(c.status, "%s", c.first) : RLX_OK;
}
