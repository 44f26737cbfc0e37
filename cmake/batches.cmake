# What compiling costs is mostly what sources include: every case and every test sees the world, the products and the benches.
# So sources of a target are compiled a few at a time (batches.py); docs/performance.md has a figure. With the option off,
# as for Windows, each source is compiled on its own, which is also what tools that read compile_commands.json want.
option(FABRICBENCH_BATCHES "Compile the sources of a target a few at a time" ON)
if(WIN32)
  set(FABRICBENCH_BATCHES OFF)
endif()
if(FABRICBENCH_BATCHES AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # it takes the sources of a batch for headers
endif()
# About what one batch may hold, so that a changed source is in a running program within seconds.
set(FB_BATCH_BYTES 50000)

# fb_batches(out path source...): what to compile in place of the sources of the folder.
function(fb_batches out path)
  if(NOT FABRICBENCH_BATCHES OR NOT ARGN OR path MATCHES "^networkdirect/win32")
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/cmake/batches.py --root ${CMAKE_SOURCE_DIR}
            --out ${CMAKE_BINARY_DIR}/batches/${path} --bytes ${FB_BATCH_BYTES} ${ARGN}
    OUTPUT_VARIABLE packed OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" packed "${packed}")
  set(${out} ${packed} PARENT_SCOPE)
endfunction()
