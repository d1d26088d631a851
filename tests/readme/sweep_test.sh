#!/usr/bin/env bash
# The small form of scripts/reproduce --sweep: it makes runs only while there is time, and of those that it has it writes the tables again.
#   sweep_test.sh SOURCE_DIR PATH_OF_goss-train
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sweep() { bash "$1/scripts/reproduce" --sweep --quick --program "$2" --work "$scratch/work" --out "$scratch/$3.md" "${@:4}"; }
rows() { grep -c '^| `--sync' "$scratch/$1.md" || true; }

sweep "$1" "$2" none --hours 0
[ "$(rows none)" = 0 ] || { echo "FAIL it has rows of runs that were not made"; exit 1; }
sweep "$1" "$2" all
cat "$scratch/all.md"
[ "$(rows all)" = 10 ] || { echo "FAIL a row of each method is in both tables"; exit 1; }
runs=$(wc -l <"$scratch/work/results")
sweep "$1" "$2" again --hours 0
cmp "$scratch/all.md" "$scratch/again.md"
[ "$(wc -l <"$scratch/work/results")" = "$runs" ] || { echo "FAIL runs were made again"; exit 1; }
truncate -s -9 "$scratch/work/results" # a stop cut the last line off
sweep "$1" "$2" less --hours 0
grep '^Not run yet: equal time' "$scratch/less.md"
sweep "$1" "$2" rest
cmp "$scratch/all.md" "$scratch/rest.md"
