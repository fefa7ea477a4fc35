/* RLX: language models. Weight files, tokenizers, chat templates, generation and embeddings, on top of rlx.h.
 *
 *   rlx_lm *lm;
 *   if (rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = "model.gguf"}, &lm)) puts(rlx_message());
 *   rlx_lm_options options = {RLX_LM_OPTIONS_INIT, .max_tokens = 64};
 *   rlx_lm_generate(lm, "Once upon a time", 16, &options, print_text, NULL, NULL);
 *
 * This is a header of its own because the library can be built without it (-DRLX_LM=OFF): only this part links
 * third-party libraries (jansson, PCRE2, utf8proc). The rules of rlx.h for errors, ownership and threads apply. */
#ifndef RLX_LM_H
#define RLX_LM_H

#include <rlx/rlx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Weight files: GGUF, safetensors, a Hugging Face folder ------------------------------------------------------
 *
 * All of them hold named tensors and metadata. Opening reads and checks the description of everything; tensor data is
 * read on request. A file that was truncated since is an error, never a memory fault. */

/* Threads: once open, any number may read it. */
typedef struct rlx_file rlx_file;
typedef struct rlx_file_tensor {
  const char *name; /* as in the file */
  rlx_dtype dtype;  /* RLX_DTYPE_UNKNOWN: a type that RLX does not have; such a tensor can be described, not read */
  const char *type; /* the type's name, also if RLX does not have the type: "iq1_s" */
  rlx_dims shape;   /* row-major, as everywhere in RLX: the reverse of a GGUF's order */
  size_t bytes;
  uint32_t part;   /* the file's index in a split model, from 0 */
  uint64_t offset; /* in that file */
} rlx_file_tensor;

/* Opens a GGUF (any part of a split one opens all), a .safetensors, a model.safetensors.index.json, or a folder with
 * one of these and config.json. watch may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_open(const char *path, const rlx_watch *watch, rlx_file **out);
RLX_API void rlx_file_close(rlx_file *f);
RLX_API const char *rlx_file_format(const rlx_file *f);                 /* "GGUF v3", "safetensors" */
RLX_API uint32_t rlx_file_part_count(const rlx_file *f);                /* files with tensors */
RLX_API const char *rlx_file_part_at(const rlx_file *f, uint32_t part); /* the path of one; NULL past the end */
RLX_API uint32_t rlx_file_tensor_count(const rlx_file *f);
/* NULL past the end. Names live as long as the file. */
RLX_API const rlx_file_tensor *rlx_file_tensor_at(const rlx_file *f, uint32_t i);
RLX_API const rlx_file_tensor *rlx_file_tensor_find(const rlx_file *f, const char *name); /* NULL: there is none */
/* Reads bytes of a tensor, starting at `from`. RLX_UNSUPPORTED for a type that RLX does not have, as for checking or
 * converting such a file, or opening it as a model that needs such a tensor: the message names tensors and types. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_read_tensor(const rlx_file *f, const rlx_file_tensor *t, size_t from,
                                                       void *data, size_t bytes);

/* Metadata: a GGUF's keys; of safetensors the texts under __metadata__; of a folder also "config.json" (and others),
 * each as one text. */
typedef enum rlx_meta_kind {
  RLX_META_NONE = 0,
  RLX_META_BOOL = 1,
  RLX_META_INT = 2,
  RLX_META_FLOAT = 3,
  RLX_META_TEXT = 4,
  RLX_META_LIST = 5
} rlx_meta_kind;
typedef struct rlx_meta {
  const char *key;
  const char *type; /* the file's name for it: "u32", "string", "array of f32" */
  rlx_meta_kind kind;
  rlx_meta_kind elements; /* of a list: one kind for all (lists in lists: RLX_META_LIST) */
  size_t n;               /* elements of a list, bytes of a text */
  int64_t integer;        /* also a bool; a u64 above INT64_MAX is given as a float */
  double number;          /* a float, or an integer as one */
  const char *text;       /* NUL-terminated; may contain NULs */
  /* of a list that the caller builds (type NULL): const rlx_meta[n], all of the first one's type */
  const void *opaque;
} rlx_meta;
RLX_API uint32_t rlx_file_meta_count(const rlx_file *f);
RLX_API bool rlx_file_meta_at(const rlx_file *f, uint32_t i, rlx_meta *out);        /* false past the end */
RLX_API bool rlx_file_meta_find(const rlx_file *f, const char *key, rlx_meta *out); /* false: there is none */
RLX_API bool rlx_meta_element(const rlx_meta *list, size_t i, rlx_meta *out);       /* of a list; false past its end */

/* Reads all data and checks it: no value, block scales included, is infinite or NaN, a bool is 0 or 1, and no bytes are
 * unused. The message describes the first finding; *n_findings (may be NULL) counts those beyond it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_check(const rlx_file *f, const rlx_watch *watch, uint32_t *n_findings);
/* The same, calling `found` with each finding, and with tensors of zeros as remarks. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_check_each(const rlx_file *f, const rlx_watch *watch, rlx_found_fn found,
                                                      void *user);
/* Whether the file would load as a language model with nothing ignored. The message names tensors, keys and fields of
 * config.json that would not be read, what is missing, and what is wrong with the tokenizer. Files of other families,
 * and those that are no model, are RLX_OK, with a remark. found may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_check(const rlx_file *f, rlx_found_fn found, void *user);

/* Writing: replaces the file atomically. Add all metadata and tensors, then finish; destroy without finishing leaves
 * nothing behind. The path's extension selects the format: .gguf or .safetensors. */
typedef struct rlx_file_writer rlx_file_writer; /* threads: one at a time; the caller must ensure it */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_create(const char *path, rlx_file_writer **out);
RLX_API void rlx_file_writer_destroy(rlx_file_writer *w);
/* Metadata as read from a file; or as set by the caller: key, kind and value, with a type ("u16") or without. Without
 * one, a GGUF stores an integer as u32 if it fits, else i64, and a float as f32. A safetensors stores only texts:
 * anything else as JSON. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_meta(rlx_file_writer *w, const rlx_meta *m);
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_tensor(rlx_file_writer *w, const char *name, rlx_dtype dtype,
                                                         rlx_dims shape);
/* After the last tensor is declared: the bytes of each, in that order, in parts of any size. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_bytes(rlx_file_writer *w, const void *data, size_t bytes);
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_finish(rlx_file_writer *w);

/* How much the inputs of each matrix matter: the mean square of every column's, measured on a text (rlx_lm_measure).
 * An error in a weight that meets large inputs costs more, so conversion to block types weights errors by it.
 * Threads: one at a time while something is added, then any number. */
typedef struct rlx_importance rlx_importance;
RLX_API RLX_MUST_CHECK rlx_status rlx_importance_create(rlx_importance **out); /* empty */
/* The files that llama.cpp calls importance matrices: a GGUF, or the older .dat. RLX_INVALID: something else, or with
 * sizes or numbers that cannot be. */
RLX_API RLX_MUST_CHECK rlx_status rlx_importance_open(const char *path, rlx_importance **out);
/* A path that ends in .gguf or .dat. */
RLX_API RLX_MUST_CHECK rlx_status rlx_importance_save(const rlx_importance *im, const char *path);
RLX_API void rlx_importance_destroy(rlx_importance *im);
RLX_API uint32_t rlx_importance_count(const rlx_importance *im); /* matrices */

/* The error of a tensor that was converted: the root of the sum of squared differences, as a fraction of that of the
 * values. Weighted: with every square times the importance of its column. */
typedef struct rlx_convert_error {
  size_t struct_bytes;
  const char *tensor;
  rlx_dtype from, to;
  double error, weighted_error;
  uint64_t is_weighted; /* 0: there is no importance of this tensor, and both are alike */
} rlx_convert_error;
#define RLX_CONVERT_ERROR_INIT RLX_SIZED(rlx_convert_error)

/* Writes a file again, in the format of the path's extension and with other types. Names and metadata are unchanged; a
 * GGUF gets general.file_type. */
typedef struct rlx_convert_options {
  size_t struct_bytes;
  /* The type of matrices, or a mix of types: "f16", "q4_k", "q4_k_m" (rlx_convert_mix_at). NULL: unchanged, with f16
   * for block types that the format does not have. */
  const char *type;
  bool pure; /* all matrices alike; otherwise the most sensitive ones (the output's, routers, ..) keep more bits */
  uint32_t n_threads; /* 0: one per core */
  rlx_watch watch;
  /* Called for a matrix that gets another type than requested, because its rows are not whole blocks; may be NULL. */
  void (*report)(void *user, const char *tensor, rlx_dtype wanted, rlx_dtype given);
  void *user;                       /* of report and measured */
  const rlx_importance *importance; /* weights the errors that block types are fitted by; NULL: all count alike */
  /* n_overrides texts PATTERN=TYPE, the types of matrices whose names match; * is any text and ? any character. Of
   * several the last that matches decides. One that matches no matrix is refused. */
  const char *const *overrides;
  size_t n_overrides;
  /* Called with the error of each tensor that got another type; may be NULL. Its texts live until it returns. */
  void (*measured)(void *user, const rlx_convert_error *e);
} rlx_convert_options;
#define RLX_CONVERT_OPTIONS_INIT RLX_SIZED(rlx_convert_options)
/* Names that `type` takes besides those of types, from 0; NULL past the last. */
RLX_API const char *rlx_convert_mix_at(uint32_t i);
RLX_API RLX_MUST_CHECK rlx_status rlx_file_convert(const rlx_file *f, const char *path,
                                                   const rlx_convert_options *options);
/* Converts a model of a supported family from a Hugging Face folder to a GGUF that other programs can run: with GGUF's
 * names, metadata, vocabulary and order of rows. A GGUF is converted as by rlx_file_convert. RLX_UNSUPPORTED: another
 * family, or something that a GGUF cannot express. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_convert(const rlx_file *f, const char *path,
                                                 const rlx_convert_options *options);

/* ---- Tokenizers -------------------------------------------------------------------------------------------------- */

/* Threads: immutable, so any number may use it. */
typedef struct rlx_tokenizer rlx_tokenizer;
/* From a GGUF's metadata (tensors are not needed) or a folder's tokenizer.json. The file may be closed afterwards. An
 * unknown pre-tokenizer is refused by name. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_create(const rlx_file *f, rlx_tokenizer **out);
RLX_API void rlx_tokenizer_destroy(rlx_tokenizer *t);
RLX_API uint32_t rlx_tokenizer_size(const rlx_tokenizer *t);
RLX_API const char *rlx_tokenizer_kind(const rlx_tokenizer *t); /* "bpe (smollm)", "spm", "wordpiece" */
typedef enum rlx_token_flags {
  RLX_TOKENS_ADD_SPECIAL = 1,   /* what the model expects around a text: BOS, EOS, [CLS] .. [SEP] */
  RLX_TOKENS_PARSE_SPECIAL = 2, /* "<|im_end|>" in the text is that token, not its letters */
} rlx_token_flags;
/* Accepts any bytes; invalid UTF-8 becomes the tokens of its bytes, or U+FFFD if the vocabulary has no such tokens.
 * Without RLX_TOKENS_PARSE_SPECIAL no text becomes a special token, whatever it spells (except the unknown token, for
 * letters that the vocabulary lacks). Free *ids with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_encode(const rlx_tokenizer *t, const char *text, size_t bytes,
                                                       unsigned flags, int32_t **ids, size_t *n);
/* The text of tokens: their exact bytes, without the leading space that encoding adds in some vocabularies; special
 * tokens only if `special`. NUL-terminated; free *text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_decode(const rlx_tokenizer *t, const int32_t *ids, size_t n,
                                                       bool special, char **text, size_t *bytes);
/* The vocabulary's own spelling of a token; NULL past the end. */
RLX_API const char *rlx_tokenizer_spelling(const rlx_tokenizer *t, int32_t id);
RLX_API bool rlx_tokenizer_is_special(const rlx_tokenizer *t, int32_t id);
RLX_API bool rlx_tokenizer_is_end(const rlx_tokenizer *t, int32_t id); /* it ends generation: EOS, end of turn */
RLX_API int32_t rlx_tokenizer_bos(const rlx_tokenizer *t);             /* -1: none */
RLX_API int32_t rlx_tokenizer_eos(const rlx_tokenizer *t);
RLX_API int32_t rlx_tokenizer_find(const rlx_tokenizer *t, const char *spelling); /* -1: none */

/* Incremental decoding: returns whole UTF-8 characters; incomplete ones wait for the next token. */
typedef struct rlx_decoder rlx_decoder; /* threads: one at a time; the caller must ensure it */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_create(const rlx_tokenizer *t, bool special, rlx_decoder **out);
RLX_API void rlx_decoder_destroy(rlx_decoder *d);
/* *text (NUL-terminated, *bytes long) lives until the next call. */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_push(rlx_decoder *d, int32_t id, const char **text, size_t *bytes);
/* The remaining text, with U+FFFD for an incomplete character. */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_flush(rlx_decoder *d, const char **text, size_t *bytes);

/* ---- Chat templates ---- */

typedef struct rlx_chat_message {
  const char *role; /* "system", "user", "assistant" */
  const char *text;
} rlx_chat_message;
RLX_API uint32_t rlx_chat_template_count(void);
RLX_API const char *rlx_chat_template_name(uint32_t i); /* "chatml", "llama3", ..; NULL past the end */
/* The name of the template that matches the file's own text. NULL, with a message, if the file has none or an unknown
 * one. */
RLX_API const char *rlx_chat_template_of(const rlx_file *f);
/* The conversation as tokens. Special tokens come from the template alone: the text of a message never becomes one,
 * whatever it spells, nor do the texts of several messages together. Flags: RLX_TOKENS_ADD_SPECIAL at the start of a
 * sequence (BOS is not part of a template); RLX_TOKENS_PARSE_SPECIAL if all texts are trusted, so that "<|im_end|>" in
 * one is that token. `reply`: append the header of the assistant's turn. Free *ids with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_encode(const rlx_tokenizer *t, const char *name,
                                                  const rlx_chat_message *messages, size_t n, bool reply,
                                                  unsigned flags, int32_t **ids, size_t *n_ids);
/* The conversation as text, for display and for other programs. Encoded with RLX_TOKENS_PARSE_SPECIAL it has the same
 * tokens, but then the author of a message can end the turn and begin the system's: the template's markers cannot be
 * distinguished from the same letters in a message. Free *text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_format(const char *name, const rlx_chat_message *messages, size_t n,
                                                  bool reply, char **text);

/* The program that a file has for its template (Jinja), run: with tools, their calls and whatever else it reads. What
 * it says beyond the language that docs/tokenizers.md lists is refused with its line: RLX_UNSUPPORTED, or RLX_INVALID
 * where it is wrong. Its steps, memory and nesting are limited: RLX_LIMIT.
 * Threads: immutable, so any number may use it. */
typedef struct rlx_chat_template rlx_chat_template;
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_template_create(const char *text, size_t bytes, rlx_chat_template **out);
/* RLX_NOT_FOUND: the file has none. The texts of BOS, EOS and their like are the file's. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_template_load(const rlx_file *f, rlx_chat_template **out);
RLX_API void rlx_chat_template_destroy(rlx_chat_template *t);
RLX_API const char *rlx_chat_template_text(const rlx_chat_template *t);
/* `input` is JSON: an object with "messages", and where wanted "tools", "add_generation_prompt", "documents" and any
 * other variable that the template reads; "strftime_now" fixes its clock ("2026-11-19T14:32:31"). Special tokens come
 * from the template alone, as in rlx_chat_encode, with the same flags: nothing in the input becomes one, except that
 * usual roles ("user", "tool") and the file's own BOS and EOS count as the template's. BOS is there once, whether the
 * template writes it or RLX_TOKENS_ADD_SPECIAL adds it. Free *ids with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_template_encode(const rlx_chat_template *t, const rlx_tokenizer *tok,
                                                           const char *input, size_t bytes, unsigned flags,
                                                           int32_t **ids, size_t *n);
/* The same as text, as rlx_chat_format. Free *text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_template_format(const rlx_chat_template *t, const char *input, size_t bytes,
                                                           char **text);

/* ---- Grammars: what generated text must match ---- */

typedef enum rlx_grammar_kind {
  RLX_GRAMMAR_GBNF = 0,        /* rules as llama.cpp writes them; the text is what `root` matches */
  RLX_GRAMMAR_JSON_SCHEMA = 1, /* a JSON value that the schema (draft 2020-12) accepts */
  RLX_GRAMMAR_REGEX = 2,       /* what the whole pattern matches */
  RLX_GRAMMAR_JSON = 3         /* any JSON object; `text` is ignored */
} rlx_grammar_kind;
/* Threads: immutable (its caches have a lock of their own); any number of generations may share it. */
typedef struct rlx_grammar rlx_grammar;
/* The tokens of a vocabulary that a text may begin and continue with. It does not need the tokenizer afterwards.
 * RLX_INVALID, with line and column or the place in the schema: an error in the text, or no text matches.
 * RLX_UNSUPPORTED: what is not enforced, by name. RLX_LIMIT: larger than a grammar may be. docs/grammar.md has the
 * details. */
RLX_API RLX_MUST_CHECK rlx_status rlx_grammar_create(const rlx_tokenizer *t, rlx_grammar_kind kind, const char *text,
                                                     size_t bytes, rlx_grammar **out);
/* Generations and requests that use it hold it until they end. */
RLX_API void rlx_grammar_destroy(rlx_grammar *g);

/* ---- Language models --------------------------------------------------------------------------------------------- */

/* Threads: one caller at a time; a second one gets RLX_BUSY. Any number may use its file and tokenizer. */
typedef struct rlx_lm rlx_lm;
/* The type of the KV cache. f16 is the default, here and of the command: it halves the memory that grows with the
 * context and what every token reads, for an error below that of 8-bit weights. q8_0 takes 0.53 of f16's memory, q4_0
 * 0.28, at a loss that docs/lm.md gives; both need heads of a multiple of 32 elements, and the CPU. */
typedef enum rlx_lm_cache {
  RLX_LM_CACHE_F16 = 0,
  RLX_LM_CACHE_F32 = 1,
  RLX_LM_CACHE_Q8_0 = 2,
  RLX_LM_CACHE_Q4_0 = 3
} rlx_lm_cache;
typedef struct rlx_lm_desc {
  size_t struct_bytes;
  const char *path;     /* as rlx_file_open */
  rlx_session *session; /* NULL: one of its own, on `device` with `n_threads` */
  const char *device;
  uint32_t n_threads;
  uint32_t context;     /* tokens a sequence can hold; 0: the model's own, at most 4096 */
  uint32_t n_sequences; /* computed together in one step; 0: 1 */
  /* Prompt tokens computed together (prefill), of one or several sequences; 0: 512, on a GPU 2048 of several. */
  uint32_t chunk;
  rlx_lm_cache cache_type;
  uint32_t switches; /* rlx_switch */
  bool dry_run;      /* determine the memory needed; load nothing */
  rlx_watch watch;   /* of loading */
} rlx_lm_desc;
#define RLX_LM_DESC_INIT RLX_SIZED(rlx_lm_desc)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_load(const rlx_lm_desc *desc, rlx_lm **out);
/* Waits for a call in another thread. Inside a callback of a call it does not wait: the model is freed when that call
 * ends. All calls on a model except rlx_lm_file and rlx_lm_tokenizer are exclusive: a second caller gets RLX_BUSY
 * (rlx_lm_length: 0; rlx_lm_tokens: NULL). */
RLX_API void rlx_lm_destroy(rlx_lm *lm);

typedef struct rlx_lm_info {
  size_t struct_bytes;
  char family[32];  /* "llama" */
  char name[128];   /* the name in the file */
  char weights[64]; /* "q4_1", "f16, q6_k": types, by share of bytes */
  uint32_t n_layers, width, n_heads, n_kv_heads, n_vocabulary, n_experts;
  uint32_t context, model_context; /* in effect, and the model's maximum */
  uint32_t n_sequences, chunk;
  bool is_encoder; /* computes embeddings or scores, does not generate */
  uint64_t n_parameters;
  uint64_t weight_bytes, state_bytes, scratch_bytes; /* on the device */
  double load_seconds;
  bool is_ranker; /* an encoder of pairs of texts: computes scores, not embeddings */
} rlx_lm_info;
#define RLX_LM_INFO_INIT RLX_SIZED(rlx_lm_info)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_describe(const rlx_lm *lm, rlx_lm_info *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_device(const rlx_lm *lm, rlx_device_info *out);
/* The program of one decode step (of an encoder: of one text), for rlx_executable_report, rlx_executable_memory and
 * rlx_executable_graph, also after a dry_run. It belongs to the model: running it or writing to it corrupts the
 * model. */
RLX_API const rlx_executable *rlx_lm_executable(const rlx_lm *lm);
/* The file it was loaded from. The long lists of its metadata are empty: the tokenizer holds them, and rlx_file_open
 * reads them again. */
RLX_API const rlx_file *rlx_lm_file(const rlx_lm *lm);
RLX_API const rlx_tokenizer *rlx_lm_tokenizer(const rlx_lm *lm); /* NULL if the file has none */

/* Sequences 0 .. n_sequences - 1 each hold their own tokens. All calls continue from the tokens that a sequence
 * holds. */
RLX_API uint32_t rlx_lm_length(const rlx_lm *lm, uint32_t sequence);
/* Its tokens; they live until the next call that changes the sequence. n may be NULL. */
RLX_API const int32_t *rlx_lm_tokens(const rlx_lm *lm, uint32_t sequence, size_t *n);
/* Drops all tokens after the first `tokens`. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_truncate(rlx_lm *lm, uint32_t sequence, uint32_t tokens);
/* Appends tokens. logits (may be NULL): memory for n rows of the vocabulary if `all`, else for one, the last token's.
 * Non-finite logits are RLX_INVALID, here and in all that samples tokens; the message names the token and the node
 * where they first occurred. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all,
                                                float *logits);

/* Adapters (LoRA): small matrices that change what a model computes. Any number of sequences and requests may each have
 * their own; while none has one, programs are those of a model without adapters. A file is a GGUF, or the .safetensors
 * or folder of PEFT, with adapter_config.json beside it. *number (may be NULL): from 0; at most 8. Refused, by name:
 * tensors of no matrix of the model, shapes that do not fit, a rank of 0, numbers that are not finite, matrices of
 * experts. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_adapter_load(rlx_lm *lm, const char *path, uint32_t *number);
typedef struct rlx_lm_adapter {
  uint32_t number;
  float scale; /* 1: as it was trained; 0: off */
} rlx_lm_adapter;
/* Those of calls and requests whose options name none; n 0: none. What a sequence holds is computed again when its
 * adapters change. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_adapters_use(rlx_lm *lm, const rlx_lm_adapter *adapters, size_t n);

/* Adds to an importance matrix how large the inputs of every matrix are for these tokens, at most a chunk of them, as a
 * text of their own. Sequence 0 is empty afterwards. Not for encoders. The token embedding is measured where it also
 * makes the logits. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_measure(rlx_lm *lm, const int32_t *ids, size_t n, rlx_importance *into);

/* Whether the spelling of a special token in a text is its letters or that token. By default rlx_lm_reply uses letters,
 * because a message is user input, and rlx_lm_generate the token, because a prompt comes from the program, which may
 * write its own template. */
typedef enum rlx_lm_special {
  RLX_LM_SPECIAL_DEFAULT = 0,
  RLX_LM_SPECIAL_TEXT = 1,
  RLX_LM_SPECIAL_PARSE = 2,
} rlx_lm_special;
struct rlx_lm_bias;
typedef struct rlx_lm_options {
  size_t struct_bytes;
  uint32_t max_tokens; /* 0: until the model ends or the context is full */
  double temperature;  /* 0: always the most likely token */
  uint32_t top_k;      /* 0: all */
  double top_p;        /* 0 or 1: all */
  double min_p;
  uint64_t seed;
  uint32_t sequence;
  bool ignore_end; /* continue past the end token */
  /* At the end of the context drop the older half (of a conversation, its oldest turns) and continue; otherwise
   * exceeding the context is an error. */
  bool shift;
  const char *const *stops; /* n_stops texts that end generation */
  size_t n_stops;
  rlx_cancel_fn cancel; /* polled between tokens, with `user` of the call */
  /* Tokens that may be sampled before the first of them is reported, up to 64. The text does not depend on it; tokens
   * sampled past its end are discarded. 0: automatic, on a GPU a few as long as they take less than 30 ms; 1: each is
   * reported before the next is begun. */
  uint32_t ahead;
  rlx_lm_special special;
  /* Lowers the logits of tokens that the sequence already has (those above 0 are divided by it, others multiplied),
   * before all other settings. 0.01 to 100; 0 or 1: none. */
  double repetition_penalty;
  uint64_t penalty_tokens; /* the number of last tokens that it applies to; 0: all of the sequence */
  /* Of this call as a whole; a field that is 0 is the session's. device_bytes must be 0: a session limits it. What
   * exceeds a limit is RLX_LIMIT, and the sequence holds the tokens drawn until then. */
  rlx_limits limits;
  /* Further settings; 0 is off. With one of them, and in requests, the host chooses the token, in this order: biases
   * and banned texts, repetition, frequency and presence penalty, dry, top_n_sigma, temperature, top_k, typical_p,
   * top_p, min_p, xtc, the draw. A draw with the same seed, settings and logits is the same token on every device. */
  double frequency_penalty, presence_penalty; /* subtracted for each occurrence, and once; -2 to 2 */
  double typical_p;                           /* only tokens about as surprising as expected, with this probability */
  double top_n_sigma;                         /* only logits within this many standard deviations of the largest */
  double xtc_probability, xtc_threshold;      /* how often all but the least of those above the threshold (0: 0.1) go */
  double dynatemp_range, dynatemp_exponent;   /* temperature +- range, by the entropy to this power (0: 1) */
  /* Lowers tokens that would continue a repetition of at least dry_allowed_length tokens (0: 2) by
   * multiplier * base ^ (length - allowed); base 0: 1.75. It sees the last dry_penalty_tokens (0: all), and no
   * repetition reaches over a token with one of n_dry_breakers texts (none: newline, colon, quote, asterisk). */
  double dry_multiplier, dry_base;
  uint64_t dry_allowed_length, dry_penalty_tokens;
  const char *const *dry_breakers;
  size_t n_dry_breakers;
  double mirostat_tau, mirostat_eta; /* mirostat 2 in place of top_k .. xtc: the surprise to hold, its rate (0: 0.1) */
  const struct rlx_lm_bias *biases;  /* n_biases numbers that are added to logits; -INFINITY forbids a token */
  size_t n_biases;
  const char *const *banned; /* n_banned texts that are not generated: the last token that would complete one */
  size_t n_banned;
  /* Speculation: tokens that probably come next are guessed, up to 31 at once, and checked together. The text is the
   * same up to rounding. lookup: so many are guessed from what followed where the last tokens occurred before, which
   * pays for texts that repeat or quote; 0: none. draft: another, smaller model with the same vocabulary guesses
   * n_draft tokens (0: 3), in its sequence 0; nobody else may use it meanwhile. A request has one of its sequences
   * until it ends, or no guesses where there are too few. Not in batches, and not for families with a recurrent
   * state. */
  uint32_t lookup, n_draft;
  struct rlx_lm *draft;
  const struct rlx_grammar *grammar; /* the text that is generated matches it; NULL: any text */
  /* n_adapters of the model's adapters; 0: those of rlx_lm_adapters_use. With one of scale 0 alone: none. */
  const struct rlx_lm_adapter *adapters;
  size_t n_adapters;
} rlx_lm_options;
typedef struct rlx_lm_bias {
  int32_t id;
  float bias;
} rlx_lm_bias;
#define RLX_LM_OPTIONS_INIT RLX_SIZED(rlx_lm_options)
/* The ranges of the sampling settings, in rlx_lm_options and in a model's file: temperature, top_k, top_p and min_p,
 * also of the op sample, and repetition_penalty. */
typedef struct rlx_lm_setting {
  size_t struct_bytes;
  bool is_whole;          /* an integer */
  const char *name, *doc; /* "top_k", and what it does */
  double min, max;
  double neutral; /* the value without effect */
} rlx_lm_setting;
#define RLX_LM_SETTING_INIT RLX_SIZED(rlx_lm_setting)
RLX_API uint32_t rlx_lm_setting_count(void);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_setting_at(uint32_t i, rlx_lm_setting *out);
/* The sampling settings that the model's authors recommend, from its file: general.sampling.* of a GGUF,
 * generation_config.json of a folder. They are not applied automatically: options that are 0 take the most likely
 * token, which in long answers can loop. */
typedef struct rlx_lm_sampling {
  size_t struct_bytes;
  bool is_given; /* the file has such settings */
  double temperature;
  uint32_t top_k;
  double top_p, min_p;       /* as in rlx_lm_options */
  char not_applied[256];     /* settings that rlx_lm_options does not have, by name: "typical_p 0.9"; "": none */
  double repetition_penalty; /* 1: none */
  uint64_t penalty_tokens;   /* as in rlx_lm_options */
} rlx_lm_sampling;
#define RLX_LM_SAMPLING_INIT RLX_SIZED(rlx_lm_sampling)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_sampling_of(const rlx_file *f, rlx_lm_sampling *out);
typedef struct rlx_lm_stats {
  size_t struct_bytes;
  uint32_t n_prompt_tokens, n_tokens;
  double prompt_seconds, seconds; /* of the prompt including the first token; of the tokens after it */
  const char *ended;              /* "end", "length", "stop", "cancelled", "context" */
  uint32_t n_dropped; /* messages of a conversation that were omitted because the context has no room for them */
  uint32_t n_held;    /* tokens of the prompt that the sequence held already; not among n_prompt_tokens */
  uint32_t n_guessed, n_right; /* of speculation: tokens that were guessed, and those of them that came */
} rlx_lm_stats;
#define RLX_LM_STATS_INIT RLX_SIZED(rlx_lm_stats)
/* Called with each part of the text, whole UTF-8 characters. */
typedef void (*rlx_lm_text_fn)(void *user, const char *text, size_t bytes);
/* Continues the sequence with a prompt and the generated tokens, which it holds afterwards. The first prompt of a
 * sequence gets the model's BOS token. A stop by `cancel` is not a failure. stats may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate(rlx_lm *lm, const char *prompt, size_t bytes,
                                                  const rlx_lm_options *options, rlx_lm_text_fn fn, void *user,
                                                  rlx_lm_stats *stats);
/* The next turn of a conversation. All its messages are passed each time; those that the sequence already holds are
 * kept, the rest is computed. With `shift` it may have any length: if the context has no room for all, the oldest turns
 * are omitted, except the system's at the start (stats.n_dropped). chat_template: its name; NULL: the file's own, by
 * name where it is a known one, else run. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_reply(rlx_lm *lm, const char *chat_template, const rlx_chat_message *messages,
                                               size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn, void *user,
                                               rlx_lm_stats *stats);
/* Tokens in and out; fn returns false to end it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n,
                                                      const rlx_lm_options *options, bool (*fn)(void *user, int32_t id),
                                                      void *user, rlx_lm_stats *stats);

/* Several sequences in one step, prompts included: prompts[i] continues sequence i, 0 < n <= n_sequences. fn receives
 * the sequence of each token and ends that sequence by returning false. `max_tokens` applies to each; stats.n_tokens
 * counts all. No `shift` here. */
typedef struct rlx_lm_prompt {
  const int32_t *ids;
  size_t n;
} rlx_lm_prompt;
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate_batch(rlx_lm *lm, const rlx_lm_prompt *prompts, size_t n,
                                                        const rlx_lm_options *options,
                                                        bool (*fn)(void *user, uint32_t sequence, int32_t id),
                                                        void *user, rlx_lm_stats *stats);

/* ---- Requests: texts that begin and end at any time ----
 *
 *   rlx_lm_submit(lm, &request, &number);                  any number of times, also while others run
 *   do s = rlx_lm_step(lm, &left); while (!s && left);
 *
 * A request waits until one of the model's n_sequences is free. A step computes the next token of every sequence that
 * runs and a part of the prompts of those that have just begun, in one program; so load the model with as many
 * sequences as are to run at once. What a sequence still holds of the beginning of a prompt is not computed again.
 * Greedy text is that of rlx_lm_generate up to rounding, and does not depend on what runs beside it but by that.
 *
 * From the first rlx_lm_submit until no request is left, the sequences belong to the requests: other calls on them are
 * RLX_BUSY. Families with a recurrent state are RLX_UNSUPPORTED. */

/* Called by rlx_lm_step, in its thread, for each token and at the end of a request. It may submit and cancel. */
typedef struct rlx_lm_event {
  size_t struct_bytes;
  uint64_t request;
  const char *text; /* whole characters, NUL-terminated; may be empty while a character or a stop text is incomplete */
  size_t bytes;
  const char *ended;         /* NULL: it goes on; else as in rlx_lm_stats, or "error" */
  const rlx_lm_stats *stats; /* where it ended */
  const char *message;       /* of "error" */
  /* If logprobs were requested: those of the token and of the n_top likeliest, largest first, before any setting. */
  const int32_t *top_ids;
  const float *top_logprobs;
  uint32_t n_top;
  float logprob;
  int32_t id;        /* the token; -1: an event without one */
  rlx_status status; /* of "error" */
} rlx_lm_event;
#define RLX_LM_EVENT_INIT RLX_SIZED(rlx_lm_event)
typedef void (*rlx_lm_event_fn)(void *user, const rlx_lm_event *event);
typedef struct rlx_lm_request {
  size_t struct_bytes;
  const int32_t *ids; /* the prompt; copied, like all that this struct points to */
  size_t n;
  /* sequence, shift, ahead and cancel must be zero, limits too; rlx_lm_cancel ends a request. */
  const rlx_lm_options *options;
  rlx_lm_event_fn fn;
  void *user;
  uint32_t n_top;    /* the likeliest tokens to report with each event, at most 20 */
  uint32_t logprobs; /* not 0: report the logprob of each token */
} rlx_lm_request;
#define RLX_LM_REQUEST_INIT RLX_SIZED(rlx_lm_request)
/* *number (never 0) identifies it in events and in rlx_lm_cancel. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_submit(rlx_lm *lm, const rlx_lm_request *request, uint64_t *number);
/* Ends a request: its last event, "cancelled", comes from this call. RLX_NOT_FOUND: it has ended. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_cancel(rlx_lm *lm, uint64_t number);
/* *left: the requests that run or wait. What concerns one request alone ends it with "error"; a failure of the step
 * ends all of them and is returned. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_step(rlx_lm *lm, uint32_t *left);

/* The embedding of a text by an encoder: `width` values of unit length. A text with more tokens than the context is
 * truncated, and *n_cut is the number of tokens dropped; with n_cut NULL such a text is RLX_INVALID. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut);
/* The same with a cancel function and limits of this call (watch may be NULL; its progress is not called). */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_embed_watched(rlx_lm *lm, const char *text, size_t bytes,
                                                       const rlx_watch *watch, float *out, size_t *n_cut);

/* A text and the query that it is judged by: for cross-encoders (rerankers), which read both together. */
typedef struct rlx_lm_pair {
  size_t struct_bytes;
  const char *query, *text;
  size_t query_bytes, text_bytes;
  const rlx_watch *watch; /* a cancel function and limits of this call, or NULL; its progress is not called */
} rlx_lm_pair;
#define RLX_LM_PAIR_INIT RLX_SIZED(rlx_lm_pair)
/* How well the text answers the query: more is better. The model's file says whether that is a number between 0 and 1
 * or any number. The end of the longer one is left out where the two do not fit the context, and *n_cut is the number
 * of tokens dropped; with n_cut NULL that is RLX_INVALID. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_score(rlx_lm *lm, const rlx_lm_pair *pair, float *score, size_t *n_cut);

/* A sequence's tokens and KV cache as one file; only a model with the same shapes accepts it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_save(rlx_lm *lm, uint32_t sequence, const char *path);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_restore(rlx_lm *lm, uint32_t sequence, const char *path);

#ifdef __cplusplus
}
#endif

#endif
