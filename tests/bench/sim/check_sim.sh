#!/usr/bin/env bash
# usage: check_sim.sh GOSS_SIM
# goss-sim as its user runs it: equal runs, what it draws, and what it refuses.
set -euo pipefail
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }

echo '{"between": {"latency": "20ms", "jitter": "5ms"}, "sites": [{"count": 3, "up": "1Gbit/s", "down": "1Gbit/s"}]}' >"$work/sites.json"
arguments=(-n 9 --sites "$work/sites.json" --sync diloco:h=4,codec=int4 --parameters 1e8 --step 2s --steps 12 --churn 20/h --stragglers 0.3:2 --silence 1s --seed 3)
"$sim" "${arguments[@]}" --svg "$work/one.svg" >"$work/one" || fail "exit $?"
"$sim" "${arguments[@]}" --svg "$work/two.svg" >"$work/two"
cmp "$work/one" "$work/two" || fail "equal arguments gave other results"
cmp "$work/one.svg" "$work/two.svg" || fail "equal arguments drew something else"
"$sim" "${arguments[@]::${#arguments[@]}-1}" 4 >"$work/other"
! cmp -s "$work/one" "$work/other" || fail "the seed changes nothing"
grep -q '^recoveries  *[1-9]' "$work/one" || fail "nobody died"
grep -q '</svg>' "$work/one.svg" || fail "no drawing"
"$sim" "${arguments[@]}" --json | python3 -c 'import json, sys; assert json.load(sys.stdin)["ranks"] == 9' || fail "JSON"

refuses() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  if "$sim" "$@" >"$work/out" 2>&1; then fail "$* succeeded"; fi
  grep -q -- "$pattern" "$work/out" || fail "$*: $(cat "$work/out")"
}
refuses "no synchroni" --sync nothing
refuses "needs a time" --step 2
refuses "is not a number" --parameters nan
refuses "needs a rate" --churn often
refuses "not simulate" --sync ddp:codec=powersgd --steps 1
refuses "measures real time" --sync auto
echo '{"sites": [{"ranks": 3}]}' >"$work/few.json"
refuses "do not hold 8 ranks" --sites "$work/few.json"
echo '{"between": {"latency": "20"}}' >"$work/unit.json"
refuses "is not a number" --sites "$work/unit.json"
refuses_sites() { # PATTERN JSON
  echo "$2" >"$work/wrong.json"
  refuses "$1" --sites "$work/wrong.json"
}
refuses_sites "parse error" '{"sites": ['
refuses_sites "must hold an object" '[]'
refuses_sites "is 4294967297, and must be" '{"sites": [{"count": 4294967297}]}'
refuses_sites "is 2000000000, and must be" '{"sites": [{"ranks": 2000000000}, {"ranks": 2000000000}]}'
refuses_sites "is 2.5, and must be" '{"sites": [{"ranks": 2.5}, {}]}'
refuses_sites "a site has no 'rank'" '{"sites": [{"rank": 4}, {}]}'
refuses_sites "must be a list" '{"sites": {"count": 2}}'
refuses_sites "is 4294967296, and must be" '{"sites": [{"count": 2}], "pairs": [{"from": 4294967296, "to": 1}]}'
refuses_sites "is outside" '{"between": {"bandwidth": "-1MB/s"}}'
refuses_sites "is outside" '{"between": {"jitter": "-1ms"}}'
