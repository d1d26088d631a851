# shellcheck shell=bash
# For the tests over emulated links; to be sourced.

# What scripts between emulated hosts source.
emulated=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/emulated.sh")
export emulated

# Ends the test with a reason, as skipped, where network namespaces cannot be made.
require_namespaces() {
  local why=""
  if [ "$(id -u)" != 0 ]; then
    why="needs root to make network namespaces"
  elif [ ! -c /dev/net/tun ]; then
    why="this machine has no /dev/net/tun"
  elif ! command -v ip >/dev/null; then
    why="iproute2 is not installed"
  elif ! unshare --net true 2>/dev/null || ! { ip netns add "goss-probe-$$" && ip netns del "goss-probe-$$"; } 2>/dev/null; then
    why="network namespaces are not permitted here"
  fi
  [ -z "$why" ] || { echo "skipped: $why"; exit 77; }
}

# make_scratch: $scratch is a folder of this test alone, which goes when the test ends.
make_scratch() {
  scratch=$(mktemp -d)
  export scratch
  trap 'rm -rf "$scratch"' EXIT
}

# emulate OPTIONS_OF_goss-wanem...: runs $scratch/script between emulated hosts; what it reports is added to $scratch/report.
emulate() {
  "${wanem:?}" run "$@" -- bash "$scratch/script" 2>"$scratch/errors" | tee -a "$scratch/report"
  if grep -q OVERLOADED "$scratch/errors"; then echo "     (overloaded: these times are not to be trusted)"; fi
}

passed=0
failed=0
# check WHAT COMMAND...: counts and prints whether the command succeeds.
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "ok   $what"
  else
    failed=$((failed + 1))
    echo "FAIL $what"
  fi
}

# between LOW VALUE HIGH
between() { awk -v low="$1" -v value="$2" -v high="$3" 'BEGIN { exit !(value >= low && value <= high) }'; }

# measure LOW HIGH COMMAND...: the command's output in $got. Other programs on this machine make links slow and events late:
# up to three runs, until the last word lies within.
measure() {
  local low=$1 high=$2 try
  shift 2
  for try in 1 2 3; do
    got=$("$@")
    ! between "$low" "${got##* }" "$high" || return 0
  done
}

# finish_report NUMBER: ends the test; $scratch/report must have so many lines "ok ...", and none "FAIL ...".
finish_report() {
  passed=$(grep -c '^ok' "$scratch/report")
  failed=$(grep -c '^FAIL' "$scratch/report")
  [ "$passed" = "$1" ] || failed=$((failed + 1))
  finish
}

finish() {
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}
