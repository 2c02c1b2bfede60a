#!/bin/sh
# On a machine with an NVIDIA GPU: builds only the parts for devices, tests and measures them. Run it from the root of
# the repository; it prints a summary, everything is in OUT.
#   sh bench/gpu/card.sh OUT [PART ...]     parts: test table sanitize perf micro star regrid gravity ladder timeline;
#                                            default: all
#   environment: CMAKE_ARGS (such as -DBoost_DIR=...), ARCH (90), BUILD (OUT/build); MICRO_ARGS (--no-batches: futures
#   only), LADDER_SECONDS (0.1, of each number), LADDER_WORKERS (1,4,8,16)
set -u
[ $# -ge 1 ] || { echo "usage: $0 OUT [test|table|sanitize|perf|micro|star|regrid|gravity|ladder|timeline ...]" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
parts=" ${*:-test table sanitize perf micro star regrid gravity ladder timeline} "
for name in $parts; do
  case $name in test | table | sanitize | perf | micro | star | regrid | gravity | ladder | timeline) ;; *) echo "$0: '$name': no such part" >&2; exit 2 ;; esac
done
build=${BUILD:-$out/build}
bin=$build/bin
failed=
begin=$(date +%s)
PATH=$PATH:/usr/local/cuda/bin
# run NAME PATTERN COMMAND: writes the output to OUT/NAME.log, prints its lines with PATTERN, and its end on failure.
run() {
  name=$1 pattern=$2
  shift 2
  "$@" > "$out/$name.log" 2>&1
  code=$?
  printf '== %s: %s, at %d s\n' "$name" "$([ $code -eq 0 ] && echo ok || echo "FAILED with code $code")" $(($(date +%s) - begin))
  grep -E "$pattern" "$out/$name.log" | head -n 60
  [ $code -eq 0 ] || { failed="$failed $name"; tail -n 40 "$out/$name.log"; }
}

. bench/gpu/configure.sh
configure "$out" "$build" -DPLX_BUILD_EXAMPLES=OFF || exit 1
grep -E '^-- (CUDA|without CUDA)' "$out/configure.log"
targets=
asked() { case $parts in *" $1 "*) ;; *) return 1 ;; esac; }
asked test && targets="$targets gpu_test star_device_test ladder_test"
{ asked table || asked sanitize || asked perf; } && targets="$targets gpu_operations_test"
for name in micro star regrid gravity ladder timeline; do asked $name && targets="$targets bench_gpu_$name"; done
# shellcheck disable=SC2086  # several words
run build 'warning' cmake --build "$build" --target $targets
[ -z "$failed" ] || exit 1
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader

# A missing device of the cuda backend is a failure: no test may be skipped.
if asked test; then
  run gpu_test 'tests ran|PASSED|FAILED' timeout 120 "$bin/gpu_test" --gtest_brief=1
  run star_device_test 'tests ran|PASSED|FAILED' timeout 120 "$bin/star_device_test" --gtest_brief=1
  run ladder_test 'tests ran|PASSED|FAILED' timeout 120 "$bin/ladder_test" --gtest_brief=1
fi
if asked table; then
  run table 'rows on|PASSED|FAILED' timeout 60 "$bin/gpu_operations_test" --gtest_brief=1
  grep -q 'rows on cuda' "$out/table.log" || { echo "== table: no row ran on cuda"; failed="$failed table"; }
fi
if asked sanitize; then
  for tool in memcheck racecheck; do
    run $tool 'SUMMARY|rows on|PASSED|FAILED' timeout 120 compute-sanitizer --tool $tool --error-exitcode 7 \
      "$bin/gpu_operations_test" --backend cuda --guard 0 --gtest_brief=1
  done
fi
if asked perf; then run perf '.' timeout 90 "$bin/gpu_operations_test" --perf --backend cuda; fi
# shellcheck disable=SC2086
if asked micro; then run micro 'is better' timeout 60 "$bin/bench_gpu_micro" --backend cuda ${MICRO_ARGS:-} --json "$out/gpu_micro.json"; fi
if asked star; then run star '.' timeout 90 "$bin/bench_gpu_star" --backend cuda --json "$out/gpu_star.json"; fi
# A regrid check that changes nothing, some seconds.
if asked regrid; then run regrid '.' timeout 60 "$bin/bench_gpu_regrid" --backend cuda --json "$out/gpu_regrid.json"; fi
if asked gravity; then run gravity '.' timeout 180 "$bin/bench_gpu_gravity" --backend cuda --json "$out/gpu_gravity.json"; fi
# Short: a tenth of a second per number, about 25 s.
if asked ladder; then
  run ladder '.' timeout 60 "$bin/bench_gpu_ladder" --backend cuda --seconds "${LADDER_SECONDS:-0.1}" \
    --workers "${LADDER_WORKERS:-1,4,8,16}" --csv "$out/gpu_ladder.csv" --json "$out/gpu_ladder.json"
fi
# Cost of timelines, correctness of their lanes, events compared with CUPTI's records. Fails if a lane is wrong.
if asked timeline; then
  run timeline '.' timeout 120 "$bin/bench_gpu_timeline" --backend cuda --json "$out/gpu_timeline.json"
fi
printf '== all: %s, %d s; logs: %s\n' "$([ -z "$failed" ] && echo passed || echo "FAILED:$failed")" $(($(date +%s) - begin)) "$out"
[ -z "$failed" ]
