# cmake -DFOLDER=src/serve/page -DOUT=FILE.c -P page_files.cmake
#
# Makes C of the files of the server's page (src/serve/page.h): the bytes of each, and a tag that changes with them.
# Indents, comments and line ends that say nothing stay behind, a fifth of the whole: in these files no text has a
# line's end or what looks like a comment, and every statement its semicolon, so nothing else changes.
include(${CMAKE_CURRENT_LIST_DIR}/bytes.cmake)
file(GLOB files ${FOLDER}/*)
set(source "/* Made by cmake/page_files.cmake from src/serve/page/. */\n#include \"serve/page.h\"\n")
foreach(path IN LISTS files)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  string(REGEX REPLACE "\n +" "\n" text "\n${text}")
  string(REGEX REPLACE "\n/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "([;,{]) // [^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  if(name MATCHES "css$")
    string(REPLACE ": " ":" text "${text}")
    string(REPLACE " {" "{" text "${text}")
    string(REPLACE "}\n" "}" text "${text}")
  endif()
  string(REPLACE ";\n}" "}" text "${text}") # the last semicolon of a block says nothing
  string(REGEX REPLACE "([{,;])\n" "\\1" text "${text}")
  string(SHA256 tag "${text}")
  string(SUBSTRING ${tag} 0 16 tag)
  string(HEX "${text}" bytes)
  bytes_of_hex("${bytes}" bytes)
  string(MAKE_C_IDENTIFIER ${name} name)
  string(APPEND source "\nstatic const unsigned char bytes_${name}[] = ${bytes};\n"
    "const sv_file sv_page_${name} = {bytes_${name}, sizeof bytes_${name}, \"\\\"${tag}\\\"\"};\n")
endforeach()
file(WRITE ${OUT} "${source}")
