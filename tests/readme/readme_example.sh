#!/usr/bin/env bash
# usage: readme_example.sh SOURCE WORK LIBDIR CC [LAUNCHER...]: extracts README.md's C example, compiles it as C99 and runs it.
set -euo pipefail
source="$1" work="$2" libdir="$3" cc="$4"
shift 4
awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$source/README.md" >"$work/example.c"
lines="$(wc -l <"$work/example.c")"
[ "$lines" -ge 20 ] && [ "$lines" -le 40 ] || { echo "README.md's example has $lines lines, not about 30"; exit 1; }
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror -I"$source/include" "$work/example.c" -L"$libdir" -lgossamer \
  -Wl,-rpath,"$libdir" -o "$work/readme_example"
output="$(timeout 60 "$@" "$work/readme_example" </dev/null)"
echo "$output"
ranks="$([ $# -gt 0 ] && echo 4 || echo 1)"
# All ranks brought 1 2 3 4, so that is the average.
[ "$(grep -c "of $ranks: 1 2 3 4$" <<<"$output")" = "$ranks" ] || { echo "expected $ranks lines 'rank R of $ranks: 1 2 3 4'"; exit 1; }
