#include "platform/advertisement.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/invalid.h"

namespace goss::platform {

namespace {

Status refuse(std::string_view entry, std::string_view why) {
  return base::invalid(
      fmt::format("GOSS_ADVERTISE: \"{}\" {}; an entry is an address or a name, then maybe :PORT or "
                  ":FIRST-LAST, such as 203.0.113.7:31000-31003 or [2001:db8::7]",
                  entry, why));
}

int countOf(PortRange ports) { return ports.first == 0 ? 0 : ports.last - ports.first + 1; }

std::optional<std::uint16_t> portOf(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

std::optional<PortRange> portsOf(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = portOf(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : portOf(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return PortRange{*first, *last};
}

} // namespace

Result<Advertisement::Entry> Advertisement::parseEntry(std::string_view text) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return refuse(text, "lacks a ]");
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) { // More colons are an IPv6 address without a port.
    host = text.substr(0, text.find(':'));
    rest = text.substr(text.find(':'));
  }
  if (host.empty()) return refuse(text, "names no address");
  Entry entry{std::string(host), {}};
  if (rest.empty()) return entry;
  const auto ports = rest.front() == ':' ? portsOf(rest.substr(1)) : std::nullopt;
  if (!ports) return refuse(text, "has ports that are no numbers from 1 to 65535, the lower one first");
  entry.ports = *ports;
  return entry;
}

Result<Advertisement> Advertisement::parse(std::string_view text, PortRange listening) {
  Advertisement parsed;
  parsed.listening_ = listening;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    auto entry = parseEntry(one);
    if (!entry.isOk()) return entry.status();
    const PortRange ports = entry.value().ports;
    if (parsed.listening_.first == 0) parsed.listening_ = ports;
    if (ports.first != 0 && countOf(ports) != countOf(parsed.listening_))
      return refuse(one, fmt::format("has {} ports, but {} are listened on (GOSS_PORT_RANGE)", countOf(ports),
                                     countOf(parsed.listening_)));
    parsed.entries_.push_back(entry.take());
  }
  return parsed;
}

Result<std::vector<SocketAddress>> Advertisement::addresses(std::uint16_t port) const {
  std::vector<SocketAddress> found;
  for (const Entry& entry : entries_) {
    const int place = port - listening_.first;
    const std::uint16_t outside = entry.ports.first == 0 ? port : static_cast<std::uint16_t>(entry.ports.first + place);
    if (const auto numeric = SocketAddress::parse(entry.host, outside)) {
      found.push_back(*numeric);
      continue;
    }
    const auto named = resolve(entry.host, outside);
    if (!named.isOk())
      return Status::error(named.status().kind(), fmt::format("GOSS_ADVERTISE: {}", named.status().text()));
    found.insert(found.end(), named.value().begin(), named.value().end());
  }
  return found;
}

} // namespace goss::platform
