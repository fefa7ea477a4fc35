/* The test driver's controls (vk_fault_driver.c): which calls fail, and counts of the calls. A test finds them with
 * dlsym in the module that the Vulkan loader has loaded. */
#ifndef RLX_TESTS_VK_FAULT_H
#define RLX_TESTS_VK_FAULT_H

#include <stdint.h>

typedef struct vk_fault_plan { /* calls are counted from 1 when the plan is set; 0: never */
  uint64_t fail_memory;        /* from this vkAllocateMemory on, the device is out of memory */
  uint64_t fail_create;        /* this vkCreate... is out of host memory; includes vkAllocate... of sets and commands */
  uint64_t fail_call;          /* this binding, mapping, recording, reset or submission is out of host memory */
  uint64_t lose_at_submit;     /* this vkQueueSubmit finds the device lost */
  uint64_t lose_at_wait;       /* this wait finds it lost */
} vk_fault_plan;

typedef struct vk_fault_counts { /* since the plan was set, except for `live` */
  uint64_t memory, creates, calls, submits, waits;
  int64_t live; /* objects and allocations created and not yet destroyed */
} vk_fault_counts;

typedef void (*vk_fault_set_fn)(const vk_fault_plan *plan);
typedef void (*vk_fault_get_fn)(vk_fault_counts *out);
#define VK_FAULT_SET "vk_fault_set"
#define VK_FAULT_GET "vk_fault_get"

/* Environment: the library of the real driver, and "1" to report the minimum limits of Vulkan. */
#define VK_FAULT_DRIVER "RLX_FAULT_REAL_DRIVER"
#define VK_FAULT_MINIMUM "RLX_FAULT_MINIMUM"

#endif
