# The library for C++ programs outside of this tree: include/ and api/, everything else inside of one shared object. Beside it
# the archives of the NetworkDirect interfaces, which are complete in themselves, and a CMake package and pkg-config files that
# find both wherever the prefix is.
function(fb_library path)
  cmake_parse_arguments(arg "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  fb_batches(sources ${path} ${sources})
  get_property(objects GLOBAL PROPERTY FB_OBJECTS)
  add_library(fabricbench_library SHARED ${sources} ${objects})
  # Of 0.x each minor number may break what was built with another one.
  set_target_properties(fabricbench_library PROPERTIES OUTPUT_NAME fabricbench VERSION ${PROJECT_VERSION}
                                                       SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                                       LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_include_directories(fabricbench_library PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_link_options(fabricbench_library PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
  fb_link(fabricbench_library PRIVATE ${arg_LINKS})

  include(CMakePackageConfigHelpers)
  set(out ${CMAKE_BINARY_DIR}/package)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/package/fabricbenchConfig.cmake ${out}/fabricbenchConfig.cmake @ONLY)
  write_basic_package_version_file(${out}/fabricbenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  foreach(name fabricbench fabricbench-networkdirect)
    configure_file(${CMAKE_SOURCE_DIR}/cmake/package/${name}.pc ${out}/${name}.pc @ONLY)
  endforeach()

  install(TARGETS fabricbench_library LIBRARY DESTINATION lib COMPONENT runtime NAMELINK_COMPONENT development)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/fabricbench DESTINATION include COMPONENT development)
  install(FILES ${out}/fabricbenchConfig.cmake ${out}/fabricbenchConfigVersion.cmake DESTINATION lib/cmake/fabricbench COMPONENT development)
  install(FILES ${out}/fabricbench.pc ${out}/fabricbench-networkdirect.pc DESTINATION lib/pkgconfig COMPONENT development)
  foreach(part win32 win32/main ndutil)
    fb_target_name(networkdirect/${part} target)
    string(REPLACE "/" "_" name ${part})
    install(FILES $<TARGET_FILE:${target}> DESTINATION lib RENAME libfabricbench_${name}.a COMPONENT development)
  endforeach()
  foreach(headers include win32/include win32/mixed_case)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/networkdirect/${headers}/ DESTINATION include/fabricbench/networkdirect COMPONENT development
            FILES_MATCHING PATTERN "*.h")
  endforeach()
endfunction()
