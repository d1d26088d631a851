/// Where a router or a host with containers takes calls for this process: GOSS_ADVERTISE.
#ifndef GOSS_LIB_PLATFORM_ADVERTISEMENT_H_
#define GOSS_LIB_PLATFORM_ADVERTISEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"
#include "platform/socket.h"

namespace goss::platform {

/// Entries "ADDRESS", "ADDRESS:PORT" or "ADDRESS:FIRST-LAST", with commas between them; an address is a name or
/// numeric, IPv6 in brackets. Its ports stand for those that this process listens on, in order, and are as many;
/// without ports they are the same ones. A value.
class Advertisement {
 public:
  Advertisement() = default;
  /// `listening` are the ports to listen on; where they are any (0-0) and an entry has ports, they become those.
  /// Errors: invalidArgument naming GOSS_ADVERTISE and the entry.
  static Result<Advertisement> parse(std::string_view text, PortRange listening);

  [[nodiscard]] PortRange listening() const { return listening_; }
  /// The addresses at which others call a socket that listens on `port`; none where nothing is advertised. Looks names
  /// up: blocks as long as the resolver does. Errors: bootstrap, naming the host.
  [[nodiscard]] Result<std::vector<SocketAddress>> addresses(std::uint16_t port) const;

 private:
  struct Entry {
    std::string host;
    PortRange ports; ///< 0-0: those that are listened on.
  };
  static Result<Entry> parseEntry(std::string_view text);

  std::vector<Entry> entries_;
  PortRange listening_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_ADVERTISEMENT_H_
