#!/usr/bin/env bash
# usage: readme.sh README TARGET RUSTC LIBDIR [LAUNCHER...]: compiles and runs the program that README begins with, on 2 ranks.
set -euo pipefail
readme="$1" target="$2" rustc="$3" libdir="$4"
shift 4
awk '/^```rust$/ {inside = 1; next} /^```$/ {exit} inside' "$readme" >"$target/readme.rs"
"$rustc" --edition 2021 -o "$target/readme" -L "dependency=$target/debug/deps" -L "native=$libdir" \
  --extern "gossamer=$(ls -t "$target"/debug/deps/libgossamer-*.rlib | head -n 1)" "$target/readme.rs"
output="$("$@" "$target/readme" </dev/null)"
echo "$output"
[ "$(grep -c 'of 2: \[1.0, 2.0, 3.0\]' <<<"$output")" = 2 ] || { echo "expected 2 lines 'rank R of 2: [1.0, 2.0, 3.0]'"; exit 1; }
