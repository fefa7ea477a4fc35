# What language models need: jansson for JSON, PCRE2 for the patterns of tokenizers, utf8proc for Unicode's normal forms.
#
# Each that is found becomes a target rlx_need_<library> that names its file, so that a library in a prefix is linked from
# there. The build reads this file, and so does an installed static library's rlxConfig.cmake, for whoever links it.
# rlx_needs_missing lists what was not found.
set(rlx_needs_missing)
foreach(need IN ITEMS jansson.h:jansson pcre2.h:pcre2-8 utf8proc.h:utf8proc)
  string(REPLACE ":" ";" need ${need})
  list(GET need 0 header)
  list(GET need 1 library)
  find_path(RLX_${library}_HEADERS ${header})
  find_library(RLX_${library}_LIBRARY ${library})
  mark_as_advanced(RLX_${library}_HEADERS RLX_${library}_LIBRARY)
  if(NOT RLX_${library}_HEADERS OR NOT RLX_${library}_LIBRARY)
    list(APPEND rlx_needs_missing ${library})
  elseif(NOT TARGET rlx_need_${library})
    add_library(rlx_need_${library} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(rlx_need_${library} PROPERTIES IMPORTED_LOCATION ${RLX_${library}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${RLX_${library}_HEADERS})
  endif()
endforeach()
