#!/bin/sh
# On a machine with an NVIDIA card: builds what concerns devices, tests it there, and measures. Run it from the root of
# the repository; it takes some four minutes on 16 cores, and prints little: everything is in OUT.
#   sh bench/gpu/card.sh OUT          environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90), TOOLS (1; 0: no
#                                     compute-sanitizer), BUILD (a folder, OUT/build)
set -u
[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
build=${BUILD:-$out/build}
failed=0
begin=$(date +%s)
say() { printf '== %s (%d s)\n' "$*" $(($(date +%s) - begin)); }
# part NAME LINES COMMAND: its output in OUT/NAME.log, the last LINES of it here, all of its errors counted.
part() {
  name=$1 lines=$2
  shift 2
  "$@" > "$out/$name.log" 2>&1
  code=$?
  say "$name: code $code"
  tail -n "$lines" "$out/$name.log"
  [ $code -eq 0 ] || failed=1
}
export PLX_GPU_BACKEND=cuda
programs="gpu_test star_device_test bench_gpu_star"

part configure 2 cmake --preset release -B "$build" -DPLX_CUDA=ON -DPLX_CUDA_ARCHITECTURES="${ARCH:-90}" ${CMAKE_ARGS:-}
part build 2 cmake --build "$build" --target $programs
[ $failed -eq 0 ] || { tail -n 60 "$out/build.log"; exit 1; }
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader
bin=$build/bin
part gpu_test 3 timeout 200 "$bin/gpu_test" --gtest_brief=1
part star_device_test 3 timeout 200 "$bin/star_device_test" --gtest_brief=1
part bench_gpu_star 40 timeout 200 "$bin/bench_gpu_star" --json "$out/gpu_star.json"
say "all: $([ $failed -eq 0 ] && echo passed || echo FAILED)"
exit $failed
