#!/usr/bin/env bash
# The bytes that goss-train reports are those that rank 0's network interface counts, whatever the ranks exchange. What two
# ranks receive for the synchronizer is as much as they send, so that the bytes received are compared, too.
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
counted() { ip netns exec "gb$$-0" cat "/sys/class/net/gb$$a/statistics/$1_bytes"; } # tx or rx

# sum KEY...: of run/run.json.
sum() { python3 -c 'import json, sys; c = json.load(open("run/run.json")); print(sum(c[key] for key in sys.argv[1:]))' "$@"; }
# compare WHAT FLAG...: a run of two ranks; what rank 0 and its interface say that it sent and received.
compare() {
  local what=$1 sent received rank
  shift
  rm -rf run saved
  sent=$(counted tx) received=$(counted rx)
  for rank in 1 0; do
    RANK=$rank timeout 60 ip netns exec "gb$$-$rank" "$train" --data text --layers 2 --channels 64 --heads 2 --context 16 --batch 4 \
      --steps 24 --warmup 2 --val-every 0 --val-samples 4 --sample 0 --checkpoint saved --checkpoint-every 8 --run run "$@" \
      >"$rank.log" 2>&1 &
  done
  await_both
  agree "$what: bytes sent" "$(sum wire_bytes checkpoint_bytes message_bytes)" $(($(counted tx) - sent))
  agree "$what: bytes received" "$(sum wire_bytes checkpoint_bytes_received message_bytes_received)" $(($(counted rx) - received))
}
# agree WHAT REPORTED COUNTED: to 2 %.
agree() {
  echo "$1: $2 reported, $3 counted"
  check "$1 are in the report" between "$(awk "BEGIN { print 0.98 * $3 }")" "$2" "$(awk "BEGIN { print 1.02 * $3 }")"
}
await_both() {
  wait %1 && wait %2 || { echo "FAIL a run"; tail -n 5 ./*.log; exit 1; }
}

compare "gradients in every step" --sync ddp
compare "differences, and checkpoints of ranks that differ" --sync diloco:h=7
# Each rank writes its own part of 3 checkpoints, so that hashes and names cross, far from a vector of the model: layers alone have
# 12 C^2 parameters of 4 bytes.
most=$((4 * 2 * 12 * 64 * 64 / 20))
for key in checkpoint_bytes checkpoint_bytes_received; do
  check "$key: $(sum $key), from 1 to $most" between 1 "$(sum $key)" "$most"
done
finish
