#!/usr/bin/env bash
# usage: check_programs.sh GOSS_BENCH
# Runs every benchmark and form of goss-bench on small sizes, with validation, ranks as threads.
set -euo pipefail
bench=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}

# run NAME ROWS COLUMNS ARGUMENTS...: NAME must succeed with that many validated rows of that many columns.
run() {
  local name=$1 rows=$2 columns=$3
  shift 3
  timeout 60 "$bench" "$name" "$@" -i 3 -x 1 -c --json "$work/json" >"$work/out" 2>"$work/err" || fail "$name $*: exit $?"
  grep -v '^#' "$work/out" | grep -v '^$' >"$work/rows"
  [ "$(wc -l <"$work/rows")" -eq "$rows" ] || fail "$name $*: not $rows rows"
  [ "$(awk -v n="$columns" 'NF != n' "$work/rows" | wc -l)" -eq 0 ] || fail "$name $*: not $columns columns"
  [ "$(grep -c Pass "$work/rows")" -eq "$rows" ] || fail "$name $*: not all rows passed"
  [ "$(grep -c "\"bench\":\"$name\".*\"wrong\":0" "$work/json")" -eq "$rows" ] || fail "$name $*: JSON"
}

collectives="allreduce reduce bcast allgather allgatherv reduce_scatter alltoall alltoallv gather scatter scan exscan"
for name in $collectives; do
  run "$name" 9 3 --threads 3 -m 4:1024 -k 1
  run "$name" 2 6 --threads 2 -m 20K:64K --full
  run "$name" 1 6 --threads 2 -m 256:256 --busbw --persistent --dtype bf16
  run "$name" 1 6 --threads 2 -m 256:256 --nonblocking -t 2
done
run barrier 1 2 --threads 3
run barrier 1 2 --threads 2 --persistent
run allreduce 2 3 --threads 4 -m 128:256 --in-place --dtype e5m2
run allreduce 2 3 --threads 3 -m 4K:8K --overlap 2
run allreduce 2 3 --threads 3 -m 4K:8K --together
for op in prod min max avg premul_sum; do
  run allreduce 1 3 --threads 3 -m 4K:4K --op $op --dtype f16
done
for name in latency bw bibw mbw_mr; do
  columns=3
  [ $name = mbw_mr ] && columns=4
  run $name 5 $columns --threads 2 -m 0:8
  run $name 1 $columns --threads 3 -m 4096:4096 -W 4
done

# OSU's header lines, as scripts that read OSU's output expect them.
timeout 60 "$bench" allreduce --threads 2 -m 4:4 -i 2 -x 0 -f -c >"$work/out" 2>"$work/err" || fail "header run"
grep -qx '# Datatype: float32.' "$work/out" || fail "datatype line"
grep -qx '# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations        Validation' "$work/out" ||
  fail "columns"

# Wrong usage is refused with words and a status.
for arguments in "nonsense --threads 2" "allreduce --threads 2 --dtype f99" "allreduce --threads 2 -m 8:4" "latency" \
  "gather --threads 2 --in-place" "allreduce --threads 2 --overlap 1 --nonblocking" "allreduce --threads 2 --overlap 1 --together" "allreduce --threads 2 -k 7" "allreduce --threads 2 --compare mpi"; do
  # shellcheck disable=SC2086 # the words are meant to be split
  if timeout 60 "$bench" $arguments -i 2 -x 0 >"$work/out" 2>"$work/err"; then
    fail "'$arguments' was accepted"
  fi
  [ -s "$work/err" ] || fail "'$arguments' was refused without a word"
done
echo "goss-bench: all benchmarks ran"
