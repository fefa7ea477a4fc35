/* The CUDA backend of a library built without it: no devices, and the reason. */
#include "device/backend.h"

static uint32_t count(const char **why) {
  *why = "this library was built without CUDA (RLX_CUDA was off)";
  return 0;
}

static rlx_status describe(uint32_t index, rlx_device_info *out) {
  (void)out;
  return RLX_FAIL(RLX_NOT_FOUND, "cuda device %u: this library was built without CUDA", (unsigned)index);
}

static rlx_status open_device(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  (void)options;
  *out = NULL;
  return describe(index, &info);
}

/* Without devices no other function is called. */
const rlx_backend rlx_backend_cuda = {.name = "cuda", .count = count, .describe = describe, .open = open_device};
