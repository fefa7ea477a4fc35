#!/usr/bin/env python3
"""Whether programs of an older header and of a newer one run with this library, and whether its interface is what is checked in.

A librlx.so is made of the archive. One program is compiled three times: against the header as it is, against one whose growing structs
(those that begin with struct_bytes) lack their last field, and against one in which each has a field more. It passes such structs,
has others filled with guards behind them, and sets the field that the library cannot know.

The interface is what the public headers declare, as a program sees it: a library of empty functions is compiled from them and compared
by abidiff (Debian: abigail-tools) with tests/tree/rlx.abi.gz. New functions, new enumerators and new fields at the end of growing structs
pass; all else is a break. Where one is meant, write the file anew:

  tests/tree/test_abi.py --write
  RLX_BUILD_DIR=build/release tests/tree/test_abi.py      (or the build directory as the argument; CC: gcc unless set)
"""

import gzip

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
CC = os.environ.get("CC") or "gcc"
HEADERS = sorted((ROOT / "include/rlx").glob("*.h"))
DESCRIPTION = ROOT / "tests/tree/rlx.abi.gz"
SIZED = re.compile(r"typedef struct (rlx_\w+) \{\s*size_t struct_bytes;(.*?)\n\} \1;", re.S)

PROGRAM = r"""
#include <rlx/experimental.h>
#include <stdio.h>
#include <string.h>

static int failed;
static void check(bool ok, int line, const char *what) {
  if (ok) return;
  printf("line %d: %s: %s\n", line, what, rlx_message());
  failed = 1;
}
#define CHECK(x) check((x), __LINE__, #x)

/* A struct that the library fills, with bytes behind it that are nobody's. */
#ifdef NEWER
#define ASK_MORE(s) (s).added_later = 77
#define HAS_LESS(s) CHECK((s).added_later == 0)
#else
#define ASK_MORE(s) (void)0
#define HAS_LESS(s) (void)0
#endif
#define FILLS(type, init, call, proof) \
  do { \
    struct { type out; unsigned char guard[64]; } g = {.out = {init}}; \
    type *out = &g.out; \
    memset(g.guard, 0xa5, sizeof g.guard); \
    ASK_MORE(g.out); \
    CHECK((call) == RLX_OK); \
    CHECK(proof); \
    CHECK(out->struct_bytes == sizeof *out); \
    HAS_LESS(g.out); \
    for (size_t i = 0; i < sizeof g.guard; i++) CHECK(g.guard[i] == 0xa5); \
  } while (0)

/* A struct that is passed: taken as it is, refused where it asks for what nobody here knows, or where its size was never set. */
#define TAKES(type, init, call) \
  do { \
    type in_ = {init}, *in = &in_; \
    CHECK((call) == RLX_OK); \
    TAKES_MORE(call); \
    in->struct_bytes = 0; \
    CHECK((call) == RLX_INVALID); \
    in->struct_bytes = (size_t)-8; \
    CHECK((call) == RLX_INVALID); \
  } while (0)
#ifdef NEWER
#define TAKES_MORE(call) in->added_later = 1; CHECK((call) == RLX_UNSUPPORTED); CHECK(strstr(rlx_message(), rlx_version()) != NULL); \
  in->added_later = 0
#else
#define TAKES_MORE(call) (void)0
#endif
#define WITH(...) __VA_ARGS__

static rlx_graph *a_graph(void) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return NULL;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(2, 3));
  rlx_graph_add_output(g, "y", rlx_op_relu(g, rlx_op_matmul(g, x, rlx_op_param(g, "w", RLX_F32, RLX_DIMS(3, 2)))));
  if (rlx_graph_finish(g)) return NULL;
  return g;
}

static rlx_status open_session(const rlx_session_desc *d) {
  rlx_session *s;
  rlx_status status = rlx_session_create(d, &s);
  rlx_session_destroy(s);
  return status;
}

static rlx_status compile(rlx_session *s, const rlx_graph *g, const rlx_compile_options *o) {
  rlx_executable *e;
  rlx_status status = rlx_compile(s, g, o, &e);
  rlx_executable_destroy(e);
  return status;
}

static rlx_status optimize(const rlx_graph *g, const rlx_optimize_options *o) {
  rlx_optimized *done;
  rlx_status status = rlx_optimize(g, o, &done);
  rlx_optimized_destroy(done);
  return status;
}

static rlx_status fill(rlx_custom_call *call) { return (void)call, RLX_OK; }
static rlx_status register_op(const rlx_custom_desc *d) {
  rlx_status status = rlx_custom_register(d);
  return status ? status : rlx_custom_unregister("abi.test");
}

static rlx_status convolve(const rlx_op_conv_desc *d) {
  rlx_graph *g;
  if (rlx_graph_create(&g)) return RLX_NO_MEMORY;
  rlx_node x = rlx_op_input(g, "x", RLX_F32, RLX_DIMS(1, 2, 8, 8)), w = rlx_op_param(g, "w", RLX_F32, RLX_DIMS(2, 2, 3, 3));
  rlx_node y = rlx_op_conv(g, x, w, RLX_NONE, d);
  rlx_status status = rlx_graph_status(g);
  if (!status) CHECK(rlx_node_shape(g, y).v[3] == 3); /* the stride came through */
  rlx_graph_destroy(g);
  return status;
}

static bool see_row(void *user, const rlx_conform_row *row) { return (void)user, (void)row, false; }

int main(void) {
  rlx_graph *g = a_graph();
  rlx_session *s;
  rlx_executable *e;
  rlx_arena *arena;
  float x[6] = {1, 2, 3, 4, 5, 6}, y[4] = {0};
  rlx_place_item items[2] = {{0, 2, 64}, {1, 3, 32}};
  uint64_t offsets[2];
  if (!g || rlx_session_create(&(rlx_session_desc){RLX_SESSION_DESC_INIT, .device = "cpu", .no_pool = true}, &s) ||
      rlx_compile(s, g, &(rlx_compile_options){RLX_COMPILE_OPTIONS_INIT, .switches = RLX_SWITCH_EXACT}, &e))
    return printf("set up: %s\n", rlx_message()), 1;
  rlx_tensor value = {RLX_F32, RLX_DIMS(3, 2), {x}, sizeof x}, input = {RLX_F32, RLX_DIMS(2, 3), {x}, sizeof x};
  CHECK(rlx_executable_write(e, "w", &value) == RLX_OK);
  rlx_named_tensor out = {"y", {RLX_F32, RLX_DIMS(2, 2), {y}, sizeof y}}, in = {"x", input};
  CHECK(rlx_run(e, &in, 1, &out, 1) == RLX_OK);
  CHECK(y[0] == 22 && y[3] == 64);
  CHECK(rlx_executable_arena(e, &arena) == RLX_OK);
  rlx_node at = rlx_graph_find(rlx_executable_graph(e), "x");

  FILLS(rlx_device_info, RLX_DEVICE_INFO_INIT, rlx_device_describe(0, out), out->backend[0] != 0);
  FILLS(rlx_device_info, RLX_DEVICE_INFO_INIT, rlx_session_device(s, out), strcmp(out->backend, "cpu") == 0);
  FILLS(rlx_session_stats, RLX_SESSION_STATS_INIT, rlx_session_stats_get(s, out), out->n_blocks_made > 0);
  FILLS(rlx_memory_info, RLX_MEMORY_INFO_INIT, rlx_executable_memory(e, out), out->weights >= 24);
  FILLS(rlx_arena_place, RLX_ARENA_PLACE_INIT, rlx_arena_where(arena, at, out), out->capacity >= 24);
  FILLS(rlx_place_result, RLX_PLACE_RESULT_INIT, rlx_place(items, 2, NULL, offsets, out), out->peak == 96);
  FILLS(rlx_op_table_info, RLX_OP_TABLE_INFO_INIT, rlx_op_table_describe(rlx_op_table_find("conv"), out),
        strcmp(out->name, "conv") == 0);
  FILLS(rlx_op_table_input, RLX_OP_TABLE_INPUT_INIT, rlx_op_table_input_at(rlx_op_table_find("conv"), 0, out),
        strcmp(out->name, "x") == 0);
  FILLS(rlx_op_table_attribute, RLX_OP_TABLE_ATTRIBUTE_INIT, rlx_op_table_attribute_at(rlx_op_table_find("softmax"), 0, out),
        strcmp(out->name, "axis") == 0);

  TAKES(rlx_session_desc, WITH(RLX_SESSION_DESC_INIT, .device = "cpu"), open_session(in));
  TAKES(rlx_compile_options, WITH(RLX_COMPILE_OPTIONS_INIT, .no_cache = true), compile(s, g, in));
  TAKES(rlx_optimize_options, WITH(RLX_OPTIMIZE_OPTIONS_INIT, .passes = "fold"), optimize(g, in));
  TAKES(rlx_custom_desc, WITH(RLX_CUSTOM_DESC_INIT, .name = "abi.test", .shape = fill, .kernel = fill), register_op(in));
  rlx_place_result placed = {RLX_PLACE_RESULT_INIT};
  TAKES(rlx_place_options, WITH(RLX_PLACE_OPTIONS_INIT, .align = 32), rlx_place(items, 2, in, offsets, &placed));
  TAKES(rlx_op_conv_desc, WITH(RLX_OP_CONV_DESC_INIT, .stride = RLX_DIMS(2, 2)), convolve(in));

  TAKES(rlx_conform_options, WITH(RLX_CONFORM_OPTIONS_INIT, .pattern = "relu"), rlx_conform_with(s, in, see_row, NULL));

  rlx_executable_destroy(e);
  rlx_session_destroy(s);
  rlx_graph_destroy(g);
  return failed;
}
"""


class Problem(Exception):
    pass


class Skip(Exception):
    pass


def must(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"{pathlib.Path(str(command[0])).name} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def fields(body):
    """The declarations of a struct's body, without comments; those inside a nested struct belong to it."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(body):
        depth += (c == "{") - (c == "}")
        if c == ";" and depth == 0:
            found.append(body[start:i + 1])
            start = i + 1
    return found


def headers(folder, change):
    """A copy of the public headers, with each growing struct's fields changed."""
    where = folder / "rlx"
    where.mkdir(parents=True)
    names = []
    for path in HEADERS:
        text = code(path)

        def one(m):
            names.append(m[1])
            return f"typedef struct {m[1]} {{\n  size_t struct_bytes;{''.join(change(fields(m[2])))}\n}} {m[1]};"

        (where / path.name).write_text(SIZED.sub(one, text))
    return names


def make_library(folder, build):
    library = pathlib.Path(build) / "librlx.a"
    if not library.is_file():
        raise Problem(f"there is no library {library}: build it first")
    lm = ["-ljansson", "-lpcre2-8", "-lutf8proc"] if " T rlx_lm_load" in must(["nm", library]) else []
    must([CC, "-shared", "-o", folder / "librlx.so", f"-Wl,--version-script={ROOT}/src/rlx.map", "-Wl,--whole-archive", library,
          "-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl", *lm])


def run_program(folder, name, include, defines=()):
    source = folder / "program.c"
    source.write_text(PROGRAM)
    must([CC, "-std=c11", "-Wall", "-Werror", *defines, f"-I{include}", source, "-o", folder / f"run_{name}", f"-L{folder}", "-lrlx",
          f"-Wl,-rpath,{folder}"])
    must([folder / f"run_{name}"])


def check_same(folder):
    """the header as it is"""
    run_program(folder, "same", ROOT / "include")


def check_older(folder):
    """a header whose structs lack their last field"""
    if not headers(folder / "older", lambda f: f[:-1]):
        raise Problem("no struct begins with struct_bytes")
    run_program(folder, "older", folder / "older")


def check_newer(folder):
    """a header whose structs have one field more"""
    headers(folder / "newer", lambda f: f + ["\n  uint64_t added_later;"])
    run_program(folder, "newer", folder / "newer", ["-DNEWER"])


def code(path):
    """A header without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)


def check_symbols(folder):
    """the library exports the functions of the headers and nothing else, under their version"""
    names = must(["nm", "-D", "--defined-only", folder / "librlx.so"])
    exported = {line.split()[-1] for line in names.splitlines()} - {"RLX_0"}
    has_lm = any(name.startswith("rlx_lm_load@") for name in exported)
    declared = set()
    for path in HEADERS:
        if has_lm or path.name != "lm.h":
            declared |= set(re.findall(r"^RLX_API [^;(]*?\b(rlx_\w+)\(", code(path), flags=re.M))
    if exported != {f"{name}@@RLX_0" for name in declared}:
        raise Problem(" ".join(sorted(exported ^ {f"{name}@@RLX_0" for name in declared})))


def stub(folder):
    """A library of empty functions, compiled from the headers with debug information."""
    text = ""
    for path in [ROOT / "include/rlx/rlx.h", *(p for p in HEADERS if p.name != "rlx.h")]:
        body = re.sub(r"^RLX_API ([^;]*);", r"RLX_API \1 { for (;;) ; }", code(path), flags=re.M)
        text += re.sub(r'#include [<"]rlx/.*', "", body)
    (folder / "stub.c").write_text(text)
    must([CC, "-std=c11", "-g", "-O0", "-shared", "-fPIC", folder / "stub.c", "-o", folder / "stub.so"])
    return folder / "stub.so"


def describe(library):
    return must(["abidw", "--no-corpus-path", "--no-show-locs", "--no-comp-dir-path", "--no-elf-needed", "--no-parameter-names", library])


def check_interface(folder):
    """the headers' interface is the one that is checked in, or grew"""
    if not shutil.which("abidiff"):
        raise Skip("abidiff is not installed (abigail-tools)")
    if platform.machine() != "x86_64":
        raise Skip("the description is of x86-64")
    known = folder / "rlx.abi"
    known.write_bytes(gzip.decompress(DESCRIPTION.read_bytes()))
    growing = "|".join(name for path in HEADERS for name, _ in SIZED.findall(code(path)))
    (folder / "growing.ini").write_text("[suppress_type]\n  type_kind = struct\n  has_data_member_inserted_at = end\n"
                                        f"  name_regexp = ^({growing})$\n")
    done = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", folder / "growing.ini", known, stub(folder)],
                          capture_output=True, text=True)
    if done.returncode:
        raise Problem(f"abidiff ends with {done.returncode}; where it is meant: tests/tree/test_abi.py --write\n{done.stdout[:3000]}")


def write_description():
    with tempfile.TemporaryDirectory() as folder:
        DESCRIPTION.write_bytes(gzip.compress(describe(stub(pathlib.Path(folder))).encode(), mtime=0))


def check_enums(_):
    """every enumerator has its number written down"""
    for path in HEADERS:
        for name, body in re.findall(r"typedef enum (rlx_\w+) \{(.*?)\} \1;", code(path), flags=re.S):
            for item in filter(None, (i.strip() for i in body.split(","))):
                if not re.fullmatch(r"RLX_\w+ = \d+", item):
                    raise Problem(f"{name}: {item}")


def check_padding(folder):
    """no struct that is passed ends in padding, where a later field would read what an older program never wrote"""
    lines = ['#include <stddef.h>', *(f'#include "{p}"' for p in HEADERS)]
    for path in HEADERS:
        for name, body in SIZED.findall(code(path)):
            if re.search(r"_(desc|options)$", name):
                last = re.findall(r"\w+", re.sub(r"\[.*?\]|\(void.*|\{.*\}", "", fields(body)[-1], flags=re.S))[-1]
                lines.append(f'_Static_assert(offsetof({name}, {last}) + sizeof((({name} *)0)->{last}) == sizeof({name}), '
                             f'"{name} ends in padding after {last}");')
    (folder / "padding.c").write_text("\n".join(lines) + "\n")
    if len(lines) < 20:
        raise Problem(f"only {len(lines)} lines: the headers are not read right")
    must([CC, "-std=c11", "-fsyntax-only", f"-I{ROOT}/include", folder / "padding.c"])


def check_import(folder):
    """on Windows a program imports the functions, the library exports them, and a static one does neither"""
    (folder / "windows.c").write_text("#include <rlx/lm.h>\n#include <rlx/onnx.h>\n#include <rlx/experimental.h>\n")
    for define, wanted in ("-DPROGRAM", "dllimport"), ("-DRLX_BUILDING", "dllexport"), ("-DRLX_STATIC", ""):
        text = must([CC, "-E", "-D_WIN32", define, f"-I{ROOT}/include", folder / "windows.c"])
        found = set(re.findall(r"__declspec\((\w+)\)", text))
        if found != ({wanted} if wanted else set()):
            raise Problem(f"with {define}: {found}")


def check_numbers(_):
    """inside the library nodes are numbers: only the command and the models' graphs, which are programs, ask for whole ones"""
    asks = re.compile(r"\b(rlx_graph_create|rlx_graph_find|rlx_graph_output_at|rlx_node_input_at)\(")
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        room = path.relative_to(ROOT / "src").parts[0]
        found = asks.search(path.read_text())
        if found and room not in ("cli", "model") and path.name != "graph.c":
            raise Problem(f"{path.relative_to(ROOT)} calls {found[1]}: rlx_graph_begin, rlx_graph_leaf and records give numbers")


def check_initialisers(folder):
    """every growing struct has its RLX_*_INIT"""
    text = "".join(p.read_text() for p in HEADERS)
    without = [n for n, _ in SIZED.findall(text) if f"#define {n.upper()}_INIT RLX_SIZED({n})\n" not in text]
    if without or "struct_bytes" not in text:
        raise Problem(f"without: {' '.join(without)}")


def main():
    if sys.argv[1:] == ["--write"]:
        return write_description()
    build = os.environ.get("RLX_BUILD_DIR") or (sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release"))
    checks = [check_same, check_older, check_newer, check_padding, check_initialisers, check_numbers, check_import, check_enums, check_symbols, check_interface]
    failed = skipped = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            make_library(folder, build)
        except Problem as p:
            print(f"FAIL {p}\n0 passed, 1 failed, 0 skipped")
            return 1
        for check in checks:
            try:
                check(folder)
                print(f"pass {check.__doc__}")
            except Skip as s:
                skipped += 1
                print(f"SKIP {check.__doc__}: {s}")
            except Problem as p:
                failed += 1
                print(f"FAIL {check.__doc__}: {p}")
    print(f"{len(checks) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
