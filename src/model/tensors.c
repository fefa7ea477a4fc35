/* The tensors of a family, from its description.
 *
 * The table has one row per weight of a part that several families share: its name in GGUF and the usual one in Hugging
 * Face, both without what surrounds them, and its shape. A family gets the rows of the parts that it has. Its
 * description changes what is particular to its files: another Hugging Face name, transposed products, norms stored
 * as w - 1. Biases have the names of their weights, so they are no rows of their own. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "model/family.h"

typedef enum row_kind {
  PRODUCT,
  ROTATED /* of q or k */,
  TABLE,
  NORM,
  BIAS
} row_kind; /* BIAS: a vector by itself; in Hugging Face its name is whole */

typedef struct row {
  const char *name, *hf; /* in a layer both begin with "%." */
  lm_size shape[3];
  unsigned part; /* the family must have, or may have, all of these */
  unsigned bias; /* the part that its bias belongs to; 0: it has none */
  row_kind kind;
  lm_when when;
} row;

/* clang-format off */
static const row rows[] = {
  {"token_embd", "embed_tokens", {LM_VOCABULARY, LM_WIDTH}, 0, 0, TABLE, LM_ALWAYS},
  {"position_embd", "embed_positions", {LM_CONTEXT, LM_WIDTH}, LM_POSITION_TABLE, 0, TABLE, LM_ALWAYS},
  {"token_types", "token_type_embeddings", {LM_TYPES, LM_WIDTH}, LM_TOKEN_TYPES, 0, TABLE, LM_ALWAYS},
  {"token_embd_norm", "embed_norm", {LM_WIDTH}, LM_EMBEDDING_NORM, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"output_norm", "norm", {LM_WIDTH}, LM_OUTPUT_NORM, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"output", "lm_head", {LM_VOCABULARY, LM_WIDTH}, LM_OUTPUT, LM_OUTPUT_BIAS, TABLE, LM_ALWAYS},

  {"%.attn_norm", "%.input_layernorm", {LM_WIDTH}, LM_ATTN_NORM, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"%.attn_q", "%.self_attn.q_proj", {LM_Q_ROWS, LM_WIDTH}, LM_QKV, LM_QKV_BIAS, ROTATED, LM_ALWAYS},
  {"%.attn_k", "%.self_attn.k_proj", {LM_KV_ROWS, LM_WIDTH}, LM_QKV, LM_QKV_BIAS, ROTATED, LM_ALWAYS},
  {"%.attn_v", "%.self_attn.v_proj", {LM_KV_ROWS, LM_WIDTH}, LM_QKV, LM_QKV_BIAS, PRODUCT, LM_ALWAYS},
  {"%.attn_qkv", "%.self_attn.qkv_proj", {LM_QKV_ROWS, LM_WIDTH}, LM_JOINED_QKV, LM_QKV_BIAS, PRODUCT, LM_ALWAYS},
  {"%.attn_output", "%.self_attn.o_proj", {LM_WIDTH, LM_Q_ROWS}, LM_ATTENTION, LM_ATTN_BIAS, PRODUCT, LM_ALWAYS},
  {"%.attn_q_norm", "%.self_attn.q_norm", {LM_HEAD}, LM_HEAD_NORMS, 0, NORM, LM_ALWAYS},
  {"%.attn_k_norm", "%.self_attn.k_norm", {LM_HEAD}, LM_HEAD_NORMS, 0, NORM, LM_ALWAYS},
  {"%.attn_q_norm", "%.self_attn.q_norm", {LM_Q_ROWS}, LM_ALL_NORMS, 0, NORM, LM_ALWAYS},
  {"%.attn_k_norm", "%.self_attn.k_norm", {LM_KV_ROWS}, LM_ALL_NORMS, 0, NORM, LM_ALWAYS},
  {"%.post_attention_norm", "%.post_attention_layernorm", {LM_WIDTH}, LM_POST_NORMS, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"%.attn_output_norm", "%.attention.output.LayerNorm", {LM_WIDTH}, LM_SUM_NORMS, LM_NORM_BIAS, NORM, LM_ALWAYS},

  {"%.ffn_norm", "%.post_attention_layernorm", {LM_WIDTH}, LM_FFN_NORM, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"%.ffn_gate", "%.mlp.gate_proj", {LM_HIDDEN, LM_WIDTH}, LM_FFN | LM_GATE, LM_FFN_BIAS, PRODUCT, LM_DENSE},
  {"%.ffn_up", "%.mlp.up_proj", {LM_UP_ROWS, LM_WIDTH}, LM_FFN, LM_FFN_BIAS, PRODUCT, LM_DENSE},
  {"%.ffn_down", "%.mlp.down_proj", {LM_WIDTH, LM_HIDDEN}, LM_FFN, LM_FFN_BIAS, PRODUCT, LM_DENSE},
  {"%.ffn_gate_inp", "%.mlp.gate", {LM_EXPERTS, LM_WIDTH}, LM_MIXTURE, 0, PRODUCT, LM_EXPERT},
  {"%.ffn_gate_exps", "%.mlp.experts.#.gate_proj", {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, LM_MIXTURE, 0, PRODUCT,
   LM_EXPERT},
  {"%.ffn_up_exps", "%.mlp.experts.#.up_proj", {LM_EXPERTS, LM_EXPERT_HIDDEN, LM_WIDTH}, LM_MIXTURE, 0, PRODUCT,
   LM_EXPERT},
  {"%.ffn_down_exps", "%.mlp.experts.#.down_proj", {LM_EXPERTS, LM_WIDTH, LM_EXPERT_HIDDEN}, LM_MIXTURE, 0, PRODUCT,
   LM_EXPERT},
  {"%.exp_probs_b", "%.mlp.gate.e_score_correction_bias", {LM_EXPERTS}, LM_ROUTER_BIAS, 0, BIAS, LM_EXPERT},
  {"%.ffn_gate_shexp", "%.mlp.shared_expert.gate_proj", {LM_SHARED_HIDDEN, LM_WIDTH}, LM_SHARED, 0, PRODUCT, LM_EXPERT},
  {"%.ffn_up_shexp", "%.mlp.shared_expert.up_proj", {LM_SHARED_HIDDEN, LM_WIDTH}, LM_SHARED, 0, PRODUCT, LM_EXPERT},
  {"%.ffn_down_shexp", "%.mlp.shared_expert.down_proj", {LM_WIDTH, LM_SHARED_HIDDEN}, LM_SHARED, 0, PRODUCT, LM_EXPERT},
  {"%.ffn_gate_inp_shexp", "%.mlp.shared_expert_gate", {LM_WIDTH}, LM_SHARED_GATE, 0, PRODUCT, LM_EXPERT},
  {"%.post_ffw_norm", "%.post_feedforward_layernorm", {LM_WIDTH}, LM_POST_NORMS, LM_NORM_BIAS, NORM, LM_ALWAYS},
  {"%.layer_output_norm", "%.output.LayerNorm", {LM_WIDTH}, LM_SUM_NORMS, LM_NORM_BIAS, NORM, LM_ALWAYS},

  {"cls", "classifier.dense", {LM_WIDTH, LM_WIDTH}, LM_RANK_DENSE, LM_RANK_BIAS, TABLE, LM_RANKER},
  {"cls.norm", "head.norm", {LM_WIDTH}, LM_RANK_NORM, 0, NORM, LM_RANKER},
  {"cls.output", "classifier.out_proj", {LM_LABELS, LM_WIDTH}, 0, LM_RANK_DENSE, TABLE, LM_RANKER},
};
/* clang-format on */

static const lm_tensor long_rope[] = {
  {.name = "rope_factors_long.weight", .shape = {LM_ROPE_PAIRS}, .is_optional = true, .recipe = LM_LONG_FACTORS},
  {.name = "rope_factors_short.weight", .shape = {LM_ROPE_PAIRS}, .is_optional = true, .recipe = LM_ROPE_FACTORS},
};
static const lm_tensor rope_freqs = {
  .name = "rope_freqs.weight", .shape = {LM_ROPE_PAIRS}, .is_optional = true, .recipe = LM_ROPE_FACTORS};

typedef struct lister {
  const lm_family *family;
  rlx_bump *texts;
  RLX_ARRAY(lm_tensor) list;
} lister;

/* Joins three texts. NULL: out of memory, or a name that is too long to be one. */
static const char *join(lister *l, const char *a, const char *b, size_t b_length, const char *c) {
  char text[160];
  int n = snprintf(text, sizeof text, "%s%.*s%s", a, (int)b_length, b, c);
  return n > 0 && (size_t)n < sizeof text ? rlx_bump_text(l->texts, text, (size_t)n) : NULL;
}

/* The part of a name after "%." */
static const char *inner_name(const char *name) { return name[0] == '%' ? name + 2 : name; }

/* What files call a weight: "name=theirs" in a list of the family, or the usual name. *n: its bytes. */
static const char *name_in(const char *list, const row *w, const char *usual, size_t *n) {
  const char *name = inner_name(w->name);
  size_t length = strlen(name);
  for (const char *at = list; at && *at; at += strspn(at, " ")) {
    size_t whole = strcspn(at, " ");
    if (whole > length && at[length] == '=' && memcmp(at, name, length) == 0) {
      *n = whole - length - 1;
      return at + length + 1;
    }
    at += whole;
  }
  *n = usual ? strlen(usual) : 0;
  return usual;
}

static lm_recipe recipe_of(const lm_family *f, const row *w, bool is_bias) {
  if (f->adds_one && w->kind == NORM) return LM_PLUS_ONE;
  if (f->skips_rows && w->part == LM_POSITION_TABLE) return LM_SKIP_ROWS;
  if (f->pairs_rows && w->kind == ROTATED) return LM_PAIR_ROWS;
  if (f->groups_rows && strcmp(w->name, "%.attn_qkv") == 0) return LM_GROUPED_ROWS;
  if (f->halves_experts && strcmp(w->name, "%.ffn_gate_exps") == 0) return LM_FIRST_HALF;
  if (f->halves_experts && strcmp(w->name, "%.ffn_up_exps") == 0) return LM_SECOND_HALF;
  return f->is_transposed && !is_bias && (w->kind == PRODUCT || w->kind == ROTATED) ? LM_TRANSPOSED : LM_AS_IS;
}

/* A weight, or the bias of one. */
static bool add(lister *l, const row *w, bool is_bias) {
  const lm_family *f = l->family;
  const bool in_layer = w->name[0] == '%';
  const char *ending = is_bias || w->kind == BIAS ? ".bias" : ".weight",
             *layers = f->hf_layers ? f->hf_layers : "layers.";
  char before[64] = "";
  size_t n_hf, n_gguf;
  const char *hf = name_in(f->hf_names, w, inner_name(w->hf), &n_hf);
  const char *gguf = name_in(f->gguf_names, w, NULL, &n_gguf);
  if (in_layer) snprintf(before, sizeof before, "%s%%.", layers);
  lm_tensor t = {.when = w->when, .recipe = recipe_of(f, w, is_bias)};
  t.is_optional = ((w->part | (is_bias ? w->bias : 0)) & ~f->has) != 0;
  t.name = join(l, in_layer ? "blk." : "", w->name, strlen(w->name), ending);
  t.hf = join(l, before, hf, n_hf, w->kind == BIAS ? "" : ending);
  for (int i = 0; i < 3; i++) t.shape[i] = w->shape[i];
  if (is_bias) t.shape[1] = t.shape[2] = LM_NO_SIZE;
  if (gguf) t.gguf = join(l, in_layer ? "blk.%." : "", gguf, n_gguf, ending);
  if (!t.name || !t.hf || (gguf && !t.gguf)) return false;
  const char *stack = strstr(w->name, "_exps");
  if (stack) t.apart = join(l, "blk.", w->name, (size_t)(stack - w->name), ".#.weight");
  return (!stack || t.apart) && rlx_array_push(&l->list, t);
}

static bool add_all(lister *l) {
  const lm_family *f = l->family;
  const unsigned parts = f->has | f->may_have;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if ((rows[i].part & ~parts) != 0) continue;
    if (!add(l, &rows[i], false)) return false;
    if (rows[i].bias && (rows[i].bias & ~parts) == 0 && !add(l, &rows[i], true)) return false;
  }
  if ((parts & LM_ROPE_FREQS) && !rlx_array_push(&l->list, rope_freqs)) return false;
  for (size_t i = 0; (parts & LM_LONG_ROPE) && i < 2; i++)
    if (!rlx_array_push(&l->list, long_rope[i])) return false;
  for (size_t i = 0; i < f->n_tensors; i++)
    if (!rlx_array_push(&l->list, f->tensors[i])) return false;
  return true;
}

rlx_status lm_list_tensors(const lm_config *c, rlx_bump *texts, const lm_tensor **list, size_t *n) {
  lister l = {.family = c->family, .texts = texts};
  lm_tensor *all = add_all(&l) ? rlx_bump_alloc(texts, l.list.n, sizeof *all) : NULL;
  if (all) memcpy(all, l.list.v, l.list.n * sizeof *all);
  *list = all;
  *n = all ? l.list.n : 0;
  rlx_array_deinit(&l.list);
  return all ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the tensors of the family %s", c->family->name);
}
