#!/usr/bin/env bash
# The bytes that goss-train reports are those that rank 0's network interface counts, whatever the ranks exchange.
#   bytes_test.sh PATH_OF_goss-train
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

train=$(readlink -f "$1")
make_scratch
for host in 0 1; do ip netns add "gb$$-$host"; done
trap 'for host in 0 1; do ip netns del "gb$$-$host"; done; rm -rf "$scratch"' EXIT
ip link add "gb$$a" netns "gb$$-0" type veth peer name "gb$$b" netns "gb$$-1"
for host in 0 1; do
  interface=gb$$$([ $host = 0 ] && echo a || echo b)
  ip -n "gb$$-$host" addr add "10.79.0.$((host + 1))/24" dev "$interface"
  ip -n "gb$$-$host" link set "$interface" up
  ip -n "gb$$-$host" link set lo up
done

cd "$scratch" || exit 1
seq 1 30000 >text
export WORLD_SIZE=2 MASTER_ADDR=10.79.0.1 MASTER_PORT=29500 GOSS_TRANSPORT=tcp
counted() { ip netns exec "gb$$-0" cat "/sys/class/net/gb$$a/statistics/tx_bytes"; }

# compare WHAT FLAG...: a run of two ranks; $report and $counted are what rank 0 and its interface say that it sent.
compare() {
  local what=$1 before rank
  shift
  rm -rf run saved
  before=$(counted)
  for rank in 1 0; do
    RANK=$rank timeout 60 ip netns exec "gb$$-$rank" "$train" --data text --layers 2 --channels 64 --heads 2 --context 16 --batch 4 \
      --steps 24 --warmup 2 --val-every 0 --val-samples 4 --sample 0 --checkpoint saved --checkpoint-every 8 --run run "$@" \
      >"$rank.log" 2>&1 &
  done
  await_both
  counted=$(($(counted) - before))
  report=$(python3 -c 'import json; c = json.load(open("run/run.json")); print(c["wire_bytes"] + c["checkpoint_bytes"] + c["message_bytes"])')
  echo "$what: $report bytes reported, $counted counted"
  check "$what: all bytes are in the report" between "$(awk "BEGIN { print 0.98 * $counted }")" "$report" "$(awk "BEGIN { print 1.02 * $counted }")"
}
await_both() {
  wait %1 && wait %2 || { echo "FAIL a run"; tail -n 5 ./*.log; exit 1; }
}

compare "gradients in every step" --sync ddp
compare "differences, and checkpoints of ranks that differ" --sync diloco:h=7
finish
