#!/usr/bin/env bash
# usage: refused.sh SOURCE PATTERN... -- COMMAND...
# COMMAND compiles SOURCE as it stands. With -DREFUSED=n it does not, and says the n-th PATTERN, so that what it refuses is the n-th
# mistake alone.
set -euo pipefail
source="$1"
shift
patterns=()
while [ "$1" != -- ]; do patterns+=("$1"); shift; done
shift
"$@" "$source" || { echo "$source does not compile even without a mistake"; exit 1; }
for n in "${!patterns[@]}"; do
  number=$((n + 1))
  if said="$("$@" "-DREFUSED=$number" "$source" 2>&1)"; then echo "mistake $number compiles, and must not"; exit 1; fi
  grep -qE "${patterns[n]}" <<<"$said" || { echo "$said"; echo "mistake $number is refused, but without '${patterns[n]}'"; exit 1; }
done
