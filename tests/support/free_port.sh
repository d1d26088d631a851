# A TCP port for shell tests; source it.

# free_port: one that nobody listens on, below those that the kernel gives out by itself: what runs beside a test does not
# get it before it does.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}
