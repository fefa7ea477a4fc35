/* Contexts: made current for a thread by a stack of its own, as CUDA does. A context owns its streams, events, modules,
 * instantiated graphs and memory, and destroying it destroys them: what is pending then is never executed. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEPTH = 64 };
static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local int depth;

CUresult fake_current_or_lost(fake_context **out) {
  *out = NULL;
  CUresult r = fake_ready();
  if (r) return r;
  if (!depth || !stack[depth - 1]) return fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "the thread has no current context");
  *out = fake_handle_find(FAKE_CONTEXT, stack[depth - 1]);
  if (!*out) return fake_refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the thread's current context was destroyed");
  return (*out)->lost;
}

CUresult fake_current(fake_context **out) {
  CUresult r = fake_current_or_lost(out);
  if (r) *out = NULL;
  return r;
}

void fake_lose(fake_context *c, CUresult error, const char *text) {
  c->lost = error;
  snprintf(fake_count.fault, sizeof fake_count.fault, "%s", text);
  fake_log("the context is lost", text);
  fake_drop_all(c);
}

static CUresult push(CUcontext handle) {
  if (depth == MAX_DEPTH) return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%d contexts were pushed already", MAX_DEPTH);
  stack[depth++] = handle;
  return CUDA_SUCCESS;
}

static void destroy(fake_context *c) {
  fake_drop_all(c);
  fake_execs_free(c);
  fake_modules_free(c);
  fake_streams_free(c);
  fake_memory_free_all(c);
  fake_handle_free(c->handle);
  free(c);
}

CUresult fake_CtxCreate(CUcontext *out, unsigned flags, CUdevice d) {
  fake_lock();
  *out = NULL;
  CUresult r = fake_ready();
  if (!r && d != 0) r = fake_refuse(CUDA_ERROR_INVALID_DEVICE, "expected device 0, got %d", d);
  if (!r && flags > 0x1f) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %#x of a context", flags);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (r) return fake_unlock(r);
  fake_context *c = fake_new(sizeof *c);
  c->handle = fake_handle_new(FAKE_CONTEXT, c);
  fake_add_default_stream(c);
  r = push(c->handle);
  if (r) destroy(c);
  else *out = c->handle;
  return fake_unlock(r);
}

CUresult fake_CtxDestroy(CUcontext handle) {
  fake_lock();
  CUresult r = fake_ready();
  fake_context *c = r ? NULL : fake_handle_find(FAKE_CONTEXT, handle);
  if (!r && !c) r = fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "a handle that is not of a context");
  if (r) return fake_unlock(r);
  if (depth && stack[depth - 1] == handle) depth--;
  destroy(c);
  return fake_unlock(r);
}

CUresult fake_CtxPushCurrent(CUcontext handle) {
  fake_lock();
  CUresult r = fake_ready();
  if (!r && !fake_handle_find(FAKE_CONTEXT, handle))
    r = fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "a handle that is not of a context");
  if (!r) r = push(handle);
  return fake_unlock(r);
}

CUresult fake_CtxPopCurrent(CUcontext *out) {
  fake_lock();
  if (out) *out = NULL;
  CUresult r = fake_ready();
  if (!r && !depth) r = fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "no context was pushed");
  if (r) return fake_unlock(r);
  depth--;
  if (out) *out = stack[depth];
  return fake_unlock(r);
}

CUresult fake_CtxSynchronize(void) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  if (r) return fake_unlock(r);
  fake_count.host_waits++;
  return fake_unlock(fake_run_all(c));
}
