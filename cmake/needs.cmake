# What language models need: jansson for JSON, PCRE2 for the patterns of tokenizers, utf8proc for Unicode's normal
# forms.
#
# Each that is found becomes a target rlx_need_<library> that names its file, so that a library in a prefix is linked
# from there. The build reads this file, and so does an installed static library's rlxConfig.cmake, for whoever links it.
# rlx_needs_missing lists what was not found, or is older than what is used here (Debian 10 and Ubuntu 20.04 have newer
# ones). The versions are read from the headers, which also works in a cross build.
set(rlx_needs_missing)
foreach(need IN ITEMS
    jansson.h:jansson:2.11:JANSSON_MAJOR_VERSION:JANSSON_MINOR_VERSION
    pcre2.h:pcre2-8:10.30:PCRE2_MAJOR:PCRE2_MINOR
    utf8proc.h:utf8proc:2.1:UTF8PROC_VERSION_MAJOR:UTF8PROC_VERSION_MINOR)
  string(REPLACE ":" ";" need ${need})
  list(GET need 0 header)
  list(GET need 1 library)
  list(GET need 2 least)
  find_path(RLX_${library}_HEADERS ${header})
  find_library(RLX_${library}_LIBRARY ${library})
  mark_as_advanced(RLX_${library}_HEADERS RLX_${library}_LIBRARY)
  set(version)
  if(RLX_${library}_HEADERS)
    foreach(part IN ITEMS 3 4)
      list(GET need ${part} macro)
      file(STRINGS ${RLX_${library}_HEADERS}/${header} line LIMIT_COUNT 1 REGEX "^# *define +${macro} +[0-9]+")
      string(REGEX REPLACE "^# *define +[A-Z0-9_]+ +([0-9]+).*" "\\1" number "${line}")
      list(APPEND version ${number})
    endforeach()
    string(REPLACE ";" "." version "${version}")
  endif()
  if(NOT RLX_${library}_HEADERS OR NOT RLX_${library}_LIBRARY)
    list(APPEND rlx_needs_missing ${library})
  elseif(version VERSION_LESS least)
    list(APPEND rlx_needs_missing "${library} ${least} (${RLX_${library}_HEADERS} has ${version})")
  elseif(NOT TARGET rlx_need_${library})
    add_library(rlx_need_${library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(rlx_need_${library} PROPERTIES IMPORTED_LOCATION ${RLX_${library}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${RLX_${library}_HEADERS})
  endif()
endforeach()
