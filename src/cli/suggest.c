/* Names that fit a pattern, and "did you mean": the known name nearest to an unknown word.
 *
 * The metric is the edit distance with swaps of neighbours (Damerau-Levenshtein). A name that starts with the word
 * is near as well, however much is missing. There is no suggestion if every name is far. */
#include <string.h>

#include "cli/cli.h"

enum { MAX_LETTERS = 32 };

bool cli_fits(const char *pattern, const char *text) {
  if (!*pattern) return !*text;
  if (*pattern == '*') return cli_fits(pattern + 1, text) || (*text && cli_fits(pattern, text + 1));
  return *text && (*pattern == '?' || *pattern == *text) && cli_fits(pattern + 1, text + 1);
}

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* Row by row; only the two previous rows are kept, the older one for swaps. */
static size_t distance(const char *a, size_t n, const char *b, size_t m) {
  size_t rows[3][MAX_LETTERS + 1];
  for (size_t j = 0; j <= m; j++) rows[0][j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t *now = rows[i % 3];
    const size_t *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
    now[0] = i;
    for (size_t j = 1; j <= m; j++) {
      size_t best = min(min(now[j - 1], above[j]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) best = min(best, before[j - 2] + 1);
      now[j] = best;
    }
  }
  return rows[n % 3][m];
}

void cli_guess_try(cli_guess *g, const char *name, size_t bytes) {
  size_t n = strlen(g->word);
  if (n < 2 || n > MAX_LETTERS || bytes > MAX_LETTERS) return;
  bool is_start = n >= 4 && n < bytes && memcmp(g->word, name, n) == 0;
  size_t d = is_start ? 1 : distance(g->word, n, name, bytes);
  if (d > (n + 2) / 4 || (g->name && d >= g->distance)) return;
  g->name = name;
  g->bytes = bytes;
  g->distance = d;
}

void cli_guess_text(const cli_guess *g, char *out, size_t cap) {
  static const char ask[] = " (did you mean '";
  size_t n = sizeof ask - 1;
  out[0] = '\0';
  if (!g->name || n + g->bytes + 4 > cap) return;
  memcpy(out, ask, n);
  memcpy(out + n, g->name, g->bytes);
  memcpy(out + n + g->bytes, "'?)", 4);
}
