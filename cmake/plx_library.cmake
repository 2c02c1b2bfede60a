# plx_touch_every_page(RESULT): the compiler option that makes a function with a large frame touch each of its pages.
# The guard below a task's stack is 64 KiB; without the option a larger frame can step over it into another stack.
# plx::rt passes the option on to its users. Clang supports it for x86, and for ARM from version 18 on.
function(plx_touch_every_page result)
  set(option -fstack-clash-protection)
  set(clang $<COMPILE_LANG_AND_ID:CXX,Clang>)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
    set(clang $<AND:${clang},$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,18>>)
  endif()
  set(${result} $<$<OR:$<COMPILE_LANG_AND_ID:CXX,GNU>,${clang}>:${option}> PARENT_SCOPE)
endfunction()

option(PLX_UNITY "Compile up to eight sources of a folder as one: half the time of a full build" ON)

# plx_library(NAME [SOURCES ...] [WITHOUT regex...] [DEPENDS other libraries of the project] [COLD folders...]
#             [LINK public external targets] [LINK_PRIVATE external targets] [TESTS test sources]
#             [SLOW test cases] [EXACT])
#
# Declares the static library plx_NAME (alias plx::NAME) of the folder src/NAME (star_hydro: src/star/hydro). Headers
# are included from the root of src, as "rt/future.hpp". By default the library consists of every .cpp file below the
# folder except those in folders test/ and those whose path matches WITHOUT, and its tests are the files test/*_test.cpp
# below it; SOURCES and TESTS replace these lists. The tests become one GoogleTest program NAME_test whose cases are
# registered with CTest as "NAME.Suite.Case" and labelled NAME. Sources that match ALONE are not compiled together with
# others, because their internal names clash with those of a neighbour. Joined files of the folders COLD (. for
# the library's own) take no time in a run and are compiled with -O1, in 70 % of the time. The cases SLOW: see plx_test.
# EXACT: no contraction to fused multiply-adds, the default of GCC for aarch64, so that all processors give the same bits.
function(plx_library name)
  cmake_parse_arguments(arg "EXACT" "" "SOURCES;WITHOUT;ALONE;COLD;DEPENDS;LINK;LINK_PRIVATE;TESTS;SLOW" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
    foreach(pattern ${arg_WITHOUT})
      list(FILTER found EXCLUDE REGEX "${pattern}")
    endforeach()
    set(arg_SOURCES ${found})
    list(FILTER arg_SOURCES EXCLUDE REGEX "(^|/)test/")
    list(FILTER found INCLUDE REGEX "(^|/)test/.*_test\\.cpp$")
    list(APPEND arg_TESTS ${found})
  endif()
  add_library(plx_${name} STATIC ${arg_SOURCES})
  add_library(plx::${name} ALIAS plx_${name})
  target_include_directories(plx_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_features(plx_${name} PUBLIC cxx_std_20)
  if(arg_EXACT)
    target_compile_options(plx_${name} PRIVATE -ffp-contract=off)
  endif()
  foreach(dependency ${arg_DEPENDS})
    if(NOT TARGET plx_${dependency})
      message(FATAL_ERROR "plx_library(${name}): '${dependency}' is not declared yet; see the order of the layers")
    endif()
    target_link_libraries(plx_${name} PUBLIC plx_${dependency})
  endforeach()
  target_link_libraries(plx_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:plx_warnings>)
  plx_unity(plx_${name} ALONE ${arg_ALONE} COLD ${arg_COLD})
  if(PLX_BUILD_TESTS AND arg_TESTS)
    plx_test(${name} SOURCES ${arg_TESTS} ALONE ${arg_ALONE} SLOW ${arg_SLOW} LINK plx_${name})
  endif()
endfunction()

# plx_kernels(NAME HEADER ISAS baseline avx2 ... [OPTIONS options]): adds to plx_NAME the code of HEADER, a path from src,
# once per instruction set that this processor family has, each in a source of its own that defines PLX_ISA to
# isa_baseline, isa_avx2, ... The program selects one of them at run time. Without contraction to fused multiply-adds,
# so that all of them give the same bits. A test checks that their objects define no symbols that the linker may share.
function(plx_kernels name header)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "ISAS;OPTIONS")
  set(optimize_avx2 -O3 -march=x86-64-v3)
  set(optimize_avx512 -O3 -march=x86-64-v4)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns about the undefined operands inside its own AVX-512 header.
    list(APPEND optimize_avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  set(optimize_baseline -O3)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(optimize_baseline -O1)  # for processors made before 2013; compiles in 60 % of the time
  else()
    set(arg_ISAS baseline)
  endif()
  cmake_path(GET header STEM stem)
  foreach(isa ${arg_ISAS})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${isa}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#define PLX_ISA isa_${isa}\n#include \"${header}\"\n")
    target_sources(plx_${name} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
      "${optimize_${isa}};-ffp-contract=off;-fno-math-errno;-fno-trapping-math;${arg_OPTIONS}")
    list(APPEND patterns ${stem}_${isa})
  endforeach()
  if(PLX_BUILD_TESTS AND NOT PLX_SANITIZE)
    list(JOIN patterns "|" pattern)
    add_test(NAME ${name}.weak_symbols
      COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:plx_${name}>,|>" "-DPATTERN=${pattern}"
              -P ${PROJECT_SOURCE_DIR}/cmake/check_weak_symbols.cmake)
    set_tests_properties(${name}.weak_symbols PROPERTIES LABELS ${name})
  endif()
endfunction()

# plx_unity(TARGET [ALONE regex...] [COLD folders...]): compiles up to eight sources of a folder together, except those
# that match ALONE, those outside the target's folder, and those with their own compile options, which CMake excludes.
# The folders COLD compile with -O1, an option of the files that CMake writes; GCC then warns of null pointers in its own
# std::vector.
function(plx_unity target)
  cmake_parse_arguments(arg "" "" "ALONE;COLD" ${ARGN})
  if(NOT PLX_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(pattern ${arg_ALONE})
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  foreach(source ${sources})
    if(source MATCHES "\\.cpp$" AND NOT IS_ABSOLUTE "${source}")
      cmake_path(GET source PARENT_PATH path)
      string(MAKE_C_IDENTIFIER "in_${path}" folder)
      math(EXPR n_${folder} "${n_${folder}} + 1")
      math(EXPR group "(${n_${folder}} - 1) / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
      if(path STREQUAL "")
        set(path .)
      endif()
      if(path IN_LIST arg_COLD)
        set_source_files_properties(
          ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity/unity_${folder}_${group}_cxx.cxx
          PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1;$<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference>>")
      endif()
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC mistakes internal names of an included source for those of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# The headers that every test includes, precompiled.
function(plx_test_headers target)
  if(NOT TARGET plx_test_headers)
    add_library(plx_test_headers OBJECT ${PROJECT_SOURCE_DIR}/tests/headers/headers.cpp)
    target_link_libraries(plx_test_headers PRIVATE GTest::gtest GTest::gmock plx_warnings)
    target_compile_features(plx_test_headers PRIVATE cxx_std_20)
    target_compile_options(plx_test_headers PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(plx_test_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests/headers/headers.hpp)
  endif()
  target_precompile_headers(${target} REUSE_FROM plx_test_headers)
endfunction()

# plx_test(NAME SOURCES ... [ALONE regex...] [SLOW cases...] LINK targets ...): the GoogleTest program NAME_test, with its
# cases registered in CTest. The cases SLOW (Suite.Case) get the label slow: only `./plx test --all` runs them.
function(plx_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;ALONE;SLOW;LINK" ${ARGN})
  add_executable(${name}_test ${arg_SOURCES})
  target_link_libraries(${name}_test PRIVATE ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main plx_warnings)
  plx_test_headers(${name}_test)
  # The tested code is optimised; the tests themselves compile a third faster with little optimisation.
  target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  plx_unity(${name}_test ALONE ${arg_ALONE})
  gtest_discover_tests(${name}_test TEST_PREFIX "${name}." PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60
                       DISCOVERY_MODE PRE_TEST)
  if(arg_SLOW)  # gtest_discover_tests would turn a list of labels into further properties
    list(TRANSFORM arg_SLOW PREPEND "${name}." OUTPUT_VARIABLE slow)
    list(JOIN slow " " slow)
    file(CONFIGURE OUTPUT ${name}_slow.cmake CONTENT "set_tests_properties(@slow@ PROPERTIES LABELS \"@name@;slow\")\n" @ONLY)
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}_slow.cmake)
  endif()
endfunction()

# plx_bench(NAME SOURCES ... LINK targets ...): the benchmark program bench_NAME, which `./plx bench NAME` builds and
# runs. See bench/README.md for its output.
function(plx_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(library ${arg_LINK})
    if(NOT TARGET ${library})  # a library of the applications that is not built
      return()
    endif()
  endforeach()
  if(PLX_BUILD_BENCH)
    add_executable(bench_${name} ${arg_SOURCES})
    target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
    target_link_libraries(bench_${name} PRIVATE ${arg_LINK} plx_warnings)
  endif()
endfunction()
