# cmake -DTARGET=spirv -DFOLDER=src/gpu/gen/spirv -DOUT=FILE.c -P kernel_column.cmake
#
# Makes a column of the kernel table (src/gpu/kernel.h) of the packs in a folder, as C.
include(${CMAKE_CURRENT_LIST_DIR}/bytes.cmake)
file(GLOB packs ${FOLDER}/*.pack)
set(arrays "")
set(rows "")
foreach(pack IN LISTS packs)
  get_filename_component(name ${pack} NAME_WE)
  file(READ ${pack} bytes HEX)
  bytes_of_hex("${bytes}" bytes)
  string(APPEND arrays "static const unsigned char pack_${name}[] = ${bytes};\n")
  string(APPEND rows "  [GPU_INDEX_${name}] = {pack_${name}, sizeof pack_${name}},\n")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/kernel_column.cmake from src/gpu/gen/${TARGET}/. */\n#include \"gpu/kernel.h\"\n\n"
  "${arrays}\n"
  "const gpu_pack gpu_column_${TARGET}[GPU_KERNEL_COUNT] = {\n${rows}};\n")
