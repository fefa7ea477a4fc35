/* What the fuzz targets of weight files share. A broken promise ends the process, which is how a finding is told. */
#ifndef RLX_TESTS_LM_FUZZ_H
#define RLX_TESTS_LM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Writes a file at once, without waiting for the disk as the library does. */
void lm_fuzz_put(const char *path, const void *data, size_t bytes);
/* Opens the bytes as a file with this ending, and holds what opens to all that is promised. */
void lm_fuzz_file(const uint8_t *data, size_t bytes, const char *ending);

#endif
