# Toolchain for 64-bit Arm under Linux, from another machine (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross). What is
# built runs under qemu-aarch64 (Debian: qemu-user), which tests and CMake start by CMAKE_CROSSCOMPILING_EMULATOR.
# RLX_AARCH64_CC names another compiler for that target.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triple aarch64-linux-gnu)
find_program(RLX_AARCH64_CC NAMES ${triple}-gcc REQUIRED)
set(CMAKE_C_COMPILER ${RLX_AARCH64_CC})
find_program(RLX_AARCH64_EMULATOR NAMES qemu-aarch64 qemu-aarch64-static)
if(RLX_AARCH64_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${RLX_AARCH64_EMULATOR} -cpu max -L /usr/${triple})
endif()
# Libraries of the target only: those of Debian's cross packages, and what CMAKE_FIND_ROOT_PATH of the preset adds.
list(APPEND CMAKE_FIND_ROOT_PATH /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
