# Install rules: header, library, command, and the two files by which a build finds them (pkg-config's rlx.pc and
# CMake's rlxConfig). Both locate the tree from their own place, so a staged (DESTDIR) or moved install works as it is.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rlx)

install(TARGETS rlx EXPORT rlxTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rlx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "rlx.h" PATTERN "onnx.h")
if(lm_libraries)
  install(FILES ${PROJECT_SOURCE_DIR}/include/rlx/lm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rlx)
endif()
if(TARGET rlx_cli)
  if(BUILD_SHARED_LIBS)
    file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set_target_properties(rlx_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  endif()
  install(TARGETS rlx_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(EXPORT rlxTargets NAMESPACE rlx:: DESTINATION ${config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rlxConfig.cmake.in ${PROJECT_BINARY_DIR}/rlxConfig.cmake
  INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rlxConfig.cmake ${PROJECT_BINARY_DIR}/rlxConfigVersion.cmake
  DESTINATION ${config_dir})

# A static library hands its own needs to whoever links it; a shared one keeps them to itself.
set(own_libs "-lm -pthread")
if(CMAKE_DL_LIBS)
  string(APPEND own_libs " -l${CMAKE_DL_LIBS}")
endif()
foreach(library IN LISTS lm_libraries)
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
