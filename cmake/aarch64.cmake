# Toolchain for 64-bit Arm under Linux, for those who give CMake the file and no preset.
set(RLX_MACHINE aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
