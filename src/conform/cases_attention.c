/* Cases of attention and rotary position embeddings. Every mask alone and some together, both layouts, one or several
 * query heads per KV head, and rows without visible keys. */
#include "conform/conform.h"

/* clang-format off */
CASES(attention,
  {"tiny",             "q: f32[1,2,1,4]; k: f32[1,2,1,4]; v: f32[1,2,1,4]",                 "attention(%q, %k, %v)"},
  {"odd",              "q: f32[2,5,3,7]; k: f32[2,9,3,7]; v: f32[2,9,3,7]",                 "attention(%q, %k, %v)"},
  {"bhsd",             "q: f32[2,3,5,7]; k: f32[2,3,9,7]; v: f32[2,3,9,7]",
                       "attention(%q, %k, %v) {layout=bhsd}"},
  {"bhsd_causal",      "q: f32[2,3,5,8]; k: f32[2,3,5,8]; v: f32[2,3,5,8]",
                       "attention(%q, %k, %v) {layout=bhsd, causal=true}"},
  {"grouped",          "q: f32[2,3,6,8]; k: f32[2,5,2,8]; v: f32[2,5,2,8]",                 "attention(%q, %k, %v)"},
  {"multi_query",      "q: f32[1,4,4,8]; k: f32[1,6,1,8]; v: f32[1,6,1,8]",
                       "attention(%q, %k, %v) {causal=true}"},
  {"grouped_bhsd",     "q: f32[1,6,3,8]; k: f32[1,3,5,8]; v: f32[1,3,5,8]",
                       "attention(%q, %k, %v) {layout=bhsd, causal=true}"},
  {"own_value_size",   "q: f32[1,3,2,8]; k: f32[1,4,2,8]; v: f32[1,4,2,5]",                 "attention(%q, %k, %v)"},
  {"scale",            "q: f32[1,3,2,8]; k: f32[1,4,2,8]; v: f32[1,4,2,8]",
                       "attention(%q, %k, %v) {scale=-0.7}"},
  {"softcap",          "q: f32[1,3,2,8] range(-4,4); k: f32[1,4,2,8] range(-4,4); v: f32[1,4,2,8]",
                       "attention(%q, %k, %v) {softcap=3.0, scale=1.0}"},
  {"causal_more_keys", "q: f32[1,3,2,4]; k: f32[1,7,2,4]; v: f32[1,7,2,4]",
                       "attention(%q, %k, %v) {causal=true}"},
  {"causal_more_queries", "q: f32[1,6,2,4]; k: f32[1,3,2,4]; v: f32[1,3,2,4]",
                          "attention(%q, %k, %v) {causal=true}"},
  {"offset",           "q: f32[2,3,2,4]; k: f32[2,7,2,4]; v: f32[2,7,2,4]; o: i32[] values(2)",
                       "attention(%q, %k, %v, _, _, _, _, %o) {causal=true}"},
  {"offset_per_batch", "q: f32[3,3,2,4]; k: f32[3,7,2,4]; v: f32[3,7,2,4]; o: i32[3] values(-2,0,100)",
                       "attention(%q, %k, %v, _, _, _, _, %o) {causal=true}"},
  {"window",           "q: f32[1,8,2,4]; k: f32[1,8,2,4]; v: f32[1,8,2,4]",
                       "attention(%q, %k, %v) {causal=true, window=3}"},
  {"window_one",       "q: f32[1,4,2,4]; k: f32[1,4,2,4]; v: f32[1,4,2,4]",
                       "attention(%q, %k, %v) {causal=true, window=1}"},
  {"window_past_keys", "q: f32[1,2,1,4]; k: f32[1,4,1,4]; v: f32[1,4,1,4]; o: i32[] values(5)",
                       "attention(%q, %k, %v, _, _, _, _, %o) {causal=true, window=3}"},
  {"key_mask",         "q: f32[2,3,2,4]; k: f32[2,9,2,4]; v: f32[2,9,2,4]; m: bool[2,9]",
                       "attention(%q, %k, %v, %m)"},
  {"nothing_visible",  "q: f32[2,2,2,4]; k: f32[2,3,2,4]; v: f32[2,3,2,4]; m: bool[2,3] values(0,0,0,1,0,1)",
                       "attention(%q, %k, %v, %m)"},
  {"bias",             "q: f32[2,3,2,4]; k: f32[2,5,2,4]; v: f32[2,5,2,4]; b: f32[2,2,3,5]",
                       "attention(%q, %k, %v, _, %b)"},
  {"bias_broadcast",   "q: f32[2,3,2,4]; k: f32[2,5,2,4]; v: f32[2,5,2,4]; b: f32[2,1,5]",
                       "attention(%q, %k, %v, _, %b)"},
  {"bias_bhsd",        "q: f32[2,2,3,4]; k: f32[2,2,5,4]; v: f32[2,2,5,4]; b: f32[1,2,3,1]",
                       "attention(%q, %k, %v, _, %b) {layout=bhsd}"},
  {"bias_hides",       "q: f32[1,3,1,4]; k: f32[1,3,1,4]; v: f32[1,3,1,4]; "
                       "b: f32[3,3] values(0,-inf,-inf,0,0,-inf,-inf,-inf,-inf)", "attention(%q, %k, %v, _, %b)"},
  {"sinks",            "q: f32[2,3,4,4]; k: f32[2,5,2,4]; v: f32[2,5,2,4]; s: f32[4]",
                       "attention(%q, %k, %v, _, _, %s)"},
  {"sinks_causal",     "q: f32[1,5,4,4]; k: f32[1,3,2,4]; v: f32[1,3,2,4]; s: f32[4] range(-6,6)",
                       "attention(%q, %k, %v, _, _, %s) {causal=true}"},
  {"kv_len",           "q: f32[1,1,2,4]; k: f32[1,9,2,4]; v: f32[1,9,2,4]; n: i32[] values(4)",
                       "attention(%q, %k, %v, _, _, _, %n)"},
  {"kv_len_causal",    "q: f32[1,3,2,4]; k: f32[1,9,2,4]; v: f32[1,9,2,4]; n: i32[] values(5)",
                       "attention(%q, %k, %v, _, _, _, %n) {causal=true}"},
  {"kv_len_per_batch", "q: f32[3,2,2,4]; k: f32[3,6,2,4]; v: f32[3,6,2,4]; n: i32[3] values(6,0,3)",
                       "attention(%q, %k, %v, _, _, _, %n) {causal=true}"},
  {"kv_len_hides_nan", "q: f32[1,1,1,2]; k: f32[1,3,1,2] values(1,2,3,4,nan,nan); "
                       "v: f32[1,3,1,2] values(1,2,3,4,nan,nan); n: i32[] values(2)",
                       "attention(%q, %k, %v, _, _, _, %n)"},
  {"everything",       "q: f32[2,4,4,8]; k: f32[2,9,2,8]; v: f32[2,9,2,6]; m: bool[2,9]; b: f32[4,1,9]; s: f32[4]; "
                       "n: i32[2] values(9,7); o: i32[2] values(3,5)",
                       "attention(%q, %k, %v, %m, %b, %s, %n, %o) {causal=true, window=4, softcap=2.5, scale=0.6}"},
  {"one",              "q: f32[1,1,1,1]; k: f32[1,1,1,1]; v: f32[1,1,1,1]",                 "attention(%q, %k, %v)"},
  {"no_keys",          "q: f32[1,2,2,4]; k: f32[1,0,2,4]; v: f32[1,0,2,4]",                 "attention(%q, %k, %v)"},
  {"no_queries",       "q: f32[2,0,2,4]; k: f32[2,3,2,4]; v: f32[2,3,2,4]",                 "attention(%q, %k, %v)"},
  {"larger",           "q: f32[1,33,2,16]; k: f32[1,300,2,16]; v: f32[1,300,2,16]",
                       "attention(%q, %k, %v) {causal=true}"},
  {"head_size_512",    "q: f32[1,2,1,512]; k: f32[1,3,1,512]; v: f32[1,3,1,512]",           "attention(%q, %k, %v)"},
  {"large_scores",     "q: f32[1,3,1,8] range(-90,90); k: f32[1,5,1,8] range(-90,90); v: f32[1,5,1,8]",
                       "attention(%q, %k, %v) {scale=1.0}"},
  {"special_values",   "q: f32[1,2,1,4]; k: f32[1,3,1,4]; v: f32[1,3,1,4] special",         "attention(%q, %k, %v)"},
  {"f16_cache",        "q: f32[1,2,4,8]; k: f16[1,7,2,8]; v: f16[1,7,2,8]",
                       "attention(%q, %k, %v) {causal=true}"},
  {"bf16_cache",       "q: f32[1,4,2,8]; k: bf16[1,2,7,8]; v: bf16[1,2,7,8]",
                       "attention(%q, %k, %v) {layout=bhsd}"},
  {"f16",              "q: f16[1,3,2,8]; k: f16[1,5,2,8]; v: f16[1,5,2,8]; b: f16[3,5]; s: f16[2]",
                       "attention(%q, %k, %v, _, %b, %s) {causal=true}"},
  {"bf16",             "q: bf16[1,3,2,8]; k: bf16[1,5,2,8]; v: bf16[1,5,2,8]",
                       "attention(%q, %k, %v) {causal=true}"},
  {"q8_cache",         "q: f32[2,9,6,64]; k: q8_0[2,70,2,64]; v: q8_0[2,70,2,64]; n: i32[2] values(66,70)",
                       "attention(%q, %k, %v, _, _, _, %n) {causal=true}"},
  {"q4_cache",         "q: f32[1,1,3,32]; k: q4_0[1,1100,1,32]; v: q4_0[1,1100,1,32]; n: i32[1] values(1090)",
                       "attention(%q, %k, %v, _, _, _, %n)"},
  {"f64",              "q: f64[1,3,2,8]; k: f64[1,5,2,8]; v: f64[1,5,2,8]",
                       "attention(%q, %k, %v) {causal=true}"});

CASES(paged_attention,
  {"tiny",     "q: f32[1,1,1,4]; k: f32[2,1,1,4]; v: f32[2,1,1,4]; p: i32[1,2] values(1,0)",
               "paged_attention(%q, %k, %v, %p)"},
  {"odd",      "q: f32[2,3,3,7]; k: f32[5,3,3,7]; v: f32[5,3,3,7]; p: i32[2,2] values(4,1,1,3); n: i32[2] values(5,4)",
               "paged_attention(%q, %k, %v, %p, %n) {causal=true}"},
  {"shared",   "q: f32[3,1,6,8]; k: f32[6,4,2,8]; v: f32[6,4,2,8]; p: i32[3,3] values(0,1,2,0,1,3,0,4,5); "
               "n: i32[3] values(12,9,1)", "paged_attention(%q, %k, %v, %p, %n)"},
  {"offsets",  "q: f32[2,4,4,8]; k: f32[4,8,1,8]; v: f32[4,8,1,8]; p: i32[2,2] values(3,2,0,1); "
               "n: i32[2] values(11,4); o: i32[2] values(7,0)",
               "paged_attention(%q, %k, %v, %p, %n, %o) {causal=true}"},
  {"window",   "q: f32[1,5,2,8]; k: f32[3,8,2,8]; v: f32[3,8,2,8]; p: i32[1,3] values(2,0,1); n: i32[] values(21); "
               "o: i32[] values(16)",
               "paged_attention(%q, %k, %v, %p, %n, %o) {causal=true, window=6, softcap=2.0, scale=0.4}"},
  {"sinks",    "q: f32[2,2,4,8]; k: f32[3,4,2,8]; v: f32[3,4,2,8]; p: i32[2,2] values(0,1,2,1); n: i32[2] values(7,0); "
               "s: f32[4]", "paged_attention(%q, %k, %v, %p, %n, _, %s)"},
  {"no_page",  "q: f32[1,2,2,4]; k: f32[2,3,2,4]; v: f32[2,3,2,4]; p: i32[1,0]", "paged_attention(%q, %k, %v, %p)"},
  {"no_query", "q: f32[2,0,2,4]; k: f32[2,3,2,4]; v: f32[2,3,2,4]; p: i32[2,1] values(0,1)",
               "paged_attention(%q, %k, %v, %p)"},
  {"out_of_range", "q: f32[1,2,2,4]; k: f32[3,3,2,4]; v: f32[3,3,2,4]; p: i32[1,3] values(-1,7,1)",
                   "paged_attention(%q, %k, %v, %p)"},
  {"f16_cache", "q: f32[2,1,9,64]; k: f16[9,64,3,64]; v: f16[9,64,3,64]; p: i32[2,4] values(8,1,3,5,8,1,2,0); "
                "n: i32[2] values(200,130)", "paged_attention(%q, %k, %v, %p, %n)"},
  {"prompt",    "q: f32[2,32,6,32]; k: f16[7,64,2,32]; v: f16[7,64,2,32]; p: i32[2,3] values(4,2,6,4,1,0); "
                "n: i32[2] values(172,70); o: i32[2] values(140,50)",
                "paged_attention(%q, %k, %v, %p, %n, %o) {causal=true}"},
  {"long",      "q: f32[1,1,4,16]; k: f32[12,96,1,16]; v: f32[12,96,1,16]; p: i32[1,12] "
                "values(11,0,10,1,9,2,8,3,7,4,6,5); n: i32[] values(1131)", "paged_attention(%q, %k, %v, %p, %n)"},
  {"own_value_size", "q: f32[1,3,2,8]; k: bf16[2,5,1,8]; v: bf16[2,5,1,12]; p: i32[1,2] values(1,0)",
                     "paged_attention(%q, %k, %v, %p) {causal=true}"},
  {"f16",      "q: f16[1,2,2,8]; k: f16[2,4,1,8]; v: f16[2,4,1,8]; p: i32[1,2] values(1,0)",
               "paged_attention(%q, %k, %v, %p)"},
  {"q8_pages", "q: f32[2,5,4,32]; k: q8_0[5,8,2,32]; v: q8_0[5,8,2,32]; p: i32[2,2] values(4,1,3,0); "
               "n: i32[2] values(15,9); o: i32[2] values(10,4)",
               "paged_attention(%q, %k, %v, %p, %n, %o) {causal=true}"},
  {"q4_pages", "q: f32[2,1,9,64]; k: q4_0[6,64,3,64]; v: q8_0[6,64,3,64]; p: i32[2,3] values(5,1,3,5,0,2); "
               "n: i32[2] values(150,130)", "paged_attention(%q, %k, %v, %p, %n)"},
  {"f64",      "q: f64[1,2,2,5]; k: f64[2,3,1,5]; v: f64[2,3,1,5]; p: i32[1,2] values(1,0)",
               "paged_attention(%q, %k, %v, %p) {causal=true}"});

CASES(rope,
  {"tiny",             "x: f32[1,3,1,4]",                                                   "rope(%x)"},
  {"odd",              "x: f32[2,5,3,6]",                                                   "rope(%x)"},
  {"gptj",             "x: f32[2,5,3,6]",                                                   "rope(%x) {style=gptj}"},
  {"bhsd",             "x: f32[2,3,5,6]",                                                   "rope(%x) {layout=bhsd}"},
  {"bhsd_gptj",        "x: f32[2,3,5,8]",                                                   "rope(%x) {layout=bhsd, "
                       "style=gptj}"},
  {"partial",          "x: f32[1,4,2,10]",                                                  "rope(%x) {n_rot=4}"},
  {"partial_gptj",     "x: f32[1,4,2,7]",                                                   "rope(%x) {n_rot=6, "
                       "style=gptj}"},
  {"theta",            "x: f32[1,4,2,8]; p: i32[4] values(0,17,1000,40000)",
                       "rope(%x, %p) {theta=500000.0}"},
  {"positions",        "x: f32[2,4,1,4]; p: i32[4] values(9,2,7,2)",                        "rope(%x, %p)"},
  {"positions_batch",  "x: f32[2,3,2,4]; p: i64[2,3] values(5,6,7,0,1,2)",                  "rope(%x, %p)"},
  {"positions_bhsd",   "x: f32[2,2,3,4]; p: i32[2,3] values(5,6,7,0,-1,2)",
                       "rope(%x, %p) {layout=bhsd}"},
  {"offset",           "x: f32[2,3,2,8]; o: i32[] values(11)",                              "rope(%x, _, %o)"},
  {"offset_gptj",      "x: f32[1,1,4,8]; o: i32[1] values(511)",
                       "rope(%x, _, %o) {style=gptj}"},
  {"factors",          "x: f32[1,5,2,8]; o: i32[] values(3); f: f32[4] range(0.5,8)",       "rope(%x, _, %o, %f)"},
  {"factors_partial",  "x: f32[1,5,2,9]; f: f32[3] range(0.5,8)",
                       "rope(%x, _, _, %f) {n_rot=6, style=gptj}"},
  {"tables",           "x: f32[2,3,2,6]; c: f32[9,3]; s: f32[9,3]",
                       "rope(%x, _, _, _, %c, %s)"},
  {"tables_positions", "x: f32[2,3,2,8]; p: i32[2,3] values(8,0,3,1,1,7); c: f32[9,2]; s: f32[9,2]",
                       "rope(%x, %p, _, _, %c, %s) {n_rot=4}"},
  {"tables_offset",    "x: f32[1,2,3,4]; o: i32[] values(7); c: f32[10,2]; s: f32[10,2]",
                       "rope(%x, _, %o, _, %c, %s) {style=gptj, layout=bhsd}"},
  {"one",              "x: f32[1,1,1,2]; o: i32[] values(1)",                               "rope(%x, _, %o)"},
  {"empty",            "x: f32[2,0,3,4]",                                                   "rope(%x)"},
  {"larger",           "x: f32[1,9,3,64]; o: i32[] values(4000)",                           "rope(%x, _, %o)"},
  {"f16",              "x: f16[1,5,2,10]",                                                  "rope(%x) {n_rot=8}"},
  {"bf16",             "x: bf16[1,5,2,8]",                                                  "rope(%x) {style=gptj}"},
  {"f64",              "x: f64[1,5,2,8]; o: i32[] values(100)",                             "rope(%x, _, %o)"});

CASES(axial_rope_2d,
  {"tiny",             "x: f32[1,4,1,4]",                                                   "axial_rope_2d(%x) "
                       "{width=2}"},
  {"odd",              "x: f32[2,15,3,12]",
                       "axial_rope_2d(%x) {width=5}"},
  {"neox",             "x: f32[2,6,2,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3, style=neox}"},
  {"bhsd",             "x: f32[2,3,6,8]",                                                   "axial_rope_2d(%x) "
                       "{width=2, layout=bhsd}"},
  {"bhsd_neox",        "x: f32[1,3,6,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3, layout=bhsd, style=neox}"},
  {"ragged_grid",      "x: f32[1,7,1,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3}"},
  {"one_row",          "x: f32[1,5,2,4]",                                                   "axial_rope_2d(%x) "
                       "{width=100}"},
  {"one_column",       "x: f32[1,5,2,4]",                                                   "axial_rope_2d(%x)"},
  {"theta",            "x: f32[1,9,1,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3, theta=100.0}"},
  {"one",              "x: f32[1,1,1,4]",                                                   "axial_rope_2d(%x)"},
  {"empty",            "x: f32[1,0,2,8]",                                                   "axial_rope_2d(%x) "
                       "{width=4}"},
  {"larger",           "x: f32[1,49,1,16]",
                       "axial_rope_2d(%x) {width=7}"},
  {"f16",              "x: f16[1,6,2,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3}"},
  {"bf16",             "x: bf16[1,6,2,8]",                                                  "axial_rope_2d(%x) "
                       "{width=3}"},
  {"f64",              "x: f64[1,6,2,8]",                                                   "axial_rope_2d(%x) "
                       "{width=3}"});
/* clang-format on */
