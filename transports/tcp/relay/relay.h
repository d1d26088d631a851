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

/// Both ends call and ask for each other; the first waits, at most as long as a bootstrap may take. When both are here
/// they hear "joined", and from then on each gets what the other sends. With TLS they greet each other within that, so
/// that this rank learns lengths and times alone. One thread.
class Relay {
 public:
  /// Events of its sockets carry tokens from `first_token` to `end_token`. `context`, `log` and `poller` outlive this.
  Relay(const TransportContext& context, const base::Log& log, platform::Poller& poller, std::uint64_t first_token,
        std::uint64_t end_token)
      : context_(context),
        log_(log),
        poller_(poller),
        first_token_(first_token),
        end_token_(end_token),
        next_token_(first_token) {}

  /// Why this rank will not relay for who says `hello`; "" when it will. `coming`: how many more were told that.
  [[nodiscard]] std::string whyNot(const Hello& hello, std::size_t coming) const;
  /// A caller whose hello asks for it and who said "go".
  void add(Acceptor::Caller caller);

  [[nodiscard]] bool owns(std::uint64_t token) const { return token >= first_token_ && token < end_token_; }
  void handle(std::uint64_t token);
  /// Passes on what came without the sockets showing it. Returns whether bytes moved.
  bool run();
  void tick();
  /// tick() has nothing to wait for.
  [[nodiscard]] bool isIdle() const { return halves_.empty() && !ending_; }
  /// Whether run() has something to do.
  [[nodiscard]] bool hasWork() const;
  /// Whether this rank relays for others now.
  [[nodiscard]] bool isInUse() const { return !pairs_.empty(); }
  /// Bytes that were relayed so far.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Half {
    platform::Stream stream;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    platform::Deadline deadline;
  };
  struct Pair {
    std::unique_ptr<ByteForwarder> splice;
    std::uint32_t one = 0;
    std::uint32_t other = 0;
  };

  void join(Half one, Half other);
  void runPair(Pair& pair);
  void dropEnded();

  static constexpr std::size_t kMaxHalves = 256;
  static constexpr std::size_t kMaxPairs = 256;
  static constexpr std::ptrdiff_t kMaxPairsOfTwo = 4; ///< Of which they drop all but one.

  const TransportContext& context_;
  const base::Log& log_;
  platform::Poller& poller_;
  const std::uint64_t first_token_;
  const std::uint64_t end_token_;
  std::uint64_t next_token_; ///< Even.
  std::map<std::uint64_t, Half> halves_;
  std::map<std::uint64_t, Pair> pairs_; ///< By the first of their two tokens.
  std::uint64_t bytes_of_ended_ = 0;
  bool ending_ = false; ///< A pair is about to end, which tick() minds.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_RELAY_RELAY_H_
