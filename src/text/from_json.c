/* Tokenizers from tokenizer.json: not read yet, and refused. */
#include "text/text.h"

rlx_status text_from_json(const char *json, size_t bytes, const char *config, size_t config_bytes,
                          rlx_tokenizer **out) {
  (void)json, (void)bytes, (void)config, (void)config_bytes;
  *out = NULL;
  return RLX_FAIL(RLX_UNSUPPORTED, "this form of a vocabulary cannot be read; a GGUF's can");
}
