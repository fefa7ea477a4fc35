# Toolchain for Linux on another machine, by the presets of its name (RLX_MACHINE):
#   aarch64, riscv64, i686   with Debian's cross compilers: gcc-aarch64-linux-gnu libc6-dev-arm64-cross,
#                            gcc-riscv64-linux-gnu libc6-dev-riscv64-cross, gcc-i686-linux-gnu libc6-dev-i386-cross
#   musl                     this machine with another C library: musl-tools
# What is built runs under QEMU (Debian: qemu-user), which tests and CMake start by CMAKE_CROSSCOMPILING_EMULATOR, or
# here as it is: i686 on x86-64, and musl, whose programs are linked statically. RLX_CROSS_CC names another compiler for
# that target.
set(CMAKE_SYSTEM_NAME Linux)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RLX_MACHINE RLX_CROSS_CC)
if(RLX_MACHINE STREQUAL musl)
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
  set(triple ${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-musl)
  find_program(RLX_CROSS_CC NAMES musl-gcc REQUIRED)
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
else()
  set(CMAKE_SYSTEM_PROCESSOR ${RLX_MACHINE})
  set(triple ${RLX_MACHINE}-linux-gnu)
  find_program(RLX_CROSS_CC NAMES ${triple}-gcc REQUIRED)
  string(REPLACE i686 i386 emulated ${RLX_MACHINE})
  find_program(RLX_CROSS_EMULATOR NAMES qemu-${emulated} qemu-${emulated}-static)
endif()
set(CMAKE_C_COMPILER ${RLX_CROSS_CC})
if(RLX_MACHINE STREQUAL i686 AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(CMAKE_CROSSCOMPILING_EMULATOR /usr/${triple}/lib/ld-linux.so.2 --library-path /usr/${triple}/lib)
elseif(RLX_CROSS_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${RLX_CROSS_EMULATOR} -cpu max -L /usr/${triple})
  if(RLX_MACHINE STREQUAL riscv64) # QEMU 7.2 has no `max` there
    set(CMAKE_CROSSCOMPILING_EMULATOR ${RLX_CROSS_EMULATOR} -L /usr/${triple})
  endif()
endif()
# Libraries of the target only: those of Debian's cross packages, and what CMAKE_FIND_ROOT_PATH of the preset adds.
list(APPEND CMAKE_FIND_ROOT_PATH /usr/${triple})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
