#!/bin/bash -eu
# Builds every fuzz target (tests/fuzz/fuzz_*.c) as OSS-Fuzz wants it: the library once, with its flags, then a program per target with its
# seeds beside it. Works outside of it, too:
#
#   CC=clang CXX=clang++ CFLAGS="-O1 -g -fsanitize=address,fuzzer-no-link" CXXFLAGS="$CFLAGS" \
#     LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/out WORK=/tmp/work tools/oss-fuzz/build.sh
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -f "${SRC:-/nowhere}/rlx/CMakeLists.txt" ]; then root=$SRC/rlx; else root=$(cd "$here/../.." && pwd); fi
mkdir -p "$OUT" "$WORK"

# Vulkan is left out: its drivers are not what is fuzzed here. The emulated GPU runs the same kernels.
cmake -S "$root" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS" \
  -DRLX_VULKAN=OFF -DBUILD_SHARED_LIBS=OFF
ninja -C "$WORK/build" ${JOBS:+-j$JOBS} librlx_inside.a librlx_tests_shared.a

# Their archives, so that the programs run where nothing is installed; the shared ones where there are no archives.
libraries=()
for name in jansson pcre2-8 utf8proc; do
  if echo 'int main(void) { return 0; }' | $CC -x c - -l:lib$name.a -o "$WORK/probe" 2>/dev/null; then libraries+=("-l:lib$name.a")
  else libraries+=("-l$name"); fi
done

cp -r "$root/tests/golden" "$OUT/" 2>/dev/null || true
mkdir -p "$OUT/models/shakespeare"
cp "$root/models/shakespeare/shakespeare.gguf" "$OUT/models/shakespeare/"
for source in "$root"/tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  $CC $CFLAGS -std=c11 -D_POSIX_C_SOURCE=200809L -DRLX_LM "-DRLX_TEST_DATA=\"$OUT/golden\"" -I"$root/src" -I"$root/include" \
    -I"$root/tests/support" -c "$source" -o "$WORK/$name.o"
  $CXX $CXXFLAGS "$WORK/$name.o" $LIB_FUZZING_ENGINE "$WORK/build/librlx_tests_shared.a" "$WORK/build/librlx_inside.a" "${libraries[@]}" \
    -lm -lpthread -ldl -o "$OUT/$name"
  seeds=$name # its own, or those of the target whose name it extends
  while [ -n "$seeds" ] && [ ! -d "$root/tests/corpus/$seeds" ]; do
    case $seeds in *_*) seeds=${seeds%_*} ;; *) seeds= ;; esac
  done
  [ -z "$seeds" ] || (cd "$root/tests/corpus/$seeds" && rm -f "$OUT/${name}_seed_corpus.zip" && zip -q "$OUT/${name}_seed_corpus.zip" ./*)
done
