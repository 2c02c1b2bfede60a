# The warnings that every target of the project is compiled with. A warning is a defect; -Werror is for CI only, so that
# a newer compiler's new warning does not stop a user's build.
option(PLX_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)

add_library(plx_warnings INTERFACE)
target_compile_options(plx_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> -Wcast-align
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> -Wnull-dereference
  $<$<BOOL:${PLX_WARNINGS_AS_ERRORS}>:-Werror>)
if(PLX_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Instrumentation hides from GCC that values are set and pointers tested, so that these two warn about the standard
  # library. Uninstrumented presets keep them.
  target_compile_options(plx_warnings INTERFACE -Wno-maybe-uninitialized -Wno-null-dereference)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # GCC notes each call that passes a std::pair of doubles otherwise than GCC 9 did, which is not supported.
  target_compile_options(plx_warnings INTERFACE -Wno-psabi)
endif()
