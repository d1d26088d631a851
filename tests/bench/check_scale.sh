#!/usr/bin/env bash
# usage: check_scale.sh SCALE_SCRIPT
# scripts/scale in a checkout without build/, with another build, writes its table after each row, and puts it into docs/scale.md
# when it is told to. Compilers and mpirun are stand-ins.
set -euo pipefail
script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/checkout/scripts" "$work/checkout/docs" "$work/elsewhere/lib" "$work/bin"
cp "$script" "$(dirname "$script")/results_tables.py" "$work/checkout/scripts/"
echo "A text." >"$work/checkout/docs/scale.md"
touch "$work/elsewhere/lib/libgossamer.so"
for compiler in cc mpicc; do
  printf '#!/bin/sh\nexit 0\n' >"$work/bin/$compiler"
done
cat >"$work/bin/mpirun" <<'END'
#!/bin/sh
echo '{"create_s": 1, "first_8_s": 2, "first_256K_s": 3, "first_4M_s": 4, "later_8_us": 5}'
END
chmod +x "$work/bin/"*

scale() {
  PATH="$work/bin:$PATH" "$work/checkout/scripts/scale" --build "$work/elsewhere" --transports shm --threads 0 --kills "$@" >"$work/out"
}
scale --ranks 16 32
for ranks in 16 32; do
  grep -q "^| $ranks | shm | 1, 1 | 2, 2 | 3, 3 | 4, 4 | 5, 5 |$" "$work/checkout/build/scale.md" || {
    echo "FAILED: no row of $ranks ranks in build/scale.md" >&2
    exit 1
  }
done

for ranks in 16 32; do # the second table takes the place of the first
  scale --document --ranks $ranks
  { echo "A text."; grep "^| $ranks " "$work/checkout/build/scale.md"; } | diff - <(grep "^A text\|^| [0-9]" "$work/checkout/docs/scale.md")
done
