/* The Vulkan backend of a library built without Vulkan headers. */
#include "device/absent.h"

RLX_BACKEND_ABSENT(vulkan, "Vulkan",
                   "this library was built without Vulkan: its headers (libvulkan-dev) were not there, or RLX_VULKAN "
                   "was off");
