#include "tests/wan/emulator/nat.h"

#include <algorithm>

namespace goss::wanem {

namespace {

constexpr std::uint32_t kPublicNet = 10u << 24 | 77u << 16;               // 10.77.0.
constexpr std::uint32_t kPrivateNet = 192u << 24 | 168u << 16 | 77u << 8; // 192.168.77.
constexpr std::uint32_t kNetMask = 0xffffff00;

std::uint32_t publicAddress(int host) { return kPublicNet + std::uint32_t(host) + 1; }
std::uint32_t get16(const uint8_t* at) { return std::uint32_t(at[0] << 8 | at[1]); }
std::uint32_t get32(const uint8_t* at) { return get16(at) << 16 | get16(at + 2); }
void put16(uint8_t* at, std::uint32_t value) { at[0] = uint8_t(value >> 8), at[1] = uint8_t(value); }

/// Sum of 16-bit words in which one word has become another one.
std::uint32_t replaced(std::uint32_t sum, std::uint32_t was, std::uint32_t is) {
  sum += (~was & 0xffff) + is;
  sum = (sum & 0xffff) + (sum >> 16);
  return (sum & 0xffff) + (sum >> 16);
}

/// One end of a TCP packet, with the checksums (RFC 1624). Of what the receiver is to sum up itself, TCP's field has
/// the sum of the addresses alone, and not its complement.
void rewrite(Packet& packet, const Frame& frame, bool source, std::uint32_t address, std::uint16_t port) {
  uint8_t* ip = &packet.data[kVnetBytes];
  uint8_t* tcp = ip + frame.l4;
  uint8_t* at = ip + (source ? 12 : 16);
  uint8_t* port_at = tcp + (source ? 0 : 2);
  const bool partial = (reinterpret_cast<const VnetHdr*>(&packet.data[0])->flags & 1) != 0;
  std::uint32_t ip_sum = ~get16(ip + 10) & 0xffff;
  std::uint32_t tcp_sum = (partial ? get16(tcp + 16) : ~get16(tcp + 16)) & 0xffff;
  for (int word = 0; word < 2; ++word) {
    const std::uint32_t was = get16(at + 2 * word);
    const std::uint32_t is = address >> (16 - 16 * word) & 0xffff;
    ip_sum = replaced(ip_sum, was, is);
    tcp_sum = replaced(tcp_sum, was, is);
    put16(at + 2 * word, is);
  }
  if (!partial) tcp_sum = replaced(tcp_sum, get16(port_at), port);
  put16(port_at, port);
  put16(ip + 10, ~ip_sum);
  put16(tcp + 16, partial ? tcp_sum : ~tcp_sum);
}

} // namespace

std::vector<int> Nat::add(const Words& words, int count) {
  if (words.empty()) fail("nat: which hosts?");
  Router router;
  for (std::size_t at = 0; at <= words[0].size();) {
    const std::size_t comma = std::min(words[0].find(',', at), words[0].size());
    router.hosts.push_back(int(number(words[0].substr(at, comma - at), "host", 0, count - 1)));
    if (routerOf(router.hosts.back()) != nullptr) fail("nat: that host has a router");
    at = comma + 1;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto [key, value] = keyValue(words[i]);
    if (key != "forward") fail("nat: unknown key '" + key + "'");
    addForward(router, value);
  }
  routers_.push_back(router);
  return router.hosts;
}

void Nat::addForward(Router& router, const std::string& text) const {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) fail("nat: forward=FIRST[-LAST]:HOST[:PORT]");
  const std::string ports = text.substr(0, colon);
  const std::string target = text.substr(colon + 1);
  const std::size_t dash = ports.find('-');
  const std::size_t second = target.find(':');
  const auto portOf = [](const std::string& word) { return int(number(word, "port", 1, 65535)); };
  const int first = portOf(ports.substr(0, dash));
  const int last = dash == std::string::npos ? first : portOf(ports.substr(dash + 1));
  const int host = int(number(target.substr(0, second), "host"));
  const int inner = second == std::string::npos ? first : portOf(target.substr(second + 1));
  if (std::find(router.hosts.begin(), router.hosts.end(), host) == router.hosts.end())
    fail("nat: forward names a host elsewhere");
  for (int port = first; port <= last; ++port)
    router.forwards[Port(port)] = {host, Port(inner + port - first)};
}

Nat::Router* Nat::routerOf(int host) {
  const auto found = std::find_if(routers_.begin(), routers_.end(), [host](const Router& router) {
    return std::find(router.hosts.begin(), router.hosts.end(), host) != router.hosts.end();
  });
  return found == routers_.end() ? nullptr : &*found;
}

std::uint32_t Nat::privateAddress(const Router& router, int host) {
  const auto place = std::find(router.hosts.begin(), router.hosts.end(), host) - router.hosts.begin();
  return kPrivateNet + std::uint32_t(place) + 1;
}

Nat::Port Nat::sourceOf(Router& router, Inside inside, End to) {
  if (const auto answer = router.forwarded.find({inside, to}); answer != router.forwarded.end()) return answer->second;
  const auto [given, fresh] = router.outside.try_emplace(inside, router.next);
  if (fresh) router.inside[router.next++] = inside;
  router.called.insert({given->second, to});
  return given->second;
}

Nat::Inside Nat::targetOf(Router& router, Port port, End from) {
  if (router.called.contains({port, from})) return router.inside.at(port);
  const auto forward = router.forwards.find(port);
  if (forward == router.forwards.end()) return {};
  router.forwarded[{forward->second, from}] = port;
  return forward->second;
}

int Nat::pass(int from, Packet& packet, const Frame& frame) {
  const uint8_t* ip = &packet.data[kVnetBytes];
  Router* own = routerOf(from);
  if (frame.v6) return own == nullptr ? frame.dst : -1;
  const std::uint32_t to = get32(ip + 16);
  if (own != nullptr && (to & kNetMask) == kPrivateNet) {
    const std::size_t place = (to & ~kNetMask) - 1;
    return place < own->hosts.size() ? own->hosts[place] : -1;
  }
  Router* theirs = frame.dst < 0 ? nullptr : routerOf(frame.dst);
  if (own == nullptr && theirs == nullptr) return frame.dst;
  const bool nobody = frame.dst < 0 || own == theirs || (theirs != nullptr && frame.dst != theirs->hosts.front());
  if (nobody || !frame.tcp) return -1;
  End source{get32(ip + 12), Port(get16(ip + frame.l4))};
  const End target{to, Port(get16(ip + frame.l4 + 2))};
  if (own != nullptr) {
    source = {publicAddress(own->hosts.front()), sourceOf(*own, {from, source.port}, target)};
    rewrite(packet, frame, true, source.address, source.port);
  }
  if (theirs == nullptr) return frame.dst;
  const Inside inside = targetOf(*theirs, target.port, source);
  if (inside.host >= 0) rewrite(packet, frame, false, privateAddress(*theirs, inside.host), inside.port);
  return inside.host;
}

} // namespace goss::wanem
