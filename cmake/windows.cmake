# The part of the house that is built for Windows: NetworkDirect, and an NVMe host and subsystem over it.
set(FB_FOLDERS_ON_WINDOWS
    base wire wire/rdma wire/nvme wire/fabrics wire/tcp
    sim/core sim/net sim/rdma sim/rdma/softroce
    networkdirect/win32 networkdirect/ndutil networkdirect/provider networkdirect/library
    networkdirect/consumer
    model/auth model/transport model/subsystem model/host
    conformance/requirements)

add_compile_definitions(UNICODE _UNICODE NOMINMAX WIN32_LEAN_AND_MEAN _WIN32_WINNT=0x0A00)
# One file each, that runs wherever it is put.
add_link_options(-static)

# {fmt} as headers alone, those of the system that builds; nothing else of that system's folder may be seen.
find_path(FMT_INCLUDE fmt/format.h PATHS /usr/include REQUIRED NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/headers)
file(CREATE_LINK ${FMT_INCLUDE}/fmt ${CMAKE_BINARY_DIR}/headers/fmt SYMBOLIC)
add_library(fmt::fmt INTERFACE IMPORTED)
set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY
                                          INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/headers)

fb_headers(base/windows)
set(ISAL_LIBRARY fb_base_windows)

set(FB_SOCKETS ws2_32 iphlpapi synchronization)
set(FB_CRYPTOGRAPHY bcrypt crypt32)
