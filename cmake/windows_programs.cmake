# Programs that are for Windows alone; ci/windows runs them.
add_executable(nd_nvme cli/windows/nd_nvme.cc)
fb_link(nd_nvme PRIVATE networkdirect/consumer networkdirect/provider networkdirect/ndutil model/host model/subsystem)
set_target_properties(nd_nvme PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/networkdirect)

# The cases on NetworkDirect providers. The runner as a whole needs libraries that are not there; these parts of it do not.
fb_folder(conformance/requirements LINKS base)
fb_ledger(conformance/requirements)
fb_case_areas(networkdirect/cases)
file(GLOB suite_cases CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/networkdirect/cases/networkdirect/*.cc)
list(FILTER suite_cases EXCLUDE REGEX "/consumer_")
set(suite_parts bench case check nd_bench nd_names nd_simulated_windows provider_bench verdict)
list(TRANSFORM suite_parts REPLACE "(.+)" "conformance/runner/\\1.cc")
add_executable(nd_suite cli/windows/nd_suite.cc ${suite_parts} ${suite_cases})
target_compile_definitions(nd_suite PRIVATE FABRICBENCH_NO_OLD_ANNOTATIONS)
add_dependencies(nd_suite fb_ledger_data)
fb_link(nd_suite PRIVATE conformance/requirements networkdirect/ndutil networkdirect/provider model/host model/subsystem model/transport)
set_target_properties(nd_suite PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/networkdirect)
