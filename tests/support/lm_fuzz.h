/* Shared by the fuzz targets of weight files. A violation aborts the process, which reports the finding. */
#ifndef RLX_TESTS_LM_FUZZ_H
#define RLX_TESTS_LM_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "rlx/lm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Writes a file without waiting for the disk, unlike the library. */
void lm_fuzz_put(const char *path, const void *data, size_t bytes);
/* Opens the bytes as a file with this extension, and checks the library's promises about whatever opens. */
void lm_fuzz_file(const uint8_t *data, size_t bytes, const char *ending);
/* That of the model that ships; NULL: its file is not there. */
const rlx_tokenizer *lm_fuzz_tokenizer(void);

#endif
