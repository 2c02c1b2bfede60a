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
# What a fuzzer watches has to be compiled for it. The libraries are, not their users: those have a main() of their own.
if(PLX_FUZZ)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }"
                            PLX_HAS_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT PLX_HAS_LIBFUZZER)
    message(FATAL_ERROR "PLX_FUZZ: expected a compiler with -fsanitize=fuzzer, found ${CMAKE_CXX_COMPILER}; "
                        "CXX=clang++, and its runtime libraries (libclang-rt-dev)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
