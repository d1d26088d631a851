#include "tests/wan/emulator/names.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace goss::wanem {

void Names::check() const {
  bool ok = !prefix.empty() && prefix.size() <= 32 && isalpha(prefix[0]) && !isdigit(prefix.back());
  if (!ok || std::any_of(prefix.begin(), prefix.end(), [](char c) { return !isalnum(c) && c != '-'; }))
    fail("--prefix: letters, digits and '-', beginning with a letter, not ending in a digit");
}

int Names::socketAt(const std::string& path, bool serve) const {
  sockaddr_un a{.sun_family = AF_UNIX, .sun_path = {}};
  memcpy(a.sun_path, path.data(), path.size());
  if (path[0] == '@') a.sun_path[0] = 0;
  const int fd = must(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), "socket");
  const int r = (serve ? bind : connect)(fd, reinterpret_cast<sockaddr*>(&a),
                                         socklen_t(offsetof(sockaddr_un, sun_path) + path.size()));
  return r == 0 ? fd : (close(fd), -1);
}

std::string Names::removal() const {
  return "rm -f " + control() + "; ip netns list | awk '{print $1}' | grep -xE '" + prefix +
         "[0-9]+' | while read n; do "
         "while p=$(ip netns pids $n) && [ -n \"$p\" ]; do kill -9 $p; sleep 0.02; done; ip netns del $n; done "
         "2>/dev/null";
}

int sendControl(const Names& names, const Words& words) {
  const int fd = must(names.socketAt(names.control(), false), "no wanem serves prefix " + names.prefix);
  const timeval patience{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string line = join(words), reply(1 << 22, 0);
  must(int(send(fd, line.data(), line.size(), MSG_NOSIGNAL)), "send");
  reply.resize(size_t(must(int(recv(fd, reply.data(), reply.size(), 0)), "no answer")));
  return fputs(reply.c_str(), stdout), reply.empty() || reply.starts_with("error");
}

int clean(const Names& names) {
  for (int i = 0; names.lock() < 0; i++) { // alive: ask it to stop, then wait for its janitor
    if (i == 0) try {
        sendControl(names, {"quit"});
      } catch (const std::exception&) {
      }
    if (i == 200) fail("a wanem serves prefix " + names.prefix + " and does not stop");
    usleep(50'000);
  }
  shell(names.removal());
  return 0;
}

} // namespace goss::wanem
