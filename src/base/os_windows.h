/* What the Windows files of the system share: the system's header, and the errno value for its error numbers. */
#ifndef RLX_BASE_OS_WINDOWS_H
#define RLX_BASE_OS_WINDOWS_H

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <stdbool.h>

/* Sets errno to what the number means in the C library. */
void os_windows_set_errno(DWORD error);
/* The path in UTF-16, absolute and with the prefix that lifts the limit of 260 characters where it is long; free with
 * free. NULL: errno has the reason. */
wchar_t *os_windows_path(const char *path);
/* UTF-8 of a text of n units, NUL-terminated; free with free. NULL: errno has the reason. */
char *os_windows_text(const wchar_t *text, size_t n);

#endif
