#!/usr/bin/env bash
# Starts PROGRAM as srun would start the three tasks of a step on this host.
#   slurm_step.sh PROGRAM
set -uo pipefail
export SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_STEP_NODELIST=localhost
pids=()
for task in 0 1 2; do
  SLURM_PROCID=$task SLURM_LOCALID=$task timeout 50 "$1" without slurm &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || echo "error: a task failed"; done
