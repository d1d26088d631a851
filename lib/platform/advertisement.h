/// The addresses at which a router or a container host takes connections for this process: GOSS_ADVERTISE.
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
/// numeric, IPv6 in brackets. Its ports stand, in order, for those on which this process listens, and there are as
/// many; without ports they are the same. A value.
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
    PortRange ports; ///< 0-0: the ports that the process listens on.
  };
  static Result<Entry> parseEntry(std::string_view text);

  std::vector<Entry> entries_;
  PortRange listening_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_ADVERTISEMENT_H_
