/* External data: files next to a model that hold its tensors.
 *
 * The model names these files and is not trusted. A path is opened directory by directory from the model's own
 * directory and symbolic links are refused at each step, so a concurrent change cannot lead out of it. The one
 * exception is the layout of Hugging Face's cache, whose files are links to its own blobs (base/beneath.h). The file
 * must be regular and have one name: a hard link could expose another user's file. */
#include <errno.h>
#include <string.h>

#include "base/beneath.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/os_file.h"
#include "base/str.h"
#include "onnx/model.h"

static rlx_status refuse(const char *location, const char *why) {
  return RLX_FAIL(RLX_INVALID, "external data '%s': %s", location, why);
}

static rlx_status fail_errno(const char *location) {
  int error = errno;
  char words[128];
  if (error == ELOOP) return refuse(location, "a symbolic link; expected files and folders beneath the model's");
  rlx_os_error_text(error, words, sizeof words);
  return RLX_FAIL(error == ENOENT || error == ENOTDIR ? RLX_NOT_FOUND : RLX_IO, "external data '%s': %s", location,
                  words);
}

static rlx_status check_location(const char *location) {
  if (!*location) return refuse(location, "an empty path");
  if (*location == '/') return refuse(location, "an absolute path; expected one beneath the model's folder");
  if (strchr(location, '\\')) return refuse(location, "a path with a backslash");
  for (const char *p = location; *p; p += strcspn(p, "/"), p += *p == '/')
    if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
      return refuse(location, "a path that leads out of the model's folder");
  return RLX_OK;
}

/* A step of the path: a folder, or at the end the file. It is never a link. The folder before is closed. */
static int step(int folder, const char *name, bool is_last) {
  const int fd = rlx_os_open_in(folder, name, !is_last);
  int error = errno;
  rlx_fd_close(folder);
  errno = error;
  return fd;
}

static rlx_status walk(const char *base, const char *location, char *path, int *out) {
  int fd = rlx_os_open_folder(base);
  if (fd < 0) return fail_errno(location);
  for (char *p = path; *p;) {
    size_t n = strcspn(p, "/");
    char *next = p + n + (p[n] == '/');
    p[n] = '\0';
    bool is_last = !*next;
    if ((n == 1 && *p == '.') || (n == 0 && !is_last)) {
      if (is_last) {
        rlx_fd_close(fd);
        return refuse(location, "a folder");
      }
    } else {
      fd = step(fd, p, is_last);
      if (fd < 0) return fail_errno(location);
    }
    p = next;
  }
  *out = fd;
  return RLX_OK;
}

/* If the path is a link to a blob of a cache, opens that file; otherwise *out is unchanged. */
static rlx_status open_blob(const char *base, const char *location, int *out) {
  rlx_str path = {0};
  rlx_stamp stamp;
  rlx_status s = RLX_OK;
  rlx_str_add(&path, "%s/%s", base, location);
  if (path.failed) s = RLX_FAIL(RLX_NO_MEMORY, "external data '%s'", location);
  if (!s && rlx_path_is_blob(path.v, base)) {
    s = rlx_fd_open(path.v, out, &stamp);
    if (!s) s = rlx_fd_check_beneath(*out, path.v, base);
  }
  rlx_str_deinit(&path);
  return s;
}

static rlx_status check_file(int fd, const char *location, wire_source *out) {
  rlx_os_stat st;
  if (!rlx_os_stat_open(fd, &st)) return fail_errno(location);
  if (st.kind == RLX_OS_FOLDER) return refuse(location, "a folder; expected a regular file");
  if (st.kind != RLX_OS_REGULAR) return refuse(location, "not a regular file");
  if (st.n_names > 1) return refuse(location, "a file with several names (hard links); copy it");
  RLX_TRY(rlx_fd_stamp(fd, location, &out->stamp));
  out->bytes = out->stamp.bytes;
  return RLX_OK;
}

static rlx_status open_file(rlx_onnx *m, const char *location, onnx_file *out) {
  RLX_TRY(check_location(location));
  if (!m->folder) return RLX_FAIL(RLX_UNSUPPORTED, "external data '%s' of a model that is in memory", location);
  size_t n = strlen(location) + 1;
  char *path = rlx_mem_alloc(n);
  out->path = rlx_mem_alloc(n);
  if (!path || !out->path) {
    rlx_mem_free(path);
    return RLX_FAIL(RLX_NO_MEMORY, "external data '%s'", location);
  }
  memcpy(path, location, n);
  memcpy(out->path, location, n);
  rlx_status s = open_blob(m->folder, location, &out->source.fd);
  if (!s && out->source.fd < 0) s = walk(m->folder, location, path, &out->source.fd);
  rlx_mem_free(path);
  RLX_TRY(s);
  out->source.path = out->path;
  return check_file(out->source.fd, location, &out->source);
}

rlx_status onnx_external_open(rlx_onnx *m, const char *location, uint32_t *file) {
  for (size_t i = 1; i < m->files.n; i++) {
    if (strcmp(m->files.v[i].path, location) != 0) continue;
    *file = (uint32_t)i;
    return RLX_OK;
  }
  if (m->files.n > ONNX_MAX_FILES)
    return RLX_FAIL(RLX_UNSUPPORTED, "external data in more than %d files", ONNX_MAX_FILES);
  onnx_file f = {.source.fd = -1};
  rlx_status s = open_file(m, location, &f);
  if (!s && !rlx_array_push(&m->files, f)) s = RLX_FAIL(RLX_NO_MEMORY, "external data '%s'", location);
  if (s) {
    wire_source_close(&f.source);
    rlx_mem_free(f.path);
    return s;
  }
  *file = (uint32_t)m->files.n - 1;
  m->file_bytes += f.source.bytes;
  return RLX_OK;
}
