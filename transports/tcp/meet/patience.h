/// How long a rank waits for its peers before it does something else.
#ifndef GOSS_TRANSPORTS_TCP_MEET_PATIENCE_H_
#define GOSS_TRANSPORTS_TCP_MEET_PATIENCE_H_

#include <chrono>

#include "transports/tcp/meet/acceptor.h"

namespace goss::transports::tcp {

/// TCP sends a lost first packet again after a second, so shorter waits would relay without need.
struct Patience {
  std::chrono::milliseconds call_back{500};   ///< After this time the lower rank calls as well.
  std::chrono::milliseconds seek_relay{2000}; ///< After this time this end asks other ranks to relay.
  std::chrono::milliseconds relay_anyway{
      10000}; ///< As seek_relay, where the peer's system answers, but not its process.
  /// A rank that leaves waits so long for a peer to read bytes that the peer's system has received.
  std::chrono::milliseconds courtesy{250};
  /// The connection of a welcomed caller that sends nothing more is closed after this time.
  std::chrono::milliseconds welcomed{Acceptor::kWelcomed};
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_MEET_PATIENCE_H_
