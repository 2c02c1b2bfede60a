# Compilers of the gpu library: those of CUDA, HIP and SYCL, where they are found.
#
#   plx_gpu_sources(TARGET add.cu ... [EXACT])   compiles the .cu sources of operations with nvcc and with hipcc, and
#       adds them to TARGET. EXACT: a * b + c is rounded twice, as on the CPU (no fused multiply-add).
#
# nvcc is called by our own rules: CMake's CUDA language insists on linking a test program, which some installations of
# only the compiler (PyPI's nvidia-cuda-nvcc) cannot do. The runtime library is linked statically.
set(PLX_CUDA AUTO CACHE STRING "Build the backend for NVIDIA's devices: AUTO (where nvcc is found), ON or OFF")
set(PLX_CUDA_ARCHITECTURES AUTO CACHE STRING "Compute capabilities that kernels are compiled for, such as 80;90, the newest also as PTX; AUTO: those of this machine's devices, or PTX of 80")
set(PLX_HIP AUTO CACHE STRING "Build the backend for AMD's devices: AUTO (where hipcc is found), ON or OFF")
set(PLX_HIP_ARCHITECTURES "gfx90a;gfx942" CACHE STRING "AMD's architectures that kernels are compiled for, those of them that hipcc knows")
set(PLX_SYCL AUTO CACHE STRING "Build the backend sycl: AUTO (where the C++ compiler is one for SYCL), ON or OFF")
set(PLX_SYCL_FLAGS AUTO CACHE STRING "What the C++ compiler and linker need for SYCL; AUTO: -fsycl for icpx and clang++")

set(PLX_KOKKOS AUTO CACHE STRING "Build the library kokkos: AUTO (where Kokkos 4.2 or newer is found; Kokkos_ROOT), ON or OFF")

set(PLX_GPU_DEFINITIONS)
set(PLX_CUDA_FOUND FALSE)
set(PLX_HIP_FOUND FALSE)
set(PLX_SYCL_FOUND FALSE)
set(PLX_KOKKOS_FOUND FALSE)

# A whole-tree sanitizer must not be mixed with uninstrumented device code.
function(plx_gpu_wanted result option)
  set(${result} FALSE PARENT_SCOPE)
  if(${option} STREQUAL "AUTO" AND PLX_SANITIZE STREQUAL "")
    set(${result} TRUE PARENT_SCOPE)
  elseif(${option} AND NOT ${option} STREQUAL "AUTO")
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# PLX_CUDA_ARCHITECTURES; for AUTO the compute capabilities of this machine's devices that nvcc compiles for, or "".
function(plx_cuda_architectures result)
  if(NOT PLX_CUDA_ARCHITECTURES STREQUAL "AUTO")
    set(${result} "${PLX_CUDA_ARCHITECTURES}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader OUTPUT_VARIABLE said ERROR_QUIET)
  execute_process(COMMAND ${PLX_NVCC} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${said}")
  list(TRANSFORM found REPLACE "\\." "")
  list(REMOVE_DUPLICATES found)
  list(SORT found COMPARE NATURAL)
  string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
  set(architectures)
  foreach(architecture ${found})
    if("sm_${architecture}" IN_LIST known)
      list(APPEND architectures ${architecture})
    endif()
  endforeach()
  set(${result} "${architectures}" PARENT_SCOPE)
endfunction()

# The nvcc command line, without the target-specific options.
function(plx_nvcc_call result)
  set(nvcc ${PLX_NVCC} -x cu -std=c++20 -O3 -ccbin ${CMAKE_CXX_COMPILER} -lineinfo -diag-suppress=20012
           --expt-relaxed-constexpr -Xcompiler=-fPIC)
  foreach(architecture ${PLX_CUDA_COMPILED_FOR})
    list(APPEND nvcc -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  # For other devices: the driver compiles it when a program first uses one.
  set(newest 80)
  if(PLX_CUDA_COMPILED_FOR)
    list(GET PLX_CUDA_COMPILED_FOR -1 newest)
  endif()
  list(APPEND nvcc -gencode=arch=compute_${newest},code=compute_${newest})
  set(${result} ${nvcc} PARENT_SCOPE)
endfunction()

# The hipcc command line, in the same way.
function(plx_hipcc_call result)
  set(hipcc ${PLX_HIPCC} -x hip -std=c++20 -O3 -fPIC)
  foreach(architecture ${ARGN})
    list(APPEND hipcc --offload-arch=${architecture})
  endforeach()
  set(${result} ${hipcc} PARENT_SCOPE)
endfunction()

# plx_try_kernel(RESULT compiler command...): the compiler's messages if it fails to compile a kernel in C++20,
# otherwise "". An old compiler may lack parts of the language or the architectures; another may reject the host
# compiler. The result is cached for each command.
function(plx_try_kernel result)
  string(SHA1 asked "${ARGN}")
  if(NOT DEFINED CACHE{PLX_TRIED_${asked}})
    set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/plx_try_kernel)
    file(WRITE ${folder}/try.cu "#if defined(__HIPCC__)\n#include <hip/hip_runtime.h>\n#else\n#include <cuda_runtime.h>\n"
                                "#endif\n#include <string>\ntemplate <class T> requires true\n"
                                "__global__ void one(T* p) { *p = T(1); }\n"
                                "void call(int* p) { one<<<1, 1>>>(p); }\n")
    execute_process(COMMAND ${ARGN} -o ${folder}/try.o -c ${folder}/try.cu RESULT_VARIABLE code OUTPUT_VARIABLE said
                    ERROR_VARIABLE said)
    set(fails "")
    if(NOT "${code}" STREQUAL "0")
      string(STRIP "${said}" fails)
      if(fails STREQUAL "")
        set(fails "it ended with ${code}")
      endif()
    endif()
    set(PLX_TRIED_${asked} "${fails}" CACHE INTERNAL "")
  endif()
  set(${result} "${PLX_TRIED_${asked}}" PARENT_SCOPE)
endfunction()

# The line of a compiler's messages that gives the reason.
function(plx_error_line result said)
  string(REGEX MATCH "[^\n]*([Ee]rror|fatal|nsupported)[^\n]*" line "${said}")
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

plx_gpu_wanted(look PLX_CUDA)
if(look)
  file(GLOB cuda_places /opt/cuda* ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu1[0-9])
  list(SORT cuda_places COMPARE NATURAL ORDER DESCENDING)
  find_program(PLX_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${cuda_places} PATH_SUFFIXES bin)
  if(PLX_NVCC)
    file(REAL_PATH ${PLX_NVCC} nvcc_file)
    cmake_path(GET nvcc_file PARENT_PATH cuda_root)
    cmake_path(GET cuda_root PARENT_PATH cuda_root)
    find_path(PLX_CUDA_INCLUDE cuda_runtime_api.h HINTS ${cuda_root} PATH_SUFFIXES include targets/x86_64-linux/include
              targets/sbsa-linux/include NO_DEFAULT_PATH)
    # Only the CUPTI headers are needed: the library is opened at run time if it exists.
    find_path(PLX_CUPTI_INCLUDE cupti.h HINTS ${PLX_CUDA_INCLUDE} ${cuda_root}/extras/CUPTI/include NO_DEFAULT_PATH)
    # The same for cuBLAS (gpu/cuda/blas.hpp).
    find_path(PLX_CUBLAS_INCLUDE cublas_v2.h HINTS ${PLX_CUDA_INCLUDE} ${cuda_root}/include NO_DEFAULT_PATH)
    find_library(PLX_CUDART cudart_static HINTS ${cuda_root} PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib
                 targets/sbsa-linux/lib NO_DEFAULT_PATH)
    if(PLX_CUDA_INCLUDE AND PLX_CUDART)
      set(PLX_CUDA_FOUND TRUE)
    endif()
  endif()
  set(nvcc_fails "")
  if(PLX_CUDA_FOUND)
    plx_cuda_architectures(PLX_CUDA_COMPILED_FOR)
    plx_nvcc_call(nvcc)
    plx_try_kernel(nvcc_fails ${nvcc})
  endif()
  if(nvcc_fails AND PLX_CUDA STREQUAL "AUTO")
    set(PLX_CUDA_FOUND FALSE)
    plx_error_line(line "${nvcc_fails}")
    message(STATUS "${PLX_NVCC} does not compile a kernel in C++20 with ${CMAKE_CXX_COMPILER}: ${line}; PLX_CUDA=ON shows the full output")
  elseif(nvcc_fails)
    message(FATAL_ERROR "PLX_CUDA=${PLX_CUDA}: expected an nvcc that compiles C++20 for PLX_CUDA_ARCHITECTURES = "
                        "${PLX_CUDA_ARCHITECTURES} with ${CMAKE_CXX_COMPILER}; ${PLX_NVCC} said:\n${nvcc_fails}")
  endif()
  if(PLX_CUDA_FOUND)
    list(APPEND PLX_GPU_DEFINITIONS PLX_GPU_CUDA)
  elseif(NOT PLX_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PLX_CUDA=${PLX_CUDA}: expected nvcc, its headers and libcudart_static in PATH, CUDA_HOME, "
                        "/usr/local/cuda, /opt/cuda* or .venv; found nvcc: ${PLX_NVCC}, headers: ${PLX_CUDA_INCLUDE}, "
                        "library: ${PLX_CUDART}")
  endif()
endif()

plx_gpu_wanted(look PLX_HIP)
if(look)
  find_program(PLX_HIPCC hipcc HINTS ENV ROCM_PATH ENV HIP_PATH PATHS /opt/rocm PATH_SUFFIXES bin)
  find_path(PLX_HIP_INCLUDE hip/hip_runtime.h HINTS ENV ROCM_PATH ENV HIP_PATH PATHS /opt/rocm PATH_SUFFIXES include)
  find_library(PLX_HIP_LIBRARY amdhip64 HINTS ENV ROCM_PATH ENV HIP_PATH PATHS /opt/rocm PATH_SUFFIXES lib lib64)
  set(hip_architectures)
  set(hipcc_fails "")
  if(PLX_HIPCC AND PLX_HIP_INCLUDE AND PLX_HIP_LIBRARY)
    foreach(architecture ${PLX_HIP_ARCHITECTURES})  # Debian's hipcc 5.2 does not know gfx942
      plx_hipcc_call(hipcc ${architecture})
      plx_try_kernel(fails ${hipcc})
      if(fails)
        set(hipcc_fails "${fails}")
        plx_error_line(line "${fails}")
        message(STATUS "${PLX_HIPCC} does not compile a kernel in C++20 for ${architecture}: ${line}")
      else()
        list(APPEND hip_architectures ${architecture})
      endif()
    endforeach()
  endif()
  if(hip_architectures)
    set(PLX_HIP_FOUND TRUE)
    list(APPEND PLX_GPU_DEFINITIONS PLX_GPU_HIP)
  elseif(NOT PLX_HIP STREQUAL "AUTO")
    message(FATAL_ERROR "PLX_HIP=${PLX_HIP}: expected hipcc, its headers and libamdhip64 in PATH, ROCM_PATH or /opt/rocm, for "
                        "one of ${PLX_HIP_ARCHITECTURES}; found hipcc: ${PLX_HIPCC}, headers: ${PLX_HIP_INCLUDE}, "
                        "library: ${PLX_HIP_LIBRARY}\n${hipcc_fails}")
  endif()
endif()

plx_gpu_wanted(look PLX_SYCL)
if(look)
  include(CheckCXXSourceCompiles)
  set(sycl_flags ${PLX_SYCL_FLAGS})
  if(sycl_flags STREQUAL "AUTO" AND CMAKE_CXX_COMPILER MATCHES "icpx$|clang\\+\\+$")
    set(sycl_flags -fsycl)
  elseif(sycl_flags STREQUAL "AUTO")
    set(sycl_flags "")
  endif()
  set(CMAKE_REQUIRED_FLAGS "${sycl_flags}")
  check_cxx_source_compiles("#include <sycl/sycl.hpp>\nint main() { sycl::queue q; q.single_task([] {}).wait(); }"
                            PLX_COMPILES_SYCL)
  unset(CMAKE_REQUIRED_FLAGS)
  if(PLX_COMPILES_SYCL)
    set(PLX_SYCL_FOUND TRUE)
    separate_arguments(sycl_flags UNIX_COMMAND "${sycl_flags}")
    list(APPEND PLX_GPU_DEFINITIONS PLX_GPU_SYCL)
  elseif(NOT PLX_SYCL STREQUAL "AUTO")
    message(FATAL_ERROR "PLX_SYCL=${PLX_SYCL}: expected a compiler with SYCL 2020, found ${CMAKE_CXX_COMPILER}; CXX=icpx")
  endif()
endif()

# Where Kokkos was built with CUDA, code that includes it is compiled by its nvcc_wrapper (plx_compile_with_kokkos).
# Without `separable_compilation`, Kokkos would put a launch script before every command of the tree, which has no
# effect with ccache.
if(PLX_KOKKOS)
  find_package(Kokkos 4.2 QUIET COMPONENTS separable_compilation)
  if(Kokkos_FOUND)
    set(PLX_KOKKOS_FOUND TRUE)
  elseif(NOT PLX_KOKKOS STREQUAL "AUTO")
    message(FATAL_ERROR "PLX_KOKKOS=${PLX_KOKKOS}: expected Kokkos 4.2 or newer, found: ${Kokkos_CONSIDERED_VERSIONS}; set "
                        "Kokkos_ROOT to where it is installed")
  endif()
endif()
plx_optional(Kokkos "${PLX_KOKKOS_FOUND}" "there are no futures for Kokkos' loops")

# plx_compile_with_kokkos(TARGET): compiles with the compiler that Kokkos requires if it differs; then without ccache.
function(plx_compile_with_kokkos target)
  if(NOT Kokkos_ENABLE_CUDA OR Kokkos_COMPILE_LANGUAGE STREQUAL "CUDA")
    return()
  endif()
  kokkos_compiler_is_nvcc(is_nvcc ${CMAKE_CXX_COMPILER})
  if(NOT is_nvcc)
    kokkos_compilation(TARGET ${target})
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "")
  endif()
endfunction()

plx_optional(CUDA "${PLX_CUDA_FOUND}" "the library gpu has no backend cuda")
if(PLX_CUDA_FOUND)
  plx_optional(cuBLAS "${PLX_CUBLAS_INCLUDE}" "plx-parquet has no run.device = \"cuda\"")
endif()

# plx_gpu_compile(OBJECT SOURCE compiler arguments...): compiles one source with one compiler, and tracks its
# dependencies.
function(plx_gpu_compile object source)
  cmake_path(GET object PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d
                     COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${ARGN} -MD -MF ${object}.d -I${PROJECT_SOURCE_DIR}/src -o
                             ${object} -c ${source}
                     COMMENT "Building ${object}" VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

function(plx_gpu_sources target)
  cmake_parse_arguments(arg "EXACT" "" "" ${ARGN})
  list(TRANSFORM PLX_GPU_DEFINITIONS PREPEND -D OUTPUT_VARIABLE definitions)
  if(PLX_CUDA_FOUND)
    plx_nvcc_call(nvcc)
    list(APPEND nvcc ${definitions})
    if(PLX_WARNINGS_AS_ERRORS)
      list(APPEND nvcc -Werror=all-warnings)
    endif()
    if(arg_EXACT)
      list(APPEND nvcc -fmad=false)
    endif()
  endif()
  if(PLX_HIP_FOUND)
    plx_hipcc_call(hipcc ${hip_architectures})
    list(APPEND hipcc ${definitions} -Wall -Wextra $<$<BOOL:${PLX_WARNINGS_AS_ERRORS}>:-Werror>)
    if(arg_EXACT)
      list(APPEND hipcc -ffp-contract=off)
    endif()
  endif()
  foreach(source ${arg_UNPARSED_ARGUMENTS})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE from)
    set(objects ${CMAKE_CURRENT_BINARY_DIR}/gpu_objects)
    if(PLX_CUDA_FOUND)
      plx_gpu_compile(${objects}/${source}.cuda.o ${from} ${nvcc})
      target_sources(${target} PRIVATE ${objects}/${source}.cuda.o)
    endif()
    if(PLX_HIP_FOUND)
      plx_gpu_compile(${objects}/${source}.hip.o ${from} ${hipcc})
      target_sources(${target} PRIVATE ${objects}/${source}.hip.o)
    endif()
  endforeach()
  set_source_files_properties(${arg_UNPARSED_ARGUMENTS} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()
