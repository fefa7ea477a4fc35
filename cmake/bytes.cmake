# Hexadecimal digits as the initialiser of a C array of bytes: any compiler takes that, and nothing but CMake is needed.
function(bytes_of_hex hex out)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  set(${out} "{\n${hex}}" PARENT_SCOPE)
endfunction()
