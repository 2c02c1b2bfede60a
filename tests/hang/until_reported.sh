#!/bin/sh
# Runs the program until it reports why it hangs, however long that takes. Usage: until_reported.sh PROGRAM FILE [SIGNAL]:
# FILE receives the output; SIGNAL is sent once all tasks hang.
# The output of an earlier run must not be matched.
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
