#!/usr/bin/env bash
# usage: compile_fail.sh WORK BINDING GO FILE...: each FILE must compile as it is, and with its lines "// wrong> " it must fail by the message
# that its first line names.
set -euo pipefail
work="$1" binding="$2" go="$3"
shift 3
rm -rf "$work" && mkdir -p "$work" && cd "$work"
printf 'module programs\n\ngo 1.19\n\nrequire gossamer v0.0.0\n\nreplace gossamer => %s\n' "$binding" >go.mod
for file in "$@"; do
  name="$(basename "$file" .go)"
  mkdir -p "right/$name" "wrong/$name"
  cp "$file" "right/$name/"
  sed 's|// wrong> ||' "$file" >"wrong/$name/$name.go"
done
"$go" build ./right/...
wrong=0
for file in "$@"; do
  name="$(basename "$file" .go)" message="$(sed -n '1s|^// wrong: ||p' "$file")"
  if output="$("$go" build "./wrong/$name" 2>&1)"; then
    echo "$file compiles with what is wrong"
    wrong=1
  elif ! grep -q -- "$message" <<<"$output"; then
    echo "$file must fail by '$message':" "$output"
    wrong=1
  fi
done
[ $# -gt 0 ] && [ "$wrong" = 0 ] && echo "$# programs are refused as they should be"
