# With SKEIN_UNITE, which launch/build sets, the sources of a folder are compiled as one: most of the time goes to headers, and is spent once.
# So names in the anonymous namespaces of a folder must be unique.
option(SKEIN_UNITE "Compile the sources of a folder as one" OFF)

# skein_unite(TARGET [SOURCE...]): does so with TARGET's sources, but those that are named.
function(skein_unite target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cpp$" AND NOT source IN_LIST ARGN)
      cmake_path(GET source PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" group)
      set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group})
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SKEIN_UNITE} UNITY_BUILD_MODE GROUP)
  # GCC takes the sources of a united one for headers, in which a class must not hold what only this source knows. They are large, and to look for
  # memory that it could give back takes 7% of the time.
  if(SKEIN_UNITE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=ggc-min-heapsize=1048576)
  endif()
endfunction()
