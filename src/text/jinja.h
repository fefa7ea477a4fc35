/* The interpreter of chat templates: the part of the Jinja language that they use, with Python's semantics.
 *
 *   text -> tokens (jinja_lex.c) -> tree (jinja_parse.c, jinja_expression.c) -> output (jinja_run.c, jinja_eval.c)
 *
 * A program is parsed once and never changes, so threads share it. A run has all of its memory in one bump allocator
 * and frees it at once; values are small structs that point into it. Everything is bounded: each evaluated node and
 * each byte that is looked at counts as work, memory and nesting have limits, and beyond one is RLX_LIMIT.
 *
 * The property that matters most: text that came from a message stays text. Every string knows which of its bytes are
 * content (from the input) and which are the template's own (jinja_text.c), and all that makes strings of strings
 * keeps that. So what is encoded at the end has special tokens from the template alone. */
#ifndef RLX_TEXT_JINJA_H
#define RLX_TEXT_JINJA_H

#include "base/array.h"
#include "base/bump.h"
#include "base/status.h"
#include "text/text.h"

/* ---- Strings ---- */

/* Flat bytes, or a concatenation that nobody has needed in one piece yet (p is NULL). */
typedef struct jinja_text {
  size_t n;
  const char *p;
  const struct jinja_text *left, *right;
  const text_range *content; /* of flat bytes: what came from the input, in order and not adjacent */
  size_t n_content;
  bool is_ascii; /* certainly */
} jinja_text;

/* Strings are made in one: bytes and their origin. */
typedef struct jinja_builder {
  char *p;
  size_t n, cap;
  text_range *content;
  size_t n_content, cap_content;
} jinja_builder;

/* ---- Values ---- */

typedef enum jinja_kind {
  JINJA_ABSENT, /* an argument that was not given */
  JINJA_UNDEFINED,
  JINJA_NONE,
  JINJA_BOOL,
  JINJA_INT,
  JINJA_FLOAT,
  JINJA_TEXT,
  JINJA_LIST,
  JINJA_DICT,
  JINJA_NAMESPACE,
  JINJA_LOOP,
  JINJA_MACRO,
  JINJA_FUNCTION /* of the language, or a method with its object */
} jinja_kind;

typedef struct jinja_list jinja_list;
typedef struct jinja_dict jinja_dict;
typedef struct jinja_loop jinja_loop;
typedef struct jinja_macro jinja_macro;
typedef struct jinja_function jinja_function;
typedef struct jinja_value {
  uint8_t kind;
  bool is_content; /* a number that came from the input, or was computed from one */
  bool is_markup;  /* a text made by `escape` or `safe`: what is added to it is escaped */
  union {
    bool boolean;
    int64_t integer;
    double number;
    const jinja_text *text;
    jinja_list *list;
    jinja_dict *dict; /* also of a namespace */
    jinja_loop *loop;
    const jinja_macro *macro;
    const jinja_function *function;
    const char *name; /* what is undefined: for messages */
  };
} jinja_value;

typedef enum jinja_sort {
  JINJA_ARRAY,
  JINJA_TUPLE,
  JINJA_ITERATOR, /* what map, select and others give: can be gone through once */
  JINJA_KEYS,
  JINJA_VALUES,
  JINJA_ITEMS,
  JINJA_RANGE
} jinja_sort;
struct jinja_list {
  jinja_value *v;
  size_t n, cap;
  jinja_sort sort;
  size_t at;                 /* of an iterator: the next element */
  int64_t start, stop, step; /* of a range */
};
struct jinja_dict {
  jinja_value *keys, *values; /* in order of insertion */
  size_t n, cap;
  uint32_t *slots; /* hash table of index + 1, from some elements on; its size is a power of two */
  size_t n_slots;
};

/* Arguments of a call, and those of a built-in one in the order of its parameters. */
typedef struct jinja_named {
  const jinja_text *name;
  jinja_value value;
} jinja_named;
enum { JINJA_MAX_PARAMETERS = 6 };
typedef struct jinja_args {
  jinja_value *v;
  size_t n;
  jinja_named *named;
  size_t n_named;
  jinja_value p[JINJA_MAX_PARAMETERS];
} jinja_args;

typedef struct jinja_run jinja_run;
typedef rlx_status (*jinja_fn)(jinja_run *r, const jinja_value *self, const jinja_args *args, jinja_value *out);
/* A filter, test, function or method. Parameters are separated by blanks; "!" before one: it must be given; "/" first:
 * by position only; "*": any, not bound. */
typedef struct jinja_builtin {
  const char *name, *parameters;
  jinja_fn fn; /* NULL: known in Jinja and not here */
} jinja_builtin;
struct jinja_function {
  const jinja_builtin *builtin;
  jinja_value self; /* of a method, cycler or joiner */
  size_t position;  /* of a cycler or joiner */
};

/* ---- Programs ---- */

typedef enum jinja_op {
  /* expressions */
  OP_CONST,
  OP_NAME,
  OP_TUPLE,
  OP_LIST,
  OP_DICT, /* items: key, value, .. */
  OP_ATTRIBUTE,
  OP_ITEM,
  OP_SLICE,
  OP_CALL,
  OP_FILTER,
  OP_TEST,
  OP_NEGATE,
  OP_PLUS,
  OP_NOT,
  OP_AND,
  OP_OR,
  OP_CONDITIONAL,
  OP_COMPARE, /* a, then items with an operator each */
  OP_CONCAT,
  OP_ADD,
  OP_SUBTRACT,
  OP_MULTIPLY,
  OP_DIVIDE,
  OP_FLOOR_DIVIDE,
  OP_MODULO,
  OP_POWER,
  OP_EQUAL, /* operators of OP_COMPARE */
  OP_NOT_EQUAL,
  OP_LESS,
  OP_LESS_EQUAL,
  OP_GREATER,
  OP_GREATER_EQUAL,
  OP_IN,
  OP_NOT_IN,
  OP_NAMESPACE_TARGET,
  /* statements */
  OP_TEXT,
  OP_OUTPUT,
  OP_IF,
  OP_FOR,
  OP_SET,
  OP_SET_BLOCK,
  OP_MACRO,
  OP_CALL_BLOCK,
  OP_FILTER_BLOCK,
  OP_WITH,
  OP_GENERATION,
  OP_BREAK,
  OP_CONTINUE
} jinja_op;

typedef struct jinja_node jinja_node;
typedef struct jinja_block {
  jinja_node **v;
  size_t n;
} jinja_block;
typedef struct jinja_ids {
  uint32_t *v;
  size_t n;
} jinja_ids;
struct jinja_node {
  uint8_t op;
  bool uses_caller, uses_kwargs, uses_varargs; /* of a macro or call block */
  uint32_t line;
  uint32_t id;       /* of a name */
  jinja_value value; /* a constant; the name of an attribute, filter, test, macro */
  jinja_node *a, *b, *c;
  jinja_block items; /* elements; arguments; targets and values of `with`; parameters (names) of a macro */
  jinja_block named; /* values of named arguments: value is the name, a the expression; defaults of parameters */
  jinja_node *star, *stars;
  jinja_block body, other;
  jinja_ids hidden, other_hidden; /* names that the scopes of the two hide when they begin (jinja_scope.c) */
  const jinja_builtin *builtin;   /* of a filter or test; NULL: none of this name */
  uint8_t *operators;             /* of OP_COMPARE */
};

typedef struct jinja_program {
  rlx_bump heap;
  jinja_block root;
  jinja_ids hidden;
  RLX_ARRAY(const jinja_text *) names; /* by id */
} jinja_program;

enum { JINJA_MAX_TEMPLATE = 1 << 20, JINJA_MAX_NAMES = 1024, JINJA_MAX_PARSE_DEPTH = 120 };
rlx_status jinja_parse(const char *text, size_t bytes, jinja_program *out); /* deinitialise it after a failure too */
void jinja_program_deinit(jinja_program *p);
rlx_status jinja_settle_scopes(jinja_program *p); /* the last part of parsing */

/* ---- Tokens: jinja_lex.c ---- */

typedef enum jinja_token_kind {
  LEX_END,
  LEX_DATA,
  LEX_BLOCK_BEGIN,
  LEX_BLOCK_END,
  LEX_OUTPUT_BEGIN,
  LEX_OUTPUT_END,
  LEX_NAME,
  LEX_STRING,
  LEX_INTEGER,
  LEX_NUMBER,
  LEX_OPERATOR
} jinja_token_kind;
typedef struct jinja_token {
  uint8_t kind;
  uint32_t line;
  const char *p; /* a name, operator or data: in the text; a string: without quotes and escapes */
  size_t n;
  int64_t integer;
  double number;
} jinja_token;
typedef struct jinja_tokens {
  RLX_ARRAY(jinja_token) list;
  rlx_bump *heap; /* where strings go */
} jinja_tokens;
/* The text must outlive the tokens, and has line feeds only as line ends. */
rlx_status jinja_lex(const char *text, size_t bytes, jinja_tokens *out);

/* ---- The parser's two halves ---- */

typedef struct jinja_parser {
  jinja_program *program;
  const jinja_token *at;
  uint32_t depth, loops;
  bool is_soft; /* in a branch: an unknown filter fails when it is reached */
  uint32_t n_opened;
} jinja_parser;
jinja_node *jinja_node_new(jinja_parser *p, jinja_op op); /* NULL: no memory */
rlx_status jinja_expected(const jinja_parser *p, const char *what);
bool jinja_is(const jinja_parser *p, jinja_token_kind kind, const char *text);
bool jinja_accept(jinja_parser *p, jinja_token_kind kind, const char *text);
rlx_status jinja_expect(jinja_parser *p, jinja_token_kind kind, const char *text);
rlx_status jinja_intern(jinja_parser *p, const char *name, size_t n, uint32_t *id);
rlx_status jinja_push_node(jinja_parser *p, jinja_block *b, jinja_node *n); /* in memory of the program */
rlx_status jinja_enter(jinja_parser *p);
rlx_status jinja_parse_expression(jinja_parser *p, bool with_conditional, jinja_node **out);
/* An expression, or several with commas. end (may be NULL): a word that ends it. */
rlx_status jinja_parse_tuple(jinja_parser *p, bool with_conditional, bool in_parentheses, const char *end,
                             jinja_node **out);
rlx_status jinja_parse_target(jinja_parser *p, bool with_namespace, const char *end, jinja_node **out);
/* Filters after `value`; NULL: begins with a name. */
rlx_status jinja_parse_filters(jinja_parser *p, jinja_node *value, bool starts_inline, jinja_node **out);

/* ---- Runs ---- */

typedef struct jinja_limits {
  uint64_t work;  /* nodes evaluated and bytes looked at */
  size_t bytes;   /* memory, the output's included */
  uint32_t depth; /* nesting of evaluation */
} jinja_limits;

typedef struct jinja_variable {
  uint32_t id;
  jinja_value value;
} jinja_variable;
typedef struct jinja_scope {
  struct jinja_scope *parent;
  RLX_ARRAY(jinja_variable) variables; /* in the run's memory */
} jinja_scope;

typedef enum jinja_jump { JINJA_GO_ON, JINJA_BREAK, JINJA_CONTINUE } jinja_jump;
struct jinja_run {
  const jinja_program *program;
  jinja_limits limits;
  rlx_bump heap;
  uint64_t work;
  uint64_t seed; /* of hash tables */
  uint32_t depth, line;
  jinja_scope *scope;
  uint32_t loop_id, caller_id, kwargs_id, varargs_id; /* UINT32_MAX: the program does not mention it */
  jinja_value *globals;                               /* by id: the input's variables and the language's functions */
  jinja_builder *out;
  jinja_jump jump;
  RLX_ARRAY(const jinja_text *) stack; /* of walks through concatenations */
  const char *now;                     /* local time, ISO 8601; NULL: the clock's */
};

struct jinja_macro {
  const jinja_node *node;
  jinja_scope *scope;
};

struct jinja_loop {
  jinja_run *run;
  const jinja_node *node;
  jinja_list *source;
  size_t at;         /* next element of the source */
  jinja_list passed; /* those that passed the filter */
  size_t index;      /* of the current one in `passed` */
  uint32_t depth;
  jinja_scope *outer; /* in which the filter is evaluated */
  jinja_value *last_changed;
  size_t n_last_changed;
  bool has_changed;
};

/* Runs a program. `input` is a dict; the output is in the run's memory. Deinitialise the run afterwards, also after a
 * failure. */
void jinja_run_init(jinja_run *r, const jinja_program *p, const jinja_limits *limits);
rlx_status jinja_run_program(jinja_run *r, const jinja_dict *input, jinja_builder *out);
void jinja_run_deinit(jinja_run *r);

/* Fails with the line of the template in front. */
rlx_status jinja_fail(const jinja_run *r, rlx_status code, const char *fmt, ...) RLX_PRINTF(3, 4);
rlx_status jinja_count(jinja_run *r, uint64_t work);
rlx_status jinja_deeper(jinja_run *r); /* r->depth++, or RLX_LIMIT */
rlx_status jinja_alloc(jinja_run *r, size_t count, size_t size, void **out);
#define JINJA_NEW(r, count, p) jinja_alloc((r), (count), sizeof **(p), (void **)(p))

/* ---- Strings: jinja_text.c ---- */

rlx_status jinja_text_new(jinja_run *r, const char *p, size_t n, bool is_content, const jinja_text **out); /* no copy */
rlx_status jinja_text_copy(jinja_run *r, const char *p, size_t n, bool is_content, const jinja_text **out);
rlx_status jinja_text_flat(jinja_run *r, const jinja_text *t, const jinja_text **out);
rlx_status jinja_text_slice(jinja_run *r, const jinja_text *t, size_t from, size_t to, const jinja_text **out);
rlx_status jinja_text_join(jinja_run *r, const jinja_text *a, const jinja_text *b, const jinja_text **out);
bool jinja_text_has_content(const jinja_text *t); /* of a flat one */
bool jinja_text_is_content(const jinja_text *flat, size_t at);
rlx_status jinja_text_compare(jinja_run *r, const jinja_text *a, const jinja_text *b, int *out);
bool jinja_text_is(const jinja_text *flat, const char *text);
/* Where a text is in another one, both flat; in->n + 1: nowhere. The last one that ends at or before `end`. */
size_t jinja_text_find(const jinja_text *in, const jinja_text *what, size_t from);
size_t jinja_text_find_last(const jinja_text *in, const jinja_text *what, size_t end);
size_t jinja_character(const char *p, size_t n, int32_t *code); /* at least 1: an invalid byte is one */
size_t jinja_text_characters(const jinja_text *flat);
bool jinja_is_space(int32_t code); /* as Python has it */
extern const jinja_text jinja_no_text;

rlx_status jinja_add(jinja_run *r, jinja_builder *b, const char *p, size_t n, bool is_content);
rlx_status jinja_add_text(jinja_run *r, jinja_builder *b, const jinja_text *t);
rlx_status jinja_add_part(jinja_run *r, jinja_builder *b, const jinja_text *flat, size_t from, size_t to);
rlx_status jinja_built(jinja_run *r, const jinja_builder *b, jinja_value *out);

/* ---- Values: jinja_value.c ---- */

static inline jinja_value jinja_none(void) { return (jinja_value){.kind = JINJA_NONE}; }
static inline jinja_value jinja_bool(bool b) { return (jinja_value){.kind = JINJA_BOOL, .boolean = b}; }
static inline jinja_value jinja_int(int64_t i) { return (jinja_value){.kind = JINJA_INT, .integer = i}; }
static inline jinja_value jinja_float(double x) { return (jinja_value){.kind = JINJA_FLOAT, .number = x}; }
static inline jinja_value jinja_undefined(const char *n) { return (jinja_value){.kind = JINJA_UNDEFINED, .name = n}; }
static inline jinja_value jinja_of_text(const jinja_text *t) { return (jinja_value){.kind = JINJA_TEXT, .text = t}; }
static inline jinja_value jinja_of_list(jinja_list *l) { return (jinja_value){.kind = JINJA_LIST, .list = l}; }
static inline jinja_value jinja_of_dict(jinja_dict *d) { return (jinja_value){.kind = JINJA_DICT, .dict = d}; }

const char *jinja_kind_name(const jinja_value *v); /* Python's: "int", "NoneType" */
bool jinja_truth(const jinja_value *v);
bool jinja_is_number(const jinja_value *v); /* an int, float or bool */
double jinja_as_double(const jinja_value *v);
int64_t jinja_as_int(const jinja_value *v); /* of an int or bool */
rlx_status jinja_equal(jinja_run *r, const jinja_value *a, const jinja_value *b, bool *out);
rlx_status jinja_order(jinja_run *r, const jinja_value *a, const jinja_value *b, int *out); /* 2: a NaN is there */
rlx_status jinja_list_new(jinja_run *r, jinja_sort sort, size_t cap, jinja_list **out);
rlx_status jinja_list_push(jinja_run *r, jinja_list *l, jinja_value v);
rlx_status jinja_dict_new(jinja_run *r, size_t cap, jinja_dict **out);
rlx_status jinja_dict_find(jinja_run *r, const jinja_dict *d, const jinja_value *key, const jinja_value **out);
rlx_status jinja_dict_put(jinja_run *r, jinja_dict *d, jinja_value key, jinja_value value);
const jinja_value *jinja_dict_member(const jinja_dict *d, const char *name); /* NULL: none */
rlx_status jinja_hashable(jinja_run *r, const jinja_value *v, bool *out);
/* The elements that a loop over a value visits: *out may be the value's own list. An iterator is used up. */
rlx_status jinja_iterate(jinja_run *r, const jinja_value *v, jinja_list **out);
rlx_status jinja_dict_list(jinja_run *r, const jinja_dict *d, jinja_sort sort, jinja_list **out);
rlx_status jinja_unpack(jinja_run *r, const jinja_value *v, size_t n, jinja_list **out);

/* ---- Text of values: jinja_print.c ---- */

rlx_status jinja_print(jinja_run *r, jinja_builder *b, const jinja_value *v);         /* str(): what output gives */
rlx_status jinja_to_text(jinja_run *r, const jinja_value *v, const jinja_text **out); /* flat */
bool jinja_value_has_content(jinja_run *r, const jinja_value *v);
void jinja_float_text(double x, char out[96]); /* repr() */

/* ---- Operators: jinja_operate.c ---- */

rlx_status jinja_arithmetic(jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b, jinja_value *out);
rlx_status jinja_compare(jinja_run *r, jinja_op op, const jinja_value *a, const jinja_value *b, bool *out);
rlx_status jinja_concat(jinja_run *r, const jinja_value *a, const jinja_value *b, jinja_value *out); /* ~ */
rlx_status jinja_negate(jinja_run *r, jinja_op op, const jinja_value *a, jinja_value *out);
rlx_status jinja_format(jinja_run *r, const jinja_value *format, const jinja_value *values, jinja_value *out); /* % */
rlx_status jinja_escape(jinja_run *r, const jinja_value *v, jinja_value *out);

/* ---- Access: jinja_access.c ---- */

rlx_status jinja_attribute(jinja_run *r, const jinja_value *v, const jinja_text *name, jinja_value *out);
rlx_status jinja_item(jinja_run *r, const jinja_value *v, const jinja_value *key, jinja_value *out);
rlx_status jinja_slice(jinja_run *r, const jinja_value *v, const jinja_value bounds[3], jinja_value *out);
rlx_status jinja_loop_attribute(jinja_run *r, jinja_loop *l, const jinja_text *name, jinja_value *out);

/* ---- Evaluation: jinja_eval.c, jinja_run.c ---- */

rlx_status jinja_eval(jinja_run *r, const jinja_node *e, jinja_value *out);
rlx_status jinja_call(jinja_run *r, const jinja_value *fn, jinja_args *args, jinja_value *out);
rlx_status jinja_call_builtin(jinja_run *r, const jinja_builtin *f, const char *what, const jinja_value *self,
                              jinja_args *args, jinja_value *out);
rlx_status jinja_eval_args(jinja_run *r, const jinja_node *e, jinja_args *out);
rlx_status jinja_call_macro(jinja_run *r, const jinja_macro *m, jinja_args *args, jinja_value *out);
rlx_status jinja_assign(jinja_run *r, const jinja_node *target, jinja_value v);
rlx_status jinja_set(jinja_run *r, uint32_t id, jinja_value v);
/* Makes a scope the current one, in which some names are hidden. */
rlx_status jinja_enter_scope(jinja_run *r, jinja_scope *parent, const jinja_ids *hidden);
rlx_status jinja_loop_pull(jinja_run *r, jinja_loop *l, bool *found); /* one more element into `passed` */

/* ---- Tables ---- */

const jinja_builtin *jinja_filter_find(const char *name, size_t n);
const jinja_builtin *jinja_test_find(const char *name, size_t n);
const jinja_builtin *jinja_function_find(const jinja_text *name); /* range, namespace, .. */
/* Methods of texts, lists and dicts. NULL: none. *is_python: Python's type has one that is not supported here, or that
 * the sandbox forbids (is_forbidden). */
const jinja_builtin *jinja_method_find(const jinja_value *v, const jinja_text *name, bool *is_python,
                                       bool *is_forbidden);
#define JINJA_FN(NAME) rlx_status NAME(jinja_run *r, const jinja_value *self, const jinja_args *args, jinja_value *out)
/* Those of text are methods and filters at once. */
JINJA_FN(jinja_upper);
JINJA_FN(jinja_lower);
JINJA_FN(jinja_capitalize);
JINJA_FN(jinja_title_filter);
JINJA_FN(jinja_title_method);
JINJA_FN(jinja_is_upper);
JINJA_FN(jinja_is_lower);
JINJA_FN(jinja_tojson);
JINJA_FN(jinja_strftime_now);
JINJA_FN(jinja_map);
JINJA_FN(jinja_select);
JINJA_FN(jinja_reject);
JINJA_FN(jinja_selectattr);
JINJA_FN(jinja_rejectattr);
JINJA_FN(jinja_sort_filter);
JINJA_FN(jinja_dictsort);
JINJA_FN(jinja_unique);
JINJA_FN(jinja_min);
JINJA_FN(jinja_max);
JINJA_FN(jinja_sum);
JINJA_FN(jinja_batch);
JINJA_FN(jinja_join_filter);
JINJA_FN(jinja_filter_list);
JINJA_FN(jinja_replace);
/* Python's strip: both, left or right; characters (NULL: white space). */
enum { JINJA_LEFT = 1, JINJA_RIGHT = 2 };
rlx_status jinja_strip(jinja_run *r, const jinja_text *t, unsigned sides, const jinja_text *characters,
                       const jinja_text **out);
rlx_status jinja_replace_text(jinja_run *r, const jinja_text *t, const jinja_text *from, const jinja_text *to,
                              int64_t count, jinja_value *out);
/* An argument that must be an integer, or is absent. */
rlx_status jinja_int_argument(jinja_run *r, const char *what, const jinja_value *v, int64_t otherwise, int64_t *out);
rlx_status jinja_text_argument(jinja_run *r, const char *what, const jinja_value *v, const jinja_text **out);

#endif
