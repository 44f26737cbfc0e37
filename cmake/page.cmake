# fb_page(path INTO folder): path/*.html, *.css and *.js become texts inside the program, so that a report
# needs no other file.
function(fb_page path)
  cmake_parse_arguments(arg "" "INTO" "" ${ARGN})
  file(GLOB parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.html ${CMAKE_SOURCE_DIR}/${path}/*.css
       ${CMAKE_SOURCE_DIR}/${path}/*.js)
  set(rows "")
  foreach(part IN LISTS parts)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${part})
    get_filename_component(name ${part} NAME)
    file(READ ${part} text)
    string(APPEND rows "          {\"${name}\", R\"page-part(${text})page-part\"},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${path}/page_data.cc)
  file(CONFIGURE OUTPUT ${out} CONTENT [[
#include "conformance/report/page_parts.h"

namespace fb::conformance {

std::vector<PagePart> page_parts() {
  return {
@rows@  };
}

}  // namespace fb::conformance
]] @ONLY)
  fb_target_name(${arg_INTO} target)
  target_sources(${target} PRIVATE ${out})
endfunction()
