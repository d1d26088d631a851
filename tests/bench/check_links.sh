#!/usr/bin/env bash
# usage: check_links.sh GOSS_LINKS_PROGRAM GOSS_EXPLAIN GOSS_BENCH
# goss-links writes a link file, and draws it, of the ranks that run it; goss-explain and the library take the file.
set -euo pipefail
links=$1
explain=$2
bench=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work"/[0-9].* >&2
  exit 1
}
port=$((20000 + $$ % 20000))
# ranks PROGRAM...: three of it on this host; fails when one does.
ranks() {
  local rank pids=()
  port=$((port + 1))
  for rank in 0 1 2; do
    RANK=$rank WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port timeout 100 "$@" >"$work/$rank.out" 2>"$work/$rank.err" &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || return 1; done
}

ranks "$links" -o "$work/file" --svg "$work/map.svg" || fail "goss-links"
head -1 "$work/file" | grep -x 'gossamer-links 1' >/dev/null || fail "the file's first line"
[ "$(grep -c '^pair ' "$work/file")" = 6 ] || fail "not six links in the file"
[ "$(grep -c '^from . ' "$work/0.out")" = 3 ] || fail "the matrix has not three rows"
[ "$(grep -oE '[0-9.]+ [um]s, [0-9.e+]+ [MG]B/s' "$work/0.out" | wc -l)" = 6 ] || fail "the matrix has not six links"
python3 -c 'import sys, xml.dom.minidom as dom; assert len(dom.parse(sys.argv[1]).getElementsByTagName("circle")) == 3' "$work/map.svg" ||
  fail "the picture"

# goss-explain and three ranks read the file back. Their plans are not compared.
"$explain" allreduce --links "$work/file" --ranks 3 --bytes 64M >"$work/3.plan" || fail "goss-explain refuses the file"
GOSS_LINKS=$work/file ranks "$bench" allreduce -m 64K:1M -i 2 -x 0 -c || fail "the library refuses the file"
RANK=0 WORLD_SIZE=1 timeout 20 "$links" -o "$work/alone" >"$work/0.out" 2>"$work/0.err" && fail "one rank has no links"
grep -q 'mpirun' "$work/0.err" || fail "one rank is not told what to do"

echo 'dear diary' >"$work/diary"
ranks "$links" -o "$work/diary" && fail "goss-links wrote over a file of somebody else"
grep -q 'is no link file' "$work/0.err" || fail "refused without words"
grep -qx 'dear diary' "$work/diary" || fail "the file of somebody else is changed"
echo "goss-links: all checks passed"
