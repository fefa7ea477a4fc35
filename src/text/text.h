/* Tokenizer internals: one pipeline that every kind of vocabulary is configured for.
 *
 *   text -> special tokens cut out -> normal form -> pieces -> ids, by one of four models
 *
 * GGUF metadata and tokenizer.json have a reader each (from_gguf.c, from_json.c), and both produce a text_desc.
 * text_build checks it and makes the tokenizer, which does not depend on the source format. A tokenizer is
 * immutable, so threads share it; the state of a call is in its text_run. */
#ifndef RLX_TEXT_TEXT_H
#define RLX_TEXT_TEXT_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/array.h"
#include "base/status.h"
#include "base/str.h"
#include "io/file_cursor.h"
#include "rlx/lm.h"

typedef struct text_span {
  const char *p;
  size_t n;
} text_span;
typedef struct text_range {
  size_t start, end; /* byte offsets in a text */
} text_range;

/* Token flags. */
enum {
  TOKEN_CONTROL = 1,      /* control token, not shown to users: "<s>" */
  TOKEN_ADDED = 2,        /* text token that is cut out before all other steps */
  TOKEN_UNKNOWN = 4,      /* the unknown token */
  TOKEN_BYTE = 8,         /* "<0x0A>" */
  TOKEN_UNUSED = 16,      /* never made from text */
  TOKEN_LSTRIP = 32,      /* absorbs blanks before it */
  TOKEN_RSTRIP = 64,      /* absorbs blanks after it */
  TOKEN_WHOLE_WORD = 128, /* not inside a word */
  TOKEN_NORMALIZED = 256, /* searched after normalisation */
  TOKEN_END = 512,        /* ends generation */
  TOKEN_NOT_TEXT = 1024,  /* never produced from its letters: control tokens, the unknown token, end tokens */
};

/* ---- Vocabularies: vocab.c ---- */

typedef struct text_vocab {
  uint32_t n;
  char *pool;       /* spellings, each NUL-terminated */
  uint32_t *starts; /* n + 1 offsets */
  uint16_t *flags;
  float *scores;       /* NULL: all are 0 (merges have ranks), or .. */
  double *fine_scores; /* .. some need double precision */
  uint32_t *slots;     /* hash table of id + 1; its size is a power of two */
  size_t mask;
  uint64_t seed;  /* initial hash value, random: a file cannot choose colliding spellings */
  size_t longest; /* max bytes of a spelling */
} text_vocab;

/* Incremental hash from the seed of the vocabulary: all prefixes of a text cost one pass. */
static inline uint64_t text_hash_byte(uint64_t h, char c) { return (h ^ (unsigned char)c) * 0x100000001b3u; }
uint64_t text_hash(uint64_t h, const char *p, size_t n);

static inline text_span text_spelling(const text_vocab *v, uint32_t id) {
  return (text_span){v->pool + v->starts[id], v->starts[id + 1] - v->starts[id] - 1};
}
static inline double text_score(const text_vocab *v, uint32_t id) {
  return v->scores ? (double)v->scores[id] : v->fine_scores ? v->fine_scores[id] : 0;
}
int32_t text_find_hashed(const text_vocab *v, uint64_t hash, const char *p, size_t n); /* -1: none */
int32_t text_find(const text_vocab *v, const char *p, size_t n);
void text_vocab_deinit(text_vocab *v);

/* A byte trie of the tokens that are cut out of text. */
typedef struct text_tree_node {
  uint32_t child, next; /* 0: none */
  int32_t id;           /* -1: no token ends here */
  char byte;
} text_tree_node;
typedef struct text_tree {
  RLX_ARRAY(text_tree_node) nodes; /* the first is the root */
  uint32_t root[256];
} text_tree;
rlx_status text_tree_add(text_tree *t, text_span spelling, int32_t id);
void text_tree_deinit(text_tree *t);

/* ---- Merges: merge.c ---- */

typedef struct text_merge {
  uint32_t left, right, id; /* left + right -> id */
} text_merge;
typedef struct text_merges {
  text_merge *list; /* in order of rank: the index is the rank */
  size_t n;
  uint32_t *slots; /* hash table of index + 1; its size is a power of two */
  size_t mask;
  uint64_t seed; /* as in text_vocab */
} text_merges;
rlx_status text_merges_init(text_merges *m, size_t n);  /* capacity n */
bool text_merges_add(text_merges *m, text_merge merge); /* false: the pair already has a rank */
const text_merge *text_merges_find(const text_merges *m, uint32_t left, uint32_t right);
void text_merges_deinit(text_merges *m);

/* ---- Patterns and pieces: split.c ---- */

typedef enum text_behavior {
  SPLIT_ISOLATED, /* matches and gaps are both pieces */
  SPLIT_REMOVED,
  SPLIT_WITH_PREVIOUS,
  SPLIT_WITH_NEXT,
  SPLIT_CONTIGUOUS
} text_behavior;
typedef enum text_split_kind {
  SPLIT_PATTERN,
  SPLIT_DIGITS_RIGHT, /* digits in groups of three from the right */
  SPLIT_PREFIX,       /* no split: prepends `text` to a piece that does not start with it, or to the first piece only */
  SPLIT_REPLACE,      /* no split: replaces every blank by `text` */
  SPLIT_BYTES         /* no split: replaces each byte by its character */
} text_split_kind;
typedef struct text_split {
  text_split_kind kind;
  text_behavior behavior;
  bool invert;
  bool only_first;
  pcre2_code *code;
  char *text;
} text_split;

/* A row of tokenizer.ggml.pre names, in pre.c. */
typedef struct text_pre {
  const char *names; /* separated by blanks */
  const char *patterns[7];
  bool ignore_merges, add_bos, raw; /* raw: not byte-level; blanks are U+2581 */
} text_pre;
#define TEXT_DIGITS_RIGHT "digits"
const text_pre *text_pre_find(const char *name, size_t n);
void text_pre_list(rlx_str *out);

/* Compiles a pattern with the meaning that its authors assume: \s and \w are Unicode's, $ is the end of the text. */
rlx_status text_pattern_compile(const char *pattern, pcre2_code **out);
void text_pattern_free(pcre2_code *code);
pcre2_general_context *text_pattern_heap(void); /* NULL: out of memory */

/* ---- Normal forms: normal.c ---- */

typedef enum text_normal_kind {
  NORMAL_PREPEND,
  NORMAL_REPLACE, /* replaces the text `from`, or matches of `code`, by `to` */
  NORMAL_NFC,
  NORMAL_NFD,
  NORMAL_NFKC,
  NORMAL_NFKD,
  NORMAL_LOWERCASE,
  NORMAL_STRIP_ACCENTS,
  NORMAL_BERT,
  NORMAL_STRIP,
  NORMAL_CHARSMAP, /* SentencePiece's compiled table, in `to` */
  NORMAL_SPACES    /* SentencePiece's blanks: each, or each run, becomes one U+2581 */
} text_normal_kind;
typedef struct text_normal {
  text_normal_kind kind;
  char *from, *to;
  size_t from_bytes, to_bytes;
  pcre2_code *code;
  bool clean, chinese, strip_accents, lowercase; /* NORMAL_BERT */
  bool left, right;                              /* NORMAL_STRIP */
  bool merge, prefix;                            /* NORMAL_SPACES */
} text_normal;
/* Normalises `in` into `out`, which is cleared first. */
rlx_status text_normalize(const text_normal *n, text_span in, rlx_str *out);
void text_normal_deinit(text_normal *n);
rlx_status text_check_charsmap(const text_normal *n); /* checks the length of the table */

/* ---- Characters: utf8.c ---- */

/* Length of the character at p, of n bytes; 0: none, or invalid. */
size_t text_character(const char *p, size_t n, int32_t *code);
size_t text_valid_prefix(const char *p, size_t n);
/* Whether n bytes that are no character could be the start of one. */
bool text_may_grow(const char *p, size_t n);
/* Length of the invalid sequence at p: the longest truncated character, at least one byte. One U+FFFD replaces it. */
size_t text_broken_bytes(const char *p, size_t n);
#define TEXT_REPLACEMENT "\xef\xbf\xbd"   /* U+FFFD */
size_t text_put(char *out, int32_t code); /* bytes written, at most 4 */
bool text_is_space(int32_t code);
bool text_is_digit(int32_t code);
bool text_is_word(int32_t code);
bool text_is_punctuation(int32_t code); /* Unicode punctuation and all ASCII symbols */
/* GPT-2's byte-level alphabet: a character for each byte, and back (-1: none). */
int32_t text_byte_character(int byte);
int text_byte_of(int32_t code);

/* ---- Tokenizers ---- */

typedef enum text_model { TEXT_BPE, TEXT_SPM, TEXT_WORDPIECE, TEXT_UNIGRAM } text_model;

/* The description that a reader produces; the arrays belong to the reader. */
typedef struct text_token {
  text_span spelling;
  double score;
  uint32_t flags;
} text_token;
typedef struct text_pair {
  text_span left, right;
} text_pair;
/* A part of how two texts are written as one input. */
enum { TEXT_FIRST = -1, TEXT_SECOND = -2 };
typedef struct text_part {
  int32_t id;   /* a token, or one of the texts */
  int32_t type; /* the token type of all its tokens */
} text_part;
typedef struct text_desc {
  text_model model;
  const char *kind; /* for messages */
  const text_token *tokens;
  size_t n_tokens;
  const text_pair *merges;
  size_t n_merges;
  bool byte_level, byte_fallback, ignore_merges, fuse_unknown;
  bool match_special; /* Unigram: special tokens count as pieces */
  bool is_spelled;    /* a step has already mapped bytes to characters */
  int32_t bos, eos, unknown;
  const int32_t *before, *after; /* tokens added around a text */
  size_t n_before, n_after;
  const text_part *parts; /* of a pair of texts; n_parts 0: the model knows no pairs */
  size_t n_parts;
  const char *word_prefix, *continuing_prefix; /* WordPiece */
  size_t max_characters;                       /* max characters of a word; 0: any */
  bool keep_leading_space;                     /* when decoding */
  bool space_is_mark;                          /* U+2581 stands for a blank */
  bool clean_up;                               /* " ." becomes ".", as BERT's does */
  text_normal *normals;                        /* ownership is taken even if building fails */
  size_t n_normals;
  text_split *splits; /* ownership is taken, as above */
  size_t n_splits;
} text_desc;
rlx_status text_build(text_desc *d, rlx_tokenizer **out);
void text_desc_drop_steps(text_desc *d);

struct rlx_tokenizer {
  text_model model;
  rlx_limits limits; /* per call */
  char kind[64];
  text_vocab vocab;
  text_merges merges;
  text_tree raw_specials, normal_specials; /* searched before and after normalisation */
  text_normal *normals;
  size_t n_normals;
  text_split *splits;
  size_t n_splits;
  bool byte_level, is_spelled, byte_fallback, ignore_merges, fuse_unknown;
  bool match_special;
  bool needs_characters; /* a step requires valid UTF-8 */
  bool cuts_at_marks;    /* no token has U+2581 after another character, so nothing merges across it */
  int32_t byte_ids[256]; /* byte tokens; -1: none */
  int32_t bos, eos, unknown;
  double unknown_score; /* TEXT_UNIGRAM */
  int32_t *around;      /* n_before + n_after ids */
  size_t n_before, n_after;
  text_part *parts; /* of a pair of texts */
  size_t n_parts;
  char *word_prefix, *continuing_prefix;
  size_t max_characters;
  bool keep_leading_space, space_is_mark, clean_up;
  struct grammar_vocab *grammar_vocab; /* made when the first grammar asks for it (grammar_vocab.c) */
};

/* State and buffers of one call of encode. */
typedef struct text_symbol {
  uint32_t start, bytes; /* 0 bytes: merged into the previous one */
  uint32_t previous, next;
  int32_t id; /* -1: none */
} text_symbol;
typedef struct text_candidate {
  uint64_t order; /* rank, then position */
  uint32_t left_bytes, right_bytes;
  int32_t id;
} text_candidate;
enum { TEXT_MAX_SPLITS = 16 };
/* Where special tokens are searched: nowhere, everywhere, or outside content. */
typedef enum text_special { SPECIAL_NONE, SPECIAL_ALL, SPECIAL_AROUND } text_special;
typedef struct text_run {
  const rlx_tokenizer *t;
  RLX_ARRAY(int32_t) ids;
  RLX_ARRAY(text_symbol) symbols;
  RLX_ARRAY(text_candidate) heap;
  RLX_ARRAY(double) scores; /* TEXT_UNIGRAM */
  RLX_ARRAY(uint32_t) came;
  pcre2_match_data *match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
  uint64_t steps, matched; /* steps of expensive matches over the whole text; bytes matched so far */
  uint64_t lookups;        /* steps not yet charged to the budget */
  rlx_str normal[2];
  rlx_str scratch[TEXT_MAX_SPLITS];
  rlx_str word;
  text_special special;
  bool only_text;            /* the rest of the text must not produce a TOKEN_NOT_TEXT token */
  const char *text;          /* the whole text .. */
  const text_range *content; /* .. and its content ranges, in order */
  size_t n_content;
  RLX_ARRAY(int32_t) markers;  /* tokens spelled outside content, which content must not produce */
  rlx_str valid;               /* the text with U+FFFD for invalid bytes without tokens */
  RLX_ARRAY(text_range) moved; /* its content ranges */
} text_run;

/* Whether a piece of text may become this token. */
bool text_may_be(const text_run *r, int32_t id);

rlx_status text_push(text_run *r, int32_t id);
rlx_status text_push_unknown(text_run *r);
/* Appends the token of each byte, or the unknown token if it has none. */
rlx_status text_push_bytes(text_run *r, text_span bytes);
rlx_status text_split_pieces(text_run *r, size_t step, text_span piece, bool is_first);
rlx_status text_match(text_run *r, const pcre2_code *code, text_span in, size_t from, size_t *start, size_t *end,
                      bool *found);
void text_match_deinit(text_run *r);
/* Encodes a text whose special tokens (with RLX_TOKENS_PARSE_SPECIAL) are searched outside content only; without
 * content as rlx_tokenizer_encode. Ranges are in order. */
rlx_status text_encode_around(const rlx_tokenizer *t, text_span text, const text_range *content, size_t n_content,
                              unsigned flags, int32_t **ids, size_t *n);
/* Two texts as one input of at most `room` tokens, with the type of each token; tokens that do not fit are left out at
 * the end of the longer text (pair.c). Free *ids with rlx_free; *types is in the same memory. */
typedef struct text_two {
  int32_t *ids, *types;
  size_t n, n_cut;
} text_two;
rlx_status text_encode_two(const rlx_tokenizer *t, text_span first, text_span second, size_t room, text_two *out);
/* What bytes that are not UTF-8 become in a vocabulary with neither byte tokens nor U+FFFD: "the unknown token", or
 * "nothing". NULL: they are represented, or the normal form removes them (BERT). */
rlx_status text_broken_become(const rlx_tokenizer *t, const char **out);

/* The models: a piece to ids. */
rlx_status text_model_run(text_run *r, text_span piece);
rlx_status text_merge_piece(text_run *r, text_span piece);
rlx_status text_wordpiece(text_run *r, text_span word);
rlx_status text_unigram(text_run *r, text_span piece);

/* Writes the tokenizer.json of a folder as GGUF keys with n_tokens tokens. RLX_UNSUPPORTED, with nothing written:
 * GGUF cannot represent it (to_gguf.c). */
rlx_status text_to_gguf(const rlx_file *f, size_t n_tokens, rlx_file_writer *w);

/* The readers. */
rlx_status text_from_gguf(const rlx_file *f, rlx_tokenizer **out);
typedef struct text_json {
  text_span tokenizer, config, model, generation; /* tokenizer.json, tokenizer_config.json, config.json and
                                                     generation_config.json; all but the first may be absent */
} text_json;
rlx_status text_from_json(const text_json *j, rlx_tokenizer **out);
struct json_t;
/* A tokenizer.json in parts: its large tables as text, the pipeline as a tree (json_tables.c). The text must outlive
 * it. */
typedef struct text_tables {
  struct json_t *root;            /* normalizer, pre_tokenizer, decoder, post_processor; the model's scalars */
  json_text vocab, merges, added; /* v is NULL: absent */
  rlx_bump pool;                  /* spellings that have escapes */
} text_tables;
rlx_status text_tables_open(text_span text, const char *name, text_tables *out); /* close it on failure as well */
void text_tables_close(text_tables *t);
rlx_status text_tables_string(text_tables *t, json_text quoted, text_span *out);
/* The parts of an element of `merges`: ["a", "b"], or "a b" in older files. rank: for messages. */
rlx_status text_tables_merge(text_tables *t, json_text merge, size_t rank, text_pair *out);
/* Converts "normalizer" and "pre_tokenizer" of a tokenizer.json to steps; sets d->byte_level if bytes are spelled as
 * characters. */
rlx_status text_json_normals(struct json_t *normalizer, text_desc *d);
rlx_status text_json_splits(struct json_t *pre_tokenizer, text_desc *d);

/* Parses tokenizer_config.json. Integers become reals: transformers writes 10^30 as model_max_length where there is
 * no limit. */
rlx_status text_load_config(text_span text, struct json_t **out);
/* Refuses fields of tokenizer_config.json (NULL: none) that contradict the pipeline of tokenizer.json (`root`), and
 * unknown ones: json_config.c. */
rlx_status text_check_config(struct json_t *config, const struct json_t *root, const rlx_tokenizer *t);
rlx_status text_copy(const char *p, size_t n, char **out); /* NUL-terminated copy */
bool text_is_end_spelling(text_span s);
/* Marks the tokens that end generation: by spelling, and those named (-1: none). A matching spelling makes a token a
 * control token, unless only_marked restricts the search to tokens already marked as special. */
void text_mark_ends(text_token *tokens, size_t n, const int32_t *named, size_t n_named, bool only_marked);

/* The name of the table row that matches a template; NULL: none. */
const char *text_chat_recognise(const char *text, size_t bytes);

/* A copy of the file's own template; NULL: it has none. */
rlx_status text_chat_template_of(const rlx_file *f, char **text, size_t *n);
/* rlx_chat_encode with a template that is run. */
rlx_status text_chat_program_encode(const rlx_chat_template *t, const rlx_tokenizer *tok,
                                    const rlx_chat_message *messages, size_t n, bool reply, unsigned flags,
                                    int32_t **ids, size_t *n_ids);

/* Appends the bytes of a token in running text to out. */
void text_token_bytes(const rlx_tokenizer *t, uint32_t id, bool special, rlx_str *out);
#define TEXT_MARK "\xe2\x96\x81" /* U+2581, SentencePiece's blank */

#endif
