# Writes <skein/core/version.h>: what this build is made of.
find_package(Git QUIET)
set(skein_revision "")
if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} describe --always --dirty --tags
    OUTPUT_VARIABLE skein_revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Every commit appends to this file, so the revision follows it.
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()
if(skein_revision STREQUAL "")
  set(skein_revision unknown)
endif()

set(skein_compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(skein_mpi "MPI ${MPI_C_VERSION}")
set(skein_cuda_version "")
if(skein_cuda)
  set(skein_cuda_version "${CUDAToolkit_VERSION}")
endif()
set(skein_build_type "${CMAKE_BUILD_TYPE}")
set(skein_include_dir ${PROJECT_BINARY_DIR}/include)
configure_file(cmake/version.h.in ${skein_include_dir}/skein/core/version.h @ONLY)
