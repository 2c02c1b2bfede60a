# plx_touch_every_page(RESULT): the compiler option that makes a function with a large frame touch each page of it. The
# guard below the stack of a task is 64 KiB; without the option a larger frame can step over it into another stack.
# plx::rt passes the option on to what links it. Clang has it for x86, and for ARM from version 18 on.
function(plx_touch_every_page result)
  set(option -fstack-clash-protection)
  set(clang $<COMPILE_LANG_AND_ID:CXX,Clang>)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    set(clang $<AND:${clang},$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,18>>)
  endif()
  set(${result} $<$<OR:$<COMPILE_LANG_AND_ID:CXX,GNU>,${clang}>:${option}> PARENT_SCOPE)
endfunction()

# plx_library(NAME SOURCES ... [DEPENDS other libraries of the project] [LINK public external targets]
#             [LINK_PRIVATE external targets] [TESTS test sources])
#
# Declares the static library plx_NAME (alias plx::NAME) of the folder src/NAME (star_hydro: src/star/hydro). Headers
# are included from the root of src, as "rt/future.hpp". TESTS, which stand beside the sources, become one GoogleTest
# program NAME_test whose cases are registered with CTest as "NAME.Suite.Case" and labelled NAME.
function(plx_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK;LINK_PRIVATE;TESTS" ${ARGN})
  add_library(plx_${name} STATIC ${arg_SOURCES})
  add_library(plx::${name} ALIAS plx_${name})
  target_include_directories(plx_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_features(plx_${name} PUBLIC cxx_std_20)
  foreach(dependency ${arg_DEPENDS})
    if(NOT TARGET plx_${dependency})
      message(FATAL_ERROR "plx_library(${name}): '${dependency}' is not declared yet; see the order of the layers")
    endif()
    target_link_libraries(plx_${name} PUBLIC plx_${dependency})
  endforeach()
  target_link_libraries(plx_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:plx_warnings>)
  if(PLX_BUILD_TESTS AND arg_TESTS)
    plx_test(${name} SOURCES ${arg_TESTS} LINK plx_${name})
  endif()
endfunction()

# plx_test(NAME SOURCES ... LINK targets ...): the GoogleTest program NAME_test, its cases registered with CTest.
function(plx_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main plx_warnings)
  # What is tested is optimised; the tests themselves compile a third faster with little optimisation.
  target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60
                       DISCOVERY_MODE PRE_TEST)
endfunction()

# plx_bench(NAME SOURCES ... LINK targets ...): the benchmark program bench_NAME, which `./plx bench NAME` builds and
# runs. See bench/README.md for what such a program prints and writes.
function(plx_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(library ${arg_LINK})
    if(NOT TARGET ${library})  # a library of the applications, which are not built
      return()
    endif()
  endforeach()
  if(PLX_BUILD_BENCH)
    add_executable(bench_${name} ${arg_SOURCES})
    target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
    target_link_libraries(bench_${name} PRIVATE ${arg_LINK} plx_warnings)
  endif()
endfunction()
