/* Importance matrices: their two formats, files that are wrong, what they do to a conversion; mixes and patterns of
 * types. */
#include <math.h>

#include "faults.h"
#include "folder.h"
#include "io/file_importance.h"
#include "ir/dtype.h"
#include "rlx/lm.h"
#include "test.h"

enum { ROWS = 8, COLUMNS = 256, LAYERS = 16 };

static rlx_status make(rlx_importance **out) {
  static float sums[2 * COLUMNS];
  const float counts[2] = {64, 32};
  for (int i = 0; i < 2 * COLUMNS; i++) sums[i] = i % 16 ? 0.25f : 64 + (float)i;
  RLX_TRY(rlx_importance_create(out));
  rlx_status s = importance_add(*out, "blk.0.ffn_down.weight", 1, COLUMNS, sums, counts);
  if (!s) s = importance_add(*out, "blk.0.attn_q.weight", 1, COLUMNS, sums, counts);
  if (!s) s = importance_add(*out, "blk.0.ffn_up_exps.weight", 2, COLUMNS, sums, counts);
  (*out)->chunks = 3;
  (*out)->window = 32;
  return s;
}

static bool is_near(double a, double b) { return fabs(a - b) <= 1e-5 * (fabs(a) + fabs(b)); }

TEST(both_formats_read_back) {
  CHECK(folder_begin());
  rlx_importance *im, *gguf, *old;
  CHECK_OK(make(&im));
  CHECK_OK(rlx_importance_save(im, folder_path("i.gguf")));
  CHECK_OK(rlx_importance_save(im, folder_path("i.dat")));
  CHECK_FAILS(rlx_importance_save(im, folder_path("i.bin")), RLX_INVALID, ".gguf or .dat");
  CHECK_OK(rlx_importance_open(folder_path("i.gguf"), &gguf));
  CHECK_OK(rlx_importance_open(folder_path("i.dat"), &old));
  CHECK_EQ_INT(rlx_importance_count(gguf), 3);
  CHECK_EQ_INT(rlx_importance_count(old), 3);
  CHECK(gguf->chunks == 3 && gguf->window == 32 && old->chunks == 3);
  for (size_t k = 0; k < 3; k++) {
    const importance_entry *a = &im->entries.v[k], *b = &gguf->entries.v[k], *c = &old->entries.v[k];
    CHECK_EQ_STR(a->name, b->name);
    CHECK_EQ_STR(a->name, c->name);
    CHECK(a->experts == b->experts && c->experts == 1 && c->columns == a->experts * a->columns);
    for (size_t i = 0; i < a->experts * a->columns; i++) {
      CHECK(a->sums[i] == b->sums[i] && a->counts[i / COLUMNS] == b->counts[i / COLUMNS]);
      CHECK(is_near(a->sums[i] / a->counts[i / COLUMNS], c->sums[i] / c->counts[0]));
    }
  }
  rlx_importance_destroy(im);
  rlx_importance_destroy(gguf);
  rlx_importance_destroy(old);
}

TEST(weights_are_about_one) {
  rlx_importance *im;
  float *w;
  size_t experts;
  CHECK_OK(make(&im));
  rlx_file_tensor t = {.name = "blk.0.ffn_up_exps.weight", .shape = {{2, 4, COLUMNS}, 3}};
  CHECK_OK(importance_weights(im, &t, &experts, &w));
  CHECK(w && experts == 2);
  for (int e = 0; e < 2; e++) {
    double sum = 0;
    for (int i = 0; i < COLUMNS; i++) sum += (double)w[e * COLUMNS + i];
    CHECK(fabs(sum / COLUMNS - 1) < 1e-3 && w[e * COLUMNS] > 100 * w[e * COLUMNS + 1]);
  }
  rlx_mem_free(w);
  t.shape.v[0] = 3;
  CHECK_FAILS(importance_weights(im, &t, &experts, &w), RLX_INVALID, "of 512 columns, the tensor has 768");
  t = (rlx_file_tensor){.name = "output.weight", .shape = {{4, COLUMNS}, 2}};
  CHECK_OK(importance_weights(im, &t, &experts, &w));
  CHECK(!w);
  rlx_importance_destroy(im);
}

/* ---- Files that are wrong ---- */

static rlx_status open_bytes(const void *bytes, size_t n) {
  rlx_importance *im;
  FILE *f = fopen(folder_path("x.dat"), "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) return RLX_FAIL(RLX_IO, "the test cannot write");
  RLX_TRY(rlx_importance_open(folder_path("x.dat"), &im));
  rlx_importance_destroy(im);
  return RLX_OK;
}

/* One entry "ab" of two values, measured on one text. */
#define OLD_ENTRY "\2\0\0\0ab\1\0\0\0\2\0\0\0\0\0\x80\x3f\0\0\0\x40"

TEST(old_files_that_are_wrong) {
  CHECK(folder_begin());
  char file[] = "\1\0\0\0" OLD_ENTRY "\1\0\0\0\0\0\0\0";
  CHECK_OK(open_bytes(file, sizeof file - 1));
  CHECK_OK(open_bytes(file, 4 + sizeof OLD_ENTRY - 1)); /* the first such files end here */
  for (size_t n = 0; n < 4 + sizeof OLD_ENTRY - 1; n++) CHECK_FAILS(open_bytes(file, n), RLX_INVALID, "x.dat");
  CHECK_FAILS(open_bytes("\0\0\0\0", 4), RLX_INVALID, "neither a GGUF");
  CHECK_FAILS(open_bytes("\xff\xff\xff\xff", 4), RLX_INVALID, "neither a GGUF");
  char twice[] = "\2\0\0\0" OLD_ENTRY OLD_ENTRY;
  CHECK_FAILS(open_bytes(twice, sizeof twice - 1), RLX_INVALID, "'ab', is there twice");
  char nan[] = "\1\0\0\0\2\0\0\0ab\1\0\0\0\1\0\0\0\0\0\xc0\x7f";
  CHECK_FAILS(open_bytes(nan, sizeof nan - 1), RLX_INVALID, "'ab': expected sums of 0 or more");
  char negative[] = "\1\0\0\0\2\0\0\0ab\1\0\0\0\1\0\0\0\0\0\x80\xbf";
  CHECK_FAILS(open_bytes(negative, sizeof negative - 1), RLX_INVALID, "'ab': expected sums of 0 or more");
  char nameless[] = "\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\x80\x3f";
  CHECK_FAILS(open_bytes(nameless, sizeof nameless - 1), RLX_INVALID, "name has 0 bytes");
  char odd[] = "\1\0\0\0\2\0\0\0a\x92\1\0\0\0\1\0\0\0\0\0\x80\x3f"; /* neither format could name it again */
  CHECK_FAILS(open_bytes(odd, sizeof odd - 1), RLX_INVALID, "expected UTF-8");
}

static rlx_status open_gguf(const char *kind, const char *second, rlx_dtype dtype, int64_t n, float value) {
  rlx_file_writer *w;
  rlx_importance *im;
  const float values[4] = {value, 1, 1, 1};
  RLX_TRY(rlx_file_writer_create(folder_path("x.gguf"), &w));
  rlx_meta m = {.key = "general.type", .kind = RLX_META_TEXT, .text = kind, .n = strlen(kind)};
  rlx_status s = rlx_file_writer_meta(w, &m);
  if (!s) s = rlx_file_writer_tensor(w, "a.in_sum2", dtype, RLX_DIMS(1, 4));
  if (!s) s = rlx_file_writer_tensor(w, second, RLX_F32, RLX_DIMS(n, 1));
  if (!s) s = rlx_file_writer_bytes(w, values, 16);
  if (!s) s = rlx_file_writer_bytes(w, values, 4 * (size_t)n);
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  if (!s) s = rlx_importance_open(folder_path("x.gguf"), &im);
  if (!s) rlx_importance_destroy(im);
  return s;
}

TEST(ggufs_that_are_wrong) {
  CHECK(folder_begin());
  CHECK_OK(open_gguf("imatrix", "a.counts", RLX_F32, 1, 2));
  CHECK_FAILS(open_gguf("model", "a.counts", RLX_F32, 1, 2), RLX_INVALID, "general.type is not 'imatrix'");
  CHECK_FAILS(open_gguf("imatrix", "b.counts", RLX_F32, 1, 2), RLX_INVALID, "'a.counts': expected f32 of 1 counts");
  CHECK_FAILS(open_gguf("imatrix", "a.counts", RLX_F32, 2, 2), RLX_INVALID, "'a.counts': expected f32 of 1 counts");
  CHECK_FAILS(open_gguf("imatrix", "a.counts", RLX_I32, 1, 2), RLX_INVALID, "expected f32 [experts, columns]");
  CHECK_FAILS(open_gguf("imatrix", "a.counts", RLX_F32, 1, NAN), RLX_INVALID, "expected counts of 0 or more");
  CHECK_FAILS(open_gguf("imatrix", "a.counts", RLX_F32, 1, INFINITY), RLX_INVALID, "expected counts of 0 or more");
  CHECK_FAILS(open_gguf("imatrix", "a.counts", RLX_F32, 1, -1), RLX_INVALID, "expected counts of 0 or more");
}

/* ---- Conversion ---- */

static const char *const roles[] = {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
enum { N_ROLES = sizeof roles / sizeof *roles };

static rlx_status write_model(void) {
  static float values[ROWS * COLUMNS];
  char name[64];
  rlx_file_writer *w;
  for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = sinf((float)i * 0.37f) * 0.1f;
  RLX_TRY(rlx_file_writer_create(folder_path("m.gguf"), &w));
  rlx_status s = rlx_file_writer_tensor(w, "token_embd.weight", RLX_F32, RLX_DIMS(ROWS, COLUMNS));
  for (int i = 0; !s && i < LAYERS * N_ROLES; i++) {
    snprintf(name, sizeof name, "blk.%d.%s.weight", i / N_ROLES, roles[i % N_ROLES]);
    s = rlx_file_writer_tensor(w, name, RLX_F32, RLX_DIMS(i % N_ROLES == 1 ? ROWS / 4 : ROWS, COLUMNS));
  }
  if (!s) s = rlx_file_writer_bytes(w, values, sizeof values);
  for (int i = 0; !s && i < LAYERS * N_ROLES; i++)
    s = rlx_file_writer_bytes(w, values, sizeof values / (i % N_ROLES == 1 ? 4 : 1));
  if (!s) s = rlx_file_writer_finish(w);
  rlx_file_writer_destroy(w);
  return s;
}

static rlx_status convert(const rlx_convert_options *o) {
  rlx_file *f;
  RLX_TRY(rlx_file_open(folder_path("m.gguf"), NULL, &f));
  rlx_status s = rlx_file_convert(f, folder_path("q.gguf"), o);
  rlx_file_close(f);
  return s;
}

/* The type of a matrix of the converted file. */
static const char *type_of(const char *name) {
  static char type[16];
  rlx_file *f;
  if (rlx_file_open(folder_path("q.gguf"), NULL, &f)) return rlx_message();
  const rlx_file_tensor *t = rlx_file_tensor_find(f, name);
  snprintf(type, sizeof type, "%s", t ? rlx_dtype_describe(t->dtype)->name : "none");
  rlx_file_close(f);
  return type;
}

TEST(mixes_give_some_matrices_more_bits) {
  CHECK(folder_begin());
  static const struct {
    const char *mix, *name, *type;
  } cases[] = {
    {"q4_k_m", "blk.0.ffn_down.weight", "q6_k"}, {"q4_k_m", "blk.2.ffn_down.weight", "q4_k"},
    {"q4_k_m", "blk.4.attn_v.weight", "q6_k"},   {"q4_k_m", "blk.0.attn_q.weight", "q4_k"},
    {"q4_k_m", "token_embd.weight", "q6_k"},     {"q3_k_m", "blk.0.ffn_down.weight", "q5_k"},
    {"q3_k_m", "blk.1.ffn_down.weight", "q4_k"}, {"q3_k_l", "blk.9.attn_output.weight", "q5_k"},
    {"q2_k", "blk.9.attn_v.weight", "q4_k"},     {"q2_k", "blk.9.ffn_up.weight", "q2_k"},
    {"iq4_xs", "blk.1.ffn_down.weight", "q5_k"}, {"q5_k_s", "blk.1.ffn_down.weight", "q5_k"},
    {"iq2_xxs", "token_embd.weight", "q5_k"},    {"iq2_xxs", "blk.0.ffn_down.weight", "q2_k"},
  };
  CHECK_OK(write_model());
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (i == 0 || strcmp(cases[i].mix, cases[i - 1].mix) != 0)
      CHECK_OK(convert(&(rlx_convert_options){RLX_CONVERT_OPTIONS_INIT, .type = cases[i].mix}));
    if (strcmp(type_of(cases[i].name), cases[i].type) != 0)
      FAIL("%s, %s: %s, expected %s", cases[i].mix, cases[i].name, type_of(cases[i].name), cases[i].type);
  }
  CHECK_OK(convert(&(rlx_convert_options){RLX_CONVERT_OPTIONS_INIT, .type = "q4_k_m", .pure = true}));
  CHECK_EQ_STR(type_of("blk.0.ffn_down.weight"), "q4_k");
  uint32_t n = 0;
  while (rlx_convert_mix_at(n)) n++;
  CHECK(n > 15);
}

TEST(patterns_decide_types) {
  CHECK(folder_begin());
  CHECK_OK(write_model());
  const char *const two[] = {"blk.1?.*=q8_0", "*.ffn_down.*=q6_k"};
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .type = "q4_0", .overrides = two, .n_overrides = 2};
  CHECK_OK(convert(&o));
  CHECK_EQ_STR(type_of("blk.11.attn_q.weight"), "q8_0");
  CHECK_EQ_STR(type_of("blk.1.attn_q.weight"), "q4_0");
  CHECK_EQ_STR(type_of("blk.11.ffn_down.weight"), "q6_k");
  o.type = NULL;
  CHECK_OK(convert(&o));
  CHECK_EQ_STR(type_of("blk.1.attn_q.weight"), "f32");
  static const struct {
    const char *text, *why;
  } wrong[] = {{"blk.*", "expected PATTERN=TYPE"},
               {"=q4_0", "expected PATTERN=TYPE"},
               {"*=q4_9", "there is no type 'q4_9'"},
               {"*=i32", "or a block type"},
               {"blk.99.*=q4_0", "no matrix has a name that matches 'blk.99.*'"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    o.overrides = &wrong[i].text;
    o.n_overrides = 1;
    CHECK_FAILS(convert(&o), RLX_INVALID, wrong[i].why);
  }
}

typedef struct measured {
  double plain, weighted;
  int n, n_weighted;
} measured;

static void sum_errors(void *user, const rlx_convert_error *e) {
  measured *m = user;
  bool is_ours = strcmp(e->tensor, "blk.0.ffn_down.weight") == 0;
  if (is_ours) m->plain = e->error;
  if (is_ours) m->weighted = e->weighted_error;
  m->n++;
  m->n_weighted += e->is_weighted != 0;
}

/* The error by the importance of the columns must fall, for every type that takes weights; that of all columns alike
 * then grows. Both are what a program that reads the file would find. */
TEST(importance_lowers_weighted_errors) {
  CHECK(folder_begin());
  static const char *const types[] = {"q4_0", "q4_1", "q5_0", "q5_1",   "q8_0",  "iq4_nl", "q2_k",  "q3_k",
                                      "q4_k", "q5_k", "q6_k", "iq4_xs", "nvfp4", "iq2_xs", "iq3_s", "iq1_s"};
  rlx_importance *im, *other;
  CHECK_OK(write_model());
  CHECK_OK(make(&im));
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    measured without = {0}, with = {0};
    rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .type = types[i], .pure = true,
                             .measured = sum_errors,   .user = &without, .n_threads = 2};
    CHECK_OK(convert(&o));
    o.importance = im;
    o.user = &with;
    CHECK_OK(convert(&o));
    CHECK(without.n == 1 + LAYERS * N_ROLES && with.n == without.n);
    CHECK(without.n_weighted == 0 && with.n_weighted == 2);
    if (!(with.weighted < 0.97 * without.plain && with.plain > without.plain))
      FAIL("%s: plain error %g and weighted %g, without importance %g", types[i], with.plain, with.weighted,
           without.plain);
  }
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .type = "q4_0"};
  const float one = 1;
  CHECK_OK(rlx_importance_create(&other));
  CHECK_OK(importance_add(other, "blk.77.ffn_up.weight", 1, 1, &one, &one));
  o.importance = other;
  CHECK_FAILS(convert(&o), RLX_INVALID, "its first is 'blk.77.ffn_up.weight'");
  CHECK_OK(importance_add(other, "blk.0.attn_k.weight", 1, 1, &one, &one));
  CHECK_FAILS(convert(&o), RLX_INVALID, "'blk.0.attn_k.weight' is of 1 columns, the tensor has 256");
  rlx_importance_destroy(im);
  rlx_importance_destroy(other);
}

/* ---- Memory ---- */

static rlx_status write_and_read(void *user) {
  rlx_importance *im, *back = NULL;
  const char *const overrides[] = {"*ffn_up*=q8_0"};
  (void)user;
  rlx_status s = make(&im);
  if (!s) s = rlx_importance_save(im, folder_path("i.dat"));
  if (!s) s = rlx_importance_open(folder_path("i.dat"), &back);
  rlx_importance_destroy(back);
  back = NULL;
  if (!s) s = rlx_importance_save(im, folder_path("i.gguf"));
  if (!s) s = rlx_importance_open(folder_path("i.gguf"), &back);
  rlx_importance_destroy(im);
  rlx_convert_options o = {RLX_CONVERT_OPTIONS_INIT, .type = "q2_k",     .overrides = overrides,
                           .n_overrides = 1,         .importance = back, .n_threads = 1};
  if (!s) s = convert(&o);
  rlx_importance_destroy(back);
  return s;
}

TEST(allocations_may_fail) {
  CHECK(folder_begin());
  CHECK_OK(write_model());
  CHECK_OK(alloc_sweep(write_and_read, NULL));
}
