# With SKEIN_UNITE, which launch/build sets, sources of a floor are compiled together: most of the time goes to headers and to what they define inline,
# and is spent once. So names in the anonymous namespaces of a floor must be unique.
option(SKEIN_UNITE "Compile sources of a floor together" OFF)

# What goes together, about: more would leave other cores without work at the end.
set(skein_united_bytes 150000)

# skein_unite(TARGET [ALONE SOURCE...] [APART SOURCE...]): does so with TARGET's sources; those that are ALONE are compiled each by itself, those that
# are APART are not mixed with others.
function(skein_unite target)
  cmake_parse_arguments(PARSE_ARGV 1 unite "" "" "ALONE;APART")
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    if(source IN_LIST unite_ALONE)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    string(REGEX REPLACE "^.*/(src|tests)/([^/]+)/.*$" "\\2" group "${path}")
    if(source IN_LIST unite_APART)
      string(APPEND group _apart)
    endif()
    file(SIZE ${path} bytes)
    math(EXPR "bytes_${group}" "0${bytes_${group}} + ${bytes}")
    math(EXPR number "${bytes_${group}} / ${skein_united_bytes}")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${group}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SKEIN_UNITE} UNITY_BUILD_MODE GROUP)
  # GCC takes the sources of a united one for headers, in which a class must not hold what only this source knows. They are large, and to look for
  # memory that it could give back takes 7% of the time.
  if(SKEIN_UNITE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param=ggc-min-heapsize=1048576)
  endif()
endfunction()
