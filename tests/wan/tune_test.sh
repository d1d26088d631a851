#!/usr/bin/env bash
# goss-tune over a long way ends in time, says meanwhile what it does, and writes what it has whatever ends it.
#   tune_test.sh PATH_OF_goss-wanem PATH_OF_goss-tune
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
tune=$(readlink -f "$2")
export tune
make_scratch

cat >"$scratch/script" <<'S'
. "$emulated"
cd "$scratch"
export WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 GOSS_BOOTSTRAP_TIMEOUT_MS=30000 GOSS_SILENCE_MS=5000
# start FILE SECONDS: both ranks; their numbers in $root and $other.
start() {
  rm -f 0 1
  RANK=0 ip netns exec "${WANEM_PREFIX}0" "$tune" -o "$1" --seconds "$2" >0 2>&1 &
  root=$!
  RANK=1 ip netns exec "${WANEM_PREFIX}1" "$tune" -o "$1" --seconds "$2" >1 2>&1 &
  other=$!
}
# ends: both have; $status is that of rank 0.
ends() { wait "$root"; status=$?; wait "$other"; }
has() { tr -d ' \n' <"$1" | grep -E "$2" >/dev/null; }

start whole 12
ends
expect "80 ms away all is measured in 12 s" [ "$status" = 0 ]
expect "with a line of progress a second" [ "$(grep -c 'goss-tune: .* s of at most 12: ' 0)" -ge 3 ]
# Half of a round trip is 40 ms and more where other programs have the processors.
expect "the latency is that of the way" has whole '"latency_s":0\.0[4-9]'
expect "and the other figures are there" has whole '"overhead_s":.*"bandwidth_bytes_per_s"'

"$WANEM" ctl --prefix "$WANEM_PREFIX" set 0 1 bw=0.2 >ctl
start late 8
ends
expect "over a line that is too slow it ends when its time is over" grep -q '8 s are over' 0
expect "with what it has" eval '[ $status = 0 ] && has late latency_s && ! has late bandwidth_bytes_per_s'

start ended 300
expect "it goes on for longer when it may" says 0 'network bandwidth' 600
kill -TERM "$root"
ends
expect "a signal ends it with what it has" eval '[ $status = 143 ] && has ended latency_s && ! has ended bandwidth_bytes_per_s'

start broken 300
says 0 'network bandwidth' 600
kill -9 "$other"
ends
expect "so does the loss of a rank" eval '[ $status = 1 ] && has broken latency_s && ! has broken bandwidth_bytes_per_s'
expect "nothing is left beside the files" [ "$(ls | grep -c -E '^(whole|late|ended|broken)\.')" = 0 ]
S
emulate --prefix "gu$$t" --hosts 2 --bw 50 --delay 40 --timeout 180
finish_report 10
