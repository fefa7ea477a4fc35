/* A device that is nobody's: a backend in memory that a test can bend. Blocks come with rubbish in them, mapped or not;
 * memory has a limit; the device can be lost; every range is checked; and there is one layout, FAKE_LAYOUT, which turns a
 * weight's bytes around behind a header. It is not in the registry: its owner is the test. */
#ifndef RLX_TESTS_FAKE_DEVICE_H
#define RLX_TESTS_FAKE_DEVICE_H

#include <stdatomic.h>

#include "device/backend.h"

enum { FAKE_LAYOUT = 7, FAKE_HEADER = 64, FAKE_RUBBISH = 0xdb };

typedef struct fake_device {
  rlx_device base;
  rlx_backend backend;
  bool is_mapped, is_lost;
  uint64_t room;          /* bytes of all blocks together; 0: no limit */
  uint64_t fails_to_zero; /* block_zero fails this many times */
  atomic_uint_least64_t live_bytes, n_blocks, n_zeroed;
} fake_device;

void fake_device_init(fake_device *f, bool is_mapped);

#endif
