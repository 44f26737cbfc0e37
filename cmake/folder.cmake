# One CMake target a folder. Targets are named after their path: sim/core -> fb_sim_core.

function(fb_target_name path out)
  string(REPLACE "/" "_" name "${path}")
  set(${out} "fb_${name}" PARENT_SCOPE)
endfunction()

# Folder names among LINKS become targets; anything else is passed through.
function(fb_link target scope)
  foreach(item IN LISTS ARGN)
    if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/${item}" AND NOT IS_ABSOLUTE "${item}")
      fb_target_name(${item} item)
    endif()
    target_link_libraries(${target} ${scope} ${item})
  endforeach()
endfunction()

# fb_precompile(target [TESTS]): the target takes the precompiled standard headers, TESTS those of
# GoogleTest too. One set for all targets.
function(fb_precompile target)
  if(NOT FABRICBENCH_PCH)
    return()
  endif()
  cmake_parse_arguments(arg "TESTS" "" "" ${ARGN})
  set(shared fb_precompiled)
  set(headers <algorithm> <array> <cstdint> <deque> <functional> <map> <memory> <optional> <span>
              <string> <string_view> <utility> <vector>)
  if(arg_TESTS)
    string(APPEND shared _tests)
    list(APPEND headers <gtest/gtest.h>)
  endif()
  if(NOT TARGET ${shared})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${shared}.cc CONTENT "")
    add_library(${shared} OBJECT ${CMAKE_BINARY_DIR}/generated/${shared}.cc)
    target_precompile_headers(${shared} PRIVATE ${headers})
    if(arg_TESTS)
      target_link_libraries(${shared} PRIVATE GTest::gtest)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

# fb_folder(path LINKS folder-or-library ...): every .cc right in the folder.
function(fb_folder path)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  fb_target_name(${path} target)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  if(sources)
    add_library(${target} STATIC ${sources})
    fb_precompile(${target})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  fb_link(${target} ${scope} ${arg_LINKS})
endfunction()

# fb_cases(path LINKS ...): self-registering objects below a folder. OBJECT, because a static
# archive would drop objects that nobody refers to.
function(fb_cases path)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  fb_target_name(${path} target)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  if(sources)
    add_library(${target} OBJECT ${sources})
    fb_precompile(${target})
    set_property(GLOBAL APPEND PROPERTY FB_OBJECTS $<TARGET_OBJECTS:${target}>)
    fb_link(${target} PUBLIC ${arg_LINKS})
  endif()
endfunction()

# fb_case_areas(path): cases in path/AREA see the requirement ids of that ledger area.
function(fb_case_areas path)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${path}
       ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  foreach(source IN LISTS sources)
    string(REGEX REPLACE "/.*" "" area ${source})
    set_source_files_properties(${CMAKE_SOURCE_DIR}/${path}/${source} PROPERTIES
                                COMPILE_DEFINITIONS FB_LEDGER_AREA=${area})
  endforeach()
endfunction()

# fb_command(name FROM path): the program whose main.cc stands in the folder.
function(fb_command name)
  cmake_parse_arguments(arg "" "FROM" "" ${ARGN})
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${arg_FROM}/main.cc)
    return()
  endif()
  fb_target_name(${arg_FROM} library)
  get_property(objects GLOBAL PROPERTY FB_OBJECTS)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/${arg_FROM}/main.cc ${objects})
  target_link_libraries(${name} PRIVATE ${library})
endfunction()

# fb_test(path LINKS ...): tests/path/*_test.cc as one GoogleTest program. OBJECTS adds the cases and
# the deviations.
function(fb_test path)
  cmake_parse_arguments(arg "OBJECTS" "" "LINKS" ${ARGN})
  string(REPLACE "/" "_" name "${path}")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${path}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  set(objects)
  if(arg_OBJECTS)
    get_property(objects GLOBAL PROPERTY FB_OBJECTS)
  endif()
  add_executable(test_${name} ${sources} ${objects})
  fb_precompile(test_${name} TESTS)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(test_${name}
                             PRIVATE FABRICBENCH_TEST_DATA="${CMAKE_SOURCE_DIR}/tests/data")
  fb_link(test_${name} PRIVATE ${arg_LINKS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND test_${name} --gtest_brief=1)
endfunction()

# fb_bench(name LINKS ...): tests/bench/name.cc as a Google Benchmark program.
function(fb_bench name)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/bench/${name}.cc)
    return()
  endif()
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/bench/${name}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  fb_link(${name} PRIVATE ${arg_LINKS} benchmark::benchmark_main)
endfunction()

# fb_fuzz(name LINKS ...): tests/fuzz/name.cc. With FABRICBENCH_FUZZ a libFuzzer program; always a
# replay program that runs the corpus in tests/fuzz/corpus/name as a test.
function(fb_fuzz name)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.cc)
    return()
  endif()
  if(FABRICBENCH_FUZZ)
    add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.cc)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.cc
                   ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  fb_link(${name} PRIVATE ${arg_LINKS})
endfunction()
