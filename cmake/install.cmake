# Files installed by `cmake --install`: the libraries of the runtime, the headers that users include and those that
# these include, and the files for find_package(parallax) and pkg-config. With the applications also plx-star, and the component star for programs with more problems.
#
#   find_package(parallax 0.1 REQUIRED COMPONENTS rt)      g++ -std=c++20 a.cpp $(pkg-config --cflags --libs parallax)
#   target_link_libraries(program PRIVATE plx::rt)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed base build_info num probe control trace trace_tools session attach rt net gpu)
set(left_out "^gpu/kokkos/")  # headers for a library that was not found
if(PLX_KOKKOS_FOUND)
  set(left_out "^$")
endif()
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/parallax)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/parallax)

foreach(name ${installed})
  set_target_properties(plx_${name} PROPERTIES EXPORT_NAME ${name})
  list(APPEND targets plx_${name})
endforeach()
install(TARGETS ${targets} EXPORT parallax-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${header_dir})
install(EXPORT parallax-targets NAMESPACE plx:: DESTINATION ${package_dir})
if(PLX_KOKKOS_FOUND)  # a separate file: Kokkos is needed only if this component is requested
  set_target_properties(plx_kokkos PROPERTIES EXPORT_NAME kokkos)
  install(TARGETS plx_kokkos EXPORT parallax-kokkos-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${header_dir})
  install(EXPORT parallax-kokkos-targets NAMESPACE plx:: DESTINATION ${package_dir})
endif()

# The component star: plx-star, and what a program with more problems needs (plx_add_problem).
set(star_roots)
if(PLX_BUILD_APPS)
  set(star_targets)
  foreach(name io mesh step star_units star_hydro star_step star_exact star_problems star_device star_gravity star_sources star_models star star_program)
    set_target_properties(plx_${name} PROPERTIES EXPORT_NAME ${name})
    list(APPEND star_targets plx_${name})
  endforeach()
  install(TARGETS ${star_targets} EXPORT parallax-star-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          INCLUDES DESTINATION ${header_dir})
  install(EXPORT parallax-star-targets NAMESPACE plx:: DESTINATION ${package_dir})
  install(TARGETS plx-star plx-dca plx-parquet plx-trace plx-what-if RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/add_problem.cmake DESTINATION ${package_dir})
  set(star_roots base/config.hpp star/output/analysis.hpp star/problems/registry.hpp star/step/gas_step.hpp star/device/portable_operation.hpp)
endif()

# Public headers and the headers they include are determined at install time: sources may change after configuration.
install(CODE "set(source \"${PROJECT_SOURCE_DIR}/src\")
set(folders base num probe control trace session attach rt net gpu)
set(left_out \"${left_out}\")
set(roots ${star_roots})
set(destination \"\${CMAKE_INSTALL_PREFIX}/${header_dir}\")
include(\"${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake\")")

configure_package_config_file(cmake/parallax-config.cmake.in ${PROJECT_BINARY_DIR}/generated/parallax-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Until 1.0 an interface may change with any minor version.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/parallax-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/parallax-config.cmake
              ${PROJECT_BINARY_DIR}/generated/parallax-config-version.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_zlib)
if(ZLIB_FOUND)
  set(pc_zlib " zlib")
endif()
set(pc_nlopt)
if(NLopt_FOUND)
  set(pc_nlopt " nlopt")
endif()
set(pc_otf2)
if(OTF2_FOUND)
  set(pc_otf2 " otf2")
endif()
# The option of plx_touch_every_page() for programs built with CMake.
set(pc_stack_option)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86" OR
   CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 18)
  set(pc_stack_option " -fstack-clash-protection")
endif()
configure_file(cmake/parallax.pc.in ${PROJECT_BINARY_DIR}/generated/parallax.pc.in @ONLY)
configure_file(cmake/parallax-probe.pc.in ${PROJECT_BINARY_DIR}/generated/parallax-probe.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/parallax-probe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/parallax.pc INPUT ${PROJECT_BINARY_DIR}/generated/parallax.pc.in)
install(FILES ${PROJECT_BINARY_DIR}/generated/parallax.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
# A separate library: programs that use no device do not need the toolkit.
set(pc_gpu_libs)
set(pc_gpu_cflags)
if(PLX_CUDA_FOUND)
  string(APPEND pc_gpu_libs " -lcudart_static -ldl -lrt")
endif()
if(PLX_HIP_FOUND)
  string(APPEND pc_gpu_libs " -lamdhip64")
endif()
foreach(definition ${PLX_GPU_DEFINITIONS})
  string(APPEND pc_gpu_cflags " -D${definition}")
endforeach()
configure_file(cmake/parallax-gpu.pc.in ${PROJECT_BINARY_DIR}/generated/parallax-gpu.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/parallax-gpu.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
