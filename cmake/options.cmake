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

# Faster rebuilds where ccache is installed; nothing depends on it.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Whole builds without a cache (CI) are a quarter shorter with the common headers parsed once. Off by
# default, so that a source that forgets an #include is noticed.
option(FABRICBENCH_PCH "Precompile the standard headers" OFF)
