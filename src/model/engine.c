/* Loads a language model: file, configuration, programs, weights; describes a loaded one. */
#include "model/engine.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sized.h"
#include "io/file.h"
#include "ir/switches.h"
#include "model/requests.h"
#include "runtime/weights.h"

/* Reading back after each token costs a device round trip; a span of 8 hides 7/8 of that. */
enum { GPU_AHEAD = 8 };
enum { DEFAULT_CONTEXT = 4096, DEFAULT_CHUNK = 512, GPU_PACK = 2048, MAX_CHUNK = 4096 };

/* ---- Programs ---- */

static bool same_desc(const lm_graph_desc *a, const lm_graph_desc *b) {
  return a->sequences == b->sequences && a->tokens == b->tokens && a->context == b->context && a->cache == b->cache &&
         a->result == b->result && a->is_drawn == b->is_drawn && a->max_k == b->max_k &&
         a->is_penalised == b->is_penalised && a->slots == b->slots && a->page == b->page && a->singles == b->singles &&
         a->groups == b->groups && a->measures == b->measures && a->adapters == b->adapters;
}

static void program_destroy(lm_program *p) {
  if (!p) return;
  rlx_executable_destroy(p->executable);
  rlx_mem_free(p->tokens);
  rlx_mem_free(p->position);
  rlx_mem_free(p->length);
  rlx_mem_free(p->types);
  rlx_mem_free(p->positions);
  rlx_mem_free(p->places);
  rlx_mem_free(p->queries);
  rlx_mem_free(p->answers);
  rlx_mem_free(p->pages);
  rlx_mem_free(p->picks);
  rlx_mem_free(p->scales);
  rlx_mem_free(p);
}

/* Elements of the inputs position and length. */
static size_t runs_of(const lm_graph_desc *d) { return d->page ? (size_t)d->singles + d->groups : d->sequences; }

static rlx_status make_packed_buffers(lm_program *p) {
  size_t n = p->desc.tokens, n_slots = (size_t)p->desc.sequences * p->desc.slots;
  p->positions = rlx_mem_calloc(n, sizeof *p->positions);
  p->places = rlx_mem_calloc(n, sizeof *p->places);
  p->queries = rlx_mem_calloc(n_slots, sizeof *p->queries);
  p->answers = rlx_mem_calloc(n, sizeof *p->answers);
  bool is_whole = p->positions && p->places && p->queries && p->answers;
  return is_whole ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the inputs of a program for %zu tokens", n);
}

/* The columns of a step program's table of pages. */
static size_t table_width(const lm_graph_desc *d) { return d->context / d->page; }

static rlx_status make_step_buffers(lm_program *p) {
  size_t n = p->desc.tokens, runs = runs_of(&p->desc);
  p->positions = rlx_mem_calloc(n, sizeof *p->positions);
  p->places = rlx_mem_calloc(n, sizeof *p->places);
  p->pages = rlx_mem_calloc(runs * table_width(&p->desc), sizeof *p->pages);
  p->picks = rlx_mem_calloc(runs, sizeof *p->picks);
  bool is_whole = p->positions && p->places && p->pages && p->picks;
  return is_whole ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the inputs of a step of %zu tokens", n);
}

/* Inputs written at every run get fixed buffers, so a run does not allocate. */
static rlx_status make_buffers(lm_program *p) {
  bool is_flat = p->desc.slots || p->desc.page;
  size_t n_seq = runs_of(&p->desc), n = (is_flat ? 1 : n_seq) * p->desc.tokens;
  if (is_flat) RLX_TRY(p->desc.page ? make_step_buffers(p) : make_packed_buffers(p));
  p->tokens = rlx_mem_calloc(n, sizeof *p->tokens);
  p->position = rlx_mem_calloc(n_seq, sizeof *p->position);
  bool has_length = p->desc.tokens > 1 || p->desc.page;
  if (has_length) p->length = rlx_mem_calloc(n_seq, sizeof *p->length);
  const bool has_types = p->desc.result == LM_SCORE;
  if (has_types) p->types = rlx_mem_calloc(n, sizeof *p->types);
  size_t n_scales = (is_flat ? p->desc.tokens : n_seq) * p->desc.adapters;
  if (n_scales) p->scales = rlx_mem_calloc(n_scales, sizeof *p->scales);
  if (!p->tokens || !p->position || (has_length && !p->length) || (has_types && !p->types) || (n_scales && !p->scales))
    return RLX_FAIL(RLX_NO_MEMORY, "the inputs of a program for %zu tokens", n);
  const rlx_graph *g = rlx_executable_graph(p->executable);
  const char *name;
  for (uint32_t i = 0; i < rlx_graph_output_count(g); i++)
    if (rlx_graph_output_at(g, i, &name) && strcmp(name, "logits") == 0) p->logits = i;
  if (p->desc.result != LM_TOKEN) return RLX_OK;
  RLX_TRY(rlx_executable_feed(p->executable, "token", "tokens"));
  return rlx_executable_feed(p->executable, "next", "position");
}

static rlx_status program_create(rlx_lm *lm, const lm_graph_desc *want, lm_program **out) {
  rlx_graph *g = NULL;
  lm_program *p = *out = rlx_new(lm_program);
  if (!p) return RLX_FAIL(RLX_NO_MEMORY, "a program of the model");
  p->desc = *want;
  RLX_TRY(lm_graph_build(lm->model, want, &g));
  rlx_compile_options options = {RLX_COMPILE_OPTIONS_INIT, .weights = lm->weights,
                                 .states = want->sequences > 1 ? lm->batch : lm->states, .switches = lm->switches,
                                 .plan_only = lm->is_dry};
  rlx_status s = rlx_compile_sharing(lm->session, g, &options, lm->scratch, &p->executable);
  rlx_graph_destroy(g);
  return s || lm->is_dry ? s : make_buffers(p);
}

static lm_program *program_of(rlx_cached *c) { return (lm_program *)((char *)c - offsetof(lm_program, cached)); }

static void remove_program(rlx_cached *c) {
  rlx_lm *lm = program_of(c)->lm;
  size_t i = 0;
  while (lm->programs.v[i] != program_of(c)) i++;
  for (; i + 1 < lm->programs.n; i++) lm->programs.v[i] = lm->programs.v[i + 1];
  lm->programs.n--;
}

static void free_program(rlx_cached *c) { program_destroy(program_of(c)); }

static lm_program *find_program(rlx_lm *lm, const lm_graph_desc *want) {
  lm_program *p = NULL;
  rlx_cache_lock(&lm->session->cache);
  for (size_t i = 0; i < lm->programs.n && !p; i++)
    if (same_desc(&lm->programs.v[i]->desc, want)) p = lm->programs.v[i];
  if (p && !p->is_used) rlx_cache_use(&lm->session->cache, &p->cached);
  if (p) p->is_used = true;
  rlx_cache_unlock(&lm->session->cache);
  return p;
}

/* The first program is never evicted: rlx_lm_executable returns it. */
static rlx_status add_program(rlx_lm *lm, lm_program *p) {
  static const rlx_cached_class class = {NULL, remove_program, free_program};
  rlx_cache *cache = &lm->session->cache;
  p->lm = lm;
  rlx_cache_lock(cache);
  bool has_room = rlx_array_push(&lm->programs, p);
  if (has_room) rlx_cache_add(cache, &p->cached, &class, sizeof *p + rlx_executable_host_bytes(p->executable));
  if (has_room && lm->programs.n == 1) rlx_cache_use(cache, &p->cached);
  p->is_used = has_room;
  rlx_cache_unlock(cache);
  rlx_cache_trim(cache);
  return has_room ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "the programs of the model");
}

rlx_status lm_program_get(rlx_lm *lm, const lm_graph_desc *want, lm_program **out) {
  lm_graph_desc full = *want;
  full.context = lm->context;
  full.cache = lm->cache;
  full.adapters = lm_scales_any(&lm->scales) ? (uint32_t)lm->adapters.n : 0;
  if ((*out = find_program(lm, &full))) return RLX_OK;
  lm_program *p;
  rlx_status s = program_create(lm, &full, &p);
  if (!s) s = add_program(lm, p);
  if (s) {
    program_destroy(p);
    return s;
  }
  *out = p;
  return RLX_OK;
}

void lm_programs_release(rlx_lm *lm) {
  rlx_cache *cache = &lm->session->cache;
  rlx_cache_lock(cache);
  for (size_t i = 0; i < lm->programs.n; i++) {
    lm_program *p = lm->programs.v[i];
    if (p->is_used) rlx_cache_leave(cache, &p->cached);
    p->is_used = false;
  }
  rlx_cache_unlock(cache);
  rlx_cache_trim(cache);
}

static rlx_status write_ints(lm_program *p, const char *name, int32_t *v, rlx_dims shape) {
  size_t n = 1;
  for (int i = 0; i < shape.n; i++) n *= (size_t)shape.v[i];
  return rlx_executable_write(p->executable, name, &(rlx_tensor){RLX_I32, shape, {v}, n * sizeof *v});
}

static rlx_status write_packed(lm_program *p) {
  int64_t n = p->desc.tokens;
  RLX_TRY(write_ints(p, "positions", p->positions, RLX_DIMS(1, n)));
  RLX_TRY(write_ints(p, "places", p->places, RLX_DIMS(n)));
  RLX_TRY(write_ints(p, "queries", p->queries, RLX_DIMS(p->desc.sequences, p->desc.slots)));
  return write_ints(p, "answers", p->answers, RLX_DIMS(n));
}

static rlx_status write_step(lm_program *p) {
  int64_t n = p->desc.tokens, runs = (int64_t)runs_of(&p->desc);
  RLX_TRY(write_ints(p, "positions", p->positions, RLX_DIMS(1, n)));
  RLX_TRY(write_ints(p, "places", p->places, RLX_DIMS(n)));
  RLX_TRY(write_ints(p, "pages", p->pages, RLX_DIMS(runs, (int64_t)table_width(&p->desc))));
  return p->desc.result == LM_LAST ? write_ints(p, "picks", p->picks, RLX_DIMS(runs)) : RLX_OK;
}

/* All rows have the scales that run now, but those of a step, which has written its own. */
static rlx_status write_scales(rlx_lm *lm, lm_program *p) {
  const lm_graph_desc *d = &p->desc;
  int64_t n = d->adapters, rows = d->page || d->slots ? d->tokens : d->sequences;
  for (int64_t i = 0; i < rows * n && !d->page; i++) p->scales[i] = lm->scales.v[i % n];
  rlx_tensor t = {RLX_F32, RLX_DIMS(rows, n), {p->scales}, (size_t)(rows * n) * sizeof *p->scales};
  return rlx_executable_write(p->executable, "adapters", &t);
}

rlx_status lm_program_write(rlx_lm *lm, lm_program *p) {
  int64_t n_seq = (int64_t)runs_of(&p->desc);
  rlx_executable *e = p->executable;
  bool is_flat = p->desc.slots || p->desc.page;
  RLX_TRY(write_ints(p, "tokens", p->tokens, RLX_DIMS(is_flat ? 1 : n_seq, p->desc.tokens)));
  if (is_flat) RLX_TRY(p->desc.page ? write_step(p) : write_packed(p));
  if (!lm_model_facts(lm->model)->is_encoder) RLX_TRY(write_ints(p, "position", p->position, RLX_DIMS(n_seq)));
  if (p->types && lm_model_facts(lm->model)->n_types > 1)
    RLX_TRY(write_ints(p, "types", p->types, RLX_DIMS(n_seq, p->desc.tokens)));
  if (p->desc.adapters) RLX_TRY(write_scales(lm, p));
  if (p->length) RLX_TRY(write_ints(p, "length", p->length, RLX_DIMS(n_seq)));
  if (p->desc.is_penalised) {
    RLX_TRY(rlx_executable_write(e, "penalty", &(rlx_tensor){RLX_F32, {.n = 0}, {&p->penalty}, sizeof p->penalty}));
    rlx_tensor window = {RLX_F32, {.n = 0}, {&p->penalty_window}, sizeof p->penalty_window};
    RLX_TRY(rlx_executable_write(e, "penalty_window", &window));
  }
  rlx_tensor draw = {RLX_I32, {.n = 0}, {&p->draw}, sizeof p->draw};
  if (!p->desc.is_drawn) return RLX_OK;
  RLX_TRY(rlx_executable_write(e, "draw", &draw));
  return rlx_executable_write(e, "sampling",
                              &(rlx_tensor){RLX_F32, RLX_DIMS(RLX_SAMPLING_COUNT), {p->sampling}, sizeof p->sampling});
}

/* ---- Loading ---- */

static rlx_status read_weight(void *user, size_t at, void *to) {
  const rlx_lm *lm = user;
  return lm_model_read(lm->model, at, to);
}

static rlx_status read_part(void *user, size_t at, uint64_t from, void *to, size_t bytes) {
  const rlx_lm *lm = user;
  return lm_model_read_part(lm->model, at, (size_t)from, to, bytes);
}

static rlx_status load_weights(rlx_lm *lm, const rlx_watch *watch) {
  size_t n = lm_model_weights(lm->model);
  rlx_weight_item *items = rlx_mem_calloc(n, sizeof *items);
  if (!items) return RLX_FAIL(RLX_NO_MEMORY, "the order of %zu weights", n);
  for (size_t i = 0; i < n; i++) {
    const lm_weight *w = lm_model_weight(lm->model, i);
    items[i] = (rlx_weight_item){w->name, {w->dtype, w->shape}, w->bytes, i, lm_model_has_parts(lm->model, i)};
  }
  rlx_status s = rlx_weights_set_all(lm->weights, items, n, (rlx_weight_reader){read_weight, read_part, lm}, watch);
  rlx_mem_free(items);
  return s;
}

static rlx_status open_session(rlx_lm *lm, const rlx_lm_desc *d) {
  if (!lm->session) {
    rlx_session_desc sd = {RLX_SESSION_DESC_INIT, .device = d->device, .n_threads = d->n_threads,
                           .limits = d->watch.limits};
    sd.limits.seconds = 0; /* the time limit applies to loading only */
    RLX_TRY(rlx_session_create(&sd, &lm->session));
  }
  rlx_device_info info = {RLX_DEVICE_INFO_INIT};
  RLX_TRY(rlx_session_device(lm->session, &info));
  lm->is_gpu = info.kind == RLX_DEVICE_DISCRETE || info.kind == RLX_DEVICE_INTEGRATED;
  lm->ahead = lm->is_gpu ? GPU_AHEAD : 1;
  lm->pack = lm_pack_size(lm, d->chunk ? d->chunk : lm->is_gpu ? GPU_PACK : DEFAULT_CHUNK);
  RLX_TRY(rlx_scratch_create(lm->session->blocks, &lm->scratch));
  RLX_TRY(rlx_weights_create(lm->session, &lm->weights));
  RLX_TRY(rlx_states_create(lm->session, &lm->states));
  if (lm->n_sequences > 1) RLX_TRY(rlx_states_create(lm->session, &lm->batch));
  return RLX_OK;
}

static rlx_status choose_cache(rlx_lm *lm, rlx_lm_cache wanted) {
  static const rlx_dtype types[] = {[RLX_LM_CACHE_F16] = RLX_F16,
                                    [RLX_LM_CACHE_F32] = RLX_F32,
                                    [RLX_LM_CACHE_Q8_0] = RLX_Q8_0,
                                    [RLX_LM_CACHE_Q4_0] = RLX_Q4_0};
  if ((unsigned)wanted >= sizeof types / sizeof *types)
    return RLX_FAIL(
      RLX_INVALID, "cache_type is %d: keys and values are kept as f16 (%d), f32 (%d), q8_0 (%d) or q4_0 (%d)",
      (int)wanted, (int)RLX_LM_CACHE_F16, (int)RLX_LM_CACHE_F32, (int)RLX_LM_CACHE_Q8_0, (int)RLX_LM_CACHE_Q4_0);
  lm->cache = types[wanted];
  const lm_facts *facts = lm_model_facts(lm->model);
  if (rlx_dtype_is_block(lm->cache) && (facts->is_recurrent || facts->is_encoder))
    return RLX_FAIL(RLX_UNSUPPORTED, "a cache of %s: a %s model keeps no keys and values", rlx_dtype_name(lm->cache),
                    facts->family);
  return RLX_OK;
}

/* Rows of a block type are rounded and read by kernels that not every device has. On the host they would be copied
 * there and back for every token. */
static rlx_status check_cache(const rlx_lm *lm) {
  const rlx_compiled *c = lm->programs.v[0]->executable->compiled;
  for (size_t i = 0; i < c->plan->n_steps && rlx_dtype_is_block(lm->cache); i++) {
    const char *op = rlx_node_op(c->graph, c->plan->steps[i].node);
    if (!c->plan->steps[i].host || (strcmp(op, "update") != 0 && strcmp(op, "attention") != 0)) continue;
    return RLX_FAIL(RLX_UNSUPPORTED,
                    "a cache of %s: the device has no kernel for it ('%s' would run on the host); use f16",
                    rlx_dtype_name(lm->cache), op);
  }
  return RLX_OK;
}

static rlx_status choose_sizes(rlx_lm *lm, const rlx_lm_desc *d) {
  const lm_facts *facts = lm_model_facts(lm->model);
  RLX_TRY(choose_cache(lm, d->cache_type));
  if (d->context > (1u << 24))
    return RLX_FAIL(RLX_INVALID, "a context of %u tokens: at most 2^24", (unsigned)d->context);
  if (d->n_sequences > LM_MAX_SEQUENCES)
    return RLX_FAIL(RLX_INVALID, "%u sequences at once: at most %d", (unsigned)d->n_sequences, (int)LM_MAX_SEQUENCES);
  if (d->chunk > MAX_CHUNK)
    return RLX_FAIL(RLX_INVALID, "chunks of %u tokens: at most %d", (unsigned)d->chunk, (int)MAX_CHUNK);
  uint32_t own = facts->context ? facts->context : DEFAULT_CONTEXT;
  lm->context = d->context ? d->context : own < DEFAULT_CONTEXT ? own : DEFAULT_CONTEXT;
  if (facts->is_encoder && lm->context > own)
    return RLX_FAIL(RLX_INVALID, "a context of %u tokens: the model has %u positions", (unsigned)lm->context,
                    (unsigned)own);
  if (lm->context > own)
    rlx_log_write(RLX_LOG_WARN, "a context of %u tokens exceeds the %u that the model was trained for",
                  (unsigned)lm->context, (unsigned)own);
  lm->chunk = d->chunk ? d->chunk : DEFAULT_CHUNK;
  if (lm->chunk > lm->context) lm->chunk = lm->context;
  lm->n_sequences = d->n_sequences ? d->n_sequences : 1;
  lm->holder = LM_NO_SEQUENCE;
  lm->switches = d->switches;
  lm->is_dry = d->dry_run;
  lm->sequences = rlx_mem_calloc(lm->n_sequences, sizeof *lm->sequences);
  return lm->sequences ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "%u sequences", (unsigned)lm->n_sequences);
}

/* The largest packed program that memory allows. A model can do without any, so a lack of memory here is no failure. */
static rlx_status first_packed(rlx_lm *lm) {
  while (lm->pack) {
    lm_graph_desc d = lm_pack_desc(lm, lm->pack);
    lm_program *p;
    rlx_status s = lm_program_get(lm, &d, &p);
    if (s != RLX_LIMIT && s != RLX_NO_MEMORY) return s;
    lm->pack = lm->pack / 4 >= LM_MIN_CHUNK ? lm->pack / 4 : 0;
  }
  return RLX_OK;
}

/* The programs that every use needs. They are compiled before the weights load, so weights are packed in the layouts
 * they prefer. */
static rlx_status first_programs(rlx_lm *lm) {
  lm_program *p;
  const lm_result whole = lm_model_facts(lm->model)->is_ranker ? LM_SCORE : LM_EMBEDDING;
  if (lm_model_facts(lm->model)->is_encoder)
    return lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = lm->chunk, .result = whole}, &p);
  RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = 1, .result = LM_TOKEN}, &p));
  RLX_TRY(check_cache(lm));
  if (lm->chunk > 1)
    RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = 1, .tokens = lm->chunk, .result = LM_NONE}, &p));
  if (lm->n_sequences > 1)
    RLX_TRY(lm_program_get(lm, &(lm_graph_desc){.sequences = lm->n_sequences, .tokens = 1, .result = LM_TOKEN}, &p));
  return first_packed(lm);
}

static rlx_status load(rlx_lm *lm, const rlx_lm_desc *d) {
  if (d->session) RLX_TRY(rlx_session_check(d->session, "rlx_lm_load"));
  if (d->session)
    lm->session =
      rlx_session_retain(d->session); /* retained: a progress callback may destroy it while the file is read */
  RLX_TRY(rlx_file_open(d->path, &d->watch, &lm->file));
  RLX_TRY_AT(lm_model_open(lm->file, &lm->model), "%s", d->path);
  rlx_status s = rlx_tokenizer_create(lm->file, &lm->tokenizer);
  if (s && s != RLX_NOT_FOUND && s != RLX_UNSUPPORTED) return rlx_fail_frame(s, "%s", d->path);
  if (s) rlx_log_write(RLX_LOG_WARN, "the model runs on token numbers alone: %s", rlx_message());
  file_drop_lists(lm->file); /* the tokenizer has copied what it needs */
  RLX_TRY(choose_sizes(lm, d));
  RLX_TRY(open_session(lm, d));
  RLX_TRY_AT(first_programs(lm), "%s", d->path);
  if (!d->dry_run) RLX_TRY_AT(load_weights(lm, &d->watch), "%s", d->path);
  return RLX_OK;
}

static void lm_free(void *object) {
  rlx_lm *lm = object;
  if (lm->session) rlx_cache_lock(&lm->session->cache);
  for (size_t i = 0; i < lm->programs.n; i++) rlx_cache_remove(&lm->session->cache, &lm->programs.v[i]->cached);
  if (lm->session) rlx_cache_unlock(&lm->session->cache);
  for (size_t i = 0; i < lm->programs.n; i++) program_destroy(lm->programs.v[i]);
  rlx_array_deinit(&lm->programs);
  rlx_scratch_release(lm->scratch);
  lm_requests_destroy(lm->requests);
  lm_adapters_deinit(lm);
  for (uint32_t i = 0; lm->sequences && i < lm->n_sequences; i++) rlx_array_deinit(&lm->sequences[i].ids);
  rlx_mem_free(lm->sequences);
  rlx_states_destroy(lm->batch);
  rlx_states_destroy(lm->states);
  rlx_weights_destroy(lm->weights);
  rlx_session_release(lm->session);
  rlx_tokenizer_destroy(lm->tokenizer);
  lm_model_close(lm->model);
  rlx_file_close(lm->file);
  rlx_lock_deinit(&lm->lock);
  rlx_mem_free(lm);
}

static rlx_status load_new(const rlx_lm_desc *desc, rlx_lm **out) {
  uint64_t begin = rlx_now_ns();
  rlx_lm *lm = rlx_new(rlx_lm);
  if (!lm) return RLX_FAIL(RLX_NO_MEMORY, "a model");
  rlx_status s = rlx_lock_init(&lm->lock, "model", lm_free, lm);
  if (s) {
    rlx_mem_free(lm);
    return s;
  }
  rlx_budget budget;
  rlx_budget_begin(&budget, "rlx_lm_load", &desc->watch.limits, 0, &desc->watch);
  if (desc->session) rlx_budget_set_log(desc->session->log, desc->session->log_user);
  s = rlx_budget_end(&budget, load(lm, desc));
  if (s) {
    lm_free(lm);
    return s;
  }
  lm_programs_release(lm);
  lm->load_seconds = 1e-9 * (double)(rlx_now_ns() - begin);
  *out = lm;
  return RLX_OK;
}

rlx_status rlx_lm_load(const rlx_lm_desc *desc, rlx_lm **out) {
  if (!out) return RLX_FAIL(RLX_INVALID, "rlx_lm_load: out is NULL");
  *out = NULL;
  if (!desc) return RLX_FAIL(RLX_INVALID, "rlx_lm_load: desc is NULL");
  rlx_lm_desc own;
  RLX_TRY_AT(RLX_SIZED_READ("rlx_lm_desc", desc, &own), "rlx_lm_load");
  RLX_TRY_AT(rlx_switches_check(own.switches), "rlx_lm_load");
  if (!own.path) return RLX_FAIL(RLX_INVALID, "rlx_lm_load: the path is NULL");
  RLX_TRY(rlx_watch_check("rlx_lm_load", &own.watch));
  rlx_mem_source *before = rlx_mem_use(own.session ? own.session->source : NULL);
  rlx_status s = load_new(&own, out);
  rlx_mem_use(before);
  return s;
}

void rlx_lm_destroy(rlx_lm *lm) {
  if (lm) rlx_lock_end(&lm->lock);
}

/* ---- Description ---- */

/* The types of the weights, by total bytes, largest first. */
static void report_types(const rlx_lm *lm, char *out, size_t room) {
  uint64_t bytes[RLX_DTYPE_COUNT] = {0};
  size_t used = 0;
  for (size_t i = 0; i < lm_model_weights(lm->model); i++) {
    const lm_weight *w = lm_model_weight(lm->model, i);
    bytes[w->dtype] += w->bytes;
  }
  for (out[0] = 0; used < room;) {
    int max = 0;
    for (int t = 1; t < RLX_DTYPE_COUNT; t++)
      if (bytes[t] > bytes[max]) max = t;
    if (!bytes[max]) break;
    int n = snprintf(out + used, room - used, "%s%s", used ? ", " : "", rlx_dtype_describe((rlx_dtype)max)->name);
    used += n > 0 ? (size_t)n : room;
    bytes[max] = 0;
  }
}

/* Holds the cache lock, because another thread may evict programs that are not in use. */
static rlx_status count_programs(const rlx_lm *lm, rlx_lm_info *out) {
  bool counted[2] = {false, false}; /* states of the single-sequence and the batched programs */
  rlx_status s = RLX_OK;
  rlx_cache_lock(&lm->session->cache);
  for (size_t i = 0; i < lm->programs.n && !s; i++) {
    rlx_memory_info m = {RLX_MEMORY_INFO_INIT};
    s = rlx_executable_memory(lm->programs.v[i]->executable, &m);
    if (s) break;
    if (m.scratch > out->scratch_bytes) out->scratch_bytes = m.scratch; /* shared by all programs */
    bool several = lm->programs.v[i]->desc.sequences > 1;
    if (!counted[several]) out->state_bytes += m.state;
    counted[several] = true;
  }
  rlx_cache_unlock(&lm->session->cache);
  return s;
}

rlx_status lm_describe(const rlx_lm *lm, rlx_lm_info *out) {
  const lm_facts *f = lm_model_facts(lm->model);
  *out = (rlx_lm_info){RLX_LM_INFO_INIT,
                       .n_layers = f->n_layers,
                       .width = f->width,
                       .n_heads = f->n_heads,
                       .n_kv_heads = f->n_kv_heads,
                       .n_vocabulary = f->n_vocab,
                       .n_experts = f->n_experts,
                       .context = lm->context,
                       .model_context = f->context,
                       .n_sequences = lm->n_sequences,
                       .chunk = lm->chunk,
                       .is_encoder = f->is_encoder,
                       .is_ranker = f->is_ranker,
                       .load_seconds = lm->load_seconds};
  snprintf(out->family, sizeof out->family, "%s", f->family);
  snprintf(out->name, sizeof out->name, "%s", f->name ? f->name : "");
  report_types(lm, out->weights, sizeof out->weights);
  for (size_t i = 0; i < lm_model_weights(lm->model); i++) {
    const lm_weight *w = lm_model_weight(lm->model, i);
    uint64_t n = 1;
    for (int k = 0; k < w->shape.n; k++) n *= (uint64_t)w->shape.v[k];
    out->n_parameters += n;
    if (lm->is_dry) out->weight_bytes += w->bytes;
  }
  if (!lm->is_dry) out->weight_bytes = rlx_weights_bytes(lm->weights);
  return count_programs(lm, out);
}

rlx_status rlx_lm_device(const rlx_lm *lm, rlx_device_info *out) {
  if (!lm || !out) return RLX_FAIL(RLX_INVALID, "rlx_lm_device: %s is NULL", lm ? "out" : "the model");
  return rlx_session_device(lm->session, out);
}

const rlx_executable *rlx_lm_executable(const rlx_lm *lm) {
  return lm ? lm->programs.v[0]->executable : NULL; /* compiled first, by first_programs */
}

const rlx_file *rlx_lm_file(const rlx_lm *lm) { return lm ? lm->file : NULL; }
const rlx_tokenizer *rlx_lm_tokenizer(const rlx_lm *lm) { return lm ? lm->tokenizer : NULL; }
