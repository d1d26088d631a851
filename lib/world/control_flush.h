/// Waits until control messages have left, for peers that take them.
#ifndef GOSS_LIB_WORLD_CONTROL_FLUSH_H_
#define GOSS_LIB_WORLD_CONTROL_FLUSH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "mesh/control.h"
#include "mesh/mesh.h"
#include "platform/clock.h"
#include "platform/thread_safety.h"

namespace goss {

/// Waits until control messages have left, but not again and again for a peer that takes none: a slow peer. What the
/// constructor's arguments refer to outlives this object, which is used under the engine's lock.
class ControlFlush {
 public:
  struct Spans {
    /// How long a flush waits at most. Peers that are alive receive their messages much sooner, unless the machine is
    /// badly overloaded.
    std::chrono::milliseconds wait{1000};
    /// A slow peer is waited for again after this time. Meanwhile communicators may fail one by one
    /// without each waiting for the peer.
    std::chrono::milliseconds slow{5000};
  };

  /// `is_seen_to_run`: as World::isSeenToRun.
  ControlFlush(Mesh& mesh, ControlChannel& control, std::function<bool(int peer)> is_seen_to_run, Spans spans);
  ControlFlush(Mesh& mesh, ControlChannel& control, std::function<bool(int peer)> is_seen_to_run)
      : ControlFlush(mesh, control, std::move(is_seen_to_run), Spans()) {}

  /// Progresses the transports, at least once if control messages have not left, until they have left for all peers but
  /// `except` (a world rank, or -1), slow peers, and peers without a link that are not seen to run. Peers for which it
  /// has waited in vain for Spans::wait are slow from then on. Not to be called out of a
  /// transport's callback.
  void runOnLoop(int except) GOSS_ON_LOOP;
  /// Forgets slow peers that have taken all control messages or something else, or were slow for Spans::slow. The
  /// engine calls it after the transports progressed.
  void sweepOnLoop() GOSS_ON_LOOP;
  /// No peer is slow any more.
  void forgetSlowOnLoop() GOSS_ON_LOOP { slow_.clear(); }

 private:
  /// A peer that takes nothing. It is no longer slow when bytes have moved on its link, or at `until`.
  struct Slow {
    std::uint64_t movements = 0; ///< Mesh::movements() when the flush gave up.
    platform::Deadline until;
  };

  [[nodiscard]] bool isSlow(int peer) const GOSS_ON_LOOP;

  Mesh& mesh_;
  ControlChannel& control_;
  const std::function<bool(int peer)> is_seen_to_run_;
  const Spans spans_;
  std::map<int, Slow> slow_ GOSS_GUARDED; ///< By world rank.
};

} // namespace goss

#endif // GOSS_LIB_WORLD_CONTROL_FLUSH_H_
