#!/usr/bin/env bash
# usage: check_symbols.sh LIBRARY GOLDEN: the library defines exactly the dynamic symbols that the golden list names, all of version
# GOSSAMER_0.
# A new function of the C ABI is added to the list by hand; one that disappears breaks its users.
set -euo pipefail
export LC_ALL=C
diff -u --label "golden" --label "exported" "$2" <(nm -D --defined-only "$1" | awk '$NF != "GOSSAMER_0" {print $NF}' | sed 's/@@GOSSAMER_0$//' | sort)
echo "$(wc -l <"$2") symbols, as listed"
