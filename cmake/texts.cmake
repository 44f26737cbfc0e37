# fb_texts(path PATTERNS *.ext ... INTO folder HEADER header ROW type FUNCTION name
# [NAMESPACE namespace] [WHOLE_NAMES]): the files become
# texts inside the program, so that it needs them nowhere. `name` gives a vector of `type`, a name and a text each;
# names go without their extension unless WHOLE_NAMES are asked for.
function(fb_texts path)
  cmake_parse_arguments(arg "WHOLE_NAMES" "INTO;HEADER;ROW;FUNCTION;NAMESPACE" "PATTERNS" ${ARGN})
  if(NOT arg_NAMESPACE)
    set(arg_NAMESPACE fb::conformance)
  endif()
  list(TRANSFORM arg_PATTERNS PREPEND ${CMAKE_SOURCE_DIR}/${path}/)
  file(GLOB parts CONFIGURE_DEPENDS ${arg_PATTERNS})
  set(rows "")
  foreach(part IN LISTS parts)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${part})
    if(arg_WHOLE_NAMES)
      get_filename_component(name ${part} NAME)
    else()
      get_filename_component(name ${part} NAME_WLE)
    endif()
    file(READ ${part} text)
    string(APPEND rows "          {\"${name}\", R\"built-in(${text})built-in\"},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${path}/texts.cc)
  file(CONFIGURE OUTPUT ${out} CONTENT [[
#include "@arg_HEADER@"

namespace @arg_NAMESPACE@ {

std::vector<@arg_ROW@> @arg_FUNCTION@() {
  return {
@rows@  };
}

}  // namespace @arg_NAMESPACE@
]] @ONLY)
  fb_target_name(${arg_INTO} target)
  target_sources(${target} PRIVATE ${out})
endfunction()
