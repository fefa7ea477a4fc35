/* ONNX models: open, describe, run, report. */
#include "rlx/onnx.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "web/web.h"

typedef struct web_onnx {
  rlx_onnx *model;
  rlx_session *session;
  rlx_onnx_runner *runner;
  web_user user;
} web_onnx;

WEB_EXPORT(rlx_web_onnx_close) void rlx_web_onnx_close(web_onnx *m) {
  if (!m) return;
  rlx_onnx_runner_destroy(m->runner);
  rlx_onnx_close(m->model);
  rlx_session_destroy(m->session);
  rlx_mem_free(m);
}

static rlx_status open_model(web_onnx *m, const char *path, const char *device, uint32_t n_threads, double memory) {
  rlx_onnx_options options = {RLX_ONNX_OPTIONS_INIT, .watch = web_watch(&m->user)};
  RLX_TRY(web_session_create(device, n_threads, memory, &m->session));
  RLX_TRY(rlx_onnx_open(path, &options.watch, &m->model));
  return rlx_onnx_runner_create(m->session, m->model, &options, &m->runner);
}

WEB_EXPORT(rlx_web_onnx_open)
web_onnx *rlx_web_onnx_open(const char *path, const char *device, uint32_t n_threads, double memory, int32_t user) {
  web_onnx *m = rlx_new(web_onnx);
  if (!m) {
    web_end(RLX_FAIL(RLX_NO_MEMORY, "%s", path));
    return NULL;
  }
  m->user.id = user;
  rlx_status s = open_model(m, path, device, n_threads, memory);
  if (s) {
    rlx_saved_message message;
    rlx_message_save(&message);
    rlx_web_onnx_close(m);
    rlx_message_restore(&message);
    m = NULL;
  }
  web_end(s);
  return m;
}

/* ---- Description ---- */

typedef rlx_status (*value_fn)(const rlx_onnx *m, uint32_t i, rlx_onnx_value *out);

/* A size is a number; one that inputs decide is the name of its symbol, or null. */
static void add_value(const rlx_onnx_value *v, rlx_str *out) {
  rlx_str_add(out, "{\"name\":");
  rlx_str_add_quoted(out, v->name);
  rlx_str_add(out, ",\"type\":");
  rlx_str_add_quoted(out, v->type);
  const rlx_dtype_info *dtype = rlx_dtype_describe(v->dtype);
  rlx_str_add(out, ",\"dtype\":\"%s\",\"optional\":%s,\"shape\":", dtype ? dtype->name : "unknown",
              v->has_default ? "true" : "false");
  if (v->rank < 0) rlx_str_add(out, "null");
  else rlx_str_add_char(out, '[');
  for (int32_t i = 0; i < v->rank; i++) {
    if (i) rlx_str_add_char(out, ',');
    if (v->dim[i].size >= 0) rlx_str_add(out, "%" PRId64, v->dim[i].size);
    else if (v->dim[i].symbol) rlx_str_add_quoted(out, v->dim[i].symbol);
    else rlx_str_add(out, "null");
  }
  rlx_str_add(out, v->rank < 0 ? "}" : "]}");
}

static rlx_status add_values(const rlx_onnx *m, uint32_t n, value_fn at, rlx_str *out) {
  for (uint32_t i = 0; i < n; i++) {
    rlx_onnx_value v = {RLX_ONNX_VALUE_INIT};
    RLX_TRY(at(m, i, &v));
    if (i) rlx_str_add_char(out, ',');
    add_value(&v, out);
  }
  return RLX_OK;
}

static rlx_status describe(const web_onnx *m, rlx_str *out) {
  rlx_onnx_info info = {RLX_ONNX_INFO_INIT};
  rlx_device_info device = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(rlx_onnx_describe(m->model, &info));
  RLX_TRY(rlx_session_device(m->session, &device));
  rlx_str_add(out, "{\"inputs\":[");
  RLX_TRY(add_values(m->model, rlx_onnx_input_count(m->model), rlx_onnx_input_at, out));
  rlx_str_add(out, "],\"outputs\":[");
  RLX_TRY(add_values(m->model, rlx_onnx_output_count(m->model), rlx_onnx_output_at, out));
  rlx_str_add(out, "],\"producer\":");
  rlx_str_add_quoted(out, info.producer);
  rlx_str_add(out, ",\"graph\":");
  rlx_str_add_quoted(out, info.graph);
  rlx_str_add(out,
              ",\"nodes\":%" PRIu32 ",\"weightBytes\":%" PRIu64 ",\"fileBytes\":%" PRIu64 ",\"device\":", info.n_nodes,
              info.weight_bytes, info.file_bytes);
  web_device_json(&device, out);
  rlx_str_add(out, ",\"metadata\":{");
  const char *value;
  for (uint32_t i = 0; i < info.n_metadata; i++) {
    if (i) rlx_str_add_char(out, ',');
    rlx_str_add_quoted(out, rlx_onnx_metadata_at(m->model, i, &value));
    rlx_str_add_char(out, ':');
    rlx_str_add_quoted(out, value);
  }
  rlx_str_add(out, "}}");
  return RLX_OK;
}

WEB_EXPORT(rlx_web_onnx_info) char *rlx_web_onnx_info(const web_onnx *m) {
  rlx_str out = {0};
  return web_end_text(describe(m, &out), &out);
}

/* ---- Running ---- */

static rlx_status run(web_onnx *m, const web_tensors *inputs, rlx_str *out) {
  RLX_TRY(rlx_onnx_run(m->runner, inputs->v, inputs->n));
  rlx_str_add_char(out, '[');
  for (uint32_t i = 0; i < rlx_onnx_output_count(m->model); i++) {
    rlx_named_tensor x;
    RLX_TRY(rlx_onnx_runner_output(m->runner, i, &x.name, &x.tensor));
    if (i) rlx_str_add_char(out, ',');
    web_tensors_json(&(web_tensors){.v = &x, .n = 1}, out);
  }
  rlx_str_add_char(out, ']');
  return RLX_OK;
}

/* Returns the outputs as JSON; their bytes live until the next run of this model. */
WEB_EXPORT(rlx_web_onnx_run) char *rlx_web_onnx_run(web_onnx *m, const web_tensors *inputs, int32_t user) {
  rlx_str out = {0};
  m->user = (web_user){.id = user};
  return web_end_text(run(m, inputs, &out), &out);
}

/* Of the first part of the last run that ran on the device. */
WEB_EXPORT(rlx_web_onnx_report) char *rlx_web_onnx_report(const web_onnx *m, int32_t kind, int32_t format) {
  rlx_onnx_runner_part part = {RLX_ONNX_RUNNER_PART_INIT};
  for (uint32_t i = 0; !part.executable && i < rlx_onnx_runner_part_count(m->runner); i++)
    if (rlx_onnx_runner_part_at(m->runner, i, &part)) break;
  return web_report(part.executable, kind, format);
}
