#!/usr/bin/env bash
# A link between emulated hosts becomes slow in the middle of a job, and fast again: plans follow. Where a rank is lost, the others
# know the links that were measured.
#   follow_test.sh PATH_OF_goss-wanem PATH_OF_follow_rank
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
rank=$(readlink -f "$2")
make_scratch
calls=24

# job ENVIRONMENT...: its exit status in $status, and in $usual, $slow, $followed and $again what the median of some calls
# took: before the change, just after it, from the 20th call after it on, and from the 20th on after the link is as before.
job() { # $hosts and $arguments are set
  # shellcheck disable=SC2016,SC2086 # for the shell in each host; several words
  env GOSS_LOG=info "$@" "$wanem" run --prefix gf$$t --hosts $hosts --links "$scratch/links" --timeout 150 --each -- bash -c \
    'RANK=$WANEM_RANK WORLD_SIZE=$WANEM_HOSTS MASTER_ADDR=10.77.0.1 MASTER_PORT=29400 exec "$@"' bash "$rank" $arguments \
    >"$scratch/out" 2>"$scratch/errors"
  status=$?
  usual=$(median 3 $((calls - 1)))
  slow=$(median $calls $((calls + 6)))
  followed=$(median $((calls + 20)) $((2 * calls - 1)))
  again=$(median $((2 * calls + 20)) $((3 * calls - 1)))
  echo "     usual ${usual:-no}, slow ${slow:-no}, followed ${followed:-no}, again ${again:-no} s"
}

# median FIRST LAST: of what these calls took.
median() {
  awk -v first="$1" -v last="$2" '$1 == "call" && $2 >= first && $2 <= last { print $3 }' "$scratch/out" | sort -g |
    awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

atMost() { awk -v one="${1:-9e9}" -v factor="$2" -v other="${3:-0}" 'BEGIN { exit !(one <= factor * other) }'; }
follows() { atMost "$usual" 0.5 "$slow" && atMost "$followed" 0.5 "$slow" && atMost "$again" 1.6 "$usual"; }

hosts=3 arguments="$calls 20 200"
echo '* * bw=200 delay=5' >"$scratch/links"
for _ in 1 2 3; do # other programs may disturb the times, so up to three runs; a run that fails is not repeated
  job
  [ $status = 0 ] && ! follows || break
done
check "sums are right while a link changes" [ $status = 0 ]
check "a link becomes slow, and so do calls at first" atMost "$usual" 0.5 "$slow"
check "20 calls later they take half of that at most" atMost "$followed" 0.5 "$slow"
check "20 calls after the link is fast again they take what they took" atMost "$again" 1.6 "$usual"
[ "$failed" = 0 ] || { cat "$scratch/out"; grep -v measured "$scratch/errors" | tail -n 30; }

job GOSS_MEASURE=off
check "sums are right with GOSS_MEASURE=off" [ $status = 0 ]
check "then no plan is compared" bash -c '! grep -q "a plan .* takes" "$scratch/errors"'

# The same shares for all would take 1.16 s at least, of which the thin link is the reason.
hosts=4 arguments=left
echo '0 1 bw=20 delay=5' >>"$scratch/links"
for _ in 1 2 3 4 5 6; do # up to six runs, for the same reason
  job
  left=$(median 1 3)
  [ $status = 0 ] && ! atMost "$left" 1 0.8 || break
done
check "sums are right when a rank is lost" [ $status = 0 ]
check "the ranks that are left plan by what was measured: ${left:-no} s" atMost "$left" 1 0.8
check "and follow it" grep -q '"compares": true' "$scratch/out"
[ "$failed" = 0 ] || { cat "$scratch/out"; tail -n 30 "$scratch/errors"; }
finish
