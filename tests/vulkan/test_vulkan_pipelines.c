/* Tests of the Vulkan backend's pipelines: how long they are kept in memory, and that a damaged, truncated or foreign
 * cache file has no effect. */
#include "test.h"

#ifndef RLX_VULKAN
TEST(vulkan_pipelines) { SKIP("this library was built without Vulkan"); }
#else
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "device_faults.h"
#include "folder.h"
#include "rules.h"
#include "run_check.h"
#include "vulkan/program.h"

/* ---- in memory ---- */

/* Unused pipelines are kept up to a limit, the newest longest; used ones are always kept. */
TEST(idle_pipelines_are_few) {
  enum { N = 12, KEPT = 4 };
  static const uint32_t constants[GPU_MAX_CONSTANTS];
  rlx_device *base;
  ACQUIRE("vulkan:submit=888", &base); /* a device that no other test has open */
  vk_device *d = (vk_device *)base;
  gpu_pipelines *p = &d->pipelines.table;
  gpu_pipeline_request requests[N], again[2];
  size_t failed;
  p->max_idle = KEPT;
  for (uint32_t i = 0; i < N; i++)
    requests[i] =
      (gpu_pipeline_request){.kernel = &gpu_kernel_convert, .group_size = 8 * (i + 1), .constants = constants};
  CHECK_OK(gpu_pipelines_get(p, requests, N, &failed));
  CHECK_EQ_INT(p->n, N);
  CHECK_EQ_INT(p->n_idle, 0);
  again[0] = again[1] = requests[5];
  CHECK_OK(gpu_pipelines_get(p, again, 2, &failed));
  CHECK(again[0].made == requests[5].made && again[1].made == requests[5].made && requests[5].made->refs == 3);
  for (uint32_t i = 0; i < N; i++) gpu_pipeline_release(p, requests[i].made);
  CHECK_EQ_INT(p->n_idle, KEPT);
  CHECK_EQ_INT(p->n, KEPT + 1);
  CHECK_EQ_INT(again[0].made->refs, 2);
  const gpu_pipeline *newest = requests[N - 1].made;
  requests[0] = requests[N - 1];
  CHECK_OK(gpu_pipelines_get(p, requests, 2, &failed)); /* one that was kept and one that was dropped */
  CHECK(requests[0].made == newest && vk_pipeline_handle(requests[1].made));
  CHECK_EQ_INT(d->pipelines.n_made, N + 1);
  CHECK_EQ_INT(p->n_idle, KEPT - 1);
  for (int i = 0; i < 2; i++) {
    gpu_pipeline_release(p, requests[i].made);
    gpu_pipeline_release(p, again[i].made);
  }
  gpu_pipeline_release(p, NULL);
  CHECK_EQ_INT(p->n, KEPT);
  rlx_device_release(base);
}

/* ---- allocation failures ---- */

TEST(failing_allocations_of_the_host) {
  const char *name = "vulkan:staging,submit=777"; /* a device that no other test has open */
  rlx_device *d;
  ACQUIRE(name, &d);
  ((vk_device *)d)->pipelines.table.max_idle = 0; /* each round creates its own pipelines */
  check_failing_host(name, d);
}

/* ---- on disk ---- */

typedef struct cache_run {
  bool was_loaded;
  char path[512];
} cache_run;

/* Opens a device of its own, compiles and runs a graph, and closes the device, which saves the cache. */
static void cache_use(cache_run *out) {
  rlx_session *s;
  rlx_graph *g;
  rlx_device *d;
  OPEN_SESSION("vulkan:staging,submit=999", 1, &s); /* a device that no other test has open */
  CHECK_OK(rlx_device_acquire("vulkan:staging,submit=999", &d));
  out->was_loaded = ((vk_device *)d)->pipelines.cache.was_loaded;
  out->path[0] = 0;
  vk_pipeline_cache_path((vk_device *)d, out->path, sizeof out->path);
  CHECK_OK(expr_graph("x: f32[5,40]", "softmax(%x)", &g));
  CHECK_OK(run_check(s, g, NULL, 11, 3, false));
  rlx_graph_destroy(g);
  rlx_device_release(d);
  rlx_session_destroy(s);
}

static void write_bytes(const char *path, const char *data, size_t bytes) {
  CHECK_OK(rlx_file_write(path, data, bytes));
}

TEST(pipelines_are_kept_on_disk) {
  cache_run r;
  struct stat st;
  char *text;
  size_t bytes;
  CHECK(folder_begin());
  CHECK(setenv("XDG_CACHE_HOME", folder_name(), 1) == 0);
  cache_use(&r);
  if (test_all.result != TEST_PASSED) return;
  CHECK(!r.was_loaded && strncmp(r.path, folder_name(), strlen(folder_name())) == 0);
  CHECK(stat(r.path, &st) == 0 && (st.st_mode & 0777) == 0600);
  cache_use(&r);
  CHECK(r.was_loaded);
  CHECK_OK(rlx_file_read(r.path, 1 << 28, &text, &bytes));

  /* A file with a changed byte or truncated at any length is ignored and then replaced by a complete one. */
  for (size_t at = 0; at < bytes; at += at < 120 ? 9 : bytes / 4 + 1) {
    text[at] = (char)(text[at] ^ 0x20);
    write_bytes(r.path, text, bytes);
    text[at] = (char)(text[at] ^ 0x20);
    cache_use(&r);
    CHECK(!r.was_loaded);
    cache_use(&r);
    CHECK(r.was_loaded);
  }
  const size_t cuts[] = {0, 1, 50, bytes / 2, bytes - 1};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    write_bytes(r.path, text, cuts[i]);
    cache_use(&r);
    CHECK(!r.was_loaded);
  }
  rlx_mem_free(text);
  CHECK(remove(r.path) == 0);
  char at[300];
  snprintf(at, sizeof at, "%s/rlx", folder_name());
  CHECK(rmdir(at) == 0);

  /* Paths where no cache can be written. */
  write_bytes(at, "a file where the folder should be", 33);
  cache_use(&r);
  CHECK(!r.was_loaded);
  CHECK(remove(at) == 0);
  char home[400] = "";
  if (getenv("HOME")) snprintf(home, sizeof home, "%s", getenv("HOME"));
  CHECK(setenv("XDG_CACHE_HOME", "not/absolute", 1) == 0 && unsetenv("HOME") == 0);
  cache_use(&r);
  CHECK(!r.was_loaded && r.path[0] == 0);
  CHECK(unsetenv("XDG_CACHE_HOME") == 0 && setenv("HOME", folder_name(), 1) == 0);
  cache_use(&r);
  CHECK(!r.was_loaded);
  CHECK(stat(r.path, &st) == 0 && strstr(r.path, "/.cache/rlx/"));
  CHECK(remove(r.path) == 0);
  snprintf(at, sizeof at, "%s/.cache/rlx", folder_name());
  CHECK(rmdir(at) == 0);
  snprintf(at, sizeof at, "%s/.cache", folder_name());
  CHECK(rmdir(at) == 0);
  if (home[0]) CHECK(setenv("HOME", home, 1) == 0);
}
#endif
