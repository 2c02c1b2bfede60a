#!/bin/sh
# The parquet equations on a machine with an NVIDIA GPU: its operations and runs beside the CPU's, and the benchmark, in
# under two minutes on a machine with an H200. A part that fails is reported; everything is in OUT.
#   sh bench/gpu/parquet_on_card.sh OUT          from the root of the repository; builds there, or takes the programs in BIN
#                                                environment: BIN; NC (64,128,256,512); CMAKE_ARGS, ARCH (90), BUILD;
#                                                DEVICE (cuda; emulated: to try this script without a card)
#   sh bench/gpu/parquet_on_card.sh --pack FOLDER BIN   copies the programs in BIN, their libraries and this script, for a
#                                                machine without compiler; there: sh FOLDER/run.sh OUT
set -u
programs="gpu_operations_test parquet_test plx-parquet bench_gpu_parquet"
usage() { echo "usage: $0 OUT, or $0 --pack FOLDER BIN" >&2; exit 2; }

if [ "${1:-}" = --pack ]; then
  [ $# -eq 3 ] || usage
  mkdir -p "$2/bin" "$2/lib" || exit 1
  for p in $programs; do
    strip -o "$2/bin/$p" "$3/$p" || exit 1
    # Those of the system's own C and C++ compiler stay.
    ldd "$3/$p" | awk '$3 ~ /^\// { print $3 }' | grep -vE '/(libc|libm|libdl|librt|libresolv|libpthread|libstdc\+\+|libgcc_s|libcuda)\.so' |
      xargs -r cp -Lnt "$2/lib"
  done
  cp inputs/parquet/2x2.toml "$2" && cp "$0" "$2/run.sh" || exit 1
  du -sh "$2"
  exit 0
fi

[ $# -eq 1 ] || usage
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd)
failed=
begin=$(date +%s)
# run NAME PATTERN COMMAND: writes the output to OUT/NAME.log, prints its lines with PATTERN, and its end on failure.
run() {
  name=$1 pattern=$2
  shift 2
  "$@" > "$out/$name.log" 2>&1
  code=$?
  printf '== %s: %s, at %d s\n' "$name" "$([ $code -eq 0 ] && echo ok || echo "FAILED with code $code")" $(($(date +%s) - begin))
  grep -E "$pattern" "$out/$name.log" | head -n 60
  [ $code -eq 0 ] || { failed="$failed $name"; tail -n 30 "$out/$name.log"; }
}

device=${DEVICE:-cuda}
backend=cuda quick=
[ "$device" = cuda ] || backend=cpu quick=--quick
input=inputs/parquet/2x2.toml
libraries=${LD_LIBRARY_PATH:-}
if [ -d "$here/bin" ]; then  # made by --pack
  bin=$here/bin input=$here/2x2.toml libraries="$here/lib:$libraries"
elif [ -n "${BIN:-}" ]; then
  bin=$BIN
else
  bin=${BUILD:-$out/build}/bin
  . bench/gpu/configure.sh
  configure "$out" "${BUILD:-$out/build}" -DPLX_BUILD_EXAMPLES=OFF || exit 1
  # shellcheck disable=SC2086  # several words
  run build warning cmake --build "${BUILD:-$out/build}" --target $programs
  [ -z "$failed" ] || exit 1
fi
# cuBLAS may come with the toolkit or with a Python package.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib \
  /opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib /usr/local/lib/python3*/*-packages/nvidia/*/lib; do
  if ls "$folder"/libcublas.so.1[0-9] > /dev/null 2>&1; then
    libraries="$libraries:$folder"
    echo "== cuBLAS: $folder"
    break
  fi
done
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader 2> /dev/null
# limited SECONDS PROGRAM ARGUMENTS: with the libraries
limited() {
  seconds=$1
  shift
  timeout "$seconds" env LD_LIBRARY_PATH="$libraries" "$@"
}

for row in weigh multiply symmetrize_slab rotate subtract dot mix; do
  run "table-$row" "rows on $backend|FAILED" limited 30 "$bin/gpu_operations_test" --gtest_brief=1 --backend "$backend" --only "$row/"
  grep -q "rows on $backend" "$out/table-$row.log" || { echo "== $row: no row ran on $backend"; failed="$failed $row"; }
done
run tests 'tests ran|PASSED|FAILED' limited 90 env PLX_SEEDS=5 "$bin/parquet_test" --gtest_brief=1 \
  --gtest_filter='StreamedProducts.*:SolverOnDevice.*:ParquetOperations.*'

# A run on the CPU and on the card: results within loop.tolerance; then two processes on it, if mpirun is there.
rm -rf "$out/cpu" "$out/one" "$out/two"
run cpu extrapolated limited 60 "$bin/plx-parquet" "$input" --quiet --out "$out/cpu"
run one extrapolated limited 60 "$bin/plx-parquet" "$input" --quiet --out "$out/one" --set "run.device=$device"
if command -v mpirun > /dev/null; then
  run two extrapolated timeout 60 mpirun --allow-run-as-root --oversubscribe -n 2 env LD_LIBRARY_PATH="$libraries" \
    "$bin/plx-parquet" "$input" --quiet --out "$out/two" --set "run.device=$device" --threads 2
fi
for d in one two; do
  [ -f "$out/$d/self_energy.csv" ] || continue
  # shellcheck disable=SC2016  # the program of awk
  run "compare-$d" . awk -F, 'NR == FNR { for (i = 1; i <= NF; ++i) v[FNR, i] = $i; n = FNR; next }
    { for (i = 1; i <= NF; ++i) { d = $i - v[FNR, i]; if (d < 0) d = -d; if (d > most) most = d } m = FNR }
    END { printf "largest difference of self_energy.csv: %.3g in %d lines\n", most, m; exit !(n == m && m > 9 && most < 1e-6) }' \
    "$out/cpu/self_energy.csv" "$out/$d/self_energy.csv"
done

run bench '.' limited 170 "$bin/bench_gpu_parquet" --backend "$backend" --nc "${NC:-64,128,256,512}" --json "$out/gpu_parquet.json" \
  ${quick:+"$quick"}
for row in symmetrize_slab rotate dot mix; do
  [ "$device" = cuda ] || break
  run "perf-$row" '/' limited 30 "$bin/gpu_operations_test" --perf --backend cuda --only "$row/"
done
printf '== all: %s, %d s; logs: %s\n' "$([ -z "$failed" ] && echo passed || echo "FAILED:$failed")" $(($(date +%s) - begin)) "$out"
[ -z "$failed" ]
