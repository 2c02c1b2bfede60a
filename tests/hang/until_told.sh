#!/bin/sh
# Runs the program until it is said why it hangs, however long the machine takes for it. Usage: until_told.sh PROGRAM
# FILE [SIGNAL]: FILE is for what it says; once all hang, SIGNAL is sent.
# What an earlier run has left says nothing.
: > "$2"
"$1" 300 > "$2" 2>&1 &
program=$!
wait_for() {
  while kill -0 $program && ! grep -q "$1" "$2"; do sleep 0.05; done
}
wait_for 'all hang' "$2"
[ -z "$3" ] || kill "-$3" $program
wait_for DEADLOCK "$2"
kill -KILL $program
cat "$2"
