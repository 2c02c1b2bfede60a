# Sanitizer flags for the whole tree (a half-instrumented program reports nonsense). PLX_SANITIZE is set by the presets
# `asan` and `tsan`.
if(PLX_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PLX_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT PLX_SANITIZE STREQUAL "")
  message(FATAL_ERROR "PLX_SANITIZE is '${PLX_SANITIZE}': expected 'address', 'thread' or nothing")
endif()
