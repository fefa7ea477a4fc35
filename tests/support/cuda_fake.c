/* Enters the fake CUDA driver by executing the program again, and finds its controls. */
#include "cuda_fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cuda_fake_folder(void) { return FAKE_CUDA_FOLDER; }

/* Whether one of the folders between the colons is this one. */
static bool names_folder(const char *paths, const char *folder) {
  size_t bytes = strlen(folder);
  for (const char *p = paths; p; p = strchr(p, ':')) {
    if (*p == ':') p++;
    if (strncmp(p, folder, bytes) == 0 && (p[bytes] == 0 || p[bytes] == ':')) return true;
  }
  return false;
}

bool cuda_fake_enter(int argc, char **argv) {
  const char *paths = getenv("LD_LIBRARY_PATH");
  if (names_folder(paths, FAKE_CUDA_FOLDER)) return true;
  if (argc < 1) return false;
  size_t bytes = strlen(FAKE_CUDA_FOLDER) + (paths ? strlen(paths) : 0) + 2;
  char *longer = malloc(bytes);
  if (!longer) return false;
  snprintf(longer, bytes, "%s%s%s", FAKE_CUDA_FOLDER, paths && *paths ? ":" : "", paths ? paths : "");
  int failed = setenv("LD_LIBRARY_PATH", longer, 1);
  free(longer);
  if (failed) return false;
  fflush(stdout);
  execv("/proc/self/exe", argv);
  perror("the program could not be executed again");
  return false;
}

static void *control(const char *name) {
  static void *library;
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? dlsym(library, name) : NULL;
}

bool cuda_fake_set(const fake_cuda_plan *plan) {
  fake_cuda_set_fn set = (fake_cuda_set_fn)control(FAKE_CUDA_SET);
  if (set) set(plan);
  return set != NULL;
}

bool cuda_fake_get(fake_cuda_counts *out) {
  fake_cuda_get_fn get = (fake_cuda_get_fn)control(FAKE_CUDA_GET);
  if (get) get(out);
  return get != NULL;
}
