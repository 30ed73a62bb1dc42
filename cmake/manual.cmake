# What the programs say of themselves, as they are installed: pages of the manual, completion, the reference of all options.
set(skein_share ${PROJECT_BINARY_DIR}/share)
if(skein_programs AND NOT CMAKE_CROSSCOMPILING)
  set(made ${PROJECT_BINARY_DIR}/manual.made)
  set(sources ${PROJECT_SOURCE_DIR}/tools/make-manual ${PROJECT_SOURCE_DIR}/tools/completion/bash ${PROJECT_SOURCE_DIR}/tools/completion/zsh)
  add_custom_command(OUTPUT ${made}
    COMMAND bash ${PROJECT_SOURCE_DIR}/tools/make-manual ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${skein_share}
    COMMAND ${CMAKE_COMMAND} -E touch ${made}
    DEPENDS ${skein_programs} ${sources} COMMENT "Writing the manual" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${made})
endif()
