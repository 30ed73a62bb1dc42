# `cpack -G "DEB;TGZ"` in the build folder: packages for Debian 12, programs and what belongs to them in one, development in another; and a
# tarball of all, whose folder may lie anywhere.
set(CPACK_PACKAGE_NAME skein)
set(CPACK_PACKAGE_VENDOR Skein)
set(CPACK_PACKAGE_CONTACT "The Skein contributors" CACHE STRING "Who answers for the packages; an archive wants NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME skein-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL programs development)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/tarball.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME skein)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "gnuplot-nox, bible-kjv, xz-utils, bzip2, man-db, python3")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME skein-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Programs, their manual, configurations and scripts that start them.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Libraries and headers, for CMake and pkg-config.")

# What a program that links with Skein needs is what Skein is built with.
file(STRINGS launch/packages.txt packages REGEX "^[a-z0-9.+-]+-dev$")
list(REMOVE_ITEM packages dpkg-dev)  # of cpack itself
list(JOIN packages ", " packages)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "skein (= ${PROJECT_VERSION}), ${packages}")
include(CPack)
