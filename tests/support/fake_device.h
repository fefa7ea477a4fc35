/* A fake device: a backend in memory that a test controls. Blocks are filled with garbage, mapped or not; memory has a
 * limit; the device can be lost; every range is checked. It has one layout, FAKE_LAYOUT, which reverses a weight's
 * bytes after a header. It is not in the registry: the test owns it. */
#ifndef RLX_TESTS_FAKE_DEVICE_H
#define RLX_TESTS_FAKE_DEVICE_H

#include <stdatomic.h>

#include "device/backend.h"

enum { FAKE_LAYOUT = 7, FAKE_HEADER = 64, FAKE_RUBBISH = 0xdb };

typedef struct fake_device {
  rlx_device base;
  rlx_backend backend;
  bool is_mapped, is_lost;
  uint64_t room;          /* limit of the bytes of all blocks; 0: none */
  uint64_t fails_to_zero; /* zeroing fails this many times */
  atomic_uint_least64_t live_bytes, n_blocks, n_zeroed;
} fake_device;

void fake_device_init(fake_device *f, bool is_mapped);

#endif
