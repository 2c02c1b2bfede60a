#!/usr/bin/env bash
# The one command of the project. Each subcommand does its own set-up; see ./plx help.
# Needs bash, python3 (3.9 or newer) and git; everything else is found or installed, or the command that installs it is printed.
set -euo pipefail
export PLX_CALLED_FROM=$PWD
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

help() {
  cat <<'TEXT'
./plx demo [blast|merger] [-n N]
                                build plx-star, run a Sedov blast on an adaptive mesh (on N processes), draw its report;
                                merger: two stars that merge, with a film (some minutes)
./plx test [-R REGEX]           build what tests need, run them (C++ and Python, not the slow ones), print a summary
           [--sanitize rt|all]  the suites of rt (or all) under ThreadSanitizer and AddressSanitizer instead
           [--all]              build everything, run every test, under every preset (release, debug, asan, tsan)
           [--preset NAME]      another preset than release
           [--seeds N]          schedules of the deterministic mode per test (default 200)
           [--planted [REGEX]]  whether a test fails for each error of tests/planted/errors.py (40 minutes)
./plx bench [NAME...] [--json FILE] [--history FILE] [--threads N,...] [--quick]
                                run benchmarks (all, or those named), print a table, write the numbers, find when they changed;
                                rt: the runtime beside oneTBB and OpenMP, with a picture of METG
./plx build [--preset NAME] [TARGET...]
                                configure and build (default: release, everything)
./plx report RUN                draw the report of a run of plx-star, plx-dca or plx-parquet (RUN/report.html)
./plx top [PID|URL|HOST:PORT|RUN]
                                a running program in the terminal, by its process id or, if it was started with
                                --plx:serve=1 (PLX_SERVE=1), by the URL that it printed or its folder
./plx film RUN                  a film of a run: density, temperature, cost of blocks
./plx orbits RUN...             binaries side by side: separation, mass transfer, disruption; --out FILE.png draws them
./plx diagnose RUN [--json]     causes of lost time in a run, in at most ten sentences with figures and advice
./plx what-if RUN [QUESTIONS]   predict from the trace of a run (PLX_TRACE=1) what a change would bring: --workers 8,
                                --scale "TYPE=0.5", --without-locks, ...; without questions, a table of the usual ones
./plx what-if check             compare predictions with really making the changes, on this machine
./plx scale RUN                 replay a run on 2 to 4096 simulated nodes: predicted scaling, and what limits it
./plx scale check               compare replays with real runs on 1, 2 and 4 processes of this machine
./plx compare A B               what changed between two runs: options, physics to the bit, time
./plx lint [CHECK...]           format, layers, text, plain words, cost of headers, reference; --fix formats the sources
./plx docs                      the reference of all public names, made from the headers: build/docs/html/index.html
./plx doctor [TASK]             dependencies: found or missing, purpose, installation; with TASK (build, ...): those missing for it
./plx help                      this text

Environment:
  CXX, CC            the compiler, e.g. CXX=clang++-16 ./plx test --all; it builds in build/<preset>-clang++-16
  PLX_JOBS           number of concurrent compile and test jobs (default: all cores that this process may use)
  PLX_CMAKE_ARGS     additional arguments for cmake, e.g. -DPLX_WARNINGS_AS_ERRORS=ON
  PLX_NO_INSTALL=1   install nothing: list what is missing and stop
Exit codes: 0 success; 1 a failure; 2 wrong usage, or a missing dependency that only you can install.
TEXT
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
  demo) script=run_demo ;;
  test) script=run_tests ;;
  bench) script=../bench/harness/run_bench ;;
  build) script=builds ;;
  lint) script=run_lint ;;
  docs) script=run_docs ;;
  doctor) script=install ;;
  report | film | orbits | compare | diagnose | top | scale | what-if) script=run_parallax; set -- "$command" "$@" ;;
  help | -h | --help) help; exit 0 ;;
  *)
    near=$(python3 -c 'import difflib, sys
print("".join(f"did you mean {n}? " for n in difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1)))' "$command" demo test \
      bench build report film orbits compare scale diagnose what-if top lint docs doctor help 2>/dev/null || true)
    echo "plx: '$command' is not a command; ${near}expected demo, test, bench, build, report, film, orbits, compare, scale, diagnose, what-if, top, lint, docs, doctor or help" >&2
    exit 2 ;;
esac

if ! command -v python3 >/dev/null; then
  echo "plx: python3 is missing. Install it with: sudo apt-get install -y python3" >&2
  exit 2
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
  echo "plx: $(python3 --version 2>&1) is too old; expected Python 3.9 or newer as python3 in PATH" >&2
  exit 2
fi
export PYTHONDONTWRITEBYTECODE=1
exec python3 -B "tools/$script.py" "$@"
