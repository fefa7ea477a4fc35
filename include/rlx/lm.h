/* RLX: language models. Weight files, tokenizers, chat templates, generation and embeddings, on top of rlx.h.
 *
 *   rlx_lm *lm;
 *   if (rlx_lm_load(&(rlx_lm_desc){RLX_LM_DESC_INIT, .path = "model.gguf"}, &lm)) puts(rlx_message());
 *   rlx_lm_generate(lm, "Once upon a time", 16, &(rlx_lm_options){RLX_LM_OPTIONS_INIT, .max_tokens = 64}, say, NULL, NULL);
 *
 * This part is a header of its own because it can be left out of the library (-DRLX_LM=OFF): it is the only one that links
 * others' libraries (jansson, PCRE2, utf8proc). The rules of rlx.h for errors, ownership and threads hold here too. */
#ifndef RLX_LM_H
#define RLX_LM_H

#include <rlx/rlx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Weight files: GGUF, safetensors, a Hugging Face folder ------------------------------------------------------
 *
 * All of them are named tensors and metadata. Opening reads and checks the description of everything; the bytes of tensors
 * are read when asked for, and a file that has shrunk since is an error, never a fault of memory. */

/* Threads: once open, any number may read it. */
typedef struct rlx_file rlx_file;
typedef struct rlx_file_tensor {
  const char *name; /* as in the file */
  rlx_dtype dtype;  /* RLX_DTYPE_UNKNOWN: one that RLX does not have; such a tensor can be looked at, not read */
  const char *type; /* the type's name, which a dtype that RLX does not have has too: "iq1_s" */
  rlx_dims shape;   /* row-major, as everywhere in RLX: a GGUF's sizes the other way round */
  size_t bytes;
  uint32_t part;   /* of a model in several files, from 0 */
  uint64_t offset; /* in that file */
} rlx_file_tensor;

/* A GGUF (any part of a split one opens all), a .safetensors, a model.safetensors.index.json, or a folder with one of these and
 * config.json. watch may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_open(const char *path, const rlx_watch *watch, rlx_file **out);
RLX_API void rlx_file_close(rlx_file *f);
RLX_API const char *rlx_file_format(const rlx_file *f);                 /* "GGUF v3", "safetensors" */
RLX_API uint32_t rlx_file_part_count(const rlx_file *f);                /* files with tensors */
RLX_API const char *rlx_file_part_at(const rlx_file *f, uint32_t part); /* the path of one; NULL past the end */
RLX_API uint32_t rlx_file_tensor_count(const rlx_file *f);
/* NULL past the end. Names live as long as the file. */
RLX_API const rlx_file_tensor *rlx_file_tensor_at(const rlx_file *f, uint32_t i);
RLX_API const rlx_file_tensor *rlx_file_tensor_find(const rlx_file *f, const char *name); /* NULL: there is none */
/* Bytes of a tensor, from `from` on. RLX_UNSUPPORTED for a type that RLX does not have; so are checking and converting the
 * file, and opening it as a model that needs such a tensor: the message names tensors and types. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_read_tensor(const rlx_file *f, const rlx_file_tensor *t, size_t from,
                                                       void *data, size_t bytes);

/* Metadata: a GGUF's keys; of safetensors the texts under __metadata__, of a folder also "config.json" (and others) as one
 * text each. */
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
  const char *type; /* as the file calls it: "u32", "string", "array of f32" */
  rlx_meta_kind kind;
  rlx_meta_kind elements; /* of a list: one kind for all (lists in lists: RLX_META_LIST) */
  size_t n;               /* elements of a list, bytes of a text */
  int64_t integer;        /* also a bool; a u64 above INT64_MAX is told as a float */
  double number;          /* a float; an integer too */
  const char *text;       /* NUL-terminated; it may hold NULs before */
  const void *opaque;     /* of a list made by hand (type NULL): const rlx_meta[n], all of the first one's type */
} rlx_meta;
RLX_API uint32_t rlx_file_meta_count(const rlx_file *f);
RLX_API bool rlx_file_meta_at(const rlx_file *f, uint32_t i, rlx_meta *out);        /* false past the end */
RLX_API bool rlx_file_meta_find(const rlx_file *f, const char *key, rlx_meta *out); /* false: there is none */
RLX_API bool rlx_meta_element(const rlx_meta *list, size_t i, rlx_meta *out);       /* of a list; false past its end */

/* Reads everything: no number is infinite or NaN, that of a block's scale included, a bool is 0 or 1, and no bytes are left over.
 * What is wrong is in the message; *n_findings (may be NULL) counts findings beyond the first. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_check(const rlx_file *f, const rlx_watch *watch, uint32_t *n_findings);
/* The same, telling each finding, and as remarks tensors that are all zeros. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_check_each(const rlx_file *f, const rlx_watch *watch, rlx_found_fn found,
                                                      void *user);
/* Whether it would load as a language model with nothing ignored: the message names tensors, keys and fields of config.json that
 * nobody would read, what is missing, and what is wrong with the tokenizer. Files of other families, and those that are no model, are
 * RLX_OK, with a remark. found may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_check(const rlx_file *f, rlx_found_fn found, void *user);

/* Writing: replaces the file whole or not at all. Give all metadata and tensors, then finish; destroy without finishing leaves
 * nothing behind. Kind is by the path's ending: .gguf or .safetensors. */
typedef struct rlx_file_writer rlx_file_writer; /* threads: one at a time, which the caller sees to */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_create(const char *path, rlx_file_writer **out);
RLX_API void rlx_file_writer_destroy(rlx_file_writer *w);
/* As read; or by hand, key, kind and value, with a type ("u16") or without: a GGUF then has u32 for an integer that fits, i64
 * for others, f32 for a float. A safetensors has texts alone: of all else, its JSON. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_meta(rlx_file_writer *w, const rlx_meta *m);
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_tensor(rlx_file_writer *w, const char *name, rlx_dtype dtype,
                                                         rlx_dims shape);
/* After the last tensor is named: the bytes of each, in that order, in as many pieces as one likes. */
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_bytes(rlx_file_writer *w, const void *data, size_t bytes);
RLX_API RLX_MUST_CHECK rlx_status rlx_file_writer_finish(rlx_file_writer *w);

/* Writes a file again, as the format of the path's ending and with other types. Names and metadata stay as they are; a GGUF
 * gets general.file_type. */
typedef struct rlx_convert_options {
  size_t struct_bytes;
  const char
    *type;   /* of matrices: "f16", "q4_k". NULL: as they are, with f16 for blocks that the format does not have */
  bool pure; /* all matrices alike; else those that suffer most (the output's, routers, ..) keep more bits */
  uint32_t n_threads; /* 0: one per core */
  rlx_watch watch;
  /* Told of a matrix that gets another type than asked for, since its rows are not whole blocks; may be NULL. */
  void (*report)(void *user, const char *tensor, rlx_dtype wanted, rlx_dtype given);
  void *user; /* of told */
} rlx_convert_options;
#define RLX_CONVERT_OPTIONS_INIT RLX_SIZED(rlx_convert_options)
RLX_API RLX_MUST_CHECK rlx_status rlx_file_convert(const rlx_file *f, const char *path,
                                                   const rlx_convert_options *options);
/* A model of a supported family in a Hugging Face folder as a GGUF that other programs run, too: with GGUF's names, metadata,
 * vocabulary and order of rows. What is a GGUF's already is converted as above. RLX_UNSUPPORTED: another family, or something
 * that a GGUF cannot say. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_convert(const rlx_file *f, const char *path,
                                                 const rlx_convert_options *options);

/* ---- Tokenizers -------------------------------------------------------------------------------------------------- */

/* Threads: it does not change, so any number may use it. */
typedef struct rlx_tokenizer rlx_tokenizer;
/* From a GGUF's metadata (one with no tensors will do) or a folder's tokenizer.json. The file may be closed afterwards. A
 * pre-tokenizer that is not known is refused by name. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_create(const rlx_file *f, rlx_tokenizer **out);
RLX_API void rlx_tokenizer_destroy(rlx_tokenizer *t);
RLX_API uint32_t rlx_tokenizer_size(const rlx_tokenizer *t);
RLX_API const char *rlx_tokenizer_kind(const rlx_tokenizer *t); /* "bpe (smollm)", "spm", "wordpiece" */
typedef enum rlx_token_flags {
  RLX_TOKENS_ADD_SPECIAL = 1,   /* what the model wants around a text: BOS, EOS, [CLS] .. [SEP] */
  RLX_TOKENS_PARSE_SPECIAL = 2, /* "<|im_end|>" in the text is that token, and not its letters */
} rlx_token_flags;
/* Any bytes; broken UTF-8 becomes the tokens of its bytes, or U+FFFD where the vocabulary has no such tokens. Without
 * RLX_TOKENS_PARSE_SPECIAL no text becomes a special token, whatever it spells (but the unknown one, for letters that the
 * vocabulary lacks). Free *ids with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_encode(const rlx_tokenizer *t, const char *text, size_t bytes,
                                                       unsigned flags, int32_t **ids, size_t *n);
/* The text of tokens, their bytes as they are, without the blank that encoding puts before some; special tokens only where
 * `special`. Free *text with rlx_free; it is NUL-terminated. */
RLX_API RLX_MUST_CHECK rlx_status rlx_tokenizer_decode(const rlx_tokenizer *t, const int32_t *ids, size_t n,
                                                       bool special, char **text, size_t *bytes);
/* The vocabulary's own spelling of a token; NULL past the end. */
RLX_API const char *rlx_tokenizer_spelling(const rlx_tokenizer *t, int32_t id);
RLX_API bool rlx_tokenizer_is_special(const rlx_tokenizer *t, int32_t id);
RLX_API bool rlx_tokenizer_is_end(const rlx_tokenizer *t, int32_t id); /* generation ends with it: EOS, end of turn */
RLX_API int32_t rlx_tokenizer_bos(const rlx_tokenizer *t);             /* -1: none */
RLX_API int32_t rlx_tokenizer_eos(const rlx_tokenizer *t);
RLX_API int32_t rlx_tokenizer_find(const rlx_tokenizer *t, const char *spelling); /* -1: none */

/* Tokens as they come: whole UTF-8 characters alone are given out, the rest waits for the next token. */
typedef struct rlx_decoder rlx_decoder; /* threads: one at a time, which the caller sees to */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_create(const rlx_tokenizer *t, bool special, rlx_decoder **out);
RLX_API void rlx_decoder_destroy(rlx_decoder *d);
/* *text (NUL-terminated, *bytes long) lives until the next call. */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_push(rlx_decoder *d, int32_t id, const char **text, size_t *bytes);
/* What still waits at the end, with U+FFFD for what never became a character. */
RLX_API RLX_MUST_CHECK rlx_status rlx_decoder_flush(rlx_decoder *d, const char **text, size_t *bytes);

/* ---- Chat templates ---- */

typedef struct rlx_chat_message {
  const char *role; /* "system", "user", "assistant" */
  const char *text;
} rlx_chat_message;
RLX_API uint32_t rlx_chat_template_count(void);
RLX_API const char *rlx_chat_template_name(uint32_t i); /* "chatml", "llama3", ..; NULL past the end */
/* The name of the template that the file's own text is recognised as; NULL and a message that says so where it has none or one
 * that is not known. */
RLX_API const char *rlx_chat_template_of(const rlx_file *f);
/* The conversation as tokens. Special tokens come from the template alone: the text of a message never becomes one, whatever it
 * spells, and neither do texts of several messages together. Flags: RLX_TOKENS_ADD_SPECIAL where a sequence begins with it (BOS
 * is not part of a template); RLX_TOKENS_PARSE_SPECIAL for those who trust all texts and want "<|im_end|>" in one to be that
 * token. `reply`: with the head of the assistant's turn at the end. Free *ids with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_encode(const rlx_tokenizer *t, const char *name,
                                                  const rlx_chat_message *messages, size_t n, bool reply,
                                                  unsigned flags, int32_t **ids, size_t *n_ids);
/* The conversation as text, for people to look at and for other programs. Encoded with RLX_TOKENS_PARSE_SPECIAL it has the same
 * tokens, but then whoever writes a message can end his turn and begin the system's: nothing tells the template's markers from
 * letters in a message any more. Free *text with rlx_free. */
RLX_API RLX_MUST_CHECK rlx_status rlx_chat_format(const char *name, const rlx_chat_message *messages, size_t n,
                                                  bool reply, char **text);

/* ---- Language models --------------------------------------------------------------------------------------------- */

/* Threads: one caller at a time; a second one gets RLX_BUSY. Its file and tokenizer any number may use. */
typedef struct rlx_lm rlx_lm;
/* What keys and values are kept as. f16 is the default everywhere, here and of the command: it halves what grows with the context and
 * what every token reads, for an error below that of 8-bit weights. */
typedef enum rlx_lm_cache { RLX_LM_CACHE_F16 = 0, RLX_LM_CACHE_F32 = 1 } rlx_lm_cache;
typedef struct rlx_lm_desc {
  size_t struct_bytes;
  const char *path;     /* as rlx_file_open */
  rlx_session *session; /* NULL: one of its own, on `device` with `n_threads` */
  const char *device;
  uint32_t n_threads;
  uint32_t context;     /* tokens a sequence can hold; 0: the model's own, at most 4096 */
  uint32_t n_sequences; /* at once in one step; 0: 1 */
  uint32_t chunk;       /* tokens of a prompt that are computed together; 0: 512 */
  rlx_lm_cache cache_type;
  uint32_t switches; /* rlx_switch */
  bool dry_run;      /* find out what it takes; load nothing */
  rlx_watch watch;   /* of loading */
} rlx_lm_desc;
#define RLX_LM_DESC_INIT RLX_SIZED(rlx_lm_desc)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_load(const rlx_lm_desc *desc, rlx_lm **out);
/* Waits for a call in another thread; inside a callback of a call it does not, and the model is freed when that call ends. All calls on
 * a model but rlx_lm_file and _tokenizer are one at a time: a second caller gets RLX_BUSY (of a length or tokens: none). */
RLX_API void rlx_lm_destroy(rlx_lm *lm);

typedef struct rlx_lm_info {
  size_t struct_bytes;
  char family[32];  /* "llama" */
  char name[128];   /* what the file calls itself */
  char weights[64]; /* "q4_1", "f16, q6_k": types, by bytes */
  uint32_t n_layers, width, n_heads, n_kv_heads, n_vocabulary, n_experts;
  uint32_t context, model_context; /* here, and what the model was made for */
  uint32_t n_sequences, chunk;
  bool is_encoder; /* embeds, does not generate */
  uint64_t n_parameters;
  uint64_t weight_bytes, state_bytes, scratch_bytes; /* on the device */
  double load_seconds;
} rlx_lm_info;
#define RLX_LM_INFO_INIT RLX_SIZED(rlx_lm_info)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_describe(const rlx_lm *lm, rlx_lm_info *out);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_device(const rlx_lm *lm, rlx_device_info *out);
/* The program of one token, which generation runs again and again (of an encoder: of a text): for rlx_executable_report,
 * rlx_executable_memory and rlx_executable_graph, also after a dry_run. It is the model's: whoever runs or writes to it breaks that. */
RLX_API const rlx_executable *rlx_lm_executable(const rlx_lm *lm);
/* The file it came from. The long lists of its metadata are empty: the tokenizer has them, and rlx_file_open reads them again. */
RLX_API const rlx_file *rlx_lm_file(const rlx_lm *lm);
RLX_API const rlx_tokenizer *rlx_lm_tokenizer(const rlx_lm *lm); /* NULL where the file has none */

/* Sequences 0 .. sequences - 1 each have tokens of their own. All calls go on from what a sequence holds. */
RLX_API uint32_t rlx_lm_length(const rlx_lm *lm, uint32_t sequence);
/* Its tokens; they live until the next call that changes the sequence. n may be NULL. */
RLX_API const int32_t *rlx_lm_tokens(const rlx_lm *lm, uint32_t sequence, size_t *n);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_truncate(rlx_lm *lm, uint32_t sequence,
                                                  uint32_t tokens); /* forgets the rest */
/* Appends tokens. logits (may be NULL): room for n rows of the vocabulary where `all`, else for one, the last token's. Logits that
 * are not finite are RLX_INVALID here and in all that draws tokens; the message says at which token and node that began. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_append(rlx_lm *lm, uint32_t sequence, const int32_t *ids, size_t n, bool all,
                                                float *logits);

/* What the spelling of a special token in a text is: its letters, or that token. By default rlx_lm_reply takes letters, since a message
 * is what somebody typed, and rlx_lm_generate the token, since a prompt is the program's, which may write a template of its own. */
typedef enum rlx_lm_special {
  RLX_LM_SPECIAL_DEFAULT = 0,
  RLX_LM_SPECIAL_TEXT = 1,
  RLX_LM_SPECIAL_PARSE = 2,
} rlx_lm_special;
typedef struct rlx_lm_options {
  size_t struct_bytes;
  uint32_t max_tokens; /* at most; 0: until the model ends or the context is full */
  double temperature;  /* 0: always the likeliest */
  uint32_t top_k;      /* 0: all */
  double top_p;        /* 0 or 1: all */
  double min_p;
  uint64_t seed;
  uint32_t sequence;
  bool ignore_end; /* go on past the end token */
  bool shift; /* at the end of the context forget the older half and go on (of a conversation, its oldest turns); else
                      it is an error to need more */
  const char *const *stops; /* texts that end it, n_stops of them */
  size_t n_stops;
  rlx_cancel_fn cancel; /* asked between tokens, with `user` of the call */
  /* Tokens that may be drawn before the first of them is told, up to 64. The text is the same for any number; what was drawn
   * past the end of it is thrown away. 0: what pays, on a GPU a few as long as they take less than 30 ms; 1: each is told
   * before the next is begun. */
  uint32_t ahead;
  rlx_lm_special special;
} rlx_lm_options;
#define RLX_LM_OPTIONS_INIT RLX_SIZED(rlx_lm_options)
/* What the settings of sampling may be: temperature, top_k, top_p and min_p of rlx_lm_options, of a model's file and of the op
 * sample. */
typedef struct rlx_lm_setting {
  size_t struct_bytes;
  bool is_whole;
  const char *name, *doc; /* "top_k", and what it does */
  double min, max;
  double neutral; /* the value without effect */
} rlx_lm_setting;
#define RLX_LM_SETTING_INIT RLX_SIZED(rlx_lm_setting)
RLX_API uint32_t rlx_lm_setting_count(void);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_setting_at(uint32_t i, rlx_lm_setting *out);
/* How the model's authors want tokens to be drawn, from its file: general.sampling.* of a GGUF, generation_config.json of a
 * folder. Nobody applies it by itself: options that are 0 take the likeliest token, which in long answers ends in loops. */
typedef struct rlx_lm_sampling {
  size_t struct_bytes;
  bool is_given; /* the file says something about it */
  double temperature;
  uint32_t top_k;
  double top_p, min_p; /* as in rlx_lm_options */
  char
    not_applied[256]; /* what it asks for and rlx_lm_options has not, by name: "repetition_penalty 1.1"; "": nothing */
  double repetition_penalty; /* as the file has it, 1: none; see not_applied */
} rlx_lm_sampling;
#define RLX_LM_SAMPLING_INIT RLX_SIZED(rlx_lm_sampling)
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_sampling_of(const rlx_file *f, rlx_lm_sampling *out);
typedef struct rlx_lm_stats {
  size_t struct_bytes;
  uint32_t n_prompt_tokens, n_tokens;
  double prompt_seconds, seconds; /* of the prompt, which ends with the first token; of the tokens after it */
  const char *ended;              /* "end", "length", "stop", "cancelled", "context" */
  uint32_t n_dropped; /* messages of a conversation that were left out, for the context has no room for them */
} rlx_lm_stats;
#define RLX_LM_STATS_INIT RLX_SIZED(rlx_lm_stats)
/* Called with each piece of text, whole UTF-8 characters. */
typedef void (*rlx_lm_text_fn)(void *user, const char *text, size_t bytes);
/* Continues the sequence with a prompt and what the model makes of it, which the sequence holds afterwards. In the first prompt
 * of a sequence the model's own opening token is added. A stop by `cancel` is no failure. stats may be NULL. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate(rlx_lm *lm, const char *prompt, size_t bytes,
                                                  const rlx_lm_options *options, rlx_lm_text_fn fn, void *user,
                                                  rlx_lm_stats *stats);
/* The next turn of a conversation, whose messages are all given each time: what the sequence holds of them already is kept, the
 * rest computed. With `shift` it may be of any length: where the context has no room for all, the oldest turns are left out, but
 * for the system's at the start (stats.n_dropped). chat_template: its name; NULL: the file's own. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_reply(rlx_lm *lm, const char *chat_template, const rlx_chat_message *messages,
                                               size_t n, const rlx_lm_options *options, rlx_lm_text_fn fn, void *user,
                                               rlx_lm_stats *stats);
/* Tokens in and out; fn returns false to end it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate_ids(rlx_lm *lm, const int32_t *ids, size_t n,
                                                      const rlx_lm_options *options, bool (*fn)(void *user, int32_t id),
                                                      void *user, rlx_lm_stats *stats);

/* Several sequences in one step: prompts[i] continues sequence i, 0 < n <= sequences. fn is told whose token it is and ends that
 * sequence by returning false. `max_tokens` counts for each; stats.n_tokens for all together. No `shift` here. */
typedef struct rlx_lm_prompt {
  const int32_t *ids;
  size_t n;
} rlx_lm_prompt;
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_generate_batch(rlx_lm *lm, const rlx_lm_prompt *prompts, size_t n,
                                                        const rlx_lm_options *options,
                                                        bool (*fn)(void *user, uint32_t sequence, int32_t id),
                                                        void *user, rlx_lm_stats *stats);

/* Embeddings of an encoder: `width` numbers of unit length for a text. Of a text that has more tokens than the context, the end is
 * left out and *n_cut says how many tokens that are; with n_cut NULL such a text is RLX_INVALID. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_embed(rlx_lm *lm, const char *text, size_t bytes, float *out, size_t *n_cut);

/* A sequence's tokens and what the model remembers of them, as one file; only a model of the same weights' shape takes it. */
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_save(rlx_lm *lm, uint32_t sequence, const char *path);
RLX_API RLX_MUST_CHECK rlx_status rlx_lm_restore(rlx_lm *lm, uint32_t sequence, const char *path);

#ifdef __cplusplus
}
#endif

#endif
