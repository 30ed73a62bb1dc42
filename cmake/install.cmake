# Programs with what belongs to them, and for development libraries, headers and what find_package(skein) and pkg-config read.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME programs)
set(skein_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skein)
set(skein_data_dir ${CMAKE_INSTALL_DATADIR}/skein)
set(skein_shared skein_base skein_kernels)
if(skein_cuda)
  list(APPEND skein_shared skein_kernels_cuda)
endif()

install(TARGETS ${skein_shared} EXPORT skein_targets RUNTIME_DEPENDENCY_SET skein_others
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
install(TARGETS skein EXPORT skein_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
# `cmake --install --strip` leaves archives as they are, and five parts in six of this one are lines of sources.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:skein>\"
    COMMAND_ERROR_IS_FATAL ANY)
endif()" COMPONENT development)
foreach(level IN LISTS skein_kernel_levels)
  string(REPLACE x86-64- skein_kernels_ variant ${level})
  install(TARGETS ${variant}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
endforeach()
if(skein_programs)
  install(TARGETS ${skein_programs} RUNTIME_DEPENDENCY_SET skein_others RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # For the tarball alone: what is loaded of the system, but for the C library, which must be as new as the one here.
  install(RUNTIME_DEPENDENCY_SET skein_others
    PRE_EXCLUDE_REGEXES "^libskein_" "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util)[.]so"
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries EXCLUDE_FROM_ALL)
  # Their own ways would lead to the system; without them they go by the programs'.
  install(CODE "file(GLOB others \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lib*.so*\")
foreach(other IN LISTS others)
  if(NOT IS_SYMLINK \"\${other}\" AND NOT other MATCHES libskein_)
    file(RPATH_REMOVE FILE \"\${other}\")
  endif()
endforeach()" COMPONENT libraries EXCLUDE_FROM_ALL)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${skein_data_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/launch DESTINATION ${skein_data_dir} USE_SOURCE_PERMISSIONS
  PATTERN build EXCLUDE PATTERN install-packages EXCLUDE PATTERN "packages*.txt" EXCLUDE PATTERN skein.def EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  PATTERN Doxyfile EXCLUDE PATTERN doxygen_filter.py EXCLUDE)
install(FILES cmake/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET manual)
  install(DIRECTORY ${skein_share}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(DIRECTORY ${skein_share}/doc/skein/ DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY ${skein_share}/bash-completion ${skein_share}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR})
endif()
install(CODE "set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/tools/installed-links\"
  \"\${prefix}/${CMAKE_INSTALL_DOCDIR}\" \"\${prefix}/${skein_data_dir}\" COMMAND_ERROR_IS_FATAL ANY)")

# Both lie in their prefix and find it from there.
set(skein_module_dir ${CMAKE_INSTALL_DATADIR}/modulefiles/skein)
file(RELATIVE_PATH skein_module_to_prefix /${skein_module_dir} /)
configure_file(cmake/modulefile.in ${PROJECT_BINARY_DIR}/modulefile @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/modulefile DESTINATION ${skein_module_dir} RENAME ${PROJECT_VERSION})
file(RELATIVE_PATH skein_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" skein_pc_to_prefix "${skein_pc_to_prefix}")
set(skein_pc_libs ${HDF5_C_LIBRARIES} ${MPI_C_LIBRARIES} ${OpenMP_CXX_FLAGS})
set(skein_pc_dirs ${HDF5_C_INCLUDE_DIRS})
if(skein_cuda)
  list(PREPEND skein_pc_libs -lskein_kernels_cuda)
  list(APPEND skein_pc_libs ${NCCL_LIBRARY} ${CUDA_cudart_LIBRARY})
  set(skein_pc_cflags -DSKEIN_CUDA)
endif()
list(TRANSFORM skein_pc_dirs PREPEND -I)
list(APPEND skein_pc_cflags ${skein_pc_dirs})
list(JOIN skein_pc_libs " " skein_pc_libs)
list(JOIN skein_pc_cflags " " skein_pc_cflags)
configure_file(cmake/skein.pc.in ${PROJECT_BINARY_DIR}/skein.pc @ONLY)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc\")
file(MAKE_DIRECTORY \"\${folder}\")
file(CREATE_LINK skein \"\${folder}/skein-dev\" SYMBOLIC)")
install(FILES ${PROJECT_BINARY_DIR}/skein.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skein ${skein_include_dir}/skein
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
configure_package_config_file(cmake/skeinConfig.cmake.in ${PROJECT_BINARY_DIR}/skeinConfig.cmake
  INSTALL_DESTINATION ${skein_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/skeinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT skein_targets FILE skein_targets.cmake NAMESPACE skein:: DESTINATION ${skein_package_dir})
install(FILES ${PROJECT_BINARY_DIR}/skeinConfig.cmake ${PROJECT_BINARY_DIR}/skeinConfigVersion.cmake
  cmake/skein_dependencies.cmake DESTINATION ${skein_package_dir})
