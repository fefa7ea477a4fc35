# Toolchain for WebAssembly: clang with the C library of WASI (Debian: clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32).
# The presets wasm, wasm-relaxed, .. build with it. RLX_WASM names a variant:
#   simd             128-bit vectors, which every browser has (the default)
#   relaxed          also relaxed SIMD: fused multiply-adds, dot products of bytes
#   threads          memory that is shared between workers, where a page is isolated
#   relaxed-threads  both
set(CMAKE_SYSTEM_NAME Generic) # CMake has no name for WASI
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(triple wasm32-wasi)
find_program(RLX_WASM_CC NAMES clang-19 clang-20 clang-18 clang-17 REQUIRED)
set(CMAKE_C_COMPILER ${RLX_WASM_CC})
set(CMAKE_C_COMPILER_TARGET ${triple})
string(REPLACE clang llvm-ar ar ${RLX_WASM_CC})
string(REPLACE clang llvm-ranlib ranlib ${RLX_WASM_CC})
set(CMAKE_AR ${ar})
set(CMAKE_RANLIB ${ranlib})
set(CMAKE_EXECUTABLE_SUFFIX_C .wasm) # CMAKE_EXECUTABLE_SUFFIX is set again by CMake
set(CMAKE_C_FLAGS_INIT "-msimd128 -mbulk-memory -mnontrapping-fptoint -msign-ext")
foreach(part IN ITEMS signal getpid process-clocks) # what WASI lacks and its C library imitates
  string(TOUPPER ${part} name)
  string(REPLACE - _ name ${name})
  string(APPEND CMAKE_C_FLAGS_INIT " -D_WASI_EMULATED_${name}")
  string(APPEND emulated " -lwasi-emulated-${part}")
endforeach()
if(RLX_WASM MATCHES relaxed)
  string(APPEND CMAKE_C_FLAGS_INIT " -mrelaxed-simd")
endif()
# The stack grows down to address 0, so an overflow traps instead of overwriting data.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-z,stack-size=1048576 -Wl,--stack-first${emulated}")
if(RLX_WASM MATCHES threads)
  # JavaScript makes the memory and gives it to all instances (web/rlx/module.js has its initial size). Each has a stack
  # and thread-local variables of its own. The C library was compiled for one thread, which the linker would refuse;
  # src/base/os_wasm.c says why it suffices.
  string(APPEND CMAKE_C_FLAGS_INIT " -pthread -include ${CMAKE_CURRENT_LIST_DIR}/wasm_threads.h")
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--shared-memory,--import-memory,--export-memory"
    " -Wl,--initial-memory=16777216,--max-memory=4294967296,--no-check-features"
    " -Wl,--export=__stack_pointer,--export=__wasm_init_tls,--export=__wasm_call_ctors")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RLX_WASM)
