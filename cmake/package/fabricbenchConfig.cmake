# find_package(fabricbench CONFIG): version @PROJECT_VERSION@.
#   fabricbench::fabricbench     worlds, products, raw queues, the suite: <fabricbench/world.h>, and <fabricbench/gtest.h> with GoogleTest
#   fabricbench::networkdirect   programs for NetworkDirect: its headers, the parts of Win32 that they use, the Nd... functions
#   fabricbench::ndutil, fabricbench::win32, fabricbench::win32_main   the same in parts; the last for programs with wmain or _tmain
# fabricbench_PROVIDER is the loadable library of the project's own NetworkDirect provider, fabricbench_PROGRAM the command.
get_filename_component(fabricbench_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(fabricbench_PROVIDER "${fabricbench_PREFIX}/lib/fabricbench/libfabricbench_networkdirect.so")
set(fabricbench_PROGRAM "${fabricbench_PREFIX}/bin/fabricbench")

if(NOT TARGET fabricbench::fabricbench)
  include(CMakeFindDependencyMacro)
  find_dependency(Threads)

  add_library(fabricbench::fabricbench SHARED IMPORTED)
  set_target_properties(fabricbench::fabricbench PROPERTIES
    IMPORTED_LOCATION "${fabricbench_PREFIX}/lib/libfabricbench.so.@PROJECT_VERSION@"
    IMPORTED_SONAME "libfabricbench.so.@PROJECT_VERSION_MAJOR@.@PROJECT_VERSION_MINOR@"
    INTERFACE_INCLUDE_DIRECTORIES "${fabricbench_PREFIX}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17)

  add_library(fabricbench::win32 STATIC IMPORTED)
  set_target_properties(fabricbench::win32 PROPERTIES
    IMPORTED_LOCATION "${fabricbench_PREFIX}/lib/libfabricbench_win32.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_INCLUDE_DIRECTORIES "${fabricbench_PREFIX}/include/fabricbench/networkdirect"
    INTERFACE_COMPILE_DEFINITIONS "FABRICBENCH_NO_OLD_ANNOTATIONS"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS}")
  # A provider that the program loads shares the one kernel of the process with it.
  set_property(TARGET fabricbench::win32 PROPERTY INTERFACE_LINK_OPTIONS "-Wl,--export-dynamic-symbol=fabricbench_win32_kernel_2")

  add_library(fabricbench::win32_main STATIC IMPORTED)
  set_target_properties(fabricbench::win32_main PROPERTIES
    IMPORTED_LOCATION "${fabricbench_PREFIX}/lib/libfabricbench_win32_main.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_LINK_LIBRARIES fabricbench::win32)

  add_library(fabricbench::ndutil STATIC IMPORTED)
  set_target_properties(fabricbench::ndutil PROPERTIES
    IMPORTED_LOCATION "${fabricbench_PREFIX}/lib/libfabricbench_ndutil.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES CXX
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES fabricbench::win32)

  add_library(fabricbench::networkdirect INTERFACE IMPORTED)
  set_property(TARGET fabricbench::networkdirect PROPERTY INTERFACE_LINK_LIBRARIES fabricbench::ndutil)
endif()

set(fabricbench_FOUND TRUE)
foreach(component IN LISTS fabricbench_FIND_COMPONENTS)
  if(NOT TARGET fabricbench::${component})
    set(fabricbench_${component}_FOUND FALSE)
    if(fabricbench_FIND_REQUIRED_${component})
      set(fabricbench_FOUND FALSE)
      set(fabricbench_NOT_FOUND_MESSAGE "fabricbench has no component ${component}")
    endif()
  endif()
endforeach()
