# What was found, in one look.
set(cuda_line "no GPU kernels (SKEIN_CUDA is ${SKEIN_CUDA})")
if(skein_cuda)
  set(cuda_line "${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
endif()

set(kernel_line "one, for ${CMAKE_SYSTEM_PROCESSOR}")
if(skein_kernel_levels)
  list(JOIN skein_kernel_levels ", " kernel_line)
  set(kernel_line "x86-64-v2, ${kernel_line}; the loader picks")
endif()

message(STATUS "Skein ${PROJECT_VERSION} (${skein_revision})")
message(STATUS "  build     ${CMAKE_BUILD_TYPE}, ${skein_compiler}")
message(STATUS "  MPI       ${MPI_C_VERSION} (${MPI_C_LIBRARIES})")
message(STATUS "  HDF5      ${HDF5_VERSION}")
message(STATUS "  kernels   ${kernel_line}")
message(STATUS "  CUDA      ${cuda_line}")
message(STATUS "  tests     ${SKEIN_BUILD_TESTS}")
