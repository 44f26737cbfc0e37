# fb_profiles(path INTO folder): path/*.yaml become texts inside the program, so that a profile is there
# wherever the program runs.
function(fb_profiles path)
  cmake_parse_arguments(arg "" "INTO" "" ${ARGN})
  file(GLOB profiles CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.yaml)
  set(rows "")
  foreach(profile IN LISTS profiles)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${profile})
    get_filename_component(name ${profile} NAME_WLE)
    file(READ ${profile} text)
    string(APPEND rows "          {\"${name}\", R\"profile(${text})profile\"},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${path}/profiles_data.cc)
  file(CONFIGURE OUTPUT ${out} CONTENT [[
#include "conformance/runner/profiles.h"

namespace fb::conformance {

std::vector<BuiltInProfile> built_in_profiles() {
  return {
@rows@  };
}

}  // namespace fb::conformance
]] @ONLY)
  fb_target_name(${arg_INTO} target)
  target_sources(${target} PRIVATE ${out})
endfunction()
