/* Compiles pipelines with a Vulkan driver, and keeps the driver's cache on disk up to date. */
#include "vulkan/pipelines.h"

#include "base/log.h"
#include "base/mem.h"
#include "gpu/spirv.h"
#include "vulkan/vk.h"

/* ---- layouts ---- */

static VkResult make_layout(vk_device *d, uint32_t n) {
  vk_pipelines *p = &d->pipelines;
  VkDescriptorSetLayoutBinding bindings[GPU_MAX_WINDOWS];
  for (uint32_t i = 0; i < n; i++)
    bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                 .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                 .descriptorCount = 1,
                                                 .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  const VkDescriptorSetLayoutCreateInfo set = {
    .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = n, .pBindings = bindings};
  VkResult r = d->CreateDescriptorSetLayout(d->handle, &set, NULL, &p->set_layouts[n]);
  if (r) return r;
  const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = GPU_MAX_PARAM_WORDS * 4};
  const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .setLayoutCount = 1,
                                             .pSetLayouts = &p->set_layouts[n],
                                             .pushConstantRangeCount = 1,
                                             .pPushConstantRanges = &push};
  return d->CreatePipelineLayout(d->handle, &layout, NULL, &p->layouts[n]);
}

/* ---- compiling ---- */

/* The kernel's SPIR-V with the constants folded in, so the driver compiles only the specialised code. */
static VkResult make_module(vk_device *d, const gpu_pipeline *q, VkShaderModule *out) {
  const gpu_code *code;
  const uint32_t n = GPU_CONSTANT_PACKS_F16 + 1;
  uint32_t values[GPU_CONSTANT_PACKS_F16 + 1] = {q->group_size}, *words;
  for (uint32_t i = 0; i < q->kernel->n_constants; i++) values[i + 1] = q->constants[i];
  values[GPU_CONSTANT_PACKS_F16] = d->caps.packs_f16;
  size_t n_words;
  if (gpu_codes_get(&d->pipelines.table.codes, q->kernel, &code)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (gpu_spirv_specialise(code->words, code->n, values, n, &words, &n_words)) return VK_ERROR_OUT_OF_HOST_MEMORY;
  if (gpu_spirv_unroll(&words, &n_words)) {
    rlx_mem_free(words);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  const VkShaderModuleCreateInfo module = {
    .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = n_words * sizeof(uint32_t), .pCode = words};
  VkResult r = d->CreateShaderModule(d->handle, &module, NULL, out);
  rlx_mem_free(words);
  return r;
}

static int compile(gpu_pipelines *table, gpu_pipeline *q) {
  vk_device *d = table->device;
  VkShaderModule shader;
  VkResult r = make_module(d, q, &shader);
  if (r) return r;
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
    .requiredSubgroupSize = d->caps.subgroup};
  const bool fixes_size = d->caps.subgroup && d->physical->has_subgroup_size;
  const bool is_full = fixes_size && q->group_size % d->caps.subgroup == 0;
  const VkComputePipelineCreateInfo info = {
    .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
    .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
              .pNext = fixes_size ? &size : NULL,
              .flags = is_full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
              .stage = VK_SHADER_STAGE_COMPUTE_BIT,
              .module = shader,
              .pName = "main"},
    .layout = d->pipelines.layouts[q->kernel->n_windows]};
  r = d->CreateComputePipelines(d->handle, d->pipelines.cache.handle, 1, &info, NULL, &((vk_pipeline *)q)->handle);
  d->DestroyShaderModule(d->handle, shader, NULL);
  return !r && !vk_pipeline_handle(q) ? VK_ERROR_INITIALIZATION_FAILED : r;
}

static rlx_status fail(gpu_pipelines *table, const gpu_pipeline *q, int code) {
  return vk_fail(table->device, code, "the pipeline of kernel %s with groups of %u", q->kernel->name,
                 (unsigned)q->group_size);
}

static void destroy(gpu_pipelines *table, gpu_pipeline *q) {
  vk_device *d = table->device;
  if (vk_pipeline_handle(q)) d->DestroyPipeline(d->handle, vk_pipeline_handle(q), NULL);
}

/* Counts new pipelines and saves the cache when their number has more than doubled since the last save, so a process
 * that is killed loses little work. */
static void made(gpu_pipelines *table, size_t n_new) {
  vk_device *d = table->device;
  vk_pipelines *p = &d->pipelines;
  p->n_made += n_new;
  vk_pipeline_cache_trim(d, &p->cache);
  if (p->n_made < 2 * p->n_saved + 32) return;
  vk_pipeline_cache_save(d, &p->cache);
  p->n_saved = p->n_made;
}

static const gpu_pipeline_maker maker = {.name = "vulkan",
                                         .span = "vulkan pipelines",
                                         .struct_bytes = sizeof(vk_pipeline),
                                         .compile = compile,
                                         .fail = fail,
                                         .destroy = destroy,
                                         .made = made};

rlx_status vk_pipelines_init(vk_device *d) {
  vk_pipelines *p = &d->pipelines;
  RLX_TRY(gpu_pipelines_init(&p->table, &maker, d, gpu_column_spirv, &d->caps));
  for (uint32_t n = 0; n <= GPU_MAX_WINDOWS; n++) {
    VkResult r = make_layout(d, n);
    if (r) return vk_fail(d, r, "a pipeline layout of %u windows", (unsigned)n);
  }
  return vk_pipeline_cache_open(d, &p->cache);
}

void vk_pipelines_deinit(vk_device *d) {
  vk_pipelines *p = &d->pipelines;
  if (p->n_made > p->n_saved) vk_pipeline_cache_save(d, &p->cache);
  vk_pipeline_cache_close(d, &p->cache);
  gpu_pipelines_deinit(&p->table);
  for (uint32_t n = 0; n <= GPU_MAX_WINDOWS; n++) {
    if (p->layouts[n]) d->DestroyPipelineLayout(d->handle, p->layouts[n], NULL);
    if (p->set_layouts[n]) d->DestroyDescriptorSetLayout(d->handle, p->set_layouts[n], NULL);
  }
}
