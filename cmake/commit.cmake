# fb_commit(target): gives the target tool_commit(). The commit is asked for at each build, and what depends on it is compiled
# again when it is another one.
#   cmake -DSOURCE=... -DOUT=... -P commit.cmake      (that question)
if(CMAKE_SCRIPT_MODE_FILE)
  # An archive of `git archive` has its commit in a file; a clone asks git, whoever owns it.
  file(READ ${SOURCE}/cmake/commit.txt commit)
  string(STRIP "${commit}" commit)
  if(NOT commit MATCHES "^[0-9a-f]+$")
    execute_process(COMMAND git -c safe.directory=* -C ${SOURCE} describe --always --dirty --exclude=* --abbrev=12
                    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed)
      set(commit unknown)
    endif()
  endif()
  file(CONFIGURE OUTPUT ${OUT} CONTENT [[
#include "conformance/report/document.h"

std::string_view fb::conformance::tool_commit() { return "@commit@"; }
]] @ONLY)
  return()
endif()

function(fb_commit path)
  fb_target_name(${path} target)
  set(out ${CMAKE_BINARY_DIR}/generated/${path}/commit.cc)
  add_custom_target(fb_commit BYPRODUCTS ${out} VERBATIM
                    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/commit.cmake)
  target_sources(${target} PRIVATE ${out})
  add_dependencies(${target} fb_commit)
endfunction()
