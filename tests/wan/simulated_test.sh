#!/usr/bin/env bash
# usage: simulated_test.sh GOSS_WANEM STEP_RANK GOSS_SIM [full]
# Steps over emulated links beside what goss-sim says of them. `full`: three matrices, 4 and 8 ranks, ddp and diloco, within 10 %; else
# one matrix, 4 ranks, ddp, and within 30 % in one of three tries, because others share the machine. One rank a site.
set -euo pipefail
source "$(dirname "$0")/common.sh"
wanem=$1
export rank=$2
simulator=$3
full=${4:-}
require_namespaces
make_scratch
bound=30
[ -z "$full" ] || bound=10
steps=12
skipped=4

# The matrices: what goss-wanem is told, and the same as sites. TCP carries 96.5 % of a line (docs/wan_emulator.md).
links() {
  echo "gossamer-links 1"
  echo "base wan"
}
alike() { # MBIT MS: equal lines
  network=(--up "$1" --down "$1" --delay "$2")
  rate=$(awk -v m="$1" 'BEGIN { printf "%.6gMB/s", m / 8 * 0.965 }')
  sites='{"between": {"base": "wan", "latency": "'$2'ms", "bandwidth": "'$rate'"}, "sites": [{"count": '$ranks', "up": "'$rate'", "down": "'$rate'"}]}'
  prices=$(links; echo "default latency $2ms bandwidth $rate"; for r in $(seq 0 $((ranks - 1))); do echo "node $r up $rate down $rate"; done)
}
regions() { # MBIT NEAR_MS FAR_MS: two regions
  alike "$1" "$3"
  local a b pairs=""
  echo "* * delay=$3" >"$scratch/profile"
  for a in $(seq 0 $((ranks - 1))); do
    for b in $(seq $((a + 1)) $((ranks - 1))); do
      [ $((a < ranks / 2)) = $((b < ranks / 2)) ] || continue
      echo "$a $b delay=$2" >>"$scratch/profile"
      pairs+=", {\"from\": $a, \"to\": $b, \"latency\": \"$2ms\"}"
      prices+=$'\n'"pair $a <-> $b latency $2ms"
    done
  done
  network=(--up "$1" --down "$1" --links "$scratch/profile")
  sites=${sites%\}}', "pairs": ['${pairs#, }']}'
}

errorOf() { awk -v s="$simulated" -v m="$1" 'BEGIN { printf "%.1f", (m + 0 == 0 ? 1e9 : (s / m - 1) * 100) }'; } # MEASURED: per cent
near() { awk -v e="$(errorOf "$1")" -v b=$bound 'BEGIN { exit !(e >= -b && e <= b) }'; }

# compare MATRIX SYNC TENSORS STEP_SECONDS
compare() {
  local measured simulated error
  echo "$sites" >"$scratch/sites.json"
  echo "$prices" >"$scratch/links"
  simulated=$("$simulator" -n "$ranks" --sites "$scratch/sites.json" --sync "$2" --parameters $(($3 * 262144)) --step "$4s" --steps $steps --json |
    sed -n 's/.*"step_s": \([0-9.e+-]*\),.*/\1/p')
  measured=""
  for _ in 1 2 3; do
    # shellcheck disable=SC2016 # for the shell in each host
    measured+="$(GOSS_LINKS=$scratch/links GOSS_TRANSPORT=tcp MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 WORLD_SIZE=$ranks "$wanem" run \
      --prefix gsim --hosts "$ranks" "${network[@]}" --timeout 35 --each -- \
      bash -c 'RANK=$WANEM_RANK exec "$0" "$@"' "$rank" "$2" "$3" 262144 "$4" $((steps + skipped)) $skipped 2>>"$scratch/errors")"$'\n'
    [ -n "$full" ] || ! near "$(tail -n 1 <<<"${measured%$'\n'}")" || break
  done
  if [ -n "$full" ]; then
    measured=$(sort -g <<<"${measured%$'\n'}" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }')
  else
    measured=$(tail -n 1 <<<"${measured%$'\n'}")
  fi
  error=$(errorOf "$measured")
  check "$1, $ranks ranks, $2: measured $measured s, simulated $simulated s: $error %" between "-$bound" "$error" "$bound"
}

for ranks in 4 ${full:+8}; do
  alike 200 20
  compare "200 Mbit/s, 20 ms" ddp 4 0.3
  [ -n "$full" ] || continue
  compare "200 Mbit/s, 20 ms" diloco:h=4 4 0.1
  alike 50 5
  compare "50 Mbit/s, 5 ms" ddp 2 0.3
  compare "50 Mbit/s, 5 ms" diloco:h=4 4 0.1
  regions 200 2 40
  compare "200 Mbit/s, 2 and 40 ms" ddp 4 0.3
  compare "200 Mbit/s, 2 and 40 ms" diloco:h=4 4 0.1
done
finish || { tail -n 20 "$scratch/errors"; exit 1; }
