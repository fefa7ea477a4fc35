/* Pre-tokenizers by their names in GGUF files (tokenizer.ggml.pre).
 *
 * A file only names its pre-tokenizer, so this table holds the patterns. They are those of the models' own
 * tokenizers, in execution order. Some are rewritten equivalently for speed: "\s+$" would try every start in a run
 * of blanks, and groups of three digits from the right need code instead of a pattern. An unknown name is refused: a
 * different split gives other tokens and the model produces nonsense. */
#include <string.h>

#include "text/text.h"

#define CONTRACTIONS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LINES_AND_SPACES "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LETTERS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SIGNS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define LLAMA3 CONTRACTIONS "|" LETTERS "|\\p{N}{1,3}" SIGNS LINES_AND_SPACES
#define QWEN2 CONTRACTIONS "|" LETTERS "|\\p{N}" SIGNS LINES_AND_SPACES
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(END) "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" END "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" END
#define SIGNS_SLASH "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*"
#define GPT4O CASED(CONTRACTIONS "?") "|\\p{N}{1,3}" SIGNS_SLASH LINES_AND_SPACES
#define NOT_HAN(SET) "(?:(?!\\p{Han})" SET ")"
#define BLOOM " ?[^(\\s|.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c)]+"
#define CJK_DEEPSEEK "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+"
#define CJK_KANA "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+"
#define ASCII_SIGN "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]"
#define DEEPSEEK3 \
  ASCII_SIGN "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*" LINES_AND_SPACES
/* Cased letters, as listed in the tokenizer of the first DeepSeek. */
#define CASED_LETTERS                                                                                              \
  "A-Za-z\\x{b5}\\x{c0}-\\x{d6}\\x{d8}-\\x{f6}\\x{f8}-\\x{1ba}\\x{1bc}-\\x{1bf}\\x{1c4}-\\x{293}\\x{295}-\\x{2af}" \
  "\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37b}-\\x{37d}\\x{37f}\\x{386}\\x{388}-\\x{38a}\\x{38c}\\x{38e}-\\x{3a1}"   \
  "\\x{3a3}-\\x{3f5}\\x{3f7}-\\x{481}\\x{48a}-\\x{52f}\\x{531}-\\x{556}\\x{10a0}-\\x{10c5}\\x{13a0}-\\x{13f5}"     \
  "\\x{13f8}-\\x{13fd}\\x{1c90}-\\x{1cba}\\x{1cbd}-\\x{1cbf}\\x{1d00}-\\x{1d2b}\\x{1d6b}-\\x{1d77}"                \
  "\\x{1d79}-\\x{1d9a}\\x{1e00}-\\x{1f15}\\x{1f18}-\\x{1f1d}\\x{1f20}-\\x{1f45}\\x{1f48}-\\x{1f4d}"                \
  "\\x{1f50}-\\x{1f57}\\x{1f59}\\x{1f5b}\\x{1f5d}\\x{1f5f}-\\x{1f7d}\\x{1f80}-\\x{1fb4}\\x{1fb6}-\\x{1fbc}"        \
  "\\x{1fbe}\\x{1fc2}-\\x{1fc4}\\x{1fc6}-\\x{1fcc}\\x{1fd0}-\\x{1fd3}\\x{1fd6}-\\x{1fdb}\\x{1fe0}-\\x{1fec}"       \
  "\\x{1ff2}-\\x{1ff4}\\x{1ff6}-\\x{1ffc}\\x{2102}\\x{2107}\\x{210a}-\\x{2113}\\x{2115}\\x{2119}-\\x{211d}"        \
  "\\x{2124}\\x{2126}\\x{2128}\\x{212a}-\\x{212d}\\x{212f}-\\x{2134}\\x{2139}\\x{213c}-\\x{213f}\\x{2145}-"        \
  "\\x{2149}\\x{214e}\\x{2183}\\x{2184}\\x{2c00}-\\x{2c7b}\\x{2c7e}-\\x{2ce4}\\x{2ceb}-\\x{2cee}\\x{2cf2}"         \
  "\\x{2cf3}\\x{a640}-\\x{a66d}\\x{a680}-\\x{a69b}\\x{a722}-\\x{a76f}\\x{a771}-\\x{a787}\\x{a78b}-\\x{a78e}"       \
  "\\x{ab70}-\\x{abbf}\\x{fb00}-\\x{fb06}\\x{fb13}-\\x{fb17}\\x{ff21}-\\x{ff3a}\\x{ff41}-\\x{ff5a}"                \
  "\\x{10400}-\\x{1044f}\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"      \
  "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"

static const text_pre pres[] = {
  {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}, 0, 0, 0},
  {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", {LLAMA3}, true, true, 0},
  {"dbrx smaug-bpe chatglm-bpe", {LLAMA3}, 0, 0, 0},
  {"glm4 glm5", {LLAMA3}, true, 0, 0},
  {"minicpm5", {"\\p{N}{1,3}", CONTRACTIONS "|" LETTERS "|\\p{N}+" SIGNS LINES_AND_SPACES}, true, 0, 0},
  {"jais-2",
   {CONTRACTIONS
    "|" LETTERS "|\\p{N}{1,3}" SIGNS
    "|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?"
    "!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"},
   0,
   0,
   0},
  {"deepseek-llm",
   {"[\\r\\n]", "\\s?[" CASED_LETTERS "]+",
    "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+", "(?<!\\s)\\s++$",
    CJK_DEEPSEEK, "\\p{N}+"},
   0,
   0,
   0},
  {"deepseek-coder", {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_DEEPSEEK, "\\p{N}"}, 0, 0, 0},
  {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", {"\\p{N}{1,3}", CJK_KANA, DEEPSEEK3}, 0, 0, 0},
  {"falcon", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}, 0, 0, 0},
  {"starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", {"\\p{N}", GPT2}, 0, 0, 0},
  {"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en jina-v2-code "
   "roberta-bpe mpt olmo jais trillion granite-docling exaone4",
   {GPT2},
   0,
   0,
   0},
  {"qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan solar-open megrez grok-2", {QWEN2}, 0, 0, 0},
  {"laguna", {"[^\\n]+|[\\n]+", QWEN2}, 0, 0, 0},
  {"ufakzeka", {LETTERS "|\\p{N}" SIGNS LINES_AND_SPACES}, 0, 0, 0},
  {"qwen35",
   {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES_AND_SPACES},
   0,
   0,
   0},
  {"poro-chat bloom gpt3-finnish", {BLOOM}, 0, 0, 0},
  {"viking", {BLOOM, "\\p{N}"}, 0, 0, 0},
  {"tekken", {CASED("") "|\\p{N}" SIGNS_SLASH LINES_AND_SPACES}, true, true, 0},
  {"chameleon",
   {"<sentinel:[0-9]+>", "(?:IMGIMG)(?:[A-I]{1,4})Z", "[\\t\\n]|    |  ", "\\p{N}", "[\\p{P}!-/:-@\\[-`{-~]", GPT2},
   0,
   true,
   0},
  {"gpt-4o llama4 kanana2 talkie minimax-m2", {GPT4O}, 0, 0, 0},
  {"granite-embed-multi-97m", {GPT4O}, true, 0, 0},
  {"tiny_aya cohere2moe", {TEXT_DIGITS_RIGHT, GPT4O}, 0, 0, 0},
  {"kimi-k2",
   {"\\p{Han}+|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN(UPPER) "*" NOT_HAN(
     LOWER) "+" CONTRACTIONS
            "?|[^\\r\\n\\p{L}\\p{N}]?" NOT_HAN(UPPER) "+" NOT_HAN(LOWER) "*" CONTRACTIONS
                                                                         "?|\\p{N}{1,3}" SIGNS LINES_AND_SPACES},
   0,
   0,
   0},
  {"superbpe", {"\\p{N}+", TEXT_DIGITS_RIGHT}, 0, 0, 0},
  {"bailingmoe bailingmoe2 llada-moe",
   {"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}"
    "\\p{N}]++[\\r\\n]*|\\s*["
    "\\r\\n]|\\s+(?!\\S)|\\s+"},
   0,
   0,
   0},
  {"seed-coder", {CONTRACTIONS "|" LETTERS "|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" LINES_AND_SPACES}, 0, 0, 0},
  {"afmoe",
   {TEXT_DIGITS_RIGHT,
    "[\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{f900}-\\x{faff}\\x{3040}-\\x{309f}\\x{30a0}-"
    "\\x{30ff}\\x{ff65}-\\x{ff9f}"
    "\\x{2f00}-\\x{2fdf}\\x{e40}-\\x{e7f}\\x{e80}-\\x{eff}\\x{1780}-\\x{17ff}\\x{1000}-\\x{109f}\\x{aa60}-\\x{aa7f}"
    "\\x{a9e0}-\\x{a9ff}\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}]+",
    DEEPSEEK3},
   0,
   0,
   0},
  {"exaone-moe",
   {CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*["
    "\\r\\n]|\\s+(?!\\S)|\\s+"},
   0,
   0,
   0},
  {"youtu",
   {"[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}"
    "\\x{2019}\\x{2014}\\x{ff1a}"
    "\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|[\\x{3105}-\\x{312f}]+|" CJK_KANA,
    CASED(CONTRACTIONS "?") "|\\p{N}" SIGNS_SLASH LINES_AND_SPACES},
   true,
   0,
   0},
  {"spark2_5",
   {"\\p{N}{1,3}", CJK_KANA,
    ASCII_SIGN "[A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
    "\\p{N}"},
   0,
   0,
   0},
  {"gemma4 granite-embed-multi-311m", {"[^\\n]+|[\\n]+"}, 0, true, true},
  {"sarvam-moe", {"[^\\n]+|[\\n]+"}, 0, 0, true},
};
enum { N_PRES = sizeof pres / sizeof *pres };

const text_pre *text_pre_find(const char *name, size_t n) {
  for (size_t i = 0; i < N_PRES; i++)
    for (const char *p = pres[i].names; *p;) {
      size_t bytes = strcspn(p, " ");
      if (bytes == n && memcmp(p, name, n) == 0) return &pres[i];
      p += bytes + (p[bytes] == ' ');
    }
  return NULL;
}

void text_pre_list(rlx_str *out) {
  for (size_t i = 0; i < N_PRES; i++) rlx_str_add(out, "%s%s", i ? " " : "", pres[i].names);
}
