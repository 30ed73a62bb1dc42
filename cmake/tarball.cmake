# Read by cpack before each kind of package: a tarball has the libraries of others, too, which a package leaves to those it depends on.
if(CPACK_GENERATOR STREQUAL TGZ)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  list(APPEND CPACK_COMPONENTS_ALL libraries)
endif()
