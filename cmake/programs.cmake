# Tests, fuzz targets, benchmarks, tools in C and examples: one executable per file.
#
# All but the examples may look inside the library; examples see what a user sees. Tests lie in folders by room, what
# they share in tests/support/. Tests close with the line "N passed, N failed, N skipped"; tools/test adds
# those lines up.

# The emulated GPU (src/emu) runs every GPU kernel on the host, for tests alone: it is in the library that tests link,
# never in the one that is installed. It switches stacks by POSIX, so WebAssembly and Windows have none.
set(emulator_objects)
set(has_emulator OFF)
if(system STREQUAL posix AND RLX_EMULATOR)
  set(has_emulator ON)
endif()
if(NOT has_emulator)
  set(emulator_objects $<TARGET_OBJECTS:rlx_registry>)
else()
  file(GLOB emulator_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emu/*.c)
  list(FILTER emulator_sources EXCLUDE REGEX "/src/emu/(dispatch|fiber)\\.c$")
  set(dispatch_sources ${PROJECT_SOURCE_DIR}/src/emu/dispatch.c ${PROJECT_SOURCE_DIR}/src/emu/fiber.c)
  file(GLOB emulated_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/emu/gen/*.c)
  # Kernels are written in the rules of four languages at once; some of C's warnings are not among them.
  set_source_files_properties(${emulated_sources} PROPERTIES COMPILE_OPTIONS
    "-Wno-conversion;-Wno-shadow;-Wno-unused-variable;-Wno-unused-but-set-variable;-Wno-type-limits;-Wno-parentheses\
;-Wno-unknown-pragmas")
  # The kernels and what runs them, which the fake CUDA driver below has as well.
  add_library(rlx_emulated OBJECT ${dispatch_sources} ${emulated_sources})
  target_include_directories(rlx_emulated PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(rlx_emulated PRIVATE rlx_flags ${system_libraries})
  set_target_properties(rlx_emulated PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(rlx_emulator OBJECT ${emulator_sources})
  if(NOT kernel_targets) # the library has no GPU backend, and so no lowerings
    target_sources(rlx_emulator PRIVATE ${gpu_sources})
  endif()
  if(NOT has_vulkan AND NOT has_cuda) # tests look at SPIR-V all the same
    kernel_column(spirv column)
    target_sources(rlx_emulator PRIVATE ${column})
  endif()
  target_include_directories(rlx_emulator PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(rlx_emulator PRIVATE RLX_EMU)
  target_link_libraries(rlx_emulator PRIVATE rlx_flags ${system_libraries})
  add_registry(rlx_registry_with_emulator)
  target_compile_definitions(rlx_registry_with_emulator PRIVATE RLX_EMU)
  set(emulator_objects $<TARGET_OBJECTS:rlx_registry_with_emulator> $<TARGET_OBJECTS:rlx_emulator>
    $<TARGET_OBJECTS:rlx_emulated>)
endif()

add_library(rlx_inside STATIC $<TARGET_OBJECTS:rlx_objects> ${emulator_objects} ${simd_objects})
set_target_properties(rlx_inside PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(rlx_inside PRIVATE m ${system_libraries} ${CMAKE_DL_LIBS} ${lm_libraries} rlx_flags)

# The command with the emulated GPU: `build/release/tools/rlx_emu conform --device emu`.
if(TARGET rlx_cli AND has_emulator)
  add_executable(rlx_emu $<TARGET_OBJECTS:rlx_cli>)
  set_target_properties(rlx_emu PROPERTIES LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
  target_link_libraries(rlx_emu PRIVATE rlx_inside rlx_flags m)
endif()

# Whether a file cannot be for this system. WebAssembly: it uses threads, processes, signals, libraries found at run time,
# or devices that are not there. Windows: processes that fork, signals, the emulated GPU, fake drivers, the server. tools/windows.py reads
# this list to say what was left out.
function(uses_more_than_system source out)
  set(found)
  set(more)
  if(system STREQUAL wasm)
    set(more "<(pthread|sys/wait|sys/resource|sys/mman|dlfcn|signal|ucontext|sys/un)\\.h>|__int128|\"(emu/|vulkan/|cuda/|gpu/spirv|gpu_check|fake_device|cuda_fake|spirv_|device_checks|device_copies|device_faults)")
  elseif(system STREQUAL windows)
    set(more "<(sys/(wait|resource|mman|un|prctl|socket)|dlfcn|signal|ucontext)\\.h>|\"(emu/|vulkan/|cuda/|lm_bare_server|gpu_check|cuda_fake|device_checks|device_copies|device_faults)")
  elseif(NOT has_emulator)
    set(more "\"(emu/|cuda/|gpu_check|cuda_fake|device_checks|device_copies|device_faults)")
  endif()
  if(more)
    file(STRINGS ${source} found LIMIT_COUNT 1 REGEX "${more}")
  endif()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# one_each(FOLDER PATTERN OUT): an executable FOLDER/<file name> for every file that matches; their targets in OUT.
function(one_each folder pattern out)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${pattern})
  list(SORT sources)
  if(NOT lm_libraries)
    list(FILTER sources EXCLUDE REGEX "/((test|fuzz)_)?lm_[^/]*$")
  elseif(NOT has_server)
    list(FILTER sources EXCLUDE REGEX "/((test|fuzz)_)?lm_serve[^/]*$")
  endif()
  set(targets)
  foreach(source IN LISTS sources)
    uses_more_than_system(${source} is_left_out)
    if(is_left_out)
      continue()
    endif()
    get_filename_component(name ${source} NAME_WE)
    set(target ${folder}_${name})
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE rlx_flags)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name}
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
    list(APPEND targets ${target})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Sizes in tests fit 32 bits without a cast that says so.
add_library(rlx_small_sizes INTERFACE)
if(CMAKE_SIZEOF_VOID_P LESS 8)
  if(CMAKE_C_COMPILER_ID STREQUAL GNU)
    target_compile_options(rlx_small_sizes INTERFACE -Wno-conversion -Wno-type-limits)
  else()
    target_compile_options(rlx_small_sizes INTERFACE -Wno-shorten-64-to-32)
  endif()
endif()

set(posix_threads)
if(system STREQUAL windows) # tests and an example start threads by POSIX, which mingw-w64 has in a library
  set(posix_threads -Wl,-Bstatic -lwinpthread -Wl,-Bdynamic)
endif()

# Gives a target the inside of the library.
function(look_inside target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/tests/support)
  target_compile_definitions(${target} PRIVATE RLX_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/golden")
  target_link_libraries(${target} PRIVATE rlx_inside m ${system_libraries})
  if(system STREQUAL windows)
    target_compile_definitions(${target} PRIVATE RLX_STATIC)
    target_link_libraries(${target} PRIVATE ${posix_threads})
  endif()
  target_link_libraries(${target} PRIVATE rlx_small_sizes)
endfunction()

set(fake_cuda_folder ${PROJECT_BINARY_DIR}/tests/fake_cuda)
file(GLOB shared_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.c)
if(NOT lm_libraries)
  list(FILTER shared_sources EXCLUDE REGEX "/lm_[^/]*$")
endif()
set(kept)
foreach(source IN LISTS shared_sources)
  uses_more_than_system(${source} is_left_out)
  if(NOT is_left_out)
    list(APPEND kept ${source})
  endif()
endforeach()
set(shared_sources ${kept})
if(shared_sources)
  add_library(rlx_tests_shared STATIC ${shared_sources})
  target_link_libraries(rlx_tests_shared PRIVATE rlx_flags)
  look_inside(rlx_tests_shared)
  target_compile_definitions(rlx_tests_shared PRIVATE FAKE_CUDA_FOLDER="${fake_cuda_folder}")
  if(system STREQUAL windows)
    target_compile_definitions(rlx_tests_shared PRIVATE TEST_IS_PART)
  endif()
endif()

one_each(tests "*/test_*.c" tests)
set(benches)
set(tool_programs)
set(examples)
if(system STREQUAL posix)
  one_each(bench "*.c" benches)
  one_each(tools "*.c" tool_programs)
endif()
if(NOT system STREQUAL wasm)
  one_each(examples "*.c" examples)
endif()

set(fuzzers)
if(RLX_FUZZ)
  one_each(tests "fuzz/fuzz_*.c" fuzzers)
  foreach(target IN LISTS fuzzers)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  endforeach()
endif()

foreach(target IN LISTS tests benches tool_programs fuzzers)
  if(TARGET rlx_tests_shared)
    target_link_libraries(${target} PRIVATE rlx_tests_shared) # before the library, which it uses
  endif()
  look_inside(${target})
endforeach()
foreach(target IN LISTS examples)
  target_link_libraries(${target} PRIVATE rlx m ${posix_threads})
endforeach()
foreach(target IN LISTS tests)
  if("tests" IN_LIST RLX_UNOPTIMISED)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  add_test(NAME ${target} COMMAND ${target})
endforeach()

# A Vulkan driver that fails on demand, which the loader loads in tests/vulkan/test_vulkan_faults.c.
if(has_vulkan AND system STREQUAL posix)
  add_library(vk_fault_driver MODULE ${PROJECT_SOURCE_DIR}/tests/vulkan/vk_fault_driver.c)
  target_link_libraries(vk_fault_driver PRIVATE rlx_flags ${CMAKE_DL_LIBS})
  set_target_properties(vk_fault_driver PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(tests_test_vulkan_faults vk_fault_driver)
  target_compile_definitions(tests_test_vulkan_faults PRIVATE FAULT_DRIVER="$<TARGET_FILE:vk_fault_driver>")
endif()

# CUDA's driver, compiler and cuBLASLt on the host (tests/support/cuda_fake.h): a library with their names, in a folder that
# tests put before all others. It stays loaded, as NVIDIA's does.
if(CMAKE_SIZEOF_VOID_P EQUAL 8 AND UNIX AND NOT APPLE AND has_emulator)
  file(GLOB fake_cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/cuda/fake/*.c)
  add_library(fake_cuda MODULE ${fake_cuda_sources} $<TARGET_OBJECTS:rlx_emulated>
    ${PROJECT_SOURCE_DIR}/src/gpu/gen/table.c ${PROJECT_SOURCE_DIR}/src/base/half.c
    ${PROJECT_SOURCE_DIR}/src/base/os_posix.c)
  target_include_directories(fake_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(fake_cuda PRIVATE rlx_flags m ${system_libraries} ${CMAKE_DL_LIBS})
  target_link_options(fake_cuda PRIVATE -Wl,-z,nodelete)
  if(NOT RLX_SANITIZE) # the sanitizers' functions are in the program
    target_link_options(fake_cuda PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(fake_cuda PROPERTIES PREFIX "" OUTPUT_NAME libcuda SUFFIX ".so.1"
    LIBRARY_OUTPUT_DIRECTORY ${fake_cuda_folder})
  add_custom_command(TARGET fake_cuda POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink libcuda.so.1 ${fake_cuda_folder}/libnvrtc.so.13
    COMMAND ${CMAKE_COMMAND} -E create_symlink libcuda.so.1 ${fake_cuda_folder}/libcublasLt.so.13 VERBATIM)
  add_dependencies(rlx_tests_shared fake_cuda)
endif()

# Groups to build alone: `cmake --build build/release --target tests`.
add_custom_target(tests DEPENDS ${tests} ${fuzzers})
add_custom_target(benches DEPENDS ${benches})
add_custom_target(examples DEPENDS ${examples})
