#!/bin/sh
# The verification problems of plx-star on a machine with an NVIDIA GPU, each compared with the CPU: the same tree at
# every step, drift of totals, bounds of the exact solutions. With `both`, also with blocks divided between the GPU and
# the workers: its tests, and ms per step by share. Run it from the root of the repository.
#   sh bench/gpu/validate_on_card.sh OUT [both]   environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90), BUILD
#                                       (a folder, OUT/build), DEVICE (cuda; emulated: to try this script without)
set -u
case "$# ${2:-both}" in [12]" both") ;; *) echo "usage: $0 OUT [both]" >&2; exit 2 ;; esac
also=${2:-}
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
build=${BUILD:-$out/build}
device=${DEVICE:-cuda}
begin=$(date +%s)
. bench/gpu/configure.sh
if [ "$device" = cuda ]; then configure "$out" "$build" -DPLX_BUILD_EXAMPLES=OFF || exit 1; fi
cmake --build "$build" --target validation_device_test ${also:+plx-star star_test} > "$out/build.log" 2>&1 || { tail -n 60 "$out/build.log"; exit 1; }
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

PLX_STAR_TEST_DEVICE=$device timeout 100 "$build/bin/star_test" --gtest_brief=1 --gtest_filter='SharedCourse.*' \
  > "$out/shared_course.log" 2>&1 || code=1
tail -n 4 "$out/shared_course.log"
# share NAME SETTINGS...: ms per step, from the second row of history.csv on, and the owners of the blocks.
share() {
  name=$1
  shift
  sets=
  for s in "$@"; do sets="$sets --set $s"; done
  rm -rf "$out/run.$name"
  timeout 60 "$build/bin/plx-star" inputs/sedov.toml $sets --set "mesh.lower=[-0.5,-0.5,-0.5]" \
    --set "mesh.upper=[0.5,0.5,0.5]" --set "mesh.root_blocks=[8,8,8]" --set mesh.max_level=0 --set run.t_end=1 \
    --set "run.max_steps=${STEPS:-240}" --set "output.history_interval=${ROWS:-60}" --quiet --out "$out/run.$name" \
    > "$out/run.$name.log" 2>&1 || { code=1; tail -n 5 "$out/run.$name.log"; return; }
  awk -F, -v what="$name" 'NR == 3 { s = $1; w = $7 } END { printf "%-24s %8.3f ms a step", what, 1e3 * ($7 - w) / ($1 - s) }' \
    "$out/run.$name/history.csv"
  grep advanced_blocks "$out/run.$name/run.json" || echo
}
for scheme in faces full3d; do
  share "$scheme.cpu" "hydro.scheme=$scheme" run.device=cpu
  for part in 1 1.0 0.95 0.9 0.8 auto; do
    share "$scheme.$part" "hydro.scheme=$scheme" "run.device=$device" "run.device_share=$part"
  done
done
printf '== all: %s, %d s\n' "$([ $code -eq 0 ] && echo passed || echo FAILED)" $(($(date +%s) - begin))
exit $code
