#!/bin/sh
# The report of V1309 Scorpii, docs/v1309.md: the model of the stars, some steps of inputs/stars/v1309.toml, the time of
# each, and the pictures. Run it from the root of the repository.
#   sh bench/gpu/v1309.sh OUT    environment: BIN (build/release/bin), DEVICE (cuda; cpu), LEVEL (10), STEPS (40; >= 2),
#                                MODEL (a file of make-model; else it is made, on LEVEL), THREADS (those of the machine), PYTHON
#                                (python3 with numpy, h5py, matplotlib), MORE (further settings, as "key=value key=value")
# Afterwards OUT has the folder of the run, run/, and beside it numbers.txt, report.html, and pictures: volume.png,
# density.png and sheet.png (slices; with the cost of blocks on CPUs), cost.png, timeline.png, critical_path.png, ...
set -u
[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
bin=${BIN:-build/release/bin}
device=${DEVICE:-cuda} level=${LEVEL:-10} steps=${STEPS:-40} python=${PYTHON:-python3}
model=${MODEL:-$out/v1309-level$level.h5}
[ "$steps" -ge 2 ] 2>/dev/null || { echo "$0: STEPS=$steps: expected at least 2, since the first one is not timed" >&2; exit 2; }
input=inputs/stars/v1309.toml
threads=${THREADS:+--threads $THREADS}

[ -f "$model" ] || "$bin/plx-star" make-model $input --set "mesh.max_level=$level" $threads -o "$model" || exit 1
sets=
for s in ${MORE:-}; do sets="$sets --set $s"; done
"$bin/plx-star" $input --set "binary.model=$model" --set "mesh.max_level=$level" --set "run.device=$device" \
  --set "run.max_steps=$steps" --set output.analysis=[] --set output.precision=single \
  --set output.checkpoint_at_end=false $sets $threads --quiet --out "$out/run" || exit 1

# The first steps include one-time initialization.
awk -F, 'NR == 1 { next } { step[++n] = $1; wall[n] = $7; cells = $5; blocks = $4 }
  END { first = n > 8 ? 5 : 2; s = step[n] - step[first]; w = wall[n] - wall[first]
        printf "%d steps, %d blocks, %d cells at the end\n", step[n], blocks, cells
        printf "steps %d to %d: %.3f s per step, %.3g cell updates/s\n", step[first] + 1, step[n], w / s, cells * s / w }' \
  "$out/run/history.csv" | tee "$out/numbers.txt"
awk -F, 'NR > 1 && !/^"/ { printf "%-32s %7d calls %10.3f s\n", $1, $2, $4 }' "$out/run/profile.csv" | sort -k4 -nr | head -n 16 |
  tee -a "$out/numbers.txt"
report=$(PYTHONPATH=python "$python" -m parallax report "$out/run" --out "$out/report.html") || exit
echo "$report" | tee -a "$out/numbers.txt"
PYTHONPATH=python "$python" -m parallax film "$out/run" --sheet 1 --width 16 --out "$out/sheet.png"
