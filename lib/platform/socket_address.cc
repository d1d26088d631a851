#include "platform/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace goss::platform {

namespace {

const sockaddr_in& v4(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in&>(storage); }
const sockaddr_in6& v6(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in6&>(storage); }
sockaddr_in& v4(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in&>(storage); }
sockaddr_in6& v6(sockaddr_storage& storage) { return reinterpret_cast<sockaddr_in6&>(storage); }

/// Order of addresses: a peer tries those with the least value first.
int preference(const SocketAddress& address) { return (address.loopback() ? 2 : 0) + (address.ipv6() ? 1 : 0); }

} // namespace

SocketAddress::SocketAddress(const sockaddr* address, socklen_t length) {
  if (length > sizeof storage_) return;
  std::memcpy(&storage_, address, length);
  length_ = length;
  if (!ipv6() || !IN6_IS_ADDR_V4MAPPED(&v6(storage_).sin6_addr)) return;
  const sockaddr_in6 mapped = v6(storage_);
  const std::string_view last(reinterpret_cast<const char*>(&mapped.sin6_addr) + 12, 4);
  *this = *fromBytes(last, ntohs(mapped.sin6_port));
}

std::optional<SocketAddress> SocketAddress::parse(std::string_view host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  // inet_aton's short forms ("10.1", "7") are numeric addresses to getaddrinfo, but mistakes here.
  const bool dotted = std::count(host.begin(), host.end(), '.') == 3;
  if (!dotted && host.find(':') == std::string_view::npos) return std::nullopt;
  if (::getaddrinfo(std::string(host).c_str(), nullptr, &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  SocketAddress address(found->ai_addr, found->ai_addrlen);
  address.setPort(port);
  return address;
}

std::optional<SocketAddress> SocketAddress::fromBytes(std::string_view bytes, std::uint16_t port) {
  SocketAddress address;
  if (bytes.size() == 4) {
    address.storage_.ss_family = AF_INET;
    address.length_ = sizeof(sockaddr_in);
    std::memcpy(&v4(address.storage_).sin_addr, bytes.data(), 4);
  } else if (bytes.size() == 16) {
    address.storage_.ss_family = AF_INET6;
    address.length_ = sizeof(sockaddr_in6);
    std::memcpy(&v6(address.storage_).sin6_addr, bytes.data(), 16);
  } else {
    return std::nullopt;
  }
  address.setPort(port);
  return address;
}

SocketAddress SocketAddress::any(bool ipv6, std::uint16_t port) {
  return *fromBytes(std::string(ipv6 ? 16 : 4, '\0'), port);
}

bool SocketAddress::loopback() const {
  if (ipv6()) return IN6_IS_ADDR_LOOPBACK(&v6(storage_).sin6_addr);
  return length_ != 0 && (ntohl(v4(storage_).sin_addr.s_addr) >> 24) == 127;
}

bool SocketAddress::linkLocal() const {
  if (ipv6()) return IN6_IS_ADDR_LINKLOCAL(&v6(storage_).sin6_addr);
  return length_ != 0 && (ntohl(v4(storage_).sin_addr.s_addr) >> 16) == 0xa9fe;
}

bool SocketAddress::unspecified() const {
  const std::string raw = bytes();
  return raw.find_first_not_of('\0') == std::string::npos;
}

std::uint16_t SocketAddress::port() const { return ntohs(ipv6() ? v6(storage_).sin6_port : v4(storage_).sin_port); }

void SocketAddress::setPort(std::uint16_t port) {
  (ipv6() ? v6(storage_).sin6_port : v4(storage_).sin_port) = htons(port);
}

std::string SocketAddress::bytes() const {
  if (length_ == 0) return {};
  if (ipv6()) return std::string(reinterpret_cast<const char*>(&v6(storage_).sin6_addr), 16);
  return std::string(reinterpret_cast<const char*>(&v4(storage_).sin_addr), 4);
}

std::string SocketAddress::host() const {
  char name[NI_MAXHOST] = {};
  if (length_ == 0 || ::getnameinfo(raw(), length_, name, sizeof name, nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  return name;
}

std::string SocketAddress::text() const {
  return ipv6() ? fmt::format("[{}]:{}", host(), port()) : fmt::format("{}:{}", host(), port());
}

Result<std::vector<SocketAddress>> interfaceAddresses(const std::string& interface) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot list network interfaces: {}", errnoText(errno)));
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, &::freeifaddrs);
  const auto wanted = SocketAddress::parse(interface, 0);
  std::vector<SocketAddress> found;
  std::string present;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const SocketAddress address(entry->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    present += fmt::format("{}{} {}", present.empty() ? "" : ", ", entry->ifa_name, address.host());
    const bool named = wanted ? address.sameHost(*wanted) : interface.empty() || interface == entry->ifa_name;
    // A link-local address is meaningless without the caller's own interface; it is used only when asked for by itself.
    if (named && (wanted || !address.linkLocal())) found.push_back(address);
  }
  if (found.empty())
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("GOSS_INTERFACE: no interface that is up has the name or address \"{}\"; there are: {}", interface,
                    present));
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return preference(a) < preference(b); });
  return found;
}

} // namespace goss::platform
