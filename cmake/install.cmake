# Libraries, headers, programs, and what find_package(skein) reads.
set(skein_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skein)

install(TARGETS skein_base skein_kernels skein EXPORT skein_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(level IN LISTS skein_kernel_levels)
  string(REPLACE x86-64- skein_kernels_ variant ${level})
  install(TARGETS ${variant}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
endforeach()
if(skein_cuda)
  install(TARGETS skein_kernels_cuda EXPORT skein_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(skein_programs)
  install(TARGETS ${skein_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skein ${skein_include_dir}/skein
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/skeinConfig.cmake.in ${PROJECT_BINARY_DIR}/skeinConfig.cmake
  INSTALL_DESTINATION ${skein_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/skeinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT skein_targets FILE skein_targets.cmake NAMESPACE skein:: DESTINATION ${skein_package_dir})
install(FILES ${PROJECT_BINARY_DIR}/skeinConfig.cmake ${PROJECT_BINARY_DIR}/skeinConfigVersion.cmake
  cmake/skein_dependencies.cmake DESTINATION ${skein_package_dir})
