#!/usr/bin/env bash
# usage: check_install.sh BUILD WORK CMAKE CC CXX: installs BUILD below WORK, moves it, and builds and runs a C99 program against it with
# pkg-config and with CMake's find_package. The installed headers are the C ABI's: each compiles alone, in C99 and in C++, and together
# they declare every function that the library exports; gossamer.hpp lies beside them. The examples are built with them, those of MPI
# apart. A program is linked with libgossamer.a alike, and bash completes the programs' options. A project that takes the source in by
# add_subdirectory is configured, and begins to build. Last, the target uninstall leaves nothing behind.
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

# The archive, where there is one: it shows the same names as the library, and a program with names of its own that meet ours runs.
if [ -e "$libdir/libgossamer.a" ]; then
  nm -g --defined-only "$libdir/libgossamer.a" | awk '$2 == "T" || $2 == "D" || $2 == "B" || $2 == "R" || $2 == "W" || $2 == "V" {print $3}' | sort |
    diff - <(sort "$here/../golden/exported_symbols.txt") || { echo "libgossamer.a shows other names than libgossamer.so"; exit 1; }
  read -ra flags <<<"$(pkg-config --cflags --libs gossamer-static)"
  "$cc" -std=c99 "$here/consumer/consumer.c" "${flags[@]}" -o "$work/static"
  ! ldd "$work/static" | grep libgossamer >/dev/null || { echo "the program is linked with libgossamer.so"; exit 1; }
  timeout 60 "$work/static"
  "$cmake" -S "$here/consumer" -B "$work/static-build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" -DSTATIC=ON >"$work/configure.log"
  "$cmake" --build "$work/static-build" >"$work/build.log"
  timeout 60 "$work/static-build/consumer"
fi

# As a part of another project: it adds no target of ours to that project's install and tests.
"$cmake" -S "$here/consumer" -B "$work/part" -G Ninja -DSOURCE="$here/../.." -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log"; exit 1; }
"$cmake" --build "$work/part" --target goss_base >"$work/build.log"
"$cmake" --build "$work/part" -- -t targets all >"$work/targets"
grep -q '^consumer: ' "$work/targets" || { echo "add_subdirectory: the outer project's program is missing"; exit 1; }
! grep -E '^([a-z_/]*/)?(goss-bench|goss-train|uninstall|[a-z_]*_test): ' "$work/targets" || { echo "add_subdirectory makes tests, programs or installs"; exit 1; }

# complete WORD...: what bash offers for the last word.
complete_words() {
  PATH="$prefix/bin:$PATH" bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _goss; echo "${COMPREPLY[*]}"' - "$completion" "$@"
}
completion="$prefix/share/bash-completion/completions/goss-bench"
if [ -x "$prefix/bin/goss-bench" ]; then
  [ "$(complete_words goss-bench allr)" = allreduce ] || { echo "completion of a benchmark"; exit 1; }
  [ "$(complete_words goss-bench allreduce --compa)" = --compare ] || { echo "completion of an option"; exit 1; }
  [ "$(complete_words goss-bench allreduce --compare g)" = gloo ] || { echo "completion of a value"; exit 1; }
  [ "$(complete_words goss-bench codec --samp)" = "--samples --sample-ms" ] || { echo "completion of a subcommand's option"; exit 1; }
  [ "$(complete_words goss-bench comp)" = compare ] || { echo "completion of a subcommand"; exit 1; }
fi

for program in "$prefix"/bin/*; do
  [ -e "$program" ] || continue
  timeout 60 "$program" --help >/dev/null || { echo "$(basename "$program") --help does not work from its place"; exit 1; }
done

mv "$prefix" "$work/first"
mkdir -p "$work/first/include/gossamer"
touch "$work/first/include/gossamer/not_ours.h"
"$cmake" --build "$build" --target uninstall >/dev/null
rest="$(cd "$work/first" && { find . ! -type d; find . -type d -iname '*gossamer*'; } | sort | xargs)"
[ "$rest" = "./include/gossamer ./include/gossamer/not_ours.h" ] || { echo "uninstall leaves: $rest"; exit 1; }
echo "an installed copy works"
