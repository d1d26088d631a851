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
scratch=$(mktemp -d)
export keys bench shrink_rank measure_rank scratch
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/script" <<'S'
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
# says RANKS PATTERN TENTHS: whether they all say so in that time.
says() {
  local rank left=$3
  for rank in $1; do
    until grep -qE -- "$2" "$scratch/$rank"; do
      [ $((left--)) -gt 0 ] || return 1
      sleep 0.1
    done
  done
}
expect() { if "${@:2}"; then echo "ok   $1"; else echo "FAIL $1"; tail -n 6 "$scratch"/[0-3]; fi; }

start "$bench" allreduce -m 64K:4M -i 3 -x 1 -c
worked=1
for pid in "${pids[@]}"; do wait "$pid" || worked=0; done
expect "hosts behind NAT reduce with the others" [ $worked = 1 ]
relay=$(grep -ohE 'relays between rank (1 and rank 2|2 and rank 1)' 0 3 | wc -l)
# On a busy machine both may be asked in time.
expect "one of the others relays between them" [ "$relay" -ge 1 ]
expect "both say which one" says "1 2" 'the link to rank [12] is relayed by rank [03]' 1
expect "no other link is relayed" eval '! grep -hE "is relayed by" 0 3'
expect "and nobody was refused" eval '! grep -h "refused" 0 1 2 3'

start "$measure_rank"
worked=1
for pid in "${pids[@]}"; do wait "$pid" || worked=0; done
expect "they measure their links" [ $worked = 1 ]
expect "and see which one is relayed, and by whom" grep -qE '^# The link between rank 1 and rank 2 is relayed by rank [03]\.$' "$scratch/0"
expect "and no other" [ "$(grep -c 'is relayed by' "$scratch/0")" = 1 ]

start "$shrink_rank" 65536 1
expect "they run again" says "0 1 2 3" '^ready' 200
relay=$(grep -ohE 'the link to rank 2 is relayed by rank [03]' 1 | grep -oE '[03]$' | head -n 1)
kill -9 "$(pgrep -P "${pids[${relay:-0}]}" -f shrink_rank || echo "${pids[${relay:-0}]}")"
expect "when the relay is killed, both name it" says "1 2" "^failed .*rank ${relay:-none}" 50
S
printf '%s\n' '* * bw=200 delay=5' 'set-host 1 inbound=0' 'set-host 2 inbound=0' >"$scratch/links"
"$wanem" run --prefix "gn$$t" --hosts 4 --links "$scratch/links" \
  --timeout 100 -- bash "$scratch/script" 2>"$scratch/errors" | tee "$scratch/report"
if grep -q OVERLOADED "$scratch/errors"; then echo "     (overloaded)"; fi
passed=$(grep -c '^ok' "$scratch/report")
failed=$(grep -c '^FAIL' "$scratch/report")
[ "$passed" = 10 ] || failed=$((failed + 1))
finish
