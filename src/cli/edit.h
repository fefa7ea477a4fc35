/* A line that a person types at a terminal: with history and editing where libedit is installed, which is loaded when
 * the first line is read; as the terminal gives it otherwise. */
#ifndef RLX_CLI_EDIT_H
#define RLX_CLI_EDIT_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__wasm__) || defined(_WIN32)
static inline bool cli_edit_is_there(void) { return false; }
static inline char *cli_edit_line(const char *prompt) { return (void)prompt, NULL; }
#else
bool cli_edit_is_there(void);
/* Free with free. NULL: end of input, or an interrupt. A line that is not empty goes into the history. */
char *cli_edit_line(const char *prompt);
#endif

#endif
