/* Selects the type of each tensor in a conversion.
 *
 * Matrices get the requested type, or that of the requested mix (file_mix.c), or the one that a pattern gives them;
 * vectors, which are few and sensitive, become f32; non-float tensors are unchanged. Rows must be whole blocks:
 * otherwise a type with shorter blocks and no fewer bits is used, or f16 if none fits.
 *
 * Unless a uniform type is requested, some matrices keep more bits. The output weight (or the token embedding, if it
 * serves as both) gets at least q6_k, because no later layer averages its errors. Tensors that route, shift or
 * position tokens are small and not used in matrix products, so they stay unquantized. */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/file_convert.h"
#include "io/file_mix.h"
#include "io/file_types.h"
#include "ir/op.h"
#include "quant/quant.h"

static const char *const heads[] = {"output.weight", "lm_head.weight"};
static const char *const embeddings[] = {"token_embd.weight", "embed_tokens.weight", "wte.weight"};

static bool is_one_of(const char *name, const char *const *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t whole = strlen(name), end = strlen(names[i]);
    if (rlx_text_ends_with(name, names[i]) && (whole == end || name[whole - end - 1] == '.')) return true;
  }
  return false;
}

bool convert_is_head(const char *name) { return is_one_of(name, heads, sizeof heads / sizeof *heads); }
bool convert_is_embedding(const char *name) {
  return is_one_of(name, embeddings, sizeof embeddings / sizeof *embeddings);
}

/* Matches GGUF and Hugging Face names. "attn_output.weight" is not an output weight: those have a dot before the
 * word. */
static bool is_kept_plain(const char *name) {
  static const char *const parts[] = {"norm", "ffn_gate_inp", "conv1d", "position", "token_type", "ssm_a", "A_log"};
  static const char *const endings[] = {"mlp.gate.weight", "moe.gate.weight", "wpe.weight", "ssm_d", ".D"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strstr(name, parts[i])) return true;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (rlx_text_ends_with(name, endings[i])) return true;
  return false;
}

/* Whether the file can have matrices of this type. */
static rlx_status check_type(const convert_types *c, const char *name, rlx_dtype type) {
  const char *plain;
  uint32_t code;
  if (type == RLX_DTYPE_UNKNOWN) return RLX_FAIL(RLX_INVALID, "there is no type '%.32s'", name);
  if (!rlx_quant_can_encode(type) && !(rlx_dtype_is_float(type) && type != RLX_F64))
    return RLX_FAIL(RLX_INVALID, "expected f32, f16, bf16 or a block type, got %s", name);
  return c->to_gguf ? gguf_tensor_code(type, &code) : safetensors_name(type, &plain);
}

static bool is_float_matrix(const rlx_file_tensor *t) {
  return t->shape.n >= 2 && (rlx_dtype_is_float(t->dtype) || rlx_dtype_is_block(t->dtype));
}

/* A pattern that matches nothing is a mistake, so it is refused. */
static rlx_status read_override(convert_types *c, const convert_source *source, const char *text) {
  const char *sign = text ? strrchr(text, '=') : NULL;
  if (!sign || sign == text)
    return RLX_FAIL(RLX_INVALID, "expected PATTERN=TYPE for types of single matrices, got '%.100s'", text ? text : "");
  convert_override o = {rlx_mem_alloc((size_t)(sign - text) + 1), rlx_dtype_from_name(sign + 1)};
  if (!o.pattern || !rlx_array_push(&c->overrides, o)) {
    rlx_mem_free(o.pattern);
    return RLX_FAIL(RLX_NO_MEMORY, "a pattern of matrices");
  }
  memcpy(o.pattern, text, (size_t)(sign - text));
  o.pattern[sign - text] = '\0';
  RLX_TRY_AT(check_type(c, sign + 1, o.type), "'%.100s'", text);
  for (size_t i = 0; i < source->n; i++)
    if (is_float_matrix(&source->tensors[i]) && mix_matches(o.pattern, source->tensors[i].name)) return RLX_OK;
  return RLX_FAIL(RLX_INVALID, "no matrix has a name that matches '%.100s'", o.pattern);
}

static rlx_status read_overrides(convert_types *c, const convert_source *source) {
  const rlx_convert_options *o = c->options;
  if (o->n_overrides && !o->overrides)
    return RLX_FAIL(RLX_INVALID, "n_overrides is %zu, overrides NULL", o->n_overrides);
  for (size_t i = 0; i < o->n_overrides; i++) RLX_TRY(read_override(c, source, o->overrides[i]));
  return RLX_OK;
}

rlx_status convert_types_init(convert_types *c, const convert_source *source, const rlx_convert_options *o,
                              bool to_gguf) {
  *c = (convert_types){.options = o, .to_gguf = to_gguf, .has_type = o->type != NULL, .type = RLX_F16, .mix = -1};
  mix_facts_of(source, o->importance != NULL, &c->facts);
  RLX_TRY(read_overrides(c, source));
  if (!c->has_type) return RLX_OK;
  c->mix = mix_find(o->type);
  c->type = rlx_dtype_from_name(o->type); /* of a mix that has the name of a type, that is not always its own */
  if (c->mix >= 0 && !(o->pure && c->type != RLX_DTYPE_UNKNOWN)) c->type = mix_type(c->mix);
  if (o->pure) c->mix = -1;
  return check_type(c, o->type, c->type);
}

void convert_types_deinit(convert_types *c) {
  for (size_t i = 0; i < c->overrides.n; i++) rlx_mem_free(c->overrides.v[i].pattern);
  rlx_array_deinit(&c->overrides);
}

/* Bits per element, times 32. */
static unsigned width(rlx_dtype t) {
  const rlx_dtype_info *info = rlx_dtype_describe(t);
  return 256 * info->block_bytes / info->block_elements;
}

static bool fits(rlx_dtype type, const rlx_file_tensor *t) {
  return t->shape.v[t->shape.n - 1] % rlx_dtype_describe(type)->block_elements == 0;
}

/* The substitute type: shorter blocks, no fewer bits. */
static rlx_dtype substitute_type(rlx_dtype type, const rlx_file_tensor *t) {
  static const rlx_dtype shorter[] = {RLX_IQ4_NL, RLX_Q5_0, RLX_Q5_1, RLX_Q8_0};
  if (fits(type, t)) return type;
  for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++)
    if (width(shorter[i]) > width(type) && fits(shorter[i], t)) return shorter[i];
  return fits(RLX_Q8_0, t) ? RLX_Q8_0 : RLX_F16;
}

static rlx_dtype matrix_type(const convert_types *c, const rlx_file_tensor *t) {
  if (c->options->pure || !rlx_dtype_is_block(c->type)) return c->type;
  if (c->mix >= 0) return mix_type_of(c->mix, &c->facts, t);
  bool makes_logits = convert_is_head(t->name) || (convert_is_embedding(t->name) && !c->facts.has_head);
  return makes_logits && width(c->type) < width(RLX_Q6_K) ? RLX_Q6_K : c->type;
}

/* Without a requested type: the tensor's own type, or the nearest that the format has. */
static rlx_status own_type(const convert_types *c, const rlx_file_tensor *t, rlx_dtype *out) {
  const char *name;
  uint32_t code;
  *out = t->dtype;
  if (!c->to_gguf && rlx_dtype_is_block(t->dtype)) *out = RLX_F16;
  if (c->to_gguf && t->dtype == RLX_BOOL) *out = RLX_I8; /* the same bytes */
  return c->to_gguf ? gguf_tensor_code(*out, &code) : safetensors_name(*out, &name);
}

/* The last pattern that matches decides. */
static const convert_override *override_of(const convert_types *c, const rlx_file_tensor *t) {
  for (size_t i = c->overrides.n; is_float_matrix(t) && i-- > 0;)
    if (mix_matches(c->overrides.v[i].pattern, t->name)) return &c->overrides.v[i];
  return NULL;
}

rlx_status convert_type_of(const convert_types *c, const rlx_file_tensor *t, rlx_dtype *wanted, rlx_dtype *out) {
  const convert_override *given = override_of(c, t);
  if (given) {
    *wanted = given->type;
    *out = substitute_type(*wanted, t);
    return RLX_OK;
  }
  bool has_floats = rlx_dtype_is_float(t->dtype) || rlx_dtype_is_block(t->dtype);
  if (!c->has_type || !has_floats) {
    RLX_TRY_AT(own_type(c, t, out), "tensor '%s'", t->name);
    *wanted = *out;
    return RLX_OK;
  }
  bool is_matrix = t->shape.n >= 2 && (c->options->pure || !is_kept_plain(t->name));
  *wanted = is_matrix ? matrix_type(c, t) : RLX_F32;
  *out = substitute_type(*wanted, t->shape.n ? t : &(rlx_file_tensor){.shape = {.v = {1}, .n = 1}});
  return RLX_OK;
}

int convert_file_type(const convert_types *c) {
  return c->mix >= 0 ? mix_file_type(c->mix) : rlx_type_get(c->type)->file_type;
}
