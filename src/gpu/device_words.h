/* The words of a device's variant: "minimal,window=65536" in "vulkan:minimal,window=65536". Each backend has a table of
 * those it knows. */
#ifndef RLX_GPU_DEVICE_WORDS_H
#define RLX_GPU_DEVICE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* names[i]: a word, or one that ends in '=' and is followed by a number from 1. values[i]: 1 or that number; 0: the
 * word is not there. An unknown word is RLX_NOT_FOUND and the message lists all. text may be NULL. */
rlx_status gpu_device_words(const char *backend, const char *text, const char *const *names, size_t n,
                            uint64_t *values);

#endif
