/* Splits a variant at its commas and looks each word up in the table. */
#include "gpu/device_words.h"

#include <stdio.h>
#include <string.h>

/* A decimal number from 1, and nothing else. */
static bool read_number(const char *text, size_t n, uint64_t *out) {
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) {
    if (text[i] < '0' || text[i] > '9' || v > UINT64_MAX / 10 - 9) return false;
    v = v * 10 + (uint64_t)(text[i] - '0');
  }
  *out = v;
  return v > 0;
}

static bool read_word(const char *word, size_t n, const char *name, uint64_t *out) {
  const size_t n_name = strlen(name);
  if (n < n_name || strncmp(word, name, n_name) != 0) return false;
  if (name[n_name - 1] == '=') return read_number(word + n_name, n - n_name, out);
  *out = 1;
  return n == n_name;
}

static rlx_status unknown(const char *backend, const char *const *names, size_t n_names, const char *word, size_t n) {
  char list[192] = "";
  size_t at = 0;
  for (size_t i = 0; i < n_names && at < sizeof list; i++) {
    const char *between = i == 0 ? "" : i + 1 < n_names ? ", " : " or ";
    const bool is_number = names[i][strlen(names[i]) - 1] == '=';
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s%s", between, names[i], is_number ? "N" : "");
  }
  return RLX_FAIL(RLX_NOT_FOUND, "%s: expected %s, got '%.*s'", backend, list, (int)(n < 100 ? n : 100), word);
}

rlx_status gpu_device_words(const char *backend, const char *text, const char *const *names, size_t n,
                            uint64_t *values) {
  memset(values, 0, n * sizeof *values);
  for (const char *word = text ? text : ""; *word;) {
    const size_t n_word = strcspn(word, ",");
    size_t i = 0;
    while (i < n && !read_word(word, n_word, names[i], &values[i])) i++;
    if (i == n) return unknown(backend, names, n, word, n_word);
    word += n_word + (word[n_word] == ',');
  }
  return RLX_OK;
}
