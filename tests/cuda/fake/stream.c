/* Streams and events. Work that is given to a stream waits in its queue until something waits for it: execution is as
 * late as CUDA allows.
 *
 * A mark is a position in a stream. Recording an event makes a mark, the last operation before it; cuStreamWaitEvent
 * makes an operation that needs the mark which the event has at that time. Marks only refer to operations that were
 * given before them, so running what a wait needs always ends. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fake_stream {
  fake_stream *next;
  CUstream handle; /* NULL: the default stream, which each context has */
  fake_context *context;
  fake_op *first, **end;
  CUgraph recorded; /* NULL: what is submitted is executed */
};

typedef struct fake_event fake_event;
struct fake_event {
  fake_event *next;
  CUevent handle;
  fake_context *context;
  bool has_timing;
  fake_mark *mark; /* NULL: never recorded */
};

static uint64_t n_pending;

uint64_t fake_pending(void) { return n_pending; }

/* ---- marks and operations ---- */

fake_mark *fake_mark_new(fake_stream *s) {
  fake_mark *m = fake_new(sizeof *m);
  m->refs = 1;
  m->stream = s;
  return m;
}

fake_mark *fake_mark_ref(fake_mark *m) {
  if (m) m->refs++;
  return m;
}

void fake_mark_unref(fake_mark *m) {
  if (m && --m->refs == 0) free(m);
}

fake_op *fake_push(fake_stream *s, fake_op_kind kind) {
  fake_op *op = fake_new(sizeof *op);
  op->kind = kind;
  *s->end = op;
  s->end = &op->next;
  n_pending++;
  return op;
}

static fake_op *pop(fake_stream *s) {
  fake_op *op = s->first;
  s->first = op->next;
  if (!s->first) s->end = &s->first;
  n_pending--;
  return op;
}

static void op_free(fake_op *op) {
  fake_mark_unref(op->after);
  fake_mark_unref(op->mark);
  free(op->copy.src_bytes);
  if (op->exec) fake_exec_unref(op->exec);
  free(op);
}

void fake_drop_all(fake_context *c) {
  for (fake_stream *s = c->streams; s; s = s->next)
    while (s->first) op_free(pop(s));
}

/* ---- execution ---- */

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static CUresult execute(fake_context *c, const fake_op *op, char text[256]) {
  if (op->lose) {
    strcpy(text, "the plan loses the context at this launch");
    return op->lose;
  }
  switch (op->kind) {
    case FAKE_OP_NONE: return CUDA_SUCCESS;
    case FAKE_OP_COPY: return fake_execute_copy(c, &op->copy, text);
    case FAKE_OP_SET:
      memset(fake_range(c, op->copy.dst, op->copy.bytes), op->value, op->copy.bytes);
      fake_set_written(c, op->copy.dst, op->copy.bytes);
      return CUDA_SUCCESS;
    case FAKE_OP_LAUNCH: return fake_execute_launch(c, &op->launch, text);
    case FAKE_OP_GRAPH: return fake_execute_graph(c, op->exec, text);
  }
  return CUDA_ERROR_UNKNOWN;
}

/* Executes one operation: the first of a stream that has some, or the first of the stream that this one waits for. */
static void advance(fake_context *c, fake_stream *s) {
  while (s->first->after && !s->first->after->is_done) s = s->first->after->stream;
  fake_op *op = pop(s);
  char text[256] = "";
  CUresult r = execute(c, op, text);
  if (r) fake_lose(c, r, text);
  else if (op->mark) {
    op->mark->is_done = true;
    op->mark->time_ns = now_ns();
  }
  op_free(op);
}

/* One of the streams that have operations; NULL: all are empty. */
static fake_stream *any_stream(const fake_context *c) {
  uint32_t n = 0;
  fake_stream *found = NULL;
  for (fake_stream *s = c->streams; s; s = s->next)
    if (s->first && fake_random(++n) == 0) found = s;
  return found;
}

/* Now and then, if the plan wants it, executes what nobody has waited for. */
static void wander(fake_context *c) {
  if (fake_random(256) >= fake_plan.wander) return;
  fake_stream *s = any_stream(c);
  if (s) advance(c, s);
}

CUresult fake_run_mark(fake_context *c, fake_mark *m) {
  while (!c->lost && !m->is_done) {
    wander(c);
    if (!c->lost && !m->is_done) advance(c, m->stream);
  }
  return c->lost;
}

CUresult fake_run_stream(fake_context *c, fake_stream *s) {
  while (!c->lost && s->first) {
    wander(c);
    if (!c->lost && s->first) advance(c, s);
  }
  return c->lost;
}

CUresult fake_run_all(fake_context *c) {
  for (fake_stream *s; (s = any_stream(c));) advance(c, s);
  return c->lost;
}

/* ---- streams ---- */

static fake_stream *add_stream(fake_context *c) {
  fake_stream *s = fake_new(sizeof *s), **at = &c->streams;
  s->context = c;
  s->end = &s->first;
  while (*at) at = &(*at)->next;
  return *at = s;
}

void fake_add_default_stream(fake_context *c) { (void)add_stream(c); }

static CUresult find_stream(const fake_context *c, CUstream handle, fake_stream **out) {
  *out = handle ? fake_handle_find(FAKE_STREAM, handle) : c->streams;
  if (*out && (*out)->context == c) return CUDA_SUCCESS;
  return fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                     *out ? "a stream of another context" : "a handle that is not of a stream");
}

CUresult fake_submit(CUstream handle, uint64_t *counter, fake_context **c, fake_stream **s) {
  CUresult r = fake_current(c);
  if (r) return r;
  ++*counter;
  if (fake_fails(&fake_count.submits, fake_plan.fail_submit)) return CUDA_ERROR_OUT_OF_MEMORY;
  return find_stream(*c, handle, s);
}

CUresult fake_StreamCreate(CUstream *out, unsigned flags) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  if (!r && flags > CU_STREAM_NON_BLOCKING) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %u of a stream", flags);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (r) return fake_unlock(r);
  fake_stream *s = add_stream(c);
  *out = s->handle = fake_handle_new(FAKE_STREAM, s);
  return fake_unlock(r);
}

/* What is pending in it is executed. In a lost context it is destroyed as well, and the error is reported. */
CUresult fake_StreamDestroy(CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current_or_lost(&c);
  if (!c) return fake_unlock(r);
  fake_stream *s = fake_handle_find(FAKE_STREAM, handle);
  if (!s || s->context != c)
    return fake_unlock(r ? r
                         : fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of a stream of this context"));
  if (!r) r = fake_run_stream(c, s);
  fake_stream **at = &c->streams;
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  fake_handle_free(handle);
  free(s);
  return fake_unlock(r);
}

CUgraph fake_recorded(const fake_stream *s) { return s->recorded; }

CUresult fake_StreamBeginCapture(CUstream handle, int mode) {
  CUgraph graph = NULL;
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_current(&c);
  if (!r) r = find_stream(c, handle, &s);
  if (!r && (!handle || s->recorded || mode != CU_STREAM_CAPTURE_MODE_RELAXED))
    r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "recording the default stream, one that records, or mode %d", mode);
  fake_unlock(r);
  if (!r) r = fake_GraphCreate(&graph, 0);
  if (!r) s->recorded = graph;
  return r;
}

CUresult fake_StreamEndCapture(CUstream handle, CUgraph *out) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_current(&c);
  if (!r) r = find_stream(c, handle, &s);
  if (!r && !s->recorded) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a stream that does not record");
  if (!r) {
    *out = s->recorded;
    s->recorded = NULL;
  }
  return fake_unlock(r);
}

CUresult fake_StreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  CUresult r = fake_submit(handle, &fake_count.stream_waits, &c, &s);
  fake_event *e = r ? NULL : fake_handle_find(FAKE_EVENT, event);
  if (!r && (!e || e->context != c)) r = fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of an event");
  if (!r && flags) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %u of a wait", flags);
  if (!r && e->mark && !e->mark->is_done) fake_push(s, FAKE_OP_NONE)->after = fake_mark_ref(e->mark);
  return fake_unlock(r);
}

/* ---- events ---- */

static CUresult find_event(CUevent handle, fake_context **c, fake_event **out) {
  *out = NULL;
  CUresult r = fake_current(c);
  if (r) return r;
  fake_event *e = fake_handle_find(FAKE_EVENT, handle);
  if (!e || e->context != *c)
    return fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                       e ? "an event of another context" : "a handle that is not of an event");
  *out = e;
  return CUDA_SUCCESS;
}

CUresult fake_EventCreate(CUevent *out, unsigned flags) {
  fake_lock();
  *out = NULL;
  fake_context *c = NULL;
  CUresult r = fake_current(&c);
  if (!r && flags > 3) r = fake_refuse(CUDA_ERROR_INVALID_VALUE, "flags %u of an event", flags);
  if (!r && fake_fails(&fake_count.creates, fake_plan.fail_create)) r = CUDA_ERROR_OUT_OF_MEMORY;
  if (r) return fake_unlock(r);
  fake_event *e = fake_new(sizeof *e);
  e->context = c;
  e->has_timing = !(flags & CU_EVENT_DISABLE_TIMING);
  e->next = c->events;
  c->events = e;
  *out = e->handle = fake_handle_new(FAKE_EVENT, e);
  return fake_unlock(r);
}

static void event_free(fake_event *e) {
  fake_mark_unref(e->mark);
  fake_handle_free(e->handle);
  free(e);
}

/* Operations that need its mark keep it. */
CUresult fake_EventDestroy(CUevent handle) {
  fake_lock();
  fake_context *c = NULL;
  CUresult r = fake_current_or_lost(&c);
  if (!c) return fake_unlock(r);
  fake_event *e = fake_handle_find(FAKE_EVENT, handle);
  if (!e || e->context != c)
    return fake_unlock(r ? r
                         : fake_refuse(CUDA_ERROR_INVALID_HANDLE, "a handle that is not of an event of this context"));
  fake_event **at = &c->events;
  while (*at != e) at = &(*at)->next;
  *at = e->next;
  event_free(e);
  return fake_unlock(r);
}

CUresult fake_EventRecord(CUevent event, CUstream handle) {
  fake_lock();
  fake_context *c = NULL;
  fake_stream *s = NULL;
  fake_event *e = NULL;
  CUresult r = fake_submit(handle, &fake_count.records, &c, &s);
  if (!r) r = find_event(event, &c, &e);
  if (r) return fake_unlock(r);
  fake_mark_unref(e->mark);
  e->mark = fake_mark_new(s);
  fake_push(s, FAKE_OP_NONE)->mark = fake_mark_ref(e->mark);
  return fake_unlock(r);
}

/* Executes a few operations first, of the event's stream or of any, so that polling ends. */
CUresult fake_EventQuery(CUevent event) {
  fake_lock();
  fake_context *c = NULL;
  fake_event *e = NULL;
  CUresult r = find_event(event, &c, &e);
  if (r) return fake_unlock(r);
  fake_count.queries++;
  for (uint32_t n = fake_random(4); n && e->mark && !e->mark->is_done && !c->lost; n--) {
    fake_stream *s = fake_random(2) ? any_stream(c) : e->mark->stream;
    advance(c, s);
  }
  r = c->lost;
  if (!r && e->mark && !e->mark->is_done) r = CUDA_ERROR_NOT_READY;
  return fake_unlock(r);
}

CUresult fake_EventSynchronize(CUevent event) {
  fake_lock();
  fake_context *c = NULL;
  fake_event *e = NULL;
  CUresult r = find_event(event, &c, &e);
  if (r) return fake_unlock(r);
  fake_count.host_waits++;
  return fake_unlock(e->mark ? fake_run_mark(c, e->mark) : CUDA_SUCCESS);
}

CUresult fake_EventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
  fake_lock();
  fake_context *c = NULL;
  fake_event *a = NULL, *b = NULL;
  *milliseconds = 0;
  CUresult r = find_event(from, &c, &a);
  if (!r) r = find_event(to, &c, &b);
  if (!r && (!a->has_timing || !b->has_timing || !a->mark || !b->mark))
    r = fake_refuse(CUDA_ERROR_INVALID_HANDLE, "elapsed time: expected two recorded events with timing");
  if (!r && (!a->mark->is_done || !b->mark->is_done)) r = CUDA_ERROR_NOT_READY;
  if (!r) *milliseconds = (float)((double)(int64_t)(b->mark->time_ns - a->mark->time_ns) * 1e-6);
  return fake_unlock(r);
}

void fake_streams_free(fake_context *c) {
  for (fake_event *e = c->events; e;) {
    fake_event *next = e->next;
    event_free(e);
    e = next;
  }
  for (fake_stream *s = c->streams; s;) {
    fake_stream *next = s->next;
    if (s->handle) fake_handle_free(s->handle);
    free(s);
    s = next;
  }
}
