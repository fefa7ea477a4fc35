/* Probes for two properties that the specification leaves open. First, whether packing two f32 values to f16 rounds to
 * nearest even, including subnormal values (kernels/probe_f16.k compares it with arithmetic that does). Second, which
 * elements of a cooperative matrix an invocation holds (kernels/fragments.glsl.k). */
#include "vulkan/probe.h"

#include "vulkan/vk.h"

typedef struct probe {
  gpu_pipeline_request request;
  const void *params;
  uint32_t params_bytes, groups;
  vk_range word; /* set by the kernel if the device differs */
  VkDescriptorPool sets;
  VkDescriptorSet set;
  VkCommandPool commands;
  VkCommandBuffer cmd;
} probe;

enum { N_F16 = 0x7c01, GROUP = 128 };

static rlx_status bind(vk_device *d, probe *p) {
  const VkDescriptorPoolSize size = {.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1};
  const VkDescriptorPoolCreateInfo pool = {
    .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = 1, .poolSizeCount = 1, .pPoolSizes = &size};
  VkResult r = d->CreateDescriptorPool(d->handle, &pool, NULL, &p->sets);
  if (r) return vk_fail(d, r, "a descriptor pool");
  const VkDescriptorSetAllocateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                           .descriptorPool = p->sets,
                                           .descriptorSetCount = 1,
                                           .pSetLayouts = &d->pipelines.set_layouts[1]};
  r = d->AllocateDescriptorSets(d->handle, &set, &p->set);
  if (r) return vk_fail(d, r, "a descriptor set");
  const VkDescriptorBufferInfo buffer = {.buffer = p->word.chunk->buffer, .offset = p->word.offset, .range = 16};
  const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                      .dstSet = p->set,
                                      .descriptorCount = 1,
                                      .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                      .pBufferInfo = &buffer};
  d->UpdateDescriptorSets(d->handle, 1, &write, 0, NULL);
  return RLX_OK;
}

static rlx_status record(vk_device *d, probe *p) {
  const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                        .queueFamilyIndex = d->physical->queue_family};
  VkResult r = d->CreateCommandPool(d->handle, &pool, NULL, &p->commands);
  if (r) return vk_fail(d, r, "a command pool");
  const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = p->commands,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
  const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  r = d->AllocateCommandBuffers(d->handle, &info, &p->cmd);
  if (!r) r = d->BeginCommandBuffer(p->cmd, &begin);
  if (r) return vk_fail(d, r, "a command buffer");
  VkPipelineLayout layout = d->pipelines.layouts[1];
  d->CmdBindPipeline(p->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, vk_pipeline_handle(p->request.made));
  d->CmdBindDescriptorSets(p->cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &p->set, 0, NULL);
  d->CmdPushConstants(p->cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, p->params_bytes, p->params);
  d->CmdDispatch(p->cmd, p->groups, 1, 1);
  vk_barrier(d, p->cmd, true);
  r = d->EndCommandBuffer(p->cmd);
  return r ? vk_fail(d, r, "a command buffer") : RLX_OK;
}

static rlx_status run(vk_queue *q, probe *p, bool *as_wanted) {
  vk_device *d = q->device;
  size_t failed;
  uint64_t serial;
  RLX_TRY(vk_range_alloc(d, &d->host_heap, 16, "a first question", &p->word));
  RLX_TRY(gpu_pipelines_get(&d->pipelines.table, &p->request, 1, &failed));
  RLX_TRY(bind(d, p));
  RLX_TRY(record(d, p));
  uint32_t *word = vk_range_map(&p->word);
  word[0] = 0;
  RLX_TRY(vk_submit(q, p->cmd, &serial));
  RLX_TRY(vk_wait(q, serial));
  *as_wanted = word[0] == 0;
  return RLX_OK;
}

static rlx_status ask(vk_queue *q, probe *p, bool *as_wanted) {
  vk_device *d = q->device;
  rlx_status s = run(q, p, as_wanted);
  if (p->commands) d->DestroyCommandPool(d->handle, p->commands, NULL);
  if (p->sets) d->DestroyDescriptorPool(d->handle, p->sets, NULL);
  gpu_pipeline_release(&d->pipelines.table, p->request.made);
  vk_range_free(d, &d->host_heap, &p->word);
  return s;
}

rlx_status vk_probe_f16(vk_queue *q, bool *rounds) {
  const gpu_params_probe_f16 params = {.groups = gpu_ceil_div(N_F16, GROUP), .n = N_F16, .nan = 0x7fc00000};
  probe p = {.request = {.kernel = &gpu_kernel_probe_f16, .group_size = GROUP},
             .params = &params,
             .params_bytes = sizeof params,
             .groups = params.groups};
  rlx_status s = ask(q, &p, rounds);
  return s ? rlx_fail_frame(s, "vulkan: how the device rounds") : RLX_OK;
}

static rlx_status ask_fragments(vk_queue *q, const gpu_kernel *kernel, bool *are_known) {
  const gpu_params_fragments params = {.groups = 1};
  probe p = {
    .request = {.kernel = kernel, .group_size = 32}, .params = &params, .params_bytes = sizeof params, .groups = 1};
  rlx_status s = ask(q, &p, are_known);
  return s ? rlx_fail_frame(s, "vulkan: how matrices lie") : RLX_OK;
}

rlx_status vk_probe_fragments(vk_queue *q, gpu_caps *caps) {
  if (caps->has_coopmat) RLX_TRY(ask_fragments(q, &gpu_kernel_fragments, &caps->knows_fragments));
  if (caps->has_coopmat_bf16) RLX_TRY(ask_fragments(q, &gpu_kernel_fragments_bf16, &caps->knows_fragments_bf16));
  return RLX_OK;
}
