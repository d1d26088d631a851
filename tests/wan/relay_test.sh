#!/usr/bin/env bash
# Four hosts, of which two can only call out, as behind NAT: they reduce with TLS, and between the two a third one relays.
#   relay_test.sh PATH_OF_goss-wanem PATH_OF_goss-keys PATH_OF_goss-bench PATH_OF_shrink_rank PATH_OF_measure_rank
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
keys=$(readlink -f "$2")
bench=$(readlink -f "$3")
shrink_rank=$(readlink -f "$4")
measure_rank=$(readlink -f "$5")
export keys bench shrink_rank measure_rank
make_scratch

cat >"$scratch/script" <<'S'
. "$emulated"
cd "$scratch"
"$keys" psk run.key >keys 2>&1
export GOSS_TLS=psk:$scratch/run.key WORLD_SIZE=4 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 GOSS_BOOTSTRAP_TIMEOUT_MS=30000 GOSS_LOG=info
# on RANK COMMAND...: runs it as that rank on its host, with its output in $scratch/RANK.
on() { RANK=$1 exec ip netns exec "$WANEM_PREFIX$1" timeout 40 "${@:2}" >"$scratch/$1" 2>&1; }
pids=()
start() {
  pids=()
  for rank in 0 1 2 3; do
    (on $rank "$@") &
    pids+=($!)
  done
}

start "$bench" allreduce -m 64K:4M -i 3 -x 1 -c
await "${pids[@]}"
expect "hosts behind NAT reduce with the others" works
relay=$(grep -ohE 'relays between rank (1 and rank 2|2 and rank 1)' 0 3 | wc -l)
# On a busy machine both may be asked in time.
expect "one of the others relays between them" [ "$relay" -ge 1 ]
expect "both say which one" says "1 2" 'the link to rank [12] is relayed by rank [03]' 1
expect "no other link is relayed" eval '! grep -hE "is relayed by" 0 3'
expect "and nobody was refused" eval '! grep -h "refused" 0 1 2 3'

GOSS_MEASURE=off start "$measure_rank"
await "${pids[@]}"
expect "they measure their links" works
expect "and see which one is relayed, and by whom" grep -qE '^# The link between rank 1 and rank 2 is relayed by rank [03]\.$' "$scratch/0"
expect "and no other" [ "$(grep -c 'is relayed by' "$scratch/0")" = 1 ]

start "$shrink_rank" 65536 1
expect "they run again" says "0 1 2 3" '^ready' 200
relay=$(grep -ohE 'the link to rank 2 is relayed by rank [03]' 1 | grep -oE '[03]$' | head -n 1)
kill -9 "$(pgrep -P "${pids[${relay:-0}]}" -f shrink_rank || echo "${pids[${relay:-0}]}")"
expect "when the relay is killed, both name it" says "1 2" "^failed .*rank ${relay:-none}" 50
S
printf '%s\n' '* * bw=200 delay=5' 'set-host 1 inbound=0' 'set-host 2 inbound=0' >"$scratch/links"
emulate --prefix "gn$$t" --hosts 4 --links "$scratch/links" --timeout 100
finish_report 10
