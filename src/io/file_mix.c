/* Mixes of types: "q4_k_m" and the others (file_mixes.def).
 *
 * A rule names the role of a matrix, which its name shows (GGUF's or Hugging Face's), and a condition. Conditions on
 * layers exist because errors in the first and the last layers cost most. Models with few heads of keys and values
 * (GROUPED) have small matrices for them, so more bits cost little there. */
#include "io/file_mix.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "io/file_types.h"

typedef enum role {
  OTHER,
  HEAD,      /* makes the logits */
  EMBEDDING, /* of tokens, where it does not make the logits */
  ATTN_Q,
  ATTN_K,
  ATTN_V,
  ATTN_QKV,
  ATTN_OUTPUT,
  FFN_GATE,
  FFN_UP,
  FFN_DOWN
} role;

typedef enum place {
  ANY,
  FIRST_2,            /* of the layers */
  FIRST_4,            /* of the layers */
  FIRST_16TH,         /* of the layers */
  FIRST_8TH,          /* of the layers */
  MIDDLE,             /* all but the first and the last eighth */
  MORE,               /* those eighths, and every third layer between */
  GROUPED,            /* four or more heads share one of keys and values */
  GROUPED_OR_EXPERTS, /* or there are four experts or more */
  EIGHT_EXPERTS,      /* just so many */
  EIGHT_EXPERTS_MORE, /* the layers of MORE in such a model */
  UNMEASURED,         /* no importance matrix */
  UNMEASURED_8TH,     /* none, in the first eighth */
  MEASURED_8TH        /* there is one, in the first eighth */
} place;

typedef struct mix_row {
  const char *name;
  rlx_dtype type;
  int file_type;
} mix_row;
typedef struct mix_rule {
  const char *name;
  role role;
  place place;
  rlx_dtype type;
} mix_rule;

#define RULE(name, what, where, type)
#define MIX(name, type, file_type) {#name, RLX_##type, file_type},
static const mix_row mixes[] = {
#include "io/file_mixes.def"
};
#undef MIX
#undef RULE
#define MIX(name, type, file_type)
#define RULE(name, what, where, type) {#name, what, where, RLX_##type},
static const mix_rule rules[] = {
#include "io/file_mixes.def"
};
#undef MIX
#undef RULE
enum { N_MIXES = sizeof mixes / sizeof *mixes, N_RULES = sizeof rules / sizeof *rules };

int mix_find(const char *name) {
  for (int i = 0; i < N_MIXES; i++)
    if (strcmp(name, mixes[i].name) == 0) return i;
  return -1;
}

rlx_dtype mix_type(int mix) { return mixes[mix].type; }
int mix_file_type(int mix) { return mixes[mix].file_type; }
const char *mix_name(int mix) { return mix >= 0 && mix < N_MIXES ? mixes[mix].name : NULL; }

const char *rlx_convert_mix_at(uint32_t i) { return i < N_MIXES ? mixes[i].name : NULL; }

/* ---- Roles ---- */

/* The ends of names; where one is the end of another, the longer one is first. */
static const struct {
  const char *end;
  role role;
} endings[] = {
  {"attn_qkv.weight", ATTN_QKV},      {"attn_q.weight", ATTN_Q},           {"attn_k.weight", ATTN_K},
  {"attn_v.weight", ATTN_V},          {"attn_output.weight", ATTN_OUTPUT}, {"ffn_gate.weight", FFN_GATE},
  {"ffn_gate_exps.weight", FFN_GATE}, {"ffn_up.weight", FFN_UP},           {"ffn_up_exps.weight", FFN_UP},
  {"ffn_down.weight", FFN_DOWN},      {"ffn_down_exps.weight", FFN_DOWN},  {"qkv_proj.weight", ATTN_QKV},
  {"q_proj.weight", ATTN_Q},          {"k_proj.weight", ATTN_K},           {"v_proj.weight", ATTN_V},
  {"o_proj.weight", ATTN_OUTPUT},     {"gate_proj.weight", FFN_GATE},      {"up_proj.weight", FFN_UP},
  {"down_proj.weight", FFN_DOWN},
};

static role role_of(const mix_facts *f, const char *name) {
  if (convert_is_head(name)) return HEAD;
  if (convert_is_embedding(name)) return f->has_head ? EMBEDDING : HEAD;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (rlx_text_ends_with(name, endings[i].end)) return endings[i].role;
  return OTHER;
}

/* The number between two dots; -1: none. */
static int64_t layer_of(const char *name) {
  for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
    size_t n = strspn(dot + 1, "0123456789");
    if (n && n < 7 && dot[1 + n] == '.') return strtol(dot + 1, NULL, 10);
  }
  return -1;
}

void mix_facts_of(const convert_source *source, bool has_importance, mix_facts *out) {
  int64_t q_rows = 0, k_rows = 0;
  *out = (mix_facts){.is_measured = has_importance};
  for (size_t i = 0; i < source->n; i++) {
    const rlx_file_tensor *t = &source->tensors[i];
    out->has_head |= convert_is_head(t->name);
    int64_t layer = layer_of(t->name);
    if (layer >= out->layers) out->layers = layer + 1;
    role r = role_of(out, t->name);
    if (t->shape.n == 2 && r == ATTN_Q) q_rows = t->shape.v[0];
    if (t->shape.n == 2 && r == ATTN_K) k_rows = t->shape.v[0];
    if (t->shape.n == 3 && r == FFN_DOWN) out->experts = t->shape.v[0];
  }
  out->is_grouped = k_rows > 0 && q_rows / k_rows >= 4;
}

/* ---- Rules ---- */

static bool applies(place p, const mix_facts *f, int64_t layer) {
  const int64_t n = f->layers, eighth = n / 8;
  switch (p) {
    case ANY: return true;
    case FIRST_2: return layer < 2;
    case FIRST_4: return layer < 4;
    case FIRST_16TH: return layer < n / 16;
    case FIRST_8TH: return layer < eighth;
    case MIDDLE: return layer >= eighth && layer < 7 * n / 8;
    case MORE:
    case EIGHT_EXPERTS_MORE:
      if (p == EIGHT_EXPERTS_MORE && f->experts != 8) return false;
      return layer < eighth || layer >= 7 * n / 8 || (layer - eighth) % 3 == 2;
    case GROUPED: return f->is_grouped;
    case GROUPED_OR_EXPERTS: return f->is_grouped || f->experts >= 4;
    case EIGHT_EXPERTS: return f->experts == 8;
    case UNMEASURED: return !f->is_measured;
    case UNMEASURED_8TH: return !f->is_measured && layer < eighth;
    case MEASURED_8TH: return f->is_measured && layer < eighth;
    default: return false;
  }
}

/* With eight experts the matrices of keys and values are a small part, so they get q8_0 whatever the mix; but not in
 * the smallest mixes. */
static bool is_small_beside_experts(int mix, const mix_facts *f, role r) {
  const rlx_dtype_info *info = rlx_dtype_describe(mixes[mix].type);
  bool is_smallest = 100 * 8 * info->block_bytes < 260 * info->block_elements && mixes[mix].type != RLX_Q2_K;
  return f->experts == 8 && (r == ATTN_V || r == ATTN_K) && !is_smallest;
}

rlx_dtype mix_type_of(int mix, const mix_facts *f, const rlx_file_tensor *t) {
  const role r = role_of(f, t->name);
  const int64_t layer = layer_of(t->name);
  if (is_small_beside_experts(mix, f, r)) return RLX_Q8_0;
  for (size_t i = 0; i < N_RULES; i++)
    if (rules[i].role == r && strcmp(rules[i].name, mixes[mix].name) == 0 && applies(rules[i].place, f, layer))
      return rules[i].type;
  return r == HEAD ? RLX_Q6_K : mixes[mix].type;
}

/* ---- Patterns ---- */

/* After a mismatch the last * takes one character more. */
bool mix_matches(const char *pattern, const char *name) {
  const char *star = NULL, *from = NULL;
  while (*name) {
    if (*pattern == '*') {
      star = ++pattern;
      from = name;
    } else if (*pattern == '?' || *pattern == *name) {
      pattern++, name++;
    } else if (star) {
      pattern = star;
      name = ++from;
    } else {
      return false;
    }
  }
  while (*pattern == '*') pattern++;
  return *pattern == '\0';
}
