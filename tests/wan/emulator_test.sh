#!/usr/bin/env bash
# The emulator does what it promises: delays, loss, rates, cuts, NAT, exit statuses, and it leaves nothing behind.
#   emulator_test.sh PATH_OF_goss-wanem
set -uo pipefail
. "$(dirname "$0")/common.sh"
require_namespaces
command -v ping >/dev/null || { echo "skipped: ping is not installed (iputils-ping)"; exit 77; }

wanem=$(readlink -f "$1")
prefix=ge$$t # of this run alone; must not end in a digit
make_scratch

run() { "$wanem" run --prefix $prefix "$@"; }
none_left() { ! ip netns list | grep -E "^$prefix[0-9]" >/dev/null && [ ! -e "/run/wanem-$prefix.sock" ]; }
rtt() { awk -F/ '/^rtt/ { print $5 }'; }
received() { grep -oE '[0-9]+ received' | cut -d' ' -f1; }

# transfer.py server|client ADDRESS BYTES: sends a known stream; the server prints bytes, wrong bytes and Mbit/s.
cat >"$scratch/transfer.py" <<'PY'
import hashlib, socket, sys, time
role, address, total = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
block = hashlib.sha256(b"x").digest() * 2048
if role == "server":
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, 5000))
    listener.listen()
    listener.settimeout(20)
    peer, _ = listener.accept()
    peer.settimeout(20)
    got, wrong, begun = 0, 0, time.time()
    while got < total:
        data = peer.recv(1 << 20)
        if not data:
            break
        at = got % len(block)
        expected = (block[at:] + block * (len(data) // len(block) + 1))[: len(data)]
        if data != expected:
            wrong += sum(a != b for a, b in zip(data, expected))
        got += len(data)
    print(got, wrong, "%.1f" % (got * 8e-6 / (time.time() - begun)))
else:
    peer = socket.socket(family)
    for _ in range(100):
        try:
            peer.connect((address, 5000))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    left = total
    while left:
        left -= peer.send(block[(total - left) % len(block):][:left])
    peer.shutdown(socket.SHUT_WR)
    peer.recv(1)
PY
cat >"$scratch/transfer" <<'SH'
#!/usr/bin/env bash
# transfer ADDRESS BYTES: from host 0 to host 1
ip netns exec "${WANEM_PREFIX}1" timeout 30 python3 "$(dirname "$0")/transfer.py" server "$1" "$2" &
ip netns exec "${WANEM_PREFIX}0" timeout 30 python3 "$(dirname "$0")/transfer.py" client "$1" "$2"
wait $!
SH
chmod +x "$scratch/transfer"

cat >"$scratch/links" <<'L'
# comment
* * delay=1
0 1 delay=30          # both directions
1>2 delay=50
L
got=$(run --hosts 3 --delay 9 --links "$scratch/links" -- bash -c "
  ip netns exec ${prefix}0 ping -c 3 -i 0.05 10.77.0.2; ip netns exec ${prefix}1 ping -c 3 -i 0.05 10.77.0.3
  ip netns exec ${prefix}2 ping -6 -c 3 -i 0.05 fd77::1" | rtt | tr '\n' ' ')
read -r first second third <<<"$got"
check "a links file sets round trips of 60, 51 and, over IPv6, 2 ms: $got" \
  eval "between 60 '$first' 64 && between 51 '$second' 55 && between 2 '$third' 5"

got=$(run --loss 5 -- ip netns exec ${prefix}0 ping -q -c 2000 -i 0.001 10.77.0.2 | grep -oE '[0-9.]+% packet loss')
check "5 % loss each way is 9.75 % of pings: $got" between 7.4 "${got%%%*}" 12.1

for mode in "" "--no-gso"; do
  got=$(run --bw 400 --delay 5 --loss 0.3 $mode -- "$scratch/transfer" fd77::2 8000000)
  check "8 MB arrive whole through 0.3 % loss $mode: $got" eval "[[ '$got' == '8000000 0 '* ]]"
done
got=$(run --bw 400 --corrupt 1 -- "$scratch/transfer" 10.77.0.2 8000000)
check "corrupted payload reaches the application: $got" eval "[[ '$got' == '8000000 '* && '$got' != '8000000 0 '* ]]"
for side in bw up down; do
  measure 80 100 run --hosts 3 --$side 100 -- "$scratch/transfer" 10.77.0.2 6000000
  check "100 Mbit/s by --$side: ${got##* } Mbit/s" between 80 "${got##* }" 100
done

cat >"$scratch/cuts" <<'C'
hits() { ip netns exec $WANEM_PREFIX$1 ping -q -c 3 -i 0.02 -W 0.2 10.77.0.$(($2 + 1)) | grep -oE '[0-9]+ received' | cut -d' ' -f1; }
ctl() { $WANEM ctl --prefix $WANEM_PREFIX "$@" >/dev/null; }
ctl cut 0 1; hits 0 1; hits 0 2; ctl heal 0 1; hits 0 1
ctl cut '0>1'; hits 0 1; ctl heal-all; hits 0 1
ctl cut-host 2; hits 0 2; hits 0 1; ctl heal-host 2; hits 0 2
C
got=$(run --hosts 3 -- bash "$scratch/cuts" | tr '\n' ' ')
check "cut, heal, one-way cut, heal-all, cut-host, heal-host: $got" [ "$got" = "0 3 3 0 3 0 3 3 " ]
cut_and_heal() {
  run --at '0.3 cut 0 1' --at '0.6 heal 0 1' -- ip netns exec ${prefix}0 ping -q -c 50 -i 0.02 -W 0.3 10.77.0.2 | received
}
measure 28 40 cut_and_heal
check "--at cuts from 0.3 s to 0.6 s: $got of 50" between 28 "$got" 40

cat >"$scratch/nat" <<'N'
serve() { ip netns exec $WANEM_PREFIX$1 timeout 5 python3 -c "
import socket
listener = socket.create_server(('10.77.0.$(($1 + 1))', 7))
listener.accept()[0].sendall(b'hi')"; }
call() { ip netns exec $WANEM_PREFIX$1 timeout 5 python3 -c "
import socket
try: print(socket.create_connection(('10.77.0.$(($2 + 1))', 7), 0.7).recv(9).decode())
except OSError as error: print('no')"; }
$WANEM ctl --prefix $WANEM_PREFIX set-host 1 inbound=0 >/dev/null
serve 0 & serve 1 & sleep 0.4
call 1 0; call 0 1; kill %1 %2 2>/dev/null
N
got=$(run -- bash "$scratch/nat" 2>/dev/null | tr '\n' ' ')
check "inbound=0: a call out connects, a call in does not: $got" [ "$got" = "hi no " ]

got=$(run --hosts 3 --each -- bash -c 'echo $WANEM_RANK/$WANEM_HOSTS:$WANEM_IP' | sort | tr '\n' ' ')
check "--each: $got" [ "$got" = "0/3:10.77.0.1 1/3:10.77.0.2 2/3:10.77.0.3 " ]
run -- bash -c 'exit 7'
check "the command's exit status" [ $? = 7 ]
run --timeout 0.3 -- bash -c "ip netns exec ${prefix}1 setsid sleep 22 & sleep 21" 2>/dev/null
check "--timeout is status 124 and leaves nothing" eval "[ $? = 124 ] && none_left"
for signal in TERM KILL; do
  "$wanem" run --prefix $prefix -- bash -c "ip netns exec ${prefix}0 setsid sleep 23 & sleep 25" &
  pid=$!
  for _ in $(seq 50); do ip netns pids ${prefix}0 2>/dev/null | grep . >/dev/null && break; sleep 0.1; done
  kill -$signal $pid
  wait $pid 2>/dev/null
  for _ in $(seq 30); do none_left && break; sleep 0.1; done
  check "SIG$signal leaves nothing" none_left
done
"$wanem" up --prefix $prefix >"$scratch/up" &
pid=$!
for _ in $(seq 50); do grep -q ready "$scratch/up" && break; sleep 0.1; done
check "a second one of the same prefix is refused" eval "! '$wanem' up --prefix $prefix 2>/dev/null"
check "bad control commands are errors" eval "! '$wanem' ctl --prefix $prefix frob >/dev/null &&
  ! '$wanem' ctl --prefix $prefix set 0 9 bw=1 >/dev/null && ! '$wanem' ctl --prefix $prefix set 0 1 foo=1 >/dev/null"
"$wanem" clean --prefix $prefix >/dev/null
wait $pid
check "clean stops it" none_left
check "bad options are refused" eval "! '$wanem' run --hosts 1 -- true 2>/dev/null &&
  ! '$wanem' run --bw x -- true 2>/dev/null && ! '$wanem' run --prefix a1 -- true 2>/dev/null"
finish
