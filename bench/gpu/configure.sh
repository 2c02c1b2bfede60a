# Part of the scripts in this folder, which read it with `.`: their use of CMake.
#   configure OUT BUILD [OPTION ...]   configures BUILD with CUDA and writes OUT/configure.log; on failure prints CMake's
#                                      first error, and what this machine lacks
configure() {
  log=$1/configure.log
  to=$2
  shift 2
  # shellcheck disable=SC2086  # several words
  cmake --preset release -B "$to" -DPLX_CUDA=ON -DPLX_CUDA_ARCHITECTURES="${ARCH:-90}" "$@" ${CMAKE_ARGS:-} > "$log" 2>&1 && return
  grep -m 1 -A 6 '^CMake Error' "$log" || tail -n 20 "$log"
  echo "== cmake failed; its messages: $log. Missing on this machine (./plx doctor build):"
  ./plx doctor build
  return 1
}
