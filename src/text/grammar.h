/* Grammars that generated text must match: what the files grammar*.c share.
 *
 *   GBNF, JSON schema, regular expression -> a tree of expressions -> a program -> a machine -> masks of tokens
 *
 * The readers (grammar_gbnf.c, grammar_regex.c, grammar_schema.c and the files it uses) make a tree: expressions over
 * characters, and rules that may refer to each other. grammar_compile.c checks it and makes the program: what is
 * regular and small becomes a deterministic automaton over bytes (grammar_dfa.c), and rules become sequences of
 * elements, each of which is such an automaton, a text, or another rule. The machine (grammar_machine.c) runs the
 * program as a pushdown automaton that follows all possibilities at once, and remembers every step. grammar_mask.c runs
 * the machine over all tokens at once, which stand in a trie (grammar_vocab.c). */
#ifndef RLX_TEXT_GRAMMAR_H
#define RLX_TEXT_GRAMMAR_H

#include <stdatomic.h>

#include "base/array.h"
#include "base/os.h"
#include "base/status.h"
#include "base/str.h"
#include "rlx/lm.h"

/* ---- Bounds: what is over one of them is RLX_LIMIT ---- */

#define GRAMMAR_MAX_TEXT ((size_t)1 << 20)  /* bytes of a grammar, a schema or a pattern */
#define GRAMMAR_MAX_NODES ((size_t)1 << 20) /* expressions */
#define GRAMMAR_MAX_RULES ((size_t)1 << 16) /* and elements: 16 times as many */
#define GRAMMAR_MAX_DEPTH 200               /* of expressions in each other */
#define GRAMMAR_MAX_REPEAT 1000000u         /* a number in braces */
#define GRAMMAR_MANY UINT32_MAX             /* of a repetition: without bound */

/* ---- Trees: grammar_tree.c ---- */

typedef enum grammar_kind {
  GRAMMAR_NEVER, /* matches nothing; node 0 */
  GRAMMAR_EMPTY, /* matches the empty text; node 1 */
  GRAMMAR_CLASS, /* one character of the ranges a .. a + b - 1 */
  GRAMMAR_TEXT,  /* b bytes from a on, whole characters */
  GRAMMAR_SEQUENCE,
  GRAMMAR_CHOICE, /* b children from a on */
  GRAMMAR_REPEAT, /* child a, min to max times */
  GRAMMAR_CALL    /* rule a */
} grammar_kind;
typedef uint32_t grammar_ref; /* a node */
typedef struct grammar_node {
  grammar_kind kind;
  uint32_t a, b, min, max;
} grammar_node;
typedef struct grammar_range {
  uint32_t first, last; /* characters */
} grammar_range;
typedef struct grammar_rule {
  uint32_t name, name_bytes; /* in bytes */
  grammar_ref body;
  bool is_set;
  bool is_shared; /* a lexeme of its own, whose masks are shared by all that call it */
  uint32_t at;    /* where its name first comes in the text */
} grammar_rule;
typedef struct grammar_tree {
  RLX_ARRAY(grammar_node) nodes;
  RLX_ARRAY(grammar_range) ranges;
  RLX_ARRAY(char) bytes;
  RLX_ARRAY(grammar_ref) children;
  RLX_ARRAY(grammar_rule) rules;
  grammar_ref classes[128]; /* the first n_classes different ones */
  size_t n_classes;
  rlx_status failed; /* once it is set nothing is added: builders return node 0 */
} grammar_tree;

rlx_status grammar_tree_init(grammar_tree *t);
void grammar_tree_deinit(grammar_tree *t);
/* RLX_OK, or what failed, as the message of this thread. */
rlx_status grammar_tree_check(const grammar_tree *t);
/* Ranges in any order; surrogates are left out. No character at all: GRAMMAR_NEVER. */
grammar_ref grammar_class(grammar_tree *t, const grammar_range *ranges, size_t n);
grammar_ref grammar_class_but(grammar_tree *t, const grammar_range *ranges, size_t n); /* all other characters */
grammar_ref grammar_text(grammar_tree *t, const char *bytes, size_t n);
grammar_ref grammar_sequence(grammar_tree *t, const grammar_ref *parts, size_t n);
grammar_ref grammar_choice(grammar_tree *t, const grammar_ref *parts, size_t n);
grammar_ref grammar_repeat(grammar_tree *t, grammar_ref child, uint32_t min, uint32_t max);
/* The number at *at, which moves behind it; false: there is none. Past GRAMMAR_MAX_REPEAT it is not read to its end. */
bool grammar_read_count(const char **at, const char *end, uint32_t *n);
uint32_t grammar_rule_add(grammar_tree *t, const char *name, size_t bytes);
void grammar_rule_set(grammar_tree *t, uint32_t rule, grammar_ref body);
grammar_ref grammar_call(grammar_tree *t, uint32_t rule);
#define GRAMMAR_SEQUENCE_OF(t, ...)                         \
  grammar_sequence((t), (const grammar_ref[]){__VA_ARGS__}, \
                   sizeof((const grammar_ref[]){__VA_ARGS__}) / sizeof(grammar_ref))
#define GRAMMAR_CHOICE_OF(t, ...)                         \
  grammar_choice((t), (const grammar_ref[]){__VA_ARGS__}, \
                 sizeof((const grammar_ref[]){__VA_ARGS__}) / sizeof(grammar_ref))
#define GRAMMAR_LITERAL(t, text) grammar_text((t), (text), sizeof(text) - 1)
static inline grammar_ref grammar_optional(grammar_tree *t, grammar_ref child) {
  return grammar_repeat(t, child, 0, 1);
}

/* Sorts ranges, joins those that touch, and removes surrogates; returns how many are left. There is room for n + 1. */
size_t grammar_ranges_sort(grammar_range *ranges, size_t n);
/* All characters but those of sorted ranges; `out` has room for n + 2. */
size_t grammar_ranges_invert(const grammar_range *ranges, size_t n, grammar_range *out);

/* ---- Readers: they leave the root's body in *root ---- */

rlx_status grammar_read_gbnf(grammar_tree *t, const char *text, size_t bytes, grammar_ref *root);
rlx_status grammar_read_schema(grammar_tree *t, const char *text, size_t bytes, grammar_ref *root);
/* in_json: characters are written as in a JSON string, each in one way. search: the pattern may be found anywhere in
 * the text, except where it begins with ^ or ends with $; otherwise it matches the whole text. */
typedef struct grammar_regex_mode {
  bool in_json, search;
} grammar_regex_mode;
rlx_status grammar_read_regex(grammar_tree *t, const char *text, size_t bytes, grammar_regex_mode mode,
                              grammar_ref *root);

/* ---- Parts of JSON: grammar_json.c, grammar_number.c ---- */

typedef struct grammar_json {
  grammar_tree *tree;
  /* 0: not made yet */
  grammar_ref blank, any_character, string, number, integer, value, object, array;
} grammar_json;
grammar_ref grammar_json_blank(grammar_json *j);     /* nothing, a blank, or a line end and up to 20 blanks */
grammar_ref grammar_json_string(grammar_json *j);    /* any string, with its quotes */
grammar_ref grammar_json_character(grammar_json *j); /* one character of a string, in each of its spellings */
grammar_ref grammar_json_number(grammar_json *j);
grammar_ref grammar_json_integer(grammar_json *j);
grammar_ref grammar_json_value(grammar_json *j);
grammar_ref grammar_json_object(grammar_json *j);
grammar_ref grammar_json_array(grammar_json *j);
/* One of these characters as a JSON string has it, each in one spelling. Ranges are sorted. */
grammar_ref grammar_json_class(grammar_tree *t, const grammar_range *ranges, size_t n);
/* A text as a JSON string has it, without quotes. */
grammar_ref grammar_json_text(grammar_tree *t, const char *text, size_t bytes);
/* open, between min and max items with commas between them, close. */
grammar_ref grammar_json_list(grammar_json *j, char open, grammar_ref item, uint32_t min, uint32_t max, char close);
/* Numbers within bounds, which are decimal texts without exponents ("-12.50"; NULL: none). */
typedef struct grammar_bounds {
  const char *min, *max;
  bool min_is_out, max_is_out; /* exclusive */
} grammar_bounds;
grammar_ref grammar_json_bounded(grammar_tree *t, const grammar_bounds *bounds, bool is_integer);
/* The text of a named format as a pattern; NULL: there is none. */
const char *grammar_json_format(const char *name);

/* ---- Automata over bytes: grammar_dfa.c ---- */

/* Tables of all of them: row s of next has the state after each byte. State 0 is dead. While the program is made a row
 * has 256 columns, then one for each class of bytes that no automaton and no text tells apart. */
typedef struct grammar_dfas {
  RLX_ARRAY(uint16_t) next;
  RLX_ARRAY(uint8_t) flags;
} grammar_dfas;
enum {
  DFA_ACCEPTS = 1,
  DFA_GOES_ON = 2,
  DFA_IS_PREFIX_FREE = 4
}; /* the last one: no match begins another; of starts */
enum { DFA_MAX_STATES = 60000, DFA_MAX_ROWS = 1 << 15 };
/* The automaton of an expression whose calls are not recursive. *start: its first state; 0: it would have more than
 * max_states states, or take more than *work steps, of which those done are subtracted. */
rlx_status grammar_dfa_build(const grammar_tree *t, grammar_ref node, size_t max_states, uint64_t *work,
                             grammar_dfas *out, uint32_t *start);

/* ---- Programs: grammar_compile.c ---- */

typedef enum grammar_part { PART_END, PART_TEXT, PART_DFA, PART_RULE } grammar_part;
typedef struct grammar_element {
  grammar_part kind;
  uint32_t id;       /* the first byte, the first state, or the rule */
  uint32_t n;        /* bytes of a text */
  uint32_t min, max; /* how often it comes in a row */
} grammar_element;
typedef struct grammar_body {
  uint32_t first, n; /* alternatives */
  uint32_t origin;   /* the tree's rule that it is, or is a part of */
} grammar_body;
typedef struct grammar_program {
  RLX_ARRAY(grammar_element) elements;
  RLX_ARRAY(uint32_t) alternatives; /* where each begins in `elements`; it goes to a PART_END */
  RLX_ARRAY(grammar_body) rules;    /* the first is the root */
  RLX_ARRAY(char) texts;
  grammar_dfas dfas;
  uint32_t n_classes;
  uint8_t class_of[256];
} grammar_program;
rlx_status grammar_compile(const grammar_tree *t, grammar_ref root, grammar_program *out);
void grammar_program_deinit(grammar_program *p);

/* ---- Machines: grammar_machine.c ---- */

/* A stack is a chain of frames that share their lower parts. 0 is the end of the text; 1 is a bottom below which
 * nothing is known. */
enum { STACK_END, STACK_BOTTOM };
typedef struct grammar_stack {
  uint32_t element, sub, count; /* sub: the state of an automaton, the place in a text */
  uint32_t parent, depth;
} grammar_stack;
/* All stacks that are possible after some text. 0: none. */
typedef struct grammar_config {
  uint32_t first, n;   /* in `members` */
  bool accepts, exits; /* has STACK_END, STACK_BOTTOM */
} grammar_config;
typedef struct grammar_point {
  uint32_t element, count, parent;
  bool is_fresh; /* the parent was pushed without a byte since */
} grammar_point;
#define GRAMMAR_UNKNOWN UINT32_MAX /* in rows: not computed yet */
#define GRAMMAR_MAX_WORK ((uint64_t)1 << 24)
typedef struct grammar_machine {
  const grammar_program *p;
  RLX_ARRAY(grammar_stack) stacks;
  RLX_ARRAY(grammar_config) configs;
  RLX_ARRAY(uint32_t) members;
  RLX_ARRAY(uint32_t) rows; /* n_classes for each config */
  RLX_ARRAY(uint32_t) stack_slots, config_slots;
  RLX_ARRAY(grammar_point) points; /* scratch of a closure: those seen .. */
  RLX_ARRAY(uint32_t) point_slots;
  RLX_ARRAY(uint32_t) found; /* .. and the stacks reached */
  uint64_t work;             /* of the current mask or token, bounded by GRAMMAR_MAX_WORK */
} grammar_machine;
rlx_status grammar_machine_init(grammar_machine *m, const grammar_program *p);
void grammar_machine_deinit(grammar_machine *m);
size_t grammar_machine_bytes(const grammar_machine *m);
rlx_status grammar_machine_start(grammar_machine *m, uint32_t *config);
/* The config after a byte of this class. */
rlx_status grammar_machine_compute(grammar_machine *m, uint32_t config, uint32_t class, uint32_t *next);
static inline rlx_status grammar_machine_step(grammar_machine *m, uint32_t config, uint32_t class, uint32_t *next) {
  *next = m->rows.v[(size_t)config * m->p->n_classes + class];
  return *next != GRAMMAR_UNKNOWN ? RLX_OK : grammar_machine_compute(m, config, class, next);
}
/* The config of one stack; of what follows the element on top of a stack; of that element alone, on STACK_BOTTOM. */
rlx_status grammar_machine_only(grammar_machine *m, const uint32_t *stacks, size_t n, uint32_t *config);
rlx_status grammar_machine_after(grammar_machine *m, uint32_t stack, uint32_t *config);
rlx_status grammar_machine_alone(grammar_machine *m, uint32_t stack, uint32_t *config);
/* Copies a config of another machine of the same program. */
rlx_status grammar_machine_copy(grammar_machine *m, const grammar_machine *from, uint32_t config, uint32_t *out);

/* ---- Vocabularies: grammar_vocab.c ---- */

/* The tokens that are text, as a trie of their bytes, in the order of a walk that visits parents first. Node 0 is the
 * root. */
typedef struct grammar_trie_node {
  uint32_t after; /* the node that follows what is below this one */
  int32_t token;  /* -1: none */
  uint16_t depth;
  uint8_t byte;
} grammar_trie_node;
typedef struct grammar_vocab {
  atomic_size_t refs;
  uint32_t n_tokens;
  grammar_trie_node *nodes;
  uint32_t n_nodes;
  uint32_t depth;     /* bytes of the longest token */
  int32_t *next_same; /* by token: another one with the same bytes; -1: none */
  uint32_t *starts;   /* by token: its bytes in `bytes`; n_tokens + 1 */
  char *bytes;
  RLX_ARRAY(int32_t) ends; /* tokens that end generation */
} grammar_vocab;
/* The tokenizer's, made once; release it. */
rlx_status grammar_vocab_of(const rlx_tokenizer *t, grammar_vocab **out);
void grammar_vocab_release(grammar_vocab *v);

/* ---- Masks: grammar_mask.c ---- */

typedef struct grammar_masks grammar_masks; /* what was computed before */
typedef struct grammar_state grammar_state;
struct rlx_grammar {
  atomic_size_t refs;
  grammar_vocab *vocab;
  grammar_program program;
  size_t max_bytes; /* of machine and masks, before what no state needs is dropped */
  rlx_mutex lock;   /* for all below */
  grammar_machine machine;
  grammar_masks *masks;
  grammar_state *states; /* all of them */
};
rlx_status grammar_masks_create(rlx_grammar *g);
void grammar_masks_destroy(grammar_masks *m);

/* Where a text is in its grammar. It holds the grammar. Threads: one at a time. */
rlx_status grammar_state_create(const rlx_grammar *g, grammar_state **out);
void grammar_state_destroy(grammar_state *s);
/* A bit for each token of the vocabulary that may come next, end tokens not among them; it lives until the state
 * changes. n (may be NULL): how many there are. */
rlx_status grammar_state_mask(grammar_state *s, const uint64_t **bits, uint32_t *n);
bool grammar_state_may_end(const grammar_state *s);
/* RLX_INVALID, and the state is unchanged: the token cannot come next. */
rlx_status grammar_state_accept(grammar_state *s, int32_t token);
/* The same for bytes, whatever the tokens. */
rlx_status grammar_state_accept_bytes(grammar_state *s, const char *bytes, size_t n);
const grammar_vocab *grammar_state_vocab(const grammar_state *s);

#endif
