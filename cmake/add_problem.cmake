# plx_add_problem(NAME sources...): the executable NAME is plx-star with the problems that the sources register
# (docs/your-own-problem.md).
function(plx_add_problem name)
  add_executable(${name} ${ARGN})
  target_compile_features(${name} PRIVATE cxx_std_20)
  set_target_properties(${name} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
  # Workers and devices give the same bits only without contraction to fused multiply-adds.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX,HIP>:-ffp-contract=off>
                         "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr>")
  target_link_libraries(${name} PRIVATE plx::star_program)
endfunction()
