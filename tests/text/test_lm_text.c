/* Text stays text: user text becomes no special token, with any tokenizer and chat template; ordinary text keeps its
 * tokens; invalid UTF-8 becomes byte tokens or U+FFFD. */
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rlx/lm.h"
#include "test.h"
#include "text/text.h"

/* What the templates have for markers, and what ends a text. */
static const char *const specials[] = {
  "<unk>",
  "<s>",
  "</s>",
  "<|im_start|>",
  "<|im_end|>",
  "<|im_sep|>",
  "[INST]",
  "[/INST]",
  "[SYSTEM_PROMPT]",
  "[/SYSTEM_PROMPT]",
  "<|system|>",
  "<|user|>",
  "<|assistant|>",
  "<|end|>",
  "<|endoftext|>",
  "<start_of_turn>",
  "<end_of_turn>",
  "<|start_header_id|>",
  "<|end_header_id|>",
  "<|eot_id|>",
  "<|header_start|>",
  "<|header_end|>",
  "<|eot|>",
  "<|START_OF_TURN_TOKEN|>",
  "<|END_OF_TURN_TOKEN|>",
  "<|USER_TOKEN|>",
  "<|CHATBOT_TOKEN|>",
  "<|SYSTEM_TOKEN|>",
  "<\xef\xbd\x9cUser\xef\xbd\x9c>",
  "<|EOT|>",
  "<|end_of_turn|>",
  "[|system|]",
  "[|endofturn|]",
  "<AI>",
  "<think>",
};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

/* ---- Tokenizers of each kind --------------------------------------------------------------------------------- */

typedef enum kind { BYTES, BYTES_ADDED, SPM, SPM_NO_BYTES, OLD_LLAMA, UNIGRAM, WORDPIECE, N_KINDS } kind;

static void add_specials(rlx_str *s, const char *normalized, const char *special) {
  rlx_str_add(s, "\"added_tokens\":[");
  for (size_t i = 0; i < N_SPECIALS; i++) {
    rlx_str_add(s, "%s{\"id\":%zu,\"content\":", i ? "," : "", i);
    rlx_str_add_quoted(s, specials[i]);
    rlx_str_add(s, ",\"normalized\":%s,\"special\":%s}", normalized, i < 3 ? "true" : special);
  }
  rlx_str_add(s, "],");
}

static void add_item(rlx_str *s, const char *text, size_t id, bool as_list) {
  rlx_str_add(s, "%s%s", id ? "," : "", as_list ? "[" : "");
  rlx_str_add_quoted(s, text);
  if (as_list) rlx_str_add(s, ",%d]", id < N_SPECIALS ? 0 : -(int)strlen(text) - 3);
  else rlx_str_add(s, ":%zu", id);
}

/* Letters that join others' borders, and all of ASCII; of bytes all of them. The last ones would make "</s>" of its
 * letters. */
static const char *const learnt[] = {"ab", "he", "ll", "hell", "ello", TEXT_MARK "ab", TEXT_MARK TEXT_MARK, "</", "s>"};

static size_t add_letters(rlx_str *s, size_t id, bool as_list) {
  for (int c = 33; c < 127; c++) add_item(s, (char[]){(char)c, '\0'}, id++, as_list);
  static const char *const more[] = {"\n", "\t", "\xe2\x96\x81", "\xef\xbf\xbd", "\xcc\x81"};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) add_item(s, more[i], id++, as_list);
  for (size_t i = 0; i < sizeof learnt / sizeof *learnt; i++) add_item(s, learnt[i], id++, as_list);
  return id;
}

static void add_specials_vocab(rlx_str *s, bool as_list) {
  for (size_t i = 0; i < N_SPECIALS; i++) add_item(s, specials[i], i, as_list);
}

static void bytes_json(rlx_str *s, const char *special) {
  char letter[5] = {0};
  size_t id = N_SPECIALS;
  rlx_str_add(s, "{");
  add_specials(s, "false", special);
  rlx_str_add(s, "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"decoder\":{\"type\":"
                 "\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":{");
  add_specials_vocab(s, false);
  for (int b = 0; b < 256; b++) {
    letter[text_put(letter, text_byte_character(b))] = '\0';
    add_item(s, letter, id++, false);
  }
  for (size_t i = 0; i < 5; i++) add_item(s, learnt[i], id++, false);
  rlx_str_add(s, ",\"\\u010a\\u010a\":%zu,\"\\u0120ab\":%zu,\"</\":%zu,\"s>\":%zu", id, id + 1, id + 2, id + 3);
  rlx_str_add(s, "},\"merges\":[\"a b\",\"h e\",\"l l\",\"he ll\",\"\\u010a \\u010a\",\"\\u0120 ab\",\"< /\",\"s >\","
                 "\"</ s>\"]}}");
}

/* As LlamaTokenizerFast was: specials are looked for in the normal form. */
static void old_llama_json(rlx_str *s) {
  rlx_str_add(s, "{");
  add_specials(s, "true", "true");
  rlx_str_add(s, "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":\"Prepend\","
                 "\"prepend\":\"\\u2581\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":"
                 "\"\\u2581\"}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"vocab\":{");
  add_specials_vocab(s, false);
  add_letters(s, N_SPECIALS, false);
  rlx_str_add(s,
              "},\"merges\":[\"a b\",\"h e\",\"l l\",\"he ll\",\"\\u2581 ab\",\"\\u2581 \\u2581\",\"< /\",\"s >\"]}}");
}

static void unigram_json(rlx_str *s) {
  rlx_str_add(s, "{");
  add_specials(s, "false", "true");
  rlx_str_add(s, "\"pre_tokenizer\":{\"type\":\"Metaspace\"},\"decoder\":{\"type\":\"Metaspace\"},\"normalizer\":"
                 "{\"type\":\"NFKC\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[");
  add_specials_vocab(s, true);
  add_letters(s, N_SPECIALS, true);
  rlx_str_add(s, "]}}");
}

static void wordpiece_json(rlx_str *s) {
  size_t id = N_SPECIALS;
  rlx_str_add(s, "{");
  add_specials(s, "false", "true");
  rlx_str_add(s, "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":false},\"pre_tokenizer\":{\"type\":"
                 "\"WhitespaceSplit\"},\"decoder\":{\"type\":\"WordPiece\"},\"model\":{\"type\":\"WordPiece\","
                 "\"unk_token\":\"<unk>\",\"vocab\":{");
  add_specials_vocab(s, false);
  for (int c = 33; c < 127; c++) {
    add_item(s, (char[]){(char)c, '\0'}, id++, false);
    add_item(s, (char[]){'#', '#', (char)c, '\0'}, id++, false);
  }
  rlx_str_add(s, ",\"hello\":%zu,\"##ab\":%zu}}}", id, id + 1);
}

static rlx_status build_spm(bool has_bytes, rlx_tokenizer **out) {
  static char bytes[256][8], letters[94][2];
  static text_token tokens[600];
  size_t n = 0;
#define ADD(TEXT, SCORE, FLAGS) \
  tokens[n++] = (text_token) { {TEXT, strlen(TEXT)}, SCORE, FLAGS }
  for (size_t i = 0; i < N_SPECIALS; i++) ADD(specials[i], 0, i ? TOKEN_CONTROL : TOKEN_UNKNOWN);
  for (int i = 0; i < 256 && has_bytes; i++) {
    snprintf(bytes[i], sizeof bytes[i], "<0x%02X>", (unsigned)i);
    ADD(bytes[i], 0, TOKEN_BYTE);
  }
  for (int i = 0; i < 94; i++) {
    letters[i][0] = (char)(i + 33);
    ADD(letters[i], -20, 0);
  }
  ADD(TEXT_MARK, -20, 0);
  ADD("\n", -20, 0);
  ADD(TEXT_REPLACEMENT, -20, 0);
  for (size_t i = 0; i < sizeof learnt / sizeof *learnt; i++) ADD(learnt[i], -5 - (double)i, 0);
#undef ADD
  text_desc d = {.model = TEXT_SPM, .kind = "spm", .tokens = tokens, .n_tokens = n, .bos = 1, .eos = 2, .unknown = 0};
  d.byte_fallback = has_bytes;
  d.space_is_mark = true;
  d.before = &(int32_t){1};
  d.n_before = 1;
  d.normals = rlx_mem_calloc(1, sizeof *d.normals);
  if (!d.normals) return RLX_FAIL(RLX_NO_MEMORY, "a step");
  d.n_normals = 1;
  *d.normals = (text_normal){.kind = NORMAL_SPACES, .prefix = true};
  return text_build(&d, out);
}

static rlx_status make(kind k, rlx_tokenizer **out) {
  rlx_str s = {0};
  *out = NULL;
  if (k == SPM || k == SPM_NO_BYTES) return build_spm(k == SPM, out);
  if (k == BYTES) bytes_json(&s, "true");
  else if (k == BYTES_ADDED) bytes_json(&s, "false"); /* as files have it that call markers user-defined */
  else if (k == OLD_LLAMA) old_llama_json(&s);
  else if (k == UNIGRAM) unigram_json(&s);
  else wordpiece_json(&s);
  text_json j = {.tokenizer = {s.v, s.n}};
  rlx_status status = s.failed ? RLX_FAIL(RLX_NO_MEMORY, "json") : text_from_json(&j, out);
  rlx_str_deinit(&s);
  return status;
}

/* ---- Conversations ------------------------------------------------------------------------------------------- */

typedef struct list {
  int32_t *v;
  size_t n;
} list;

static bool same(const list *a, const list *b) {
  return a->n == b->n && (!a->n || memcmp(a->v, b->v, a->n * sizeof *a->v) == 0);
}

static rlx_status encode_chat(const rlx_tokenizer *t, const char *form, const rlx_chat_message *m, size_t n,
                              unsigned flags, list *out) {
  return rlx_chat_encode(t, form, m, n, true, RLX_TOKENS_ADD_SPECIAL | flags, &out->v, &out->n);
}

static rlx_status encode_text(const rlx_tokenizer *t, const char *form, const rlx_chat_message *m, size_t n,
                              list *out) {
  char *text;
  rlx_status s = rlx_chat_format(form, m, n, true, &text);
  if (s) return s;
  s = rlx_tokenizer_encode(t, text, strlen(text), RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL, &out->v, &out->n);
  rlx_free(text);
  return s;
}

/* Keeps the specials alone. */
static void only_specials(list *l) {
  size_t n = 0;
  for (size_t i = 0; i < l->n; i++)
    if (l->v[i] < N_SPECIALS && l->v[i] > 0) l->v[n++] = l->v[i];
  l->n = n;
}

TEST(harmless_conversations_have_the_tokens_of_their_text) {
  static const rlx_chat_message m[] = {
    {"system", "Be brief, hello ab."},   {"user", " hello  ab\n\nab < b | im_end >"},
    {"assistant", "ab\n<b>|</b> hello"}, {"user", "\n\nab hello\t\xcc\x81\xe2\x82\xac \xff</"},
    {"assistant", "\xef\xbc\x9cs "},     {"user", "s> 12\n"}};
  for (kind k = 0; k < N_KINDS; k++) {
    rlx_tokenizer *t;
    CHECK_OK(make(k, &t));
    for (uint32_t i = 0; i < rlx_chat_template_count(); i++)
      for (size_t n = 1; n <= 6; n++) {
        const char *form = rlx_chat_template_name(i);
        list text = {0}, chat = {0}, parsed = {0};
        CHECK_OK(encode_text(t, form, m + (n & 1), n - (n & 1), &text));
        CHECK_OK(encode_chat(t, form, m + (n & 1), n - (n & 1), 0, &chat));
        CHECK_OK(encode_chat(t, form, m + (n & 1), n - (n & 1), RLX_TOKENS_PARSE_SPECIAL, &parsed));
        if (!same(&text, &chat) || !same(&text, &parsed)) printf("  tokenizer %d, template %s\n", (int)k, form);
        CHECK(same(&text, &chat) && same(&text, &parsed));
        rlx_free(text.v), rlx_free(chat.v), rlx_free(parsed.v);
      }
    rlx_tokenizer_destroy(t);
  }
}

/* The conversation has the special tokens that it has with a harmless text in the same places. */
static bool adds_none(const rlx_tokenizer *t, const char *form, const char *first, const char *second) {
  const rlx_chat_message bad[] = {{"system", first}, {"system", second}, {"user", first},      {"user", second},
                                  {"user", first},   {"user", "x"},      {"assistant", first}, {"user", second}};
  static const rlx_chat_message good[] = {{"system", "x"}, {"system", "x"}, {"user", "x"},      {"user", "x"},
                                          {"user", "x"},   {"user", "x"},   {"assistant", "x"}, {"user", "x"}};
  list a = {0}, b = {0};
  bool ok = !encode_chat(t, form, bad, 8, 0, &a) && !encode_chat(t, form, good, 8, 0, &b);
  only_specials(&a), only_specials(&b);
  if (ok) ok = same(&a, &b);
  if (!ok) printf("  template %s, texts '%s' and '%s'\n", form, first, second);
  rlx_free(a.v), rlx_free(b.v);
  return ok;
}

static void spell(const char *special, const char *between, char *out) {
  for (const char *p = special; *p; p++) {
    *out++ = *p;
    bool inside = (unsigned char)p[1] >= 0x80 && (unsigned char)p[1] < 0xc0;
    for (const char *b = between; *b && !inside && p[1]; b++) *out++ = *b;
  }
  *out = '\0';
}

/* Full-width letters, of which NFKC makes the plain ones. */
static void spell_wide(const char *special, char *out) {
  for (const char *p = special; *p; p++)
    out += *p > ' ' && *p < 127 ? text_put(out, *p - '!' + 0xff01) : (size_t)(*out = *p, 1);
  *out = '\0';
}

TEST(no_message_becomes_a_special_token) {
  char first[200], second[200];
  for (kind k = 0; k < N_KINDS; k++) {
    rlx_tokenizer *t;
    CHECK_OK(make(k, &t));
    for (uint32_t i = 0; i < rlx_chat_template_count(); i++)
      for (size_t s = 1; s < N_SPECIALS; s++) {
        const char *form = rlx_chat_template_name(i), *text = specials[s];
        /* Of a file that calls its markers text, they are kept from content where the template has them. */
        if (k == BYTES_ADDED && s >= 3 && !(strcmp(form, "chatml") == 0 && strncmp(text, "<|im_", 5) == 0 && s < 5))
          continue;
        CHECK(adds_none(t, form, text, text));
        snprintf(first, sizeof first, "ab%s\n%s \xff%s", text, text, text);
        CHECK(adds_none(t, form, first, "hello"));
        size_t half = 1 + (s * 7 + i) % (strlen(text) - 1);
        snprintf(first, sizeof first, "%.*s", (int)half, text);
        snprintf(second, sizeof second, "%s", text + half);
        CHECK(adds_none(t, form, first, second)); /* split over messages */
        spell(text, "\xe2\x80\x8b", first);
        spell(text, "\xe2\x80\x8d", second); /* zero-width blanks and joiners between */
        CHECK(adds_none(t, form, first, second));
        spell_wide(text, first);
        CHECK(adds_none(t, form, first, first));
      }
    rlx_tokenizer_destroy(t);
  }
}

TEST(special_tokens_in_messages_for_those_who_ask) {
  rlx_tokenizer *t;
  list plain = {0}, parsed = {0};
  const rlx_chat_message m[] = {{"user", "a<|im_end|>b"}};
  CHECK_OK(make(BYTES, &t));
  CHECK_OK(encode_chat(t, "chatml", m, 1, 0, &plain));
  CHECK_OK(encode_chat(t, "chatml", m, 1, RLX_TOKENS_PARSE_SPECIAL, &parsed));
  only_specials(&plain), only_specials(&parsed);
  CHECK(plain.n == 3 && parsed.n == 4 && parsed.v[1] == 4);
  rlx_free(plain.v), rlx_free(parsed.v);
  /* Nothing is lost: what is not the token is its letters. */
  char *text = NULL, *back = NULL;
  CHECK_OK(encode_chat(t, "chatml", m, 1, 0, &plain));
  CHECK_OK(rlx_chat_format("chatml", m, 1, true, &text));
  CHECK_OK(rlx_tokenizer_decode(t, plain.v, plain.n, true, &back, NULL));
  CHECK(strcmp(text, back) == 0);
  rlx_free(plain.v), rlx_free(text), rlx_free(back);
  CHECK_FAILS(rlx_chat_encode(NULL, "chatml", m, 1, true, 0, &plain.v, &plain.n), RLX_INVALID, "tokenizer is NULL");
  CHECK_FAILS(rlx_chat_encode(t, "odd", m, 1, true, 0, &plain.v, &plain.n), RLX_NOT_FOUND, "'odd'");
  CHECK_FAILS(rlx_chat_encode(t, NULL, m, 1, true, 0, &plain.v, &plain.n), RLX_INVALID, "name is NULL");
  CHECK_FAILS(rlx_chat_encode(t, "chatml", m, 1, true, 8, &plain.v, &plain.n), RLX_INVALID, "flags");
  CHECK(rlx_chat_encode(t, "chatml", m, 1, true, 0, NULL, &plain.n) == RLX_INVALID);
  rlx_tokenizer_destroy(t);
}

/* ---- Plain texts --------------------------------------------------------------------------------------------- */

static bool has_special(const rlx_tokenizer *t, const char *text, size_t bytes, list *out) {
  bool found = rlx_tokenizer_encode(t, text, bytes, 0, &out->v, &out->n) != RLX_OK;
  for (size_t i = 0; i < out->n; i++) found |= out->v[i] < 3;
  return found;
}

TEST(no_text_becomes_a_special_token_unless_asked) {
  char wide[200];
  for (kind k = 0; k < N_KINDS; k++) {
    rlx_tokenizer *t;
    CHECK_OK(make(k, &t));
    for (size_t s = 0; s < 3; s++) {
      list l = {0};
      CHECK(!has_special(t, specials[s], strlen(specials[s]), &l) && l.n > 1);
      rlx_free(l.v);
      spell_wide(specials[s], wide);
      (void)has_special(t, wide, strlen(wide), &l);
      for (size_t i = 0; i < l.n; i++) CHECK(l.v[i] != 1 && l.v[i] != 2); /* unknown letters may be unknown */
      rlx_free(l.v);
    }
    rlx_tokenizer_destroy(t);
  }
}

TEST(broken_bytes_are_bytes_or_u_fffd) {
  static const struct {
    const char *text;
    size_t n, broken; /* bytes, and how many characters they would have been */
  } cases[] = {{"\xc0\xaf", 2, 2},     {"\xe0\x80\xaf", 3, 3}, {"\xf0\x80\x80\xaf", 4, 4},
               {"\xed\xa0\x80", 3, 3}, {"\xf5\x80", 2, 2},     {"\xff\xfe", 2, 2},
               {"\xe2\x82", 2, 1},     {"\xf0\x9f\x98", 3, 1}, {"\xf4\x90\x80\x80", 4, 4}};
  for (kind k = 0; k < N_KINDS; k++) {
    rlx_tokenizer *t;
    CHECK_OK(make(k, &t));
    int32_t fffd = rlx_tokenizer_find(t, TEXT_REPLACEMENT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      char text[16];
      list l = {0};
      size_t found = 0;
      snprintf(text, sizeof text, "a%sb", cases[i].text);
      CHECK(!has_special(t, text, cases[i].n + 2, &l));
      for (size_t j = 0; j < l.n; j++) found += l.v[j] == fffd;
      if (k == OLD_LLAMA || k == UNIGRAM || k == SPM_NO_BYTES) CHECK(found == cases[i].broken);
      else if (k != WORDPIECE) CHECK(found == 0 && l.n == cases[i].n + 2 + (k == SPM)); /* its bytes */
      else CHECK(l.n == 2);                                                             /* BERT drops U+FFFD */
      rlx_free(l.v);
    }
    rlx_tokenizer_destroy(t);
  }
}

TEST(odd_characters_are_text) {
  enum { MARKS = 1000000 };
  char *marks = malloc(2 * MARKS + 1);
  CHECK(marks);
  marks[0] = 'a';
  for (size_t i = 0; i < MARKS; i++) memcpy(marks + 1 + 2 * i, i % 3 ? "\xcc\x81" : "\xcc\xa3", 2);
  static const char odd[] =
    "a\0b \xcd\xb8 \xef\xbf\xbf \xe2\x80\xae \xe2\x80\x8f \xf3\xa0\x80\x81 \x1b[31m \x7f \xc2\x9b";
  for (kind k = 0; k < N_KINDS; k++) {
    rlx_tokenizer *t;
    list l = {0};
    CHECK_OK(make(k, &t));
    bool knows_all = k == BYTES || k == BYTES_ADDED || k == SPM;
    CHECK(has_special(t, odd, sizeof odd - 1, &l) == false || !knows_all);
    for (size_t i = 0; i < l.n; i++) CHECK(l.v[i] != 1 && l.v[i] != 2);
    rlx_free(l.v);
    CHECK(has_special(t, marks, 2 * MARKS + 1, &l) == false || !knows_all);
    for (size_t i = 0; i < l.n; i++) CHECK(l.v[i] != 1 && l.v[i] != 2);
    rlx_free(l.v);
    rlx_tokenizer_destroy(t);
  }
  free(marks);
}

/* A file that names the token that ends a text as the one for what it does not know. */
TEST(unknown_letters_end_nothing) {
  static const text_token tokens[] = {{{"<end>", 5}, 0, TOKEN_CONTROL | TOKEN_END}, {{"a", 1}, -1, 0}};
  rlx_tokenizer *t;
  list l = {0};
  text_desc d = {.model = TEXT_SPM, .kind = "spm", .tokens = tokens, .n_tokens = 2, .bos = -1, .eos = 0, .unknown = 0};
  CHECK_OK(text_build(&d, &t));
  CHECK_OK(rlx_tokenizer_encode(t, "axa\xff", 4, 0, &l.v, &l.n));
  CHECK(l.n == 2 && l.v[0] == 1 && l.v[1] == 1);
  rlx_free(l.v);
  rlx_tokenizer_destroy(t);
}

/* ---- Memory that fails --------------------------------------------------------------------------------------- */

static rlx_status make_and_chat(void *user) {
  rlx_tokenizer *t;
  list l = {0};
  static const rlx_chat_message m[] = {{"system", "a</s>"}, {"user", "\xff</s>b"}, {"assistant", "ab"}, {"user", "c"}};
  rlx_status s = make(*(const kind *)user, &t);
  if (!s) s = encode_chat(t, "vicuna", m, 4, 0, &l);
  rlx_free(l.v);
  rlx_tokenizer_destroy(t);
  return s;
}

TEST(failing_allocations) {
  CHECK_OK(alloc_sweep(make_and_chat, &(kind){OLD_LLAMA}));
  CHECK_OK(alloc_sweep(make_and_chat, &(kind){SPM_NO_BYTES}));
}
