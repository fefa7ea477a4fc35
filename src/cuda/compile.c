/* Compiles kernels with NVRTC, or takes the machine code from the cache. */
#include "cuda/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/cache_file.h"
#include "base/log.h"
#include "base/mem.h"

enum {
  OPTION_BYTES = 128,
  N_OWN_OPTIONS = 4,
  MAX_OPTIONS = GPU_MAX_CONSTANTS + 1 + N_OWN_OPTIONS,
  MAX_CODE_BYTES = 64 << 20,
  MAX_ERROR_BYTES = 256, /* of the compiler's message, in ours */
  NVRTC_ERROR_INVALID_OPTION = 5,
};

typedef struct option_list {
  char text[MAX_OPTIONS][OPTION_BYTES];
  const char *v[MAX_OPTIONS];
  int n;
} option_list;

static void add_option(option_list *l, const char *fmt, ...) RLX_PRINTF(2, 3);
static void add_option(option_list *l, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  rlx_format_fixed(l->text[l->n], OPTION_BYTES, fmt, args);
  va_end(args);
  l->v[l->n] = l->text[l->n];
  l->n++;
}

#define WAIT "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");"
#define NEXT "asm volatile(\"griddepcontrol.launch_dependents;\" ::: \"memory\");"

/* Products and sums are not fused unless a kernel says fma: some kernels rely on both being rounded. */
static void list_options(const cu_device *d, const cu_text *t, bool is_portable, option_list *l) {
  l->n = 0;
  if (is_portable) add_option(l, "--gpu-architecture=compute_75");
  else
    add_option(l, "--gpu-architecture=sm_%d%d%s", d->physical->major, d->physical->minor, d->caps.has_wgmma ? "a" : "");
  /* A graph may start a kernel while the one that it depends on still runs (record.c): it lets the next one start as
   * well, and waits before it reads what those before it write. */
  const bool overlaps = !is_portable && d->overlaps;
  add_option(l, "-DK_NEXT=%s", overlaps ? NEXT : "");
  add_option(l, "-DK_WAIT=%s", overlaps ? WAIT : "");
  add_option(l, "-DK_ENTER=%s", overlaps ? NEXT WAIT : "");
  add_option(l, "--fmad=false");
  add_option(l, "-w");
  if (t->group_size) add_option(l, "-DK_C0=%uu", (unsigned)t->group_size);
  for (uint32_t i = 0; i < t->n_constants; i++)
    add_option(l, "-DK_C%u=%uu", (unsigned)(i + 1), (unsigned)t->constants[i]);
}

/* ---- the cache ---- */

static const char magic[8] = {'r', 'l', 'x', 'c', 'u', 'd', 'a', '1'};

typedef struct head {
  char magic[8];
  uint64_t key, bytes, checksum;
} head;

typedef struct image {
  char *data; /* the code is at `code`; freed as a whole */
  const char *code;
  size_t bytes;
} image;

static void image_free(image *m) {
  rlx_mem_free(m->data);
  *m = (image){0};
}

/* False: there is no folder for it. */
static bool cache_path(const cu_device *d, const cu_text *t, const option_list *options, char *path, uint64_t *key) {
  const int versions[] = {d->loader->driver_version, d->loader->compiler_version};
  uint64_t a = rlx_hash_bytes(0, t->text, t->n), b = rlx_hash_bytes(1, t->text, t->n);
  for (int i = 0; i < options->n; i++) {
    a = rlx_hash_bytes(a, options->v[i], strlen(options->v[i]) + 1);
    b = rlx_hash_bytes(b, options->v[i], strlen(options->v[i]) + 1);
  }
  a = rlx_hash_bytes(a, versions, sizeof versions);
  *key = rlx_hash_bytes(b, versions, sizeof versions);
  char name[128];
  snprintf(name, sizeof name, "cuda/sm_%d%d/%.64s-%016llx.code", d->physical->major, d->physical->minor, t->name,
           (unsigned long long)a);
  return rlx_cache_path(name, path, RLX_CACHE_PATH_BYTES);
}

static bool read_cached(const char *path, uint64_t key, image *out) {
  size_t bytes = 0;
  head h;
  *out = (image){0};
  if (!rlx_cache_read(path, MAX_CODE_BYTES, &out->data, &bytes)) return false;
  if (bytes > sizeof h) memcpy(&h, out->data, sizeof h);
  if (bytes > sizeof h && memcmp(h.magic, magic, sizeof magic) == 0 && h.key == key && h.bytes == bytes - sizeof h &&
      h.checksum == rlx_hash_bytes(0, out->data + sizeof h, bytes - sizeof h)) {
    out->code = out->data + sizeof h;
    out->bytes = bytes - sizeof h;
    return true;
  }
  rlx_log_write(RLX_LOG_WARN, "cuda: %s is damaged: made again", path);
  image_free(out);
  return false;
}

static void write_cached(const char *path, uint64_t key, image *m) {
  head h = {.key = key, .bytes = m->bytes, .checksum = rlx_hash_bytes(0, m->code, m->bytes)};
  memcpy(h.magic, magic, sizeof magic);
  memcpy(m->data, &h, sizeof h); /* there is room for it before the code */
  if (!rlx_cache_write(path, m->data, sizeof h + m->bytes))
    rlx_log_write(RLX_LOG_INFO, "cuda: %s cannot be written", path);
}

/* ---- the compiler ---- */

static char *copy_log(const cu_compiler *c, nvrtcProgram program, nvrtcResult r) {
  size_t bytes = 0;
  char *log = NULL;
  if (r == NVRTC_ERROR_COMPILATION && !c->GetProgramLogSize(program, &bytes) && bytes > 1 && bytes < MAX_CODE_BYTES &&
      (log = rlx_mem_alloc(bytes)) != NULL && !c->GetProgramLog(program, log))
    return log;
  rlx_mem_free(log);
  const char *name = c->GetErrorString(r);
  const size_t n = strlen(name) + 1;
  log = rlx_mem_alloc(n);
  if (log) memcpy(log, name, n);
  return log;
}

static int get_code(const cu_compiler *c, nvrtcProgram program, bool is_portable, image *out) {
  size_t bytes = 0;
  if (is_portable ? c->GetPTXSize(program, &bytes) : c->GetCUBINSize(program, &bytes)) return CU_COMPILER_FAILED;
  if (!bytes || bytes > MAX_CODE_BYTES) return CU_COMPILER_FAILED;
  out->data = rlx_mem_alloc(sizeof(head) + bytes);
  if (!out->data) return CU_NO_MEMORY;
  char *code = out->data + sizeof(head);
  out->code = code;
  out->bytes = bytes;
  return (is_portable ? c->GetPTX(program, code) : c->GetCUBIN(program, code)) ? CU_COMPILER_FAILED : 0;
}

static int compile_text(const cu_device *d, const cu_text *t, bool is_portable, const option_list *options,
                        nvrtcResult *result, char **why, image *out) {
  const cu_compiler *c = &d->loader->compiler;
  nvrtcProgram program = NULL;
  char name[80];
  *out = (image){0};
  snprintf(name, sizeof name, "%.64s.cu", t->name);
  *result = c->CreateProgram(&program, t->text, name, 0, NULL, NULL);
  if (!*result) *result = c->CompileProgram(program, options->n, options->v);
  int failed = *result ? CU_COMPILER_FAILED : get_code(c, program, is_portable, out);
  if (*result && *result != NVRTC_ERROR_INVALID_OPTION) *why = copy_log(c, program, *result);
  if (program) c->DestroyProgram(&program);
  if (failed) image_free(out);
  return failed;
}

/* Machine code for the chip, or, from a compiler that does not know the chip yet, code that the driver translates. */
static int make_image(const cu_device *d, const cu_text *t, option_list *options, char **why, image *out) {
  nvrtcResult result;
  int failed = compile_text(d, t, false, options, &result, why, out);
  if (!failed || result != NVRTC_ERROR_INVALID_OPTION) return failed;
  list_options(d, t, true, options);
  failed = compile_text(d, t, true, options, &result, why, out);
  if (failed && !*why) *why = copy_log(&d->loader->compiler, NULL, result);
  return failed;
}

/* ---- modules ---- */

static CUresult load_module(const cu_device *d, const char *name, const image *m, cu_code *out) {
  CUresult r = d->f->ModuleLoadDataEx(&out->module, m->code, 0, NULL, NULL);
  if (!r) r = d->f->ModuleGetFunction(&out->function, out->module, name);
  if (r && out->module) {
    d->f->ModuleUnload(out->module);
    out->module = NULL;
  }
  return r;
}

static int build(const cu_device *d, const cu_text *t, option_list *options, cu_code *out) {
  char path[RLX_CACHE_PATH_BYTES];
  uint64_t key = 0;
  image m;
  list_options(d, t, false, options);
  const bool has_path = cache_path(d, t, options, path, &key);
  if (has_path && read_cached(path, key, &m)) {
    const bool is_loaded = load_module(d, t->name, &m, out) == CUDA_SUCCESS;
    image_free(&m);
    if (is_loaded) return 0;
  }
  int failed = make_image(d, t, options, &out->why, &m);
  if (failed) return failed;
  failed = load_module(d, t->name, &m, out);
  if (!failed && has_path) write_cached(path, key, &m);
  image_free(&m);
  return failed;
}

int cu_code_build(const cu_device *d, const cu_text *t, cu_code *out) {
  *out = (cu_code){0};
  option_list *options = rlx_new(option_list); /* too large for the stack */
  if (!options) return CU_NO_MEMORY;
  int failed = build(d, t, options, out);
  rlx_mem_free(options);
  return failed;
}

/* The first line of the compiler's message that reports an error. */
static const char *first_error(const char *log) {
  const char *error = strstr(log, "error");
  if (!error) return log;
  while (error > log && error[-1] != '\n') error--;
  return error;
}

rlx_status cu_code_fail(cu_device *d, const char *name, const cu_code *c, int failed) {
  if (failed == CU_NO_MEMORY) return RLX_FAIL(RLX_NO_MEMORY, "cuda: compiling kernel %s", name);
  if (failed > 0) return cu_fail(d, failed, "the code of kernel %s", name);
  const char *why = c->why ? first_error(c->why) : "no message";
  const size_t line = strcspn(why, "\n");
  return RLX_FAIL(RLX_UNSUPPORTED, "cuda: compiling kernel %s: %.*s", name,
                  (int)(line < MAX_ERROR_BYTES ? line : MAX_ERROR_BYTES), why);
}

void cu_code_destroy(cu_device *d, cu_code *c) {
  if (c->module) d->f->ModuleUnload(c->module);
  rlx_mem_free(c->why);
  *c = (cu_code){0};
}

/* ---- pipelines ---- */

/* Runs in a thread of its own: the context is made current there. */
static int compile(gpu_pipelines *table, gpu_pipeline *base) {
  cu_device *d = table->device;
  const gpu_code *code;
  if (gpu_codes_get(&table->codes, base->kernel, &code)) return CU_NO_MEMORY;
  cu_code *out = &((cu_pipeline *)base)->code;
  const cu_text text = {.name = base->kernel->name,
                        .text = code->text,
                        .n = code->n,
                        .group_size = base->group_size,
                        .n_constants = base->kernel->n_constants,
                        .constants = base->constants};
  int failed = d->f->CtxPushCurrent(d->context);
  if (failed) return failed;
  failed = d->uses_ptx ? cu_code_build_ptx(d, base, code, out) : cu_code_build(d, &text, out);
  cu_leave(d);
  return failed;
}

static rlx_status fail(gpu_pipelines *table, const gpu_pipeline *base, int code) {
  return cu_code_fail(table->device, base->kernel->name, &((const cu_pipeline *)base)->code, code);
}

static void destroy(gpu_pipelines *table, gpu_pipeline *base) {
  cu_device *d = table->device;
  const bool is_current = cu_enter_any(d);
  if (!is_current) ((cu_pipeline *)base)->code.module = NULL; /* gone with its context */
  cu_code_destroy(d, &((cu_pipeline *)base)->code);
  if (is_current) cu_leave(d);
}

const gpu_pipeline_maker cu_pipeline_maker = {.name = "cuda",
                                              .span = "cuda pipelines",
                                              .struct_bytes = sizeof(cu_pipeline),
                                              .compile = compile,
                                              .fail = fail,
                                              .destroy = destroy};
