#!/usr/bin/env bash
# Builds the tests and the benchmark of the library gpu alone, and runs them on a machine with a device:
#
#   bench/gpu/micro/card.sh [options for cmake, such as -DCMAKE_PREFIX_PATH=DIR]
#
# Tests on every backend, compute-sanitizer's memcheck and racecheck where it is installed, then the numbers, which also
# go to $OUT (default: the build folder). BUILD names the build folder (default build/gpu). Ends with 1 when anything
# has failed; later parts run nevertheless.
set -uo pipefail
cd "$(dirname "$0")/../../.."
BUILD=${BUILD:-build/gpu}
OUT=${OUT:-$BUILD}
mkdir -p "$BUILD" "$OUT"
failed=()
part() {
  echo "== $1"
  shift
  "$@" || failed+=("$1 ${2:-}")
}

architectures=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -u | paste -sd ';')
cmake -S . -B "$BUILD" -G Ninja -DCMAKE_BUILD_TYPE=Release -DPLX_BUILD_APPS=OFF -DPLX_BUILD_EXAMPLES=OFF \
  -DPLX_INSTALL=OFF -DPLX_CUDA="${PLX_CUDA:-ON}" -DPLX_CUDA_ARCHITECTURES="${architectures:-90}" "$@" >"$OUT/configure.log" ||
  { tail -20 "$OUT/configure.log"; exit 1; }
cmake --build "$BUILD" --target gpu_test bench_gpu_micro >"$OUT/build.log" 2>&1 || { tail -40 "$OUT/build.log"; exit 1; }

tests() { (cd "$BUILD" && timeout 200 ctest -L gpu --output-on-failure -j 4 >test.log 2>&1); local code=$?
  grep -E "tests passed|Failed|Timeout|SEGV" "$BUILD/test.log" | head -20; cp "$BUILD/test.log" "$OUT/" 2>/dev/null
  [ $code = 0 ] || tail -60 "$BUILD/test.log"; return $code; }
part "tests" tests
if command -v compute-sanitizer >/dev/null || [ -x /usr/local/cuda/bin/compute-sanitizer ]; then
  PATH=$PATH:/usr/local/cuda/bin
  # Calls that the tests mean to fail, such as an allocation of more than there is, are no errors of the kernels.
  for tool in "memcheck --report-api-errors no" racecheck; do
    check() { timeout 150 compute-sanitizer --tool $tool --error-exitcode 7 "$BUILD/bin/gpu_test" \
      --gtest_filter='*cuda*:stream.items*:buffer.carries*' >"$OUT/${tool%% *}.log" 2>&1; local code=$?
      grep -E "ERROR SUMMARY|RACECHECK SUMMARY|PASSED|FAILED" "$OUT/${tool%% *}.log" | head; return $code; }
    part "${tool%% *}" check
  done
else
  echo "== no compute-sanitizer here: memcheck and racecheck are left out"
fi
part "benchmark" timeout 200 "$BUILD/bin/bench_gpu_micro" --json "$OUT/gpu.json"
if [ ${#failed[@]} != 0 ]; then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
