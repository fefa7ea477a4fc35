/* Runs the invocations of a workgroup as fibers: each has its own stack and runs until it ends or reaches a barrier.
 * When all have reached it, they continue from the first. The order is always the same, so failures are reproducible. A
 * barrier that only some invocations reach is an error on every GPU: it is reported as a fault.
 *
 * Fibers are switched with ucontext. The sanitizer is notified of each switch, since it tracks the stack in use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "emu/run.h"

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#endif
#ifdef EMU_ASAN
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES (256 * 1024)
#else
#define STACK_BYTES (64 * 1024)
#endif

/* Functions that never return, or that return on another fiber, are left out of the thread sanitizer's record of calls,
 * which would grow with each invocation. */
#if defined(__has_attribute)
#if __has_attribute(disable_sanitizer_instrumentation)
#define UNRECORDED __attribute__((disable_sanitizer_instrumentation))
#endif
#endif
#ifndef UNRECORDED
#define UNRECORDED __attribute__((no_sanitize("thread")))
#endif

enum { MAX_GROUP = 1024 };
typedef struct fiber {
  ucontext_t context;
  char *stack;
  void *fake;
  bool done;
} fiber;

uint32_t emu_group_size, emu_lid, emu_wg;
static fiber *fibers[MAX_GROUP];
static ucontext_t scheduler;
static void (*body)(void);
#ifdef EMU_ASAN
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_bytes;
#endif

UNRECORDED static void yield_fiber(bool is_done) {
  fiber *f = fibers[emu_lid];
#ifdef EMU_ASAN
  __sanitizer_start_switch_fiber(is_done ? NULL : &f->fake, scheduler_stack, scheduler_bytes);
#else
  (void)is_done;
#endif
  swapcontext(&f->context, &scheduler);
#ifdef EMU_ASAN
  __sanitizer_finish_switch_fiber(f->fake, &scheduler_stack, &scheduler_bytes);
#endif
}

UNRECORDED static void entry(void) {
#ifdef EMU_ASAN
  __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_bytes);
#endif
  body();
  fibers[emu_lid]->done = true;
  yield_fiber(true);
}

void emu_barrier(void) { yield_fiber(false); }

static void resume(fiber *f) {
#ifdef EMU_ASAN
  __sanitizer_start_switch_fiber(&scheduler_fake, f->stack, STACK_BYTES);
#endif
  swapcontext(&scheduler, &f->context);
#ifdef EMU_ASAN
  __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
#endif
}

static bool prepare(uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (!fibers[i]) {
      fiber *f = calloc(1, sizeof *f);
      if (f) f->stack = malloc(STACK_BYTES);
      if (!f || !f->stack) {
        free(f);
        return false;
      }
      fibers[i] = f;
    }
    fiber *f = fibers[i];
    f->done = false;
    f->fake = NULL;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = NULL;
    makecontext(&f->context, entry, 0);
  }
  return true;
}

bool emu_run_group(void (*run)(void), uint32_t group, uint32_t size) {
  if (size > MAX_GROUP || !prepare(size)) return false;
  body = run;
  emu_wg = group;
  emu_group_size = size;
  for (uint32_t left = size; left;) {
    uint32_t ended = 0;
    for (uint32_t i = 0; i < size; i++) {
      if (fibers[i]->done) continue;
      emu_lid = i;
      resume(fibers[i]);
      ended += fibers[i]->done;
    }
    if (ended && ended != left) emu_fault("a barrier that only part of the group reaches", emu_lid, left - ended);
    left -= ended;
  }
  return true;
}

void emu_fibers_free(void) {
  for (int i = 0; i < MAX_GROUP; i++) {
    if (fibers[i]) free(fibers[i]->stack);
    free(fibers[i]);
    fibers[i] = NULL;
  }
}
