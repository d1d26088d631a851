# Sourced by the other scripts: where things are, and settings without which MPI programs do not start everywhere.
# shellcheck shell=bash

GOSS_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
GOSS_JOBS="${GOSS_JOBS:-$(nproc)}"

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Open MPI refuses to run as root, and more ranks than cores, unless told; and it must not talk to anything but this host.
mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
  export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl_tcp_if_include=lo
  export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
  # A container without any network may have its loopback interface down; nothing can meet then.
  if [ "$(id -u)" = 0 ] && command -v ip >/dev/null && ! ip -o link show lo 2>/dev/null | grep '[<,]UP[,>]' >/dev/null; then
    ip link set lo up 2>/dev/null || true
  fi
}

# A compiler cache is used where somebody keeps one; nothing depends on it. Filling a new one takes longer than it saves, and headers
# that are compiled once (GOSS_PRECOMPILE) save more.
compiler_cache() {
  if command -v ccache >/dev/null && [ -d "$(ccache --get-config=cache_dir)" ]; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$GOSS_ROOT"
  fi
}
