# fb_ledger(path): conformance/requirements/*.yaml become C++ data. An id header for each area (of
# AREA.yaml and AREA-PART.yaml together), so that a new requirement recompiles the cases of its own area
# alone, and one table with everything else. The titles of cases, titles/*.yaml, become another table.
function(fb_ledger path)
  set(generator ${CMAKE_SOURCE_DIR}/${path}/generate.py)
  set(out ${CMAKE_BINARY_DIR}/generated/${path})
  set(documents ${CMAKE_SOURCE_DIR}/conformance/documents.yaml)
  file(GLOB ledgers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.yaml)
  file(GLOB titles CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/titles/*.yaml)
  set(outputs ${out}/ledger_data.cc ${out}/titles_data.cc ${out}/ledger_ids.h)
  foreach(ledger IN LISTS ledgers)
    get_filename_component(area ${ledger} NAME_WE)
    string(REGEX REPLACE "-.*" "" area ${area})
    list(APPEND outputs ${out}/ids_${area}.h)
  endforeach()
  list(REMOVE_DUPLICATES outputs)
  # The generator leaves files whose content stays the same untouched; the stamp says that it ran.
  add_custom_command(
    OUTPUT ${out}/ledger.stamp
    BYPRODUCTS ${outputs}
    COMMAND ${Python3_EXECUTABLE} ${generator} --out ${out} --documents ${documents}
            --titles ${CMAKE_SOURCE_DIR}/${path}/titles ${ledgers}
    COMMAND ${CMAKE_COMMAND} -E touch ${out}/ledger.stamp
    DEPENDS ${generator} ${documents} ${ledgers} ${titles}
    COMMENT "Requirement ledger"
    VERBATIM)
  add_custom_target(fb_ledger_data DEPENDS ${out}/ledger.stamp)
  fb_target_name(${path} target)
  set(data ${out}/ledger_data.cc ${out}/titles_data.cc)
  target_sources(${target} PRIVATE ${data})
  set_source_files_properties(${data} PROPERTIES GENERATED TRUE)
  add_dependencies(${target} fb_ledger_data)
endfunction()
