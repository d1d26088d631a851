#!/usr/bin/env bash
# usage: check_compare_gloo.sh GOSS_BENCH LAUNCHER...
# All-reduce in turn with Gloo, ranks as processes of the launcher; what is not compared is refused with words.
set -euo pipefail
bench=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

for dtype in float32 int32 float16; do
  timeout 60 "$@" "$bench" allreduce --compare gloo --transport tcp --dtype $dtype -m 1020:2040 -i 3 -x 1 -c --json "$work/json" \
    >"$work/out" 2>"$work/err" || {
    echo "FAILED: $dtype" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
  }
  [ "$(grep -c '"validation":"Pass".*"peer":"gloo","peer_version":"Gloo [0-9.]*","peer_variant":"[a-z-]*","peer_us":[0-9.e+-]*,"ratio":[0-9.e+-]*}' "$work/json")" -eq 2 ] || {
    echo "FAILED: $dtype: JSON" >&2
    cat "$work/json" >&2
    exit 1
  }
done
[ -z "$(find "$work" -name 'goss-bench-gloo*')" ] || {
  echo "FAILED: a directory is left" >&2
  exit 1
}
for arguments in "bcast" "allreduce --dtype bf16" "allreduce --op avg"; do
  # shellcheck disable=SC2086 # the words are meant to be split
  if timeout 60 "$@" "$bench" $arguments --compare gloo -m 64:64 -i 2 -x 0 >"$work/out" 2>"$work/err"; then
    echo "FAILED: '$arguments' was accepted" >&2
    exit 1
  fi
  grep -q 'Gloo' "$work/err" || {
    echo "FAILED: '$arguments' was refused without a reason" >&2
    exit 1
  }
done
echo "goss-bench: comparisons with Gloo ran"
