#!/usr/bin/env bash
# usage: check_compare.sh GOSS_BENCH LAUNCHER...
# Every benchmark in turn with MPI, ranks as processes of the launcher.
set -euo pipefail
bench=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in allreduce reduce bcast allgather allgatherv reduce_scatter alltoall alltoallv gather scatter scan exscan latency bw bibw mbw_mr; do
  timeout 60 "$@" "$bench" $name --compare mpi -m 1020:2040 -i 3 -x 1 -c --json "$work/json" >"$work/out" 2>"$work/err" || {
    echo "FAILED: $name" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
  }
  [ "$(grep -c '"validation":"Pass".*"peer":"mpi","peer_version":"[^"]*","peer_[a-z_]*":[0-9.e-]*,"ratio":[0-9.e-]*}' "$work/json")" -eq 2 ] || {
    echo "FAILED: $name: JSON" >&2
    cat "$work/json" >&2
    exit 1
  }
done
echo "goss-bench: all comparisons ran"
