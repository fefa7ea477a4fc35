# cmake -DFILE=src/cli/scripts/pull.py -DNAME=cli_pull_script -DOUT=FILE.c -P script_file.cmake
#
# Makes C of a script that the command runs: a text of this name, with its end.
include(${CMAKE_CURRENT_LIST_DIR}/bytes.cmake)
file(READ ${FILE} bytes HEX)
bytes_of_hex("${bytes}00" bytes)
file(WRITE ${OUT} "/* Made by cmake/script_file.cmake. */\nextern const unsigned char ${NAME}[];\n"
  "const unsigned char ${NAME}[] = ${bytes};\n")
