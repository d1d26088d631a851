#!/usr/bin/env bash
# usage: check_install.sh BUILD WORK CMAKE CC CXX: installs BUILD below WORK, moves it, and builds and runs a C99 program against it with
# pkg-config and with CMake's find_package. The installed headers are the C ABI's: each compiles alone, in C99 and in C++, and together
# they declare every function that the library exports; gossamer.hpp lies beside them. The examples are built with them, those of MPI
# apart.
set -euo pipefail
build="$1" work="$2" cmake="$3" cc="$4" cxx="$5"
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
expected="abi.h compression.h gossamer.h gossamer_mpi.h gossip.h links.h pipeline.h sync.h window.h"
installed="$(cd "$prefix/include/gossamer" && echo *.h)"
[ "$installed" = "$expected" ] || { echo "installed headers are '$installed', not '$expected'"; exit 1; }
for header in $expected; do
  [ "$header" != gossamer_mpi.h ] || continue # wants mpi.h
  echo "#include <gossamer/$header>" >"$work/alone.c"
  "$cc" -std=c99 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c"
  "$cxx" -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c"
done
echo "#include <gossamer/gossamer.hpp>" >"$work/alone.cc"
"$cxx" -std=c++20 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/alone.cc"
while read -r symbol; do
  grep -q "\b$symbol(" "$prefix"/include/gossamer/*.h || { echo "no installed header declares $symbol"; exit 1; }
done <"$here/../golden/exported_symbols.txt"
soname="$(objdump -p "$libdir/libgossamer.so" | awk '$1 == "SONAME" {print $2}')"
[ "$soname" = libgossamer.so.0 ] || { echo "soname is '$soname'"; exit 1; }
[[ "$(ldd "$libdir/gossamer/libnccl.so.2")" == *"=> $libdir/"*libgossamer.so.0* ]] || { echo "libnccl.so.2 does not find its library"; exit 1; }

export PKG_CONFIG_PATH="$libdir/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs gossamer)"
"$cc" -std=c99 -pedantic -Wall -Wextra -Werror "$here/consumer/consumer.c" "${flags[@]}" -Wl,-rpath,"$libdir" -o "$work/consumer"
timeout 60 "$work/consumer"

for example in "$here"/../../examples/*.c; do
  ! grep -q gossamer_mpi.h "$example" || continue
  "$cc" -std=c99 "$example" "${flags[@]}" -lm -o "$work/example"
done
for example in "$here"/../../examples/*.cc; do
  "$cxx" -std=c++20 "$example" "${flags[@]}" -o "$work/example"
done

"$cmake" -S "$here/consumer" -B "$work/consumer-build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/configure.log"
"$cmake" --build "$work/consumer-build" >"$work/build.log"
timeout 60 "$work/consumer-build/consumer"

for program in "$prefix"/bin/*; do
  [ -e "$program" ] || continue
  timeout 60 "$program" --help >/dev/null || { echo "$(basename "$program") --help does not work from its place"; exit 1; }
done
echo "an installed copy works"
