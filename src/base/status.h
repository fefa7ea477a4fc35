/* Status codes and error messages.
 *
 * Every function that can fail returns an rlx_status; the text goes to a thread-local message. RLX_FAIL starts a
 * message ("what was expected, what was found, where"). RLX_TRY_AT adds a context frame on the way up, so that the
 * reader sees the path from the outermost call to the cause: "loading m.gguf: tensor 3: ...". Setting a message never
 * allocates, so an out-of-memory failure can be reported. */
#ifndef RLX_BASE_STATUS_H
#define RLX_BASE_STATUS_H

#include <stdarg.h>

#include "rlx/rlx.h"

#if defined(__MINGW32__) && !defined(__clang__) /* gcc's printf is the system's old one there */
#define RLX_PRINTF(fmt_at, args_at) __attribute__((format(gnu_printf, fmt_at, args_at)))
#elif defined(__GNUC__)
#define RLX_PRINTF(fmt_at, args_at) __attribute__((format(printf, fmt_at, args_at)))
#else
#define RLX_PRINTF(fmt_at, args_at)
#endif

#define RLX_STATUS_COUNT ((int)RLX_LIMIT + 1) /* not public: it grows */

/* Replaces the thread's message and returns `code`. */
/* For cleanup that can fail: the message stays that of the failure it cleans up after. */
enum { RLX_MESSAGE_BYTES = 3840 };
typedef struct rlx_saved_message {
  char text[RLX_MESSAGE_BYTES];
} rlx_saved_message;
void rlx_message_save(rlx_saved_message *m);
void rlx_message_restore(const rlx_saved_message *m);

rlx_status rlx_fail(rlx_status code, const char *fmt, ...) RLX_PRINTF(2, 3);
/* Inserts "<frame>: " before the thread's message and returns `code`. A frame that does not fit is cut; the cause is
 * kept whole. */
rlx_status rlx_fail_frame(rlx_status code, const char *fmt, ...) RLX_PRINTF(2, 3);
/* vsnprintf into a fixed buffer (cap > 0), cut between UTF-8 characters if it does not fit. Returns the bytes kept. */
size_t rlx_format_fixed(char *out, size_t cap, const char *fmt, va_list args) RLX_PRINTF(3, 0);

/* Shows the compiler that rlx_fail returns its code. Then it knows that a failure is not RLX_OK and does not warn about
 * results that a failed call left unset. */
static inline rlx_status rlx_fail_code(rlx_status code, rlx_status reported) {
  (void)reported;
  return code;
}

#define RLX_FAIL(code, ...) rlx_fail_code((code), rlx_fail((code), __VA_ARGS__))
#define RLX_TRY(expr)                              \
  do {                                             \
    rlx_status try_status_ = (expr);               \
    if (try_status_ != RLX_OK) return try_status_; \
  } while (0)
#define RLX_TRY_AT(expr, ...)                                                   \
  do {                                                                          \
    rlx_status try_status_ = (expr);                                            \
    if (try_status_ != RLX_OK) return rlx_fail_frame(try_status_, __VA_ARGS__); \
  } while (0)

#endif
