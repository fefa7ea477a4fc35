/* What JavaScript calls: the library as flat functions of numbers and pointers.
 *
 * This room is compiled into the WebAssembly module rlx_web.wasm only. web/rlx/worker.js is its one caller; it copies
 * texts and tensors into the module's memory, calls, and copies results out. Three rules hold for every function here:
 *
 *   - nothing aborts: a function returns an object or a text (NULL: it failed) or an rlx_status, and rlx_web_status and
 *     rlx_web_message then describe the failure;
 *   - a text that is returned is NUL-terminated and freed by the caller with rlx_web_free, unless said otherwise;
 *   - one call at a time: the worker starts a call only when the one before has returned, even if that one waits for a
 *     GPU (JavaScript Promise Integration).
 *
 * `user` is a number that the worker chooses per call; callbacks carry it back. */
#ifndef RLX_WEB_WEB_H
#define RLX_WEB_WEB_H

#include "base/status.h"
#include "base/str.h"

/* Exported under its own name; compiled natively (to check it) it is an ordinary function. */
#if defined(__wasm__)
#define WEB_EXPORT(name) __attribute__((export_name(#name)))
#define WEB_IMPORT(name) __attribute__((import_module("rlx"), import_name(#name)))
#else
#define WEB_EXPORT(name)
#define WEB_IMPORT(name)
#endif

/* ---- Functions of the page: web/rlx/worker.js ---- */

/* Progress of a long call; non-zero stops it with RLX_CANCELLED. The stage is named when it changes. */
WEB_IMPORT(rlx_js_progress) int32_t rlx_js_progress(int32_t user, double done, double total);
WEB_IMPORT(rlx_js_stage) void rlx_js_stage(int32_t user, const char *stage);
/* Whether the caller has cancelled. */
WEB_IMPORT(rlx_js_poll) int32_t rlx_js_poll(int32_t user);
/* Generated text, whole UTF-8 characters; non-zero stops. */
WEB_IMPORT(rlx_js_piece) int32_t rlx_js_piece(int32_t user, const char *text, int32_t bytes);
/* A row of the conformance run; non-zero stops. `result` is an rlx_conform_result. */
WEB_IMPORT(rlx_js_row)
int32_t rlx_js_row(int32_t user, const char *op, const char *name, int32_t result, const char *why, double error);
WEB_IMPORT(rlx_js_log) void rlx_js_log(int32_t level, const char *text);

/* ---- Shared by the files of this room ---- */

/* Keeps the status of the call for rlx_web_status and returns it. */
rlx_status web_end(rlx_status s);
/* The same for a call that returns a text: NULL on failure, otherwise the builder's text. Ends the builder. */
char *web_end_text(rlx_status s, rlx_str *text);

/* A watch with the callbacks above. It points to `user`, which must live as long. */
typedef struct web_user {
  int32_t id;
  const char *stage; /* the last one that was named */
} web_user;
rlx_watch web_watch(web_user *user);

/* device: "" or NULL: the best one; memory_bytes: limit of host and device memory each; 0: the library's defaults. */
rlx_status web_session_create(const char *device, uint32_t n_threads, double memory_bytes, rlx_session **out);

/* {"name":..,"backend":..,..} */
void web_device_json(const rlx_device_info *d, rlx_str *out);
/* [2,3] */
void web_shape_json(rlx_dims shape, rlx_str *out);

/* Tensors by name: inputs of a run, whose bytes the caller owns, or its outputs. */
typedef struct web_tensors {
  rlx_named_tensor *v;
  size_t n;
  bool is_owner; /* the data is freed with the list */
} web_tensors;
rlx_status web_tensors_add(web_tensors *t, const char *name, const rlx_tensor *tensor); /* copies the name */
void web_tensors_clear(web_tensors *t);
/* {"name":..,"dtype":..,"shape":[..],"data":ADDRESS,"bytes":N}, .. */
void web_tensors_json(const web_tensors *t, rlx_str *out);

/* A report of a program as a text. kind: rlx_report_kind; format: rlx_report_format. */
char *web_report(const rlx_executable *e, int32_t kind, int32_t format);

#endif
