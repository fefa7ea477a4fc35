/* Runs the invocations of a workgroup on fibers, stacks of their own. A fiber takes one invocation after the other, to
 * the last or to one that reaches a barrier; there the fiber waits, and the next one takes what is left. When all have
 * ended or wait, those that wait continue from the first. So a kernel without barriers is one loop on one stack, and
 * the order is always the same: failures are reproducible. A barrier that only some invocations reach is an error on
 * every GPU: it is reported as a fault.
 *
 * Fibers are switched with ucontext. They are kept from group to group, since the address sanitizer, which is notified
 * of each switch, makes a second stack for every fiber, and that takes longer than most kernels. */
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
  uint32_t lid; /* of the invocation that waits */
  bool waits, is_made;
} fiber;

uint32_t emu_group_size, emu_lid, emu_wg;
static fiber *fibers[MAX_GROUP];
static fiber *current;
static ucontext_t scheduler;
static void (*body)(void);
static uint32_t begun, ended; /* invocations of the group */
static bool leaving;          /* fibers end, they take no invocation */
#ifdef EMU_ASAN
static void *scheduler_fake;
static const void *scheduler_stack;
static size_t scheduler_bytes;
#endif

UNRECORDED static void to_scheduler(bool for_good) {
  fiber *f = current;
#ifdef EMU_ASAN
  __sanitizer_start_switch_fiber(for_good ? NULL : &f->fake, scheduler_stack, scheduler_bytes);
#else
  (void)for_good;
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
  while (!leaving) {
    while (begun < emu_group_size) {
      emu_lid = begun++;
      body();
      ended++;
    }
    to_scheduler(false);
  }
  to_scheduler(true);
}

UNRECORDED void emu_barrier(void) {
  current->waits = true;
  current->lid = emu_lid;
  to_scheduler(false);
}

static void resume(fiber *f) {
  current = f;
  f->waits = false;
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
    if (f->is_made) continue;
    f->is_made = true;
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
  begun = ended = 0;
  uint32_t used = 0;
  while (begun < size) resume(fibers[used++]);
  for (uint32_t left = size; left;) {
    if (ended && ended != left) emu_fault("a barrier that only part of the group reaches", emu_lid, left - ended);
    left -= ended;
    ended = 0;
    for (uint32_t i = 0; i < used; i++) {
      if (!fibers[i]->waits) continue;
      emu_lid = fibers[i]->lid;
      resume(fibers[i]);
    }
  }
  return true;
}

/* In a forked child a fiber may be in the middle of a kernel that another thread ran: all begin anew. */
void emu_fibers_forget(void) {
  for (int i = 0; i < MAX_GROUP; i++)
    if (fibers[i]) fibers[i]->is_made = false;
  leaving = false;
}

void emu_fibers_free(void) {
  leaving = true;
  emu_group_size = 0;
  for (int i = 0; i < MAX_GROUP; i++) {
    if (!fibers[i]) continue;
    if (fibers[i]->is_made) resume(fibers[i]); /* the sanitizer frees its second stack when a fiber ends */
    free(fibers[i]->stack);
    free(fibers[i]);
    fibers[i] = NULL;
  }
  leaving = false;
}
