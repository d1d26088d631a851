/// Routers that translate addresses, as in homes: several hosts have one address outside, and can be called there only
/// at ports that their router forwards.
#ifndef GOSS_TESTS_WAN_EMULATOR_NAT_H_
#define GOSS_TESTS_WAN_EMULATOR_NAT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/wan/emulator/packet.h"
#include "tests/wan/emulator/text.h"

namespace goss::wanem {

/// Behind every router the hosts are 192.168.77.1, .2 and so on: the same addresses behind each. Outside, all of them
/// have the address that the first one had before. What they call gets a port of the router's; only who was called from
/// there may answer at it. A router does not lead what comes from its own hosts back to them. TCP over IPv4 alone.
class Nat {
 public:
  /// "HOST[,HOST...] [forward=FIRST[-LAST]:HOST[:PORT]]...": the router's ports FIRST to LAST lead to that host's, from
  /// PORT (or FIRST) on. Returns the hosts, the first one first. `count`: of all hosts.
  std::vector<int> add(const Words& words, int count);
  [[nodiscard]] bool isIdle() const { return routers_.empty(); }
  /// Translates what `from` sends, and returns the host that gets it; -1: nobody.
  int pass(int from, Packet& packet, const Frame& frame);

  static std::string addressBehind(std::size_t place) { return textOf("192.168.77.%zu", place + 1); }

 private:
  using Port = std::uint16_t;
  struct End {
    std::uint32_t address = 0;
    Port port = 0;
    friend auto operator<=>(const End&, const End&) = default;
  };
  struct Inside {
    int host = -1;
    Port port = 0;
    friend auto operator<=>(const Inside&, const Inside&) = default;
  };
  struct Router {
    std::vector<int> hosts;
    std::map<Port, Inside> forwards;
    std::map<Inside, Port> outside; ///< The port that it has given to one of a host's.
    std::map<Port, Inside> inside;
    std::set<std::pair<Port, End>> called;            ///< Ends called from that port.
    std::map<std::pair<Inside, End>, Port> forwarded; ///< At which port somebody has called a host.
    Port next = 20000;
  };

  void addForward(Router& router, const std::string& text) const;
  Router* routerOf(int host);
  [[nodiscard]] static std::uint32_t privateAddress(const Router& router, int host);
  static Port sourceOf(Router& router, Inside inside, End to);
  static Inside targetOf(Router& router, Port port, End from);

  std::vector<Router> routers_;
};

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_NAT_H_
