#!/bin/sh
# One call of the compiler, as in a Makefile. Usage: pkg_config.sh CXX CXXFLAGS PREFIX SOURCE OUTPUT
set -eu
PKG_CONFIG_PATH=$(dirname "$(find "$3" -name parallax.pc)")
export PKG_CONFIG_PATH
pkg-config --print-errors --exists 'parallax >= 0.1'
flags=$(pkg-config --cflags --libs parallax)
echo "parallax.pc says: $flags"
# Without this option, a large frame of a task could step over the guard below its stack.
page_option=-fstack-clash-protection
if "$1" -Werror $page_option -x c++ -c /dev/null -o /dev/null 2> /dev/null; then
  echo "$flags" | grep -q -e $page_option
fi
# shellcheck disable=SC2086 # word splitting is intended
"$1" -std=c++20 $2 "$4" -o "$5" $flags
"$5"

# A C compiler, for programs that only measure themselves; and plx-exec, if it is installed.
flags=$(pkg-config --cflags --libs parallax-probe)
# shellcheck disable=SC2086
cc -std=c99 -Wall -Wextra -Werror "$(dirname "$4")/any_program.c" -o "$5_c" $flags
rm -rf "$5_run" "$5_exec"  # of an earlier run
PLX_PROFILE=csv PLX_OUTPUT="$5_run" "$5_c"
grep -q '^work,1,' "$5_run/profile.csv"
if [ -x "$3/bin/plx-exec" ]; then
  "$3/bin/plx-exec" -q -o "$5_exec" "$5_c"
  grep -q '^work,1,' "$5_exec/profile.csv"
fi
