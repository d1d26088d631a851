#!/usr/bin/env bash
# What goss_comm_measure_links says of emulated links whose delay and bandwidth are known.
#   links_test.sh PATH_OF_goss-wanem PATH_OF_measure_rank PATH_OF_goss-explain
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
rank=$(readlink -f "$2")
explain=$(readlink -f "$3")
export GOSS_MEASURE=off # The ranks measure themselves.
prefix=gl$$t
make_scratch

# Ranks 2 and 3 are far from each other, and the link of 0 and 1 is thin.
printf '%s\n' '* * bw=200 delay=10' '0 1 bw=20 delay=10' '2 3 bw=200 delay=30' >"$scratch/links"
cat >"$scratch/rank" <<'R'
RANK=$WANEM_RANK WORLD_SIZE=$WANEM_HOSTS MASTER_ADDR=10.77.0.1 MASTER_PORT=29400 exec "$1"
R

# of FROM TO: latency in us and bandwidth in MB/s of this pair.
of() { awk -v from="$1" -v to="$2" '$1 == "pair" && $2 == from && $4 == to { print $6 + 0, $8 + 0 }' "$scratch/out"; }

# within FROM TO: this pair's figures in $latency and $rate, and whether they may be true. Other programs on this machine make
# links slower, and what a link or a rank held back then arrives at once.
within() {
  local delay=9900 most=250
  case "$1$2" in
    23 | 32) delay=29000 ;;
    01 | 10) most=25 ;;
  esac
  read -r latency rate < <(of "$1" "$2")
  between $delay "${latency:-0}" 1000000 && between 0.001 "${rate:-0}" $most
}

all_within() {
  local from to
  for from in 0 1 2 3; do
    for to in 0 1 2 3; do
      [ $from = $to ] || within $from $to || return 1
    done
  done
}

for _ in 1 2 3; do # who was held back for a moment may try again; who fails may not
  "$wanem" run --prefix $prefix --hosts 4 --links "$scratch/links" --timeout 60 --each -- bash "$scratch/rank" "$rank" \
    >"$scratch/out" 2>"$scratch/errors"
  status=$?
  [ $status = 0 ] && ! all_within || break
done
cat "$scratch/out"
check "all ranks measure, and reduce by what they have measured" [ $status = 0 ]
[ $status = 0 ] || cat "$scratch/errors"

for from in 0 1 2 3; do
  for to in 0 1 2 3; do
    [ $from = $to ] && continue
    check "$from -> $to" within $from $to
    echo "     ${latency:-no} us, ${rate:-no} MB/s"
  done
done

# plan OPTIONS_OF_goss-wanem...: what the planner takes for 64 MiB by what was measured there, and the port of rank 0 in MB/s.
plan() {
  "$wanem" run --prefix $prefix --hosts 4 "$@" --timeout 60 --each -- bash "$scratch/rank" "$rank" >"$scratch/out" 2>"$scratch/errors"
  echo "$("$explain" allreduce --links "$scratch/out" --ranks 4 --bytes 64M | awk '/^algorithm/ { getline; print $1 }')" \
    "$(awk '$1 == "node" && $2 == 0 { print $4 + 0 }' "$scratch/out")"
}

# plans ALGORITHM LOW HIGH OPTIONS...: whether it takes that, and the port lies within; up to three runs.
plans() {
  local algorithm=$1 low=$2 high=$3 taken port
  shift 3
  for _ in 1 2 3; do
    read -r taken port < <(plan "$@")
    [ "$taken" = "$algorithm" ] && between "$low" "${port:-0}" "$high" && return 0
  done
  echo "     $taken, a port of ${port:-no} MB/s"
  cat "$scratch/out" "$scratch/errors"
  return 1
}

check "hosts with a line each send to all at once" plans direct 8 18 --up 100 --down 100 --delay 10
printf '%s\n' '0 1 bw=500' '2 3 bw=500' '0 2 bw=100' '1 3 bw=100' '1 2 bw=50' '0 3 bw=5' >"$scratch/links"
check "two sites use all paths between them" plans site-pairs 60 300 --links "$scratch/links" --delay 10
finish
