#!/usr/bin/env python3
"""The process contract (docs/process.md), as far as it needs a shared library: unloading with dlclose, and locales with
a decimal comma.

Links a librlx.so from the archive and compiles two small programs against it. One opens, uses and closes the library
many times and checks what is left: mappings, threads, memory. The other prints numbers in every way the library can, in
the C locale and in one with a decimal comma, and must print the same.

  RLX_BUILD_DIR=build/release tests/runtime/test_process_shared.py

The build directory may also be the argument. CC: gcc unless set.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("RLX_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])
CC = os.environ.get("CC") or "gcc"

UNLOAD = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <rlx/experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GET(name) __typeof__(&name) name##_ = (__typeof__(&name))dlsym(library, #name); if (!name##_) return 2

static int threads(void) {
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n - 2;
}

static int is_mapped(void) {
  char line[4096];
  int found = 0;
  FILE *f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f)) found |= strstr(line, "librlx.so") != NULL;
  if (f) fclose(f);
  return found;
}

static int once(const char *path, const char *device) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return puts(dlerror()), 1;
  GET(rlx_session_create);
  GET(rlx_session_destroy);
  GET(rlx_graph_parse);
  GET(rlx_graph_destroy);
  GET(rlx_compile);
  GET(rlx_run);
  GET(rlx_executable_destroy);
  GET(rlx_message);
  static const char text[] = "graph { %x = input \"x\" : f32[64,64]; %m = matmul(%x, %x); %y = softmax(%m); output \"y\" = %y }";
  static float x[64 * 64], y[64 * 64];
  rlx_graph *g = NULL;
  rlx_session *s = NULL;
  rlx_executable *e = NULL;
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = device, .n_threads = 4};
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(64, 64), x, sizeof x}}, out = {"y", {.data = y, .bytes = sizeof y}};
  rlx_status status = rlx_graph_parse_(text, sizeof text - 1, &g);
  if (!status) status = rlx_session_create_(&d, &s);
  if (!status) status = rlx_compile_(s, g, NULL, &e);
  if (!status) status = rlx_run_(e, &in, 1, &out, 1);
  if (status) puts(rlx_message_());
  rlx_executable_destroy_(e);
  rlx_session_destroy_(s);
  rlx_graph_destroy_(g);
  dlclose(library);
  return (int)status;
}

int main(int argc, char **argv) {
  const char *device = argc > 3 ? argv[3] : NULL;
  int rounds = atoi(argv[2]), status;
  size_t before = 0;
  for (int i = 0; i < rounds; i++) {
    if (once(argv[1], device)) return 1;
    if (i == rounds / 10) before = mallinfo2().uordblks;
  }
  long grown = (long)mallinfo2().uordblks - (long)before;
  /* what the library registered for forks must be gone, or point to what is still there */
  pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, &status, 0);
  printf("mapped %d threads %d grown %ld child %d\n", is_mapped(), threads(), grown, WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}
"""

NUMBERS = r"""
#include <locale.h>
#include <rlx/onnx.h>
#include <rlx/experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* The program's own printf has the comma. */
static unsigned long long bits(double x) {
  unsigned long long v;
  return memcpy(&v, &x, sizeof v), v;
}
#ifdef WITH_LM
#include <rlx/lm.h>
static int language_model(const char *folder, const char *temporary) {
  rlx_lm *lm;
  rlx_file *f;
  rlx_meta m;
  char path[1024];
  rlx_lm_desc d = {RLX_LM_DESC_INIT, .path = folder, .device = "cpu", .n_threads = 1, .context = 64};
  int32_t ids[] = {1, 2, 3};
  float logits[4096];
  if (rlx_lm_load(&d, &lm)) return 10;
  if (rlx_lm_append(lm, 0, ids, 3, false, logits)) return 11;
  for (int i = 0; i < 8; i++) printf("logit %llx\n", bits((double)logits[i]));
  rlx_lm_destroy(lm);
  snprintf(path, sizeof path, "%s/x.gguf", temporary);
  rlx_convert_options c = {RLX_CONVERT_OPTIONS_INIT, .n_threads = 1};
  if (rlx_file_open(folder, NULL, &f) || rlx_lm_convert(f, path, &c)) return 12;
  rlx_file_close(f);
  if (rlx_file_open(path, NULL, &f)) return 13;
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++)
    if (m.kind == RLX_META_FLOAT) printf("meta %s %llx\n", m.key, bits(m.number));
  snprintf(path, sizeof path, "%s/x.safetensors", temporary);
  if (rlx_file_convert(f, path, &c)) return 14;
  rlx_file_close(f);
  if (rlx_file_open(path, NULL, &f)) return 15;
  for (uint32_t i = 0; rlx_file_meta_at(f, i, &m); i++)
    if (m.kind == RLX_META_TEXT && strlen(m.text) < 200) printf("meta %s %s\n", m.key, m.text);
  rlx_file_close(f);
  return 0;
}
#endif

int main(int argc, char **argv) {
  (void)argc;
  char comma[16], path[1024], *text;
  if (!setlocale(LC_ALL, "")) return 3;
  snprintf(comma, sizeof comma, "%.1f", 1.5);
  fprintf(stderr, "%s", comma);
  static const char source[] =
    "graph { %x = input \"x\" : f32[4,4]; %c = constant : f64[3] = [0.5, 1e-300, 1234567.25]; %s = cast(%c) {to=f32}; "
    "%r = reduce_sum(%s) {axes=[0]}; %l = leaky_relu(%x) {alpha=0.125}; %y = mul(%l, %r); output \"y\" = %y }";
  rlx_graph *g, *again;
  rlx_session *s;
  rlx_executable *e;
  if (rlx_graph_parse(source, sizeof source - 1, &g)) return puts(rlx_message()), 4;
  if (rlx_graph_print(g, &text)) return 5;
  puts(text);
  if (rlx_graph_parse(text, strlen(text), &again)) return puts(rlx_message()), 6;
  rlx_free(text);
  rlx_graph *bad;
  if (rlx_graph_create(&bad)) return 17;
  rlx_node x = rlx_op_input(bad, "x", RLX_F32, RLX_DIMS(2));
  rlx_op_clamp(bad, x, 1.5, -2.25);
  rlx_op_rms_norm(bad, x, 0, 0, -1, -1.5);
  if (rlx_graph_finish(bad)) puts(rlx_message());
  rlx_session_desc d = {RLX_SESSION_DESC_INIT, .device = "cpu", .n_threads = 1};
  if (rlx_session_create(&d, &s) || rlx_compile(s, g, NULL, &e)) return puts(rlx_message()), 7;
  float v[16], y[16];
  for (int i = 0; i < 16; i++) v[i] = (float)i - 7.5f;
  rlx_named_tensor in = {"x", {RLX_F32, RLX_DIMS(4, 4), v, sizeof v}}, out = {"y", {.data = y, .bytes = sizeof y}};
  if (rlx_executable_profile(e, true) || rlx_run(e, &in, 1, &out, 1)) return puts(rlx_message()), 8;
  for (int i = 0; i < 16; i++) printf("y %llx\n", bits((double)y[i]));
  snprintf(path, sizeof path, "%s/x.npy", argv[1]);
  rlx_tensor t = {RLX_F32, RLX_DIMS(4, 4), v, sizeof v}, back;
  if (rlx_npy_write(path, &t) || rlx_npy_read(path, &back) || memcmp(back.data, v, sizeof v)) return 9;
  rlx_free(back.data);
  const struct { rlx_report_kind kind; rlx_report_format format; const char *name; } reports[] = {
    {RLX_REPORT_PLAN, RLX_JSON, "plan.json"}, {RLX_REPORT_PLAN, RLX_SVG, "plan.svg"}, {RLX_REPORT_PLAN, RLX_TEXT, "plan.txt"},
    {RLX_REPORT_DISPATCH, RLX_JSON, "dispatch.json"}, {RLX_REPORT_PROFILE, RLX_JSON, "profile.json"},
    {RLX_REPORT_PROFILE, RLX_TEXT, "profile.txt"}, {RLX_REPORT_TRACE, RLX_JSON, "trace.json"}};
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
    snprintf(path, sizeof path, "%s/%s", argv[1], reports[i].name);
    FILE *f = fopen(path, "w");
    if (!f || rlx_executable_report(e, reports[i].kind, reports[i].format, &text)) return puts(rlx_message()), 16;
    fputs(text, f);
    fclose(f);
    rlx_free(text);
  }
#ifdef WITH_LM
  int code = language_model(argv[2], argv[1]);
  if (code) return puts(rlx_message()), code;
#endif
  return 0;
}
"""


def run(command, env=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env)
    return done.returncode, done.stdout, done.stderr


class Problem(Exception):
    pass


def must(command, env=None):
    code, out, error = run(command, env)
    if code != 0:
        raise Problem(f"{command[0]} ended with {code}: {out[-500:]}{error[-1500:]}")
    return out, error


def make(folder, build):
    """The shared library and both programs; whether it has language models."""
    library = pathlib.Path(build) / "librlx.a"
    symbols, _ = must(["nm", library])
    has_lm = " T rlx_lm_load" in symbols
    lm = ["-ljansson", "-lpcre2-8", "-lutf8proc"] if has_lm else []
    must([CC, "-shared", "-o", folder / "librlx.so", "-Wl,--whole-archive", library, "-Wl,--no-whole-archive", "-lm", "-lpthread",
          "-ldl", *lm])
    for name, text in (("unload", UNLOAD), ("numbers", NUMBERS)):
        (folder / f"{name}.c").write_text(text)
    must([CC, "-std=gnu11", f"-I{ROOT}/include", folder / "unload.c", "-o", folder / "unload", "-ldl", "-lpthread"])
    must([CC, "-std=gnu11", f"-I{ROOT}/include", *(["-DWITH_LM"] if has_lm else []), folder / "numbers.c", "-o", folder / "numbers",
          f"-L{folder}", "-lrlx", f"-Wl,-rpath,{folder}"])


def check_unload(folder):
    out, _ = must([folder / "unload", folder / "librlx.so", "200", "cpu"])
    found = re.fullmatch(r"mapped (\d) threads (\d+) grown (-?\d+) child (\d)\n", out)
    if not found:
        raise Problem(f"unexpected words: {out}")
    mapped, threads, grown, child = map(int, found.groups())
    if threads != 1 or not child or grown > 64 << 10 or mapped:
        raise Problem(f"after 200 times on the CPU: {out}")


def check_unload_default(folder):
    """On the best device, whichever it is: if a driver was loaded, the library stays mapped and is found again."""
    out, _ = must([folder / "unload", folder / "librlx.so", "40"])
    found = re.fullmatch(r"mapped (\d) threads (\d+) grown (-?\d+) child (\d)\n", out)
    if not found or not int(found[4]) or int(found[3]) > 1 << 20:
        raise Problem(f"after 40 times on the best device: {out}")


def comma_locale(folder):
    """Returns an environment in which numbers have a decimal comma, or None."""
    if not shutil.which("localedef"):
        return None
    where = folder / "locales"
    where.mkdir()
    run(["localedef", "-i", "de_DE", "-f", "UTF-8", where / "de_DE.UTF-8"])  # warnings make its status non-zero
    if not (where / "de_DE.UTF-8" / "LC_NUMERIC").is_file():
        return None
    return {**os.environ, "LOCPATH": str(where), "LC_ALL": "de_DE.UTF-8"}


def check_locale(folder):
    env = comma_locale(folder)
    if not env:
        return "no locale with a comma can be made: localedef or its sources are missing"
    model = ROOT / "tests/golden/lm/llama"
    texts = {}
    for name, one in (("plain", {**os.environ, "LC_ALL": "C"}), ("comma", env)):
        (folder / name).mkdir()
        texts[name], said = must([folder / "numbers", folder / name, model], one)
        if said != ("1.5" if name == "plain" else "1,5"):
            raise Problem(f"the locale is not in force: 1.5 is printed as {said}")
        for path in (folder / name).glob("*.json"):
            json.loads(path.read_text())
        for path in [*(folder / name).glob("*.svg"), *(folder / name).glob("*.txt")]:
            comma = re.search(r"[0-9],[0-9]+(\"| |$)", path.read_text(), re.M)
            if path.suffix == ".svg" and comma:
                raise Problem(f"{path.name} has a number with a comma: {comma[0]}")
    if texts["plain"] != texts["comma"]:
        different = [(a, b) for a, b in zip(texts["plain"].splitlines(), texts["comma"].splitlines()) if a != b]
        raise Problem(f"the two locales print different numbers: {different[:3]}")
    if len(texts["plain"].splitlines()) < 20 or "1.5" not in texts["plain"]:
        raise Problem(f"too little was printed: {texts['plain']}")
    for name in ("x.npy", "x.gguf", "x.safetensors"):
        files = [folder / "plain" / name, folder / "comma" / name]
        if files[0].is_file() and files[0].read_bytes() != files[1].read_bytes():
            raise Problem(f"{name} differs between the locales")
    return ""


def main():
    build = os.environ.get("RLX_BUILD_DIR") or (sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release"))
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            make(folder, build)
        except Problem as problem:
            print(f"FAIL the shared library: {problem}\n0 passed, 1 failed, 0 skipped")
            return 1
        for check in (check_unload, check_unload_default, check_locale):
            try:
                why = check(folder)
                skipped += bool(why)
                passed += not why
                print(f"SKIP {check.__name__}: {why}" if why else f"pass {check.__name__}")
            except (Problem, ValueError) as problem:
                failed += 1
                print(f"FAIL {check.__name__}: {problem}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
