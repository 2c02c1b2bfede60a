#!/bin/sh
# The verification problems of plx-star on a machine with an NVIDIA GPU, each compared with the CPU: the same tree at
# every step, drift of totals, bounds of the exact solutions. With `localities`, also the tests of several localities with
# a GPU each, or with a common one. Run it from the root of the repository.
#   sh bench/gpu/validate_on_card.sh OUT [localities]   environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90),
#                                       BUILD (a folder, OUT/build), DEVICE (cuda; emulated: to try this script without)
set -u
case "$# ${2:-localities}" in [12]" localities") ;; *) echo "usage: $0 OUT [localities]" >&2; exit 2 ;; esac
also=${2:-}
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
build=${BUILD:-$out/build}
device=${DEVICE:-cuda}
begin=$(date +%s)
. bench/gpu/configure.sh
if [ "$device" = cuda ]; then configure "$out" "$build" -DPLX_BUILD_EXAMPLES=OFF || exit 1; fi
cmake --build "$build" --target validation_device_test ${also:+star_test} > "$out/build.log" 2>&1 || { tail -n 60 "$out/build.log"; exit 1; }
printf '== built, %d s\n' $(($(date +%s) - begin))
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null
PLX_STAR_TEST_DEVICE=$device timeout 240 "$build/bin/validation_device_test" > "$out/validation_device.log" 2>&1
code=$?
# Omits rows that are equal for each run, unless they fail.
grep -vE 'yes +yes$|^\[-|RUN|^Running|^$' "$out/validation_device.log"
printf '== trees and bits that are the same: %d rows; not: %d\n' "$(grep -cE 'yes +yes$' "$out/validation_device.log")" \
  "$(grep -cE 'no +yes' "$out/validation_device.log")"
printf '== verification on %s: %s, %d s with the build\n' "$device" "$([ $code -eq 0 ] && echo passed || echo "FAILED, code $code")" \
  $(($(date +%s) - begin))
[ -n "$also" ] || exit $code

PLX_STAR_TEST_DEVICE=$device timeout 200 "$build/bin/star_test" --gtest_brief=1 --gtest_filter='DistributedDevice.*' \
  > "$out/distributed_device.log" 2>&1 || code=1
tail -n 4 "$out/distributed_device.log"
printf '== all: %s, %d s\n' "$([ $code -eq 0 ] && echo passed || echo FAILED)" $(($(date +%s) - begin))
exit $code
