/* Saves a sequence to a file and restores it. The file is a safetensors file with the tokens and their states, so
 * any tool can read it.
 *
 * KV rows are saved for the computed tokens only, not for the whole context; a recurrent state is saved whole. A
 * file is accepted only if family, layers, and the types and sizes of rows match the model. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "model/engine.h"

/* A state of the single-sequence programs: [1, context, ..], or a recurrent one. */
typedef struct saved_state {
  const char *name;
  rlx_node node;
  rlx_tensor part; /* the part that is saved; no data */
} saved_state;
typedef struct saved_states {
  rlx_arena *arena;
  RLX_ARRAY(saved_state) all;
} saved_states;

static rlx_status list_states(rlx_lm *lm, uint32_t tokens, saved_states *out) {
  lm_program *p;
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = 1, .result = LM_TOKEN}, &p));
  RLX_TRY(rlx_executable_arena(p->executable, &out->arena));
  const rlx_graph *g = rlx_executable_graph(p->executable);
  for (rlx_node n = 1; n <= rlx_graph_size(g); n++) {
    if (strcmp(rlx_node_op(g, n), "state") != 0) continue;
    saved_state k = {
      .name = rlx_node_name(g, n), .node = n, .part = {.dtype = rlx_node_dtype(g, n), .shape = rlx_node_shape(g, n)}};
    if (!lm_model_facts(lm->model)->is_recurrent) k.part.shape.v[1] = tokens;
    if (rlx_dtype_is_block(k.part.dtype)) { /* the format has no block types: the bytes of the rows */
      int64_t *row = &k.part.shape.v[k.part.shape.n - 1];
      *row = (int64_t)rlx_dtype_row_bytes(k.part.dtype, (size_t)*row);
      k.part.dtype = RLX_U8;
    }
    RLX_TRY(rlx_tensor_bytes(k.part.dtype, k.part.shape, &k.part.bytes));
    if (!rlx_array_push(&out->all, k)) return RLX_FAIL(RLX_NO_MEMORY, "the states of the model");
  }
  return RLX_OK;
}

static rlx_status write_text(rlx_file_writer *w, const char *key, const char *text) {
  return rlx_file_writer_meta(w, &(rlx_meta){.key = key, .kind = RLX_META_TEXT, .text = text, .n = strlen(text)});
}

static rlx_status describe(rlx_lm *lm, const lm_sequence *q, const saved_states *states, rlx_file_writer *w) {
  const lm_facts *f = lm_model_facts(lm->model);
  RLX_TRY(write_text(w, "rlx.kind", "sequence"));
  RLX_TRY(write_text(w, "rlx.family", f->family));
  RLX_TRY(write_text(w, "rlx.model", f->name ? f->name : ""));
  char computed[16];
  snprintf(computed, sizeof computed, "%u", (unsigned)q->done);
  RLX_TRY(write_text(w, "rlx.computed", computed));
  RLX_TRY(rlx_file_writer_tensor(w, "tokens", RLX_I32, (rlx_dims){.v = {(int64_t)q->ids.n}, .n = 1}));
  for (size_t i = 0; i < states->all.n; i++) {
    const saved_state *k = &states->all.v[i];
    RLX_TRY(rlx_file_writer_tensor(w, k->name, k->part.dtype, k->part.shape));
  }
  return RLX_OK;
}

static rlx_status write_all(rlx_lm *lm, const lm_sequence *q, saved_states *states, rlx_file_writer *w) {
  RLX_TRY(list_states(lm, q->done, states));
  RLX_TRY(describe(lm, q, states, w));
  RLX_TRY(rlx_file_writer_bytes(w, q->ids.v, q->ids.n * sizeof *q->ids.v));
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < states->all.n && !s; i++) {
    const saved_state *k = &states->all.v[i];
    void *data = rlx_mem_alloc(k->part.bytes);
    if (!data) s = RLX_FAIL(RLX_NO_MEMORY, "state '%s': %zu bytes", k->name, k->part.bytes);
    if (!s) s = rlx_arena_read_raw(states->arena, k->node, 0, data, k->part.bytes);
    if (!s) s = rlx_file_writer_bytes(w, data, k->part.bytes);
    rlx_mem_free(data);
  }
  return s ? s : rlx_file_writer_finish(w);
}

rlx_status lm_save(rlx_lm *lm, uint32_t sequence, const char *path) {
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_save", sequence));
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_lm_save: the path is NULL");
  if (lm_scales_any(&lm->sequences[sequence].scales))
    return RLX_FAIL(RLX_UNSUPPORTED, "rlx_lm_save: the sequence was computed with adapters, which the file has not");
  lm->scales = lm->sequences[sequence].scales;
  RLX_TRY(lm_hold(lm, sequence));
  saved_states states = {0};
  rlx_file_writer *w;
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = write_all(lm, &lm->sequences[sequence], &states, w);
  rlx_file_writer_destroy(w);
  rlx_array_deinit(&states.all);
  return s;
}

/* ---- Restoring ---- */

static rlx_status check_meta(const rlx_file *f, const char *key, const char *want) {
  rlx_meta m;
  if (!rlx_file_meta_find(f, key, &m) || m.kind != RLX_META_TEXT)
    return RLX_FAIL(RLX_INVALID, "not a saved sequence: '%s' is missing", key);
  if (strcmp(m.text, want) != 0) return RLX_FAIL(RLX_INVALID, "%s is '%s', expected '%s'", key, m.text, want);
  return RLX_OK;
}

static rlx_status find_part(const rlx_file *f, const saved_state *k, const rlx_file_tensor **out) {
  const rlx_file_tensor *t = *out = rlx_file_tensor_find(f, k->name);
  if (!t) return RLX_FAIL(RLX_INVALID, "state '%s' of the model is not in the file", k->name);
  bool same = t->dtype == k->part.dtype && t->shape.n == k->part.shape.n;
  for (int i = 0; same && i < t->shape.n; i++) same = t->shape.v[i] == k->part.shape.v[i];
  if (!same)
    return RLX_FAIL(RLX_INVALID,
                    "state '%s' has other sizes or another type than the model's: %zu bytes, expected %zu of %s",
                    k->name, t->bytes, k->part.bytes, rlx_dtype_describe(k->part.dtype)->name);
  return RLX_OK;
}

static rlx_status read_tokens(const rlx_lm *lm, const rlx_file *f, lm_sequence *q) {
  const rlx_file_tensor *t = rlx_file_tensor_find(f, "tokens");
  if (!t || t->dtype != RLX_I32 || t->shape.n != 1) return RLX_FAIL(RLX_INVALID, "'tokens' is missing or not i32[n]");
  size_t n = t->bytes / sizeof *q->ids.v;
  if (n > lm->context)
    return RLX_FAIL(RLX_INVALID, "%zu tokens were saved, the context here holds %u", n, (unsigned)lm->context);
  if (!rlx_array_reserve(&q->ids, n)) return RLX_FAIL(RLX_NO_MEMORY, "%zu tokens", n);
  RLX_TRY(rlx_file_read_tensor(f, t, 0, q->ids.v, t->bytes));
  for (size_t i = 0; i < n; i++)
    if (q->ids.v[i] < 0 || (uint32_t)q->ids.v[i] >= lm_model_facts(lm->model)->n_vocab)
      return RLX_FAIL(RLX_INVALID, "token %zu is %d: the model has no such token", i, (int)q->ids.v[i]);
  q->ids.n = n;
  return RLX_OK;
}

/* Reads how many of the tokens the states hold. */
static rlx_status read_computed(const rlx_file *f, lm_sequence *q) {
  rlx_meta m;
  double n = -1;
  bool is_number =
    rlx_file_meta_find(f, "rlx.computed", &m) && m.kind == RLX_META_TEXT && rlx_text_to_double(m.text, m.n, &n);
  if (!is_number || !(n >= 0 && n <= (double)q->ids.n) || n != (double)(uint32_t)n)
    return RLX_FAIL(RLX_INVALID, "'rlx.computed' must be a number up to %zu, the tokens there are", q->ids.n);
  q->done = (uint32_t)n;
  return RLX_OK;
}

static rlx_status read_states(const rlx_file *f, const saved_states *states) {
  const rlx_file_tensor *t;
  for (size_t i = 0; i < states->all.n; i++)
    RLX_TRY(find_part(f, &states->all.v[i], &t)); /* check all before changing anything */
  rlx_status s = RLX_OK;
  for (size_t i = 0; i < states->all.n && !s; i++) {
    const saved_state *k = &states->all.v[i];
    void *data = rlx_mem_alloc(k->part.bytes);
    if (!data) s = RLX_FAIL(RLX_NO_MEMORY, "state '%s': %zu bytes", k->name, k->part.bytes);
    if (!s) s = find_part(f, k, &t);
    if (!s) s = rlx_file_read_tensor(f, t, 0, data, k->part.bytes);
    if (!s) s = rlx_arena_write_raw(states->arena, k->node, 0, data, k->part.bytes);
    rlx_mem_free(data);
  }
  return s;
}

static rlx_status restore(rlx_lm *lm, uint32_t sequence, const rlx_file *f, saved_states *states, lm_sequence *fresh) {
  RLX_TRY(check_meta(f, "rlx.kind", "sequence"));
  RLX_TRY(check_meta(f, "rlx.family", lm_model_facts(lm->model)->family));
  RLX_TRY(read_tokens(lm, f, fresh));
  RLX_TRY(read_computed(f, fresh));
  RLX_TRY(list_states(lm, fresh->done, states));
  RLX_TRY(lm_hold(lm, sequence));
  lm->sequences[sequence].done = 0; /* its rows are overwritten below */
  return read_states(f, states);
}

rlx_status lm_restore(rlx_lm *lm, uint32_t sequence, const char *path) {
  RLX_TRY(lm_check_sequence(lm, "rlx_lm_restore", sequence));
  if (!path) return RLX_FAIL(RLX_INVALID, "rlx_lm_restore: the path is NULL");
  lm->scales = (lm_scales){0};
  rlx_file *f;
  RLX_TRY(rlx_file_open(path, NULL, &f));
  saved_states states = {0};
  lm_sequence fresh = {0};
  rlx_status s = restore(lm, sequence, f, &states, &fresh);
  lm_sequence *q = &lm->sequences[sequence];
  if (!s) {
    lm_sequence old = *q;
    *q = fresh;
    fresh = old;
  } else {
    s = rlx_fail_frame(s, "%s", path);
  }
  rlx_array_deinit(&fresh.ids);
  rlx_array_deinit(&states.all);
  rlx_file_close(f);
  return s;
}
