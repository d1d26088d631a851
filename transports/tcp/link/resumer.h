/// Makes broken connections anew.
#ifndef GOSS_TRANSPORTS_TCP_LINK_RESUMER_H_
#define GOSS_TRANSPORTS_TCP_LINK_RESUMER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/clock.h"
#include "transports/tcp/link/link.h"
#include "transports/tcp/meet/dialer.h"

namespace goss::transports::tcp {

/// The rank that made a connection makes it anew. The other rank, which may have noticed first or alone, recalls the
/// connection: it calls too, and is told whether the peer still lives and knows the link. A refusal at the connection's
/// address is an answer as well, so that a process that has died is known to be dead after one round trip. Otherwise
/// both try until the link's deadline, and then the peer counts as silent. One thread.
class Resumer {
 public:
  using Tune = std::function<void(int fd, std::size_t connections)>;
  /// How to call a peer: the Dialer's target, as for the first call.
  using Directory = std::function<Dialer::Target(int peer)>;
  /// The peer's system closes the connections of a process that has died; middleboxes seldom close both ends. If a
  /// middlebox did, the peer, which makes the connections, is back before this time, in which a lost call is repeated.
  static constexpr int kTicksAfterOrderlyEnd = 48; // 2.4 s.
  /// As Dialer's arguments. `tune` configures a socket for its path, given the number of connections to the peer.
  Resumer(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Tune tune,
          Directory directory)
      : context_(context),
        poller_(poller),
        next_token_(next_token),
        tune_(std::move(tune)),
        directory_(std::move(directory)) {}

  /// Called after each run of a resumable link. Begins the calls that are needed, and drops those that are over.
  void update(Link& link);
  /// Whether an event with this token belongs to the Resumer, which then handles it.
  bool handle(std::uint64_t token);
  void tick();
  [[nodiscard]] bool isIdle() const { return repairs_.empty(); }

 private:
  /// The calls that repair one link.
  struct Repair {
    Link* link = nullptr;
    platform::Deadline deadline;
    /// After an orderly end: ticks that a recall may still take until the peer's system answers; nullopt: it may take
    /// all of the link's time. Ticks instead of time, so that a process that gets no processor does not take its peer
    /// for dead.
    std::optional<int> ticks_left;
    std::map<std::size_t, std::unique_ptr<Dialer>> calls; ///< By connection.
  };

  Repair& begin(Link& link);
  /// Ends the link if its calls have failed, or its time is over.
  static void judge(Repair& repair);
  void callFor(Repair& repair, std::size_t index);
  void takeStream(Repair& repair, Dialer::Made made, std::size_t index);
  void settle();
  [[nodiscard]] platform::Deadline patience() const;

  const TransportContext& context_;
  platform::Poller& poller_;
  std::uint64_t& next_token_;
  const Tune tune_;
  const Directory directory_;
  std::map<int, Repair> repairs_; ///< By peer.
  /// By peer: no call before this time, whatever broke since, because a connection may break as soon as it is made.
  std::map<int, platform::Deadline> pauses_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_RESUMER_H_
