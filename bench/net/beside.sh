#!/usr/bin/env bash
# bench/net/beside.sh [FOLDER OF PROGRAMS]: calls between two processes compared with UCX and MPI in the same jobs, in
# half a minute, with existing programs: for machines where `./plx bench net` cannot build, or takes too long.
set -u
bin=${1:-build/release/bin}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
part() { timeout 30 mpirun --oversubscribe -n 2 "$bin/bench_net" inside "$@"; }
part all_reduce
PLX_SHARED_MEMORY=off part all_reduce --suffix _by_messages
part round_trip
part bandwidth
part rates
UCX_TLS=tcp,self part round_trip --suffix _tcp
