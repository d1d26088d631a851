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

# OSU's percentiles stand behind its other columns.
timeout 60 "$bench" allreduce --threads 2 -m 4:4 -i 20 -x 0 -f -z -c >"$work/out" 2>"$work/err" || fail "percentiles"
grep -qx '# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations        Validation  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)' \
  "$work/out" || fail "columns of percentiles"
grep -v '^#' "$work/out" | awk 'NF && !($7 <= $8 && $8 <= $9 && $7 > 0) { wrong = 1 } END { exit wrong }' || fail "percentiles do not ascend"
run latency 2 6 --threads 2 -m 8:16 -z

# Several benchmarks and types in one run, nccl-tests' steps, and the files.
timeout 60 "$bench" all --threads 2 -m 64:256 --stepfactor 4 -i 2 -x 0 -c --json "$work/all.json" --csv "$work/all.csv" \
  --plot "$work/all.svg" >"$work/out" 2>"$work/err" || fail "all"
[ "$(wc -l <"$work/all.json")" -eq 25 ] || fail "all: not 12 collectives of two sizes and a barrier"
[ "$(wc -l <"$work/all.csv")" -eq 26 ] || fail "all: CSV"
[ "$(grep -c '>Gossamer</text>' "$work/all.svg")" -eq 24 ] || fail "all: the picture has not two panels of every collective"
timeout 60 "$bench" reduce,bcast --threads 2 -T all --op band -m 64:64 --stepbytes 64 -i 2 -x 0 -c >"$work/out" 2>"$work/err" || fail "types"
[ "$(grep -c Pass "$work/out")" -eq 19 ] || fail "types: not 6 reductions of integers and 13 broadcasts"
grep -q '^# reduce of float32 is left out: .*integer' "$work/out" || fail "types: a refused type is not named"

# Two files beside each other.
timeout 60 "$bench" compare "$work/all.json" "$work/all.json" --plot "$work/two.svg" --csv "$work/two.csv" >"$work/out" 2>"$work/err" ||
  fail "compare"
grep -q '^# Geometric mean of 25 ratios: 1.000' "$work/out" || fail "compare: mean"
[ "$(wc -l <"$work/two.csv")" -eq 26 ] || fail "compare: CSV"
if timeout 60 "$bench" compare "$work/all.json" "$work/all.csv" >"$work/out" 2>"$work/err"; then fail "compare took a CSV file"; fi
grep -q 'all.csv: line 1 is no row' "$work/err" || fail "compare: what is wrong is not named"

# Gossip: one-peer exponential is exact after two rounds of four ranks, a ring is not; four bits are fewer bytes and drift.
timeout 60 "$bench" gossip --threads 4 --topology "ring,one-peer-exponential,torus:3x3" --codec none,int4 --rounds 4 -n 1000 \
  --json "$work/gossip.json" --csv "$work/gossip.csv" --plot "$work/gossip.svg" >"$work/out" 2>"$work/err" || fail "gossip"
[ "$(grep -c '^# torus:3x3 with .* is left out: ' "$work/out")" -eq 2 ] || fail "gossip: a topology of other ranks is not named"
[ "$(wc -l <"$work/gossip.json")" -eq 16 ] || fail "gossip: JSON"
[ "$(wc -l <"$work/gossip.csv")" -eq 5 ] || fail "gossip: CSV"
[ "$(grep -c '<polyline' "$work/gossip.svg")" -eq 12 ] || fail "gossip: the picture has not two lines in three panels of two codecs"
python3 - "$work/gossip.json" <<'END' >"$work/out" 2>"$work/err" || fail "gossip: figures"
import json, sys
rows = {(row["topology"], row["codec"], row["round"]): row for row in map(json.loads, open(sys.argv[1]))}
plain = rows["one-peer-exponential", "none", 2]
assert plain["distance"] < 1e-6 and plain["drift"] < 1e-6 and plain["bytes"] == 8000, plain
assert 0.3 < rows["ring", "none", 1]["distance"] < 0.4, rows["ring", "none", 1]  # its matrix has the eigenvalues 1, 1/3, 1/3, -1/3
coarse = rows["ring", "int4", 4]
assert coarse["drift"] > 1e-3 and coarse["bytes"] < rows["ring", "none", 4]["bytes"] / 6, coarse
assert coarse["seconds"] > rows["ring", "int4", 3]["seconds"] > 0
END

# A mistake is named even where something else is missing; every command says its version.
if timeout 60 "$bench" --nosuch >"$work/out" 2>"$work/err"; then fail "--nosuch was accepted"; fi
grep -q -e '--nosuch' "$work/err" || fail "--nosuch is not named"
timeout 60 "$bench" --version >"$work/out"
grep -qx 'goss-bench [0-9.]*' "$work/out" || fail "--version"
timeout 60 "$bench" --help >"$work/out"
grep -q 'goss-bench codec' "$work/out" || fail "--help does not name codec"

# Wrong usage is refused with words and a status.
for arguments in "nonsense --threads 2" "allreduce --threads 2 --dtype f99" "allreduce --threads 2 -m 8:4" "latency" \
  "gather --threads 2 --in-place" "allreduce --threads 2 --overlap 1 --nonblocking" "allreduce --threads 2 --overlap 1 --together" "allreduce --threads 2 -k 7" "allreduce --threads 2 -z --overlap 1" "allreduce --threads 2 --csv /nonexistent/a" "reduce --threads 2 --op band" "allreduce --threads 2 --compare mpi"; do
  # shellcheck disable=SC2086 # the words are meant to be split
  if timeout 60 "$bench" $arguments -i 2 -x 0 >"$work/out" 2>"$work/err"; then
    fail "'$arguments' was accepted"
  fi
  [ -s "$work/err" ] || fail "'$arguments' was refused without a word"
done
echo "goss-bench: all benchmarks ran"
