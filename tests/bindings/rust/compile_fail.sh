#!/usr/bin/env bash
# usage: compile_fail.sh TARGET RUSTC FILE...: each FILE must compile as it is, and with --cfg wrong the first error must be the one
# that its first line names.
set -euo pipefail
target="$1" rustc="$2"
shift 2
library="$(ls -t "$target"/debug/deps/libgossamer-*.rlib | head -n 1)"
compile() { # compile FILE [FLAG...]
  "$rustc" --edition 2021 --emit metadata -o "$target/compile_fail.rmeta" -L "dependency=$target/debug/deps" --extern "gossamer=$library" "$@" 2>&1
}
wrong=0
for file in "$@"; do
  code="$(sed -n '1s/^.*wrong: //p' "$file")"
  if ! output="$(compile "$file")"; then
    echo "$file does not compile without --cfg wrong:" "$output"
    wrong=1
  fi
  if output="$(compile "$file" --cfg wrong)"; then
    echo "$file compiles with --cfg wrong"
    wrong=1
  elif [ "$(grep -o -m 1 '^error\[E[0-9]*\]' <<<"$output")" != "error[$code]" ]; then
    echo "$file must fail by $code:" "$output"
    wrong=1
  fi
done
[ $# -gt 0 ] && [ "$wrong" = 0 ] && echo "$# programs are refused as they should be"
