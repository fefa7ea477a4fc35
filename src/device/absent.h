/* RLX_BACKEND_ABSENT(name, title, reason): the backend of a library that was built without it: no devices, and the
 * reason. Without devices no other function of a backend is called. */
#ifndef RLX_DEVICE_ABSENT_H
#define RLX_DEVICE_ABSENT_H

#include "device/backend.h"

#define RLX_BACKEND_ABSENT(name_, title, reason)                                                                 \
  static uint32_t count(const char **why) {                                                                      \
    *why = reason;                                                                                               \
    return 0;                                                                                                    \
  }                                                                                                              \
  static rlx_status describe(uint32_t index, rlx_device_info *out) {                                             \
    (void)out;                                                                                                   \
    return RLX_FAIL(RLX_NOT_FOUND, #name_ " device %u: this library was built without " title, (unsigned)index); \
  }                                                                                                              \
  static rlx_status open_device(uint32_t index, const rlx_open_options *options, rlx_device **out) {             \
    rlx_device_info info = {RLX_DEVICE_INFO_INIT};                                                               \
    (void)options;                                                                                               \
    *out = NULL;                                                                                                 \
    return describe(index, &info);                                                                               \
  }                                                                                                              \
  const rlx_backend rlx_backend_##name_ = {.name = #name_, .count = count, .describe = describe, .open = open_device}

#endif
