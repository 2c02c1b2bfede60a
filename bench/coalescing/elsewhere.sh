#!/bin/sh
# The experiments of docs/coalescing.md on a machine without a build, in parts (traffic: about six minutes): prints
# tables, and packs measurements, numbers and plots (if matplotlib is available) into OUT/coalescing-PART.tgz.
#   ./plx bench --pack PROGRAMS coalescing                        where it was built
#   bench/coalescing/elsewhere.sh PROGRAMS OUT sweeps|traffic|bytes   there: needs sh, mpirun, Python 3.9, this checkout
set -eu
[ $# -eq 3 ] || { echo "usage: $0 PROGRAMS OUT sweeps|traffic|bytes" >&2; exit 2; }
case $3 in
  sweeps) only=toy,change,rotation32,rotation64,rotation128 ;;
  traffic) only=phases-toy,phases-rotation,repeats-toy,repeats-rotation ;;
  bytes) only=packed,rows256,carrier ;;
  *) echo "$0: '$3': expected sweeps, traffic or bytes" >&2; exit 2 ;;
esac
out=$2/$3
mkdir -p "$out"
cd "$(dirname "$0")/../.."
python3 bench/harness/run_bench.py coalescing --bin "$1" --out "$out" --only "$only" --json "$out/coalescing.json"
tar -C "$out" -czf "$2/coalescing-$3.tgz" .
echo "written: $2/coalescing-$3.tgz"
