#!/usr/bin/env bash
# usage: check_device.sh GOSS_BENCH
# Runs the collectives of goss-bench with buffers in memory of a GPU, which is the stand-in's, ranks as threads.
set -euo pipefail
bench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}

run() { timeout 60 "$bench" "$@" -i 2 -x 1 >"$work/out" 2>"$work/err"; }

for form in "" --persistent --nonblocking; do
  run all --device cuda --threads 3 -m 1K:2K -c $form --json "$work/json" || fail "all $form: exit $?"
  [ "$(grep -c Pass "$work/out")" -eq 25 ] || fail "all $form: not 12 collectives of two sizes and a barrier"
  [ "$(grep -c '"memory":"cuda".*"wrong":0' "$work/json")" -eq 25 ] || fail "all $form: JSON"
  grep -q '^# Buffers in memory of GPUs (cuda)' "$work/out" || fail "all $form: the header does not say where buffers are"
done
run allreduce --device cuda --threads 2 -m 16K:16K -c --in-place || fail "in place: exit $?"
grep -q Pass "$work/out" || fail "in place"
run allreduce --device cuda --threads 2 -m 16K:16K --codec int8+ef || fail "int8+ef: exit $?"
run allreduce --device cuda --threads 2 -m 16K:16K --overlap 2 || fail "overlap: exit $?"

refuses() {
  local text=$1
  shift
  if run "$@"; then fail "$*: not refused"; fi
  grep -q -- "$text" "$work/err" || fail "$*: does not say '$text'"
}
refuses "leave out --device" latency --device cuda --threads 2
refuses "leave out --device" allreduce --device cuda --compare gloo
refuses "--memory" allreduce --device cuda --memory registered --threads 2
