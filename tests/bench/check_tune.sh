#!/usr/bin/env bash
# usage: check_tune.sh GOSS_TUNE GOSS_BENCH
# goss-tune writes a file that the library plans with; damaged files, and files that are no tuning files, are refused.
set -euo pipefail
tune=$1
bench=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}
run() { timeout 100 "$@" >"$work/out" 2>"$work/err"; }

# A level of an earlier run stays, one that is measured is replaced.
echo '{"gossamer_tuning": 1, "links": {"network": {"latency_s": 1}, "tcp": {"latency_s": 2}}}' >"$work/file"
run "$tune" -o "$work/file" || fail "goss-tune: exit $?"
for key in reduce_bytes_per_s copy_bytes_per_s shm tcp latency_s bandwidth_bytes_per_s overhead_s; do
  grep -q "\"$key\"" "$work/file" || fail "no $key in the file"
done
tr -d ' \n' <"$work/file" | grep '"network":{"latency_s":1}' >/dev/null || fail "the price of the network is gone"
grep -q '"latency_s": 2[,.]*$' "$work/file" && fail "the price of TCP was not measured"

# The library takes it, and complains about one that is damaged.
export GOSS_TUNING=$work/file
run "$bench" allreduce --threads 2 -m 64K:64K -i 2 -x 0 -c || fail "the library refuses the file"
head -c 60 "$work/file" >"$work/damaged"
GOSS_TUNING=$work/damaged run "$bench" allreduce --threads 2 -m 4:4 -i 2 -x 0 && fail "a damaged file was accepted"
grep -q 'tuning file: .*run goss-tune again' "$work/err" || fail "a damaged file was refused without words"
GOSS_TUNING=$work/absent run "$bench" allreduce --threads 2 -m 4:4 -i 2 -x 0 && fail "a file that is not there was accepted"
grep -q "GOSS_TUNING: cannot read" "$work/err" || fail "an absent file was refused without words"

# With credentials it measures secured links, and leaves the others alone.
unset GOSS_TUNING
printf 'gossamer-psk-1 %064d\n' 7 >"$work/key"
chmod 600 "$work/key"
if GOSS_TLS=psk:$work/key run "$tune" -o "$work/file"; then
  tr -d ' \n' <"$work/file" | grep '"tls":{"latency_s":.*"overhead_s":.*"bandwidth_bytes_per_s":' >/dev/null || fail "no price of TLS"
  tr -d ' \n' <"$work/file" | grep '"tcp":{"latency_s":' >/dev/null || fail "the price of TCP is gone"
  GOSS_TUNING=$work/file run "$bench" allreduce --threads 2 -m 64K:64K -i 2 -x 0 -c || fail "the library refuses the price of TLS"
else
  grep -q 'has no OpenSSL' "$work/err" || fail "goss-tune with GOSS_TLS"
fi

# It does not write over what is no tuning file.
echo 'dear diary' >"$work/diary"
run "$tune" -o "$work/diary" && fail "goss-tune wrote over a file of somebody else"
grep -q 'is no tuning file' "$work/err" || fail "refused without words"
grep -qx 'dear diary' "$work/diary" || fail "the file of somebody else is changed"
echo "goss-tune: all checks passed"
