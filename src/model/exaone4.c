/* EXAONE 4: norms of what each part gives and none before, norms of the heads of q and k. In the large one three of
 * four layers have a window, and only these have positions. */
#include "model/family.h"
#include "model/reader.h"

static void read_exaone4(lm_reader *r, lm_config *c) {
  c->window = lm_key_size(r, "attention.sliding_window", "sliding_window", 0);
  lm_reader_mark_known(r, NULL, "sliding_window_pattern"); /* the pattern is always three of four */
  lm_read_windows(r, c, 4);
  if (c->is_local) c->skips_rope = lm_new_layer_flags(r, c);
  for (int64_t i = 0; c->skips_rope && i < c->layers; i++) c->skips_rope[i] = !c->is_local[i];
}

const lm_family lm_exaone4 = {
  .name = "exaone4",
  .architectures = "Exaone4ForCausalLM Exaone4Model exaone4",
  .has = LM_OUTPUT_NORM | LM_ATTENTION | LM_QKV | LM_HEAD_NORMS | LM_POST_NORMS | LM_FFN | LM_GATE,
  .may_have = LM_OUTPUT,
  .read = read_exaone4,
};
