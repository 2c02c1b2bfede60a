# Sanitizer flags for the whole tree (a partly instrumented program gives false reports). PLX_SANITIZE is set by the
# presets `asan` and `tsan`.
if(PLX_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(PLX_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT PLX_SANITIZE STREQUAL "")
  message(FATAL_ERROR "PLX_SANITIZE is '${PLX_SANITIZE}': expected 'address', 'thread' or nothing")
endif()
# A fuzzer needs the tested code compiled for it. This applies to the libraries, not to their users, which have a main()
# of their own. g++ has no libFuzzer but offers the same instrumentation in another form: with it and clang's runtime
# libraries, the fuzzers are linked with tests/fuzz/gcc_coverage.cpp. PLX_FUZZER_LINK lists what fuzzers link.
if(PLX_FUZZ)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }"
                            PLX_HAS_LIBFUZZER)
  unset(CMAKE_REQUIRED_FLAGS)
  if(PLX_HAS_LIBFUZZER)
    add_compile_options(-fsanitize=fuzzer-no-link)
    set(PLX_FUZZER_LINK -fsanitize=fuzzer)
  else()
    file(GLOB fuzzer_archives "/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer-${CMAKE_SYSTEM_PROCESSOR}.a"
         "/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer.a")
    list(SORT fuzzer_archives COMPARE NATURAL)
    if(NOT fuzzer_archives OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      message(FATAL_ERROR "PLX_FUZZ: expected clang++ with -fsanitize=fuzzer, or g++ and clang's runtime libraries "
                          "(libclang-rt-dev), found ${CMAKE_CXX_COMPILER} and no libclang_rt.fuzzer below /usr/lib/llvm-*")
    endif()
    list(GET fuzzer_archives -1 PLX_FUZZER_LINK)
    message(STATUS "Fuzzers: g++ with ${PLX_FUZZER_LINK}")
    add_compile_options(-fsanitize-coverage=trace-pc,trace-cmp)
  endif()
endif()
