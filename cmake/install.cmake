# Install rules: header, library, command, and the two files by which a build finds them (pkg-config's rlx.pc and
# CMake's rlxConfig). Both locate the tree from their own place, so a staged (DESTDIR) or moved install works as it is.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rlx)

install(TARGETS rlx EXPORT rlxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}) # a DLL
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rlx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "rlx.h" PATTERN "onnx.h" PATTERN "experimental.h")
if(lm_libraries)
  install(FILES ${PROJECT_SOURCE_DIR}/include/rlx/lm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rlx)
endif()
if(has_server)
  install(FILES ${PROJECT_SOURCE_DIR}/include/rlx/serve.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rlx)
endif()
if(TARGET rlx_cli)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(rlx_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  endif()
  install(TARGETS rlx_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Made by tools/make_cli_docs
  set(packaging ${PROJECT_SOURCE_DIR}/packaging)
  install(FILES ${packaging}/rlx.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${packaging}/completions/rlx.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME rlx)
  install(FILES ${packaging}/completions/_rlx DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${packaging}/completions/rlx.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT rlxTargets NAMESPACE rlx:: DESTINATION ${config_dir})
set(needs_of_config)
if(lm_libraries AND NOT BUILD_SHARED_LIBS)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/needs.cmake DESTINATION ${config_dir} RENAME rlxNeeds.cmake)
  set(needs_of_config [[
include("${CMAKE_CURRENT_LIST_DIR}/rlxNeeds.cmake")
if(rlx_needs_missing)
  set(rlx_FOUND FALSE)
  set(rlx_NOT_FOUND_MESSAGE "the static library needs ${rlx_needs_missing}, which were not found")
  return()
endif()]])
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rlxConfig.cmake.in ${PROJECT_BINARY_DIR}/rlxConfig.cmake
  INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rlxConfig.cmake ${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake
  DESTINATION ${config_dir})

# A static library hands its own needs to whoever links it; a shared one keeps them to itself.
set(own_libs "-lm -pthread")
if(WIN32)
  set(own_libs "-lm -lntdll")
endif()
if(needs_atomic)
  string(APPEND own_libs " -latomic")
endif()
if(CMAKE_DL_LIBS)
  string(APPEND own_libs " -l${CMAKE_DL_LIBS}")
endif()
foreach(need IN LISTS lm_libraries)
  string(REPLACE "rlx_need_" "" library ${need})
  get_filename_component(folder ${RLX_${library}_LIBRARY} DIRECTORY)
  if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    string(APPEND own_libs " -L${folder}")
  endif()
  string(APPEND own_libs " -l${library}")
endforeach()
if(BUILD_SHARED_LIBS)
  set(pc_libs "")
  set(pc_libs_private "${own_libs}")
else()
  set(pc_libs " ${own_libs}")
  set(pc_libs_private "")
endif()
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/rlx.pc.in ${PROJECT_BINARY_DIR}/rlx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rlx.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
