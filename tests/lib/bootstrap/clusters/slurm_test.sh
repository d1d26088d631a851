#!/usr/bin/env bash
# usage: slurm_test.sh GOSS_BENCH
# Ranks that srun starts: slurmctld and slurmd (Debian's slurm-wlm) with munged of their own run on this host as long as the test, in
# foreground, with all that they keep in one folder, and end with it, also when it is killed. Skipped where they are not installed
# (scripts/install-deps does not) or this user is not root.
set -euo pipefail
. "$(dirname "$0")/../../../support/free_port.sh"
bench=$1
for program in munged slurmctld slurmd srun; do
  command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] || { echo "skipped: $program is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "skipped: needs root to start slurmd"; exit 77; }
PATH=$PATH:/usr/sbin
work=$(mktemp -d)
daemons=()
finish() { # the last first: slurmd ends only while the others answer
  local i
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do
    kill "${daemons[i]}" 2>/dev/null || true
    timeout 5 tail --pid="${daemons[i]}" -f /dev/null || kill -9 "${daemons[i]}" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap finish EXIT

# daemon COMMAND...
daemon() {
  setpriv --pdeathsig KILL "$@" &
  daemons+=($!)
}

mkdir -m 700 "$work/munge" "$work/state" "$work/spool"
chmod 755 "$work"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
daemon munged --foreground --force --key-file "$work/munge/key" --socket "$work/munge.socket" --pid-file "$work/munge/pid" \
  --log-file "$work/munge/log" --seed-file "$work/munge/seed" >/dev/null 2>&1

host=$(hostname -s)
cat >"$work/slurm.conf" <<END
ClusterName=goss
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthInfo=socket=$work/munge.socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
END
export SLURM_CONF=$work/slurm.conf
daemon slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.log" 2>&1
daemon slurmd -D -f "$SLURM_CONF" >"$work/slurmd.log" 2>&1

deadline=$((SECONDS + 60))
until [ "$(sinfo --noheader --format %T 2>/dev/null)" = idle ]; do
  [ $SECONDS -lt $deadline ] || { echo "FAILED: the node is not idle"; tail -n 5 "$work"/*.log; exit 1; }
  sleep 0.2
done

# step ARGUMENTS...: four ranks of a step sum with validation, over shared memory or TCP.
step() {
  timeout 60 srun --ntasks 4 --overcommit "$@" "$bench" allreduce -m 4:64K -i 5 -x 1 -c --json "$work/json" >"$work/out" 2>&1 ||
    { echo "FAILED: srun $*"; cat "$work/out"; exit 1; }
  grep -q '"ranks":4.*"wrong":0' "$work/json" || { echo "FAILED: srun $*: not four ranks"; cat "$work/json"; exit 1; }
  rm "$work/json"
  echo "ok   srun $*"
}
step --mpi=none
step --mpi=none --export=ALL,GOSS_TRANSPORT=tcp
if srun --mpi=list 2>&1 | grep pmi2 >/dev/null; then step --mpi=pmi2; fi
