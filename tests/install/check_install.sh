#!/usr/bin/env bash
# usage: check_install.sh BUILD WORK CMAKE CC: installs BUILD below WORK, moves it, and builds and runs a C99 program against it with
# pkg-config and with CMake's find_package.
set -euo pipefail
build="$1" work="$2" cmake="$3" cc="$4"
here="$(cd "$(dirname "$0")" && pwd)"
rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/moved" # nothing may remember where it was installed
prefix="$work/moved"
libdir="$(dirname "$(find "$prefix" -name libgossamer.so.0)")"

for file in "$prefix/include/gossamer/gossamer.h" "$libdir/libgossamer.so" "$libdir/pkgconfig/gossamer.pc" \
  "$libdir/cmake/Gossamer/GossamerConfig.cmake" "$libdir/cmake/Gossamer/GossamerConfigVersion.cmake"; do
  [ -e "$file" ] || { echo "not installed: $file"; exit 1; }
done
soname="$(objdump -p "$libdir/libgossamer.so" | awk '$1 == "SONAME" {print $2}')"
[ "$soname" = libgossamer.so.0 ] || { echo "soname is '$soname'"; exit 1; }

export PKG_CONFIG_PATH="$libdir/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs gossamer)"
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror "$here/consumer/consumer.c" "${flags[@]}" -Wl,-rpath,"$libdir" -o "$work/consumer"
timeout 60 "$work/consumer"

"$cmake" -S "$here/consumer" -B "$work/consumer-build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/configure.log"
"$cmake" --build "$work/consumer-build" >"$work/build.log"
timeout 60 "$work/consumer-build/consumer"

for program in "$prefix"/bin/*; do
  [ -e "$program" ] || continue
  timeout 60 "$program" --help >/dev/null || { echo "$(basename "$program") --help does not work from its place"; exit 1; }
done
echo "an installed copy works"
