/* Tokenizers and chat templates on small vocabularies: encoding and decoding of each model, the stream that splits
 * no character, invalid input, and failing allocations. Real vocabularies and many texts are in
 * test_cli_lm_tokenize.py. */
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "rlx/lm.h"
#include "test.h"
#include "text/text.h"

#define ADDED(ID, TEXT, SPECIAL)                                                                                     \
  "{\"id\":" #ID ",\"content\":\"" TEXT "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":" \
  "false,\"special\":" SPECIAL "}"

/* Letters, one word, and half of a character: \u00e2 \u0124 ... are the bytes e2 82 ac of a euro sign. */
static const char byte_level[] =
  "{\"added_tokens\":[" ADDED(0, "<s>", "true") "," ADDED(1, "<|im_end|>", "true") "," ADDED(
    2, "hello!",
    "false") "],"
             "\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
             "\"decoder\":{\"type\":\"ByteLevel\"},"
             "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{\"Sequence\":{\"id\":"
             "\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[0]}}},"
             "\"model\":{\"type\":\"BPE\",\"unk_token\":null,\"vocab\":{\"<s>\":0,\"<|im_end|>\":1,\"hello!\":2,\"a\":3,\"b\":4,\"ab\":5,"
             "\"\\u0120\":6,\"\\u0120ab\":7,\"\\u00e2\":8,\"\\u0124\":9,\"\\u00ac\":10,\"\\u00e2\\u0124\":11,\"\\u00ff\":12,\"aa\":13},"
             "\"merges\":[\"a b\",\"\\u0120 ab\",[\"\\u00e2\",\"\\u0124\"],\"a a\"]}}";

static rlx_status from(const char *json, rlx_tokenizer **out) {
  text_json j = {.tokenizer = {json, strlen(json)}};
  return text_from_json(&j, out);
}

static bool same_ids(const rlx_tokenizer *t, const char *text, size_t bytes, unsigned flags, const int32_t *expected,
                     size_t n) {
  int32_t *ids;
  size_t found;
  if (rlx_tokenizer_encode(t, text, bytes, flags, &ids, &found)) {
    printf("  %s\n", rlx_message());
    return false;
  }
  bool same = found == n && (n == 0 || memcmp(ids, expected, n * sizeof *ids) == 0);
  for (size_t i = 0; !same && i < found; i++) printf("%s%d", i ? " " : "  found ", ids[i]);
  if (!same) putchar('\n');
  rlx_free(ids);
  return same;
}
#define IDS(...) ((const int32_t[]){__VA_ARGS__}), sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t)
#define CHECK_IDS(t, text, flags, ...) CHECK(same_ids(t, text, sizeof text - 1, flags, IDS(__VA_ARGS__)))

TEST(byte_level_pairs) {
  rlx_tokenizer *t;
  CHECK_OK(from(byte_level, &t));
  CHECK(rlx_tokenizer_size(t) == 14);
  CHECK_IDS(t, "ab ab", 0, 5, 7);
  CHECK_IDS(t, "ab ab", RLX_TOKENS_ADD_SPECIAL, 0, 5, 7);
  CHECK_IDS(t, "aab", 0, 3, 5); /* "a b" has the lesser rank */
  CHECK_IDS(t, "a\xe2\x82\xac", 0, 3, 11, 10);
  CHECK_IDS(t,
            "a\xff"
            "b",
            0, 3, 12, 4); /* broken UTF-8 is its bytes */
  CHECK_IDS(t, "a<|im_end|>b", RLX_TOKENS_PARSE_SPECIAL, 3, 1, 4);
  CHECK_IDS(t, "ahello!b", 0, 3, 2, 4); /* added, and not special: always */
  CHECK(same_ids(t, "", 0, 0, NULL, 0));
  CHECK(same_ids(t, "xyz", 3, 0, NULL, 0)); /* no unknown token: left out */
  CHECK(rlx_tokenizer_is_end(t, 1) && rlx_tokenizer_is_special(t, 1) && !rlx_tokenizer_is_special(t, 2));
  CHECK(rlx_tokenizer_find(t, "ab") == 5 && rlx_tokenizer_find(t, "zz") == -1 && rlx_tokenizer_find(t, "") == -1);
  CHECK(strcmp(rlx_tokenizer_spelling(t, 5), "ab") == 0 && !rlx_tokenizer_spelling(t, 14) &&
        !rlx_tokenizer_spelling(t, -1));
  rlx_tokenizer_destroy(t);
}

TEST(ends_that_the_settings_of_generation_name) {
  static const char config[] = "{\"eos_token_id\":3}", generation[] = "{\"eos_token_id\":[4,5]}";
  rlx_tokenizer *t;
  text_json j = {.tokenizer = {byte_level, sizeof byte_level - 1},
                 .model = {config, sizeof config - 1},
                 .generation = {generation, sizeof generation - 1}};
  CHECK_OK(text_from_json(&j, &t));
  CHECK(rlx_tokenizer_is_end(t, 3) && rlx_tokenizer_is_end(t, 4) && rlx_tokenizer_is_end(t, 5) &&
        rlx_tokenizer_eos(t) == 3);
  CHECK(!rlx_tokenizer_is_end(t, 6) && rlx_tokenizer_is_end(t, 1));
  rlx_tokenizer_destroy(t);
  j.generation = (text_span){"{\"eos_token_id\":99}", 19};
  CHECK_FAILS(text_from_json(&j, &t), RLX_INVALID, "generation_config.json's eos_token_id is 99");
}

static rlx_status configured(const char *config, rlx_tokenizer **out) {
  text_json j = {.tokenizer = {byte_level, strlen(byte_level)}, .config = {config, strlen(config)}};
  return text_from_json(&j, out);
}

/* tokenizer_config.json: each field is applied, agrees with tokenizer.json, is harmless, or is refused. */
TEST(fields_of_the_configuration) {
  static const char *const fine[] = {
    "{}",
    "{\"bos_token\":\"<s>\",\"add_bos_token\":true,\"add_eos_token\":false,\"add_prefix_space\":false}",
    "{\"model_max_length\":1000000000000000019884624838656,\"padding_side\":\"left\",\"unk_token\":null}",
    "{\"errors\":\"replace\",\"clean_up_tokenization_spaces\":true,\"split_special_tokens\":false}",
    "{\"chat_template\":\"x\",\"anything\":null}",
    "{\"additional_special_tokens\":[\"<|im_end|>\",{\"content\":\"<s>\"}],\"extra_special_tokens\":{\"a\":\"<s>\"}}",
    "{\"added_tokens_decoder\":{\"1\":{\"content\":\"<|im_end|>\",\"special\":true}}}",
    "{\"do_lower_case\":false,\"strip_accents\":null}",
  };
  static const struct {
    const char *config, *says;
  } bad[] = {
    {"{\"a_new_field\":1}", "tokenizer_config.json's 'a_new_field' = 1"},
    {"{\"auto_map\":{\"a\":1}}", "'auto_map' (needs code that comes with the model)"},
    {"{\"split_special_tokens\":true}", "'split_special_tokens' = true"},
    {"{\"add_prefix_space\":true}", "add_prefix_space is true, but tokenizer.json puts no blank before a text"},
    {"{\"do_lower_case\":true}", "do_lower_case is true, but tokenizer.json does not do that"},
    {"{\"bos_token\":\"<s>\",\"add_bos_token\":false}", "add_bos_token is false, but tokenizer.json adds that token"},
    {"{\"eos_token\":\"<|im_end|>\",\"add_eos_token\":true}", "add_eos_token is true, but tokenizer.json does not add"},
    {"{\"add_eos_token\":1}", "add_eos_token: expected true or false"},
    {"{\"tokenizer_class\":\"LlamaTokenizer\",\"add_eos_token\":true}", "but there is no such token"},
    {"{\"additional_special_tokens\":[\"<new>\"]}", "has '<new>', which is no added token"},
    {"{\"extra_special_tokens\":[\"ab\"]}", "has 'ab', which is no added token"},
    {"{\"extra_special_tokens\":[1]}", "extra_special_tokens: expected tokens"},
    {"{\"added_tokens_decoder\":{\"14\":{\"content\":\"<new>\"}}}",
     "has '<new>' as token 14, which tokenizer.json does not"},
    {"{\"added_tokens_decoder\":{\"3\":{\"content\":\"b\"}}}", "has 'b' as token 3"},
  };
  rlx_tokenizer *t;
  for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
    CHECK_OK(configured(fine[i], &t));
    CHECK_IDS(t, "ab", RLX_TOKENS_ADD_SPECIAL, 0, 5);
    rlx_tokenizer_destroy(t);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    rlx_status s = configured(bad[i].config, &t);
    if (!s || t || !strstr(rlx_message(), bad[i].says)) FAIL("%s: %s", bad[i].config, s ? rlx_message() : "taken");
  }
  /* Classes that make their post-processor anew: BOS goes, EOS comes. */
  CHECK_OK(configured("{\"tokenizer_class\":\"LlamaTokenizerFast\",\"bos_token\":\"<s>\",\"add_bos_token\":false,"
                      "\"eos_token\":\"<|im_end|>\",\"add_eos_token\":true}",
                      &t));
  CHECK_IDS(t, "ab", RLX_TOKENS_ADD_SPECIAL, 5, 1);
  rlx_tokenizer_destroy(t);
  /* Flags of an added token: it now takes the blank before it. */
  CHECK_OK(configured("{\"added_tokens_decoder\":{\"2\":{\"content\":\"hello!\",\"lstrip\":true}}}", &t));
  CHECK_IDS(t, "a hello!", 0, 3, 2);
  rlx_tokenizer_destroy(t);
}

/* What the bytes of broken UTF-8 become where a vocabulary has no tokens for them. */
TEST(vocabularies_that_lack_bytes) {
  static const struct {
    const char *json, *become;
  } cases[] = {
    {byte_level, NULL},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}", "nothing"},
    {"{\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"?\":1},\"merges\":[]}}",
     "the unknown token"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\\ufffd\":1},\"merges\":[]}}", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rlx_tokenizer *t;
    const char *become;
    CHECK_OK(from(cases[i].json, &t));
    CHECK_OK(text_broken_become(t, &become));
    CHECK(cases[i].become ? become && strcmp(become, cases[i].become) == 0 : !become);
    rlx_tokenizer_destroy(t);
  }
}

TEST(back_to_text) {
  rlx_tokenizer *t;
  char *text;
  size_t n;
  CHECK_OK(from(byte_level, &t));
  const int32_t ids[] = {0, 5, 7, 11, 10, 1, 2};
  CHECK_OK(rlx_tokenizer_decode(t, ids, 7, false, &text, &n));
  CHECK(n == strlen(text) && strcmp(text, "ab ab\xe2\x82\xachello!") == 0);
  rlx_free(text);
  CHECK_OK(rlx_tokenizer_decode(t, ids, 7, true, &text, &n));
  CHECK(strcmp(text, "<s>ab ab\xe2\x82\xac<|im_end|>hello!") == 0);
  rlx_free(text);
  CHECK_OK(rlx_tokenizer_decode(t, NULL, 0, true, &text, &n));
  CHECK(n == 0 && strcmp(text, "") == 0);
  rlx_free(text);
  CHECK(rlx_tokenizer_decode(t, &(int32_t){14}, 1, true, &text, &n) == RLX_INVALID &&
        strstr(rlx_message(), "token 14"));
  CHECK(rlx_tokenizer_decode(t, &(int32_t){-1}, 1, true, &text, &n) == RLX_INVALID);
  rlx_tokenizer_destroy(t);
}

/* What a stream gives out, with a stroke between pushes. */
static void stream(const rlx_tokenizer *t, const int32_t *ids, size_t n, rlx_str *out) {
  rlx_decoder *d;
  const char *text = NULL;
  size_t bytes = 0;
  CHECK_OK(rlx_decoder_create(t, false, &d));
  for (size_t i = 0; i < n; i++) {
    CHECK_OK(rlx_decoder_push(d, ids[i], &text, &bytes));
    CHECK(strlen(text) == bytes && rlx_text_is_utf8(text));
    rlx_str_add(out, "%s|", text);
  }
  CHECK_OK(rlx_decoder_flush(d, &text, &bytes));
  CHECK(strlen(text) == bytes && rlx_text_is_utf8(text));
  rlx_str_add(out, "%s", text);
  rlx_decoder_destroy(d);
}

static bool streams(const rlx_tokenizer *t, const int32_t *ids, size_t n, const char *expected) {
  rlx_str out = {0};
  stream(t, ids, n, &out);
  bool same = out.v && strcmp(out.v, expected) == 0;
  if (!same) printf("  found %s\n", out.v);
  rlx_str_deinit(&out);
  return same;
}

TEST(a_stream_splits_no_character) {
  rlx_tokenizer *t;
  CHECK_OK(from(byte_level, &t));
  CHECK(streams(t, IDS(3, 8, 9, 10, 4), "a|||\xe2\x82\xac|b|"));
  CHECK(streams(t, IDS(11, 10), "|\xe2\x82\xac|"));
  CHECK(streams(t, IDS(11), "|\xef\xbf\xbd")); /* never became one */
  CHECK(streams(t, IDS(11, 3),
                "|\xef\xbf\xbd"
                "a|"));                                                         /* and cannot any more */
  CHECK(streams(t, IDS(8, 12, 10), "|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|")); /* e2, ff, ac: three broken ones */
  CHECK(streams(t, IDS(0, 3, 1), "|a||"));
  rlx_tokenizer_destroy(t);
}

/* ---- SentencePiece: scores instead of merges ----------------------------------------------------------------- */

typedef struct spm_table {
  text_token tokens[300];
  char bytes[256][8];
  size_t n;
} spm_table;

static void add_token(spm_table *s, const char *spelling, double score, uint32_t flags) {
  s->tokens[s->n++] = (text_token){{spelling, strlen(spelling)}, score, flags};
}

static rlx_status build_spm(text_model model, bool bytes, rlx_tokenizer **out) {
  static spm_table s;
  s.n = 0;
  add_token(&s, "<unk>", 0, TOKEN_UNKNOWN);
  add_token(&s, "<s>", 0, TOKEN_CONTROL);
  for (int i = 0; i < 256 && bytes; i++) {
    snprintf(s.bytes[i], sizeof s.bytes[i], "<0x%02X>", (unsigned)i);
    add_token(&s, s.bytes[i], 0, TOKEN_BYTE);
  }
  static const char *const learnt[] = {TEXT_MARK, "a", "b", "c", "ab", "bc", TEXT_MARK "a", "abc", TEXT_MARK TEXT_MARK};
  static const double scores[] = {-9, -9, -9, -9, -2, -1, -3, -4, -5};
  for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) add_token(&s, learnt[i], scores[i], 0);
  text_desc d = {.model = model, .kind = "spm", .tokens = s.tokens, .n_tokens = s.n, .bos = 1, .eos = -1, .unknown = 0};
  d.byte_fallback = bytes;
  d.space_is_mark = true;
  d.normals = rlx_mem_calloc(1, sizeof *d.normals);
  if (!d.normals) return RLX_FAIL(RLX_NO_MEMORY, "a step");
  d.n_normals = 1;
  *d.normals = (text_normal){.kind = NORMAL_SPACES, .prefix = true};
  return text_build(&d, out);
}

TEST(scores) {
  rlx_tokenizer *t;
  CHECK_OK(build_spm(TEXT_SPM, true, &t));
  CHECK(t->cuts_at_marks);
  CHECK_IDS(t, "abc", 0, 264, 263); /* "bc" is better than "ab", then mark and a: -3 */
  CHECK_IDS(t, "a  b", 0, 264, 266, 260);
  CHECK_IDS(t, "\xc3\xa9", 0, 258, 2 + 0xc3, 2 + 0xa9);
  CHECK_IDS(t, "<s>", RLX_TOKENS_PARSE_SPECIAL, 1);
  CHECK_IDS(t, "<s>", 0, 258, 2 + '<', 2 + 's', 2 + '>');
  char *text;
  size_t n;
  CHECK_OK(rlx_tokenizer_decode(t, IDS(1, 264, 263, 258, 2 + 0xc3, 2 + 0xa9), false, &text, &n));
  CHECK(strcmp(text, "abc \xc3\xa9") == 0);
  rlx_free(text);
  rlx_tokenizer_destroy(t);

  CHECK_OK(build_spm(TEXT_UNIGRAM, false, &t));
  CHECK_IDS(t, "abc", 0, 8, 7);    /* -3 + -1 is more than -9 + -4 */
  CHECK_IDS(t, "xyb", 0, 2, 0, 4); /* unknown ones next to each other are one */
  rlx_tokenizer_destroy(t);
}

/* A run that is long enough for the heap, and what walking would give. */
TEST(long_and_short_pieces_agree) {
  rlx_tokenizer *t;
  CHECK_OK(from(byte_level, &t));
  char text[200];
  for (size_t n = 1; n < sizeof text; n++) {
    for (size_t i = 0; i < n; i++) text[i] = "aabaaab"[i * i % 7];
    int32_t *ids, expected[200];
    size_t found, at = 0;
    CHECK_OK(rlx_tokenizer_encode(t, text, n, 0, &ids, &found));
    /* By hand: every "ab" first, then "aa" from the left of what remains. */
    for (size_t i = 0; i < n;) {
      bool ab = i + 1 < n && text[i] == 'a' && text[i + 1] == 'b';
      bool aa = i + 1 < n && text[i] == 'a' && text[i + 1] == 'a' && !(i + 2 < n && text[i + 2] == 'b');
      expected[at++] = ab ? 5 : aa ? 13 : text[i] == 'a' ? 3 : 4;
      i += ab || aa ? 2 : 1;
    }
    CHECK(found == at && memcmp(ids, expected, at * sizeof *ids) == 0);
    rlx_free(ids);
  }
  rlx_tokenizer_destroy(t);
}

/* ---- What is refused ----------------------------------------------------------------------------------------- */

static bool refuses(const char *json, rlx_status status, const char *says) {
  rlx_tokenizer *t;
  rlx_status s = from(json, &t);
  bool ok = s == status && !t && strstr(rlx_message(), says);
  if (!ok) printf("  %s: %s\n", rlx_status_name(s), rlx_message());
  if (!s) rlx_tokenizer_destroy(t);
  return ok;
}

TEST(refused) {
#define MODEL(REST) "{\"model\":{\"type\":\"BPE\"," REST "}}"
  CHECK(refuses("", RLX_INVALID, "line"));
  CHECK(refuses("[]", RLX_INVALID, "not an object"));
  CHECK(refuses("{}", RLX_INVALID, "no model"));
  CHECK(refuses("{\"a\":1,\"a\":1}", RLX_INVALID, "uplicate"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0,\"\\u0061\":1},\"merges\":[]"), RLX_INVALID, "uplicate"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\\u0000\":0},\"merges\":[]"), RLX_INVALID, "NUL"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\xff\":0},\"merges\":[]"), RLX_INVALID, "UTF-8"));
  CHECK(refuses(MODEL("\"vocab\":{\"\\ud800\":0},\"merges\":[]"), RLX_INVALID, "surrogate"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0},\"merges\":[],\"other\":[1,]"), RLX_INVALID, "line 1, column"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]"), RLX_INVALID, "merge 0: expected two tokens"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0},\"merges\":[\"a\"]"), RLX_INVALID, "merge 0: expected two tokens"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":-1},\"merges\":[]"), RLX_INVALID, "token 'a' has the id -1"));
  CHECK(refuses("{\"model\":3}", RLX_INVALID, "no model"));
  CHECK(refuses("{\"added_tokens\":[{\"id\":0}],\"model\":{\"vocab\":{},\"merges\":[]}}", RLX_INVALID,
                "added token 0 has no content"));
  CHECK(refuses("{\"added_tokens\":[{\"id\":\"0\",\"content\":\"x\"}],\"model\":{\"vocab\":{},\"merges\":[]}}",
                RLX_INVALID, "added token 'x': expected an integer"));
  CHECK(refuses(MODEL("\"vocab\":{}"), RLX_INVALID, "merges"));
  CHECK(refuses(MODEL("\"vocab\":{},\"merges\":[]"), RLX_INVALID, "no tokens"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0},\"merges\":[\"a x\"]"), RLX_INVALID, "merge 0: its right 'x' is no token"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\"]"), RLX_INVALID, "result 'ab'"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]"), RLX_INVALID, "has the id 0, and so has"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":1.5},\"merges\":[]"), RLX_INVALID, "expected an integer"));
  CHECK(refuses(MODEL("\"vocab\":{\"a\":9999999999},\"merges\":[]"), RLX_INVALID, "missing"));
  CHECK(refuses(MODEL("\"vocab\":3,\"merges\":[]"), RLX_INVALID, "no vocab"));
  CHECK(refuses("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}", RLX_UNSUPPORTED, "WordLevel"));
  CHECK(refuses("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", RLX_INVALID, "[UNK]"));
  CHECK(refuses("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1],[\"a\",-2]]}}", RLX_INVALID,
                "token 1 is 'a', and so is"));
  CHECK(refuses("{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}}", RLX_INVALID, "token 0"));
  CHECK(refuses("{\"normalizer\":{\"type\":\"Odd\"},\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}", RLX_UNSUPPORTED,
                "'Odd'"));
  CHECK(refuses("{\"pre_tokenizer\":{\"type\":\"Odd\"},\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}", RLX_UNSUPPORTED,
                "'Odd'"));
  CHECK(refuses(
    "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"////////\"},\"model\":{\"vocab\":{\"a\":0},"
    "\"merges\":[]}}",
    RLX_INVALID, "table of replacements"));
#undef MODEL
}

TEST(wrong_calls) {
  rlx_tokenizer *t;
  int32_t *ids;
  size_t n;
  char *text;
  CHECK_OK(from(byte_level, &t));
  CHECK(rlx_tokenizer_encode(NULL, "a", 1, 0, &ids, &n) == RLX_INVALID && !ids && n == 0);
  CHECK(rlx_tokenizer_encode(t, NULL, 1, 0, &ids, &n) == RLX_INVALID);
  CHECK(rlx_tokenizer_encode(t, "a", 1, 4, &ids, &n) == RLX_INVALID);
  CHECK(rlx_tokenizer_encode(t, "a", 1, 0, NULL, &n) == RLX_INVALID);
  CHECK(rlx_tokenizer_decode(NULL, NULL, 0, false, &text, &n) == RLX_INVALID);
  CHECK(rlx_tokenizer_decode(t, NULL, 1, false, &text, &n) == RLX_INVALID);
  rlx_tokenizer *none = t;
  CHECK(rlx_tokenizer_create(NULL, &none) == RLX_INVALID && !none);
  CHECK(rlx_tokenizer_size(NULL) == 0 && rlx_tokenizer_bos(NULL) == -1);
  rlx_tokenizer_destroy(NULL);
  rlx_decoder_destroy(NULL);
  rlx_tokenizer_destroy(t);
}

TEST(pre_tokenizers_all_compile) {
  rlx_str names = {0};
  text_pre_list(&names);
  CHECK(!names.failed);
  size_t count = 0;
  for (char *name = strtok(names.v, " "); name; name = strtok(NULL, " "), count++) {
    const text_pre *p = text_pre_find(name, strlen(name));
    CHECK(p && p->patterns[0]);
    for (size_t i = 0; i < sizeof p->patterns / sizeof *p->patterns && p->patterns[i]; i++) {
      pcre2_code *code = NULL;
      if (strcmp(p->patterns[i], TEXT_DIGITS_RIGHT) == 0) continue;
      CHECK_OK(text_pattern_compile(p->patterns[i], &code));
      text_pattern_free(code);
    }
  }
  CHECK(count >= 60);
  CHECK(!text_pre_find("no-such-one", 11) && !text_pre_find("", 0) && !text_pre_find("gpt", 3));
  rlx_str_deinit(&names);
}

/* ---- Memory that fails --------------------------------------------------------------------------------------- */

static rlx_status make_and_use(void *user) {
  const char *json = user;
  rlx_tokenizer *t = NULL;
  rlx_decoder *d = NULL;
  int32_t *ids = NULL;
  char *text = NULL;
  const char *part;
  size_t n = 0;
  static const char input[] = "ab ab \xe2\x82\xac hello! <|im_end|> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab \xff";
  rlx_status s = from(json, &t);
  if (!s)
    s = rlx_tokenizer_encode(t, input, sizeof input - 1, RLX_TOKENS_ADD_SPECIAL | RLX_TOKENS_PARSE_SPECIAL, &ids, &n);
  if (!s) s = rlx_tokenizer_decode(t, ids, n, true, &text, NULL);
  if (!s) s = rlx_decoder_create(t, true, &d);
  for (size_t i = 0; i < n && !s; i++) s = rlx_decoder_push(d, ids[i], &part, NULL);
  if (!s) s = rlx_decoder_flush(d, &part, NULL);
  rlx_decoder_destroy(d);
  rlx_free(ids);
  rlx_free(text);
  rlx_tokenizer_destroy(t);
  return s;
}

static const char many_steps[] =
  "{\"added_tokens\":[{\"id\":0,\"content\":\"HELLO!\",\"normalized\":true,\"special\":false}],"
  "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},{\"type\":\"BertNormalizer\"},{\"type\":\"Prepend\","
  "\"prepend\":\"a\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"b+\"},\"content\":\"b\"},{\"type\":\"Replace\",\"pattern\":{"
  "\"String\":\"!\"},\"content\":\"\"},{\"type\":\"Strip\"}]},"
  "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Punctuation\"},{\"type\":\"Metaspace\"},{\"type\":"
  "\"Digits\"}]},\"decoder\":{\"type\":\"Metaspace\"},"
  "\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"HELLO!\",0],[\"<unk>\",0],[\"a\",-1],[\"b\",-2],[\"ab\",-2.5]]}}";
static const char words[] =
  "{\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":"
  "\"WordPiece\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"vocab\":{\"[UNK]\":0,\"a\":1,"
  "\"##b\":2,\"ab\":3,\"##a\":4,\"!\":5}}}";

TEST(failing_allocations) {
  CHECK_OK(alloc_sweep(make_and_use, (void *)byte_level));
  CHECK_OK(alloc_sweep(make_and_use, (void *)many_steps));
  CHECK_OK(alloc_sweep(make_and_use, (void *)words));
}

/* ---- Pairs ---- */

/* A letter a token; the template has each text once, with types, or each as RoBERTa writes it. */
#define LETTERS                                                                                                         \
  "\"pre_tokenizer\":{\"type\":\"Whitespace\"},\"decoder\":{\"type\":\"WordPiece\"},\"model\":{\"type\":\"WordPiece\"," \
  "\"unk_token\":\"[U]\",\"vocab\":{\"[U]\":0,\"[C]\":1,\"[S]\":2,\"a\":3,\"b\":4,\"c\":5}}}"
#define PART(NAME, TYPE) "{\"SpecialToken\":{\"id\":\"" NAME "\",\"type_id\":" TYPE "}}"
#define TEXT(NAME, TYPE) "{\"Sequence\":{\"id\":\"" NAME "\",\"type_id\":" TYPE "}}"
static const char by_template[] =
  "{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[" PART("[C]", "0") "," TEXT("A", "0") "," PART(
    "[S]",
    "0") "," TEXT("B",
                  "1") "," PART("[S]",
                                "1") "],\"special_tokens\":{\"[C]\":{\"ids\":[1]},\"[S]\":{\"ids\":[2]}}}," LETTERS;
static const char by_roberta[] =
  "{\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"[C]\",1],\"sep\":[\"[S]\",2]}," LETTERS;

static rlx_status same_pair(const char *json, const char *first, const char *second, size_t room, const int32_t *want,
                            size_t n_want, size_t first_of_type_1) {
  rlx_tokenizer *t;
  text_two two = {0};
  rlx_status s = from(json, &t);
  if (!s) s = text_encode_two(t, (text_span){first, strlen(first)}, (text_span){second, strlen(second)}, room, &two);
  if (!s && (two.n != n_want || memcmp(two.ids, want, n_want * sizeof *want) != 0))
    s = rlx_fail(RLX_INVALID, "%zu other tokens", two.n);
  for (size_t i = 0; i < two.n && !s; i++)
    if (two.types[i] != (i >= first_of_type_1)) s = rlx_fail(RLX_INVALID, "token %zu has the type %d", i, two.types[i]);
  rlx_free(two.ids);
  rlx_tokenizer_destroy(t);
  return s;
}

TEST(pairs_of_texts) {
  CHECK_OK(same_pair(by_template, "a b", "c", 16, IDS(1, 3, 4, 2, 5, 2), 4));
  CHECK_OK(same_pair(by_template, "", "", 16, IDS(1, 2, 2), 2));
  CHECK_OK(same_pair(by_roberta, "a b", "c", 16, IDS(1, 3, 4, 2, 2, 5, 2), 16));
  CHECK_OK(same_pair(by_template, "a a a a", "b", 6, IDS(1, 3, 3, 2, 4, 2), 4));           /* the longer one is cut */
  CHECK_OK(same_pair(by_template, "a a a a", "b b b", 8, IDS(1, 3, 3, 3, 2, 4, 4, 2), 5)); /* both, to half each */
  CHECK_OK(same_pair(by_template, "a a a", "b b b", 8, IDS(1, 3, 3, 2, 4, 4, 4, 2), 4));
  CHECK(same_pair(by_template, "a", "b", 3, NULL, 0, 0) == RLX_INVALID);
  CHECK_OK(same_pair(by_template, "a", "b", 4, IDS(1, 2, 4, 2), 2));
  CHECK(same_pair(byte_level, "a", "b", 16, NULL, 0, 0) == RLX_UNSUPPORTED);
}

static rlx_status make_pair(void *user) { return same_pair(user, "a b", "c", 16, IDS(1, 3, 4, 2, 5, 2), 4); }

TEST(pairs_without_memory) { CHECK_OK(alloc_sweep(make_pair, (void *)by_template)); }

static rlx_status make_spm(void *user) {
  rlx_tokenizer *t = NULL;
  (void)user;
  rlx_status s = build_spm(TEXT_SPM, true, &t);
  if (!s) rlx_tokenizer_destroy(t);
  return s;
}

static rlx_status format_chat(void *user) {
  const rlx_chat_message m[] = {
    {"system", "be brief"}, {"user", "hi"}, {"assistant", "<think>x</think>yes"}, {"user", "so?"}};
  char *text;
  rlx_status s = rlx_chat_format(user, m, 4, true, &text);
  rlx_free(text);
  return s;
}

TEST(failing_allocations_elsewhere) {
  CHECK_OK(alloc_sweep(make_spm, NULL));
  for (uint32_t i = 0; i < rlx_chat_template_count(); i++)
    CHECK_OK(alloc_sweep(format_chat, (void *)rlx_chat_template_name(i)));
}

/* ---- Chat ---------------------------------------------------------------------------------------------------- */

static bool formats(const char *name, const rlx_chat_message *m, size_t n, bool reply, const char *expected) {
  char *text = NULL;
  rlx_status s = rlx_chat_format(name, m, n, reply, &text);
  bool same = !s && strcmp(text, expected) == 0;
  if (!same) printf("  %s: found %s\n", name, s ? rlx_message() : text);
  rlx_free(text);
  return same;
}

TEST(chat_templates) {
  const rlx_chat_message hi[] = {{"user", " hi "}};
  const rlx_chat_message all[] = {{"system", "S"}, {"user", "U"}, {"assistant", "A"}, {"user", "V"}};
  CHECK(formats("chatml", hi, 1, true, "<|im_start|>user\n hi <|im_end|>\n<|im_start|>assistant\n"));
  CHECK(formats("smollm2", hi, 1, false,
                "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
                "Face<|im_end|>\n<|im_start|>user\n hi <|im_end|>\n"));
  CHECK(formats("smollm2", all, 2, true,
                "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n"));
  CHECK(formats(
    "llama3", hi, 1, true,
    "<|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"));
  CHECK(formats("llama2", all, 4, true, "[INST] <<SYS>>\nS\n<</SYS>>\n\nU [/INST] A </s><s>[INST] V [/INST]"));
  CHECK(formats("mistral-v1", all, 4, true, " [INST] S\n\nU [/INST] A</s> [INST] V [/INST]"));
  CHECK(formats("mistral-v3-tekken", all, 4, true, "[INST]U[/INST]A</s>[INST]S\n\nV[/INST]"));
  CHECK(formats("mistral-v7", all, 4, true, "[SYSTEM_PROMPT] S[/SYSTEM_PROMPT][INST] U[/INST] A</s>[INST] V[/INST]"));
  CHECK(formats(
    "gemma", all, 4, true,
    "<start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_turn>user\nV<end_of_turn>\n"
    "<start_of_turn>model\n"));
  CHECK(formats("zephyr", all, 2, true, "<|system|>\nS</s>\n<|user|>\nU</s>\n<|assistant|>\n"));
  CHECK(formats("vicuna", all, 3, true, "S\n\nUSER: U\nASSISTANT: A</s>\nASSISTANT:"));
  const rlx_chat_message thinks[] = {{"user", "U"}, {"assistant", "<think>\nhm\n</think>\n\nA"}, {"user", "V"}};
  CHECK(formats("qwen3", thinks, 3, false,
                "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\nV<|im_end|>\n"));
  CHECK(formats("qwen3", thinks, 2, false,
                "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nA<|im_end|>\n"));
  CHECK(formats("chatml", NULL, 0, false, ""));
  char *text;
  CHECK(rlx_chat_format("no-such-one", hi, 1, true, &text) == RLX_NOT_FOUND && strstr(rlx_message(), "chatml"));
  CHECK(rlx_chat_format("chatml", &(rlx_chat_message){"tool", "x"}, 1, true, &text) == RLX_INVALID &&
        strstr(rlx_message(), "'tool'"));
  CHECK(rlx_chat_format("chatml", &(rlx_chat_message){"user", NULL}, 1, true, &text) == RLX_INVALID);
  CHECK(!rlx_chat_template_name(rlx_chat_template_count()) && rlx_chat_template_name(0));
}

static bool is_form(const char *pieces, const char *name) {
  const char *found = text_chat_recognise(pieces, strlen(pieces));
  if (!found || !name) return !found && !name;
  return strcmp(found, name) == 0;
}

TEST(chat_recognition) {
  CHECK(is_form("{{'<|im_start|>' + role + '\\n' + content + '<|im_end|>'}}", "chatml"));
  CHECK(is_form("<|im_start|>system\nYou are a helpful assistant.<|im_end|>", "qwen2"));
  CHECK(is_form("<|start_header_id|>' + role + '<|end_header_id|>", "llama3"));
  CHECK(is_form("[INST] ... <<SYS>>", "llama2"));
  CHECK(is_form("<start_of_turn> <end_of_turn>", "gemma"));
  CHECK(is_form("<|user|> <|end|> <|assistant|>", "phi3"));
  CHECK(is_form("{% for m in messages %}{{ m }}{% endfor %}", NULL));
  CHECK(is_form("", NULL));
}
