#!/bin/sh
# The verification problems of plx-star on a machine with an NVIDIA card, each beside the CPU: the same tree at every
# step, drift of totals, bounds of the exact solutions. Run it from the root of the repository.
#   sh bench/gpu/star/validate_on_card.sh OUT   environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90), BUILD (a
#                                               folder, OUT/build), DEVICE (cuda; emulated: to try this script without)
set -u
[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
build=${BUILD:-$out/build}
device=${DEVICE:-cuda}
begin=$(date +%s)
if [ "$device" = cuda ]; then
  cmake --preset release -B "$build" -DPLX_CUDA=ON -DPLX_CUDA_ARCHITECTURES="${ARCH:-90}" -DPLX_BUILD_EXAMPLES=OFF \
    ${CMAKE_ARGS:-} > "$out/configure.log" 2>&1 || { tail -n 30 "$out/configure.log"; exit 1; }
fi
cmake --build "$build" --target validation_device_test > "$out/build.log" 2>&1 || { tail -n 60 "$out/build.log"; exit 1; }
printf '== built, %d s\n' $(($(date +%s) - begin))
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null
PLX_STAR_TEST_DEVICE=$device timeout 240 "$build/bin/validation_device_test" > "$out/validation_device.log" 2>&1
code=$?
# Not the rows that say the same for each run, unless they are missed.
grep -vE 'yes +yes$|^\[-|RUN|^Running|^$' "$out/validation_device.log"
printf '== trees and bits that are the same: %d rows; not: %d\n' "$(grep -cE 'yes +yes$' "$out/validation_device.log")" \
  "$(grep -cE 'no +yes' "$out/validation_device.log")"
printf '== verification on %s: %s, %d s with the build\n' "$device" "$([ $code -eq 0 ] && echo passed || echo "FAILED, code $code")" \
  $(($(date +%s) - begin))
exit $code
