# fb_python_package(path NAME package LINKS ...): path/*.cc as the extension module package._core, and beside it the
# Python sources of path/package, so that <build>/python can be put on PYTHONPATH. The sources are links: an edit is there
# at once.
find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 2.10 REQUIRED)

function(fb_python_package path)
  cmake_parse_arguments(arg "" "NAME" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cc)
  fb_batches(sources ${path} ${sources})
  get_property(objects GLOBAL PROPERTY FB_OBJECTS)
  pybind11_add_module(fb_python MODULE NO_EXTRAS ${sources} ${objects})
  set(package ${CMAKE_BINARY_DIR}/python/${arg_NAME})
  set_target_properties(fb_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${package})
  target_include_directories(fb_python PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  fb_link(fb_python PRIVATE ${arg_LINKS})

  file(MAKE_DIRECTORY ${package})
  file(GLOB modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}
       ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}/*.py ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}/*.pyi
       ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}/py.typed)
  foreach(module IN LISTS modules)
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}/${module} ${package}/${module} SYMBOLIC)
  endforeach()

  # A program that is not ours loads it: the sanitizers' runtime has to be there before, by LD_PRELOAD.
  set(interpreter ${Python3_EXECUTABLE})
  if(FABRICBENCH_SANITIZE)
    target_link_options(fb_python PRIVATE -shared-libasan)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-x86_64.so
                    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(interpreter ${CMAKE_COMMAND} -E env LD_PRELOAD=${runtime} ASAN_OPTIONS=detect_leaks=0 ${Python3_EXECUTABLE})
  endif()

  # What the layouts, the statuses and the options of the module say, as typed Python and stubs.
  set(generator ${CMAKE_SOURCE_DIR}/${path}/generate.py)
  set_property(TARGET fb_python APPEND PROPERTY LINK_DEPENDS ${generator})
  add_custom_command(TARGET fb_python POST_BUILD
                     COMMAND ${interpreter} -B ${generator} $<TARGET_FILE:fb_python> ${package}
                     VERBATIM)

  # Where Debian's Python looks below /usr/local; a wheel has the package at its root.
  set(into lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/dist-packages/${arg_NAME})
  if(SKBUILD)
    set(into ${arg_NAME})
  endif()
  install(TARGETS fb_python LIBRARY DESTINATION ${into} COMPONENT python)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${path}/${arg_NAME}/ DESTINATION ${into} COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  # By name: the rest of that folder are links into the sources.
  set(generated enums.py options.py sc.pyi wire.pyi)
  list(TRANSFORM generated PREPEND ${package}/)
  install(FILES ${generated} DESTINATION ${into} COMPONENT python)
endfunction()
