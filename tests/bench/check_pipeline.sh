#!/usr/bin/env bash
# usage: check_pipeline.sh GOSS_EXPLAIN GOSS_PIPELINE_BENCH: the programs about pipeline schedules as their users run them.
set -euo pipefail
explain=$1 bench=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

"$explain" pipeline --schedule zb-h1 --stages 4 --micro-batches 8 --svg "$work/a.svg" --write "$work/a.csv" >"$work/out"
grep -q '^rank 3   .  .  .  F0 I0 F1 I1 ' "$work/out" || fail "the timeline"
grep -q 'makespan 27 s, .* bubble 3 s' "$work/out" || fail "the summary"
grep -q '</svg>' "$work/a.svg" || fail "the picture"
"$explain" pipeline --read "$work/a.csv" >"$work/again"
cmp -s "$work/out" "$work/again" || fail "a schedule that is written and read is another one"
"$explain" pipeline --read "$work/a.csv" --compute-only --write "$work/b.csv" --json | grep '"bubble_s": 3,' >/dev/null || fail "JSON"
[ "$(head -c 15 "$work/b.csv")" = "0F0,0F1,0F2,0F3" ] || fail "the compute-only file"
for schedule in gpipe 1f1b interleaved zb-h1 zb-h2 zb-v pipedream 2bw; do
  "$explain" pipeline --schedule $schedule --batches 2 --recompute >/dev/null || fail "$schedule"
done
if "$explain" pipeline --schedule nonsense 2>"$work/err"; then fail "nonsense is accepted"; fi
grep -q "no pipeline schedule 'nonsense'; there are: gpipe, 1f1b" "$work/err" || fail "the text about nonsense"

timeout 30 "$bench" --micro-batches 4 --unit-ms 0.1 --schedules gpipe/2,zb-v --repetitions 1 >"$work/out" || fail "the benchmark"
[ "$(wc -l <"$work/out")" -eq 4 ] || fail "the benchmark's rows"
echo "pipeline programs work"
