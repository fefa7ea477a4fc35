/* The fake compiler: an image holds the name of the kernel, taken from the program's name NAME.cu, and its constants,
 * taken from the options -DK_C0=128u and so on. The text is not compiled; only the declaration of the kernel is read,
 * for the windows of vectors, which a GPU can access at multiples of 16 bytes alone. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVRTC_ERROR_INVALID_INPUT = 3, NVRTC_ERROR_INVALID_PROGRAM = 4, NVRTC_ERROR_INVALID_OPTION = 5 };

typedef struct program {
  nvrtcProgram handle;
  char *text, name[64];
  char log[512];
  bool is_compiled;
  bool is_virtual; /* compiled for compute_NN: there is PTX alone */
  fake_image image;
  fake_image *more; /* image.n_more */
} program;

static program *find(nvrtcProgram p) { return fake_handle_find(FAKE_PROGRAM, p); }

static nvrtcResult leave(nvrtcResult r) {
  fake_unlock(0);
  return r;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

FAKE_EXPORT const char *nvrtcGetErrorString(nvrtcResult r);
FAKE_EXPORT const char *nvrtcGetErrorString(nvrtcResult r) {
  static const char *const names[] = {
    "NVRTC_SUCCESS",
    "NVRTC_ERROR_OUT_OF_MEMORY",
    "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
    "NVRTC_ERROR_INVALID_INPUT",
    "NVRTC_ERROR_INVALID_PROGRAM",
    "NVRTC_ERROR_INVALID_OPTION",
    "NVRTC_ERROR_COMPILATION",
  };
  return r >= 0 && (size_t)r < sizeof names / sizeof *names ? names[r] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int n_headers,
                               const char *const *headers, const char *const *header_names) {
  (void)headers, (void)header_names;
  if (!text || n_headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  fake_lock();
  program *p = fake_new(sizeof *p);
  p->text = fake_copy(text, strlen(text) + 1);
  snprintf(p->name, sizeof p->name, "%s", name ? name : "default_program");
  *out = p->handle = fake_handle_new(FAKE_PROGRAM, p);
  return leave(NVRTC_SUCCESS);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle) {
  fake_lock();
  program *p = handle ? find(*handle) : NULL;
  if (!p) return leave(NVRTC_ERROR_INVALID_PROGRAM);
  fake_handle_free(*handle);
  *handle = NULL;
  free(p->text);
  free(p->more);
  free(p);
  return leave(NVRTC_SUCCESS);
}

/* ---- compiling ---- */

/* The number of an option that begins with one of two spellings; 0: another option. */
static unsigned arch_of(const char *option, const char *kind) {
  char spelled[2][48];
  snprintf(spelled[0], sizeof spelled[0], "-arch=%s_", kind);
  snprintf(spelled[1], sizeof spelled[1], "--gpu-architecture=%s_", kind);
  for (int i = 0; i < 2; i++)
    if (strncmp(option, spelled[i], strlen(spelled[i])) == 0)
      return (unsigned)strtoul(option + strlen(spelled[i]), NULL, 10);
  return 0;
}

static nvrtcResult read_options(program *p, int n_options, const char *const *options, bool *has_constant) {
  for (int i = 0; i < n_options; i++) {
    unsigned id = 0, value = 0, sm = arch_of(options[i], "sm"), compute = arch_of(options[i], "compute");
    if (options[i][0] != '-' || sm > (unsigned)fake_device.nvrtc_arch || compute > (unsigned)fake_device.nvrtc_arch) {
      snprintf(p->log, sizeof p->log, "nvrtc: error: invalid value for option '%s'\n", options[i]);
      return NVRTC_ERROR_INVALID_OPTION;
    }
    if (sm) p->image.arch = sm;
    if (compute) p->is_virtual = true;
    if (sscanf(options[i], "-DK_C%u=%uu", &id, &value) != 2 || id > GPU_MAX_CONSTANTS) continue;
    *(id ? &p->image.constants[id - 1] : &p->image.group_size) = value;
    has_constant[id] = true;
  }
  return NVRTC_SUCCESS;
}

/* 16 for the windows that are pointers to vectors in the text's declaration of the kernel. */
static void read_windows(const char *text, fake_image *image) {
  char declared[96];
  snprintf(declared, sizeof declared, "K_BEGIN(%s,", image->kernel);
  const char *at = strstr(text, declared);
  if (at) at += strlen(declared) - 1;
  for (int i = 0; i < GPU_MAX_WINDOWS; i++) {
    image->window_align[i] = 4;
    if (!at || *at == ')' || !*at) continue;
    size_t bytes = strcspn(at + 1, ",)") + 1;
    for (size_t k = 0; k + 5 <= bytes; k++)
      if (strncmp(at + k, "u32x4", 5) == 0) image->window_align[i] = 16;
    at += bytes;
  }
}

static void seal(fake_image *image) {
  memcpy(image->magic, FAKE_MAGIC, sizeof image->magic);
  image->checksum = fake_checksum(image);
}

/* A composed kernel: each part begins with a line that has the kernel's name, its group and its constants. */
static nvrtcResult compile_walk(program *p) {
  static const char begins[] = "//walk ";
  p->image.n_more = 0;
  for (const char *at = p->text; (at = strstr(at, begins)) != NULL;) {
    p->more = realloc(p->more, (p->image.n_more + 1) * sizeof *p->more);
    if (!p->more) abort();
    fake_image *image = &p->more[p->image.n_more++];
    memset(image, 0, sizeof *image);
    at += strlen(begins);
    snprintf(image->kernel, sizeof image->kernel, "%.*s", (int)strcspn(at, " "), at);
    char *end;
    image->group_size = (uint32_t)strtoul(at + strcspn(at, " "), &end, 10);
    const gpu_kernel *k = fake_kernel(image->kernel);
    for (uint32_t i = 0; k && i < k->n_constants; i++) image->constants[i] = (uint32_t)strtoul(end, &end, 10);
    if (!k || *end != '\n') {
      snprintf(p->log, sizeof p->log, "walk.cu: error: a part with an unknown kernel or other constants: %.64s\n", at);
      return NVRTC_ERROR_COMPILATION;
    }
    read_windows(at, image);
    seal(image);
  }
  seal(&p->image);
  return NVRTC_SUCCESS;
}

static nvrtcResult compile(program *p, int n_options, const char *const *options) {
  bool has_constant[GPU_MAX_CONSTANTS + 1] = {false};
  memset(&p->image, 0, sizeof p->image);
  p->is_virtual = false;
  nvrtcResult r = read_options(p, n_options, options, has_constant);
  if (r) return r;
  size_t bytes = strcspn(p->name, ".");
  snprintf(p->image.kernel, sizeof p->image.kernel, "%.*s", (int)bytes, p->name);
  if (strcmp(p->image.kernel, "walk") == 0) return compile_walk(p);
  const gpu_kernel *k = fake_kernel(p->image.kernel);
  if (!k) {
    snprintf(p->log, sizeof p->log, "%s: error: the fake compiler has no kernel '%s'\n", p->name, p->image.kernel);
    return NVRTC_ERROR_COMPILATION;
  }
  for (uint32_t i = 0; i <= k->n_constants; i++) {
    if (has_constant[i]) continue;
    snprintf(p->log, sizeof p->log, "%s(1): error: identifier \"K_C%u\" is undefined\n", p->name, (unsigned)i);
    return NVRTC_ERROR_COMPILATION;
  }
  read_windows(p->text, &p->image);
  seal(&p->image);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int n_options, const char *const *options) {
  fake_lock();
  program *p = find(handle);
  if (!p) return leave(NVRTC_ERROR_INVALID_PROGRAM);
  nvrtcResult r;
  *p->log = 0;
  if (fake_fails(&fake_count.compiles, fake_plan.fail_compile)) {
    snprintf(p->log, sizeof p->log, "%s(1): error: the plan makes this compilation fail\n", p->name);
    r = NVRTC_ERROR_COMPILATION;
  } else r = compile(p, n_options, options);
  p->is_compiled = r == NVRTC_SUCCESS;
  if (r) fake_log("NVRTC", p->log);
  return leave(r);
}

/* ---- results ---- */

static nvrtcResult get(nvrtcProgram handle, bool wants_code, bool wants_cubin, size_t *bytes, char *to) {
  fake_lock();
  program *p = find(handle);
  if (!p || (wants_code && !p->is_compiled)) return leave(NVRTC_ERROR_INVALID_PROGRAM);
  const void *from = wants_code ? (const void *)&p->image : p->log;
  size_t n = wants_code ? sizeof p->image : strlen(p->log) + 1;
  if (wants_cubin && p->is_virtual) n = 0;
  const size_t more = wants_code && n ? p->image.n_more * sizeof *p->more : 0;
  if (bytes) *bytes = n + more;
  if (to) memcpy(to, from, n);
  if (to && more) memcpy(to + n, p->more, more);
  return leave(NVRTC_SUCCESS);
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes) { return get(p, false, false, bytes, NULL); }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram p, char *log) { return get(p, false, false, NULL, log); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram p, size_t *bytes) { return get(p, true, true, bytes, NULL); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram p, char *code) { return get(p, true, true, NULL, code); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram p, size_t *bytes) { return get(p, true, false, bytes, NULL); }
nvrtcResult nvrtcGetPTX(nvrtcProgram p, char *code) { return get(p, true, false, NULL, code); }
