#!/bin/sh
# plx-star on a machine with an NVIDIA GPU: whole runs on `cpu` and on `cuda`, mesh files compared bit by bit, and
# milliseconds per step of both. Run it from the root of the repository; about five minutes on 16 cores with the build.
#   sh bench/gpu/run_on_card.sh OUT     environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90), BUILD (a
#                                       folder, OUT/build), DEVICE (cuda; emulated: to try this script without)
set -u
[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
build=${BUILD:-$out/build}
device=${DEVICE:-cuda}
failed=0
begin=$(date +%s)
say() { printf '== %s (%d s)\n' "$*" $(($(date +%s) - begin)); }
. bench/gpu/configure.sh
if [ "$device" = cuda ]; then configure "$out" "$build" || exit 1; fi
cmake --build "$build" --target plx-star star_test compare_mesh_files > "$out/build.log" 2>&1 ||
  { tail -n 60 "$out/build.log"; exit 1; }
bin=$build/bin
say built
nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.limit --format=csv,noheader 2> /dev/null

# Every step compared with the CPU's: tree, integrator, totals, values; runs resumed from checkpoints on the other
# device.
PLX_STAR_TEST_DEVICE=$device timeout 280 "$bin/star_test" --gtest_brief=1 \
  --gtest_filter='DeviceCourse.*:Gravity.*:PointMass.*:Driving.*:RotatingFrame.*:StarDiagnostics.*:DeviceSpecies.*:DeviceSpin.*:GravityField.*:Tracers.TheBits*' > "$out/test.log" 2>&1 ||
  failed=1
tail -n 12 "$out/test.log"
say "tests, code $failed"

# pair NAME INPUT SETTINGS...: the same run on both devices.
pair() {
  name=$1 input=$2
  shift 2
  for d in cpu "$device"; do
    rm -rf "$out/$name.$d"
    sets=
    for s in "$@"; do sets="$sets --set $s"; done
    timeout 280 "$bin/plx-star" "$input" $sets --set output.precision=double --set "run.device=$d" --quiet \
      --out "$out/$name.$d" > "$out/$name.$d.log" 2>&1 || { failed=1; tail -n 5 "$out/$name.$d.log"; return; }
    # From the second row of history.csv on: the first steps include one-time initialization.
    awk -F, -v what="$name $d" 'NR == 3 { s = $1; w = $7 } END { printf "%-28s %7.3f ms a step, %d steps to step %d, %d blocks, level %d\n",
      what, 1e3 * ($7 - w) / ($1 - s), $1 - s, $1, $4, $6 }' "$out/$name.$d/history.csv"
    grep -E '^star\.device' "$out/$name.$d/profile.csv" | awk -F, '{ printf "    %-26s %6d calls, %8.3f ms in all\n", $1, $2, 1e3 * $4 }'
  done
  for file in "$out/$name.cpu"/mesh/*.athdf; do
    "$bin/compare_mesh_files" "$file" "$out/$name.$device/mesh/$(basename "$file")" > "$out/$name.compare.log" || failed=1
    grep -E "differ|DIFF" "$out/$name.compare.log"
  done
  say "$name: $(ls "$out/$name.cpu/mesh/"*.athdf | wc -l) mesh files compared, code $failed"
}
box="mesh.lower=[-0.5,-0.5,-0.5] mesh.upper=[0.5,0.5,0.5]"
few=${STEPS:-420} # rows at multiples of 60, where no batch of steps is in progress
pair refined inputs/sedov.toml $box "mesh.root_blocks=[4,4,4]" mesh.max_level=2 "run.max_steps=$few" \
  output.history_interval=60 run.t_end=1
pair rows inputs/sedov.toml $box "mesh.root_blocks=[4,4,4]" mesh.max_level=2 "run.max_steps=$few" \
  output.history_interval=1 run.t_end=1
pair uniform512 inputs/sedov.toml $box "mesh.root_blocks=[8,8,8]" mesh.max_level=0 "run.max_steps=$few" \
  output.history_interval=60 run.t_end=1
pair sod inputs/sod.toml run.max_steps=100 output.history_interval=10
# Self-gravity; the rotating frame, in which each run makes the model of the stars first.
pair polytrope inputs/stars/polytrope.toml run.max_steps=20 output.history_interval=5
pair binary inputs/stars/binary.toml binary.tolerance=1e-3 run.max_steps=10 output.history_interval=5
say "all: $([ $failed -eq 0 ] && echo passed || echo FAILED)"
exit $failed
