/* Free memory: what the system reports by a call, else from Linux's /proc and cgroup files. Elsewhere it is unknown,
 * and nothing is limited.
 *
 * A control group limits all its processes together, and groups nest: what counts is the least memory left in any
 * group from the process's own up to the root. A group counts file pages that the kernel can drop as used; here they
 * count as free. */
#include "base/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum { MAX_PATH = 1024 };

/* The number after `key` in a file of lines "key number"; UINT64_MAX if there is none, or if it is "max". */
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

/* Bytes left in one group: cgroup version 2, else version 1. */
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

/* The least of all groups from the process's own up to the mount point. */
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

/* Bytes left of the address space; UINT64_MAX if it is not limited. */
static uint64_t left_in_address_space(const char *root) {
  const uint64_t limit = rlx_os_address_space();
  if (limit == UINT64_MAX) return limit;
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%.900s/proc/self/status", root);
  uint64_t used = rlx_os_address_space_used(), kib = used == UINT64_MAX ? number_in(path, "VmSize:") : 0;
  if (kib == UINT64_MAX) return limit;
  if (used == UINT64_MAX) used = kib * 1024;
  return limit > used ? limit - used : 0;
}

uint64_t rlx_machine_free_bytes_at(const char *root) {
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%.900s/proc/meminfo", root);
  uint64_t kib = number_in(path, "MemAvailable:");
  uint64_t bytes = kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
  bytes = min(bytes, min(left_in_all_groups(root), left_in_address_space(root)));
  return bytes == UINT64_MAX ? 0 : bytes ? bytes : 1; /* 1 where nothing is left, because 0 means unknown */
}

uint64_t rlx_machine_free_bytes(void) {
  const uint64_t bytes = rlx_os_free_bytes();
  return bytes == UINT64_MAX ? rlx_machine_free_bytes_at("") : bytes;
}
