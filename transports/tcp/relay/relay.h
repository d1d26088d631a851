/// Relays between ranks that can call this one, but not each other.
#ifndef GOSS_TRANSPORTS_TCP_RELAY_RELAY_H_
#define GOSS_TRANSPORTS_TCP_RELAY_RELAY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "platform/poller.h"
#include "transports/tcp/meet/acceptor.h"
#include "transports/tcp/relay/byte_forwarder.h"

namespace goss::transports::tcp {

/// Both ranks call this one and name each other; the first waits, at most as long as a bootstrap may take. When both
/// have called they are told "joined", and from then on each gets what the other sends. TLS runs between the two ranks,
/// so that this rank learns only lengths and times. One thread.
class Relay {
 public:
  /// Events of its sockets carry tokens from `first_token` to `end_token`. `context`, `log` and `poller` outlive this
  /// object.
  Relay(const TransportContext& context, const base::Log& log, platform::Poller& poller, std::uint64_t first_token,
        std::uint64_t end_token)
      : context_(context),
        log_(log),
        poller_(poller),
        first_token_(first_token),
        end_token_(end_token),
        next_token_(first_token) {}

  /// Why this rank refuses to relay for the caller that says `hello`; "": it does not refuse. `coming`: how many more
  /// callers were welcomed to be relayed.
  [[nodiscard]] std::string whyNot(const Hello& hello, std::size_t coming) const;
  /// Adds a caller whose hello asks for a relay and who said "go".
  void add(Acceptor::Caller caller);

  [[nodiscard]] bool owns(std::uint64_t token) const { return token >= first_token_ && token < end_token_; }
  void handle(std::uint64_t token);
  /// Forwards bytes that came without the sockets showing it. Returns whether bytes moved.
  bool run();
  void tick();
  /// Whether tick() has nothing to wait for.
  [[nodiscard]] bool isIdle() const { return halves_.empty() && !ending_; }
  /// Whether run() would do anything.
  [[nodiscard]] bool hasWork() const;
  /// Whether this rank relays for other ranks now.
  [[nodiscard]] bool isInUse() const { return !pairs_.empty(); }
  /// Number of bytes that were relayed so far.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Half {
    platform::Stream stream;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    platform::Deadline deadline;
  };
  struct Pair {
    std::unique_ptr<ByteForwarder> forwarder;
    std::uint32_t one = 0;
    std::uint32_t other = 0;
  };

  void join(Half one, Half other);
  void runPair(Pair& pair);
  void dropEnded();

  static constexpr std::size_t kMaxHalves = 256;
  static constexpr std::size_t kMaxPairs = 256;
  static constexpr std::ptrdiff_t kMaxPairsOfTwo = 4; ///< Connections of one pair of ranks, which drop all but one.

  const TransportContext& context_;
  const base::Log& log_;
  platform::Poller& poller_;
  const std::uint64_t first_token_;
  const std::uint64_t end_token_;
  std::uint64_t next_token_; ///< Even: each pair takes two tokens.
  std::map<std::uint64_t, Half> halves_;
  std::map<std::uint64_t, Pair> pairs_; ///< By the first of their two tokens.
  std::uint64_t bytes_of_ended_ = 0;
  bool ending_ = false; ///< A pair is about to end, which tick() watches.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_RELAY_RELAY_H_
