/* Tokenizers, inside: one pipeline that every kind of vocabulary is set up for.
 *
 *   text -> special tokens cut out -> normal form -> pieces -> ids, by one of four models
 *
 * GGUF metadata and tokenizer.json are two readers (from_gguf.c, from_json.c) of the same description, text_desc; text_build
 * checks it and makes the tokenizer. After that nobody knows which of them it was. A tokenizer does not change once built, so
 * threads share it; what a call needs to remember is in its text_run. */
#ifndef RLX_TEXT_TEXT_H
#define RLX_TEXT_TEXT_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/array.h"
#include "base/status.h"
#include "base/str.h"
#include "rlx/lm.h"

typedef struct text_span {
  const char *p;
  size_t n;
} text_span;
typedef struct text_range {
  size_t start, end; /* bytes of a text */
} text_range;

/* What is known of a token besides its spelling. */
enum {
  TOKEN_CONTROL = 1,      /* for the model, not for people: "<s>" */
  TOKEN_ADDED = 2,        /* ordinary text that is cut out before everything else */
  TOKEN_UNKNOWN = 4,      /* stands for what has no token */
  TOKEN_BYTE = 8,         /* "<0x0A>" */
  TOKEN_UNUSED = 16,      /* never made from text */
  TOKEN_LSTRIP = 32,      /* takes the blanks before it along */
  TOKEN_RSTRIP = 64,      /* and those after it */
  TOKEN_WHOLE_WORD = 128, /* not inside a word */
  TOKEN_NORMALIZED = 256, /* looked for after the text has been brought to its normal form */
  TOKEN_END = 512,        /* generation ends with it */
  TOKEN_NOT_TEXT = 1024,  /* nobody writes it by writing its letters: control tokens, the unknown one, ends */
};

/* ---- Vocabularies: vocab.c ---- */

typedef struct text_vocab {
  uint32_t n;
  char *pool;       /* spellings, each with a NUL behind it */
  uint32_t *starts; /* n + 1 of them */
  uint16_t *flags;
  float *scores;       /* NULL: all are 0, as where merges have ranks, or .. */
  double *fine_scores; /* .. some are no floats */
  uint32_t *slots;     /* a hash table of id + 1; its size is a power of two */
  size_t mask;
  uint64_t seed;  /* where hashes begin; nobody can choose spellings that meet in one slot */
  size_t longest; /* bytes of a spelling */
} text_vocab;

/* From the vocabulary's seed on; grows by bytes, so that all prefixes of a text cost one pass. */
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

/* Tokens that are cut out of text, as a tree of bytes. */
typedef struct text_tree_node {
  uint32_t child, next; /* 0: none */
  int32_t id;           /* -1: none ends here */
  char byte;
} text_tree_node;
typedef struct text_tree {
  RLX_ARRAY(text_tree_node) nodes; /* the first is nobody's child */
  uint32_t root[256];
} text_tree;
rlx_status text_tree_add(text_tree *t, text_span spelling, int32_t id);
void text_tree_deinit(text_tree *t);

/* ---- Merges: merge.c ---- */

typedef struct text_merge {
  uint32_t left, right, id; /* left and right become id */
} text_merge;
typedef struct text_merges {
  text_merge *list; /* what was added first goes first: the place is the rank */
  size_t n;
  uint32_t *slots; /* a hash table of place + 1; its size is a power of two */
  size_t mask;
  uint64_t seed; /* as a vocabulary's */
} text_merges;
rlx_status text_merges_init(text_merges *m, size_t n);  /* room for n */
bool text_merges_add(text_merges *m, text_merge merge); /* false: the pair has a rank already */
const text_merge *text_merges_find(const text_merges *m, uint32_t left, uint32_t right);
void text_merges_deinit(text_merges *m);

/* ---- Patterns and pieces: split.c ---- */

typedef enum text_behavior {
  SPLIT_ISOLATED, /* both what matches and what is between are pieces */
  SPLIT_REMOVED,
  SPLIT_WITH_PREVIOUS,
  SPLIT_WITH_NEXT,
  SPLIT_CONTIGUOUS
} text_behavior;
typedef enum text_split_kind {
  SPLIT_PATTERN,
  SPLIT_DIGITS_RIGHT, /* runs of digits in threes, counted from the right */
  SPLIT_PREFIX,       /* no split: `text` before a piece that does not begin with it, or before the first alone */
  SPLIT_REPLACE,      /* no split: every blank becomes `text` */
  SPLIT_BYTES         /* no split: each byte becomes its character */
} text_split_kind;
typedef struct text_split {
  text_split_kind kind;
  text_behavior behavior;
  bool invert;
  bool only_first;
  pcre2_code *code;
  char *text;
} text_split;

/* Names of GGUF's tokenizer.ggml.pre, in pre.c. */
typedef struct text_pre {
  const char *names; /* separated by blanks */
  const char *patterns[7];
  bool ignore_merges, add_bos, raw; /* raw: not spelled in bytes; blanks are U+2581 */
} text_pre;
#define TEXT_DIGITS_RIGHT "digits"
const text_pre *text_pre_find(const char *name, size_t n);
void text_pre_list(rlx_str *out);

/* Compiles with what the authors of these patterns take for granted: \s and \w are Unicode's, $ is the end. */
rlx_status text_pattern_compile(const char *pattern, pcre2_code **out);
void text_pattern_free(pcre2_code *code);
pcre2_general_context *text_pattern_heap(void); /* NULL: no memory */

/* ---- Normal forms: normal.c ---- */

typedef enum text_normal_kind {
  NORMAL_PREPEND,
  NORMAL_REPLACE, /* the text `from`, or what `code` matches, by `to` */
  NORMAL_NFC,
  NORMAL_NFD,
  NORMAL_NFKC,
  NORMAL_NFKD,
  NORMAL_LOWERCASE,
  NORMAL_STRIP_ACCENTS,
  NORMAL_BERT,
  NORMAL_STRIP,
  NORMAL_CHARSMAP, /* SentencePiece's compiled table, in `to` */
  NORMAL_SPACES    /* SentencePiece's blanks: runs become one U+2581, or each does */
} text_normal_kind;
typedef struct text_normal {
  text_normal_kind kind;
  char *from, *to;
  size_t from_bytes, to_bytes;
  pcre2_code *code;
  bool clean, chinese, strip_accents, lowercase; /* of NORMAL_BERT */
  bool left, right;                              /* of NORMAL_STRIP */
  bool merge, prefix;                            /* of NORMAL_SPACES */
} text_normal;
/* in -> out, which is emptied first. */
rlx_status text_normalize(const text_normal *n, text_span in, rlx_str *out);
void text_normal_deinit(text_normal *n);
rlx_status text_check_charsmap(const text_normal *n); /* its length fits */

/* ---- Characters: utf8.c ---- */

/* Bytes of the character at p, of n that are there; 0: none, or broken. */
size_t text_character(const char *p, size_t n, int32_t *code);
size_t text_valid_prefix(const char *p, size_t n);
/* Whether n bytes that are no character could become one with more behind them. */
bool text_may_grow(const char *p, size_t n);
/* Bytes of the broken character at p: the longest start of one, at least a byte. One U+FFFD stands for it. */
size_t text_broken_bytes(const char *p, size_t n);
#define TEXT_REPLACEMENT "\xef\xbf\xbd"   /* U+FFFD */
size_t text_put(char *out, int32_t code); /* bytes written, at most 4 */
bool text_is_space(int32_t code);
bool text_is_digit(int32_t code);
bool text_is_word(int32_t code);
bool text_is_punctuation(int32_t code); /* Unicode's, and all of ASCII's signs */
/* GPT-2's spelling of bytes: a character for each, and back (-1: none). */
int32_t text_byte_character(int byte);
int text_byte_of(int32_t code);

/* ---- Tokenizers ---- */

typedef enum text_model { TEXT_BPE, TEXT_SPM, TEXT_WORDPIECE, TEXT_UNIGRAM } text_model;

/* What a reader has found; the arrays are its own. */
typedef struct text_token {
  text_span spelling;
  double score;
  uint32_t flags;
} text_token;
typedef struct text_pair {
  text_span left, right;
} text_pair;
typedef struct text_desc {
  text_model model;
  const char *kind; /* for people */
  const text_token *tokens;
  size_t n_tokens;
  const text_pair *merges;
  size_t n_merges;
  bool byte_level, byte_fallback, ignore_merges, fuse_unknown;
  bool match_special; /* of Unigram: special tokens count as pieces, too */
  bool is_spelled;    /* a step has turned bytes into characters before the model sees them */
  int32_t bos, eos, unknown;
  const int32_t *before, *after; /* what is added around a text */
  size_t n_before, n_after;
  const char *word_prefix, *continuing_prefix; /* of WordPiece */
  size_t max_characters;                       /* of a word; 0: any */
  bool keep_leading_space;                     /* when a text is put together again */
  bool space_is_mark;                          /* U+2581 stands for a blank */
  bool clean_up;                               /* " ." becomes ".", as BERT's does */
  text_normal *normals;                        /* taken over, also where building fails */
  size_t n_normals;
  text_split *splits; /* likewise */
  size_t n_splits;
} text_desc;
rlx_status text_build(text_desc *d, rlx_tokenizer **out);
void text_desc_drop_steps(text_desc *d);

struct rlx_tokenizer {
  text_model model;
  rlx_limits limits; /* of each call */
  char kind[64];
  text_vocab vocab;
  text_merges merges;
  text_tree raw_specials, normal_specials; /* looked for before and after normalising */
  text_normal *normals;
  size_t n_normals;
  text_split *splits;
  size_t n_splits;
  bool byte_level, is_spelled, byte_fallback, ignore_merges, fuse_unknown;
  bool match_special;
  bool needs_characters; /* a step cannot take broken UTF-8 */
  bool cuts_at_marks;    /* no token has U+2581 after another character: nothing joins across it */
  int32_t byte_ids[256]; /* the token of a byte; -1: none */
  int32_t bos, eos, unknown;
  double unknown_score; /* of TEXT_UNIGRAM */
  int32_t *around;      /* n_before and n_after of them */
  size_t n_before, n_after;
  char *word_prefix, *continuing_prefix;
  size_t max_characters;
  bool keep_leading_space, space_is_mark, clean_up;
};

/* One call of encode: what it has found, and its working memory. */
typedef struct text_symbol {
  uint32_t start, bytes; /* 0 bytes: merged into the one before */
  uint32_t previous, next;
  int32_t id; /* -1: none */
} text_symbol;
typedef struct text_candidate {
  uint64_t order; /* rank, then place */
  uint32_t left_bytes, right_bytes;
  int32_t id;
} text_candidate;
enum { TEXT_MAX_SPLITS = 16 };
/* Where special tokens are looked for: nowhere, everywhere, or in what is not content. */
typedef enum text_special { SPECIAL_NONE, SPECIAL_ALL, SPECIAL_AROUND } text_special;
typedef struct text_run {
  const rlx_tokenizer *t;
  RLX_ARRAY(int32_t) ids;
  RLX_ARRAY(text_symbol) symbols;
  RLX_ARRAY(text_candidate) heap;
  RLX_ARRAY(double) scores; /* of TEXT_UNIGRAM */
  RLX_ARRAY(uint32_t) came;
  pcre2_match_data *match;
  pcre2_match_context *context;
  pcre2_jit_stack *stack;
  uint64_t steps, matched; /* steps of matches that took many, over the whole text; bytes that matches went over */
  uint64_t lookups;        /* steps that the budget was not told of yet */
  rlx_str normal[2];
  rlx_str scratch[TEXT_MAX_SPLITS];
  rlx_str word;
  text_special special;
  bool only_text;            /* what is left of the text makes no token that is TOKEN_NOT_TEXT */
  const char *text;          /* the whole text, which .. */
  const text_range *content; /* .. these are places of, in order */
  size_t n_content;
  RLX_ARRAY(int32_t) markers;  /* tokens that the text around content has and that content must not have */
  rlx_str valid;               /* the text, with U+FFFD for what is broken and has no tokens */
  RLX_ARRAY(text_range) moved; /* the content of it */
} text_run;

/* Whether a piece of text may become this token. */
bool text_may_be(const text_run *r, int32_t id);

rlx_status text_push(text_run *r, int32_t id);
rlx_status text_push_unknown(text_run *r);
/* Each byte by its token, or the unknown token where it has none. */
rlx_status text_push_bytes(text_run *r, text_span bytes);
rlx_status text_split_pieces(text_run *r, size_t step, text_span piece, bool is_first);
rlx_status text_match(text_run *r, const pcre2_code *code, text_span in, size_t from, size_t *start, size_t *end,
                      bool *found);
void text_match_deinit(text_run *r);
/* A text of which only what is around its content may spell special tokens (with RLX_TOKENS_PARSE_SPECIAL); with no content as
 * rlx_tokenizer_encode. Ranges are in order. */
rlx_status text_encode_around(const rlx_tokenizer *t, text_span text, const text_range *content, size_t n_content,
                              unsigned flags, int32_t **ids, size_t *n);
/* The models: a piece to ids. */
rlx_status text_model_run(text_run *r, text_span piece);
rlx_status text_merge_piece(text_run *r, text_span piece);
rlx_status text_wordpiece(text_run *r, text_span word);
rlx_status text_unigram(text_run *r, text_span piece);

/* Writes the tokenizer.json of a folder as the keys of a GGUF with so many tokens. RLX_UNSUPPORTED, with nothing written: a GGUF
 * has no name for what it does (to_gguf.c). */
rlx_status text_to_gguf(const rlx_file *f, size_t n_tokens, rlx_file_writer *w);

/* The readers. */
rlx_status text_from_gguf(const rlx_file *f, rlx_tokenizer **out);
typedef struct text_json {
  text_span tokenizer, config, model, generation; /* tokenizer.json, tokenizer_config.json, config.json and
                                                     generation_config.json; all but the first may be absent */
} text_json;
rlx_status text_from_json(const text_json *j, rlx_tokenizer **out);
struct json_t;
/* The "normalizer" and the "pre_tokenizer" of a tokenizer.json, as steps; *byte_level: bytes are spelled in characters. */
rlx_status text_json_normals(struct json_t *normalizer, text_desc *d);
rlx_status text_json_splits(struct json_t *pre_tokenizer, text_desc *d);

rlx_status text_copy(const char *p, size_t n, char **out); /* with a NUL behind it */
bool text_is_end_spelling(text_span s);
/* Which tokens end generation: by spelling, and those named (-1: none). A spelling makes a control token of what is none, unless
 * only those that are marked as special already are looked at. */
void text_mark_ends(text_token *tokens, size_t n, const int32_t *named, size_t n_named, bool only_marked);

/* The name of the row that a template of this text is; NULL: none. */
const char *text_chat_recognise(const char *text, size_t bytes);

/* The bytes a token stands for in running text, appended to out. */
void text_token_bytes(const rlx_tokenizer *t, uint32_t id, bool special, rlx_str *out);
#define TEXT_MARK "\xe2\x96\x81" /* U+2581, SentencePiece's blank */

#endif
