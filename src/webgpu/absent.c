/* The WebGPU backend of a library built without it. */
#include "device/absent.h"

RLX_BACKEND_ABSENT(webgpu, "WebGPU", "this library was built without WebGPU (RLX_WEBGPU was off)");
