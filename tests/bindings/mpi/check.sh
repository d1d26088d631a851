#!/usr/bin/env bash
# usage: check.sh LIBRARY [TEXT...] -- COMMAND...: runs COMMAND with LIBRARY before MPI's and with a report, and asks that it succeeds, that
# its output has a line for each TEXT (an extended regular expression), and none for a TEXT that begins with '!'.
set -uo pipefail
export GOSS_MPI_REPORT=1
library="$1"
shift
texts=()
while [ "$1" != -- ]; do
  texts+=("$1")
  shift
done
shift
output="$("$1" -x LD_PRELOAD="$library" "${@:2}" 2>&1)"
status=$?
printf '%s\n' "$output"
for text in ${texts[@]+"${texts[@]}"}; do
  if [ "$text" = fails ]; then
    [ "$status" != 0 ] || { echo "the program has succeeded"; exit 1; }
    status=0
  elif [ "${text#!}" != "$text" ]; then
    ! grep -Eq -e "${text#!}" <<<"$output" || { echo "there is a line '${text#!}'"; exit 1; }
  else
    grep -Eq -e "$text" <<<"$output" || { echo "there is no line '$text'"; exit 1; }
  fi
done
exit "$status"
