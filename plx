#!/usr/bin/env bash
# The one command of the project. Each subcommand does its own set-up; see ./plx help.
# Needs bash, python3 (3.9 or newer) and git; everything else it finds, installs, or asks for with the exact command.
set -euo pipefail
export PLX_CALLED_FROM=$PWD
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

help() {
  cat <<'TEXT'
./plx demo [-n N]               build plx-star, run a Sedov blast on an adaptive mesh (on N processes), draw its report
./plx test [-R REGEX]           build what tests need, run them (C++ and Python, not the slow ones), print a summary
           [--sanitize rt|all]  the suites of rt (or all) under ThreadSanitizer and AddressSanitizer instead
           [--all]              build everything, run every test, under every preset (release, debug, asan, tsan)
           [--preset NAME]      another preset than release
           [--seeds N]          so many schedules of the deterministic mode per test (default 200)
./plx bench [NAME...] [--json FILE] [--threads N,...] [--quick]
                                run benchmarks (all, or those named), print a table, write the numbers;
                                rt: the runtime beside oneTBB and OpenMP, with a picture of METG
./plx build [--preset NAME] [TARGET...]
                                configure and build (default: release, everything)
./plx report RUN                draw the report of a run of plx-star (RUN/report.html)
./plx top [URL|HOST:PORT|RUN]   a running program in the terminal (start it with --plx:serve=1 or PLX_SERVE=1)
./plx diagnose RUN [--json]     what held a run up, in at most ten sentences with figures and advice
./plx scale RUN                 replay a run on 2 to 4096 simulated nodes: how it would scale, and why no better
./plx scale check               replays beside real runs on 1, 2, 4 processes here: what do they miss?
./plx compare A B               what changed between two runs: options, physics to the bit, time
./plx lint [CHECK...]           format, layers, text, plain words, cost of headers, reference; --fix formats the sources
./plx docs                      the reference of all public names, made from the headers: build/docs/html/index.html
./plx doctor [TASK]             dependencies found, what each is for, how to get it; TASK (build, ...): those it lacks
./plx help                      this text

Environment:
  CXX, CC            the compiler, e.g. CXX=clang++-16 ./plx test --all; it builds in build/<preset>-clang++-16
  PLX_JOBS           how many compile and test jobs at once (default: all cores this process may use)
  PLX_CMAKE_ARGS     more arguments for cmake, e.g. -DPLX_WARNINGS_AS_ERRORS=ON
  PLX_NO_INSTALL=1   never install anything: say what is missing and stop
Exit codes: 0 fine, 1 something failed, 2 wrong usage or something missing that only you can install.
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
  report | compare | diagnose | top | scale) script=run_parallax; set -- "$command" "$@" ;;
  help | -h | --help) help; exit 0 ;;
  *) echo "plx: '$command' is not a command; expected demo, test, bench, build, report, compare, scale, diagnose, top, lint, docs, doctor or help" >&2; exit 2 ;;
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
