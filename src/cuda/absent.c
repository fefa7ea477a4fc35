/* The CUDA backend of a library built without it. */
#include "device/absent.h"

RLX_BACKEND_ABSENT(cuda, "CUDA", "this library was built without CUDA (RLX_CUDA was off)");
