#!/usr/bin/env bash
# usage: ten_lines.sh DOCUMENT LANGUAGE SOURCE COMMAND... -- LAUNCHER...
# Writes the first example in LANGUAGE of DOCUMENT to SOURCE, compiles it with COMMAND to SOURCE.out and runs that by LAUNCHER with 4
# ranks. The example has about ten lines, and each rank prints a line that ends with "average 2.5".
set -euo pipefail
document="$1" language="$2" source="$3"
shift 3
compile=()
while [ "$1" != -- ]; do compile+=("$1"); shift; done
shift
awk -v begin="\`\`\`$language" '$0 == begin && !seen {inside = 1; seen = 1; next} /^```$/ {inside = 0} inside' "$document" >"$source"
lines="$(wc -l <"$source")"
[ "$lines" -ge 8 ] && [ "$lines" -le 14 ] || { echo "the example in $document has $lines lines, not about ten"; exit 1; }
"${compile[0]}" "$source" "${compile[@]:1}" -o "$source.out"
output="$(timeout 60 "$@" "$source.out" </dev/null)"
echo "$output"
[ "$(grep -c "average 2.5$" <<<"$output")" = 4 ] || { echo "expected 4 lines that end with 'average 2.5'"; exit 1; }
