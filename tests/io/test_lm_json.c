/* JSON without a tree (io/file_cursor.h) against jansson: what one accepts the other accepts, and cursors find the
 * values that the tree has. Texts are written by hand, made at random, and changed at random from a seed that is
 * printed. */
#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"
#include "faults.h"
#include "io/file_json.h"
#include "test.h"

/* ---- A checked text against a tree ---- */

static rlx_bump pool;

static bool same_bytes(json_text text, const char *bytes, size_t n) {
  return text.n == n && (n == 0 || memcmp(text.v, bytes, n) == 0);
}

static bool same_value(json_text text, json_t *v);

static bool same_object(json_text text, json_t *v) {
  json_text key, value, name;
  size_t n = 0;
  for (json_cursor c = json_cursor_begin(text); json_cursor_member(&c, &key, &value); n++) {
    if (json_string_of(key, &pool, &name)) return false;
    const char *named = rlx_bump_text(&pool, name.v, name.n);
    json_t *found = named ? json_object_get(v, named) : NULL;
    if (!found || !same_value(value, found)) return false;
  }
  return n == json_object_size(v) && !json_cursor_element(&(json_cursor){0}, &value);
}

static bool same_list(json_text text, json_t *v) {
  json_text value;
  size_t n = 0;
  for (json_cursor c = json_cursor_begin(text); json_cursor_element(&c, &value); n++)
    if (!same_value(value, json_array_get(v, n))) return false;
  return n == json_array_size(v) && n == json_element_count(text);
}

static bool same_value(json_text text, json_t *v) {
  json_text string;
  int64_t i;
  double x;
  switch (json_typeof(v)) {
    case JSON_OBJECT: return json_begins(text, '{') && same_object(text, v);
    case JSON_ARRAY: return json_begins(text, '[') && same_list(text, v);
    case JSON_STRING:
      return json_begins(text, '"') && !json_string_of(text, &pool, &string) &&
             same_bytes(string, json_string_value(v), json_string_length(v)) &&
             json_string_is(text, json_string_value(v)) == (strlen(json_string_value(v)) == string.n);
    case JSON_INTEGER:
      return json_integer_of(text, &i) && i == json_integer_value(v) && json_number_of(text, &x) &&
             x >= json_number_value(v) && x <= json_number_value(v);
    case JSON_REAL:
      return !json_integer_of(text, &i) && json_number_of(text, &x) && x >= json_real_value(v) &&
             x <= json_real_value(v);
    case JSON_TRUE: return same_bytes(text, "true", 4);
    case JSON_FALSE: return same_bytes(text, "false", 5);
    default: return same_bytes(text, "null", 4);
  }
}

/* Whether both accept the text, or both refuse it; *accepted: which. */
static bool agrees(const char *bytes, size_t n, bool *accepted) {
  char *exact = calloc(n ? n : 1, 1); /* nothing may be read past its end */
  json_error_t e;
  if (!exact) return false;
  if (n) memcpy(exact, bytes, n);
  json_t *tree = json_loadb(exact, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
  rlx_status s = json_check((json_text){exact, n}, "text", 1 << 20, false);
  json_text text = {exact, n};
  while (text.n && strchr(" \n\t\r", *text.v)) text.v++, text.n--;
  bool ok = !tree == (s != RLX_OK) && (!tree || same_value(text, tree));
  if (!ok)
    printf("  <%.*s>: jansson %s, here %s\n", (int)n, exact, tree ? "accepts" : e.text,
           s ? rlx_message() : "it is accepted");
  *accepted = s == RLX_OK;
  json_decref(tree);
  rlx_bump_reset(&pool);
  free(exact);
  return ok;
}

/* ---- By hand ---- */

static const struct {
  const char *text;
  const char *part; /* of the message; NULL: accepted */
} cases[] = {
  {"{}", NULL},
  {"[]", NULL},
  {" [ ] ", NULL},
  {"\n{\t}\r\n", NULL},
  {"[[],{},[{}]]", NULL},
  {"{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1},{\"a\":2}]}", NULL},
  {"[0,-0,1,-1,9223372036854775807,-9223372036854775808,1.5,-2.5e3,1E-2,0.0,1e308]", NULL},
  {"[\"\",\"a\",\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\",\"\\u0000\"]", NULL},
  {"[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\",true,false,null]", NULL},
  {"", "line 1, column 1: expected '{' or '[', got the end"},
  {"  \n ", "line 2, column 2: expected '{' or '['"},
  {"1", "expected '{' or '['"},
  {"\"a\"", "expected '{' or '['"},
  {"nul", "expected '{' or '['"},
  {"[1,]", "expected a value, got byte 0x5d"},
  {"[,1]", "expected a value"},
  {"[1 2]", "expected ',' or ']'"},
  {"[1", "expected ',' or ']', got the end"},
  {"[", "expected a value, got the end"},
  {"[1]]", "nothing after the last"},
  {"[1}", "expected ',' or ']'"},
  {"{]", "expected a name in quotes"},
  {"{\"a\":1]", "expected ',' or '}'"},
  {"{\"a\"}", "expected ':'"},
  {"{\"a\" 1}", "expected ':'"},
  {"{\"a\":}", "expected a value"},
  {"{a:1}", "a name in quotes"},
  {"{\"a\":1,}", "expected a name in quotes, got byte 0x7d"},
  {"{,}", "a name in quotes"},
  {"[]x", "got byte 0x78"},
  {"[tru]", "expected a value"},
  {"[truex]", "expected ',' or ']'"},
  {"[True]", "expected a value"},
  {"[nan]", "expected a value"},
  {"[01]", "expected ',' or ']'"},
  {"[-]", "expected a value"},
  {"[+1]", "expected a value"},
  {"[1.]", "expected a digit"},
  {"[.5]", "expected a value"},
  {"[1e]", "expected a digit"},
  {"[1e+]", "expected a digit"},
  {"[0x1]", "expected ',' or ']'"},
  {"[9223372036854775808]", "an integer beyond 64 bits"},
  {"[-9223372036854775809]", "an integer beyond 64 bits"},
  {"[1e309]", "beyond the range"},
  {"[-1.5e400]", "beyond the range"},
  {"[\"a]", "line 1, column 2: a string without its closing quote"},
  {"[\"a\\\"]", "without its closing quote"},
  {"[\"\n\"]", "a control character"},
  {"[\"\x01\"]", "a control character"},
  {"[\"\\x\"]", "an invalid escape"},
  {"[\"\\u12\"]", "an invalid escape"},
  {"[\"\\u12g4\"]", "an invalid escape"},
  {"[\"\\ud83d\"]", "half of a surrogate pair"},
  {"[\"\\ude00\"]", "half of a surrogate pair"},
  {"[\"\\ud83d\\u0041\"]", "half of a surrogate pair"},
  {"[\"\\ud83dx\"]", "half of a surrogate pair"},
  {"[\"\\", "an invalid escape"},
  {"[\"\\u", "an invalid escape"},
  {"[\"\xff\"]", "invalid UTF-8"},
  {"[\"\xc3\"]", "invalid UTF-8"},
  {"[\"\xc0\x80\"]", "invalid UTF-8"},
  {"[\"\xed\xa0\x80\"]", "invalid UTF-8"},
  {"[\"\xf4\x90\x80\x80\"]", "invalid UTF-8"},
  {"[\"\xe2\x82", "invalid UTF-8"},
  {"{\"a\":1,\"a\":2}", "line 1, column 8: duplicate name"},
  {"{\"a\":1,\"\\u0061\":2}", "duplicate name"},
  {"{\"\xc3\xa9\":1,\"x\":0,\"\\u00E9\":2}", "duplicate name"},
  {"{\"\":1,\"\":2}", "duplicate name"},
  {"[{\"a\":{\"b\":1,\"b\":1}}]", "duplicate name"},
  {"{\"a\\u0000\":1}", "NUL in the name of a member"},
  {"{\"\xc3\xa9\xc3\xa9\":\n\"\xc3\xa9\" x}", "line 2, column 5: expected ',' or '}'"},
};

TEST(texts) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool accepted;
    if (!agrees(cases[i].text, strlen(cases[i].text), &accepted)) FAIL("case %zu", i);
    if (accepted != !cases[i].part) FAIL("<%s> is %s", cases[i].text, accepted ? "accepted" : "refused");
    rlx_status s = json_check((json_text){cases[i].text, strlen(cases[i].text)}, "x.json", 1 << 20, false);
    if (s &&
        (s != RLX_INVALID || !strstr(rlx_message(), cases[i].part) || strncmp(rlx_message(), "x.json: line ", 13) != 0))
      FAIL("<%s>: %s: %s, expected <%s>", cases[i].text, rlx_status_name(s), rlx_message(), cases[i].part);
  }
  rlx_bump_deinit(&pool);
}

/* jansson takes one after a number for a blank. */
TEST(a_raw_nul_is_refused) {
  CHECK_FAILS(json_check((json_text){"[\"a\0b\"]", 7}, "x", 9, false), RLX_INVALID, "a control character");
  CHECK_FAILS(json_check((json_text){"[1\0]", 4}, "x", 9, false), RLX_INVALID, "got byte 0x00");
  CHECK_FAILS(json_check((json_text){"[]\0", 3}, "x", 9, false), RLX_INVALID, "got byte 0x00");
}

TEST(limits) {
  rlx_str s = {0};
  for (int i = 0; i < 1024; i++) rlx_str_add(&s, "[");
  for (int i = 0; i < 1024; i++) rlx_str_add(&s, "]");
  CHECK_OK(json_check((json_text){s.v, s.n}, "x", 1 << 20, false));
  s.n = 0;
  for (int i = 0; i < 1025; i++) rlx_str_add(&s, "[");
  CHECK_FAILS(json_check((json_text){s.v, s.n}, "x", 1 << 20, false), RLX_LIMIT, "nested 1025 deep, the limit is 1024");
  rlx_str_deinit(&s);
  CHECK_OK(json_check((json_text){"[1,2,3]", 7}, "x", 4, false));
  CHECK_FAILS(json_check((json_text){"[1,2,3]", 7}, "x", 3, false), RLX_LIMIT, "4 JSON values, the limit is 3");
  CHECK_OK(json_check((json_text){"[9223372036854775808]", 21}, "x", 9, true));
}

/* ---- At random ---- */

static uint64_t state;
static uint32_t draw(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

static void add_blank(rlx_str *s) {
  static const char *const blanks[] = {"", "", "", " ", "\n", "\t ", "\r\n"};
  rlx_str_add(s, "%s", blanks[draw(7)]);
}

static void add_string(rlx_str *s) {
  static const char *const parts[] = {
    "a", "b", "\\n", "\\u0061", "\xc3\xa9", "\\u00e9", "\\\\", "\\\"", "\\ud83d\\ude00", "/", "\xf0\x9f\x98\x80",
    ",", "[", "}",   ":",       "\\u0000",  "\\u20AC"};
  rlx_str_add(s, "\"");
  for (uint32_t n = draw(4); n > 0; n--) rlx_str_add(s, "%s", parts[draw(sizeof parts / sizeof *parts)]);
  rlx_str_add(s, "\"");
}

static void add_value(rlx_str *s, int depth) {
  static const char *const scalars[] = {"0", "-1", "12345678901", "1.25", "-3e-2", "true", "false", "null", "0.1"};
  bool is_object = draw(2);
  add_blank(s);
  if (depth < 5 && draw(depth ? 3 : 1) == 0) {
    rlx_str_add(s, is_object ? "{" : "[");
    add_blank(s);
    for (uint32_t i = 0, n = draw(7); i < n; i++) {
      if (i) rlx_str_add(s, ",");
      if (is_object) add_blank(s), add_string(s), add_blank(s), rlx_str_add(s, ":");
      add_value(s, depth + 1);
    }
    rlx_str_add(s, is_object ? "}" : "]");
  } else if (draw(2)) {
    add_string(s);
  } else {
    rlx_str_add(s, "%s", scalars[draw(sizeof scalars / sizeof *scalars)]);
  }
  add_blank(s);
}

/* Bytes replaced, removed, copied. */
static void change(rlx_str *s) {
  static const char bytes[] = "{}[]\",:\\ue0123456789-+.Eantrfls \n\x01\x80\xc3\xff";
  if (!s->n) return;
  size_t at = draw((uint32_t)s->n);
  switch (draw(4)) {
    case 0: s->v[at] = bytes[draw(sizeof bytes - 1)]; break;
    case 1: memmove(s->v + at, s->v + at + 1, s->n - at), s->n--; break;
    case 2: s->v[at] = s->v[draw((uint32_t)s->n)]; break;
    default: s->n = at; break;
  }
}

TEST(random_texts_as_jansson_reads_them) {
  const char *given = getenv("RLX_TEST_SEED");
  const int times = getenv("RLX_SOAK") ? 2000000 : TEST_IS_SANITIZED ? 20000 : 100000;
  const uint64_t seed = given ? strtoull(given, NULL, 10) : rlx_now_ns();
  size_t n_accepted = 0;
  state = seed;
  for (int i = 0; i < times; i++) {
    rlx_str s = {0};
    bool accepted;
    add_value(&s, 0);
    for (uint32_t n = draw(3); n > 0; n--) change(&s);
    CHECK(!s.failed);
    bool ok = agrees(s.v, s.n, &accepted);
    rlx_str_deinit(&s);
    n_accepted += accepted;
    if (!ok) FAIL("text %d of RLX_TEST_SEED=%llu", i, (unsigned long long)seed);
  }
  CHECK(n_accepted > (size_t)times / 10 && n_accepted < (size_t)times / 10 * 9);
  rlx_bump_deinit(&pool);
}

/* ---- Memory that fails ---- */

static rlx_status check_and_read(void *user) {
  json_text text = {user, strlen(user)}, key, value, string;
  rlx_bump own = {0};
  rlx_status s = json_check(text, "x", 100, false);
  for (json_cursor c = json_cursor_begin(text); !s && json_cursor_member(&c, &key, &value);)
    s = json_string_of(key, &own, &string);
  rlx_bump_deinit(&own);
  return s;
}

TEST(failing_allocations) {
  CHECK_OK(alloc_sweep(check_and_read, (void *)"{\"a\\n\":1,\"b\":[{\"c\":2}],\"\\u0061\":3}"));
}
