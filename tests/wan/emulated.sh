# shellcheck shell=bash
# For scripts that common.sh runs between emulated hosts, and that keep what each rank prints in $scratch/RANK; to be sourced.

# expect WHAT COMMAND...: reports whether the command succeeds, and otherwise the last lines of each rank.
expect() { if "${@:2}"; then echo "ok   $1"; else echo "FAIL $1"; tail -n 6 "$scratch"/[0-9]; fi; }

# says RANKS PATTERN TENTHS: whether all of these ranks print what matches (as grep -E has it) within so many tenths of a second.
says() {
  local rank left=$3
  for rank in $1; do
    until grep -qE -- "$2" "$scratch/$rank"; do
      [ $((left--)) -gt 0 ] || return 1
      sleep 0.1
    done
  done
}

# await PIDS: waits for these processes; $worked says whether all ended well.
await() {
  local pid
  worked=1
  for pid in "$@"; do wait "$pid" || worked=0; done
}
works() { [ "$worked" = 1 ]; }
