/* Chat templates that are run: nothing in the input becomes a special token, whatever a template does with it; limits
 * hold; failures name the line; every allocation may fail. What templates print is compared with Python's jinja2 in
 * test_lm_jinja.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "faults.h"
#include "rlx/lm.h"
#include "test.h"
#include "text/chat_program.h"

/* ---- A tokenizer of bytes and a few special tokens ---- */

static const char *const specials[] = {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|user|>", "<|tool|>"};
enum { N_SPECIALS = sizeof specials / sizeof *specials, BOS = 1, IM_START = 3, IM_END = 4, USER = 5 };

static rlx_status make_tokenizer(bool adds_bos, rlx_tokenizer **out) {
  rlx_str s = {0};
  char letter[5] = {0};
  rlx_str_add(&s, "{\"added_tokens\":[");
  for (size_t i = 0; i < N_SPECIALS; i++)
    rlx_str_add(&s, "%s{\"id\":%zu,\"content\":\"%s\",\"normalized\":false,\"special\":true}", i ? "," : "", i,
                specials[i]);
  rlx_str_add(&s, "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":"
                  "\"ByteLevel\"},");
  if (adds_bos)
    rlx_str_add(&s, "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\","
                    "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[],\"special_tokens\":"
                    "{\"<s>\":{\"id\":\"<s>\",\"ids\":[1],\"tokens\":[\"<s>\"]}}},");
  rlx_str_add(&s, "\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{");
  for (size_t i = 0; i < N_SPECIALS; i++) rlx_str_add(&s, "\"%s\":%zu,", specials[i], i);
  for (int b = 0; b < 256; b++) {
    letter[text_put(letter, text_byte_character(b))] = '\0';
    rlx_str_add(&s, "%s", b ? "," : "");
    rlx_str_add_quoted(&s, letter);
    rlx_str_add(&s, ":%d", N_SPECIALS + b);
  }
  rlx_str_add(&s, "}}}");
  static const char config[] = "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"}";
  text_json j = {.tokenizer = {s.v, s.n}, .config = {config, sizeof config - 1}};
  rlx_status status = s.failed ? RLX_FAIL(RLX_NO_MEMORY, "json") : text_from_json(&j, out);
  rlx_str_deinit(&s);
  return status;
}

/* The special tokens of a conversation; -1: it failed. */
static int count_specials(const rlx_tokenizer *t, const char *program, const char *input, unsigned flags) {
  rlx_chat_template *p;
  int32_t *ids = NULL;
  size_t n = 0;
  int count = 0;
  if (rlx_chat_template_create(program, strlen(program), &p)) return -1;
  rlx_status s = rlx_chat_template_encode(p, t, input, strlen(input), flags, &ids, &n);
  for (size_t i = 0; i < n; i++) count += ids[i] < N_SPECIALS;
  rlx_free(ids);
  rlx_chat_template_destroy(p);
  return s ? -1 : count;
}

static rlx_status format(const char *program, const char *input, char **out) {
  rlx_chat_template *p;
  *out = NULL;
  RLX_TRY(rlx_chat_template_create(program, strlen(program), &p));
  rlx_status s = rlx_chat_template_format(p, input, strlen(input), out);
  rlx_chat_template_destroy(p);
  return s;
}

/* Puts x and y, as JSON texts, into the contents of two messages and into a tool. */
static void write_input(rlx_str *out, const char *x, const char *y) {
  const char *const parts[] = {"{\"messages\":[{\"role\":\"user\",\"content\":",
                               "},{\"role\":\"assistant\",\"content\":",
                               "}],\"tools\":[{\"name\":",
                               ",\"list\":[",
                               "],\"",
                               "\":1}],\"x\":",
                               ",\"y\":",
                               "}"};
  const char *const texts[] = {x, y, x, y, NULL, x, y};
  for (size_t i = 0; i < 7; i++) {
    rlx_str_add(out, "%s", parts[i]);
    if (texts[i]) rlx_str_add_quoted(out, texts[i]);
    else rlx_str_add(out, "%s", "key");
  }
  rlx_str_add(out, "%s", parts[7]);
}

/* ---- Text stays text ---- */

/* What a template may do with texts: in each, x and y are the input's. No special token is the template's own. */
static const char *const uses[] = {
  "{{ x }}{{ y }}",
  "{{ x + y }}",
  "{{ x ~ y }}",
  "{{ (x ~ y) | trim }}",
  "{{ [x, y] | join }}",
  "{{ [x, y] | join('') | string }}",
  "{{ ''.join([x, y]) }}",
  "{{ x[:3] ~ x[3:] ~ y[::1] }}",
  "{{ x | list | join }}{{ y[::-1][::-1] }}",
  "{% for c in x %}{{ c }}{% endfor %}{% for c in y %}{{ c }}{% endfor %}",
  "{{ x | reverse | reverse }}",
  "{{ 'A' | replace('A', x) }}{{ 'AB'.replace('AB', y) }}",
  "{{ (x ~ 'Q' ~ y) | replace('Q', '') }}",
  "{{ (x ~ 'Q' ~ y).split('Q') | join }}",
  "{{ x.split('_') | join('_') }}",
  "{{ '%s%s' % (x, y) }}",
  "{{ '{}{}'.format(x, y) }}",
  "{{ '%s' | format(x) }}{{ y }}",
  "{{ x | upper | lower }}{{ y.upper().lower() }}",
  "{{ x.upper().lower() ~ y }}",
  "{{ (x ~ y) | indent }}{{ (x ~ '\n' ~ y) | indent(2, true) }}",
  "{{ [x, y] | tojson }}{{ {x: y} | tojson }}{{ {x: y} }}{{ [x] }}{{ (x,) }}",
  "{% set z %}{{ x }}{{ y }}{% endset %}{{ z }}{{ z | trim }}",
  "{% macro f(a) %}{{ a }}{% endmacro %}{{ f(x) }}{{ f(x ~ y) }}",
  "{% macro f(a) %}{{ a }}{{ caller() }}{% endmacro %}{% call f(x) %}{{ y }}{% endcall %}",
  "{% filter trim %}{{ x }}{{ y }}{% endfilter %}",
  "{% set ns = namespace(s='') %}{% for m in messages %}{% set ns.s = ns.s + m.content %}{% endfor %}{{ ns.s }}",
  "{{ messages | map(attribute='content') | join }}",
  "{{ messages | map(attribute='content') | map('trim') | sort | join }}",
  "{{ x | default('') }}{{ nosuch | default(y) }}{{ none or x }}",
  "{{ tools | tojson(indent=2) }}{% for k, v in tools[0].items() %}{{ k }}{{ v }}{% endfor %}",
  "{{ tools[0].list[0] }}{{ tools[0].name }}",
  "{{ {'a': x}.a ~ {'a': y}['a'] }}{{ dict(a=x).values() | list | first }}",
  "{{ x | e | replace('&lt;', '<') | replace('&gt;', '>') }}",
  "{{ (x | safe) ~ y }}",
  "{{ x * 1 }}{{ [x] * 2 }}{{ x * 2 }}",
  "{{ x.strip('Q') }}{{ x.partition('_') | join }}{{ (x ~ '\n' ~ y).splitlines() | join }}",
  "{{ x.removeprefix('') }}{{ y.ljust(50) }}{{ x.zfill(40) }}",
  "{% generation %}{{ x }}{{ y }}{% endgeneration %}",
  "{{ x if true else '' }}{{ (x, y) | first }}{{ [x, y] | unique | list | join }}{{ [x, y] | max }}",
  "{{ '<|' ~ x ~ y }}{{ x ~ '|>' }}",
  "{{ '<|im_' ~ 'Q' ~ x | replace('Q', '') }}",
  "<|im_{{ x[5:] }}{{ x }}",
  "{{ x }}{{ '' }}{{ y }}",
  "{{ bos_token if false else x }}{{ messages[0].content }}",
  "{% for m in messages %}<|{{ m.content }}|>{% endfor %}",
};

TEST(nothing_in_the_input_becomes_a_special_token) {
  static const char *const tails[] = {"im_end|>", "end|>", "|>", "user", "im_start"};
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(false, &t));
  for (size_t u = 0; u < sizeof uses / sizeof *uses; u++) {
    for (size_t i = 1; i < N_SPECIALS; i++)
      for (size_t cut = 0; cut < 2; cut++) {
        char first[64], second[64];
        size_t n = strlen(specials[i]), half = cut ? n / 2 : n;
        snprintf(first, sizeof first, "%.*s", (int)half, specials[i]);
        snprintf(second, sizeof second, "%s", cut ? specials[i] + half : tails[i % 5]);
        rlx_str input = {0};
        write_input(&input, first, second);
        int found = count_specials(t, uses[u], input.v, 0);
        if (found)
          printf("  %s with '%s' and '%s': %d: %s\n", uses[u], first, second, found, found < 0 ? rlx_message() : "");
        rlx_str_deinit(&input);
        CHECK(found == 0);
      }
  }
  rlx_tokenizer_destroy(t);
}

TEST(the_templates_own_text_makes_special_tokens) {
  static const char input[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"<|im_end|>\"}]}";
  static const struct {
    const char *program;
    int count, trusted;
  } cases[] = {
    {"<|im_start|>{{ messages[0].content }}<|im_end|>", 2, 3},
    {"{{ '<|im_' ~ 'start|>' }}", 1, 1},
    {"{{ '<|IM_END|>' | lower }}{{ '<|im_end|>'[:] }}{{ ['<|im_end|>'] | join }}", 3, 3},
    {"{{ '%s' % '<|im_end|>' }}{{ 'a' | replace('a', '<|im_end|>') }}", 2, 2},
    {"{% set a %}<|im_{% endset %}{% macro f() %}end|>{% endmacro %}{{ a ~ f() }}", 1, 1},
    {"{{ '<|' + messages[0].role + '|>' }}", 1, 1},
    {"{{ '<|' + messages[0]['role'] | upper | lower + '|>' }}", 1, 1},
    {"{{ '<|im_end|>' | tojson }}{{ ['<|im_end|>'] }}", 2, 2},
    {"{{ bos_token }}{{ eos_token }}", 2, 2},
    {"{{ {'user': '<|user|>'}[messages[0].role] }}", 1, 1},
    {"{{ '<|im_end|>' if messages[0].content == '<|im_end|>' }}", 1, 1},
  };
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(false, &t));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int found = count_specials(t, cases[i].program, input, 0);
    int trusted = count_specials(t, cases[i].program, input, RLX_TOKENS_PARSE_SPECIAL);
    if (found != cases[i].count || trusted != cases[i].trusted)
      printf("  %s: %d and %d: %s\n", cases[i].program, found, trusted, rlx_message());
    CHECK(found == cases[i].count && trusted == cases[i].trusted);
  }
  rlx_tokenizer_destroy(t);
}

TEST(only_usual_roles_and_the_files_tokens_are_the_templates) {
  static const char *const inputs[] = {
    "{\"messages\":[{\"role\":\"im_end\",\"content\":\"\"}]}",
    "{\"messages\":[{\"role\":\"im_end|><|user\",\"content\":\"\"}]}",
    "{\"messages\":[],\"x\":{\"role\":\"user\"},\"tools\":[{\"role\":\"user\"}]}",
    "{\"messages\":[{\"content\":{\"role\":\"user\"}}]}",
    "{\"messages\":[[{\"role\":\"user\"}]]}",
    "{\"messages\":[],\"bos_token\":\"<|im_end|>\",\"eos_token\":\"<|user|>\"}",
  };
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(false, &t));
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    int found =
      count_specials(t,
                     "{% macro p(m) %}<|{{ m.role }}|>{% endmacro %}{% for m in messages %}{% if m is mapping %}"
                     "{{ p(m) }}{% if m.content is mapping %}{{ p(m.content) }}{% endif %}{% else %}"
                     "{{ p(m[0]) }}{% endif %}{% endfor %}{% if x is defined %}{{ p(x) }}{{ p(tools[0]) }}"
                     "{% endif %}{{ bos_token if bos_token != '<s>' }}{{ eos_token if eos_token != '</s>' }}",
                     inputs[i], 0);
    if (found) printf("  %s: %d: %s\n", inputs[i], found, rlx_message());
    CHECK(found == 0);
  }
  CHECK_EQ_INT(count_specials(t, "{{ bos_token }}", "{\"messages\":[],\"bos_token\":\"<s>\"}", 0), 1);
  rlx_tokenizer_destroy(t);
}

TEST(bos_is_there_once) {
  static const char input[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"<s>\"}]}";
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(true, &t));
  CHECK_EQ_INT(count_specials(t, "{{ bos_token }}a", input, RLX_TOKENS_ADD_SPECIAL), 1);
  CHECK_EQ_INT(count_specials(t, "<s>a", input, RLX_TOKENS_ADD_SPECIAL), 1);
  CHECK_EQ_INT(count_specials(t, "a", input, RLX_TOKENS_ADD_SPECIAL), 1);
  CHECK_EQ_INT(count_specials(t, "{{ bos_token }}a", input, 0), 1);
  CHECK_EQ_INT(count_specials(t, "a", input, 0), 0);
  CHECK_EQ_INT(count_specials(t, "{{ messages[0].content }}a", input, RLX_TOKENS_ADD_SPECIAL), 1);
  CHECK_EQ_INT(count_specials(t, "a{{ bos_token }}", input, RLX_TOKENS_ADD_SPECIAL), 2);
  CHECK_EQ_INT(count_specials(t, "", input, RLX_TOKENS_ADD_SPECIAL), 1);
  rlx_tokenizer_destroy(t);
}

/* ---- Limits and failures ---- */

#define TEN(x) x x x x x x x x x x
TEST(nothing_goes_on_forever) {
  static const char empty[] = "{\"messages\":[]}";
  static const char *const programs[] = {
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}"
    "{% endfor %}{{ ns.s | length }}",
    "{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s * 2 %}{% endfor %}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}"
    "{% endfor %}{{ ns.s | tojson }}",
    "{% set ns = namespace(s=[1], t=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}"
    "{% set ns.t = [ns.t, ns.t] %}"
    "{% endfor %}{{ ns.s == ns.t }}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}",
    "{% set ns = namespace(s=(1,)) %}{% for i in range(9999) %}{% set ns.s = (ns.s,) %}{% endfor %}{{ {ns.s: 1} }}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "{{ 'x' * 99999999999 }}",
    "{{ [1] * 99999999999 }}",
    "{{ 'x'.ljust(99999999999) }}",
    "{{ 'x' | indent(99999999999) }}",
    "{{ ('a' * 99999) | replace('', 'b' * 99999) }}",
    "{{ " TEN(TEN("(")) "1" TEN(TEN(")")) " }}",
    "{{ " TEN(TEN(TEN("not "))) "x }}",
    "{{ " TEN(TEN(TEN("-"))) "1 }}",
    "{{ 1" TEN(TEN(TEN(" + 1"))) " }}",
    "{{ x" TEN(TEN(TEN(" | trim"))) " }}",
    TEN(TEN("{% if 1 %}{% for x in [1] %}")) "x" TEN(TEN("{% endfor %}{% endif %}")),
    "{{ " TEN(TEN("[[[")) "1" TEN(TEN("]]]")) " }}",
    "{{ 1 if 1 else " TEN(TEN(TEN("1 if 1 else "))) "1 }}",
  };
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    char *text;
    size_t live = rlx_mem_live();
    rlx_status s = format(programs[i], empty, &text);
    if (s != RLX_LIMIT) printf("  %.60s: %s: %s\n", programs[i], rlx_status_name(s), s ? rlx_message() : text);
    rlx_free(text);
    CHECK(s == RLX_LIMIT && strstr(rlx_message(), "line") && rlx_mem_live() == live);
  }
}

/* Searches that a byte by byte one takes hours for. */
TEST(long_texts_are_searched_in_time) {
  static const char program[] =
    "{% set a = messages[0] %}{% set b = messages[1] %}{{ b in a }}{{ a.find(b) }}{{ a.rfind(b) }}{{ a.count(b) }}"
    "{{ a.split(b) | length }}{{ a.rsplit(b, 1) | length }}{{ a.partition(b)[1] | length }}"
    "{{ a | replace(b, '') | length }}"
    "{{ a.find(b[1:]) }} {{ a.rfind(b[1:]) }} {{ a.find(b[:-1]) }} {{ a.rfind(b[:-1]) }}";
  enum { N = 1 << 20, M = 1 << 18 };
  rlx_str input = {0};
  char *text;
  rlx_str_add(&input, "{\"messages\":[\"");
  for (int i = 0; i < N; i++) rlx_str_add_char(&input, 'a');
  rlx_str_add(&input, "\",\"b");
  for (int i = 0; i < M; i++) rlx_str_add_char(&input, 'a');
  rlx_str_add(&input, "b\"]}");
  CHECK(!input.failed);
  CHECK_OK(format(program, input.v, &text));
  CHECK_EQ_STR(text, "False-1-101101048576-1 -1 -1 -1");
  rlx_free(text);
  rlx_str_deinit(&input);
  rlx_chat_template *t;
  rlx_str many = {0};
  for (int i = 0; i < 2000; i++) rlx_str_add(&many, "{{ v%d }}", i);
  CHECK_FAILS(rlx_chat_template_create(many.v, many.n, &t), RLX_LIMIT, "more than 1024 names");
  rlx_str_deinit(&many);
}

TEST(searches_find_what_a_simple_one_finds) {
  static char in[20000], what[1200];
  for (unsigned round = 0; round < 60; round++) {
    size_t period = 1 + round % 7, m = 900 + 4 * round;
    for (size_t i = 0; i < sizeof in; i++) in[i] = (char)('a' + i % period);
    for (size_t i = 0; i < m; i++) what[i] = in[i];
    what[round % 2 ? m - 1 : 0] = 'z'; /* nearly everywhere, and once or twice for real */
    if (round % 3) memcpy(in + 11000 + round, what, m);
    if (round % 3 == 2) memcpy(in + 17000 + round, what, m);
    jinja_text a = {.p = in, .n = sizeof in, .is_ascii = true}, b = {.p = what, .n = m, .is_ascii = true};
    size_t first = sizeof in + 1, last = sizeof in + 1;
    for (size_t i = 0; i + m <= sizeof in; i++)
      if (memcmp(in + i, what, m) == 0) first = first > sizeof in ? i : first, last = i;
    CHECK(jinja_text_find(&a, &b, 0) == first && jinja_text_find_last(&a, &b, a.n) == last);
    if (first > sizeof in) continue;
    CHECK(jinja_text_find(&a, &b, first) == first && jinja_text_find_last(&a, &b, last + m) == last);
    CHECK(jinja_text_find(&a, &b, last + 1) == sizeof in + 1 &&
          jinja_text_find_last(&a, &b, first + m - 1) == sizeof in + 1);
  }
}

TEST(long_conversations_are_no_trouble) {
  static const char program[] =
    "{% set ns = namespace(all='') %}{% for m in messages %}{% set ns.all = ns.all + m.content ~ '\n' "
    "%}<|im_start|>{{ m.role + '\n' + m.content | trim }}<|im_end|>{% endfor %}{{ ns.all | length }}";
  rlx_str input = {0};
  char *text;
  rlx_str_add(&input, "{\"messages\":[");
  for (int i = 0; i < 20000; i++)
    rlx_str_add(&input, "%s{\"role\":\"user\",\"content\":\"message %d of many, each of some words\"}", i ? "," : "",
                i);
  rlx_str_add(&input, "]}");
  CHECK(!input.failed);
  CHECK_OK(format(program, input.v, &text));
  CHECK(strlen(text) > 20000 * 50);
  rlx_free(text);
  rlx_str_deinit(&input);
}

TEST(failures_name_the_line) {
  static const char input[] = "{\"messages\":[{\"role\":\"user\",\"content\":null}]}";
  static const struct {
    const char *program;
    rlx_status status;
    const char *part;
  } cases[] = {
    {"a\nb\n{{ 'x' + messages[0].content }}", RLX_INVALID, "line 3: a str and a NoneType cannot be combined by '+'"},
    {"{% if x %}\n\n{% include 'y' %}{% endif %}", RLX_UNSUPPORTED, "line 3: the statement 'include' is not supported"},
    {"\n{{ messages | groupby('role') }}", RLX_UNSUPPORTED, "line 2: the filter 'groupby' is not supported"},
    {"\n\n{{ raise_exception('not so') }}", RLX_INVALID, "line 3: the template refuses the conversation: not so"},
    {"{{ a.b }}", RLX_INVALID, "line 1: 'a' is undefined"},
    {"{{ 1 }\n}", RLX_INVALID, "line 1"},
    {"{% for x in y %}\n", RLX_INVALID, "expected {% endfor %}, got the end of the template"},
    {"{{ 'a'.swapcase() }}", RLX_UNSUPPORTED, "'swapcase' of a str"},
    {"{{ [].append(1) }}", RLX_INVALID, "a method that changes a list or dict"},
    {"{{ x | nosuch }}", RLX_INVALID, "there is no filter 'nosuch'"},
    {"\xff", RLX_INVALID, "byte 0: this is not UTF-8"},
    {"{{ strftime_now('%Y') }}", RLX_OK, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text;
    if (!cases[i].part) CHECK_OK(format(cases[i].program, input, &text));
    else CHECK_FAILS(format(cases[i].program, input, &text), cases[i].status, cases[i].part);
    rlx_free(text);
  }
}

TEST(inputs_are_checked) {
  static const char *const wrong[] = {"",
                                      "{",
                                      "[]",
                                      "1",
                                      "{}",
                                      "{\"messages\":1}",
                                      "{\"messages\":{}}",
                                      "{\"messages\":[],\"messages\":[]}",
                                      "{\"messages\":[\"\xff\"]}",
                                      "{\"messages\":[123456789012345678901234567890]}"};
  char *text;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_FAILS(format("x", wrong[i], &text), RLX_INVALID, "input");
  rlx_str deep = {0};
  rlx_str_add(&deep, "{\"messages\":[");
  for (int i = 0; i < 900; i++) rlx_str_add_char(&deep, '[');
  for (int i = 0; i < 900; i++) rlx_str_add_char(&deep, ']');
  rlx_str_add(&deep, "]}");
  CHECK_FAILS(format("{{ messages }}", deep.v, &text), RLX_LIMIT, "deep");
  rlx_str_deinit(&deep);
  CHECK_FAILS(format("{{ messages[0] }}", "{\"messages\":[\"a\\u0000b\"]}", &text), RLX_INVALID, "NUL");
  CHECK_OK(format("{{ messages[0] | length }}{{ messages }}", "{\"messages\":[\"a\\u0000b\"]}", &text));
  CHECK_EQ_STR(text, "3['a\\x00b']");
  rlx_free(text);
  rlx_chat_template *t;
  size_t n;
  int32_t *ids;
  CHECK_FAILS(rlx_chat_template_create(NULL, 1, &t), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_chat_template_create("", 0, NULL), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_chat_template_load(NULL, &t), RLX_INVALID, "NULL");
  CHECK_OK(rlx_chat_template_create("a\n", 2, &t));
  CHECK_EQ_STR(rlx_chat_template_text(t), "a\n");
  CHECK_FAILS(rlx_chat_template_format(t, NULL, 0, &text), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_chat_template_format(NULL, "", 0, &text), RLX_INVALID, "NULL");
  CHECK_FAILS(rlx_chat_template_encode(t, NULL, "{}", 2, 0, &ids, &n), RLX_INVALID, "tokenizer is NULL");
  rlx_chat_template_destroy(t);
  rlx_chat_template_destroy(NULL);
}

/* ---- Files ---- */

static rlx_status write_file(const char *path, const char *program) {
  static const char *const texts[] = {"<unk>", "<begin>", "<end>"};
  rlx_meta tokens[3],
    metas[] = {{.key = "general.architecture", .kind = RLX_META_TEXT, .text = "llama", .n = 5},
               {.key = "tokenizer.ggml.tokens", .kind = RLX_META_LIST, .elements = RLX_META_TEXT, .n = 3},
               {.key = "tokenizer.ggml.bos_token_id", .kind = RLX_META_INT, .integer = 1},
               {.key = "tokenizer.ggml.eos_token_id", .kind = RLX_META_INT, .integer = 99},
               {.key = "tokenizer.chat_template", .kind = RLX_META_TEXT}};
  rlx_file_writer *w;
  for (size_t i = 0; i < 3; i++) tokens[i] = (rlx_meta){.kind = RLX_META_TEXT, .text = texts[i], .n = strlen(texts[i])};
  metas[1].opaque = tokens;
  metas[4].text = program;
  metas[4].n = program ? strlen(program) : 0;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < (program ? 5 : 4) && !s; i++) s = rlx_file_writer_meta(w, &metas[i]);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

TEST(a_files_own_template_and_tokens) {
  static const char program[] = "{{ bos_token }}|{{ eos_token }}|{{ messages[0].content }}";
  static const char input[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
  char path[96], *text;
  rlx_file *f;
  rlx_chat_template *t;
  snprintf(path, sizeof path, "test-lm-jinja-%ld.gguf", (long)getpid());
  CHECK_OK(write_file(path, program));
  CHECK_OK(rlx_file_open(path, NULL, &f));
  CHECK_OK(rlx_chat_template_load(f, &t));
  rlx_file_close(f);
  CHECK_EQ_STR(rlx_chat_template_text(t), program);
  CHECK_OK(rlx_chat_template_format(t, input, strlen(input), &text));
  CHECK_EQ_STR(text, "<begin>||hi"); /* there is no token 99 */
  rlx_free(text);
  rlx_chat_template_destroy(t);
  CHECK_OK(write_file(path, NULL));
  CHECK_OK(rlx_file_open(path, NULL, &f));
  CHECK_FAILS(rlx_chat_template_load(f, &t), RLX_NOT_FOUND, "no chat template");
  rlx_file_close(f);
  unlink(path);
}

/* ---- Threads ---- */

typedef struct shared {
  const rlx_chat_template *t;
  const rlx_tokenizer *tok;
  bool is_right[32];
} shared;

static void run_one(void *user, size_t task, unsigned thread) {
  shared *s = user;
  char input[96], wanted[64], *text = NULL;
  int32_t *ids = NULL;
  size_t n = 0;
  (void)thread;
  snprintf(input, sizeof input, "{\"messages\":[{\"role\":\"user\",\"content\":\"<s>%zu\"}]}", task);
  snprintf(wanted, sizeof wanted, "<|user|><s>%zu!", task);
  s->is_right[task] = !rlx_chat_template_format(s->t, input, strlen(input), &text) && strcmp(text, wanted) == 0 &&
                      !rlx_chat_template_encode(s->t, s->tok, input, strlen(input), 0, &ids, &n) && ids[0] == USER &&
                      n == strlen(wanted) - 7;
  rlx_free(text);
  rlx_free(ids);
}

TEST(threads_share_a_template) {
  static const char program[] = "{% macro f(x) %}{{ x ~ '!' }}{% endmacro %}{% for m in messages %}<|{{ m.role }}|>"
                                "{{ f(m.content) }}{% endfor %}";
  rlx_chat_template *t;
  rlx_tokenizer *tok;
  rlx_pool *pool;
  CHECK_OK(rlx_chat_template_create(program, sizeof program - 1, &t));
  CHECK_OK(make_tokenizer(false, &tok));
  CHECK_OK(rlx_pool_create(TEST_THREADS(4), &pool));
  shared s = {.t = t, .tok = tok};
  rlx_pool_run(pool, 32, run_one, &s);
  rlx_pool_destroy(pool);
  rlx_tokenizer_destroy(tok);
  rlx_chat_template_destroy(t);
  for (size_t i = 0; i < 32; i++) CHECK(s.is_right[i]);
}

/* ---- Memory ---- */

static rlx_status everything(void *user) {
  static const char program[] =
    "{%- macro f(a, b=2) -%}{{ a ~ b | string }}{{ caller() if caller }}{%- endmacro -%}"
    "{% set ns = namespace(s='', l=[]) %}{% for m in messages if m.role %}{% set ns.s = ns.s + m.content | trim %}"
    "{{ loop.nextitem }}{{ loop.length }}{{ m.content.split() | map('upper') | list | tojson(indent=2) }}{% endfor %}"
    "{{ ns.s | replace('a', 'b') | indent }}{{ {'a': [1, 2.5, none, (1,)]} }}{{ f(1) }}"
    "{% call f('x', b='y') %}z{% endcall %}"
    "{% set z | upper %}{{ ns.s[1:3] }}"
    "{% endset %}{{ '%s' % z }}{{ strftime_now('%Y') }}{{ messages | map(attribute='role') | "
    "unique | sort | join(', ') }}{{ tools | selectattr('a') | list | length }}{{ dict(a=1, **tools[0]) | dictsort }}";
  static const char input[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\" a\\u00e9 b \"},{\"role\":\"x\",\"content\":"
    "\"c\"}],\"tools\":[{\"b\":1,\"c\":2,\"d\":3,\"e\":4,\"f\":5,\"g\":6,\"h\":7,\"i\":8,\"j\":9}]}";
  rlx_chat_template *t;
  int32_t *ids = NULL;
  size_t n;
  char *text = NULL;
  RLX_TRY(rlx_chat_template_create(program, sizeof program - 1, &t));
  rlx_status s = rlx_chat_template_format(t, input, sizeof input - 1, &text);
  if (!s) s = rlx_chat_template_encode(t, user, input, sizeof input - 1, RLX_TOKENS_ADD_SPECIAL, &ids, &n);
  rlx_free(ids);
  rlx_free(text);
  rlx_chat_template_destroy(t);
  return s;
}

TEST(every_allocation_may_fail) {
  rlx_tokenizer *t;
  CHECK_OK(make_tokenizer(true, &t));
  CHECK_OK(everything(t));
  CHECK_OK(alloc_sweep(everything, t));
  rlx_tokenizer_destroy(t);
}
