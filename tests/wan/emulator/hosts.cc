// How the hosts come up.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "tests/wan/emulator/wan.h"

namespace goss::wanem {

void Wan::joinNamespace(int i) {
  const std::string path = "/run/netns/" + options_.names.host(i);
  const int fd = must(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  must(setns(fd, CLONE_NEWNET), "setns"), close(fd);
}

int Wan::makeTun() {
  int fd = must(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq r{};
  strcpy(r.ifr_name, "wan0"), r.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  must(ioctl(fd, TUNSETIFF, &r), "TUNSETIFF");
  must(ioctl(fd, TUNSETOFFLOAD, options_.no_gso ? 0 : TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN),
       "TUNSETOFFLOAD");
  return fd;
}

void Wan::setSysctl(std::string key, const std::string& value) { // of the namespace that this process is in
  std::replace(key.begin(), key.end(), '.', '/');
  if (std::ofstream out("/proc/sys/" + key); !(out << value << std::flush)) fail("cannot set " + key + " = " + value);
}

/// Their addresses become those that they have behind their router.
void Wan::putBehindRouter(const std::vector<int>& hosts) {
  for (size_t place = 0; place < hosts.size(); place++) {
    const std::string in = "ip -n " + options_.names.host(hosts[place]);
    shell(in + " addr flush dev wan0 && " + in + " addr add " + Nat::addressBehind(place) + "/24 dev wan0 && " + in +
          " route add default dev wan0");
  }
}

void Wan::bringUp() {
  struct Home {
    int fd;
    ~Home() { setns(fd, CLONE_NEWNET), close(fd); }
  };
  for (int i = 0; i < count_; i++) {
    const Home home{must(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), "/proc/self/ns/net")};
    shell("ip netns add " + options_.names.host(i));
    joinNamespace(i);
    host(i).fd = makeTun();
    setSysctl("net.ipv4.tcp_no_metrics_save", "1"); // one run must not teach the next
    if (options_.tcp_mem > 0)
      for (std::string k : {"rmem", "wmem"})
        setSysctl("net.ipv4.tcp_" + k, textOf("4096 131072 %.0f", options_.tcp_mem * 1048576));
    for (auto& s : options_.sysctls) {
      auto [k, v] = keyValue(s);
      setSysctl(k, v);
    }
    // The long transmit queue is there so that this program is where packets drop, not the TUN device.
    shell(
        textOf("ip link set lo up && ip link set wan0 up txqueuelen 20000 mtu %g && ip addr add %s/24 dev wan0 && "
               "if [ -e /proc/net/if_inet6 ]; then ip addr add fd77::%x/64 dev wan0 nodad; fi",
               options_.mtu, ip4(i).c_str(), i + 1));
    if (!options_.cc.empty()) try {
        setSysctl("net.ipv4.tcp_congestion_control", options_.cc);
      } catch (const std::exception&) {
        // The machine's tcp_allowed_congestion_control does not list it; as a route's property it is allowed.
        shell("ip route change 10.77.0.0/24 dev wan0 src " + ip4(i) + " congctl " + options_.cc);
        shell("ip -6 route add fd77::/64 dev wan0 metric 100 congctl " + options_.cc +
              " || [ ! -e /proc/net/if_inet6 ]");
      }
    host(i).dev_stats = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
  }
}

} // namespace goss::wanem
