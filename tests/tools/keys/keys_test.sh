#!/usr/bin/env bash
# usage: keys_test.sh GOSS_KEYS
# goss-keys as its user runs it: what it writes, with which modes, and what it says when it refuses.
set -euo pipefail
keys=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
umask 022 # The modes are the program's own doing.

fail() {
  echo "FAILED: $*" >&2
  cat out err >&2
  exit 1
}
run() { timeout 60 "$keys" "$@" >out 2>err; }
# refused PATTERN ARGUMENT...: status 1, nothing on standard output, and one line that says so.
refused() {
  local pattern=$1 status=0
  shift
  run "$@" || status=$?
  [ "$status" = 1 ] || fail "goss-keys $*: exit $status, not 1"
  [ ! -s out ] || fail "goss-keys $*: wrote to standard output"
  [ "$(wc -l <err)" = 1 ] || fail "goss-keys $*: not one line"
  grep -qE -- "^goss-keys: $pattern" err || fail "goss-keys $*: does not say '$pattern'"
}
mode() { [ "$(stat -c %a "$2")" = "$1" ] || fail "$2 has mode $(stat -c %a "$2"), not $1"; }

# A swarm key: 32 random bytes in a file of its owner alone; never written over.
run psk run.key || fail "psk: exit $?"
mode 600 run.key
grep -qxE 'gossamer-psk-1 [0-9a-f]{64}' run.key || fail "a swarm key of another form"
grep -q 'GOSS_TLS=psk:run.key' out || fail "psk does not say how to use it"
run psk other.key || fail "psk: exit $?"
cmp -s run.key other.key && fail "two swarm keys are equal"
cp run.key before
refused 'run.key: it exists already' psk run.key
cmp -s run.key before || fail "a swarm key was overwritten"
refused 'absent/run.key: No such file' psk absent/run.key

# An authority and two peers.
run ca my-ca --name 'the authority' || fail "ca: exit $?"
mode 700 my-ca
for file in ca.key ca.pem crl.pem; do mode 600 "my-ca/$file"; done
refused 'my-ca/ca.key: it exists already' ca my-ca
run issue site-a --ca my-ca --ranks 0-3 || fail "issue: exit $?"
grep -qE '^SHA256:[0-9a-f]{64} 0-3 site-a$' out || fail "issue does not print the peer's line"
run issue site-b --ca my-ca --ranks 4-7,9 --days 10 --out b || fail "issue --out: exit $?"
for peer in site-a b; do
  mode 700 $peer
  for file in key.pem cert.pem ca.pem crl.pem; do mode 600 $peer/$file; done
  [ ! -e $peer/ca.key ] || fail "the authority's key went to a peer"
done
if command -v openssl >/dev/null; then
  openssl verify -CAfile my-ca/ca.pem site-a/cert.pem b/cert.pem >out 2>err || fail "OpenSSL refuses the certificates"
  openssl x509 -in b/cert.pem -noout -ext subjectAltName >out 2>err
  grep -q 'URI:gossamer:ranks=4-7,9' out || fail "the ranks are not in the certificate"
  openssl x509 -in b/cert.pem -noout -checkend $((11 * 86400)) >out 2>err && fail "--days has no effect"
fi
refused 'site-a/key.pem: it exists already' issue site-a --ca my-ca --ranks 0-3
refused 'the ranks "4-" are neither' issue c --ca my-ca --ranks 4-
refused 'the name "" must have' issue '' --ca my-ca --ranks 0 --out c
refused 'absent/ca.pem: No such file' issue c --ca absent --ranks 0
refused 'name the authority with --ca, or say --self-signed' issue c --ranks 0
[ ! -e c ] || fail "what was refused left a folder"

# Fingerprints are those of the keys, and the same that issue printed.
run fingerprint site-a/cert.pem b/cert.pem || fail "fingerprint: exit $?"
[ "$(sort -u out | wc -l)" = 2 ] || fail "two peers with one fingerprint"
if command -v openssl >/dev/null; then
  expected=$(openssl x509 -in b/cert.pem -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -r | cut -d' ' -f1)
  grep -qx "SHA256:$expected b/cert.pem" out || fail "OpenSSL finds another fingerprint"
fi
refused 'run.key: it holds no certificate' fingerprint run.key
refused 'absent.pem: No such file' fingerprint absent.pem

# Without an authority: no ca.pem that would be trusted.
run issue solo --ranks any --self-signed || fail "issue --self-signed: exit $?"
grep -qE '^SHA256:[0-9a-f]{64} any solo$' out || fail "no line for the list of peers"
grep -q 'the file .peers.' out || fail "issue --self-signed does not say where the line goes"
[ ! -e solo/ca.pem ] || fail "a self-signed peer trusts an authority"

# Revoking: once, idempotent, and only what the authority issued.
run revoke --ca my-ca b/cert.pem || fail "revoke: exit $?"
grep -q 'my-ca/crl.pem' out || fail "revoke does not say what to copy"
mode 600 my-ca/crl.pem
[ ! -e my-ca/crl.pem.new ] || fail "a temporary file was left"
cp my-ca/crl.pem before
run revoke --ca my-ca b/cert.pem || fail "revoking twice: exit $?"
if command -v openssl >/dev/null; then
  cat my-ca/ca.pem my-ca/crl.pem >chain
  openssl verify -crl_check -CAfile chain site-a/cert.pem >out 2>err || fail "a peer that is not revoked is refused"
  openssl verify -crl_check -CAfile chain b/cert.pem >out 2>err && fail "a revoked peer is accepted"
  [ "$(openssl crl -in my-ca/crl.pem -noout -text | grep -c 'Serial Number')" = 1 ] || fail "one peer is on the list twice"
fi
refused 'solo/cert.pem: it was not issued by the authority in my-ca' revoke --ca my-ca solo/cert.pem
run ca other-ca || fail "a second authority: exit $?"
refused 'site-a/cert.pem: it was not issued by the authority in other-ca' revoke --ca other-ca site-a/cert.pem
# A peer that joins later gets the list as it is.
run issue late --ca my-ca --ranks 8 || fail "issue after revoke: exit $?"
cmp -s late/crl.pem my-ca/crl.pem || fail "a new peer does not get the list of revoked certificates"

# Secrets are never printed.
for word in $(cut -d' ' -f2 run.key) 'PRIVATE KEY'; do
  grep -qF -- "$word" out err && fail "a secret was printed"
done

# The command line itself.
for arguments in '' 'issue' 'issue x --ca my-ca' 'issue x --ca my-ca --ranks 0 --self-signed' 'revoke my-ca' 'ca d --days 0' 'what'; do
  # shellcheck disable=SC2086
  run $arguments && fail "goss-keys $arguments: accepted"
  [ -s err ] || [ -s out ] || fail "goss-keys $arguments: refused without words"
done
run --help || fail "--help: exit $?"
grep -q fingerprint out || fail "--help names no commands"
echo "goss-keys: all checks passed"
