/* Queries a physical device. A query contains only structs of extensions that the driver lists: some drivers print a
 * warning for an unknown struct. */
#include "vulkan/physical.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/os.h"

enum { MIN_GROUP = 128, MIN_SHARED = 16384, MAX_EXTENSIONS = 512, MAX_FAMILIES = 32, MAX_MATRICES = 128 };

static const struct {
  const char *name;
  uint32_t core;
} extension_rows[] = {
#define VK_EXT_ROW(id, name, core) {name, core},
#include "vulkan/extensions.def"
#undef VK_EXT_ROW
};

/* Inserts a struct that begins with sType and pNext into a chain, after its first. */
static void chain(void *first, void *more) {
  VkBaseOutStructure *a = first, *b = more;
  b->pNext = a->pNext;
  a->pNext = b;
}

static bool is_listed(const vk_physical *p, vk_extension e) { return p->listed >> e & 1; }

/* Usable: listed, or core in this version. */
static bool has(const vk_physical *p, vk_extension e) {
  return is_listed(p, e) || (extension_rows[e].core && p->api >= extension_rows[e].core);
}

static bool list_extensions(const vk_instance *i, vk_physical *p) {
  static VkExtensionProperties all[MAX_EXTENSIONS]; /* static: probing happens once, in one thread */
  uint32_t n = MAX_EXTENSIONS;
  if (i->EnumerateDeviceExtensionProperties(p->handle, NULL, &n, all) < 0) return false;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t e = 0; e < VK_USES_COUNT; e++)
      if (strcmp(all[k].extensionName, extension_rows[e].name) == 0) p->listed |= 1u << e;
  return true;
}

uint32_t vk_physical_extensions(const vk_physical *p, const char *names[VK_USES_COUNT]) {
  uint32_t n = 0;
  for (uint32_t e = 0; e < VK_USES_COUNT; e++)
    if (is_listed(p, (vk_extension)e)) names[n++] = extension_rows[e].name;
  return n;
}

/* ---- features ---- */

void vk_physical_features(const vk_instance *i, const vk_physical *p, vk_features *f) {
  *f = (vk_features){
    .core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
    .storage_16bit.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
    .storage_8bit.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
    .float16_int8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
    .memory_model.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
    .timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
    .subgroup_size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
    .dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
    .maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES,
    .cooperative_matrix.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
    .bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
  };
  chain(&f->core, &f->storage_16bit);
  if (has(p, VK_USES_storage_8bit)) chain(&f->core, &f->storage_8bit);
  if (has(p, VK_USES_float16_int8)) chain(&f->core, &f->float16_int8);
  if (has(p, VK_USES_memory_model)) chain(&f->core, &f->memory_model);
  if (has(p, VK_USES_timeline_semaphore)) chain(&f->core, &f->timeline);
  if (has(p, VK_USES_subgroup_size_control)) chain(&f->core, &f->subgroup_size);
  if (has(p, VK_USES_integer_dot_product)) chain(&f->core, &f->dot);
  if (has(p, VK_USES_maintenance4)) chain(&f->core, &f->maintenance4);
  if (has(p, VK_USES_cooperative_matrix)) chain(&f->core, &f->cooperative_matrix);
  if (has(p, VK_USES_bfloat16)) chain(&f->core, &f->bfloat16);
  i->GetPhysicalDeviceFeatures2(p->handle, &f->core);
  /* Of the Vulkan 1.0 features, kernels need only these. Others cost time, such as bounds checks of every access
   * (robustBufferAccess). */
  VkPhysicalDeviceFeatures all = f->core.features;
  f->core.features = (VkPhysicalDeviceFeatures){.shaderInt16 = all.shaderInt16, .shaderInt64 = all.shaderInt64};
  f->cooperative_matrix.cooperativeMatrixRobustBufferAccess = VK_FALSE;
}

/* ---- properties ---- */

typedef struct properties {
  VkPhysicalDeviceProperties2 core;
  VkPhysicalDeviceIDProperties id;
  VkPhysicalDeviceMaintenance3Properties maintenance3;
  VkPhysicalDeviceSubgroupProperties subgroup;
  VkPhysicalDeviceDriverProperties driver;
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_size;
  VkPhysicalDeviceShaderIntegerDotProductProperties dot;
  VkPhysicalDeviceMaintenance4Properties maintenance4;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv;
  VkPhysicalDeviceShaderCorePropertiesAMD amd;
} properties;

static void read_properties(const vk_instance *i, const vk_physical *p, properties *q) {
  *q = (properties){
    .core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
    .id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
    .maintenance3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
    .subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
    .driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
    .subgroup_size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES,
    .dot.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES,
    .maintenance4.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES,
    .nv.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV,
    .amd.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD,
  };
  chain(&q->core, &q->id);
  chain(&q->core, &q->maintenance3);
  chain(&q->core, &q->subgroup);
  if (has(p, VK_USES_driver_properties)) chain(&q->core, &q->driver);
  if (has(p, VK_USES_subgroup_size_control)) chain(&q->core, &q->subgroup_size);
  if (has(p, VK_USES_integer_dot_product)) chain(&q->core, &q->dot);
  if (has(p, VK_USES_maintenance4)) chain(&q->core, &q->maintenance4);
  if (is_listed(p, VK_USES_nv_sm_builtins)) chain(&q->core, &q->nv);
  if (is_listed(p, VK_USES_amd_core_properties)) chain(&q->core, &q->amd);
  i->GetPhysicalDeviceProperties2(p->handle, &q->core);
}

static void rank(vk_physical *p) {
  static const struct {
    VkPhysicalDeviceType type;
    rlx_device_kind kind;
  } order[] = {{VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, RLX_DEVICE_DISCRETE},
               {VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, RLX_DEVICE_INTEGRATED},
               {VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, RLX_DEVICE_INTEGRATED}};
  p->kind = RLX_DEVICE_SOFTWARE; /* including devices of unknown type */
  p->rank = sizeof order / sizeof *order;
  for (uint32_t k = 0; k < sizeof order / sizeof *order; k++)
    if (order[k].type == p->properties.deviceType) p->kind = order[k].kind, p->rank = k;
}

static uint32_t count_units(const vk_physical *p, const properties *q) {
  uint32_t amd = q->amd.shaderEngineCount * q->amd.shaderArraysPerEngineCount * q->amd.computeUnitsPerShaderArray;
  if (q->nv.shaderSMCount) return q->nv.shaderSMCount;
  if (amd) return amd;
  if (p->kind == RLX_DEVICE_DISCRETE) return 64;
  if (p->kind == RLX_DEVICE_INTEGRATED) return 16;
  return rlx_os_cores();
}

/* Whether there are cooperative matrices of 16 x 16 x 16 of this type with f32 accumulation and subgroup scope. */
static bool has_matrix(const vk_instance *i, const vk_physical *p, VkComponentTypeKHR type) {
  static VkCooperativeMatrixPropertiesKHR all[MAX_MATRICES];
  uint32_t n = MAX_MATRICES;
  if (!i->GetPhysicalDeviceCooperativeMatrixPropertiesKHR) return false;
  for (uint32_t k = 0; k < n; k++)
    all[k] = (VkCooperativeMatrixPropertiesKHR){.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  if (i->GetPhysicalDeviceCooperativeMatrixPropertiesKHR(p->handle, &n, all) < 0) return false;
  for (uint32_t k = 0; k < n; k++) {
    const VkCooperativeMatrixPropertiesKHR *m = &all[k];
    if (m->MSize == 16 && m->NSize == 16 && m->KSize == 16 && m->AType == type && m->BType == type &&
        m->CType == VK_COMPONENT_TYPE_FLOAT32_KHR && m->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
        m->scope == VK_SCOPE_SUBGROUP_KHR && !m->saturatingAccumulation)
      return true;
  }
  return false;
}

/* The subgroup size for kernels; 0: they use no subgroups. 32 is used if it can be chosen, because matrices need it. */
static uint32_t pick_subgroup(const vk_physical *p, const properties *q) {
  const VkSubgroupFeatureFlags needed =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  if (!(q->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) return 0;
  if ((q->subgroup.supportedOperations & needed) != needed) return 0;
  const VkPhysicalDeviceSubgroupSizeControlProperties *s = &q->subgroup_size;
  if (p->has_subgroup_size && s->minSubgroupSize <= 32 && s->maxSubgroupSize >= 32) return 32;
  return q->subgroup.subgroupSize;
}

static void fill_caps(const vk_instance *i, vk_physical *p, const vk_features *f, const properties *q) {
  const VkPhysicalDeviceLimits *l = &p->properties.limits;
  p->has_timeline = f->timeline.timelineSemaphore;
  p->has_memory_budget = is_listed(p, VK_USES_memory_budget);
  p->has_subgroup_size = f->subgroup_size.subgroupSizeControl && f->subgroup_size.computeFullSubgroups &&
                         (q->subgroup_size.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
  gpu_caps *c = &p->caps;
  *c = (gpu_caps){
    .max_group = l->maxComputeWorkGroupInvocations < l->maxComputeWorkGroupSize[0] ? l->maxComputeWorkGroupInvocations
                                                                                   : l->maxComputeWorkGroupSize[0],
    .max_shared = l->maxComputeSharedMemorySize,
    .max_groups_x = l->maxComputeWorkGroupCount[0],
    .max_window_bytes = l->maxStorageBufferRange / 16 * 16,
    .units = count_units(p, q),
    .subgroup = pick_subgroup(p, q),
    .has_dot8 = f->dot.shaderIntegerDotProduct && q->dot.integerDotProduct4x8BitPackedSignedAccelerated,
    .has_f16 = f->float16_int8.shaderFloat16 && f->storage_16bit.storageBuffer16BitAccess,
    .device_class = p->kind == RLX_DEVICE_DISCRETE     ? GPU_DISCRETE
                    : p->kind == RLX_DEVICE_INTEGRATED ? GPU_INTEGRATED
                                                       : GPU_SOFTWARE,
  };
  /* With a required subgroup size, the number of subgroups per workgroup is limited. */
  const uint64_t max = (uint64_t)c->subgroup * q->subgroup_size.maxComputeWorkgroupSubgroups;
  if (p->has_subgroup_size && max && max < c->max_group) c->max_group = (uint32_t)max;
  bool matrices = f->cooperative_matrix.cooperativeMatrix && c->has_f16 && c->subgroup == 32 &&
                  f->memory_model.vulkanMemoryModel && p->api >= VK_API_VERSION_1_3;
  c->has_coopmat = matrices && has_matrix(i, p, VK_COMPONENT_TYPE_FLOAT16_KHR);
  c->has_coopmat_bf16 = matrices && f->bfloat16.shaderBFloat16Type && f->bfloat16.shaderBFloat16CooperativeMatrix &&
                        has_matrix(i, p, VK_COMPONENT_TYPE_BFLOAT16_KHR);
}

static void fill_limits(vk_physical *p, const properties *q) {
  uint64_t max = q->maintenance3.maxMemoryAllocationSize;
  if (q->maintenance4.maxBufferSize && q->maintenance4.maxBufferSize < max) max = q->maintenance4.maxBufferSize;
  p->max_block_bytes = max >> 16 << 16; /* a buffer's allocation may be slightly larger than its size */
  memcpy(p->uuid, q->id.deviceUUID, sizeof p->uuid);
  uint32_t v = p->properties.driverVersion;
  if (q->driver.driverName[0])
    snprintf(p->driver, sizeof p->driver, "%.60s %.60s", q->driver.driverName, q->driver.driverInfo);
  else
    snprintf(p->driver, sizeof p->driver, "vendor %04x %u.%u.%u", (unsigned)p->properties.vendorID,
             (unsigned)VK_VERSION_MAJOR(v), (unsigned)VK_VERSION_MINOR(v), (unsigned)VK_VERSION_PATCH(v));
}

/* The first queue family with compute, preferring one with timestamps. */
static bool pick_family(const vk_instance *i, vk_physical *p) {
  VkQueueFamilyProperties all[MAX_FAMILIES];
  uint32_t n = MAX_FAMILIES, best = UINT32_MAX;
  i->GetPhysicalDeviceQueueFamilyProperties(p->handle, &n, all);
  for (uint32_t k = 0; k < n; k++) {
    if (!(all[k].queueFlags & VK_QUEUE_COMPUTE_BIT) || !all[k].queueCount) continue;
    if (best == UINT32_MAX || (!all[best].timestampValidBits && all[k].timestampValidBits)) best = k;
  }
  if (best == UINT32_MAX) return false;
  p->queue_family = best;
  p->n_queues = all[best].queueCount;
  p->timestamp_bits = all[best].timestampValidBits;
  return true;
}

bool vk_physical_probe(const vk_instance *i, VkPhysicalDevice handle, vk_physical *p, char *why, size_t why_bytes) {
  *p = (vk_physical){.handle = handle};
  i->GetPhysicalDeviceProperties(handle, &p->properties); /* the only query that a device of version 1.0 supports */
  const char *name = p->properties.deviceName;
  uint32_t api = p->properties.apiVersion;
  p->api = api < i->api ? api : i->api;
  if (p->api < VK_API_VERSION_1_1) {
    snprintf(why, why_bytes, "%.100s: Vulkan 1.1 is needed, its driver has %u.%u", name,
             (unsigned)VK_API_VERSION_MAJOR(api), (unsigned)VK_API_VERSION_MINOR(api));
    return false;
  }
  if (!list_extensions(i, p) || !pick_family(i, p)) {
    snprintf(why, why_bytes, "%.100s: it has no queue that computes", name);
    return false;
  }
  const VkPhysicalDeviceLimits *l = &p->properties.limits;
  if (l->maxPerStageDescriptorStorageBuffers < GPU_MAX_WINDOWS) {
    snprintf(why, why_bytes, "%.100s: %d bindings per kernel are needed, it has %u", name, (int)GPU_MAX_WINDOWS,
             (unsigned)l->maxPerStageDescriptorStorageBuffers);
    return false;
  }
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  i->GetPhysicalDeviceMemoryProperties2(handle, &memory);
  p->memory = memory.memoryProperties;
  vk_features f;
  properties q;
  vk_physical_features(i, p, &f);
  read_properties(i, p, &q);
  rank(p);
  fill_limits(p, &q);
  fill_caps(i, p, &f, &q);
  return true;
}

/* ---- memory ---- */

static uint32_t bits_in(VkMemoryPropertyFlags v) {
  uint32_t n = 0;
  for (; v; v &= v - 1) n++;
  return n;
}

uint32_t vk_memory_type(const VkPhysicalDeviceMemoryProperties *memory, uint32_t allowed, VkMemoryPropertyFlags flags,
                        VkMemoryPropertyFlags preferred) {
  /* Types for special uses: protected memory, lazily allocated memory, and AMD's device-coherent memory. */
  const VkMemoryPropertyFlags never = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                      VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
  uint32_t best = UINT32_MAX, best_matches = 0;
  uint64_t best_bytes = 0;
  for (uint32_t k = 0; k < memory->memoryTypeCount; k++) {
    VkMemoryPropertyFlags own = memory->memoryTypes[k].propertyFlags;
    if (!(allowed >> k & 1) || (own & flags) != flags || (own & never)) continue;
    uint32_t matches = bits_in(own & preferred);
    uint64_t bytes = memory->memoryHeaps[memory->memoryTypes[k].heapIndex].size;
    if (best != UINT32_MAX && (matches < best_matches || (matches == best_matches && bytes <= best_bytes))) continue;
    best = k;
    best_matches = matches;
    best_bytes = bytes;
  }
  return best;
}

/* ---- descriptions ---- */

static void describe_memory(const vk_instance *i, const vk_physical *p, rlx_device_info *out) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {.sType =
                                                        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                              .pNext = p->has_memory_budget ? &budget : NULL};
  i->GetPhysicalDeviceMemoryProperties2(p->handle, &memory);
  for (uint32_t k = 0; k < p->memory.memoryHeapCount; k++) {
    const VkMemoryHeap *heap = &p->memory.memoryHeaps[k];
    if (!(heap->flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) || heap->size <= out->memory_bytes) continue;
    out->memory_bytes = heap->size;
    out->free_bytes = budget.heapBudget[k] > budget.heapUsage[k] ? budget.heapBudget[k] - budget.heapUsage[k] : 0;
  }
}

void vk_physical_describe(const vk_instance *i, const vk_physical *p, rlx_device_info *out) {
  const uint64_t align = p->properties.limits.minStorageBufferOffsetAlignment;
  *out = (rlx_device_info){.backend = "vulkan",
                           .kind = p->kind,
                           .n_units = p->caps.units,
                           .max_block_bytes = p->max_block_bytes,
                           .max_window_bytes = p->caps.max_window_bytes,
                           .align = GPU_ALIGN,
                           .view_align = align > 16 ? align : 16};
  snprintf(out->name, sizeof out->name, "%.127s", p->properties.deviceName);
  snprintf(out->driver, sizeof out->driver, "%.127s", p->driver);
  const uint8_t *u = p->uuid;
  snprintf(out->uuid, sizeof out->uuid, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0],
           u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
  char caps[160];
  gpu_caps_text(&p->caps, caps, sizeof caps);
  snprintf(out->features, sizeof out->features, "vulkan%u.%u %s%s%s", (unsigned)VK_API_VERSION_MAJOR(p->api),
           (unsigned)VK_API_VERSION_MINOR(p->api), caps, p->has_timeline ? " timeline" : "",
           p->has_memory_budget ? " budget" : "");
  const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                     VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  out->is_mapped = p->kind != RLX_DEVICE_DISCRETE && vk_memory_type(&p->memory, UINT32_MAX, seen, 0) != UINT32_MAX;
  describe_memory(i, p, out);
}
