/* A progress bar: one line on a terminal, redrawn a few times a second and erased at the end.
 *
 *   convert [============                ]  41 %  12 s */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"

enum { WIDTH = 40 };

void cli_bar_begin(cli_bar *b, const cli_common *common) {
  *b = (cli_bar){.is_shown = !common->quiet && cli_is_terminal(2), .begun = cli_seconds()};
}

void cli_bar_draw(void *bar, const char *stage, uint64_t done, uint64_t total) {
  cli_bar *b = bar;
  double now = cli_seconds();
  if (!b->is_shown || now - b->begun < 0.3 || now - b->drawn < 0.1 || total == 0) return;
  double share = done < total ? (double)done / (double)total : 1.0;
  char line[WIDTH + 1];
  for (int i = 0; i < WIDTH; i++) line[i] = i < (int)(share * WIDTH) ? '=' : ' ';
  line[WIDTH] = '\0';
  fprintf(stderr, "\r%s [%s] %3d %%  %.0f s", stage, line, (int)(share * 100), now - b->begun);
  fflush(stderr);
  b->drawn = now;
  b->is_drawn = true;
}

void cli_bar_end(cli_bar *b) {
  if (b->is_drawn) fputs("\r\033[K", stderr);
  b->is_drawn = false;
}
