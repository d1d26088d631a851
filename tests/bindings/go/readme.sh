#!/usr/bin/env bash
# usage: readme.sh README WORK BINDING GO [LAUNCHER...]: compiles and runs the program that README begins with, on 2 ranks.
set -euo pipefail
readme="$1" work="$2" binding="$3" go="$4"
shift 4
mkdir -p "$work" && cd "$work"
printf 'module program\n\ngo 1.19\n\nrequire gossamer v0.0.0\n\nreplace gossamer => %s\n' "$binding" >go.mod
awk '/^```go$/ {inside = 1; next} /^```$/ {exit} inside' "$readme" >main.go
"$go" build -o program .
output="$("$@" ./program </dev/null)"
echo "$output"
[ "$(grep -c '^\[1 2 3\]$' <<<"$output")" = 2 ] || { echo "expected 2 lines '[1 2 3]'"; exit 1; }
