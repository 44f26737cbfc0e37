# Run by CPack where the files of each package stand: what Debian asks of every package, and Debian's own folder for Python.
file(GLOB stages LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(stage IN LISTS stages)
  if(NOT IS_DIRECTORY ${stage}/usr)
    continue()
  endif()
  get_filename_component(component ${stage} NAME)
  string(TOUPPER ${component} component)
  set(package ${CPACK_DEBIAN_${component}_PACKAGE_NAME})
  set(doc ${stage}/usr/share/doc/${package})
  file(WRITE ${doc}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: fabricbench
Source: built by ci/packages of the fabricbench sources

Files: *
Copyright: 2026 the fabricbench authors
License: Apache-2.0
 On Debian systems the text of this license is in /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${doc}/changelog "fabricbench (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * What changed is in /usr/share/doc/fabricbench/CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9nf ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${doc}/LICENSE)  # Debian has it once for all packages
  file(GLOB pages ${stage}/usr/share/man/man1/*.1)
  if(pages)
    execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  file(GLOB python LIST_DIRECTORIES true ${stage}/usr/lib/python3.*)
  if(python)
    file(RENAME ${python} ${stage}/usr/lib/python3)
  endif()
  # Rights of a checkout depend on who made it.
  execute_process(COMMAND chmod -R u=rwX,go=rX ${stage} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE libraries ${stage}/usr/lib/*.so ${stage}/usr/lib/*.so.* ${stage}/usr/lib/*.a)
  foreach(library IN LISTS libraries)
    if(NOT IS_SYMLINK ${library})  # a link may lead into another package
      execute_process(COMMAND chmod 644 ${library} COMMAND_ERROR_IS_FATAL ANY)
    endif()
  endforeach()
  file(GLOB archives ${stage}/usr/lib/*.a)
  if(archives)
    execute_process(COMMAND strip --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
