#!/bin/sh
# One call of the compiler, as in a Makefile. Usage: pkg_config.sh CXX CXXFLAGS PREFIX SOURCE OUTPUT
set -eu
PKG_CONFIG_PATH=$(dirname "$(find "$3" -name parallax.pc)")
export PKG_CONFIG_PATH
pkg-config --print-errors --exists 'parallax >= 0.1'
flags=$(pkg-config --cflags --libs parallax)
echo "parallax.pc says: $flags"
# shellcheck disable=SC2086 # words are meant
"$1" -std=c++20 $2 "$4" -o "$5" $flags
"$5"
