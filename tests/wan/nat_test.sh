#!/usr/bin/env bash
# Homes behind routers that translate addresses (docs/security.md walks through it): with forwarded ports, advertised or
# not, with none at one end, and with none at two ends but a relay outside.
#   nat_test.sh PATH_OF_goss-wanem PATH_OF_goss-keys PATH_OF_goss-bench
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
keys=$(readlink -f "$2")
bench=$(readlink -f "$3")
export keys bench
make_scratch

# Hosts 0 and 1 are home A, 2 is home B, 3 and 4 have routers that forward nothing, and 5 has no router.
cat >"$scratch/links" <<'L'
* * bw=200 delay=5
nat 0,1 forward=29500:0 forward=31000:0 forward=31001:1
nat 2 forward=31002:2 forward=41000:2:31002
nat 3
nat 4
L
cat >"$scratch/script" <<'S'
. "$emulated"
cd "$scratch"
"$keys" psk run.key >log 2>&1
export GOSS_JOB_ID=homes GOSS_BOOTSTRAP_TIMEOUT_MS=30000 GOSS_LOG=info MASTER_PORT=29500
# rank RANK HOST MASTER_ADDR [NAME=VALUE...]: reduces as that rank on that host, with its output in $scratch/RANK.
rank() {
  exec env RANK="$1" MASTER_ADDR="$3" "${@:4}" ip netns exec "$WANEM_PREFIX$2" timeout 50 \
    "$bench" allreduce -m 64K:1M -i 3 -x 1 -c >"$scratch/$1" 2>&1
}
# reduce: all of the ranks in the lines of $ranks; $worked says whether all ended well.
reduce() {
  local pids=() line
  while read -r line; do
    # shellcheck disable=SC2086
    (rank $line) &
    pids+=($!)
  done <<<"$ranks"
  await "${pids[@]}"
}
relayed() { grep -qhE 'is relayed by' "$scratch"/[0-2]; }

for security in tcp tls; do
  export WORLD_SIZE=3 GOSS_RELAY=off
  unset GOSS_TLS GOSS_TRANSPORT
  if [ $security = tls ]; then export GOSS_TLS=psk:$scratch/run.key; else export GOSS_TRANSPORT=tcp; fi

  ranks="0 0 192.168.77.1 GOSS_ADVERTISE=10.77.0.1:31000
1 1 192.168.77.1 GOSS_ADVERTISE=10.77.0.1:31001
2 2 10.77.0.1 GOSS_ADVERTISE=10.77.0.3:41000 GOSS_PORT_RANGE=31002-31002"
  reduce
  expect "$security: two homes advertise their routers' ports" works

  ranks="0 0 192.168.77.1 GOSS_PORT_RANGE=31000-31000
1 1 192.168.77.1 GOSS_PORT_RANGE=31001-31001
2 2 10.77.0.1 GOSS_PORT_RANGE=31002-31002"
  reduce
  expect "$security: and need not, where ports are forwarded as they are" works

  ranks="0 0 192.168.77.1 GOSS_PORT_RANGE=31000-31000
1 3 10.77.0.1
2 2 10.77.0.1 GOSS_ADVERTISE=10.77.0.3:41000 GOSS_PORT_RANGE=31002-31002"
  reduce
  expect "$security: a home that can only call out trains with those that can be called" works

  export GOSS_RELAY=on
  ranks="0 5 10.77.0.6
1 3 10.77.0.6
2 4 10.77.0.6"
  reduce
  expect "$security: two that can only call out train over a rank outside" works
  expect "$security: which relays between them" relayed
done
S
emulate --prefix "gt$$t" --hosts 6 --links "$scratch/links" --timeout 170
grep -v OVERLOADED "$scratch/errors"
finish_report 10
