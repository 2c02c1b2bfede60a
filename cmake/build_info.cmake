# The library plx::build_info: version, commit, compiler and build type, as declared in src/base/build_info.hpp. The
# commit is determined at every build; the generated source is rewritten, and its users relinked, only if it differs.
#
# Included by the configuration, this file declares the library; run as a script (cmake -P), it writes the source.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE GIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    set(GIT "unknown")
  endif()
  configure_file(${SOURCE_DIR}/cmake/build_info.cpp.in ${OUTPUT} @ONLY)
  return()
endif()

set(generated ${PROJECT_BINARY_DIR}/generated/build_info.cpp)
add_custom_target(plx_build_info_source BYPRODUCTS ${generated} COMMENT "Asking for the commit"
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${generated} -DVERSION=${PROJECT_VERSION}
          "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DTYPE=${CMAKE_BUILD_TYPE}"
          "-DSANITIZE=${PLX_SANITIZE}" "-DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR}"
          -P ${CMAKE_CURRENT_LIST_FILE} VERBATIM)
add_library(plx_build_info STATIC ${generated})
add_library(plx::build_info ALIAS plx_build_info)
add_dependencies(plx_build_info plx_build_info_source)
target_include_directories(plx_build_info PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
