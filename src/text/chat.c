/* Chat templates: a conversation as text. A model's own template is recognised by its characteristic pieces; what is not known is
 * refused by name. */
#include <string.h>

#include "base/str.h"
#include "rlx/lm.h"

uint32_t rlx_chat_templates(void) { return 1; }
const char *rlx_chat_template_name(uint32_t i) { return i == 0 ? "chatml" : NULL; }

const char *rlx_chat_template_of(const rlx_file *f) {
  rlx_meta m;
  bool there = f && rlx_file_meta_find(f, "tokenizer.chat_template", &m) && m.kind == RLX_META_TEXT;
  if (there && strstr(m.text, "<|im_start|>")) return "chatml";
  (void)rlx_fail(RLX_UNSUPPORTED, there ? "the model's chat template is not known" : "the model has no chat template");
  return NULL;
}

rlx_status rlx_chat_format(const char *name, const rlx_chat_message *messages, size_t n, bool reply, char **text) {
  if (!text) return RLX_FAIL(RLX_INVALID, "rlx_chat_format: text is NULL");
  *text = NULL;
  if (!name || strcmp(name, "chatml") != 0)
    return RLX_FAIL(RLX_UNSUPPORTED, "there is no chat template '%s'; there is chatml", name ? name : "");
  rlx_str s = {0};
  for (size_t i = 0; i < n; i++) rlx_str_add(&s, "<|im_start|>%s\n%s<|im_end|>\n", messages[i].role, messages[i].text);
  if (reply) rlx_str_add(&s, "<|im_start|>assistant\n");
  return rlx_str_take(&s, text);
}
