/* Files by Windows: UTF-8 outside, UTF-16 inside, paths of any length.
 *
 * Files are opened so that others may read, write, rename and remove them meanwhile, as on POSIX systems; a descriptor
 * of the C library is put around the handle. A link is a reparse point that stands for another name: symbolic links and
 * junctions. Other reparse points (files that a cloud keeps) are files. */
#include "base/os_file.h"

#include "base/os_windows.h"

#include <winioctl.h>
#include <winternl.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, MAX_PART = 1 << 30 };

/* ---- errors, texts, paths ---- */

void os_windows_set_errno(DWORD error) {
  static const struct {
    DWORD error;
    int number;
  } known[] = {{ERROR_FILE_NOT_FOUND, ENOENT},
               {ERROR_PATH_NOT_FOUND, ENOENT},
               {ERROR_INVALID_NAME, ENOENT},
               {ERROR_BAD_PATHNAME, ENOENT},
               {ERROR_BAD_NETPATH, ENOENT},
               {ERROR_BAD_NET_NAME, ENOENT},
               {ERROR_INVALID_DRIVE, ENOENT},
               {ERROR_NOT_READY, ENOENT},
               {ERROR_DIRECTORY, ENOTDIR},
               {ERROR_ACCESS_DENIED, EACCES},
               {ERROR_SHARING_VIOLATION, EACCES},
               {ERROR_LOCK_VIOLATION, EACCES},
               {ERROR_DELETE_PENDING, EACCES},
               {ERROR_WRITE_PROTECT, EROFS},
               {ERROR_FILE_EXISTS, EEXIST},
               {ERROR_ALREADY_EXISTS, EEXIST},
               {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
               {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
               {ERROR_OUTOFMEMORY, ENOMEM},
               {ERROR_DISK_FULL, ENOSPC},
               {ERROR_HANDLE_DISK_FULL, ENOSPC},
               {ERROR_FILE_TOO_LARGE, EFBIG},
               {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
               {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
               {ERROR_INVALID_HANDLE, EBADF},
               {ERROR_BROKEN_PIPE, EPIPE},
               {ERROR_NO_DATA, EPIPE},
               {ERROR_NO_UNICODE_TRANSLATION, EILSEQ},
               {ERROR_CANT_RESOLVE_FILENAME, ELOOP}};
  errno = error == ERROR_INVALID_PARAMETER ? EINVAL : EIO;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].error == error) errno = known[i].number;
}

static bool fail(void) {
  os_windows_set_errno(GetLastError());
  return false;
}

static wchar_t *units_of(const char *text) {
  const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *out = n > 0 ? malloc((size_t)n * sizeof *out) : NULL;
  if (n <= 0) fail();
  else if (!out) errno = ENOMEM;
  else (void)MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, n);
  return out;
}

char *os_windows_text(const wchar_t *text, size_t n) {
  const int bytes = n < INT32_MAX ? WideCharToMultiByte(CP_UTF8, 0, text, (int)n, NULL, 0, NULL, NULL) : 0;
  char *out = malloc((size_t)bytes + 1);
  if (!out) {
    errno = ENOMEM;
    return NULL;
  }
  if (bytes) (void)WideCharToMultiByte(CP_UTF8, 0, text, (int)n, out, bytes, NULL, NULL);
  out[bytes] = '\0';
  return out;
}

/* The same path with the prefix \\?\, which must be absolute and without "." and "..". */
static wchar_t *long_path(const wchar_t *path) {
  static const wchar_t prefix[] = L"\\\\?\\", net[] = L"\\\\?\\UNC";
  const DWORD room = GetFullPathNameW(path, 0, NULL, NULL);
  wchar_t *out = room ? malloc((room + 8) * sizeof *out) : NULL, *at = out ? out + 8 : NULL;
  if (!out) {
    errno = ENOMEM;
    return NULL;
  }
  const DWORD n = GetFullPathNameW(path, room, at, NULL);
  if (!n || n >= room) {
    fail();
    free(out);
    return NULL;
  }
  const bool is_net = at[0] == '\\' && at[1] == '\\' && at[2] != '?' && at[2] != '.';
  const bool is_drive = at[1] == ':';
  if (is_net) at -= 6; /* "\\server" becomes "\\?\UNC\server": one of its backslashes is kept */
  else if (is_drive) at -= 4;
  if (is_net) memcpy(at, net, 7 * sizeof *net);
  else if (is_drive) memcpy(at, prefix, 4 * sizeof *prefix);
  memmove(out, at, (wcslen(at) + 1) * sizeof *at);
  return out;
}

wchar_t *os_windows_path(const char *path) {
  enum { SHORT = 200 }; /* with room for a name to be added to a current folder */
  wchar_t *units = units_of(path);
  if (!units || (wcslen(units) < SHORT && GetFullPathNameW(units, 0, NULL, NULL) < SHORT)) return units;
  wchar_t *out = long_path(units);
  free(units);
  return out;
}

static bool is_separator(char c) { return c == '/' || c == '\\'; }

size_t rlx_os_folder_bytes(const char *path) {
  size_t n = 0;
  for (size_t i = 0; path[i]; i++)
    if (is_separator(path[i]) || (i == 1 && path[i] == ':')) n = i + 1;
  return n;
}

/* A device such as NUL is one with any ending too. */
static bool is_device(const char *name) {
  static const char *const names[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
  size_t n = strcspn(name, ".");
  while (n && name[n - 1] == ' ') n--;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == n && _strnicmp(name, names[i], n) == 0) return true;
  return n == 4 && (_strnicmp(name, "COM", 3) == 0 || _strnicmp(name, "LPT", 3) == 0) && name[3] >= '0' &&
         name[3] <= '9';
}

bool rlx_os_leads_away(const char *name) { return strpbrk(name, "/\\:") || is_device(name); }

bool rlx_os_cache_path(const char *name, char *out, size_t bytes) {
  static const wchar_t *const variables[] = {L"XDG_CACHE_HOME", L"LOCALAPPDATA"};
  wchar_t folder[1024];
  for (size_t i = 0; i < 2; i++) {
    const DWORD units = GetEnvironmentVariableW(variables[i], folder, 1024);
    if (!units || units >= 1024 || (folder[1] != ':' && folder[0] != '\\' && folder[0] != '/')) continue;
    char *text = os_windows_text(folder, units);
    for (char *p = text; p && *p; p++)
      if (*p == '\\') *p = '/';
    const int n = text ? snprintf(out, bytes, "%s/rlx/%s", text, name) : -1;
    free(text);
    return n > 0 && (size_t)n < bytes;
  }
  return false;
}

/* ---- what is there ---- */

static HANDLE handle_of(int fd) { return (HANDLE)_get_osfhandle(fd); }

/* A descriptor for the handle, which it owns. */
static int descriptor_of(HANDLE h, int flags) {
  if (h == INVALID_HANDLE_VALUE) {
    fail();
    return -1;
  }
  const int fd = _open_osfhandle((intptr_t)h, flags | _O_BINARY | _O_NOINHERIT);
  if (fd < 0) {
    CloseHandle(h);
    errno = EMFILE;
  }
  return fd;
}

static HANDLE open_handle(const char *path, DWORD access, DWORD share, DWORD how, DWORD flags) {
  wchar_t *units = os_windows_path(path);
  if (!units) {
    SetLastError(errno == ENOMEM ? ERROR_NOT_ENOUGH_MEMORY : ERROR_NO_UNICODE_TRANSLATION);
    return INVALID_HANDLE_VALUE;
  }
  const HANDLE h = CreateFileW(units, access, share, NULL, how, flags, NULL);
  const DWORD error = GetLastError();
  free(units);
  SetLastError(error);
  return h;
}

/* Whether the file is a link, if it was opened as one. */
static bool is_link(HANDLE h, DWORD attributes) {
  union {
    REPARSE_GUID_DATA_BUFFER head;
    char bytes[MAXIMUM_REPARSE_DATA_BUFFER_SIZE];
  } * data;
  DWORD n, tag = 0;
  if (!(attributes & FILE_ATTRIBUTE_REPARSE_POINT) || !(data = malloc(sizeof *data))) return false;
  if (DeviceIoControl(h, FSCTL_GET_REPARSE_POINT, NULL, 0, data, sizeof *data, &n, NULL)) tag = data->head.ReparseTag;
  free(data);
  return tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
}

static rlx_os_kind kind_of(HANDLE h, DWORD attributes) {
  if (is_link(h, attributes)) return RLX_OS_LINK;
  return attributes & FILE_ATTRIBUTE_DIRECTORY ? RLX_OS_FOLDER : RLX_OS_REGULAR;
}

static bool describe(HANDLE h, rlx_os_stat *out) {
  BY_HANDLE_FILE_INFORMATION i;
  *out = (rlx_os_stat){.kind = RLX_OS_DEVICE, .mode = 0600, .n_names = 1};
  const DWORD type = GetFileType(h);
  if (type == FILE_TYPE_PIPE) out->kind = RLX_OS_FIFO;
  if (type != FILE_TYPE_DISK) return type != FILE_TYPE_UNKNOWN || GetLastError() == NO_ERROR || fail();
  if (!GetFileInformationByHandle(h, &i)) return fail();
  out->kind = kind_of(h, i.dwFileAttributes);
  if (i.dwFileAttributes & FILE_ATTRIBUTE_READONLY) out->mode = 0400;
  out->device = i.dwVolumeSerialNumber;
  out->inode = (uint64_t)i.nFileIndexHigh << 32 | i.nFileIndexLow;
  out->n_names = i.nNumberOfLinks;
  out->bytes = (int64_t)((uint64_t)i.nFileSizeHigh << 32 | i.nFileSizeLow);
  const uint64_t units = (uint64_t)i.ftLastWriteTime.dwHighDateTime << 32 | i.ftLastWriteTime.dwLowDateTime;
  out->seconds = (int64_t)(units / 10000000u) - INT64_C(11644473600); /* units of 100 ns since 1601 */
  out->nanoseconds = (int64_t)(units % 10000000u) * 100;
  return true;
}

static bool look(const char *path, DWORD flags, rlx_os_stat *out) {
  const HANDLE h =
    open_handle(path, FILE_READ_ATTRIBUTES, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags);
  if (h == INVALID_HANDLE_VALUE) return fail();
  const bool ok = describe(h, out);
  CloseHandle(h);
  return ok;
}

bool rlx_os_stat_path(const char *path, rlx_os_stat *out) { return look(path, 0, out); }
bool rlx_os_stat_link(const char *path, rlx_os_stat *out) { return look(path, FILE_FLAG_OPEN_REPARSE_POINT, out); }
bool rlx_os_stat_open(int fd, rlx_os_stat *out) { return describe(handle_of(fd), out); }

bool rlx_os_can_read(const char *path) {
  const HANDLE h = open_handle(path, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
  if (h == INVALID_HANDLE_VALUE) return fail();
  CloseHandle(h);
  return true;
}

/* ---- opening ---- */

int rlx_os_open(const char *path) {
  return descriptor_of(open_handle(path, GENERIC_READ, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS),
                       _O_RDONLY);
}

int rlx_os_open_folder(const char *path) {
  rlx_os_stat st;
  const HANDLE h = open_handle(path, FILE_LIST_DIRECTORY | FILE_TRAVERSE | SYNCHRONIZE, SHARE_ALL, OPEN_EXISTING,
                               FILE_FLAG_BACKUP_SEMANTICS);
  if (h != INVALID_HANDLE_VALUE && (!describe(h, &st) || st.kind != RLX_OS_FOLDER)) {
    CloseHandle(h);
    errno = ENOTDIR;
    return -1;
  }
  return descriptor_of(h, _O_RDONLY);
}

/* By the name in the folder's own handle, so that what the folder's path leads to meanwhile does not matter. */
int rlx_os_open_in(int folder, const char *name, bool is_folder) {
  if (rlx_os_leads_away(name)) {
    errno = EINVAL;
    return -1;
  }
  wchar_t *units = units_of(name);
  if (!units) return -1;
  UNICODE_STRING text = {.Length = (USHORT)(wcslen(units) * sizeof *units), .Buffer = units};
  text.MaximumLength = text.Length;
  OBJECT_ATTRIBUTES which;
  InitializeObjectAttributes(&which, &text, OBJ_CASE_INSENSITIVE, handle_of(folder), NULL);
  IO_STATUS_BLOCK status;
  HANDLE h = INVALID_HANDLE_VALUE;
  const ACCESS_MASK access = is_folder ? FILE_LIST_DIRECTORY | FILE_TRAVERSE | SYNCHRONIZE : FILE_GENERIC_READ;
  const NTSTATUS s = NtCreateFile(&h, access, &which, &status, NULL, 0, SHARE_ALL, FILE_OPEN,
                                  FILE_OPEN_REPARSE_POINT | FILE_SYNCHRONOUS_IO_NONALERT, NULL, 0);
  free(units);
  if (s < 0) {
    os_windows_set_errno(RtlNtStatusToDosError(s));
    return -1;
  }
  rlx_os_stat st;
  errno = 0;
  if (!describe(h, &st)) errno = errno ? errno : EIO;
  else if (st.kind == RLX_OS_LINK) errno = ELOOP;
  else if (is_folder && st.kind != RLX_OS_FOLDER) errno = ENOTDIR;
  if (!errno) return descriptor_of(h, _O_RDONLY);
  const int error = errno;
  CloseHandle(h);
  errno = error;
  return -1;
}

int rlx_os_open_new(const char *path) {
  return descriptor_of(open_handle(path, GENERIC_WRITE, SHARE_ALL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL), _O_WRONLY);
}

/* Files of the user's folders are the user's alone, which they inherit. */
int rlx_os_open_temporary(char *path) {
  static LONG number;
  const size_t n = strlen(path);
  for (int attempt = 0; attempt < 100 && n >= 6; attempt++) {
    uint64_t x = rlx_os_clock() ^ (uint64_t)GetCurrentProcessId() << 20 ^ (uint64_t)InterlockedIncrement(&number);
    x *= UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < 6; i++, x /= 26) path[n - 6 + i] = (char)('a' + x % 26);
    const int fd = rlx_os_open_new(path);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  errno = EEXIST;
  return -1;
}

bool rlx_os_close(int fd) { return _close(fd) == 0; }

/* ---- bytes ---- */

static ptrdiff_t read_part(int fd, void *to, size_t bytes, OVERLAPPED *at) {
  DWORD n = 0;
  if (ReadFile(handle_of(fd), to, (DWORD)(bytes < MAX_PART ? bytes : MAX_PART), &n, at)) return (ptrdiff_t)n;
  const DWORD error = GetLastError();
  if (error == ERROR_HANDLE_EOF || error == ERROR_BROKEN_PIPE) return 0;
  os_windows_set_errno(error);
  return -1;
}

ptrdiff_t rlx_os_read(int fd, void *to, size_t bytes) { return read_part(fd, to, bytes, NULL); }

ptrdiff_t rlx_os_read_at(int fd, void *to, size_t bytes, uint64_t offset) {
  OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
  return read_part(fd, to, bytes, &at);
}

bool rlx_os_write(int fd, const void *data, size_t bytes) {
  const unsigned char *from = data;
  while (bytes > 0) {
    DWORD n = 0;
    if (!WriteFile(handle_of(fd), from, (DWORD)(bytes < MAX_PART ? bytes : MAX_PART), &n, NULL)) return fail();
    if (n == 0) errno = EIO;
    if (n == 0) return false;
    from += n;
    bytes -= n;
  }
  return true;
}

bool rlx_os_sync(int fd) { return FlushFileBuffers(handle_of(fd)) || fail(); }

bool rlx_os_set_mode(int fd, unsigned mode) { /* a file here inherits who may use it from its folder */
  (void)fd, (void)mode;
  return true;
}

/* ---- names ---- */

/* By the rules of POSIX, which Windows 10 and its file system know: the file that is replaced stays with those who have
 * it open. */
static bool rename_as_posix(const wchar_t *from, const wchar_t *to) {
  enum { REPLACE_AND_POSIX = 1 | 2, INFO_EX = 22 }; /* FileRenameInfoEx, which not all headers have */
  struct rename_info {
    DWORD flags;
    HANDLE folder;
    DWORD bytes;
    wchar_t name[1];
  } * info;
  const size_t n = wcslen(to) * sizeof *to, bytes = sizeof *info + n;
  const HANDLE h = CreateFileW(from, DELETE | SYNCHRONIZE, SHARE_ALL, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
  if (h == INVALID_HANDLE_VALUE) return false;
  info = calloc(1, bytes);
  if (info) {
    info->flags = REPLACE_AND_POSIX;
    info->bytes = (DWORD)n;
    memcpy(info->name, to, n);
  }
  const bool ok = info && SetFileInformationByHandle(h, (FILE_INFO_BY_HANDLE_CLASS)INFO_EX, info, (DWORD)bytes);
  free(info);
  CloseHandle(h);
  return ok;
}

/* For older systems, where a file that somebody has open can be renamed but not replaced: it gets another name, under
 * which it is removed once it is closed. For a moment there is no file of the name. */
static bool move_aside(const wchar_t *from, const wchar_t *to) {
  static LONG number;
  wchar_t aside[24];
  swprintf(aside, 24, L".%x-%x.old", (unsigned)GetCurrentProcessId(), (unsigned)InterlockedIncrement(&number));
  const size_t n = wcslen(to), more = wcslen(aside) + 1;
  wchar_t *old = malloc((n + more) * sizeof *old);
  if (!old) return false;
  memcpy(old, to, n * sizeof *old);
  memcpy(old + n, aside, more * sizeof *old);
  bool ok = MoveFileExW(to, old, 0);
  if (ok && !MoveFileExW(from, to, MOVEFILE_WRITE_THROUGH)) {
    ok = false;
    (void)MoveFileExW(old, to, 0);
  }
  if (ok) (void)DeleteFileW(old);
  free(old);
  return ok;
}

/* Another program, such as one that looks for viruses, may have just opened one of the files; it soon closes it. */
static bool rename_at_last(const wchar_t *from, const wchar_t *to) {
  enum { ATTEMPTS = 10, PAUSE_MS = 20 };
  for (int attempt = 0;; attempt++) {
    if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) return true;
    const DWORD error = GetLastError();
    const bool may_end = error == ERROR_SHARING_VIOLATION || error == ERROR_ACCESS_DENIED;
    const DWORD attributes = GetFileAttributesW(to);
    const bool is_there = attributes != INVALID_FILE_ATTRIBUTES;
    const bool is_refused = is_there && (attributes & (FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_DIRECTORY)) != 0;
    if (may_end && is_there && !is_refused && move_aside(from, to)) return true;
    SetLastError(error);
    if (!may_end || is_refused || attempt == ATTEMPTS) return false;
    Sleep(PAUSE_MS);
  }
}

bool rlx_os_replace(const char *from, const char *to) {
  wchar_t *old = os_windows_path(from), *new = old ? os_windows_path(to) : NULL;
  wchar_t *full = new ? long_path(new) : NULL; /* by its handle, a file is renamed to an absolute path */
  const bool ok = full && (rename_as_posix(old, full) || rename_at_last(old, new) || fail());
  const int error = errno;
  free(old);
  free(new);
  free(full);
  errno = error;
  return ok;
}

bool rlx_os_sync_folder_of(char *path) { /* the file system's journal has the name */
  (void)path;
  return true;
}

bool rlx_os_remove(const char *path) {
  wchar_t *units = os_windows_path(path);
  const bool ok = units && (DeleteFileW(units) || fail());
  free(units);
  return ok;
}

bool rlx_os_remove_folder(const char *path) {
  wchar_t *units = os_windows_path(path);
  const bool ok = units && (RemoveDirectoryW(units) || fail());
  free(units);
  return ok;
}

bool rlx_os_make_folder(const char *path) {
  wchar_t *units = os_windows_path(path);
  bool ok = units && CreateDirectoryW(units, NULL);
  if (units && !ok) {
    const DWORD error = GetLastError(), attributes = GetFileAttributesW(units); /* a drive is there, and refused */
    os_windows_set_errno(attributes == INVALID_FILE_ATTRIBUTES ? error : ERROR_ALREADY_EXISTS);
  }
  free(units);
  return ok;
}

void rlx_os_touch(const char *path) {
  FILETIME now;
  const HANDLE h = open_handle(path, FILE_WRITE_ATTRIBUTES, SHARE_ALL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL);
  if (h == INVALID_HANDLE_VALUE) return;
  GetSystemTimeAsFileTime(&now);
  (void)SetFileTime(h, NULL, NULL, &now);
  CloseHandle(h);
}

/* ---- folders ---- */

struct rlx_os_listing {
  HANDLE find;
  bool is_first; /* `found` was not returned yet */
  WIN32_FIND_DATAW found;
  char *name;
};

rlx_os_listing *rlx_os_list_begin(const char *folder) {
  rlx_os_listing *l = calloc(1, sizeof *l);
  char *pattern = l ? malloc(strlen(folder) + 3) : NULL;
  if (pattern) {
    memcpy(pattern, folder, strlen(folder) + 1);
    memcpy(pattern + strlen(pattern), "/*", 3);
  } else errno = ENOMEM;
  wchar_t *units = pattern ? os_windows_path(pattern) : NULL;
  if (units) {
    l->find = FindFirstFileW(units, &l->found);
    l->is_first = true;
    if (l->find == INVALID_HANDLE_VALUE) fail();
  }
  const int error = errno;
  const bool ok = units && l->find != INVALID_HANDLE_VALUE;
  free(pattern);
  free(units);
  if (ok) return l;
  free(l);
  errno = error;
  return NULL;
}

const char *rlx_os_list_next(rlx_os_listing *l) {
  while (l->is_first || FindNextFileW(l->find, &l->found)) {
    l->is_first = false;
    free(l->name);
    l->name = os_windows_text(l->found.cFileName, wcslen(l->found.cFileName));
    if (!l->name) return NULL;
    if (strcmp(l->name, ".") != 0 && strcmp(l->name, "..") != 0) return l->name;
  }
  return NULL;
}

void rlx_os_list_end(rlx_os_listing *l) {
  FindClose(l->find);
  free(l->name);
  free(l);
}

/* Without the prefix of long paths, which os_windows_path adds again. */
static char *plain_path(const wchar_t *path, size_t n) {
  static const wchar_t prefix[] = L"\\\\?\\", net[] = L"\\\\?\\UNC\\";
  const bool is_net = wcsncmp(path, net, 8) == 0, is_long = wcsncmp(path, prefix, 4) == 0;
  const size_t skip = is_net ? 6 : is_long ? 4 : 0; /* of a share, a slash for its second backslash remains */
  char *text = os_windows_text(path + skip, n - skip);
  for (char *p = text; p && *p; p++)
    if (*p == '\\') *p = '/';
  if (text && is_net) text[0] = '/';
  return text;
}

char *rlx_os_real_path(const char *path) {
  const HANDLE h = open_handle(path, 0, SHARE_ALL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
  if (h == INVALID_HANDLE_VALUE) {
    fail();
    return NULL;
  }
  const DWORD room = GetFinalPathNameByHandleW(h, NULL, 0, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
  wchar_t *units = room ? malloc((room + 1) * sizeof *units) : NULL;
  if (!room) fail();
  else if (!units) errno = ENOMEM;
  const DWORD n = units ? GetFinalPathNameByHandleW(h, units, room + 1, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS) : 0;
  char *out = n && n <= room ? plain_path(units, n) : NULL;
  const int error = errno;
  free(units);
  CloseHandle(h);
  errno = error;
  return out;
}
