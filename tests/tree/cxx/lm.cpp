// The header of language models from C++: it compiles, and its structs take their members in order.
#include <rlx/lm.h>

static void show(void *, const char *, size_t) {}

rlx_status ask(const char *path, const char *question) {
  auto desc = rlx_init<rlx_lm_desc>();
  desc.path = path;
  rlx_lm *lm = nullptr;
  rlx_status status = rlx_lm_load(&desc, &lm);
  auto options = rlx_init<rlx_lm_options>();
  options.max_tokens = 16;
  rlx_chat_message message = {"user", question};
  if (!status) status = rlx_lm_reply(lm, nullptr, &message, 1, &options, show, nullptr, nullptr);
  rlx_lm_destroy(lm);
  return status;
}
