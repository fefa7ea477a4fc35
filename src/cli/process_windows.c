/* The process, files, folders, terminals and clocks for the command, by Windows: UTF-8 outside, UTF-16 inside.
 *
 * Ctrl-C, Ctrl-Break and closing the console arrive in a thread of their own, and end the process at once with 130, 143
 * and 129, as signals do elsewhere (process_posix.c). While files are written they wait. Consoles are set to UTF-8 and
 * to understand control sequences, and get back what they had. */
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <shellapi.h>

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- Texts and paths ------------------------------------------------------------------------------------------ */

static bool fail(void) {
  const DWORD error = GetLastError();
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_INVALID_DRIVE: errno = ENOENT; break;
    case ERROR_DIRECTORY: errno = ENOTDIR; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
    case ERROR_NOT_ENOUGH_MEMORY: errno = ENOMEM; break;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA: errno = EPIPE; break;
    case ERROR_DISK_FULL: errno = ENOSPC; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: errno = EACCES; break;
    default: errno = EIO;
  }
  return false;
}

static wchar_t *units_of(const char *text) {
  const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *out = malloc(((size_t)(n > 0 ? n : 0) + 1) * sizeof *out);
  if (n > 0 && out) (void)MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, n);
  else errno = n > 0 ? ENOMEM : ENOENT; /* no file has a name that is not UTF-8 */
  if (n > 0) return out;
  free(out);
  return NULL;
}

static char *text_of(const wchar_t *units) {
  const int n = WideCharToMultiByte(CP_UTF8, 0, units, -1, NULL, 0, NULL, NULL);
  char *out = n > 0 ? malloc((size_t)n) : NULL;
  if (out) (void)WideCharToMultiByte(CP_UTF8, 0, units, -1, out, n, NULL, NULL);
  return out;
}

/* A long path becomes absolute, with the prefix that lifts the limit of 260 characters. Free with free. */
static wchar_t *path_of(const char *path) {
  enum { SHORT = 200 };
  wchar_t *units = units_of(path);
  const DWORD room = units ? GetFullPathNameW(units, 0, NULL, NULL) : 0;
  if (!units || (wcslen(units) < SHORT && room < SHORT)) return units;
  wchar_t *out = malloc((room + 4) * sizeof *out);
  if (out) {
    const DWORD n = GetFullPathNameW(units, room, out + 4, NULL);
    const bool is_drive = n && n < room && out[5] == ':';
    if (is_drive) memcpy(out, L"\\\\?\\", 4 * sizeof *out);
    else memcpy(out, units, (wcslen(units) < room + 3 ? wcslen(units) + 1 : room + 3) * sizeof *out);
  }
  free(units);
  if (!out) errno = ENOMEM;
  return out;
}

bool cli_is_separator(char c) { return c == '/' || c == '\\' || c == ':'; }
char cli_in_name(char c) { return c && strchr("<>:\"/\\|?*", c) ? '_' : (unsigned char)c < ' ' && c ? '_' : c; }

/* ---- Files ---------------------------------------------------------------------------------------------------- */

enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static HANDLE open_handle(const char *path, DWORD access) {
  wchar_t *units = path_of(path);
  if (!units) return INVALID_HANDLE_VALUE;
  const HANDLE h = CreateFileW(units, access, SHARE_ALL, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  if (h == INVALID_HANDLE_VALUE) fail();
  free(units);
  return h;
}

static bool look(HANDLE h, cli_stat *out) {
  BY_HANDLE_FILE_INFORMATION i;
  *out = (cli_stat){0};
  if (GetFileType(h) != FILE_TYPE_DISK) return true;
  if (!GetFileInformationByHandle(h, &i)) return fail();
  out->is_folder = (i.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  out->is_regular = !out->is_folder;
  out->device = i.dwVolumeSerialNumber;
  out->inode = (uint64_t)i.nFileIndexHigh << 32 | i.nFileIndexLow;
  return true;
}

bool cli_look(const char *path, cli_stat *out) {
  const HANDLE h = open_handle(path, FILE_READ_ATTRIBUTES);
  if (h == INVALID_HANDLE_VALUE) return false;
  const bool ok = look(h, out);
  CloseHandle(h);
  return ok;
}

int cli_open(const char *path, bool to_write) {
  const HANDLE h = open_handle(path, to_write ? GENERIC_WRITE : GENERIC_READ);
  if (h == INVALID_HANDLE_VALUE) return -1;
  const int fd = _open_osfhandle((intptr_t)h, (to_write ? _O_WRONLY : _O_RDONLY) | _O_BINARY | _O_NOINHERIT);
  if (fd < 0) CloseHandle(h);
  return fd;
}

bool cli_open_is_regular(int fd) {
  cli_stat st;
  return !look((HANDLE)_get_osfhandle(fd), &st) || st.is_regular;
}

ptrdiff_t cli_read(int fd, void *to, size_t bytes) {
  return _read(fd, to, (unsigned)(bytes < INT_MAX ? bytes : INT_MAX));
}

ptrdiff_t cli_write(int fd, const void *data, size_t bytes) {
  return _write(fd, data, (unsigned)(bytes < INT_MAX ? bytes : INT_MAX));
}

bool cli_close(int fd) { return _close(fd) == 0; }

/* ---- Folders -------------------------------------------------------------------------------------------------- */

/* Permissions here are lists of rules, so it is tried: with the right to add a file. */
bool cli_may_write(const char *folder) {
  const HANDLE h = open_handle(folder, FILE_ADD_FILE);
  if (h == INVALID_HANDLE_VALUE) return false;
  CloseHandle(h);
  return true;
}

bool cli_make_folder(const char *path) {
  wchar_t *units = path_of(path);
  const bool ok = units && (CreateDirectoryW(units, NULL) || fail());
  free(units);
  return ok;
}

void cli_remove_folder(const char *path) {
  wchar_t *units = path_of(path);
  if (units) (void)RemoveDirectoryW(units);
  free(units);
}

/* Adds a name; false: there is no memory. */
static bool keep_name(char ***names, size_t *n, size_t *cap, char *name) {
  if (*n == *cap) {
    char **more = realloc(*names, 2 * *cap * sizeof *more);
    if (!more) return false;
    *names = more;
    *cap *= 2;
  }
  (*names)[(*n)++] = name;
  return true;
}

/* Without memory the list is shorter. */
char **cli_list_folder(const char *path, size_t *n) {
  WIN32_FIND_DATAW found;
  size_t cap = 64;
  *n = 0;
  char *pattern = malloc(strlen(path) + 3);
  if (pattern) snprintf(pattern, strlen(path) + 3, "%s/*", path);
  wchar_t *units = pattern ? path_of(pattern) : NULL;
  const HANDLE find = units ? FindFirstFileW(units, &found) : INVALID_HANDLE_VALUE;
  free(pattern);
  free(units);
  if (find == INVALID_HANDLE_VALUE) return NULL;
  char **names = malloc(cap * sizeof *names);
  do {
    char *name = names && found.cFileName[0] != '.' ? text_of(found.cFileName) : NULL;
    if (!name || keep_name(&names, n, &cap, name)) continue;
    free(name);
    break;
  } while (FindNextFileW(find, &found));
  FindClose(find);
  return names;
}

/* ---- Standard streams, terminals, time ------------------------------------------------------------------------ */

/* What the consoles had before; a mode of 0: there was none to change. */
static struct {
  UINT input_code, output_code;
  DWORD modes[3];
} before;

static HANDLE stream_of(int fd) {
  static const DWORD which[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  return GetStdHandle(which[fd]);
}

static void restore_consoles(void) {
  if (before.input_code) SetConsoleCP(before.input_code);
  if (before.output_code) SetConsoleOutputCP(before.output_code);
  for (int fd = 1; fd < 3; fd++)
    if (before.modes[fd]) SetConsoleMode(stream_of(fd), before.modes[fd]);
}

static void set_consoles(void) {
  DWORD mode;
  for (int fd = 1; fd < 3; fd++)
    if (GetConsoleMode(stream_of(fd), &mode) && SetConsoleMode(stream_of(fd), mode | 4)) /* control sequences */
      before.modes[fd] = mode;
  if (cli_is_terminal(0)) before.input_code = GetConsoleCP();
  if (cli_is_terminal(1) || cli_is_terminal(2)) before.output_code = GetConsoleOutputCP();
  if (before.input_code) SetConsoleCP(CP_UTF8);
  if (before.output_code) SetConsoleOutputCP(CP_UTF8);
  atexit(restore_consoles);
}

/* The words live until the process ends. Where they cannot be had, those of the C library stay. */
void cli_begin(int *argc, char ***argv) {
  int n = 0;
  wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &n);
  char **out = words ? calloc((size_t)n + 1, sizeof *out) : NULL;
  bool ok = out != NULL;
  for (int i = 0; ok && i < n; i++) ok = (out[i] = text_of(words[i])) != NULL;
  if (words) LocalFree(words);
  if (ok) {
    *argc = n;
    *argv = out;
  }
  for (int fd = 0; fd < 3; fd++) (void)_setmode(fd, _O_BINARY);
  set_consoles();
}

bool cli_is_terminal(int fd) {
  DWORD mode;
  return GetConsoleMode(stream_of(fd), &mode) != 0;
}

static SRWLOCK messages = SRWLOCK_INIT;

void cli_hold_messages(void) { AcquireSRWLockExclusive(&messages); }
void cli_release_messages(void) { ReleaseSRWLockExclusive(&messages); }

double cli_seconds(void) {
  LARGE_INTEGER now, rate;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&rate);
  return (double)now.QuadPart / (double)rate.QuadPart;
}

uint64_t cli_noise(void) {
  FILETIME now;
  LARGE_INTEGER ticks;
  GetSystemTimeAsFileTime(&now);
  QueryPerformanceCounter(&ticks);
  return ((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) * 1000000007u + (uint64_t)ticks.QuadPart * 31u +
         (uint64_t)GetCurrentProcessId() * 2654435761u;
}

/* ---- Interrupts ----------------------------------------------------------------------------------------------- */

/* Numbers of the signals that POSIX has for them; the time limit is none of them. */
enum { HANGUP = 1, INTERRUPT = 2, TERMINATE = 15, TIME_LIMIT = -1 };

static atomic_int n_holds, is_noting, last_event, n_events;
static char time_message[160], time_document[320]; /* formatted in advance */

static bool is_over(void) {
  return atomic_load(&n_holds) == 0 &&
         !(atomic_load(&is_noting) && atomic_load(&last_event) == INTERRUPT && atomic_load(&n_events) == 1);
}

static void put(int fd, const char *text) {
  DWORD done;
  (void)WriteFile(stream_of(fd), text, (DWORD)strlen(text), &done, NULL);
}

/* Nothing outside memory is half done, and no other thread is waited for: they end first. */
static _Noreturn void end_by(int event) {
  if (event == TIME_LIMIT) {
    put(2, time_message);
    put(1, time_document);
  }
  restore_consoles();
  ExitProcess(event == TIME_LIMIT ? CLI_FAILED : (UINT)(128 + event));
}

static void on_event(int event) {
  atomic_store(&last_event, event);
  atomic_fetch_add(&n_events, 1);
  if (is_over()) end_by(event);
}

static BOOL WINAPI on_control(DWORD control) {
  const bool is_key = control == CTRL_C_EVENT;
  on_event(is_key ? INTERRUPT : control == CTRL_BREAK_EVENT ? TERMINATE : HANGUP);
  if (!is_key && control != CTRL_BREAK_EVENT) Sleep(INFINITE); /* Windows ends the process when this returns */
  return TRUE;
}

void cli_become(const char *const *words) {
  (void)words;
  errno = ENOSYS;
}

void cli_set_signals(void) { SetConsoleCtrlHandler(on_control, TRUE); }

static void CALLBACK on_time(void *user, BOOLEAN is_over_time) {
  (void)user, (void)is_over_time;
  on_event(TIME_LIMIT);
}

void cli_set_time_limit(double seconds, bool json) {
  snprintf(time_message, sizeof time_message, "rlx: the time limit of %g s is over\n", seconds);
  if (json)
    snprintf(
      time_document, sizeof time_document,
      "{\"error\":{\"status\":\"over a limit\",\"message\":\"the time limit of %g s is over\",\"messages\":[\"the time "
      "limit of %g s is over\"]}}\n",
      seconds, seconds);
  HANDLE timer;
  const double ms = seconds * 1000 < 1 ? 1 : seconds * 1000 > 4e9 ? 4e9 : seconds * 1000;
  (void)CreateTimerQueueTimer(&timer, NULL, on_time, NULL, (DWORD)ms, 0, WT_EXECUTEONLYONCE);
}

void cli_note_interrupts(void) { atomic_store(&is_noting, 1); }
bool cli_interrupted(void) { return atomic_load(&n_events) != 0; }
void cli_forget_interrupts(void) { atomic_store(&n_events, 0); }

void cli_wait_for_interrupt(void) {
  while (!cli_interrupted()) Sleep(100);
}

bool cli_is_interrupted(void *user) {
  (void)user;
  return cli_interrupted();
}

void cli_hold_interrupts(void) { atomic_fetch_add(&n_holds, 1); }

void cli_release_interrupts(void) {
  atomic_fetch_sub(&n_holds, 1);
  if (cli_interrupted() && is_over()) end_by(atomic_load(&last_event));
}

void cli_fill_standard_descriptors(void) {} /* a file's handle never becomes a standard one here */
