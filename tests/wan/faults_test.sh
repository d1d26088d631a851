#!/usr/bin/env bash
# Ranks on emulated hosts die, stop, are cut off and come back: the others name them in time, and go on.
#   faults_test.sh PATH_OF_goss-wanem PATH_OF_shrink_rank PATH_OF_fault_rank [PATH_OF_goss-keys]
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces

wanem=$(readlink -f "$1")
shrink_rank=$(readlink -f "$2")
fault_rank=$(readlink -f "$3")
export shrink_rank fault_rank
prefix=gf$$t
make_scratch
keys=${4:+$(readlink -f "$4")}
[ -z "$keys" ] || "$keys" psk "$scratch/psk" >/dev/null 2>&1

# In the emulator: starts four ranks (COUNT SHRINKS [MANNER...], or what else $program takes), whose output goes to $scratch/RANK, and waits until they run.
cat >"$scratch/lib" <<'L'
. "$emulated"
pids=()
start() {
  for rank in 0 1 2 3; do
    ip netns exec "$WANEM_PREFIX$rank" env RANK=$rank WORLD_SIZE=4 MASTER_ADDR=10.77.0.1 MASTER_PORT=29400 GOSS_LOG=off \
      stdbuf -oL "${program:-$shrink_rank}" "$@" >"$scratch/$rank" 2>&1 &
    pids+=($!)
  done
  for rank in 0 1 2 3; do says "$rank" ready 100 || echo "rank $rank is not ready: $(cat "$scratch/$rank")"; done
}
ctl() { "$WANEM" ctl --prefix "$WANEM_PREFIX" "$@" >/dev/null; }
L

# scenario NAME OPTIONS... : runs the script on standard input in the emulator.
scenario() {
  rm -f "$scratch"/[0-3]
  cat "$scratch/lib" - >"$scratch/script"
  emulate --prefix $prefix --hosts 4 --bw 1000 --timeout 40 "$@"
}

scenario --delay 5 <<'S'
start 262144 1
kill -9 "${pids[2]}"
expect "a killed rank is named within a second" says "0 1 3" "^failed rank 2 .*was lost" 10
expect "and the others reduce without it" says "0 1 3" "^reduced" 50
S

# reset RANK: a box on the way forgets the connections of that rank, and both ends hear so; the bootstrap's are spared.
# stand: waits until every rank is connected to the three others.
cat >>"$scratch/lib" <<'L'
links() { ip netns exec "$WANEM_PREFIX$1" ss -H "${@:2}" -tn state established '( sport != :29400 and dport != :29400 )' | grep -c 10.77; }
reset() { links "$1" -K; }
stand() {
  local rank
  for rank in 0 1 2 3; do
    for _ in $(seq 50); do
      [ "$(links $rank)" -ge 3 ] && break
      sleep 0.1
    done
  done
}
L
scenario --delay 5 <<'S'
start 262144 1
resets=0
for rank in 1 3 2 1; do
  resets=$((resets + $(reset $rank)))
  sleep 0.1
  stand
done
expect "connections are reset again and again" test "$resets" -ge 8
sleep 1
expect "which fails nothing" eval "! grep -q failed $scratch/[0-3]"
kill -9 "${pids[0]}"
expect "a killed rank is still named within a second" says "1 2 3" "^failed rank 0 .*was lost" 10
expect "and the others reduce without it" says "1 2 3" "^reduced" 50
S

export GOSS_SILENCE_MS=1500
scenario --delay 5 <<'S'
start 262144 1
kill -STOP "${pids[1]}"
expect "a stopped rank is named" says "0 2 3" "^failed rank 1 .*no sign of life" 40
expect "and the others reduce without it" says "0 2 3" "^reduced" 50
kill -9 "${pids[1]}"
S

scenario --delay 5 <<'S'
start 262144 1
ctl cut-host 3
expect "a rank behind a black hole is named" says "0 1 2" "^failed rank 3 .*no sign of life" 40
expect "and the others reduce without it" says "0 1 2" "^reduced" 50
expect "alone it does not go on" says "3" "^refused -5" 80
S

scenario --delay 5 <<'S'
start 1024 1
for a in 0 1; do for b in 2 3; do ctl cut $a $b; done; done
expect "of two halves the one with rank 0 goes on" says "0 1" "^shrunk 2 [01]" 80
expect "and the other does not" says "2 3" "^refused -5" 80
S

# sever A B: the connections between the hosts of A and of B are reset, as by a box on the way, and stay cut. B's end is
# told by a reset that crosses the network, and A's by its own system; without reconnecting, where the first reset is
# the end, each is told by its own.
cat >>"$scratch/lib" <<'L'
pairs() { local a b; for a in $1; do for b in $2; do "${@:3}" "$a" "$b"; done; done; }
block() { ctl cut "$1>$2"; }
cutoff() { ip netns exec "$WANEM_PREFIX$1" ss -HK -tn dst "10.77.0.$(($2 + 1))" >/dev/null; }
sever() {
  pairs "$2" "$1" block
  [ "${GOSS_RECONNECT-}" != off ] || pairs "$1" "$2" block
  pairs "$1" "$2" cutoff
  [ "${GOSS_RECONNECT-}" != off ] || pairs "$2" "$1" cutoff
  sleep 0.05
  pairs "$1" "$2" block
}
L
# severed WHAT : two halves, and then one rank, are severed from the rest.
severed() {
  scenario --delay 5 <<S
start 1024 1
sever "0 1" "2 3"
expect "two halves whose connections are reset and stay cut: the one with rank 0 goes on ($1)" says "0 1" "^shrunk 2 [01]" 120
expect "and the other does not ($1)" says "2 3" "^refused -5" 120
S
  scenario --delay 5 <<S
start 1024 1
sever "0 1 2" 3
expect "three ranks go on without a fourth whose connections are reset and stay cut ($1)" says "0 1 2" "^shrunk 3 [012]" 120
expect "and alone it does not ($1)" says "3" "^refused -5" 120
S
}
severed tcp
GOSS_RECONNECT=off severed "tcp, GOSS_RECONNECT=off"
if [ -n "$keys" ]; then GOSS_TLS=psk:$scratch/psk severed tls; fi

export GOSS_RECONNECT=off
scenario --delay 5 <<'S'
start 262144 2
kill -9 "${pids[2]}"
expect "without reconnecting a killed rank is named within a second, too" says "0 1 3" "^failed rank 2 .*was lost|^failed lost rank 2" 10
expect "and the others reduce without it" says "0 1 3" "^reduced" 50
kill -9 "${pids[0]}" "${pids[1]}"
expect "two who die at once are known to be dead" says "3" "^shrunk 1 0" 80
S
unset GOSS_RECONNECT

scenario --delay 5 <<'S'
start 1024 1
pairs "0 1" "2 3" block
expect "of two halves, one of which does not hear the other, the one with rank 0 goes on" says "0 1" "^shrunk 2 [01]" 120
expect "and the other does not" says "2 3" "^refused -5" 120
S

scenario --delay 5 <<'S'
start 262144 1
pairs 3 "0 1 2" block
expect "three ranks go on without a fourth that they do not hear" says "0 1 2" "^shrunk 3 [012]" 120
expect "which does not go on alone" says "3" "^refused -5" 120
S

export GOSS_SILENCE_MS=6000
scenario --delay 5 <<'S'
start 262144 1
ctl cut-host 2
sleep 2
ctl heal-host 2
sleep 2.5
expect "a cut that heals in time fails nothing" eval "! grep -q failed $scratch/[0-3]"
kill -9 "${pids[0]}"
expect "and work has gone on since" says "1 2 3" "^reduced" 60
S

# Bits that TCP's checksum does not see: SHARE of the packets, SECONDS long.
cat >>"$scratch/lib" <<'L'
flip() {
  ctl set '*' '*' corrupt="$1"
  sleep "$2"
  ctl set '*' '*' corrupt=0
  expect "some did flip" test "$("$WANEM" ctl --prefix "$WANEM_PREFIX" stats | awk '$1 ~ /^[0-9]+$/ { n += $13 } END { print 0 + n }')" -ge 1
}
L
scenario --delay 5 <<'S'
program=$fault_rank start 65536 0 checked
flip 0.2 4
expect "bits that flip on the way change no result" eval "! grep -q ^wrong $scratch/[0-3]"
expect "and fail nothing" eval "! grep -q failed $scratch/[0-3]"
before=$(wc -l <"$scratch/0")
sleep 1
expect "and work goes on" eval "[ \$(wc -l <$scratch/0) -gt $before ]"
S

export GOSS_RECONNECT=off
scenario --delay 5 <<'S'
program=$fault_rank start 65536 0 checked
flip 0.2 1
expect "without reconnecting they end the run" says "0 1 2 3" "^failed -" 150
expect "are named" grep -qE "^failed -5 .*changed on their way" "$scratch"/[0-3]
expect "and change no result" eval "! grep -q ^wrong $scratch/[0-3]"
S
unset GOSS_RECONNECT

finish_report $((38 + ${keys:+4} + 0))
