# TCP ports for shell tests; source it.

# free_ports [COUNT]: the lowest of COUNT (1) neighbouring ports that nobody listens on, below those that the kernel
# gives out by itself: what runs beside a test does not get them before it does.
free_ports() {
  local first port
  while :; do
    first=$((20000 + RANDOM % 12000))
    for ((port = first; port < first + ${1:-1}; ++port)); do
      (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue 2
    done
    echo "$first"
    return
  done
}
