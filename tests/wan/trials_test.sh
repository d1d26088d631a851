#!/usr/bin/env bash
# Emulated wide-area links are measured when a job begins, or plans of large all-reduces are compared while it runs.
#   trials_test.sh PATH_OF_goss-wanem PATH_OF_trials_rank [PATH_OF_goss-explain]
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
rank=$(readlink -f "$2")
explain=${3:+$(readlink -f "$3")}
prefix=gt$$t
make_scratch
export TRIALS=$scratch/trials

# The path of ranks 0 and 1 is far slower than the others, so that the first plan, which takes all for equal, is not the best.
printf '%s\n' '* * bw=400 delay=3' '0 1 bw=40 delay=3' >"$scratch/links"
cat >"$scratch/rank" <<'R'
export GOSS_MEASURE=${GOSS_MEASURE-trials}
RANK=$WANEM_RANK WORLD_SIZE=$WANEM_HOSTS MASTER_ADDR=10.77.0.1 MASTER_PORT=29400 GOSS_LOG=info exec "$@"
R

# job OPTIONS... -- ARGUMENTS: its exit status in $status.
job() {
  "$wanem" run --prefix "$prefix" --hosts 3 --links "$scratch/links" --timeout 100 --each -- bash "$scratch/rank" "$@" \
    >"$scratch/out" 2>"$scratch/errors"
  status=$?
}

job "$rank"
check "blocking and non-blocking calls have right sums while plans are compared" [ $status = 0 ]
[ $status = 0 ] || tail -n 20 "$scratch/errors"
check "plans were compared" grep -q 'a plan .* takes' "$scratch/errors"
grep 'a plan .* takes' "$scratch/errors"
check "all ranks say the same of it" cmp "$TRIALS.0" "$TRIALS.1"
check "the last one, too" cmp "$TRIALS.0" "$TRIALS.2"
if [ -n "$explain" ]; then
  "$explain" trials "$TRIALS.0" >"$scratch/table"
  cat "$scratch/table"
  check "goss-explain prints it" grep -qE '^[1-9][0-9]* plans tried, [0-9]+ adopted$' "$scratch/table"
  check "with a line for each comparison of the last ones" eval '[ "$(grep -cE " (yes|no)$" "$scratch/table")" -ge 1 ]'
fi

job bash -c 'WANEM_RANK=$WANEM_RANK GOSS_MEASURE=$([ $WANEM_RANK = 2 ] && echo off || echo trials) exec "$0"' "$rank"
check "sums are right where one rank does not say GOSS_MEASURE=trials" [ $status = 0 ]
check "then nothing is compared" bash -c '! grep -q "a plan .* takes" "$scratch/errors"'
check "and nothing is said of it" grep -q '"compares": false, "plans_tried": 0' "$TRIALS.1"

job env GOSS_MEASURE=links "$rank"
check "sums are right where links are measured at first" [ $status = 0 ]
check "all ranks know them" [ "$(grep -c 'measured the links between 3 hosts' "$scratch/errors")" = 3 ]
job bash -c 'GOSS_MEASURE=$([ $WANEM_RANK = 2 ] && echo off || echo links) exec "$0"' "$rank"
check "sums are right where one rank has GOSS_MEASURE=off" [ $status = 0 ]
check "then nobody measures" bash -c '! grep -q "measured the links" "$scratch/errors"'

# Two ranks on each host, of which one measures.
job bash -c 'export GOSS_MEASURE=links WORLD_SIZE=6; RANK=$((2 * WANEM_RANK)) "$0" & RANK=$((2 * WANEM_RANK + 1)) "$0" && wait $!' "$rank"
check "sums are right where hosts have two ranks" [ $status = 0 ]
check "all of these know the links between hosts" [ "$(grep -c 'measured the links between 3 hosts' "$scratch/errors")" = 6 ]

# Rank 1 is killed while links are measured.
job bash -c '[ $WANEM_RANK != 1 ] || { GOSS_MEASURE=links GOSS_BOOTSTRAP_TIMEOUT_MS=20000 timeout -s KILL 0.8 "$0"; exit 0; }
             GOSS_MEASURE=links GOSS_BOOTSTRAP_TIMEOUT_MS=20000 exec timeout -s KILL 90 "$0"' "$rank"
check "a rank that dies while links are measured fails the others" [ $status != 0 ]
check "and they say which" grep -qE 'ranks?:? 1\b' "$scratch/errors"

job "$rank" dies
check "a rank that ends in the middle fails the others in time" grep -q 'rank 1' "$scratch/errors"
check "and nobody has a wrong sum" bash -c '! grep -q "wrong sum" "$scratch/errors"'
finish
