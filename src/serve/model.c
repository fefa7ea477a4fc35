/* A thread for each model. It alone calls the model: loads it when a job comes, does tasks, submits texts, and steps
 * the requests until none is left. Then it waits.
 *
 * Models share a budget of memory. One that is to be loaded first makes others leave that nobody uses, the least
 * recently used before the rest. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "serve/serve.h"

/* ---- Loading ---- */

static rlx_lm_desc describe(const sv_model *m) {
  const rlx_server_desc *d = &m->server->desc;
  return (rlx_lm_desc){RLX_LM_DESC_INIT,        .path = m->path,
                       .device = d->device,     .n_threads = d->n_threads,
                       .context = d->context,   .n_sequences = d->n_sequences,
                       .chunk = d->chunk,       .cache_type = d->cache_type,
                       .switches = d->switches, .watch = d->watch};
}

/* An encoder computes one text at a time. */
static rlx_status load_lm(rlx_lm_desc *d, rlx_lm **out) {
  rlx_status s = rlx_lm_load(d, out);
  if (s != RLX_UNSUPPORTED || d->n_sequences == 1) return s;
  d->n_sequences = 1;
  return rlx_lm_load(d, out);
}

static uint64_t bytes_of(const rlx_lm_info *i) { return i->weight_bytes + i->state_bytes + i->scratch_bytes; }

/* Under the lock: a loaded model that nobody uses, used longest ago. */
static sv_model *find_idle(struct rlx_server *s, const sv_model *but) {
  sv_model *found = NULL;
  for (size_t i = 0; i < s->models.n; i++) {
    sv_model *m = s->models.v[i];
    bool is_idle = m != but && m->state == SV_READY && !m->waiting.n && !m->running.n;
    if (is_idle && (!found || m->used_ns < found->used_ns)) found = m;
  }
  return found;
}

static rlx_status make_room(sv_model *m, uint64_t bytes) {
  struct rlx_server *s = m->server;
  const uint64_t room = s->desc.memory_bytes;
  rlx_status status = RLX_OK;
  if (!room) return RLX_OK;
  rlx_mutex_lock(&s->lock);
  for (;;) {
    uint64_t used = 0;
    for (size_t i = 0; i < s->models.n; i++) used += s->models.v[i] == m ? 0 : s->models.v[i]->bytes;
    if (used + bytes <= room || s->is_ending) break;
    sv_model *idle = find_idle(s, m);
    if (!idle) {
      status = RLX_FAIL(
        RLX_NO_MEMORY, "model '%s' takes %llu MiB, others that are in use %llu, and the server's limit is %llu",
        m->name, (unsigned long long)(bytes >> 20), (unsigned long long)(used >> 20), (unsigned long long)(room >> 20));
      break;
    }
    idle->must_leave = true;
    rlx_cond_signal(&idle->wanted);
    while (idle->must_leave && !s->is_ending) rlx_cond_wait(&s->changed, &s->lock);
  }
  if (!status) m->bytes = bytes;
  rlx_mutex_unlock(&s->lock);
  return status;
}

/* A model without a template answers everything but chats. */
static void find_template(sv_model *m) {
  const rlx_file *f = rlx_lm_file(m->lm);
  const char *forced = m->server->desc.chat_template;
  m->no_program[0] = '\0';
  m->template_name = rlx_chat_template_of(f);
  if (rlx_chat_template_load(f, &m->program)) snprintf(m->no_program, sizeof m->no_program, "%.250s", rlx_message());
  if (forced) m->template_name = forced;
}

/* All of them count as the server was told, where a request does not say. */
static rlx_status load_adapters(sv_model *m) {
  const struct rlx_server *s = m->server;
  rlx_lm_adapter *all = rlx_mem_calloc(s->adapters.n + 1, sizeof *all);
  rlx_status status = all ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "adapters");
  for (size_t i = 0; i < s->adapters.n && !status; i++) {
    all[i].scale = s->adapters.v[i].scale;
    status = rlx_lm_adapter_load(m->lm, s->adapters.v[i].path, &all[i].number);
  }
  if (!status && s->adapters.n) status = rlx_lm_adapters_use(m->lm, all, s->adapters.n);
  rlx_mem_free(all);
  return status;
}

/* The bytes that a model will take. */
static rlx_status measure(rlx_lm_desc d, uint64_t *bytes) {
  rlx_lm *lm;
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  d.dry_run = true;
  RLX_TRY(rlx_lm_load(&d, &lm));
  rlx_status s = rlx_lm_describe(lm, &info);
  rlx_lm_destroy(lm);
  *bytes += bytes_of(&info);
  return s;
}

/* The model that guesses for it has as many sequences, of the same length. */
static rlx_status load_draft(sv_model *m, rlx_lm_desc d) {
  d.path = m->server->desc.draft;
  d.watch = (rlx_watch){0};
  return d.path ? rlx_lm_load(&d, &m->draft) : RLX_OK;
}

static rlx_status load(sv_model *m) {
  rlx_lm_desc d = describe(m);
  rlx_lm_info info = {RLX_LM_INFO_INIT};
  const uint64_t begin = rlx_now_ns();
  d.dry_run = true;
  RLX_TRY(load_lm(&d, &m->lm));
  rlx_status s = rlx_lm_describe(m->lm, &info);
  rlx_lm_destroy(m->lm);
  m->lm = NULL;
  uint64_t guessing = 0;
  rlx_lm_desc draft = d;
  draft.path = m->server->desc.draft;
  if (!s && draft.path) s = measure(draft, &guessing);
  if (!s) s = make_room(m, bytes_of(&info) + guessing);
  d.dry_run = false;
  if (!s) s = rlx_lm_load(&d, &m->lm);
  if (!s) s = load_adapters(m);
  if (!s) s = load_draft(m, d);
  if (!s) s = rlx_lm_describe(m->lm, &info);
  if (s) return s;
  find_template(m);
  rlx_mutex_lock(&m->server->lock);
  m->info = info;
  m->bytes = bytes_of(&info) + guessing;
  rlx_mutex_unlock(&m->server->lock);
  sv_log(m->server, RLX_LOG_INFO, "loaded %s in %.1f s, %llu MiB", m->name, 1e-9 * (double)(rlx_now_ns() - begin),
         (unsigned long long)((bytes_of(&info) + guessing) >> 20));
  return RLX_OK;
}

static void set_state(sv_model *m, sv_state state) {
  rlx_mutex_lock(&m->server->lock);
  m->state = state;
  if (state != SV_READY) m->bytes = 0;
  m->must_leave = false;
  m->used_ns = rlx_now_ns();
  rlx_cond_broadcast(&m->server->changed);
  rlx_mutex_unlock(&m->server->lock);
}

/* Loads it unless it is. */
static rlx_status ensure_loaded(sv_model *m) {
  if (m->lm) return RLX_OK;
  set_state(m, SV_LOADING);
  rlx_status s = load(m);
  if (s) {
    rlx_lm_destroy(m->lm);
    rlx_lm_destroy(m->draft);
    m->lm = m->draft = NULL;
    rlx_mutex_lock(&m->server->lock);
    m->failure = s;
    snprintf(m->why, sizeof m->why, "%.500s", rlx_message());
    rlx_mutex_unlock(&m->server->lock);
    if (m->server->daemon) sv_log(m->server, RLX_LOG_ERROR, "cannot load %s: %s", m->name, m->why);
  }
  set_state(m, s ? SV_FAILED : SV_READY);
  return s;
}

/* Frees what came with the model. */
static void unload(sv_model *m) {
  sv_forget_forms(m);
  rlx_chat_template_destroy(m->program);
  rlx_lm_destroy(m->lm);
  rlx_lm_destroy(m->draft);
  m->program = NULL;
  m->template_name = NULL;
  m->lm = m->draft = NULL;
}

static void leave(sv_model *m) {
  unload(m);
  sv_log(m->server, RLX_LOG_INFO, "%s leaves the memory", m->name);
  set_state(m, SV_AWAY);
}

/* ---- Work ---- */

/* Moves what waits to what runs; false: there is no memory for it now. */
static void begin_jobs(sv_model *m) {
  struct rlx_server *s = m->server;
  for (;;) {
    rlx_mutex_lock(&s->lock);
    sv_job *j = m->waiting.n && rlx_array_reserve(&m->running, 1) ? m->waiting.v[0] : NULL;
    if (j) {
      memmove(m->waiting.v, m->waiting.v + 1, --m->waiting.n * sizeof *m->waiting.v);
      m->running.v[m->running.n++] = j;
    }
    bool is_cancelled = j && j->is_cancelled;
    rlx_mutex_unlock(&s->lock);
    if (!j) return;
    if (is_cancelled) {
      sv_job_cancel(j, m->lm);
      continue;
    }
    rlx_status status = ensure_loaded(m);
    if (!status) status = sv_job_begin(j, m->lm);
    if (status) sv_job_fail(j, status, rlx_message());
  }
}

static void cancel_jobs(sv_model *m) {
  struct rlx_server *s = m->server;
  for (size_t i = 0; i < m->running.n; i++) { /* only this thread changes the list */
    rlx_mutex_lock(&s->lock);
    bool is_cancelled = m->running.v[i]->is_cancelled;
    rlx_mutex_unlock(&s->lock);
    if (is_cancelled && !sv_job_has_ended(m->running.v[i])) sv_job_cancel(m->running.v[i], m->lm);
  }
}

static void sweep(sv_model *m) {
  struct rlx_server *s = m->server;
  rlx_mutex_lock(&s->lock);
  size_t n = 0, i = 0;
  for (; i < m->running.n; i++) {
    sv_job *j = m->running.v[i];
    if (!sv_job_has_ended(j)) {
      m->running.v[n++] = j;
      continue;
    }
    s->n_jobs--;
    m->used_ns = rlx_now_ns();
    rlx_mutex_unlock(&s->lock); /* freeing a job may take a while */
    sv_job_release(j);
    rlx_mutex_lock(&s->lock);
  }
  m->running.n = n;
  rlx_mutex_unlock(&s->lock);
}

/* Waits for something to do; false: the server ends. */
static bool wait(sv_model *m) {
  struct rlx_server *s = m->server;
  rlx_mutex_lock(&s->lock);
  while (!s->is_ending && !m->waiting.n && !m->running.n && !m->must_leave) rlx_cond_wait(&m->wanted, &s->lock);
  bool goes_on = !s->is_ending, leaves = m->must_leave && !m->waiting.n && !m->running.n;
  if (m->must_leave && !leaves) { /* somebody came first */
    m->must_leave = false;
    rlx_cond_broadcast(&s->changed);
  }
  rlx_mutex_unlock(&s->lock);
  if (goes_on && leaves) leave(m);
  return goes_on;
}

static void end_all(sv_model *m) {
  static const char message[] = "the server ends";
  begin_jobs(m);
  for (size_t i = 0; i < m->running.n; i++) {
    if (sv_job_has_ended(m->running.v[i])) continue;
    sv_job_fail(m->running.v[i], RLX_NO_MEMORY, message);
    sv_job_cancel(m->running.v[i], m->lm);
  }
  sweep(m);
}

static void *serve(void *model) {
  sv_model *m = model;
  uint32_t left = 0;
  while (wait(m)) {
    begin_jobs(m);
    cancel_jobs(m);
    if (m->lm && rlx_lm_step(m->lm, &left)) sv_log(m->server, RLX_LOG_ERROR, "%s: %s", m->name, rlx_message());
    sweep(m);
  }
  end_all(m);
  unload(m);
  return NULL;
}

/* ---- Making, finding ---- */

/* "models/a.gguf" is a; "models/folder/" folder. */
static char *name_of(struct rlx_server *s, const char *path) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') end--;
  size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') begin--;
  rlx_str name = {0};
  rlx_str_add_bytes(&name, path + begin, end - begin);
  const char *dot = name.v ? strrchr(name.v, '.') : NULL;
  if (dot && dot != name.v && (strcmp(dot, ".gguf") == 0 || strcmp(dot, ".safetensors") == 0))
    name.v[name.n = (size_t)(dot - name.v)] = '\0';
  char *copy = name.v ? sv_copy_text(s, name.v) : NULL;
  rlx_str_deinit(&name);
  return copy;
}

rlx_status sv_model_start(struct rlx_server *s, const rlx_server_model *d) {
  sv_model *m, *same;
  if (!rlx_array_reserve(&s->models, 1) || !(m = rlx_new(sv_model))) return RLX_FAIL(RLX_NO_MEMORY, "a model");
  m->server = s;
  m->path = sv_copy_text(s, d->path);
  m->name = d->name ? sv_copy_text(s, d->name) : name_of(s, d->path);
  rlx_status status = m->path && m->name ? RLX_OK : RLX_FAIL(RLX_NO_MEMORY, "a model's name");
  if (!status && m->name[0] && sv_model_find(s, m->name, &same) == RLX_OK && s->models.n)
    status = RLX_FAIL(RLX_INVALID, "two models have the name '%s'; NAME=PATH gives one another", m->name);
  if (!status && !rlx_cond_init(&m->wanted)) status = RLX_FAIL(RLX_NO_MEMORY, "a condition");
  if (status) {
    rlx_mem_free(m);
    return status;
  }
  s->models.v[s->models.n++] = m;
  if (rlx_os_thread_start(&m->thread, serve, m)) return RLX_FAIL(RLX_NO_MEMORY, "cannot start a thread");
  m->has_thread = true;
  return RLX_OK;
}

/* The server ends. */
void sv_model_destroy(sv_model *m) {
  if (m->has_thread) rlx_os_thread_join(m->thread);
  rlx_array_deinit(&m->waiting);
  rlx_array_deinit(&m->running);
  rlx_cond_destroy(&m->wanted);
  rlx_mem_free(m);
}

rlx_status sv_model_find(struct rlx_server *s, const char *name, sv_model **out) {
  rlx_str names = {0};
  for (size_t i = 0; i < s->models.n; i++) {
    *out = s->models.v[i];
    if (!name || !*name || strcmp((*out)->name, name) == 0) return RLX_OK;
  }
  *out = NULL;
  for (size_t i = 0; i < s->models.n; i++) rlx_str_add(&names, "%s%s", i ? ", " : "", s->models.v[i]->name);
  rlx_status status =
    RLX_FAIL(RLX_NOT_FOUND, "model '%.200s' is not served; there are: %s", name ? name : "", names.v ? names.v : "");
  rlx_str_deinit(&names);
  return status;
}

static rlx_status do_nothing(sv_job *j, rlx_lm *lm) {
  (void)j, (void)lm;
  return RLX_OK;
}

rlx_status sv_model_load(sv_model *m) {
  struct rlx_server *s = m->server;
  sv_job *j;
  RLX_TRY(sv_job_create(s, sv_openai_error, &j));
  j->model = m;
  j->task = do_nothing;
  rlx_status status = sv_job_submit(j);
  rlx_mutex_lock(&s->lock);
  while (!status && m->state != SV_READY && m->state != SV_FAILED) rlx_cond_wait(&s->changed, &s->lock);
  if (!status && m->state == SV_FAILED) status = RLX_FAIL(m->failure, "%s", m->why);
  rlx_mutex_unlock(&s->lock);
  sv_job_release(j);
  return status;
}
