/* WebAssembly has no signals: what runs the module ends it. A time limit counts as an interrupt where commands look for
 * one. */
#include <errno.h>

#include "cli/cli.h"

static double deadline; /* by cli_seconds; 0: none */

void cli_become(const char *const *words) {
  (void)words;
  errno = ENOSYS;
}

void cli_set_signals(void) {}
void cli_fill_standard_descriptors(void) {}

void cli_set_time_limit(double seconds, bool json) {
  (void)json;
  deadline = cli_seconds() + seconds;
}

void cli_note_interrupts(void) {}
void cli_forget_interrupts(void) {}
bool cli_interrupted(void) { return deadline > 0 && cli_seconds() > deadline; }

bool cli_is_interrupted(void *user) {
  (void)user;
  return cli_interrupted();
}

void cli_hold_interrupts(void) {}
void cli_release_interrupts(void) {}
