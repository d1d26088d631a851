#!/usr/bin/env bash
# The small form of scripts/reproduce --sweep makes runs only while there is time, writes the same tables again from the runs that it has, and
# says which method diverged.
#   sweep_test.sh SOURCE_DIR PATH_OF_goss-train
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sweep() { bash "$1/scripts/reproduce" --sweep --quick --program "$2" --work "$scratch/sweep" --out "$scratch/$3.md" "${@:4}"; }
rows() { grep -c '^| `--sync' "$scratch/$1.md" || true; }

sweep "$1" "$2" none --hours 0
[ "$(rows none)" = 0 ] || { echo "FAIL it has rows of runs that were not made"; exit 1; }
sweep "$1" "$2" all
cat "$scratch/all.md"
[ "$(rows all)" = 10 ] || { echo "FAIL a row of each method is in both tables"; exit 1; }
runs=$(wc -l <"$scratch/sweep/results")
sweep "$1" "$2" again --hours 0
cmp "$scratch/all.md" "$scratch/again.md"
[ "$(wc -l <"$scratch/sweep/results")" = "$runs" ] || { echo "FAIL runs were made again"; exit 1; }
truncate -s -9 "$scratch/sweep/results" # a stop cut the last line off
sweep "$1" "$2" less --hours 0
grep '^Not run yet: equal time' "$scratch/less.md"
sweep "$1" "$2" rest
cmp "$scratch/all.md" "$scratch/rest.md"

# A goss-train under which DeMo diverges: it has neither a time nor a loss, and is no part of the comparison in equal time.
cat >"$scratch/diverging" <<END
#!/usr/bin/env bash
case "\$*" in *"--sync demo"*) echo "the gradient is not finite in step 3" >&2; exit 1 ;; esac
exec "$2" "\$@"
END
chmod +x "$scratch/diverging"
sed -i '/"method": "demo"/d' "$scratch/sweep/results"
sweep "$1" "$scratch/diverging" diverged
cat "$scratch/diverged.md"
grep -q '^| `--sync demo` | 1e-4 (at the end of the rates) | diverged | - | - |$' "$scratch/diverged.md"
grep -q '^- `--sync demo` diverged at its best rate; expected at most 1 %: NOT held.$' "$scratch/diverged.md"
[ "$(rows diverged)" = 9 ] || { echo "FAIL a method that diverged is in the table of equal time"; exit 1; }
if grep '"loss": null' "$scratch/sweep/results" | grep -v '"bytes": null, "seconds": null'; then
  echo "FAIL a run that diverged has a time that nobody measured"
  exit 1
fi
