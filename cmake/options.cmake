# Language, warnings and sanitizers, for every target alike.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# -O3 gains nothing measurable here, builds longer, and warns wrongly about copies in g++ 12. Frame pointers
# cost a command over TCP 3 %; to see callers in a profile, build with -fno-omit-frame-pointer.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# The sanitizer builds: fast enough for property tests, with lines in the reports.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")

add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
if(FABRICBENCH_WERROR)
  add_compile_options(-Werror)
endif()
if(FABRICBENCH_SANITIZE)
  add_compile_options(-fsanitize=${FABRICBENCH_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FABRICBENCH_SANITIZE})
endif()
if(FABRICBENCH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# The Python module and the library for C++ are shared objects made of the same objects as the command. Hidden symbols keep its calls as
# direct as in a program.
if(FABRICBENCH_PYTHON OR FABRICBENCH_LIBRARY)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_CXX_VISIBILITY_PRESET hidden)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
endif()

# Faster rebuilds where ccache is installed; nothing depends on it. Paths below the sources are hashed relative to
# them, so that every clone on a machine shares what one has built. What is not there yet is not preprocessed a second time.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
      ${CCACHE_PROGRAM})
endif()
