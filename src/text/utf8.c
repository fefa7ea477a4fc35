/* UTF-8 decoding and encoding, and the character properties that tokenizers use.
 *
 * White space is Unicode's White_Space (25 characters), as tokenizer authors mean it; PCRE2's \s has one more.
 * GPT-2's byte-level alphabet gives each of the 256 bytes a visible character: visible Latin-1 bytes map to
 * themselves, the others to the characters from U+0100 on, in order. */
#include <utf8proc.h>

#include "text/text.h"

size_t text_character(const char *text, size_t n, int32_t *code) {
  const unsigned char *p = (const unsigned char *)text;
  if (n == 0) return 0;
  if (p[0] < 0x80) {
    *code = p[0];
    return 1;
  }
  size_t size = p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
  if (size == 0 || size > n) return 0;
  for (size_t i = 1; i < size; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  int32_t c = size == 2   ? (p[0] & 0x1f) << 6 | (p[1] & 0x3f)
              : size == 3 ? (p[0] & 0x0f) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f)
                          : (p[0] & 0x07) << 18 | (p[1] & 0x3f) << 12 | (p[2] & 0x3f) << 6 | (p[3] & 0x3f);
  if ((size == 3 && c < 0x800) || (size == 4 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000)) return 0;
  *code = c;
  return size;
}

size_t text_valid_prefix(const char *p, size_t n) {
  size_t at = 0;
  int32_t code;
  while (at < n) {
    size_t size = (unsigned char)p[at] < 0x80 ? 1 : text_character(p + at, n - at, &code);
    if (size == 0) break;
    at += size;
  }
  return at;
}

bool text_may_grow(const char *text, size_t n) {
  const unsigned char *p = (const unsigned char *)text;
  size_t size = p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
  if (n >= size) return false;
  if (n > 1) {
    unsigned char min = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char max = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < min || p[1] > max) return false;
  }
  return n < 3 || (p[2] & 0xc0) == 0x80;
}

size_t text_broken_bytes(const char *p, size_t n) {
  size_t bad = 1;
  while (bad < n && bad < 3 && text_may_grow(p, bad + 1)) bad++;
  return bad;
}

size_t text_put(char *out, int32_t code) {
  utf8proc_ssize_t n = utf8proc_encode_char(code, (utf8proc_uint8_t *)out);
  return n > 0 ? (size_t)n : 0;
}

bool text_is_space(int32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool text_is_digit(int32_t c) { return c < 128 ? c >= '0' && c <= '9' : utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool text_is_word(int32_t c) {
  utf8proc_category_t k = utf8proc_category(c);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC;
}

bool text_is_punctuation(int32_t c) {
  if (c < 128)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

static bool shows_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The bytes without a visible character, in order: 0 to 32, 127 to 160, 173. */
int text_byte_of(int32_t code) {
  if (code < 256) return code >= 0 && shows_itself(code) ? (int)code : -1;
  int at = (int)code - 256;
  return at <= 32 ? at : at <= 66 ? at - 33 + 127 : at == 67 ? 173 : -1;
}

int32_t text_byte_character(int byte) {
  if (shows_itself(byte)) return byte;
  return 256 + (byte <= 32 ? byte : byte <= 160 ? byte - 127 + 33 : 67);
}
