/* Every loader under every fault: each allocation fails, each file call is interrupted, short, or fails. */
#define _DEFAULT_SOURCE
#define FAULTS_OF_FILES
#include "faults.h"
#include "folder.h"
#include "onnx_image.h"
#include "rlx/experimental.h"
#include "rlx/lm.h"
#include "rlx/onnx.h"
#include "test.h"

#ifdef __linux__

static const int32_t ids[] = {1, 2, 3};

/* ---- what is loaded ---- */

static rlx_status open_file(const char *path) {
  rlx_file *f;
  char bytes[16];
  RLX_TRY(rlx_file_open(path, NULL, &f));
  rlx_status s = rlx_file_read_tensor(f, rlx_file_tensor_at(f, 0), 0, bytes, sizeof bytes);
  rlx_file_close(f);
  return s;
}
static rlx_status load_gguf(void *user) { return (void)user, open_file(folder_path("a.gguf")); }
static rlx_status load_safetensors(void *user) { return (void)user, open_file(folder_path("a.safetensors")); }
static rlx_status load_folder(void *user) { return (void)user, open_file(RLX_TEST_DATA "/lm/llama"); }

static rlx_status load_tokenizer(void *user) {
  rlx_file *f;
  rlx_tokenizer *t = NULL;
  (void)user;
  RLX_TRY(rlx_file_open(folder_path("t.gguf"), NULL, &f));
  rlx_status s = rlx_tokenizer_create(f, &t);
  rlx_tokenizer_destroy(t);
  rlx_file_close(f);
  return s;
}

static rlx_status load_onnx(void *user) {
  rlx_onnx *m;
  rlx_tensor t;
  (void)user;
  RLX_TRY(rlx_onnx_open(folder_path("m.onnx"), NULL, &m));
  rlx_status s = rlx_onnx_weight_read(m, "v", &t);
  if (!s) rlx_free(t.data);
  rlx_onnx_close(m);
  return s;
}

static rlx_status load_external(void *user) {
  rlx_onnx *m;
  rlx_tensor t;
  (void)user;
  RLX_TRY(rlx_onnx_open(folder_path("e.onnx"), NULL, &m));
  rlx_status s = rlx_onnx_weight_read(m, "w", &t);
  if (!s) rlx_free(t.data);
  rlx_onnx_close(m);
  return s;
}

static rlx_status load_npy(void *user) {
  rlx_tensor t;
  (void)user;
  RLX_TRY(rlx_npy_read(folder_path("a.npy"), &t));
  rlx_free(t.data);
  return RLX_OK;
}

static rlx_status load_graph(void *user) {
  rlx_graph *g;
  (void)user;
  RLX_TRY(rlx_graph_read(folder_path("a.rlx"), &g));
  rlx_graph_destroy(g);
  return RLX_OK;
}

static rlx_lm *model;
static rlx_status load_sequence(void *user) {
  return (void)user, rlx_lm_restore(model, 0, folder_path("s.safetensors"));
}
static rlx_status load_model(void *user) {
  rlx_lm *lm;
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = RLX_TEST_DATA "/lm/llama", .device = "cpu", .n_threads = 1, .context = 8};
  (void)user;
  RLX_TRY(rlx_lm_load(&d, &lm));
  rlx_lm_destroy(lm);
  return RLX_OK;
}

/* ---- files for all of them ---- */

static bool make_onnx(const char *path, bool is_external) {
  onnx_image f = {0};
  image_model(&f, 17);
  image_begin(&f, MODEL_GRAPH);
  image_value(&f, GRAPH_INPUT, "x", 1, "2");
  if (is_external) image_external(&f, GRAPH_INITIALIZER, "w", 1, "2", "w.bin", "0", "8");
  else image_floats(&f, GRAPH_INITIALIZER, "v", "2", (const float[]){1, 2}, 2);
  image_node(&f, "Add", is_external ? "x,w" : "x,v", "y", "");
  image_value(&f, GRAPH_OUTPUT, "y", 1, "2");
  image_end(&f);
  bool ok = image_write(&f, path);
  image_free(&f);
  return ok;
}

static rlx_status make_weights(const char *path, bool has_tokenizer) {
  rlx_file_writer *w;
  const rlx_meta words[] = {{.kind = RLX_META_TEXT, .text = "<unk>", .n = 5},
                            {.kind = RLX_META_TEXT, .text = "a", .n = 1},
                            {.kind = RLX_META_TEXT, .text = "b", .n = 1},
                            {.kind = RLX_META_TEXT, .text = "ab", .n = 2}};
  const rlx_meta merges[] = {{.kind = RLX_META_TEXT, .text = "a b", .n = 3}};
  const rlx_meta metas[] = {
    {.key = "tokenizer.ggml.model", .kind = RLX_META_TEXT, .text = "gpt2", .n = 4},
    {.key = "tokenizer.ggml.pre", .kind = RLX_META_TEXT, .text = "gpt-2", .n = 5},
    {.key = "tokenizer.ggml.tokens", .kind = RLX_META_LIST, .elements = RLX_META_TEXT, .n = 4, .opaque = words},
    {.key = "tokenizer.ggml.merges", .kind = RLX_META_LIST, .elements = RLX_META_TEXT, .n = 1, .opaque = merges}};
  RLX_TRY(rlx_file_writer_create(path, &w));
  rlx_status s = RLX_OK;
  for (size_t i = 0; has_tokenizer && i < 4 && !s; i++) s = rlx_file_writer_meta(w, &metas[i]);
  if (!s) s = rlx_file_writer_tensor(w, "a", RLX_F32, RLX_DIMS(4));
  if (!s) s = rlx_file_writer_bytes(w, (const float[]){1, 2, 3, 4}, 16);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static bool put(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  return f && fwrite(text, 1, n, f) == n && fclose(f) == 0;
}

static void begin(void) {
  static const char graph[] = "graph { %x = input \"x\" : f32[4]; %y = softmax(%x); output \"y\" = %y }";
  float v[4] = {1, 2, 3, 4};
  const rlx_tensor t = {RLX_F32, RLX_DIMS(4), {v}, sizeof v};
  CHECK(folder_begin());
  CHECK_OK(make_weights(folder_path("a.gguf"), false));
  CHECK_OK(make_weights(folder_path("t.gguf"), true));
  CHECK_OK(make_weights(folder_path("a.safetensors"), false));
  CHECK(make_onnx(folder_path("m.onnx"), false) && make_onnx(folder_path("e.onnx"), true));
  CHECK(put(folder_path("w.bin"), "12345678", 8) && put(folder_path("a.rlx"), graph, sizeof graph - 1));
  CHECK_OK(rlx_npy_write(folder_path("a.npy"), &t));
}

/* ---- all faults ---- */

typedef struct loader {
  const char *name;
  alloc_sweep_fn load;
} loader;
static const loader loaders[] = {{"GGUF", load_gguf},       {"safetensors", load_safetensors}, {"folder", load_folder},
                                 {"ONNX", load_onnx},       {"external data", load_external},  {"npy", load_npy},
                                 {"text form", load_graph}, {"tokenizer", load_tokenizer}};
enum { N_LOADERS = sizeof loaders / sizeof *loaders };

static void check_files(const loader *l) {
  static const file_faults all[] = {{ON_READ, INTERRUPTED, 0, RLX_OK}, {ON_READ, SHORT, 0, RLX_OK},
                                    {ON_OPEN, INTERRUPTED, 0, RLX_OK}, {ON_READ, FAILS, EIO, RLX_IO},
                                    {ON_OPEN, FAILS, EMFILE, RLX_IO},  {ON_STAT, FAILS, EIO, RLX_IO}};
  CHECK_OK(l->load(NULL));
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (file_sweep(&all[i], l->load, NULL, NULL) < 1) FAIL("%s: fault %zu", l->name, i);
}

TEST(file_calls_of_every_loader) {
  begin();
  for (size_t i = 0; i < N_LOADERS && !test_has_failed(); i++) check_files(&loaders[i]);
}

TEST(allocations_of_every_loader) {
  begin();
  if (test_has_failed()) return;
  for (size_t i = 0; i < N_LOADERS; i++) {
    rlx_status s = alloc_sweep(loaders[i].load, NULL);
    if (s) FAIL("%s: %s", loaders[i].name, rlx_message());
  }
}

/* A model and its saved sequences have a device, which opens files of its own: so of those only the reading fails. */
TEST(models_and_saved_sequences) {
  begin();
  if (test_has_failed()) return;
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = RLX_TEST_DATA "/lm/llama", .device = "cpu", .n_threads = 1, .context = 8};
  CHECK_OK(rlx_lm_load(&d, &model));
  CHECK_OK(rlx_lm_append(model, 0, ids, 3, false, NULL));
  CHECK_OK(rlx_lm_save(model, 0, folder_path("s.safetensors")));
  CHECK_OK(load_sequence(NULL));
  static const loader two[] = {{"saved sequence", load_sequence}, {"model", load_model}};
  for (int i = 0; i < 2 && !test_has_failed(); i++) check_files(&two[i]);
  if (test_has_failed()) return;
  CHECK_OK(alloc_sweep(load_sequence, NULL));
  CHECK_OK(load_sequence(NULL));
  rlx_lm_destroy(model);
}

#else

TEST(failing_calls) { SKIP("calls are replaced on Linux alone"); }

#endif
