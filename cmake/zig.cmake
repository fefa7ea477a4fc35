# Toolchain for systems that this machine is not, by zig (PyPI: ziglang): macOS 11 and later, and Linux with glibc 2.17 or
# later (what Python calls manylinux_2_17). zig is clang, a linker, and the headers and link stubs of these C libraries.
#   RLX_ZIG          the program; tools/needs puts one where the presets look
#   RLX_ZIG_TARGET   macos-arm64, macos-x86_64, manylinux-arm64 or manylinux-x86_64
# What is built for macOS cannot be run elsewhere.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RLX_ZIG RLX_ZIG_TARGET)
find_program(RLX_ZIG NAMES zig REQUIRED)
if(NOT RLX_ZIG_TARGET MATCHES "^(macos|manylinux)-(arm64|x86_64)$")
  message(FATAL_ERROR "RLX_ZIG_TARGET: expected macos- or manylinux- with arm64 or x86_64, got '${RLX_ZIG_TARGET}'")
endif()
string(REPLACE arm64 aarch64 CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_2})
if(CMAKE_MATCH_1 STREQUAL macos)
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_OSX_SYSROOT "") # zig has its own
  set(target ${CMAKE_SYSTEM_PROCESSOR}-macos.11.0)
else()
  set(CMAKE_SYSTEM_NAME Linux)
  set(target ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.2.17)
endif()
set(CMAKE_C_COMPILER ${RLX_ZIG} cc -target ${target})
set(CMAKE_AR ${RLX_ZIG})
set(CMAKE_RANLIB ${RLX_ZIG})
set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "<CMAKE_RANLIB> ranlib <TARGET>")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
