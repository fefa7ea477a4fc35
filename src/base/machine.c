/* Free memory, from the files that Linux keeps about it. Where there are none, nothing is known and nothing is limited.
 *
 * A control group limits a process and all it shares the group with, and groups nest: the least of what is left on the way to
 * the root counts. Pages of files that the kernel can drop are counted as used by a group; they are free for us. */
#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_PATH = 1024 };

/* The number behind `key` in a file of lines "key number"; UINT64_MAX where there is none, or it says "max". */
static uint64_t number_in(const char *path, const char *key) {
  char line[256];
  uint64_t found = UINT64_MAX;
  size_t n = strlen(key);
  FILE *f = fopen(path, "re");
  while (f && found == UINT64_MAX && fgets(line, sizeof line, f)) {
    if (strncmp(line, key, n) != 0) continue;
    char *end, *at = line + n + strspn(line + n, " \t");
    unsigned long long x = strtoull(at, &end, 10);
    if (end != at) found = x;
  }
  if (f) fclose(f);
  return found;
}

static uint64_t number_at(const char *folder, const char *file, const char *key) {
  char path[MAX_PATH + 64];
  int n = snprintf(path, sizeof path, "%s/%s", folder, file);
  return n > 0 && (size_t)n < sizeof path ? number_in(path, key) : UINT64_MAX;
}

static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* What one group leaves: version 2, or version 1. */
static uint64_t left_in_group(const char *folder) {
  uint64_t limit = number_at(folder, "memory.max", ""), used = number_at(folder, "memory.current", "");
  uint64_t cached = number_at(folder, "memory.stat", "inactive_file ");
  if (limit == UINT64_MAX) {
    limit = number_at(folder, "memory.limit_in_bytes", "");
    used = number_at(folder, "memory.usage_in_bytes", "");
    cached = number_at(folder, "memory.stat", "total_inactive_file ");
  }
  if (limit == UINT64_MAX || used == UINT64_MAX) return UINT64_MAX;
  if (cached != UINT64_MAX) used -= min(cached, used);
  return limit > used ? limit - used : 0;
}

/* From the process's own group up to the mount. */
static uint64_t left_in_groups(const char *mount, const char *group) {
  char folder[MAX_PATH];
  uint64_t left = UINT64_MAX;
  int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
  if (n < 0 || (size_t)n >= sizeof folder) return left;
  for (;;) {
    left = min(left, left_in_group(folder));
    char *slash = strrchr(folder, '/');
    if (!slash || strlen(folder) <= strlen(mount)) return left;
    *slash = '\0';
  }
}

/* Lines are "0::/path" (version 2) and "4:memory:/path" (version 1). */
static uint64_t left_in_all_groups(const char *root) {
  char path[MAX_PATH], line[MAX_PATH], mount[MAX_PATH];
  uint64_t left = UINT64_MAX;
  snprintf(path, sizeof path, "%.900s/proc/self/cgroup", root);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = '\0';
    char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
    if (!group) continue;
    *group++ = '\0';
    bool is_second = names[1] == '\0', has_memory = strstr(names, "memory") != NULL;
    if (!is_second && !has_memory) continue;
    snprintf(mount, sizeof mount, "%.900s/sys/fs/cgroup%s", root, is_second ? "" : "/memory");
    left = min(left, left_in_groups(mount, strcmp(group, "/") == 0 ? "" : group));
  }
  if (f) fclose(f);
  return left;
}

/* What the address space has left, where it is limited. */
static uint64_t left_in_address_space(const char *root) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%.900s/proc/self/status", root);
  uint64_t kib = number_in(path, "VmSize:");
  if (kib == UINT64_MAX) return (uint64_t)limit.rlim_cur;
  return limit.rlim_cur > kib * 1024 ? (uint64_t)limit.rlim_cur - kib * 1024 : 0;
}

uint64_t rlx_machine_free_bytes_at(const char *root) {
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%.900s/proc/meminfo", root);
  uint64_t kib = number_in(path, "MemAvailable:");
  uint64_t bytes = kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
  bytes = min(bytes, min(left_in_all_groups(root), left_in_address_space(root)));
  return bytes == UINT64_MAX ? 0 : bytes ? bytes : 1; /* nothing left is known, too */
}

uint64_t rlx_machine_free_bytes(void) { return rlx_machine_free_bytes_at(""); }
