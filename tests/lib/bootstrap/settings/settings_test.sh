#!/usr/bin/env bash
# What a setting makes impossible is said at once, on all ranks, with its name and its cause.
#   settings_test.sh PATH_OF_example_torchrun_style
set -uo pipefail
. "$(dirname "$0")/../../../support/free_port.sh"
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

# run [NAME=VALUE of rank 2...]: three ranks on this host, whose output goes to $scratch/RANK; how long they took to $took.
run() {
  local pids=() pid rank begun=$SECONDS
  port=$(free_port)
  for rank in 0 1 2; do
    RANK=$rank WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
      timeout 50 env $([ "$rank" != 2 ] || printf '%s ' "$@") "$program" >"$scratch/$rank" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  took=$((SECONDS - begun))
}

# says RANKS PATTERN WHAT
says() {
  local rank
  for rank in $1; do
    if grep -qE -- "$2" "$scratch/$rank"; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAIL $3, rank $rank: $(cat "$scratch/$rank")"
    fi
  done
}

run GOSS_INTERFACE=nowhere
says 2 'GOSS_INTERFACE: no interface that is up has the name or address "nowhere"' "a wrong interface"
says "0 1" 'rank 2 cannot be reached: tcp could not be opened: GOSS_INTERFACE: no interface' "a wrong interface elsewhere"
[ "$took" -lt 30 ] && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAIL it took $took s"; }

# One port for three ranks that listen on it.
export GOSS_TRANSPORT=tcp
GOSS_PORT_RANGE=$(free_port)
export GOSS_PORT_RANGE=$GOSS_PORT_RANGE-$GOSS_PORT_RANGE
run
cat "$scratch"/[0-2] | grep -E 'cannot be reached: tcp could not be opened: .*[pP]ort' >/dev/null && passed=$((passed + 1)) ||
  { failed=$((failed + 1)); echo "FAIL an exhausted port range is not named: $(cat "$scratch"/[0-2])"; }
unset GOSS_TRANSPORT GOSS_PORT_RANGE

export GOSS_BOOTSTRAP_TIMEOUT_MS=3000 # The others do not hear of a rank that never came.
run GOSS_TSL=psk:key
says 2 'GOSS_TSL is not a setting of Gossamer; the nearest one is GOSS_TLS: correct or unset it' "a misspelt setting"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
