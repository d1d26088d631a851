/// Looks for ranks that relay to peers with which no direct connection can be made.
#ifndef GOSS_TRANSPORTS_TCP_RELAY_RELAY_SEARCH_H_
#define GOSS_TRANSPORTS_TCP_RELAY_RELAY_SEARCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/poller.h"
#include "transports/tcp/meet/dialer.h"

namespace goss::transports::tcp {

/// The calling side of a Relay. Both ranks of a pair ask one rank after the other and go on waiting at those that
/// accept, so they meet at every rank that both can call. Both begin with the same rank, and different pairs with
/// different ones. One thread.
class RelaySearch {
 public:
  /// How to call a rank: its addresses, its identity, and whether a link to it stands; empty when the rank has no
  /// addresses.
  struct Contact {
    Dialer::Target target;
    bool linked = false;
  };
  using Directory = std::function<std::optional<Contact>(int rank)>;
  /// Gets a stream whose other end is `peer`; what `via` relays has not begun yet.
  using Handler = std::function<void(int peer, int via, platform::Stream stream)>;

  /// `next_token` counts poll tokens, with the dialers'. All references outlive this object.
  RelaySearch(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Directory directory,
              Handler handler);

  /// Begins to look for a relay to `peer`, unless the search has begun.
  void want(int peer);
  /// Stops the search for `peer`.
  void settle(int peer) { searches_.erase(peer); }
  /// Whether an event with this token belongs to this object, which then handles it.
  bool handle(std::uint64_t token);
  void tick();
  [[nodiscard]] bool isIdle() const { return searches_.empty(); }
  /// The outcome of the search, for an error's text: "rank 0: ..., rank 3: ...", or that there is no other rank.
  [[nodiscard]] std::string trouble(int peer) const;

 private:
  /// A call to a rank that may relay: first the dialer connects, then the stream waits for the other end.
  struct Half {
    int via = -1;
    std::unique_ptr<Dialer> dialer;
    platform::Deadline called; ///< Time by which the dialer must have connected.
    platform::Stream stream;
    std::uint64_t token = 0;
    std::string input;
    bool over = false;
  };
  struct Search {
    std::vector<int> left; ///< Ranks to be asked in this round, the next one last.
    platform::Deadline next;
    std::vector<std::unique_ptr<Half>> halves;
    std::map<int, std::string> outcomes; ///< By rank.
  };

  [[nodiscard]] std::vector<int> order(int peer) const;
  void ask(int peer, Search& search);
  void startWaiting(Half& half, platform::Stream stream, Search& search);
  void readAnswer(int peer, Search& search, Half& half);
  void clean(int peer);

  static constexpr std::int64_t kHeadStartMs = 250;
  static constexpr std::int64_t kPauseMs = 1000;
  static constexpr std::int64_t kCallMs = 5000;
  static constexpr std::size_t kMaxHalves = 8; ///< Calls at a time, for one peer.

  const TransportContext& context_;
  platform::Poller& poller_;
  std::uint64_t& next_token_;
  const Directory directory_;
  const Handler handler_;
  std::map<int, Search> searches_; ///< By peer.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_RELAY_RELAY_SEARCH_H_
