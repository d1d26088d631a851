#!/usr/bin/env bash
# usage: torchrun_style.sh RANKS PROGRAM [ARGUMENT...]: starts RANKS processes of PROGRAM on this host, with torchrun's variables.
set -euo pipefail
ranks="$1"
shift
port="${MASTER_PORT:-}"
while [ -z "$port" ]; do # one that nobody listens on, below the range that the system hands out
  port=$((20000 + RANDOM % 12000))
  ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || port=""
done

pids=()
for ((rank = 0; rank < ranks; ++rank)); do
  RANK=$rank WORLD_SIZE=$ranks LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$@" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=1
done
exit $status
