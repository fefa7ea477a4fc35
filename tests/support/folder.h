/* A folder for the files of tests: one per program, under TMPDIR or /tmp, emptied at the start of each test that uses
 * it and removed when the program ends. */
#ifndef RLX_TESTS_FOLDER_H
#define RLX_TESTS_FOLDER_H

#include <stdbool.h>

/* Creates or empties it; false on failure. */
bool folder_begin(void);
/* The folder, and a path in it; four paths may be in use at once. */
const char *folder_name(void);
const char *folder_path(const char *name);
/* The number of entries. */
int folder_count(void);

#endif
