#!/usr/bin/env bash
# Two sites are secured with the steps of docs/security.md, over an emulated link, and only those who may get in do.
#   security_test.sh PATH_OF_goss-wanem PATH_OF_goss-keys PATH_OF_goss-bench
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
keys=$(readlink -f "$2")
bench=$(readlink -f "$3")
export keys bench
make_scratch
cd "$scratch" || exit 1

# In the emulator: site A is host 0, site B host 1, and each has the files of its own folder alone.
cat >script <<'S'
. "$emulated"
mkdir -p "$scratch/a" "$scratch/b"
# site RANK FOLDER GOSS_TLS: becomes one rank of two, with its output in $scratch/RANK.
site() {
  cd "$scratch/$2" || exit 1
  export RANK=$1 WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 GOSS_TLS=$3 GOSS_BOOTSTRAP_TIMEOUT_MS=30000
  exec ip netns exec "$WANEM_PREFIX$1" timeout 40 "$bench" allreduce -m 64K:64K -i 3 -x 1 -c >"$scratch/$1" 2>&1
}
# both GOSS_TLS GOSS_TLS: runs the two sites; $worked says whether both ended well. Who is refused ends at once, but
# site A would go on waiting for a better caller.
both() {
  local root status=0
  (site 0 a "$1") &
  root=$!
  (site 1 b "$2") || status=$?
  [ "$status" = 0 ] || kill "$root"
  wait "$root" && [ "$status" = 0 ] && worked=1 || worked=0
}
refused() { [ "$worked" = 0 ] && grep -qE -- "$1" "$scratch"/[01]; }

cd "$scratch"
"$keys" psk run.key >log 2>&1
cp run.key a && cp run.key b
both psk:run.key psk:run.key
expect "one swarm key joins two sites" works
"$keys" psk b/other.key >>log 2>&1
both psk:run.key psk:other.key
expect "another swarm key does not" refused 'another swarm key|refuses these credentials'
both psk:run.key ''
expect "nor does none" refused 'GOSS_TLS'

"$keys" ca my-ca >>log 2>&1
"$keys" issue site-a --ca my-ca --ranks 0 >>log 2>&1
"$keys" issue site-b --ca my-ca --ranks 1 >>log 2>&1
cp -r site-a a && cp -r site-b b
both certs:site-a certs:site-b
expect "certificates of one authority join two sites" works
both certs:site-a certs:../site-a
expect "a site may not be another's rank" refused 'rank'
"$keys" revoke --ca my-ca site-b/cert.pem >>log 2>&1
cp my-ca/crl.pem a/site-a && cp my-ca/crl.pem b/site-b
both certs:site-a certs:site-b
expect "a revoked site is shut out" refused 'revoked'

"$keys" issue solo-a --ranks 0 --self-signed >line-a 2>>log
"$keys" issue solo-b --ranks 1 --self-signed >line-b 2>>log
grep -h ^SHA256 line-a line-b | tee solo-a/peers >solo-b/peers
cp -r solo-a a && cp -r solo-b b
both certs:solo-a certs:solo-b
expect "a list of keys joins two sites without an authority" works
S
emulate --prefix "gs$$t" --hosts 2 --bw 1000 --delay 2 --timeout 90
finish_report 7
