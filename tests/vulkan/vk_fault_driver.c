/* A Vulkan driver for fault injection. It forwards all calls from the loader to a real driver, except those that the
 * plan (vk_fault.h) makes fail: allocation number N, creation number N, the device at submission or wait number N. It
 * counts live objects, so a test detects leaks after a failure. It can also report the smallest limits that Vulkan
 * allows and reject what exceeds them.
 *
 * A lost device stays lost: every later submission and wait reports it. A new device works. */
#include "vk_fault.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_DEVICES = 64, MIN_RANGE = 128 << 20, MIN_ALLOCATION = 1 << 30 };

static PFN_vkGetInstanceProcAddr real_instance, real_physical;
static PFN_vkGetDeviceProcAddr real_device;
static VkInstance last_instance;

/* ---- controls ---- */

static vk_fault_plan plan;
static atomic_uint_least64_t n_memory, n_creates, n_calls, n_submits, n_waits;
static atomic_int_least64_t n_live;

EXPORT void vk_fault_set(const vk_fault_plan *p);
EXPORT void vk_fault_set(const vk_fault_plan *p) {
  plan = *p;
  atomic_store(&n_memory, 0);
  atomic_store(&n_creates, 0);
  atomic_store(&n_calls, 0);
  atomic_store(&n_submits, 0);
  atomic_store(&n_waits, 0);
}

EXPORT void vk_fault_get(vk_fault_counts *out);
EXPORT void vk_fault_get(vk_fault_counts *out) {
  *out = (vk_fault_counts){atomic_load(&n_memory),  atomic_load(&n_creates), atomic_load(&n_calls),
                           atomic_load(&n_submits), atomic_load(&n_waits),   atomic_load(&n_live)};
}

static bool is_nth(atomic_uint_least64_t *counter, uint64_t at) { return atomic_fetch_add(counter, 1) + 1 == at; }

static bool is_minimum(void) {
  const char *v = getenv(VK_FAULT_MINIMUM);
  return v && strcmp(v, "1") == 0;
}

/* ---- lost devices ---- */

static struct {
  VkDevice device;
  VkQueue queue;
  atomic_bool is_lost;
} devices[MAX_DEVICES]; /* created in one thread at a time; the tests ensure it */

static atomic_bool *lost_flag(VkDevice device, VkQueue queue) {
  static atomic_bool none;
  for (int i = 0; i < MAX_DEVICES; i++)
    if ((device && devices[i].device == device) || (queue && devices[i].queue == queue)) return &devices[i].is_lost;
  return &none;
}

/* ---- intercepted functions ---- */

/* A function of the real driver, looked up once. */
#define REAL(name) ((PFN_vk##name)real_of("vk" #name))
static PFN_vkVoidFunction real_of(const char *name) {
  PFN_vkVoidFunction f = NULL;
  for (int i = 0; i < MAX_DEVICES && !f; i++)
    if (devices[i].device) f = real_device(devices[i].device, name);
  return f ? f : real_instance(last_instance, name);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a,
                                                     VkInstance *out) {
  VkResult r = ((PFN_vkCreateInstance)real_instance(NULL, "vkCreateInstance"))(info, a, out);
  if (r == VK_SUCCESS) {
    last_instance = *out;
    real_device = (PFN_vkGetDeviceProcAddr)real_instance(*out, "vkGetDeviceProcAddr");
  }
  return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice p, const VkDeviceCreateInfo *info,
                                                   const VkAllocationCallbacks *a, VkDevice *out) {
  if (is_nth(&n_creates, plan.fail_create)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  VkResult r = ((PFN_vkCreateDevice)real_instance(last_instance, "vkCreateDevice"))(p, info, a, out);
  if (r != VK_SUCCESS) return r;
  int i = 0;
  while (i < MAX_DEVICES - 1 && devices[i].device) i++;
  devices[i].device = *out;
  atomic_store(&devices[i].is_lost, false);
  atomic_fetch_add(&n_live, 1);
  return r;
}

static VKAPI_ATTR void VKAPI_CALL DestroyDevice(VkDevice device, const VkAllocationCallbacks *a) {
  PFN_vkDestroyDevice destroy = REAL(DestroyDevice);
  for (int i = 0; i < MAX_DEVICES; i++)
    if (devices[i].device == device) devices[i].device = NULL, devices[i].queue = NULL;
  atomic_fetch_sub(&n_live, 1);
  destroy(device, a);
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out) {
  REAL(GetDeviceQueue)(device, family, index, out);
  for (int i = 0; i < MAX_DEVICES; i++)
    if (devices[i].device == device) devices[i].queue = *out;
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *a, VkDeviceMemory *out) {
  if (atomic_fetch_add(&n_memory, 1) + 1 >= plan.fail_memory && plan.fail_memory) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (is_minimum() && info->allocationSize > MIN_ALLOCATION) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkResult r = REAL(AllocateMemory)(device, info, a, out);
  if (r == VK_SUCCESS) atomic_fetch_add(&n_live, 1);
  return r;
}

static VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks *a) {
  if (memory) atomic_fetch_sub(&n_live, 1);
  REAL(FreeMemory)(device, memory, a);
}

/* Objects whose creation and destruction have the same form. */
#define OBJECTS                                                                       \
  OBJECT(Buffer, VkBuffer, VkBufferCreateInfo)                                        \
  OBJECT(Fence, VkFence, VkFenceCreateInfo)                                           \
  OBJECT(Semaphore, VkSemaphore, VkSemaphoreCreateInfo)                               \
  OBJECT(CommandPool, VkCommandPool, VkCommandPoolCreateInfo)                         \
  OBJECT(QueryPool, VkQueryPool, VkQueryPoolCreateInfo)                               \
  OBJECT(DescriptorPool, VkDescriptorPool, VkDescriptorPoolCreateInfo)                \
  OBJECT(DescriptorSetLayout, VkDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo) \
  OBJECT(PipelineLayout, VkPipelineLayout, VkPipelineLayoutCreateInfo)                \
  OBJECT(ShaderModule, VkShaderModule, VkShaderModuleCreateInfo)                      \
  OBJECT(PipelineCache, VkPipelineCache, VkPipelineCacheCreateInfo)
#define OBJECT(name, handle, create_info)                                                                      \
  static VKAPI_ATTR VkResult VKAPI_CALL Create##name(VkDevice device, const create_info *info,                 \
                                                     const VkAllocationCallbacks *a, handle *out) {            \
    if (is_nth(&n_creates, plan.fail_create)) return VK_ERROR_OUT_OF_HOST_MEMORY;                              \
    VkResult r = REAL(Create##name)(device, info, a, out);                                                     \
    if (r == VK_SUCCESS) atomic_fetch_add(&n_live, 1);                                                         \
    return r;                                                                                                  \
  }                                                                                                            \
  static VKAPI_ATTR void VKAPI_CALL Destroy##name(VkDevice device, handle h, const VkAllocationCallbacks *a) { \
    if (h) atomic_fetch_sub(&n_live, 1);                                                                       \
    REAL(Destroy##name)(device, h, a);                                                                         \
  }
OBJECTS
#undef OBJECT

static VKAPI_ATTR VkResult VKAPI_CALL CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t n,
                                                             const VkComputePipelineCreateInfo *infos,
                                                             const VkAllocationCallbacks *a, VkPipeline *out) {
  for (uint32_t i = 0; i < n; i++) out[i] = VK_NULL_HANDLE;
  if (is_nth(&n_creates, plan.fail_create)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  VkResult r = REAL(CreateComputePipelines)(device, cache, n, infos, a, out);
  for (uint32_t i = 0; i < n; i++)
    if (out[i]) atomic_fetch_add(&n_live, 1);
  return r;
}

static VKAPI_ATTR void VKAPI_CALL DestroyPipeline(VkDevice device, VkPipeline h, const VkAllocationCallbacks *a) {
  if (h) atomic_fetch_sub(&n_live, 1);
  REAL(DestroyPipeline)(device, h, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                                             VkDescriptorSet *out) {
  if (is_nth(&n_creates, plan.fail_create)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  return REAL(AllocateDescriptorSets)(device, info, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                             VkCommandBuffer *out) {
  if (is_nth(&n_creates, plan.fail_create)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  return REAL(AllocateCommandBuffers)(device, info, out);
}

/* Calls that create nothing but may run out of memory. */
#define CALLS                                                                                                  \
  CALL(BindBufferMemory, (VkDevice device, VkBuffer b, VkDeviceMemory m, VkDeviceSize at), (device, b, m, at)) \
  CALL(MapMemory,                                                                                              \
       (VkDevice device, VkDeviceMemory m, VkDeviceSize at, VkDeviceSize n, VkMemoryMapFlags f, void **out),   \
       (device, m, at, n, f, out))                                                                             \
  CALL(BeginCommandBuffer, (VkCommandBuffer c, const VkCommandBufferBeginInfo *info), (c, info))               \
  CALL(EndCommandBuffer, (VkCommandBuffer c), (c))                                                             \
  CALL(ResetFences, (VkDevice device, uint32_t n, const VkFence *fences), (device, n, fences))                 \
  CALL(GetPipelineCacheData, (VkDevice device, VkPipelineCache c, size_t * n, void *out), (device, c, n, out))
#define CALL(name, parameters, arguments)                                     \
  static VKAPI_ATTR VkResult VKAPI_CALL name parameters {                     \
    if (is_nth(&n_calls, plan.fail_call)) return VK_ERROR_OUT_OF_HOST_MEMORY; \
    return REAL(name) arguments;                                              \
  }
CALLS
#undef CALL

/* A driver with larger limits would not report a binding beyond the emulated one. */
static VKAPI_ATTR void VKAPI_CALL UpdateDescriptorSets(VkDevice device, uint32_t n, const VkWriteDescriptorSet *writes,
                                                       uint32_t n_copies, const VkCopyDescriptorSet *copies) {
  for (uint32_t i = 0; is_minimum() && i < n; i++)
    if (writes[i].pBufferInfo->range > MIN_RANGE || writes[i].pBufferInfo->offset % 256) abort();
  REAL(UpdateDescriptorSets)(device, n, writes, n_copies, copies);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t n, const VkSubmitInfo *infos, VkFence fence) {
  atomic_bool *is_lost = lost_flag(NULL, queue);
  if (is_nth(&n_calls, plan.fail_call)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (is_nth(&n_submits, plan.lose_at_submit)) atomic_store(is_lost, true);
  return atomic_load(is_lost) ? VK_ERROR_DEVICE_LOST : REAL(QueueSubmit)(queue, n, infos, fence);
}

/* Waits for the work submitted before, so that the real driver can be shut down afterwards. */
static bool loses_wait(VkDevice device) {
  atomic_bool *is_lost = lost_flag(device, NULL);
  if (is_nth(&n_waits, plan.lose_at_wait)) {
    REAL(DeviceWaitIdle)(device);
    atomic_store(is_lost, true);
  }
  return atomic_load(is_lost);
}

static VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t time) {
  return loses_wait(device) ? VK_ERROR_DEVICE_LOST : REAL(WaitSemaphores)(device, info, time);
}

static VKAPI_ATTR VkResult VKAPI_CALL WaitForFences(VkDevice device, uint32_t n, const VkFence *fences, VkBool32 all,
                                                    uint64_t time) {
  return loses_wait(device) ? VK_ERROR_DEVICE_LOST : REAL(WaitForFences)(device, n, fences, all, time);
}

static VKAPI_ATTR VkResult VKAPI_CALL GetSemaphoreCounterValue(VkDevice device, VkSemaphore s, uint64_t *value) {
  if (atomic_load(lost_flag(device, NULL))) return VK_ERROR_DEVICE_LOST;
  return REAL(GetSemaphoreCounterValue)(device, s, value);
}

/* ---- limits ---- */

static void lower(VkPhysicalDeviceProperties *p) {
  VkPhysicalDeviceLimits *l = &p->limits;
  if (!is_minimum()) return;
  l->maxStorageBufferRange = MIN_RANGE;
  l->maxPushConstantsSize = 128;
  l->maxComputeSharedMemorySize = 16384;
  l->maxComputeWorkGroupInvocations = 128;
  l->maxComputeWorkGroupSize[0] = l->maxComputeWorkGroupSize[1] = 128;
  l->maxComputeWorkGroupSize[2] = 64;
  for (int i = 0; i < 3; i++) l->maxComputeWorkGroupCount[i] = 65535;
  l->minStorageBufferOffsetAlignment = 256;
  l->maxMemoryAllocationCount = 4096;
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties(VkPhysicalDevice p, VkPhysicalDeviceProperties *out) {
  ((PFN_vkGetPhysicalDeviceProperties)real_instance(last_instance, "vkGetPhysicalDeviceProperties"))(p, out);
  lower(out);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice p, VkPhysicalDeviceProperties2 *out) {
  ((PFN_vkGetPhysicalDeviceProperties2)real_instance(last_instance, "vkGetPhysicalDeviceProperties2"))(p, out);
  lower(&out->properties);
  for (VkBaseOutStructure *s = out->pNext; s && is_minimum(); s = s->pNext) {
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES)
      ((VkPhysicalDeviceMaintenance3Properties *)(void *)s)->maxMemoryAllocationSize = MIN_ALLOCATION;
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)
      ((VkPhysicalDeviceSubgroupProperties *)(void *)s)->supportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT;
  }
}

/* ---- function lookup ---- */

static PFN_vkVoidFunction own(const char *name);

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDeviceProcAddr(VkDevice device, const char *name) {
  PFN_vkVoidFunction real = real_device(device, name), mine = own(name);
  return real && mine ? mine : real;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstanceProcAddr(VkInstance instance, const char *name) {
  PFN_vkVoidFunction real = real_instance(instance, name), mine = own(name);
  return real && mine ? mine : real;
}

static PFN_vkVoidFunction own(const char *name) {
  static const struct {
    const char *name;
    PFN_vkVoidFunction fn;
  } all[] = {
#define OWN(f) {"vk" #f, (PFN_vkVoidFunction)f},
#define OBJECT(f, handle, info) OWN(Create##f) OWN(Destroy##f)
#define CALL(f, parameters, arguments) OWN(f)
    OBJECTS CALLS OWN(CreateInstance) OWN(CreateDevice) OWN(DestroyDevice) OWN(GetDeviceQueue) OWN(AllocateMemory)
      OWN(FreeMemory) OWN(CreateComputePipelines) OWN(DestroyPipeline) OWN(AllocateDescriptorSets)
        OWN(AllocateCommandBuffers) OWN(UpdateDescriptorSets) OWN(QueueSubmit) OWN(WaitSemaphores) OWN(WaitForFences)
          OWN(GetSemaphoreCounterValue) OWN(GetPhysicalDeviceProperties) OWN(GetPhysicalDeviceProperties2)
            OWN(GetDeviceProcAddr) OWN(GetInstanceProcAddr)
#undef CALL
#undef OBJECT
#undef OWN
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, name) == 0) return all[i].fn;
  return NULL;
}

/* ---- entry points for the loader ---- */

typedef VkResult(VKAPI_PTR *negotiate_fn)(uint32_t *version);

static void find(void *library, const char *name, void *function) {
  void *p = library ? dlsym(library, name) : NULL;
  memcpy(function, &p, sizeof p);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  const char *name = getenv(VK_FAULT_DRIVER);
  void *library = dlopen(name ? name : "libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
  negotiate_fn negotiate;
  find(library, "vk_icdNegotiateLoaderICDInterfaceVersion", &negotiate);
  find(library, "vk_icdGetInstanceProcAddr", &real_instance);
  find(library, "vk_icdGetPhysicalDeviceProcAddr", &real_physical);
  return real_instance && negotiate ? negotiate(version) : VK_ERROR_INCOMPATIBLE_DRIVER;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance, const char *name) {
  return GetInstanceProcAddr(instance, name);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char *name) {
  PFN_vkVoidFunction real = real_physical ? real_physical(instance, name) : NULL, mine = own(name);
  return real && mine ? mine : real;
}
