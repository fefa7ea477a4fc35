/* Opens a device, and the variants of it that a name can select.
 *
 * "vulkan:minimal,window=65536" is a variant: words separated by commas. They emulate other machines, mostly by
 * removing features:
 *
 *   minimal    only what Vulkan 1.1 guarantees: 128 MiB bindings, workgroups of 128, 16 KiB of shared memory, windows
 *              at multiples of 256 bytes, fences instead of a timeline semaphore, no optional features
 *   staging    device memory that is not host-visible, even if it could be
 *   mapped     host-visible memory, even if that is slow; the default if host and device share their memory
 *   probe      runs the probes (probe.h) on a software device, which skips them otherwise
 *   block=N    blocks of at most N bytes
 *   window=N   bindings of at most N bytes
 *   submit=N   submissions of at most N units of work: splits programs into many
 *   queues=N   up to 4 hardware queues for the sessions, if the device has them; default 1 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "device/queue.h"
#include "gpu/device_words.h"
#include "vulkan/probe.h"
#include "vulkan/vk.h"

/* ---- failures ---- */

static const char *result_name(VkResult r) {
  switch (r) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "the driver is out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "the device is out of memory";
    case VK_ERROR_TOO_MANY_OBJECTS: return "the driver allows no more allocations";
    case VK_ERROR_MEMORY_MAP_FAILED: return "the memory cannot be mapped";
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "a pool of the driver is full";
    case VK_ERROR_DEVICE_LOST: return "the device is lost";
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver failed to start";
    default: return NULL;
  }
}

static rlx_status status_of(VkResult r) {
  switch (r) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_OUT_OF_POOL_MEMORY: return RLX_NO_MEMORY;
    case VK_ERROR_DEVICE_LOST: return RLX_DEVICE_LOST;
    default: return RLX_UNSUPPORTED;
  }
}

rlx_status vk_fail(vk_device *d, VkResult r, const char *fmt, ...) {
  char what[192], number[32];
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(what, sizeof what, fmt, args);
  va_end(args);
  const char *name = result_name(r);
  snprintf(number, sizeof number, "VkResult %d", (int)r);
  if (r == VK_ERROR_DEVICE_LOST && !atomic_exchange(&d->lost_begun, true)) {
    snprintf(d->lost_why, sizeof d->lost_why, "%s", what);
    atomic_store(&d->base.is_lost, true);
    rlx_log_write(RLX_LOG_ERROR, "vulkan: %s: %s: the device is lost", d->base.info.name, what);
  }
  return RLX_FAIL(status_of(r), "vulkan: %s: %s", what, name ? name : number);
}

rlx_status vk_check(vk_device *d) {
  if (!atomic_load(&d->base.is_lost)) return RLX_OK;
  return RLX_FAIL(RLX_DEVICE_LOST, "vulkan: %.100s was lost before (%s); a new session opens it anew",
                  d->base.info.name, d->lost_why);
}

/* ---- barriers ---- */

void vk_barrier(const vk_device *d, VkCommandBuffer cmd, bool to_host) {
  const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                               .dstAccessMask = to_host ? VK_ACCESS_HOST_READ_BIT
                                                        : VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                                            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
  const VkPipelineStageFlags work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  d->CmdPipelineBarrier(cmd, work, to_host ? VK_PIPELINE_STAGE_HOST_BIT : work, 0, 1, &all, 0, NULL, 0, NULL);
}

/* ---- variants ---- */

typedef struct variant { /* in the order of the words; 0: absent, or the device's own value */
  uint64_t minimal, staging, mapped, probe, block, window, submit, queues;
} variant;

static const char *const words[] = {"minimal", "staging", "mapped", "probe", "block=", "window=", "submit=", "queues="};
_Static_assert(sizeof(variant) == sizeof words / sizeof *words * sizeof(uint64_t), "a field for each word");

static rlx_status read_variant(const char *text, variant *v) {
  RLX_TRY(gpu_device_words("vulkan", text, words, sizeof words / sizeof *words, &v->minimal));
  if (v->staging && v->mapped) return RLX_FAIL(RLX_NOT_FOUND, "vulkan: memory is either staging or mapped, not both");
  return RLX_OK;
}

static void min(uint64_t *v, uint64_t limit) {
  if (limit && limit < *v) *v = limit;
}

/* Removes what the variant does not have. */
static void apply_variant(vk_device *d, const variant *v) {
  rlx_device_info *info = &d->base.info;
  gpu_caps *c = &d->caps;
  d->is_minimal = v->minimal;
  if (v->minimal) {
    const uint32_t group = c->max_group < 128 ? c->max_group : 128;
    *c = (gpu_caps){.max_group = group,
                    .max_shared = 16384,
                    .max_groups_x = 65535,
                    .max_window_bytes = c->max_window_bytes,
                    .units = c->units};
    min(&c->max_window_bytes, 128 << 20);
    min(&info->max_block_bytes, 1 << 30);
    info->view_align = 256;
  }
  min(&info->max_block_bytes, v->block);
  min(&c->max_window_bytes, v->window);
  c->max_window_bytes -= c->max_window_bytes > 16 ? c->max_window_bytes % 16 : 0;
  info->max_window_bytes = c->max_window_bytes;
  d->submit_cost = v->submit ? v->submit : (uint64_t)gpu_tuned(&d->caps)->submit_millions * 1000000;
  char caps[160];
  gpu_caps_text(c, caps, sizeof caps);
  if (v->minimal) snprintf(info->features, sizeof info->features, "vulkan1.1 %s", caps);
}

/* ---- opening ---- */

static rlx_status load_functions(vk_device *d) {
  const char *missing = NULL;
#define VK_DEVICE(f) \
  if (!(d->f = (PFN_vk##f)d->instance->GetDeviceProcAddr(d->handle, "vk" #f))) missing = "vk" #f;
#define VK_DEVICE_PROMOTED(f)                                           \
  d->f = (PFN_vk##f)d->instance->GetDeviceProcAddr(d->handle, "vk" #f); \
  if (!d->f) d->f = (PFN_vk##f)d->instance->GetDeviceProcAddr(d->handle, "vk" #f "KHR");
#include "vulkan/functions.def"
  return missing ? RLX_FAIL(RLX_UNSUPPORTED, "vulkan: the driver lacks %s", missing) : RLX_OK;
}

/* The default is 1: several are slower on NVIDIA GPUs, which switch between them (decision 0024). */
static uint32_t count_queues(const vk_device *d, const variant *v) {
  uint64_t n = v->queues ? v->queues : 1;
  if (n > VK_MAX_HARDWARE_QUEUES) n = VK_MAX_HARDWARE_QUEUES;
  return n < d->physical->n_queues ? (uint32_t)n : d->physical->n_queues;
}

static rlx_status create_device(vk_device *d, const variant *v) {
  static const float priority[VK_MAX_HARDWARE_QUEUES] = {1, 1, 1, 1};
  const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                         .queueFamilyIndex = d->physical->queue_family,
                                         .queueCount = count_queues(d, v),
                                         .pQueuePriorities = priority};
  const char *extensions[VK_USES_COUNT];
  vk_features features;
  VkDeviceCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  if (!d->is_minimal) {
    vk_physical_features(d->instance, d->physical, &features);
    info.pNext = &features.core;
    info.enabledExtensionCount = vk_physical_extensions(d->physical, extensions);
    info.ppEnabledExtensionNames = extensions;
  }
  VkResult r = d->instance->CreateDevice(d->physical->handle, &info, NULL, &d->handle);
  if (r) return vk_fail(d, r, "opening %.100s", d->base.info.name);
  RLX_TRY(load_functions(d));
  for (; d->n_hardware < queue.queueCount; d->n_hardware++) {
    vk_hardware *h = &d->hardware[d->n_hardware];
    if (!rlx_mutex_init(&h->lock)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a mutex");
    d->GetDeviceQueue(d->handle, queue.queueFamilyIndex, d->n_hardware, &h->handle);
  }
  return RLX_OK;
}

/* The memory types that buffers may use: they depend only on the buffers' usage. */
static rlx_status buffer_types(vk_device *d, uint32_t *out) {
  const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                   .size = VK_RANGE_ALIGN,
                                   .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                            VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  VkResult r = d->CreateBuffer(d->handle, &info, NULL, &buffer);
  if (r) return vk_fail(d, r, "a first buffer");
  VkMemoryRequirements needs;
  d->GetBufferMemoryRequirements(d->handle, buffer, &needs);
  d->DestroyBuffer(d->handle, buffer, NULL);
  *out = needs.memoryTypeBits;
  return RLX_OK;
}

static rlx_status pick_memory(vk_device *d, const variant *v) {
  const VkPhysicalDeviceMemoryProperties *m = &d->physical->memory;
  const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  uint32_t types = 0;
  RLX_TRY(buffer_types(d, &types));
  const bool is_discrete = d->physical->kind == RLX_DEVICE_DISCRETE;
  /* By default only host-cached memory is mapped: without the cache, a copy by the device is faster. */
  const uint32_t mapped =
    v->mapped ? vk_memory_type(m, types, host | local, cached) : vk_memory_type(m, types, host | local | cached, 0);
  d->base.info.is_mapped = mapped != UINT32_MAX && !v->staging && (v->mapped || !is_discrete);
  if (v->mapped && !d->base.info.is_mapped)
    return RLX_FAIL(RLX_NOT_FOUND, "vulkan: %.100s has no memory that the host sees", d->base.info.name);
  d->device_heap.type = d->base.info.is_mapped ? mapped : vk_memory_type(m, types, local, 0);
  d->device_heap.is_mapped = d->base.info.is_mapped;
  d->host_heap.type = vk_memory_type(m, types, host, cached);
  d->host_heap.is_mapped = true;
  if (d->device_heap.type == UINT32_MAX || d->host_heap.type == UINT32_MAX)
    return RLX_FAIL(RLX_UNSUPPORTED, "vulkan: %.100s has no memory for buffers", d->base.info.name);
  d->device_heap.chunk_bytes = gpu_tuned(&d->caps)->heap_chunk_bytes;
  d->host_heap.chunk_bytes = 64 << 10;
  min(&d->device_heap.chunk_bytes,
      (d->base.info.max_block_bytes + VK_RANGE_ALIGN - 1) / VK_RANGE_ALIGN * VK_RANGE_ALIGN);
  return RLX_OK;
}

/* Work that runs when the device is opened, before the first session has a queue. */
static rlx_status prepare(vk_device *d, vk_queue *q, bool probes) {
  RLX_TRY(vk_range_alloc(d, &d->device_heap, VK_RANGE_ALIGN, "zeros", &d->nothing));
  RLX_TRY(vk_range_zero(q, &d->nothing));
  RLX_TRY(vk_pipelines_init(d));
  if (probes) RLX_TRY(vk_probe_f16(q, &d->caps.packs_f16));
  if (probes) RLX_TRY(vk_probe_fragments(q, &d->caps));
  return rlx_queue_sync(&q->base);
}

static rlx_status fill(vk_device *d, const rlx_open_options *options) {
  variant v;
  RLX_TRY(read_variant(options ? options->variant : NULL, &v));
  apply_variant(d, &v);
  if (!rlx_mutex_init(&d->lock)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a mutex");
  d->n_locks = 1;
  if (!rlx_mutex_init(&d->memory_lock)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a mutex");
  d->n_locks = 2;
  if (!rlx_cond_init(&d->waited)) return RLX_FAIL(RLX_NO_MEMORY, "vulkan: a condition variable");
  d->n_locks = 3;
  RLX_TRY(create_device(d, &v));
  RLX_TRY(pick_memory(d, &v));
  rlx_queue *q;
  RLX_TRY(vk_queue_create(&d->base, &q));
  /* A software driver gains nothing from packing, and tests open it thousands of times. */
  rlx_status s = prepare(d, vk_queue_of(q), !v.minimal && (d->physical->kind != RLX_DEVICE_SOFTWARE || v.probe));
  vk_queue_destroy(q);
  return s;
}

rlx_status vk_device_open(uint32_t index, const rlx_open_options *options, rlx_device **out) {
  *out = NULL;
  const vk_loader *l = vk_loader_get();
  if (index >= l->n_devices)
    return RLX_FAIL(RLX_NOT_FOUND, "vulkan device %u: there are %u", (unsigned)index, (unsigned)l->n_devices);
  vk_device *d = rlx_new(vk_device);
  if (!d) return RLX_FAIL(RLX_NO_MEMORY, "a vulkan device");
  d->base.backend = &rlx_backend_vulkan;
  d->instance = &l->instance;
  d->physical = &l->devices[index];
  d->caps = d->physical->caps;
  vk_physical_describe(d->instance, d->physical, &d->base.info);
  rlx_status s = fill(d, options);
  if (s) vk_device_close(&d->base);
  else *out = &d->base;
  return s;
}

void vk_device_close(rlx_device *base) {
  if (!base) return;
  vk_device *d = vk_device_of(base);
  if (d->handle && d->DestroyDevice) {
    if (d->DeviceWaitIdle) d->DeviceWaitIdle(d->handle);
    vk_pipelines_deinit(d);
    vk_heap_deinit(d, &d->device_heap);
    vk_heap_deinit(d, &d->host_heap);
    d->DestroyDevice(d->handle, NULL);
  }
  while (d->n_hardware > 0) rlx_mutex_destroy(&d->hardware[--d->n_hardware].lock);
  if (d->n_locks > 2) rlx_cond_destroy(&d->waited);
  if (d->n_locks > 1) rlx_mutex_destroy(&d->memory_lock);
  if (d->n_locks > 0) rlx_mutex_destroy(&d->lock);
  rlx_mem_free(d);
}
