/* Signals, the time limit and the standard descriptors, by POSIX.
 *
 * An interrupt ends the process at once with 130 (SIGTERM: 143, SIGHUP: 129). That is safe because nothing outside
 * memory is half done, except while files are written: then it is deferred. */
#define _DEFAULT_SOURCE /* for setitimer */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

/* Flags instead of a signal mask: a mask applies to one thread, and a signal is delivered to any thread. */
static volatile sig_atomic_t n_holds, is_noting, last_signal, n_signals;

/* Whether the signals so far end the process now. The first Ctrl-C does not if the command records it. */
static bool is_over(void) { return n_holds == 0 && !(is_noting && last_signal == SIGINT && n_signals == 1); }

/* An expired time limit is a failure and reported as one; an interrupt is not. Both texts are formatted in advance
 * for the signal handler. */
static char time_message[160], time_document[320];

static void put(int fd, const char *text) {
  for (size_t n = strlen(text); n > 0;) {
    ssize_t done = write(fd, text, n);
    if (done <= 0) return;
    text += done;
    n -= (size_t)done;
  }
}

static _Noreturn void end_by(int number) {
  if (number != SIGALRM) _exit(128 + number);
  put(STDERR_FILENO, time_message);
  put(STDOUT_FILENO, time_document);
  _exit(CLI_FAILED);
}

static void on_signal(int number) {
  last_signal = number;
  n_signals++;
  if (is_over()) end_by(number);
}

static void catch_signal(int number, int flags) {
  struct sigaction old, new = {.sa_handler = on_signal, .sa_flags = flags};
  /* The parent may have set signals to be ignored (nohup, a background job of a shell). */
  if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(number, &new, NULL);
}

void cli_set_signals(void) {
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  catch_signal(SIGINT, SA_RESTART);
  catch_signal(SIGTERM, SA_RESTART);
  catch_signal(SIGHUP, SA_RESTART);
  sigaction(SIGPIPE, &ignore, NULL);
  sigaction(SIGXFSZ, &ignore, NULL);
}

void cli_set_time_limit(double seconds, bool json) {
  snprintf(time_message, sizeof time_message, "rlx: the time limit of %g s is over\n", seconds);
  if (json)
    snprintf(
      time_document, sizeof time_document,
      "{\"error\":{\"status\":\"over a limit\",\"message\":\"the time limit of %g s is over\",\"messages\":[\"the time "
      "limit of %g s is over\"]}}\n",
      seconds, seconds);
  catch_signal(SIGALRM, SA_RESTART);
  struct itimerval after = {.it_value = {.tv_sec = (time_t)seconds}};
  after.it_value.tv_usec = (suseconds_t)((seconds - (double)after.it_value.tv_sec) * 1e6);
  if (!after.it_value.tv_sec && !after.it_value.tv_usec) after.it_value.tv_usec = 1;
  setitimer(ITIMER_REAL, &after, NULL);
}

void cli_note_interrupts(void) {
  is_noting = 1;
  catch_signal(SIGINT, 0); /* no SA_RESTART: interrupts a pending read */
}

bool cli_interrupted(void) { return n_signals != 0; }

void cli_forget_interrupts(void) { n_signals = 0; }

void cli_wait_for_interrupt(void) {
  const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000}; /* a signal may come just before it */
  while (!cli_interrupted()) nanosleep(&pause, NULL);
}

bool cli_is_interrupted(void *user) {
  (void)user;
  return n_signals != 0;
}

void cli_hold_interrupts(void) { n_holds++; }

void cli_release_interrupts(void) {
  n_holds--;
  if (n_signals && is_over()) end_by((int)last_signal);
}

void cli_become(const char *const *words) {
  fflush(stdout);
  (void)execvp(words[0], (char *const *)(uintptr_t)words); /* it changes none of them */
}

/* A closed standard descriptor would be reused by the next open, and output would go into that file. It is filled
 * with one opened for the wrong direction, so uses of it still fail. */
void cli_fill_standard_descriptors(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

void cli_hold_messages(void) { flockfile(stderr); }
void cli_release_messages(void) { funlockfile(stderr); }
