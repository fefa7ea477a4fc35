/* The thread's error message: a fixed thread-local buffer.
 *
 * A message is formatted in a second buffer on the stack first. So nothing here allocates, which lets an out-of-memory
 * failure be reported, and the arguments of a new message may point into the old one.
 *
 * The cause is the part that a reader needs most. It takes at most three quarters of the buffer; frames are inserted
 * before it and share the rest. A frame that does not fit is cut, and never displaces the cause. Cuts fall between
 * UTF-8 characters.
 *
 * A success does not clear the message: it is meaningful only after a failure. */
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"

enum { MESSAGE_BYTES = RLX_MESSAGE_BYTES, CAUSE_BYTES = MESSAGE_BYTES / 4 * 3 };

static _Thread_local char message[MESSAGE_BYTES];

static const char *const status_names[RLX_STATUS_COUNT] = {
  [RLX_OK] = "ok",
  [RLX_INVALID] = "invalid",
  [RLX_NO_MEMORY] = "no memory",
  [RLX_NOT_FOUND] = "not found",
  [RLX_UNSUPPORTED] = "unsupported",
  [RLX_IO] = "io",
  [RLX_BUSY] = "busy",
  [RLX_CANCELLED] = "cancelled",
  [RLX_DEVICE_LOST] = "device lost",
  [RLX_LIMIT] = "over a limit",
};

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *rlx_version(void) { return VERSION_TEXT(RLX_VERSION_MAJOR, RLX_VERSION_MINOR, RLX_VERSION_PATCH); }

const char *rlx_status_name(rlx_status status) {
  /* Through unsigned, so that the one comparison also catches a negative value. */
  return (unsigned)status < RLX_STATUS_COUNT ? status_names[status] : "unknown status";
}

const char *rlx_message(void) { return message; }

void rlx_message_save(rlx_saved_message *m) { memcpy(m->text, message, strlen(message) + 1); }
void rlx_message_restore(const rlx_saved_message *m) { memcpy(message, m->text, strlen(m->text) + 1); }

/* How many of the first n bytes to keep so that no character is split: n, unless they end in a lead byte whose
 * continuation bytes are incomplete. Bytes that are not UTF-8 are cut anywhere. */
static size_t cut_between_characters(const char *text, size_t n) {
  size_t lead = n;
  while (lead > 0 && n - lead < 3 && ((unsigned char)text[lead - 1] & 0xC0u) == 0x80u) lead--;
  if (lead == 0) return n;
  unsigned char c = (unsigned char)text[--lead];
  size_t length = c >= 0xF0u ? 4 : c >= 0xE0u ? 3 : c >= 0xC0u ? 2 : 1;
  return length > n - lead ? lead : n;
}

size_t rlx_format_fixed(char *out, size_t cap, const char *fmt, va_list args) {
  rlx_os_locale before;
  rlx_os_locale_begin(&before);
  int wanted = vsnprintf(out, cap, fmt, args);
  rlx_os_locale_end(&before);
  size_t n = wanted < 0 ? 0 : (size_t)wanted;
  if (n >= cap) n = cut_between_characters(out, cap - 1);
  out[n] = '\0';
  return n;
}

rlx_status rlx_fail(rlx_status code, const char *fmt, ...) {
  char text[CAUSE_BYTES];
  va_list args;
  va_start(args, fmt);
  size_t n = rlx_format_fixed(text, sizeof text, fmt, args);
  va_end(args);
  memcpy(message, text, n + 1);
  return code;
}

rlx_status rlx_fail_frame(rlx_status code, const char *fmt, ...) {
  char frame[MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  size_t n = rlx_format_fixed(frame, sizeof frame, fmt, args);
  va_end(args);

  size_t old = strlen(message);
  size_t room = sizeof message - 1 - old;
  if (room < 3) return code; /* ": " and one character at least */
  if (n > room - 2) n = cut_between_characters(frame, room - 2);
  memmove(message + n + 2, message, old + 1);
  memcpy(message, frame, n);
  memcpy(message + n, ": ", 2);
  return code;
}
